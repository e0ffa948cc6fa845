"""Logs too large to be held: the same answer however they lie and are read, and that of the gate on
a log that is held."""

from __future__ import annotations

import random
from dataclasses import fields, replace

import numpy as np
import pytest

import jumar as jm
from jumar.core.errors import LogError, ParameterError
from jumar.evidence.rewards import RewardRange
from jumar.gate import dealing, halves
from jumar.gate.dealing import (
    DealtPart,
    RunningFacts,
    codes_of,
    facts_of,
    half_of,
    part_of,
    returns_of,
)
from jumar.gate.surveying import FirstUnits
from jumar.gate.trials import Selection
from jumar.log.episodes import Episodes, Labels
from jumar.log.shards.whole import WholeEpisodes
from jumar.memory import window
from jumar.policy.controller import Controller
from large_logs import as_large, improve_logs, labelled
from selection_logs import one_step as steps_of

TIGER, VOICEMAIL, BRIDGE = jm.models.tiger(), jm.models.voicemail(), jm.models.bridge_repair()


def whole_episodes(log, code):
    steps = log.observation, log.action, log.reward, log.start
    ends = log.final_observation, log.terminated
    return WholeEpisodes(*steps, *ends, code, np.zeros(len(log), np.int64))


def simulated(model, episodes: int, steps: int, seed: int = 3) -> tuple[Episodes, Controller]:
    behavior = Controller.uniform(model.observations, model.actions)
    log = jm.simulate(model, behavior, episodes=episodes, max_steps=steps, seed=seed)
    return labelled(log), behavior


def one_step(n: int, better: float) -> tuple[Episodes, Controller]:
    """Two actions in one situation; the second pays more, both with noise."""
    rng = np.random.default_rng(1)
    action = rng.integers(0, 2, n)
    reward = better * action + rng.standard_normal(n)
    names = ("good",), ("keep", "repair")
    return labelled(steps_of(names, 0, action, reward)), Controller.uniform(*names)


def people(n: int, days: int) -> tuple[Episodes, Controller]:
    """The same with several episodes for each person."""
    log, behavior = one_step(n * days, 1.0)
    return replace(log, cluster=Labels.of([f"p{i // days}" for i in range(n * days)])), behavior


LOGS = {
    "tiger": (lambda: simulated(TIGER, 3000, 200), {"discount": 0.95}),
    "tiger, few": (lambda: simulated(TIGER, 300, 200), {"discount": 0.95}),
    "tiger, declared": (
        lambda: simulated(TIGER, 1000, 200),
        {"discount": 0.95, "rewards": RewardRange((-1, -1), (-100, 10))},
    ),
    "tiger, cut": (lambda: simulated(TIGER, 1500, 3), {"discount": 0.95}),
    "tiger, horizon": (lambda: simulated(TIGER, 1500, 4), {"discount": 0.95, "horizon": 4}),
    "voicemail, cut": (lambda: simulated(VOICEMAIL, 2000, 6), {"discount": 0.95}),
    "bridge": (lambda: simulated(BRIDGE, 1000, 5), {"discount": 0.6}),
    "bridge, cut too early": (lambda: simulated(BRIDGE, 600, 4), {"discount": 0.95}),
    "one step": (lambda: one_step(5000, 0.3), {"discount": 0.9}),
    "no gain": (lambda: one_step(400, 0.0), {"discount": 0.9}),
    "too few": (lambda: one_step(10, 1.0), {"discount": 0.9}),
    "all alike": (lambda: simulated(TIGER, 200, 1), {"discount": 0.9}),
    "people": (lambda: people(300, 4), {"discount": 0.9}),
    "few people": (lambda: people(20, 30), {"discount": 0.9}),
    "one memory": (
        lambda: simulated(TIGER, 1000, 200),
        {"discount": 0.95, "memory": window(2), "delta": 0.2},
    ),
}
every_log = pytest.mark.parametrize("name", LOGS)


def same(one: Selection, other: Selection) -> bool:
    """To the last bit, controllers and all."""
    return one.controller.same_as(other.controller) and all(
        getattr(one, f.name) == getattr(other, f.name)
        for f in fields(one)
        if f.name != "controller"
    )


@pytest.fixture
def few_first(monkeypatch):
    """The test begins with some episodes and not with all."""
    monkeypatch.setattr(dealing, "FIRST", 60)
    monkeypatch.setattr(dealing, "SAMPLED", 600)


@every_log
@pytest.mark.parametrize("thorough", [True, False])
@pytest.mark.slow
def test_held_or_not_the_choice_is_the_same_to_the_last_bit(name, thorough, tmp_path, few_first):
    """In memory as if it were large, and in three files; where all is tested, in memory as usual,
    too."""
    make, options = LOGS[name]
    log, behavior = make()
    options = options | {"thorough": thorough}
    with as_large():
        held = jm.improve(log, behavior, **options)
    jm.write_logs(log, tmp_path / "log.parquet")
    found = improve_logs(tmp_path / "log.parquet", behavior, **options)
    assert same(found.selection, held.selection)
    if thorough:
        usual = jm.improve(log, behavior, **options)
        assert same(held.selection, usual.selection)
        assert found.controller == held.controller == usual.controller
        assert found.certificate == held.certificate == usual.certificate
        assert found.assessment.to_dict() == held.assessment.to_dict()


def test_the_logs_decide_some_and_refuse_some():
    """The comparisons above would mean little if all came to the same."""
    made = {name: (*make(), options) for name, (make, options) in LOGS.items()}
    decided = {
        name: jm.pipeline.select(log, behavior, **options).chosen is not None
        for name, (log, behavior, options) in made.items()
    }
    assert {"tiger", "people", "one step"} <= {name for name, chosen in decided.items() if chosen}
    assert not any(decided[name] for name in ("no gain", "too few", "bridge, cut too early"))


# ---- one stage, or two --------------------------------------------------------------------------


def test_what_is_clear_from_the_first_episodes_is_not_read_again(monkeypatch):
    log, behavior = one_step(5000, 1.0)
    monkeypatch.setattr(dealing, "FIRST", 600)
    with as_large():
        found = jm.pipeline.select(log, behavior, discount=0.9)
        everything = jm.improve(log, behavior, discount=0.9, thorough=True).selection
    assert {trial.units for trial in found.trials} == {600}
    assert found.chosen is not None
    assert min(trial.units for trial in everything.trials) > 2000
    assert found.chosen.lower <= everything.chosen.lower


def test_a_small_gain_is_worth_reading_on(monkeypatch):
    log, behavior = one_step(20_000, 0.1)
    monkeypatch.setattr(dealing, "FIRST", 300)
    with as_large():
        found = jm.pipeline.select(log, behavior, discount=0.9)
        assert min(trial.units for trial in found.trials) > 9000
        assert found.chosen is not None
        monkeypatch.setattr(halves, "undecided", lambda *_, **__: False)
        assert jm.pipeline.select(log, behavior, discount=0.9).chosen is None


def test_of_a_half_no_more_units_are_scored_than_are_held(monkeypatch):
    log, behavior = one_step(5000, 1.0)
    monkeypatch.setattr(dealing, "FIRST", 100)
    monkeypatch.setattr(halves, "MOST_UNITS", 1000)
    with as_large():
        found = jm.improve(log, behavior, discount=0.9, thorough=True).selection
    assert all(800 < trial.units < 1200 for trial in found.trials)


def test_an_episode_longer_than_the_declared_horizon_is_refused(tmp_path):
    log, behavior = simulated(TIGER, 100, 200)
    jm.write_logs(log, tmp_path / "log.parquet")
    with pytest.raises(LogError, match="more than the declared horizon of 1"):
        improve_logs(tmp_path / "log.parquet", behavior, discount=0.9, horizon=1)


def test_signals_are_kept_by_the_proved_test_in_a_large_log_too():
    log, behavior = one_step(400, 1.0)
    with as_large(), pytest.raises(ParameterError, match="by the proved test"):
        jm.improve(log, behavior, discount=0.9, keep="reward", gate="asymptotic")


@pytest.mark.parametrize(
    ("asked", "said"),
    [({"algorithm": "spibb"}, "algorithm"), ({"memory": "learn"}, "learn")],
)
def test_what_takes_every_episode_reads_all_at_once(tmp_path, asked, said, monkeypatch):
    """... as long as there is room; else it is refused with what it would take."""
    log, behavior = simulated(TIGER, 300, 200)
    jm.write_logs(log, tmp_path / "log.parquet")
    found = improve_logs(tmp_path / "log.parquet", behavior, discount=0.9, **asked)
    assert found.episodes == 300
    monkeypatch.setattr("jumar.core.resources.memory", lambda: 1000)
    with pytest.raises(jm.JumarError, match=f"{said}.*of memory"):
        improve_logs(tmp_path / "log.parquet", behavior, discount=0.9, **asked)


@pytest.mark.parametrize("asked", [{"gate": "asymptotic"}, {"memory": "learn"}])
def test_whatever_is_tested_a_large_log_is_as_any_other(asked, few_first):
    """A t test is made once, on the first episodes; a learned memory has a longer shortlist."""
    log, behavior = simulated(TIGER, 1500, 200)
    with as_large():
        found = jm.improve(log, behavior, discount=0.95, **asked).selection
    assert found.trials
    assert found.episodes == 1500
    if "gate" in asked:
        assert {trial.units for trial in found.trials} == {60}


# ---- what the first pass keeps ------------------------------------------------------------------


def parts_of(log: Episodes, parts: int, rng: np.random.Generator):
    """The log in so many parts of any size, in any order, with the hashes of the episodes."""
    order, code = rng.permutation(len(log)), codes_of(log, 1)
    ends = np.sort(rng.choice(np.arange(1, len(log)), parts - 1, replace=False))
    return [(log.select(some), code[some]) for some in np.split(order, ends)]


@pytest.mark.parametrize("name", ["tiger", "tiger, cut", "voicemail, cut", "one step", "bridge"])
def test_facts_that_were_added_up_are_those_of_the_whole(name):
    (log, _), discount = LOGS[name][0](), 0.9
    found = RunningFacts(discount)
    for part, code in parts_of(log, 6, np.random.default_rng(2)):
        own = RunningFacts(discount)
        own.add(part.reward, part.start, part.terminated, code)
        found.merge(own)
    assert found.facts == facts_of(log)
    expected = returns_of(log, discount)
    for field in fields(expected):
        assert getattr(found.paid, field.name) == pytest.approx(getattr(expected, field.name))
    code = codes_of(log, 1)
    for half in range(2):
        own = log.select(half_of(code) == half)
        if found.facts.common_length is not None:
            assert found.mean_reward(half) == pytest.approx(own.reward.mean())
        assert found.units_in(DealtPart(half)) == len(own)
        for fold in range(4):
            part = DealtPart(half).only(fold)
            assert found.units_in(part) == (part_of(code) == 4 * half + fold).sum()


def test_a_log_without_episodes_is_refused():
    with pytest.raises(LogError, match="is empty"):
        _ = RunningFacts(0.9).facts


def obvious_first(code, lengths, group, units: int, room: float) -> set[int]:
    """The hashes of the first units of each group: at most so many, and no more steps than that
    unless they are 16 units or fewer."""
    found = set()
    for g in sorted(set(group.tolist())):
        steps = 0
        for n, one in enumerate(sorted(set(code[group == g].tolist())), 1):
            steps += int(lengths[code == one].sum())
            if n > units or (steps > room and n > 16):
                break
            found.add(one)
    return found


@pytest.mark.parametrize("by_fold", [True, False])
@pytest.mark.parametrize("length", [None, 1.0])
@pytest.mark.parametrize(("units", "steps"), [(5, 10**6), (60, 10**6), (60, 90), (10**6, 10**9)])
@pytest.mark.parametrize("name", ["tiger", "people"])
def test_the_first_units_are_kept_however_a_log_is_cut(name, units, steps, by_fold, length):
    log, _ = LOGS[name][0]()
    code, about = codes_of(log, 1), {"length": length, "rows": log.n_steps}
    group = part_of(code) if by_fold else half_of(code)
    wanted = obvious_first(code, log.lengths, group, units, steps)
    for seed in range(3):
        kept = FirstUnits(units, steps, by_fold=by_fold, **about)
        for part, own in parts_of(log, 5, np.random.default_rng(seed)):
            some = FirstUnits(units, steps, by_fold=by_fold, **about)
            for few in np.array_split(np.arange(len(part)), 3):
                some.add(whole_episodes(part, own).select(few))
            kept.merge(some)
        if kept.lacks:  # an episode is longer than was said, so others were turned away
            assert length is not None
            continue
        found = WholeEpisodes.joined(kept.pieces())
        assert set(found.code.tolist()) == wanted
        inside = np.isin(code, np.array(sorted(wanted), np.uint64))
        assert len(found) == inside.sum()
        assert sorted(found.reward) == sorted(log.select(np.flatnonzero(inside)).reward)
        among = dealing.among_first(code, log.lengths, group, units, steps)
        assert among.tolist() == np.flatnonzero(inside).tolist()


def test_a_long_unit_in_one_part_turns_away_no_short_one_in_another():
    """Three units fit into one part, and the fourth is long; a short one of the other part comes
    between them."""

    def some(codes, lengths):
        n = sum(lengths)
        start = np.append(0, np.cumsum(lengths))
        e = len(codes)
        return WholeEpisodes(
            np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n), start, np.full(e, -1),
            np.ones(e, np.bool_), np.array(codes, np.uint64), np.arange(e),
        )  # fmt: skip

    codes, lengths = list(range(1, 20)), [1] * 18 + [500]
    merged = FirstUnits(100, 30, by_fold=False)
    for part in (some([c * 4 for c in codes], lengths), some([18 * 4 + 1], [1])):
        own = FirstUnits(100, 30, by_fold=False)
        own.add(part)
        merged.merge(own)
    kept = WholeEpisodes.joined(merged.pieces())
    assert kept.code.max() == 18 * 4 + 1
    assert len(kept) == 19
    assert merged.wanted(np.array([19 * 4], np.uint64)).tolist() == [False]


def test_too_few_that_were_let_in_are_noticed():
    """Episodes have one step; whoever takes them for longer lets in too few."""
    log, _ = one_step(4000, 0.0)
    for length, lacking in ((None, False), (1.0, False), (0.02, True)):
        kept = FirstUnits(200, 10**9, length=length, rows=4000)
        kept.add(whole_episodes(log, codes_of(log, 1)))
        assert kept.lacks == lacking


def test_rows_that_are_episodes_are_the_same_in_memory_and_in_parts(tmp_path, monkeypatch):
    rng = random.Random(1)
    lines = ["seen,done,paid"]
    for _ in range(900):
        seen, done = rng.choice("ab"), rng.choice("xy")
        lines.append(f"{seen},{done},{int((seen == 'a') == (done == 'x'))}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    reading = {
        "ends": "terminated",
        "columns": {"episode": "row", "observation": "seen", "action": "done", "reward": "paid"},
    }
    behavior = jm.Controller.uniform(("a", "b"), ("x", "y"))
    held = jm.improve(jm.read_logs(path, **reading), behavior, discount=0.9)
    monkeypatch.setattr("jumar.log.shards.general.PIECE_ROWS", 200)
    counted = improve_logs(path, behavior, discount=0.9, **reading)
    assert held.assessment.verdict.word == "adopt-if"
    assert counted.controller == held.controller
    assert counted.certificate == held.certificate
