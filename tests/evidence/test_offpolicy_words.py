"""Off-policy estimates: what they say of little evidence, of coverage, and which is better; and no
number that is shown lies outside what is possible, whatever the log."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar import offpolicy
from jumar.core.errors import ControllerError, JumarError, LogError, MemoryMismatch, ParameterError
from jumar.evidence.offpolicy import estimators, ranges, weights
from jumar.evidence.plausible import Evidenced
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.log.episodes import Labels
from jumar.memory import NamedNodes, window
from jumar.policy.controller import Controller
from offpolicy_logs import ALWAYS, FAIR, KEEPS, NAMES, log_of, γ

# ---- what it says -------------------------------------------------------------------------------


def test_little_evidence_is_said_plainly():
    """Nine steps kept with probability 1/2 each: one episode of 100 follows 'always keep'."""
    log = log_of([[0] * 9] + [[1] * 9] * 99, [[1] * 9] * 100)
    found = offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator="wdr")
    assert found.verdict.startswith(
        "No number is shown: the log says as much of it as 1 ordinary episode would."
    )
    assert (found.evidence.shown, found.warnings) == (None, ())
    plenty = offpolicy.estimate(log, FAIR, FAIR, discount=γ, estimator="pdis")
    assert plenty.effective_size == pytest.approx(100)
    assert plenty.warnings == ("All values are equal, so the interval has no width; "
                               "do not trust that.",)  # fmt: skip


@pytest.mark.parametrize("estimator", offpolicy.ESTIMATORS)
def test_a_log_that_the_target_never_follows_tells_nothing(estimator):
    log = log_of([[1, 0], [1]], [[1, 1], [1]])
    with pytest.raises(LogError, match="Of 2 episodes, none is one that always keep could"):
        offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator=estimator)


BEGINNINGS = [[[0, 1], [1, 0]], [[3, 5], [7, 7]]]  # only one step is one of always keep


def test_beginnings_are_enough_for_means():
    """The one kept step weighs 2 and pays 3, the other episode nothing: (6 + 0) / 2.

    dr judges each episode by the other. The second says that both steps pay 7: the first is worth
    7 (1 + γ) + 2 (3 + 7γ - 7 (1 + γ)). The first says that keeping pays 3, twice: that is the
    worth of the second, which begins with what is never done."""
    log = log_of(*BEGINNINGS)
    found = offpolicy.estimate_all(log, ALWAYS, FAIR, discount=γ)
    assert {name: e.value for name, e in found.items()} == {
        "pdis": 3,
        "dr": pytest.approx((7 * (1 + γ) + 2 * (3 - 7) + 3 * (1 + γ)) / 2),
    }
    assert found["pdis"].evidence.shown is None
    message = "always keep could have made from beginning to end: .* wdr needs at least"
    with pytest.raises(LogError, match=message):
        offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator="wdr")


def test_what_the_behavior_never_does_cannot_be_judged():
    log = log_of([[0, 0]], [[0, 0]])
    message = (
        r"Log, episode 0, step 0: here keeps may do 'repair', which always keep never does "
        r"\(2 such steps in all\)"
    )
    with pytest.raises(ControllerError, match=message):
        offpolicy.estimate(log, KEEPS, ALWAYS, discount=γ)


def test_an_action_only_the_target_knows_cannot_be_judged():
    more = Controller.constant(NAMES[0], (*NAMES[1], "sell"), [0.5, 0.25, 0.25], name="sells")
    with pytest.raises(ControllerError, match="here sells may do 'sell', which uniform never"):
        offpolicy.estimate(log_of([[0]], [[0]]), more, FAIR, discount=γ, estimator="pdis")


def test_what_happens_after_the_target_left_need_not_be_covered():
    """After 'repair' the behavior always keeps and the target may not; but the target never
    repairs, so it is never there."""
    memory = window(2, actions=True).on(2, 2)
    after = Controller.uniform(*NAMES, memory=memory).state([["good", "repair"]], "good")
    old = Controller(*NAMES, memory, after[None], [[1.0, 0.0]], [0.5, 0.5], name="old")
    new = Controller(*NAMES, memory, after[None], [[0.0, 1.0]], [1.0, 0.0], name="new")
    log = log_of([[1, 0], [0, 0]], [[0, 0], [1, 1]])
    found = offpolicy.estimate(log, new, old, discount=1.0, estimator="pdis")
    assert found.value == 0.5 * (2 * 1 + 4 * 1)
    assert not any("Wherever" in text for text in found.assumptions)


def test_coverage_that_only_the_log_vouches_for_is_an_assumption():
    """On 'worn', never seen in the log, the target does what the behavior never does."""
    old = Controller(*NAMES, window(1), [[1]], [[1.0, 0.0]], [0.5, 0.5], name="old")
    log = log_of([[0]] * 3, [[1]] * 3)
    found = offpolicy.estimate(log, FAIR, old, discount=γ, estimator="pdis")
    assert "checked only where the log leads" in found.assumptions[4]


def test_names_in_another_order_are_refused_where_the_memories_must_be_joined():
    turned = Controller.constant(NAMES[0][::-1], NAMES[1], [0.25, 0.75], name="turned")
    log = log_of([[0], [1]], [[0], [1]])
    assert offpolicy.estimate(log, turned, FAIR, discount=γ, estimator="pdis").value == 0.75
    with pytest.raises(MemoryMismatch, match="turned and uniform do not list the same obs"):
        offpolicy.estimate(log, turned, FAIR, discount=γ)


def test_a_logged_node_that_replaying_does_not_come_to_is_refused():
    clock = NamedNodes(("even", "odd"), [[[1, 1]] * 2, [[0, 0]] * 2])
    old = Controller.uniform(*NAMES, memory=clock, name="clock")
    log = log_of([[0, 1]], [[0, 0]])
    for code, message in (([0, 1], None), ([0, 0], "the memory was 'even', but clock")):
        told = replace(log, node=Labels(("even", "odd"), code))
        if message is None:
            assert offpolicy.estimate(told, old, old, discount=γ, estimator="pdis").value == 0
        else:
            with pytest.raises(LogError, match=message):
                offpolicy.estimate(told, old, old, discount=γ, estimator="pdis")


def test_weights_beyond_all_numbers_are_refused():
    rare = Controller.constant(*NAMES, [1 - 1e-9, 1e-9], name="rare")
    log = log_of([[1] * 40], [[0.0] * 40])
    with pytest.raises(LogError, match=r"too large to compute with\. Did rare produce this log"):
        offpolicy.estimate(log, FAIR, rare, discount=γ, estimator="pdis")


# ---- the verdict --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rewards", "begins"),
    [([1.0, 0.0], "Better than the behavior by at least 0.2"),
     ([0.0, 1.0], "Worse than the behavior by at least 0.2"),
     ([1.0, 1.0], "Not decided: nothing in this log tells the one from the other.")],
)  # fmt: skip
def test_the_verdict_says_which_is_better(rewards, begins):
    """Keeping pays rewards[0], repairing rewards[1]; the target keeps 3 times in 4."""
    pays = [[rewards[i % 2]] for i in range(100)]
    found = offpolicy.estimate(
        log_of([[i % 2] for i in range(100)], pays), KEEPS, FAIR, discount=γ,
        estimator="pdis", interval="t", difference=True,
    )  # fmt: skip
    assert found.verdict.startswith(begins)
    if rewards != [1.0, 1.0]:
        assert "(asymptotic, nominally 5 % chance of error)" in found.verdict
    assert found.to_dict()["verdict"] == found.verdict


def test_an_estimate_that_is_only_claimed_has_no_at_least():
    pays = [[1.0 * (i % 2 == 0)] for i in range(100)]
    found = offpolicy.estimate(
        log_of([[i % 2] for i in range(100)], pays), KEEPS, replace(FAIR, estimated=True),
        discount=γ, estimator="pdis", interval="t", difference=True,
    )  # fmt: skip
    assert found.verdict.startswith("Looks better than the behavior: the difference is in 0.2")
    assert found.verdict.endswith("(claimed).")


# ---- what is shown ------------------------------------------------------------------------------


NEVER = Controller.constant(*NAMES, [0.001, 0.999], name="hardly keeps")


def test_a_number_at_the_edge_is_the_edge_and_one_beyond_it_is_none():
    """Within two errors and a twentieth of the range."""
    near = Evidenced(10.3, 9.0, 11.6, error=0.6, possible=(0.0, 10.0), effective=400.0)
    assert (near.shown, near.interval) == (10.0, (9.0, 10.0))
    far = replace(near, value=10.6, error=100.0)
    exact = replace(near, error=0.1)
    assert far.shown is exact.shown is None


def test_dead_weights_show_nothing_and_the_model_is_not_taken_for_the_log():
    """300 steps, cut off; the target always keeps, the behavior half of the time: weights reach 8
    steps or so. Each step pays 1 or 0."""
    rng = np.random.default_rng(1)
    actions = rng.integers(0, 2, (200, 300))
    log = log_of(actions.tolist(), (1.0 - actions).tolist(), ended=False)
    for difference in (False, True):
        found = offpolicy.estimate(log, ALWAYS, FAIR, discount=0.99, difference=difference)
        assert found.evidence.shown is None
        assert not re.search(r"\d{3}", found.verdict + str(found) + repr(found))
        assert found._repr_html_().count("not shown") == 1
        assert found.to_dict()["value"] is None


def numbers_in(found: offpolicy.Estimate) -> list[float]:
    """That a person reads as the value and its interval."""
    told = found.to_dict()
    text = str(found).split("(")[0] + found.verdict.split("(")[0].split("No number")[0]
    text = text.replace(told["caution"] or "no caution", "")
    said = [] if told["value"] is None else re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)
    return [
        *(abs(float(x)) for x in said),
        *(abs(told[x]) for x in ("value", "lower", "upper") if told[x] is not None),
    ]


@pytest.mark.parametrize("ended", [True, False])
@given(data=st.data())
def test_no_number_that_is_shown_lies_outside_what_is_possible(ended, data):
    """Rewards from 1e-9 to 1e9, all alike or not, weights that are dead or huge, clusters,
    propensities and estimated behaviors. What is possible is worked out from the log alone."""
    E, T = data.draw(st.integers(2, 60)), data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    lengths = np.full(E, T) if data.draw(st.booleans()) else rng.integers(1, T + 1, E)
    unit = data.draw(st.sampled_from([1e-9, 1.0, 1e9]))
    pays = data.draw(st.sampled_from([[1.0, 1.0], [0.0, 1.0], [-3.0, 2.0], [7.0, 8.0]]))
    actions = [rng.integers(0, 2, n).tolist() for n in lengths]
    rewards = [[unit * pays[a] for a in some] for some in actions]
    log, behavior = log_of(actions, rewards, ended), data.draw(st.sampled_from([FAIR, "estimate"]))
    if data.draw(st.booleans()):
        log = replace(log, cluster=Labels.of([str(i % 7) for i in range(E)]))
    if data.draw(st.booleans()):
        log, behavior = replace(log, propensity=weights.taken(log, FAIR)), None
    target = data.draw(st.sampled_from([KEEPS, ALWAYS, NEVER, FAIR]))
    difference = data.draw(st.booleans())
    try:
        found = offpolicy.estimate_all(log, target, behavior, discount=γ, difference=difference)
    except JumarError:
        return
    lowest, highest = (sum(γ**t for t in range(T)) * unit * x for x in (min(pays), max(pays)))
    low, high = min(lowest, unit * pays[0]), max(highest, unit * max(pays), 0.0)
    most = (high - low) if difference else max(abs(low), abs(high))
    for estimate in found.values():
        json.dumps(estimate.to_dict(), allow_nan=False)
        shown = numbers_in(estimate)
        assert max(shown, default=0.0) <= most * (1 + 1e-5), (str(estimate), estimate.verdict)


def test_the_estimate_that_counts_is_one_that_may_be_shown():
    """Whole episodes say nothing of what always keeps, their beginnings do."""
    rng = np.random.default_rng(2)
    actions = rng.integers(0, 2, (400, 12))
    log = log_of(actions.tolist(), (1.0 - actions).tolist(), ended=False)
    found = offpolicy.estimate_all(log, ALWAYS, FAIR, discount=0.1)
    best = offpolicy.best_of(found.values())
    assert (best.estimator, best.evidence.hidden) == ("dr", "")
    low, high = best.evidence.interval
    assert low <= (1 - 0.1**12) / 0.9 <= high + 1e-9


@pytest.mark.parametrize("estimator", ["pdis", "dr", "wdr"])
def test_what_differs_by_rounding_alone_differs_by_nothing(estimator):
    """The policy of the log against itself: 0, and no interval of 3e-15 that lies beside it."""
    rng = np.random.default_rng(1)
    actions = rng.integers(0, 2, (60, 9))
    log = log_of(actions.tolist(), rng.normal(100, 1, (60, 9)).tolist(), ended=False)
    found = offpolicy.estimate(log, FAIR, FAIR, discount=γ, estimator=estimator, difference=True)
    assert (found.value, found.lower, found.upper) == (0, 0, 0)


@pytest.mark.parametrize("difference", [False, True])
def test_an_interval_that_is_not_to_be_trusted_decides_nothing(difference):
    """One of 400 episodes pays 1,000, the others about 1: n / skew² is 1 or 2, below 10."""
    rng = np.random.default_rng(1)
    actions, paid = rng.integers(0, 2, (400, 1)), rng.normal(1, 0.1, (400, 1))
    paid[0] = 1000.0
    log = log_of(actions.tolist(), paid.tolist())
    found = offpolicy.estimate(log, KEEPS, FAIR, discount=γ, difference=difference)
    assert found.trust.size < 10 < 30 < found.effective_size
    assert found.verdict == "Not decided: the interval is not to be trusted."
    assert "Do not trust this interval" in " ".join(found.warnings)


# ---- ranges and proved intervals ----------------------------------------------------------------


def test_a_proved_interval_by_hand():
    """Ratios up to 3/2 over at most 2 steps, rewards 0 to 1, no discount: PDIS lies in
    0 to 1.5 + 2.25 = 3.75, and Hoeffding's radius is 3.75 √(ln(2/δ) / 2n)."""
    log = log_of([[0, 1], [1]] * 50, [[0, 1], [1]] * 50)
    found = offpolicy.estimate(
        log, KEEPS, FAIR, discount=1.0, estimator="pdis", interval="hoeffding",
        rewards=RewardRange.constant(0, 1), horizon=2,
    )  # fmt: skip
    radius = 3.75 * math.sqrt(math.log(2 / 0.05) / 200)
    assert found.value == pytest.approx((0.75 + 0.5) / 2)
    assert (found.lower, found.upper) == pytest.approx((0.625 - radius, 0.625 + radius))
    assert found.validity is Validity.PROVED
    assert found.possible == (0, 2)
    assert found.notes == (
        "Over 2 steps an episode's weight could be as large as 2.25; proved intervals must allow "
        "for it.",
    )
    assert not any("read off" in text for text in found.assumptions)


@pytest.mark.parametrize("difference", [False, True])
def test_an_astronomical_range_is_called_vacuous(difference):
    log = log_of([[0] * 2, [1] * 2] * 20, [[1] * 2, [0] * 2] * 20)
    for horizon, size in ((300, "6.72e+52"), (3000, "more than 1e308")):
        found = offpolicy.estimate(
            log, KEEPS, FAIR, discount=γ, estimator="pdis", interval="hoeffding",
            horizon=horizon, difference=difference,
        )  # fmt: skip
        assert found.vacuous
        assert found.verdict.startswith("vacuous: the interval excludes nothing")
        assert size in found.notes[0]
        json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_dict()["lower"] is None


def test_truncation_needs_no_upper_end():
    """The same log, whose upper end is astronomical: a lower bound above the least return 0."""
    log = log_of([[0] * 30, [1] * 30, [0, 1]] * 200, [[1] * 30, [0] * 30, [1, 0]] * 200)
    found = offpolicy.estimate(
        log, KEEPS, FAIR, discount=γ, estimator="pdis", interval="truncated", horizon=300
    )
    assert 0 < found.lower < found.value
    assert (found.upper, found.sides) == (math.inf, "lower")
    assert found.validity is Validity.PROVED_IF_SEEN  # the rewards are those of the log


def test_memories_too_large_to_join_get_the_crude_range(monkeypatch):
    """The rarest thing the behavior does has probability 1/4, so a weight is at most 4^t."""
    monkeypatch.setattr(ranges, "MOST_NODES", 3)
    long = Controller.uniform(*NAMES, memory=window(3))
    steps = ranges.steps_of(long, KEEPS)
    assert steps.largest_weights(3).tolist() == [4, 16, 64]
    assert steps.covered  # whatever it does, the behavior does everything
    assert not ranges._crude(ALWAYS).covered
    assert steps.pdis_range(RewardRange((-1, 2)), 1.0, 2) == (-20, 40)


def test_an_episode_beyond_the_declared_horizon_names_its_place():
    log = log_of([[0], [0, 0, 0]], [[1], [1, 1, 1]])
    with pytest.raises(LogError, match="episode 1, step 0: this episode has 3 steps, more than"):
        offpolicy.estimate(log, FAIR, FAIR, discount=γ, horizon=2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"estimator": "drr"}, "estimator 'drr' is not one of pdis, .* Did you mean 'dr'"),
        ({"interval": "bootstrapt"}, "interval 'bootstrapt' is not one of .* mean 'bootstrap-t'"),
        ({"interval": "hoeffding"}, "not for dr, whose values have no range .* or estimator pdis"),
        ({"estimator": "wdr", "interval": "t"}, "not for wdr, which is no mean .* bootstrap-t"),
        ({"estimator": "pdis", "interval": "truncated", "sides": "two"}, "from below only"),
        ({"sides": "left"}, "sides 'left' is not one of two, lower, upper"),
        ({"delta": 1.0}, "not strictly between 0 and 1"),
        ({"discount": 1.5}, r"discount: 1.5 must lie in \[0, 1\]"),
        ({"horizon": 0}, "horizon 0 is less than 1"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    log = log_of([[0], [1]], [[1], [1]])
    with pytest.raises(ParameterError, match=message):
        offpolicy.estimate(log, FAIR, FAIR, **{"discount": γ, **wrong})


@pytest.mark.parametrize("estimator", list(estimators.ESTIMATORS))
@pytest.mark.parametrize("chance", [1e-300, 1e-160])
def test_no_interval_runs_from_nan_to_nan(estimator, chance):
    """Nor is there a warning on the way to it."""
    hardly = Controller.constant(*NAMES, [1 - chance, chance])
    log = log_of([[0], [1]] * 20, [[0], [1], [2], [3]] * 10)
    with pytest.raises(LogError, match=f"estimator '{estimator}': weights are too large"):
        offpolicy.estimate(log, FAIR, hardly, discount=γ, estimator=estimator)
