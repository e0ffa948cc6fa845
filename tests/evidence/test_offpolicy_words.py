"""Off-policy estimates: what they say of little evidence, of coverage, and which is better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jumar import offpolicy
from jumar.core.errors import ControllerError, LogError, MemoryMismatch
from jumar.evidence.offpolicy import weights
from jumar.log.episodes import Labels
from jumar.memory import NamedNodes, window
from jumar.policy.controller import Controller
from offpolicy_logs import ALWAYS, FAIR, KEEPS, NAMES, log_of, γ

# ---- what it says -------------------------------------------------------------------------------


def test_effective_size_and_the_heaviest_episode():
    w = np.array([3.0, 1.0, 0.0, 0.0])
    assert weights.effective_size(w) == pytest.approx(16 / 10)
    assert weights.largest_share(w) == 0.75
    assert weights.effective_size(1e200 * w) == pytest.approx(1.6)  # squares would overflow
    assert weights.effective_size(0 * w) == weights.largest_share(0 * w) == 0


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
    with pytest.raises(LogError, match="None of the 2 episodes is one that always keep could"):
        offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator=estimator)


BEGINNINGS = [[[0, 1], [1, 0]], [[3, 5], [7, 7]]]  # only one step is one of always keep


def test_beginnings_are_enough_for_pdis():
    """Its one kept step weighs 2 and pays 3, the other episode nothing: (6 + 0) / 2."""
    log = log_of(*BEGINNINGS)
    found = offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator="pdis")
    assert found.value == 3
    assert found.evidence.shown is None


def test_beginnings_are_enough_for_doubly_robust_estimates():
    """Each episode is judged by the other. The second says that both steps pay 7: the first is
    worth 7 (1 + γ) + 2 (3 + 7γ - 7 (1 + γ)). The first says that keeping pays 3, twice: that is
    the worth of the second, which begins with what is never done."""
    log = log_of(*BEGINNINGS)
    found = offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator="dr")
    assert found.value == pytest.approx((7 * (1 + γ) + 2 * (3 - 7) + 3 * (1 + γ)) / 2)


def test_beginnings_are_not_enough_for_what_needs_whole_episodes():
    message = "always keep could have made from beginning to end: .* wdr needs at least"
    with pytest.raises(LogError, match=message):
        offpolicy.estimate(log_of(*BEGINNINGS), ALWAYS, FAIR, discount=γ, estimator="wdr")


def test_all_estimators_are_then_those_that_learn_from_beginnings():
    log = log_of(*BEGINNINGS)
    assert list(offpolicy.estimate_all(log, ALWAYS, FAIR, discount=γ)) == ["pdis", "dr"]


def test_one_cut_off_episode_of_one_step_is_counted_as_one():
    settings = {"discount": γ, "estimator": "pdis", "interval": "hoeffding"}
    two = log_of([[0]], [[1]], ended=False) + log_of([[0]], [[1]])
    found = offpolicy.estimate(two, FAIR, FAIR, **settings)
    assert any(text.startswith("1 of 2 episodes was cut off") for text in found.assumptions)
    assert any(text.endswith("none has more than 1 step.") for text in found.assumptions)
    assert found.notes[0].startswith("Over 1 step an episode's weight")


@pytest.mark.parametrize("estimator", ["wdr", "pdis"])
def test_one_episode_is_not_called_episodes(estimator):
    with pytest.raises(LogError, match="The only episode is not one that always keep could"):
        offpolicy.estimate(log_of([[1]], [[1]]), ALWAYS, FAIR, discount=γ, estimator=estimator)
    with pytest.raises(LogError, match="The log has 1 episode; 2 folds"):
        offpolicy.estimate(log_of([[0]], [[1]]), ALWAYS, FAIR, discount=γ, estimator="dr")


def test_an_impossible_action_names_its_place():
    log = log_of([[0, 0], [0, 1]], [[0, 0], [0, 0]])
    with pytest.raises(LogError, match=r"episode 1, step 1: action 'repair' was taken, but always"):
        weights.ratios(log, FAIR, ALWAYS)


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


def test_cut_off_episodes_count_up_to_the_cut_and_it_is_said():
    log = log_of([[0, 0]] * 3, [[1, 1]] * 3, ended=False)
    found = offpolicy.estimate(log, ALWAYS, ALWAYS, discount=0.5)
    assert found.value == 1.5
    assert any(text.startswith("3 of 3 episodes were cut off") for text in found.assumptions)


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
