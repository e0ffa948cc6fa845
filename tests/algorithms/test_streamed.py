"""The proved gate on a log that is read in parts: the same choice however the log was cut, and the
choice of the gate in memory."""

from __future__ import annotations

import math
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

import jumar as jm
from jumar.algorithms.auto import select
from jumar.algorithms.auto.bets import Bet
from jumar.algorithms.auto.dealing import DealtPart, codes_of, deal
from jumar.algorithms.auto.facts import facts_of, returns_of
from jumar.algorithms.auto.samples import plan
from jumar.algorithms.auto.scored import Scores
from jumar.algorithms.auto.streamed import FirstUnits, LogTally, kernels
from jumar.algorithms.auto.streamed.tallied import Tallied, Wager
from jumar.algorithms.auto.trials import Selection
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes, Labels
from jumar.core.errors import LogError, ParameterError
from jumar.core.memory import window
from jumar.evidence.rewards import RewardRange
from jumar.large.whole import WholeEpisodes
from streamed_logs import cut_up, labelled, prepared, scored, streamed

TIGER, VOICEMAIL, BRIDGE = jm.models.tiger(), jm.models.voicemail(), jm.models.bridge_repair()


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
    log = Episodes(*names, [0] * n, action, reward, np.arange(n + 1), [-1] * n, [True] * n)
    return labelled(log), Controller.uniform(*names)


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
    "all alike": (lambda: simulated(TIGER, 200, 1), {"discount": 0.9, "more_memory": 0}),
    "people": (lambda: people(300, 4), {"discount": 0.9, "together": True}),
    "few people": (lambda: people(20, 30), {"discount": 0.9, "together": True}),
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


@every_log
def test_however_the_log_is_cut_the_choice_is_the_same_to_the_last_bit(name):
    make, options = LOGS[name]
    log, behavior = make()
    first = None
    for seed, parts in enumerate((1, 3, 7)):
        shards = cut_up(log, parts, np.random.default_rng(seed))
        found = streamed(shards, behavior, **options)
        first = first or found
        assert same(found, first)


@every_log
def test_the_choice_is_that_of_the_gate_in_memory(name):
    make, options = LOGS[name]
    log, behavior = make()
    found = streamed(cut_up(log, 4, np.random.default_rng(9)), behavior, **options)
    expected = select(log, behavior, **{k: v for k, v in options.items() if k != "together"})
    assert (found.episodes, found.units, found.tried) == (
        expected.episodes, expected.units, expected.tried,
    )  # fmt: skip
    assert found.memories == expected.memories
    assert found.most == pytest.approx(expected.most, rel=1e-12)
    assert found.beyond == pytest.approx(expected.beyond, rel=1e-12)
    np.testing.assert_allclose(found.limits.low, expected.limits.low, rtol=1e-12)
    np.testing.assert_allclose(found.limits.high, expected.limits.high, rtol=1e-12)
    assert len(found.trials) == len(expected.trials)
    by_setting = {(t.half, t.setting): t for t in expected.trials}
    R = expected.range
    for trial in found.trials:
        other = by_setting[trial.half, trial.setting]
        assert (trial.passed, trial.units) == (other.passed, other.units)
        assert trial.second is None
        assert trial.bet == Bet(pytest.approx(other.bet.floor), other.bet.fraction)
        numbers = "promised gain error effective missing level deviation beyond"
        for number in numbers.split():
            close = pytest.approx(getattr(other, number), rel=1e-8, abs=1e-9 * max(R, 1))
            assert getattr(trial, number) == close, number
        assert trial.opinion.merit == pytest.approx(other.opinion.merit, rel=1e-8, abs=1e-9 * R)
        # a bound from ranges of scores: at most a ten-thousandth of the floor lower, never higher
        assert other.lower - 1e-4 * other.bet.floor <= trial.lower <= other.lower + 1e-9 * R
    assert (found.chosen is None) == (expected.chosen is None)
    if found.chosen is not None:
        assert found.chosen.setting == expected.chosen.setting
        assert found.chosen.half == expected.chosen.half
    table = found.controller.memory
    states = jm.count(log, table).states
    np.testing.assert_allclose(
        found.controller.rows_at(states), expected.controller.rows_at(states), atol=1e-7
    )


def test_the_logs_decide_some_and_refuse_some():
    """The comparison above would mean little if all came to the same."""
    decided = {
        name: streamed(cut_up(make()[0], 2, np.random.default_rng(0)), make()[1], **options).chosen
        is not None
        for name, (make, options) in LOGS.items()
    }
    assert {"tiger", "people", "one step"} <= {name for name, chosen in decided.items() if chosen}
    assert not any(decided[name] for name in ("no gain", "too few", "bridge, cut too early"))


def test_how_many_more_episodes_it_takes_is_told_as_well():
    log, behavior = one_step(400, 0.3)
    found = streamed(cut_up(log, 2, np.random.default_rng(0)), behavior, discount=0.9)
    expected = select(log, behavior, discount=0.9)
    (mine,), (theirs,) = plan(found, [0.05]).needs, plan(expected, [0.05]).needs
    assert mine.episodes == pytest.approx(theirs.episodes, rel=0.1)  # rounded to two digits


# ---- the first pass -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tiger", "tiger, cut", "voicemail, cut", "one step", "bridge"])
def test_facts_that_were_added_up_are_those_of_the_whole(name):
    (log, _), discount = LOGS[name][0](), 0.9
    tally = LogTally(discount)
    for part, code in cut_up(log, 6, np.random.default_rng(2)):
        own = LogTally(discount)
        own.add(part.reward, part.start, part.terminated, code)
        tally.merge(own)
    assert tally.facts == facts_of(log)
    expected = returns_of(log, discount)
    for field in fields(expected):
        assert getattr(tally.paid, field.name) == pytest.approx(getattr(expected, field.name))
    dealt = deal(log, jm.random_stream(1, "selection"))
    for half in range(2):
        own = log.select(dealt.members(half))
        if tally.facts.common_length is not None:
            assert tally.mean_reward(half) == pytest.approx(own.reward.mean())
        assert tally.units_in(DealtPart(half)) == len(own)
        for fold in range(4):
            part = DealtPart(half).only(fold)
            assert tally.units_in(part) == len(dealt.episodes(part))


def test_a_log_without_episodes_is_refused():
    with pytest.raises(LogError, match="is empty"):
        _ = LogTally(0.9).facts


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
@pytest.mark.parametrize("expected", [1.0, 0.3, 0.01])
@pytest.mark.parametrize(("units", "steps"), [(5, 10**6), (60, 10**6), (60, 900), (10**6, 10**9)])
@pytest.mark.parametrize("name", ["tiger", "people"])
def test_the_first_units_are_kept_however_a_log_is_cut(name, units, steps, by_fold, expected):
    log, _ = LOGS[name][0]()
    ((whole, code),) = cut_up(log, 1, np.random.default_rng(0))
    half, fold = (code >> np.uint64(63)).astype(int), (code >> np.uint64(55)).astype(int) % 4
    group = half * 4 + fold if by_fold else half
    wanted = obvious_first(code, whole.lengths, group, units, steps / (8 if by_fold else 2))
    if expected < 1:  # only those that are let in
        let_in = FirstUnits(units, steps, by_fold=by_fold, expected=expected)
        wanted &= set(code[let_in.wanted(code)].tolist())
    for seed in range(3):
        kept = FirstUnits(units, steps, by_fold=by_fold, expected=expected)
        for part, own in cut_up(log, 5, np.random.default_rng(seed)):
            some = FirstUnits(units, steps, by_fold=by_fold, expected=expected)
            for few in np.array_split(np.arange(len(part)), 3):
                some.add(WholeEpisodes.of(part, own).select(few))
            kept.merge(some)
        found = kept.episodes
        if found is None:
            assert not wanted
            continue
        assert set(found.code.tolist()) == wanted
        inside = np.isin(code, sorted(wanted))
        assert len(found) == inside.sum()
        assert sorted(found.reward.tolist()) == sorted(
            whole.select(np.flatnonzero(inside)).reward.tolist()
        )
        if units == 60 and steps > 900:
            assert set(kept.first(5).code.tolist()) == obvious_first(
                found.code, np.diff(found.start), kept._group_of(found.code), 5, steps
            )


@pytest.mark.parametrize("by_fold", [True, False])
@pytest.mark.parametrize("share", [0.001, 0.004, 0.02, 0.3, 0.99])
def test_so_many_are_let_in_as_are_expected(by_fold, share):
    code = np.random.default_rng(1).integers(0, 2**64, 400_000, np.uint64)
    units, groups = 10**4, 8 if by_fold else 2
    kept = FirstUnits(units, 10**9, by_fold=by_fold, expected=share / 1.5)
    in_group = np.bincount(kept._group_of(code)[kept.wanted(code)], minlength=groups)
    there = 400_000 / groups
    assert (np.abs(in_group - share * there) < 5 * np.sqrt(there * share) + 1).all()


def test_too_few_that_were_let_in_are_noticed():
    log, _ = one_step(4000, 0.0)
    ((whole, code),) = cut_up(log, 1, np.random.default_rng(0))
    for expected, lacking in ((1.0, False), (0.2, False), (0.01, True)):
        kept = FirstUnits(100, 10**9, expected=expected)
        kept.add(WholeEpisodes.of(whole, code))
        assert kept.lacks([500] * 8) == lacking
    assert not FirstUnits(100, 10**9, expected=1e-9).lacks([0] * 8)  # nothing is there


def test_what_is_clear_from_the_first_episodes_is_not_read_again():
    """And what they say is what a test of these alone says."""
    log, behavior = one_step(5000, 1.0)
    shards = cut_up(log, 3, np.random.default_rng(2))
    lists = prepared(shards, behavior, discount=0.9)
    first = lists.score_first(held_of(shards, 600))
    assert not lists.undecided(first)
    found = lists.conclude(first)
    assert {trial.units for trial in found.trials} == {600}
    assert found.chosen is not None
    last = {
        h: np.sort(c[(c >> np.uint64(63)) == h])[599] for c in [shards_code(shards)] for h in (0, 1)
    }
    few = [
        (part.select(inside), code[inside])
        for part, code in shards
        for inside in [np.flatnonzero([c <= last[int(c >> np.uint64(63))] for c in code])]
    ]
    alone = lists.conclude(scored(lists, few))
    assert same(found, alone)
    everything = lists.conclude(scored(lists, shards))
    assert found.chosen.lower <= everything.chosen.lower


def held_of(shards, units: int) -> FirstUnits:
    """What the first pass keeps of each half."""
    held = FirstUnits(units, 10**9, by_fold=False)
    for part, code in shards:
        held.add(WholeEpisodes.of(part, code))
    return held


def shards_code(shards):
    return np.concatenate([code for _, code in shards])


def test_a_small_gain_is_worth_reading_on():
    log, behavior = one_step(20_000, 0.1)
    shards = cut_up(log, 3, np.random.default_rng(2))
    lists = prepared(shards, behavior, discount=0.9)
    first = lists.score_first(held_of(shards, 300))
    assert lists.conclude(first).chosen is None
    assert lists.undecided(first)
    assert lists.conclude(scored(lists, shards)).chosen is not None


def test_what_loses_is_not_read_again():
    log, behavior = one_step(20_000, 0.5)
    shards = cut_up(log, 3, np.random.default_rng(2))
    lists = prepared(shards, behavior, discount=0.9)
    first = lists.scoring.nothing()
    for half, wagers in enumerate(first.tallies):
        for i in range(len(wagers)):  # bad luck beyond doubt
            scores = np.full(1000, -0.1)
            first.add(
                half, i, (scores, np.ones(1000), np.zeros(1000), scores),
                np.arange(1000, dtype=np.uint64) << np.uint64(50),
            )  # fmt: skip
    assert not lists.undecided(first)


def test_a_log_without_labels_cannot_be_dealt_in_parts():
    with pytest.raises(LogError, match="no labels"):
        codes_of(replace(one_step(20, 0.0)[0], origin=None), 1)


def test_the_discount_must_be_that_of_the_first_pass():
    log, behavior = one_step(20, 0.0)
    shards = cut_up(log, 2, np.random.default_rng(0))
    from streamed_logs import first_pass, longest_memory, shortlists

    first = first_pass(shards, longest_memory(behavior), 0.9, False)
    with pytest.raises(ParameterError, match=r"0\.8 is not that of the first pass"):
        shortlists(first, behavior, discount=0.8)


def test_an_episode_longer_than_the_declared_horizon_is_refused():
    log, behavior = simulated(TIGER, 100, 200)
    with pytest.raises(LogError, match="more than the declared horizon of 1"):
        prepared(cut_up(log, 2, np.random.default_rng(0)), behavior, discount=0.9, horizon=1)


def test_a_history_that_was_not_counted_is_named():
    log, behavior = simulated(TIGER, 100, 200)
    lists = prepared(cut_up(log, 2, np.random.default_rng(0)), behavior, discount=0.95)
    other, _ = simulated(TIGER, 3000, 200, seed=8)
    with pytest.raises(LogError, match=r"episode e\d+\): this history was not there"):
        scored(lists, cut_up(other, 2, np.random.default_rng(0)))


# ---- scores that were added up ------------------------------------------------------------------


def tallied(scores, block, bet: Bet, parts: int = 3) -> Tallied:
    whole = Tallied(Wager(bet, 0.3))
    for some in np.array_split(np.random.default_rng(1).permutation(len(scores)), parts):
        part = Tallied(Wager(bet, 0.3))
        no = np.zeros(len(some))
        part.add((scores[some], np.ones(len(some)), no, scores[some]), block[some])
        whole.merge(pickle.loads(pickle.dumps(part)))
    return whole


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fraction", [0.02, 0.5, 0.98])
def test_sums_say_what_the_scores_say(seed, fraction):
    """Skewed scores with a floor, some at it, some very large."""
    rng = np.random.default_rng(seed)
    n, L = int(rng.integers(1, 3000)), float(10.0 ** rng.uniform(-3, 3))
    scores = L * (rng.pareto(2.0 if seed % 2 else 0.6, n) * rng.uniform(0.1, 2) - 1)
    scores[rng.random(n) < 0.1] = -L
    block = rng.integers(0, 256, n)
    bet = Bet(L, fraction)
    kept, sums = Scores(scores, block), tallied(scores, block, bet)
    assert sums.units == n
    assert sums.mean == pytest.approx(kept.mean, rel=1e-9)
    if n > 1:
        assert sums.variance == pytest.approx(kept.variance, rel=1e-6)
    assert sums.log_wealth(bet) == pytest.approx(kept.log_wealth(bet), rel=1e-9, abs=1e-9)
    for gain in (-0.5 * L, 1e-300, 0.1 * L, 2 * L):
        mine, theirs = sums.log_wealth(bet, gain), kept.log_wealth(bet, gain)
        assert theirs - 1e-3 * n * fraction - 1e-9 <= mine <= theirs + 1e-9 * n
    for level in (0.5, 0.05, 1e-4):
        mine, theirs = sums.lower(bet, level), kept.lower(bet, level)
        assert mine <= theirs + 1e-9 * L
        if theirs > -0.9 * L:
            assert mine + L >= (theirs + L) * (1 - 1e-3)
    one, two = sums.growth_if(0.2 * L, L), kept.growth_if(0.2 * L, L)
    assert one.mean == pytest.approx(two.mean, rel=0.02, abs=1e-4)


def test_no_score_is_too_large():
    bet = Bet(1.0, 0.5)
    sums = tallied(np.array([1e300, math.inf, -1.0]), np.array([0, 1, 2]), bet)
    assert math.isfinite(sums.mean)
    assert sums.lower(bet, 0.05) > -1.0
    assert sums.log_wealth(bet) < 1000


def test_nothing_scored_says_nothing():
    empty, bet = Tallied(Wager(Bet(2.0, 0.5), 0.0)), Bet(2.0, 0.5)
    assert (empty.log_wealth(bet), empty.lower(bet, 0.05)) == (0.0, -2.0)


def test_ranges_by_hand():
    """Floor 1: D = -1, 0 and 2 are 1, 2 and 4 from -2: the first ranges of three powers of two.
    2.5 is 4.5: an eighth of the way from 4 to 8, so the range 16 of 128, at its beginning."""
    scores = np.array([-1.0, 0.0, 2.0, 2.5, 2.5 + 4 / 256])
    bins, within = np.empty(5, np.int64), np.empty(5, np.int64)
    kernels.bins_of(scores, 1.0, bins, within)
    assert bins.tolist() == [0, 128, 256, 256 + 16, 256 + 16]
    assert within.tolist() == [0, 0, 0, 0, 1 << 19]  # halfway
