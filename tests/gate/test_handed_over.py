"""One policy is scored, and the same policy is handed over: in every situation, seen or not.

What is held out decides nothing about a candidate. So a second log is made that has the same
episodes in the half that is learned from, and other ones, with thousands of histories that the
first log never shows, in the other half. A candidate of the first log, as it is handed over, must
do in all of them what the candidate of the second log is scored with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar.algorithms import ALGORITHMS
from jumar.core.randomness import branch, random_stream
from jumar.evidence.practice import practice_of
from jumar.gate import proved, select
from jumar.gate.bench import Bench, Fitted, chain, given, taught
from jumar.gate.bets import Bet
from jumar.gate.candidates import candidates
from jumar.gate.dealing import DealtLog, DealtPart
from jumar.gate.limits import limits_of
from jumar.gate.makers import makers_of
from jumar.gate.trials import PROVED
from jumar.log.episodes import Episodes, Labels, Origin
from jumar.policy.controller import Controller
from large_logs import as_large
from selection_logs import halves_of

SCREENS, ACTIONS = tuple(f"s{i}" for i in range(60)), ("x", "y", "wait")
SHOWN = 2  # screens of the half that is learned from
REWARDS = jm.RewardRange((-1, 1), (-1, 3))
STEPS, EPISODES, DISCOUNT = 3, 1400, 0.5
OLD = Controller.constant(SCREENS, ACTIONS, [0.3, 0.5, 0.2], name="old")
NEW = Controller.constant(SCREENS, ACTIONS, [0.5, 0.3, 0.2], name="new")


def rule(mdp, behavior):
    """Thinks nothing of what its part of the log shows."""
    return Controller.constant(SCREENS, ACTIONS, [0.8, 0.1, 0.1])


def remembers(mdp, behavior):
    """The last two screens decide; where the model remembers less there is no such rule."""
    pairs = jm.window(2).on(len(SCREENS), len(ACTIONS))
    if mdp.memory != pairs:
        return None
    states = np.array([[z, 0] for z in range(len(SCREENS))])
    rows = np.tile([0.1, 0.1, 0.8], (len(states), 1))
    return Controller.constant(SCREENS, ACTIONS, [0.2, 0.7, 0.1], pairs).except_at(states, rows)


def greedy(mdp, behavior):
    return np.eye(len(ACTIONS))[np.where(mdp.visits > 0, mdp.reward, -9).argmax(1)] * 0.7 + 0.1


FUNCTIONS = {
    "rows": greedy,
    "a controller": rule,
    "a controller that remembers": remembers,
    "an improvement": lambda mdp, b: jm.spibb(mdp, b, n_wedge=3),
    "another's improvement": lambda mdp, b: replace(
        jm.spibb(mdp, b, n_wedge=3), controller=rule(mdp, b).lift(mdp.memory)
    ),
    "several": lambda mdp, b: [rule(mdp, b), greedy(mdp, b), jm.algorithms.basic.improve(mdp, b)],
}
MAKERS = {
    "the usual": None,
    **{name: name for name in ALGORITHMS if name != "auto"},
    **FUNCTIONS,
}


def two_logs(kind: str = "", seed: int = 1) -> tuple[Episodes, Episodes]:
    """Alike in the first half, as it is dealt; in the other one nothing is."""
    rng, N = np.random.default_rng(seed), STEPS * EPISODES
    labels = [f"e{i}" for i in range(EPISODES)]
    origin = Origin("log.csv", np.arange(N), labels)
    by = rng.integers(2, size=EPISODES)
    more = {"behavior": Labels.of([("old", "new")[k] for k in by])} if kind == "several" else {}
    both = []
    for screens in (SHOWN, len(SCREENS)):
        z, acts = rng.integers(screens, size=N), OLD.default
        action = rng.choice(3, size=N, p=acts)
        if kind == "propensities":
            more = {"propensity": acts[action]}
        reward = np.where(rng.random(N) < 0.1 + 0.8 * (action == z % 3), 1.0, -1.0)
        ended = rng.random(EPISODES) < 0.7
        last = np.where(ended, -1, rng.integers(screens, size=EPISODES))
        start = np.arange(0, N + 1, STEPS)
        both.append(Episodes(SCREENS, ACTIONS, z, action, reward, start, last, ended, **more,
                             origin=origin))  # fmt: skip
    one, other = both
    learned = np.flatnonzero(halves_of(one) == 0)
    rest = np.setdiff1d(np.arange(EPISODES), learned)
    mixed = one.select(learned) + other.select(rest)
    return one, mixed.select(np.argsort([int(name[1:]) for name in mixed.origin.label]))


def behaviors(kind: str):
    return {"several": {"old": OLD, "new": NEW}, "propensities": None}.get(kind, OLD)


def bench_of(log: Episodes, makers, kind: str = "", simplify: float | None = None) -> Bench:
    """Where the candidates of the first half are made, as `select` does it."""
    practice, rng = practice_of(log, behaviors(kind)), random_stream(1, "selection")
    dealt = DealtLog.of(practice, rng, DISCOUNT)
    if kind == "learned":
        laid, _ = taught(dealt, 1, branch(rng, "memory"))
    else:
        (laid,) = given(dealt, chain(practice.memory, None, 1))
    limits = limits_of(practice.log, DISCOUNT, REWARDS, STEPS)
    whole = Bench.on(dealt, laid, DISCOUNT, limits, simplify=simplify, makers=makers_of(makers))
    return whole.learning_from(0)


def candidates_of(bench: Bench) -> tuple[list[Fitted], list[Bet]]:
    """All that are made, and the shortlist, which may have fewer changes; and the bets on it."""
    own, units = DealtPart(0), 100
    listed, _ = proved.shortlist(bench, own, units, 0.05)
    made = [*candidates(bench, own, PROVED), *(x.candidate for x in listed)]
    return made, [x.prospect.bet for x in listed]


def check(one: Bench, other: Bench) -> None:
    states, memory = other.numbered[-1].states, other.numbered[-1].memory
    (made, bets), (others, other_bets) = candidates_of(one), candidates_of(other)
    pairs = list(zip(made, others, strict=True))
    assert pairs
    assert bets == other_bets
    assert len(states) - len(one.numbered[-1].states) > 1000  # never seen in the first log
    for here, there in pairs:
        assert here.setting == there.setting
        handed = one.controller(here).lift(memory)
        np.testing.assert_array_equal(handed.rows_at(states), there.rows)


KINDS = ("several", "propensities", "learned")
OFTEN = ("the usual", "soft", "rows", "a controller", "several")


@pytest.mark.parametrize(
    ("maker", "kind"), [*((m, "") for m in MAKERS), *((m, k) for m in OFTEN for k in KINDS)]
)
def test_what_is_scored_is_handed_over(maker, kind):
    logs = two_logs(kind)
    check(*(bench_of(log, MAKERS[maker], kind) for log in logs))


@pytest.mark.parametrize("maker", ["the usual", "soft", "rows", "a controller"])
def test_the_same_with_fewer_changes(maker):
    check(*(bench_of(log, MAKERS[maker], simplify=0.6) for log in two_logs()))


@pytest.mark.parametrize("simplify", [False, 0.6])
@pytest.mark.parametrize("maker", ["the usual", "soft", "basic", *FUNCTIONS])
def test_the_same_of_a_log_of_which_only_counts_are_kept(maker, simplify):
    with as_large():
        check(*(bench_of(log, MAKERS[maker], simplify=simplify or None) for log in two_logs()))


# ---- what a person is handed --------------------------------------------------------------------


@pytest.mark.parametrize("maker", [None, rule])
@pytest.mark.slow
def test_what_passed_is_what_the_result_and_its_files_do(maker, tmp_path):
    """In every situation of 1,000 random episodes, of which the log shows hardly any."""
    log = two_logs()[0]
    how = {"discount": DISCOUNT, "rewards": REWARDS, "horizon": STEPS, "seed": 1}
    result = jm.improve(log, OLD, candidates=maker, **how)
    passed = select(log, OLD, candidates=maker, **how)
    assert passed.chosen is not None
    result.save(tmp_path)
    program: dict[str, object] = {"__name__": "improved"}
    exec(compile((tmp_path / "improved.py").read_text(), "improved.py", "exec"), program)
    runs = program["Controller"](seed=1)
    loaded = jm.load_controller(tmp_path / "improved.json")
    rng = np.random.default_rng(3)
    for _ in range(1000):
        screens = [SCREENS[i] for i in rng.integers(len(SCREENS), size=STEPS)]
        acts = [ACTIONS[i] for i in rng.integers(3, size=STEPS)]
        runs.reset()
        expected = follow(passed.controller, screens, acts)
        assert follow(result.controller, screens, acts) == expected
        assert follow(loaded, screens, acts) == expected
        for screen, act, chances in zip(screens, acts, expected, strict=True):
            assert runs.probabilities(screen) == chances
            runs.tell(screen, act)


def follow(controller: Controller, screens: list[str], acts: list[str]) -> list[dict[str, float]]:
    """What a controller may do at every step of an episode."""
    agent, found = controller.start(1), []
    for screen, act in zip(screens, acts, strict=True):
        found.append(agent.probabilities(screen))
        agent.tell(screen, act)
    return found
