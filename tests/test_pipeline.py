"""From a log and a controller to an improvement with its certificates, with numbers by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from facts import refuses
from jumar.core.errors import LogError, MemoryMismatch, ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence.consistency import rewards_seen
from jumar.evidence.practice import practice_of
from jumar.evidence.rewards import RewardRange
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.memory import NamedNodes, window
from jumar.policy.controller import Controller
from selection_logs import one_step

NAMES = ("good", "worn"), ("keep", "repair")
HALF = Controller.uniform(*NAMES, name="half and half")


def one_step_log(keeps: int, repairs: int, pays: tuple[float, float] = (1.0, 3.0)) -> Episodes:
    """Episodes of one step on 'worn' that end: keeping pays 1, repairing 3."""
    actions = [0] * keeps + [1] * repairs
    return one_step(NAMES, 1, actions, [pays[a] for a in actions])


# ---------------------------------------------------------------- the numbers


def test_the_action_that_pays_more_is_taken_when_both_are_known():
    result = jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20)
    improvement = result.improvement
    assert improvement.behavior_performance == 2.0
    assert improvement.performance == 3.0
    assert improvement.gain == 1.0
    assert improvement.changed == 1
    assert result.controller.row([], "worn").tolist() == [0, 1]
    assert result.controller.row([], "good").tolist() == [0.5, 0.5]  # never seen: as before
    assert result.counts.visits.tolist() == [[30, 30]]


def test_a_pair_seen_exactly_n_wedge_times_is_not_known():
    assert jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=30).improvement.changed == 0
    assert jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=29).improvement.changed == 1


def test_the_second_step_is_discounted():
    """keep pays 1 and goes on, repair pays 3 and ends: 1 + 0.5 * 3 for keeping once."""
    log = Episodes(*NAMES, [0, 1], [0, 1], [1.0, 3.0], [0, 2], [UNKNOWN], [True])
    basic = jm.improve(log, HALF, discount=0.5, algorithm="basic")
    assert basic.improvement.performance == 2.5


def test_an_episode_cut_off_is_not_an_ending():
    """Repairing pays 3 and leads to 'worn' again: 3 / (1 - 0.5) for ever."""
    log = Episodes(*NAMES, [1] * 5, [1] * 5, [3.0] * 5, [0, 5], [1], [False])
    result = jm.improve(log, HALF, discount=0.5, algorithm="basic")
    assert result.improvement.performance == pytest.approx(6, abs=1e-12)
    assert result.counts.unfinished == 0


def test_a_last_step_without_a_known_successor_is_left_out_and_told():
    log = one_step_log(30, 30)
    cut = replace(log, terminated=[True] * 50 + [False] * 10)
    result = jm.improve(cut, HALF, discount=0.9, algorithm="spibb")
    assert (result.counts.unfinished, int(result.counts.visits.sum())) == (10, 50)
    assert result.to_dict()["steps_left_out"] == 10


def test_the_same_is_done_by_hand():
    tiger = jm.models.tiger()
    behavior = Controller.uniform(tiger.observations, tiger.actions)
    log = jm.simulate(tiger, behavior, episodes=500, seed=random_stream(3, "data"))
    result = jm.improve(log, behavior, discount=0.95, memory=window(2), n_wedge=10)
    mdp = jm.count(log, window(2)).mle(0.95)
    by_hand = jm.spibb(mdp, behavior, n_wedge=10)
    assert result.controller.same_as(by_hand.controller)
    assert result.improvement.performance == by_hand.performance


def test_names_in_another_order_make_no_difference():
    log = one_step_log(30, 30)
    names = {"observations": ("never", "worn", "good"), "actions": ("repair", "keep")}
    turned = replace(log, **names, action=1 - log.action)
    one, two = (jm.improve(x, HALF, discount=0.9, algorithm="spibb") for x in (log, turned))
    assert one.to_dict() == two.to_dict()
    assert one.controller.same_as(two.controller)


def test_memory_is_added_to_what_the_behavior_remembers():
    every_second = NamedNodes(("even", "odd"), np.array([[[1, 1], [1, 1]], [[0, 0], [0, 0]]]))
    behavior = Controller.uniform(*NAMES, memory=every_second)
    log = one_step_log(30, 30)
    assert (
        jm.improve(log, behavior, discount=0.9, algorithm="spibb").controller.memory
        == behavior.memory
    )
    joined = jm.improve(log, behavior, discount=0.9, algorithm="spibb", memory=window(2)).controller
    assert str(joined.memory) == "table of 2 nodes × window of 2"
    assert joined.row(["even", [""]], "worn").tolist() == [0, 1]


# ---------------------------------------------------------------- what is refused


def test_an_action_the_behavior_never_takes_names_the_step():
    keeps = Controller.constant(*NAMES, [1, 0], name="always keep")
    with pytest.raises(LogError) as caught:
        jm.improve(one_step_log(2, 3), keeps, discount=0.9)
    assert str(caught.value) == (
        "Log, episode 2, step 0: action 'repair' was taken, but always keep gives it probability 0 "
        "at node [], observation 'worn' (3 such steps in all). Is this the policy that "
        "produced the log? If it explores, say so in its file; `jumar check` tells which "
        "exploration would fit."
    )


def test_an_impossible_action_in_a_file_names_its_row(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "episode,step,observation,action,reward,terminated\n"
        "7,2,worn,repair,0,true\n7,1,good,keep,0,\n8,1,worn,keep,0,true\n"
    )
    keeps = Controller.constant(*NAMES, [1, 0], name="always keep")
    log = jm.read_logs(path, observations=NAMES[0], actions=NAMES[1])
    with pytest.raises(LogError, match=r"log\.csv, row 2 \(episode 7\): action 'repair' was taken"):
        jm.improve(log, keeps, discount=0.9)


def test_whether_an_action_is_possible_depends_on_the_memory():
    """Repairs only right after 'worn' was seen: possible at the second step, not at the first."""
    memory = window(2).on(2, 2)
    state = Controller.uniform(*NAMES, memory=memory).state(["worn"], "worn")
    waits = Controller(*NAMES, memory, state[None, :], [[0.0, 1.0]], [1.0, 0.0], name="waits")
    kept_then_repaired = Episodes(*NAMES, [1, 1], [0, 1], [0, 0], [0, 2], [UNKNOWN], [True])
    assert practice_of(kept_then_repaired, waits).taken.tolist() == [1, 1]
    at_once = Episodes(*NAMES, [1], [1], [0], [0, 1], [UNKNOWN], [True])
    with pytest.raises(LogError, match=r"node \[''\], observation 'worn'\. Is this"):
        practice_of(at_once, waits)


def test_names_the_controller_does_not_know_are_refused():
    for observations, actions, message in (
        (("good", "wron"), NAMES[1], "observation 'wron' is not one of good, worn"),
        (NAMES[0], ("keep", "repaire"), "action 'repaire' is not one of keep, repair"),
    ):
        log = one_step_log(1, 1)
        odd = replace(log, observations=observations, actions=actions)
        with pytest.raises(LogError, match=message):
            jm.improve(odd, HALF, discount=0.9)


@pytest.mark.parametrize("discount", [1.0, 1.5, -0.1, math.nan, math.inf])
def test_the_discount_lies_in_0_to_1(discount):
    with refuses(ParameterError, "discount", "[0, 1)"):
        jm.improve(one_step_log(3, 3), HALF, discount=discount)


@pytest.mark.parametrize("algorithm", ["spibb", "spibb_leq", "basic"])
@pytest.mark.parametrize("delta", [0, 1, -0.05, 5, math.nan])
def test_delta_lies_strictly_between_0_and_1_whatever_the_algorithm(algorithm, delta):
    """Also where no bound is computed: nothing may be ignored silently."""
    with pytest.raises(ParameterError, match=r"delta .* is not strictly between 0 and 1"):
        jm.improve(one_step_log(3, 3), HALF, discount=0.9, algorithm=algorithm, delta=delta)


def test_unknown_algorithms_and_parameters_are_refused():
    with pytest.raises(ParameterError, match=r"algorithm 'spibbb' is not one of .*'spibb'"):
        jm.improve(one_step_log(3, 3), HALF, discount=0.9, algorithm="spibbb")
    with pytest.raises(
        ParameterError, match=r"parameter 'nwedge' is not one of .*n_wedge.*Did you"
    ):
        jm.improve(one_step_log(3, 3), HALF, discount=0.9, nwedge=3)
    with pytest.raises(ParameterError, match="basic: parameter 'nwedge' is not one of unseen"):
        jm.improve(one_step_log(3, 3), HALF, discount=0.9, algorithm="basic", nwedge=3)


def test_a_model_with_less_memory_than_the_behavior_is_refused():
    behavior = Controller.uniform(*NAMES, memory=window(3), name="long")
    mdp = jm.count(one_step_log(3, 3), window(2)).mle(0.9)
    for algorithm in (jm.spibb, jm.algorithms.spibb_leq.improve, jm.algorithms.basic.improve):
        with pytest.raises(MemoryMismatch, match=r"window of 2.*window of 3"):
            algorithm(mdp, behavior)


# ---------------------------------------------------------------- rewards, declared and seen


@pytest.mark.parametrize(
    ("log", "going_on", "ending"),
    [
        (
            Episodes(*NAMES, [0, 0, 1], [0, 0, 1], [-1, 2, 9], [0, 3], [UNKNOWN], [True]),
            (-1, 2),
            (9, 9),
        ),
        (Episodes(*NAMES, [0, 0], [0, 0], [-1.0, 2.0], [0, 2], [1], [False]), (-1, 2), None),
        (one_step_log(2, 2), (1, 3), (1, 3)),  # other steps may pay the same
    ],
)
def test_rewards_seen_are_told_apart_by_ending(log, going_on, ending):
    seen = rewards_seen(log)
    assert (seen.continuing, seen.ending, seen.declared) == (going_on, ending, False)


def test_the_certificate_says_when_the_rewards_were_only_seen():
    seen = jm.improve(one_step_log(30, 30), HALF, discount=0.9, algorithm="spibb")
    declared = jm.improve(
        one_step_log(30, 30),
        HALF,
        discount=0.9,
        algorithm="spibb",
        rewards=RewardRange.constant(0, 5),
    )
    assert any("read off the log" in text for text in seen.certificate.assumptions)
    assert not any("read off the log" in text for text in declared.certificate.assumptions)
    assert declared.certificate.value_range == pytest.approx(50)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        (
            RewardRange.constant(0, 2.5),
            "Log, episode 2, step 0: reward 3 lies outside 0 to 2.5, the declared rewards of a "
            "step that ends an episode. Declare a wider range.",
        ),
        (
            RewardRange((0, 5), (2, 5)),
            "Log, episode 0, step 0: reward 1 lies outside 2 to 5, the declared rewards of a step "
            "that ends an episode. Declare a wider range.",
        ),
        (
            RewardRange((0, 5)),
            "Log, episode 0, step 0: the episode ended, but the declared rewards say that none "
            "ever does. Declare the rewards of endings too.",
        ),
    ],
)
def test_a_log_that_contradicts_the_declared_rewards_is_refused(rewards, message):
    """Else a bound would be printed that the log itself disproves."""
    with pytest.raises(LogError) as caught:
        jm.improve(one_step_log(2, 2), HALF, discount=0.9, rewards=rewards)
    assert str(caught.value) == message


def test_steps_that_go_on_have_a_range_of_their_own():
    log = Episodes(*NAMES, [0, 1], [0, 1], [-7.0, 1.0], [0, 2], [UNKNOWN], [True])
    with pytest.raises(LogError, match=r"step 0: reward -7 lies outside -5 to 0, .* that goes on"):
        jm.improve(log, HALF, discount=0.9, rewards=RewardRange((-5, 0), (1, 1)))
    jm.improve(log, HALF, discount=0.9, rewards=RewardRange((-7, 0), (1, 1)))


# ---------------------------------------------------------------- certificates


def test_a_controller_that_did_not_change_is_certified_as_the_behavior():
    result = jm.improve(one_step_log(3, 3), HALF, discount=0.9, algorithm="spibb")
    assert [c.bound for c in result.certificates] == ["unchanged"]
    assert result.certificate.zeta == 0


def test_algorithms_without_a_bound_of_their_own_have_what_the_data_prove():
    """'good' was never seen, so nothing is known about every pair either."""
    for algorithm in ("spibb_leq", "basic"):
        result = jm.improve(one_step_log(30, 30), HALF, discount=0.9, algorithm=algorithm)
        assert result.improvement.changed == 1
        assert [c.bound for c in result.certificates] == ["data-dependent"]


def test_the_bound_for_known_pairs_needs_every_state_to_have_been_seen():
    part = jm.improve(one_step_log(30, 40), HALF, discount=0.9, algorithm="spibb")
    assert "plug-in" not in {c.bound for c in part.certificates}
    log = one_step_log(30, 40)
    both = log + replace(log, observation=log.observation - 1)
    whole = jm.improve(both, HALF, discount=0.9, algorithm="spibb")
    assert {c.bound: c.n_wedge for c in whole.certificates}["plug-in"] == 16  # the power of two


@pytest.mark.parametrize("n_wedge", [np.int64(20), np.int32(20), 20.0])
def test_bounds_are_read_at_n_wedge_whatever_type_of_number_it_is(n_wedge):
    """A numpy integer must not be taken for 'no N∧ given'."""
    usual, other = (
        jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=n) for n in (20, n_wedge)
    )
    assert [c.zeta for c in other.certificates] == [c.zeta for c in usual.certificates]
    assert {c.n_wedge for c in usual.certificates if c.bound != "data-dependent"} == {20}
    json.dumps(other.to_dict(), allow_nan=False)


def test_the_first_certificate_is_the_most_trustworthy():
    result = jm.improve(one_step_log(30, 30), HALF, discount=0.9, algorithm="spibb")
    strengths = [c.validity.strength for c in result.certificates]
    assert strengths == sorted(strengths, reverse=True)
    assert result.certificate is result.certificates[0]
    assert len(strengths) > 3


def test_a_window_too_long_to_count_still_gets_a_certificate_that_says_vacuous():
    result = jm.improve(
        one_step_log(30, 30), HALF, discount=0.9, algorithm="spibb", memory=window(900)
    )
    assert result.improvement.changed == 1
    assert result.certificate.vacuous
    assert "vacuous" in result.certificate.verdict
    json.dumps(result.to_dict(), allow_nan=False)


# ---------------------------------------------------------------- the document


def test_the_numbers_as_a_document():
    result = jm.improve(one_step_log(30, 30), HALF, discount=0.9, algorithm="spibb")
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    certificates = document.pop("certificates")
    assert document.pop("selection") is None
    assert document.pop("simplified") is None
    assert document.pop("kept") == []
    solver = document.pop("solver")
    assert document == {
        "algorithm": "spibb",
        "parameters": {"n_wedge": 20},
        "memory": "window of 1",
        "discount": 0.9,
        "behavior": "given",
        "episodes": 60,
        "steps": 60,
        "steps_left_out": 0,
        "history_states": 1,
        "changed": 1,
        "logged": 2.0,
    }
    assert solver["iterations"] >= 1
    assert 0 <= solver["gap"] < 1e-6
    assert len(certificates) == len(result.certificates)
    assert certificates[0]["zeta"] == result.certificate.zeta
