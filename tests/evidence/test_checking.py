"""Checks of a log: p-values, spread, repeats, remarks, nodes, and all together."""

from __future__ import annotations

import json
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from jumar.core.errors import LogError, ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking import QUESTIONS, check
from jumar.evidence.checking.actions import binomial_p
from jumar.evidence.checking.amount import check_rows, check_spread
from jumar.evidence.checking.independence import check_repeats, repeated_episodes
from jumar.evidence.checking.memory import check_logged_nodes
from jumar.evidence.estimation import estimate_behavior
from jumar.evidence.practice import practice_of
from jumar.log.episodes import Episodes, Labels, Origin, Remarks
from jumar.memory import NamedNodes, product, window
from jumar.policy.controller import Controller
from jumar.tally.replay import Replay
from small_logs import EVEN, A, Z, facts, listening, log_of, run
from strategies import controllers, logs, names

# ---- p-values -----------------------------------------------------------------------------------


def test_what_differs_by_rounding_only_is_a_tie():
    assert p_value(0.3, np.array([0.1 + 0.2, 0.1 * 3])) == 1


def test_draws_follow_the_size_of_the_log_but_can_always_reject():
    assert Settings().draws(1) == 999
    assert Settings().draws(1e6) == 300
    assert Settings().draws(1e12) == 99
    assert Settings(level=0.001).draws(1e12) == 999


@pytest.mark.parametrize(("level", "resamples"), [(0.01, 98), (0.05, 18), (0.01, 0), (0.01, -5)])
def test_too_few_draws_to_reject_are_refused(level, resamples):
    with pytest.raises(ParameterError, match=r"resamples: .* Give at least"):
        Settings(level, resamples)
    assert Settings(level, round(1 / level) - 1)  # just enough
    for wrong in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ParameterError, match="level"):
            Settings(wrong)


@given(st.integers(1, 30), st.data())
def test_binomial_tails_as_sums(n, data):
    k = data.draw(st.integers(0, n))
    q = data.draw(st.sampled_from([0.0, 0.01, 0.3, 0.5, 0.97, 1.0]))
    law = [comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(n + 1)]
    wanted = min(1, 2 * min(sum(law[: k + 1]), sum(law[k:])))
    assert_allclose(binomial_p(np.array([k]), np.array([n]), np.array([q])), wanted, rtol=1e-9)


# ---- spread -------------------------------------------------------------------------------------


def test_choices_by_hand():
    """good: keep 21, repair 21 times; worn: keep 12 times. The cut-off last step does not count."""
    log_ = log_of([(0, 0), (0, 1)] * 21 + [(1, 0)] * 13, ended=False)
    found = check_spread(Replay.of(log_, window(1)))
    assert facts(found, "histories steps left_out pairs never") == (2, 54, 1, 4, 1)
    assert facts(found, "choices share") == (1, 42 / 54)


@pytest.mark.parametrize(
    ("steps", "status", "words"),
    [
        ([(0, 0)] * 50, "look", "nothing can be improved"),
        ([(0, 0), (0, 1)] * 21 + [(1, 0)] * 1000, "look", "Only 4% of the steps"),
        ([(0, 0), (0, 1)] * 21 + [(1, 0)] * 100, "passed", "29.6% of the steps"),
    ],
)
def test_where_little_can_be_chosen_a_person_should_look(steps, status, words):
    verdict = check_spread(Replay.of(log_of(steps), window(1))).verdict
    assert verdict.status == status
    assert words in verdict.sentence


# ---- repeats, rows and nodes --------------------------------------------------------------------


def repeats(log_):
    return check_repeats(Replay.of(log_, window(1)), 0.01)


@given(st.data())
def test_repeats_as_the_obvious_program_finds_them(data):
    log_ = data.draw(logs(names("z", 1), names("a", 2), most_episodes=8, most_steps=2))
    seen, wanted = {}, []
    for e in range(len(log_)):
        steps = slice(log_.start[e], log_.start[e + 1])
        columns = (log_.observation[steps], log_.action[steps], log_.reward[steps] // 20)
        key = (*(tuple(c.tolist()) for c in columns), log_.final_observation[e], log_.terminated[e])
        if key in seen:
            wanted.append((e, seen[key]))
        seen.setdefault(key, e)
    coarse = replace(log_, reward=log_.reward // 20)
    assert list(zip(*(x.tolist() for x in repeated_episodes(coarse)), strict=True)) == wanted


def test_a_log_joined_with_itself_is_worth_a_look():
    log_ = run(listening(0.10), 100, seed=1)
    once, twice = repeats(log_), repeats(log_ + log_)
    assert once.verdict.status == "passed"
    assert twice["repeated"] == 100 + once["repeated"]
    assert twice.verdict.status == "look"
    assert twice["examples"][0]["where"] == "Log, episode 100, step 0"
    assert twice["examples"][0]["earlier"] == "Log, episode 0, step 0"


def test_how_many_repeats_chance_gives():
    """Tosses of a coin, 1 step each: the i-th equals an earlier one with probability 1 - 2^-i,
    of 12 episodes so about 10; 10 of them do."""
    log_ = log_of(*[[(0, i % 2)] for i in range(12)])
    found = repeats(log_)
    assert (found["repeated"], found["long"]) == (10, 0)
    assert_allclose(found["by_chance"], sum(1 - 0.5**i for i in range(12)))
    assert found.verdict.status == "passed"


def test_where_nothing_ever_happens_long_repeats_are_no_surprise():
    log_ = log_of(*[[(0, 0)] * 30] * 50)
    found = repeats(log_)
    assert (found["repeated"], found["long"]) == (49, 49)
    assert found.verdict.status == "passed"


def paid(rewards, seen=0) -> Episodes:
    """One step each."""
    n = len(rewards)
    return Episodes(Z, A, [seen] * n, [0] * n, rewards, np.arange(n + 1), [-1] * n, [True] * n)


def test_short_episodes_that_were_copied_are_worth_a_look():
    rewards = np.random.default_rng(1).normal(size=60)
    assert repeats(paid(rewards)).verdict.status == "passed"
    found = repeats(paid(np.tile(rewards, 5)))
    assert (found["repeated"], found["long"], found.verdict.status) == (240, 0, "look")
    assert found["evenness_p"] < 0.001
    assert "to the last digit of every reward" in found.verdict.sentence
    once_more = repeats(paid(np.random.default_rng(2).permutation(np.repeat(rewards, 2))))
    assert once_more.verdict.status == "look"


def test_few_records_that_come_again_are_no_copies():
    """100 logs of 300 episodes with 60 rewards, alike or not: over 5 looks have a chance below
    0.1 % where each has one of 1 %."""
    rng, looks = np.random.default_rng(3), 0
    for k in range(100):
        weight = np.ones(60) if k % 2 else 1 / np.arange(1, 61)
        rewards = rng.choice(rng.normal(size=60), size=300, p=weight / weight.sum())
        looks += repeats(paid(rewards)).verdict.status == "look"
    assert looks <= 5


def test_a_schedule_that_pays_one_reward_is_no_copy():
    n = 600
    one = [1.0] * n
    log_ = Episodes(
        tuple(f"m{i}" for i in range(30)), A, np.arange(n) % 30, [0] * n, one, np.arange(n + 1),
        [-1] * n, [True] * n,
    )  # fmt: skip
    assert repeats(log_).verdict.status == "passed"


@pytest.mark.parametrize(
    ("remarks", "status", "said"),
    [
        ({}, "passed", None),
        ({"costs": True}, "passed", "2 rows whose reward is a cost"),
        ({"interleaved": 3}, "passed", "3 episodes with rows of others"),
        ({"gaps": 1}, "passed", "1 gap at which"),
        ({"replaced": 4}, "passed", "4 missing observations"),
        ({"out_of_order": 5, "first_out_of_order": 17}, "look", "5 rows out of order, sorted (fi"),
        ({"repeated": 6}, "look", "6 rows that repeat another"),
        ({"dropped": 7}, "look", "7 episodes with a missing value"),
        ({"rewards_assumed": True}, "look", "2 rows whose reward was computed"),
    ],
)
def test_what_the_reader_remarked(remarks, status, said):
    origin = Origin("bridge.csv", np.array([2, 3]), ["north"], Remarks(rows=2, **remarks))
    found = check_rows(replace(log_of([(0, 0), (1, 1)]), origin=origin))
    assert found.verdict.status == status
    texts = [f"{remark['count']} {remark['what']}" for remark in found["remarks"]]
    assert len(texts) == (said is not None)
    assert said is None or texts[0].startswith(said)


def nodes(names_: tuple[str, ...], code: list[int], behavior: Controller):
    log_ = replace(log_of([(0, 0), (1, 1), (0, 0)]), node=Labels(names_, code))
    return check_logged_nodes(practice_of(log_, behavior, checked=False))


ODD_EVEN = NamedNodes(("even", "odd"), [[[1, 1]] * 2, [[0, 0]] * 2])


@pytest.mark.parametrize("memory", [ODD_EVEN, product(ODD_EVEN, window(2))])
@pytest.mark.parametrize(
    ("names_", "code", "wrong"),
    [
        (("odd", "even"), [1, 0, 1], ""),
        (("odd", "even"), [1, -1, -1], ""),
        (("odd", "even"), [1, 0, 0], "step 2: the log says that the memory was 'odd'"),
        (("even", "elsewhere"), [1, -1, 0], "step 0: the log says that the memory was 'elsewhere'"),
    ],
)
def test_logged_nodes_against_the_memory_of_the_policy(memory, names_, code, wrong):
    found = nodes(names_, code, Controller.uniform(Z, A, memory))
    assert found["steps"] == sum(c >= 0 for c in code)
    assert wrong in found.verdict.sentence
    assert found.verdict.status == ("failed" if wrong else "passed")


def test_a_window_has_no_named_nodes():
    assert nodes(("a",), [0, 0, 0], EVEN).verdict.status == "look"


# ---- all together -------------------------------------------------------------------------------


def test_names_are_aligned_to_those_of_the_behavior():
    other = Controller.constant(Z[::-1], A[::-1], [0.0, 1.0])
    found = check(log_of([(0, 0), (1, 0)]), other, seed=random_stream(1, "check"))
    assert found.sections["fit"]["impossible"] == 0
    with pytest.raises(LogError, match="action 'repair' is not one of keep"):
        check(log_of([(0, 1)]), Controller.uniform(Z, ("keep",)), seed=random_stream(1, "check"))


@given(st.data())
@settings(max_examples=30)
def test_every_answer_is_plain_json(data):
    log_ = data.draw(logs(names("z", 2), names("a", 2), most_episodes=12))
    behavior = data.draw(controllers(names("z", 2), names("a", 2)))
    for estimated in (False, True):
        used = estimate_behavior(log_, behavior.memory) if estimated else behavior
        found = check(log_, used, level=0.05, resamples=19)
        document = found.to_dict()
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        assert set(document["sections"]) <= set(QUESTIONS)


@pytest.mark.parametrize("discount", [-0.1, 1.1, float("nan")])
def test_a_discount_lies_between_0_and_1(discount):
    with pytest.raises(ParameterError, match="discount"):
        check(log_of([(0, 0)]), EVEN, seed=random_stream(1, "check"), discount=discount)
