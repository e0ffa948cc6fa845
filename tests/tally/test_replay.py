"""Replays: coarser ones and parts are what a fresh replay would be, number for number; and a
log is read once."""

from __future__ import annotations

import gc
import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from facts import refuses
from jumar.core import resources
from jumar.core.errors import MemoryMismatch, TooLarge
from jumar.core.randomness import random_stream
from jumar.evidence.steps import Steps
from jumar.log.episodes import Episodes, Labels
from jumar.memory import Memory, NamedNodes, Product, Window, product, window
from jumar.memory.refinement import one_more, refines
from jumar.policy.controller import Controller
from jumar.tally.replay import ENDED, UNSEEN, Replay, Replays, count
from strategies import logs, memories, names

ARRAYS = ("states", "at", "after", "follows", "pair", "known", "outcome", "taken")


def assert_same(one: Replay, other: Replay) -> None:
    assert one.memory == other.memory
    for name in ARRAYS:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    for name in ("cells", "moves", "acted"):
        here, there = getattr(one, name), getattr(other, name)
        assert [array.tolist() for array in here] == [array.tolist() for array in there], name
    for column in ("observation", "action", "reward", "start", "final_observation", "terminated"):
        assert getattr(one.log, column).tolist() == getattr(other.log, column).tolist(), column


@st.composite
def worlds(draw):
    """A log and two memories, of which the second refines the first."""
    O, A = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    log, coarse = draw(logs(names("z", O), names("a", A))), draw(memories(O, A))
    return log, coarse, product(coarse, draw(memories(O, A))).on(O, A)


@st.composite
def choices(draw, log: Episodes):
    """Some episodes in any order, perhaps one twice; or a mask."""
    E = len(log)
    if draw(st.booleans()):
        mask = draw(st.lists(st.booleans(), min_size=E, max_size=E).filter(any))
        return np.array(mask)
    return np.array(draw(st.lists(st.integers(0, E - 1), min_size=1, max_size=2 * E)))


# ---- what it says -------------------------------------------------------------------------------


@given(worlds())
def test_every_step_is_where_walking_through_the_memory_leads(world):
    """The obvious twin: one step of one episode at a time."""
    log, _, memory = world
    found = Replay.of(log, memory)
    seen, i = set(), 0
    for e in range(len(log)):
        node = memory.initial()
        for t in range(int(log.lengths[e])):
            z, a = int(log.observation[i]), int(log.action[i])
            state = (*node.tolist(), z)
            assert tuple(found.states[found.at[i]].tolist()) == state
            seen.add(state)
            last = t == log.lengths[e] - 1
            assert (found.follows[i] == found.at[i + 1]) if not last else True
            node = memory.step(node[None, :], np.array([z]), np.array([a]))[0]
            i += 1
        if log.terminated[e]:
            assert found.after[e] == ENDED == found.follows[i - 1]
        elif log.final_observation[e] < 0:
            assert found.after[e] == UNSEEN == found.follows[i - 1]
        else:
            state = (*node.tolist(), int(log.final_observation[e]))
            assert tuple(found.states[found.after[e]].tolist()) == state
            seen.add(state)
    assert [tuple(state) for state in found.states.tolist()] == sorted(seen)


@given(worlds())
def test_what_was_done_is_counted_also_where_nobody_knows_what_followed(world):
    log, memory, _ = world
    found = Replay.of(log, memory)
    assert found.taken.sum() == log.n_steps
    states, at = found.acted
    assert states[at].tolist() == found.states[found.at].tolist()
    assert len(states) == len(set(found.at.tolist()))
    assert found.counts.visits.sum() == found.known.sum()
    assert found.counts.unfinished == (~found.known).sum()


def test_what_it_holds_cannot_be_changed():
    log = Episodes(("z",), ("a",), [0, 0], [0, 0], [0, 0], [0, 2], [-1], [True])
    found = Replay.of(log, window(1))
    for array in (found.states, found.at, found.after, found.follows, *found.cells, *found.moves):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    again = pickle.loads(pickle.dumps(found))
    assert_same(found, again)
    assert not again.at.flags.writeable


# ---- coarser ones and parts ---------------------------------------------------------------------


@given(worlds())
def test_a_coarser_replay_is_that_of_the_coarser_memory(world):
    log, coarse, fine = world
    assert_same(Replay.of(log, fine).onto(coarse), Replay.of(log, coarse))


def test_a_memory_that_knows_more_is_no_coarser_one():
    log = Episodes(("z", "y"), ("a",), [0, 1], [0, 0], [0, 0], [0, 2], [-1], [True])
    with pytest.raises(MemoryMismatch, match="does not refine"):
        Replay.of(log, window(1)).onto(window(2))


@given(st.data())
def test_a_part_is_the_replay_of_these_episodes(data):
    log, _, memory = data.draw(worlds())
    chosen = data.draw(choices(log))
    assert_same(Replay.of(log, memory).part(chosen), Replay.of(log.select(chosen), memory))


# ---- the replays of one log ---------------------------------------------------------------------


@given(st.data())
def test_replays_are_the_same_in_whatever_order_they_are_asked_for(data):
    log, coarse, fine = data.draw(worlds())
    O, A = coarse.alphabet
    pool = [coarse, fine, window(1).on(O, A), window(2).on(O, A)]
    replays = Replays(log)
    kept = []  # some are held on to, others are made again
    for memory in data.draw(st.permutations(pool * 2)):
        assert_same(replays.over(memory), Replay.of(log, memory))
        if data.draw(st.booleans()):
            kept.append(replays.over(memory))
    chosen = data.draw(choices(log))
    part = replays.part(chosen)
    for memory in data.draw(st.permutations(pool)):
        assert_same(part.over(memory), Replay.of(log.select(chosen), memory))


def test_only_the_finest_is_held():
    """A coarser one lives as long as it is used; what nobody uses costs nothing."""
    log = Episodes(("z", "y"), ("a", "b"), [0, 1], [0, 0], [0, 0], [0, 2], [-1], [True])
    replays = Replays(log)
    first = replays.over(window(1))
    assert replays.over(window(1)) is first
    finest = id(replays.over(window(3)))
    assert replays.over(window(1)) is first  # as long as it is used
    del first
    gc.collect()
    assert [str(memory) for memory in replays._in_use] == ["window of 3"]
    assert id(replays.over(window(3))) == finest
    assert len(replays._finest) == 1
    replays.over(window(2, actions=True))  # neither knows what the other knows
    assert sorted(str(r.memory) for r in replays._finest) == [
        "window of 2 with actions",
        "window of 3",
    ]


def test_replays_are_handed_on_as_they_are_and_sent_as_their_log():
    log = Episodes(("z",), ("a",), [0], [0], [0], [0, 1], [-1], [True])
    replays = Replays(log)
    assert Replays.of(replays) is replays
    assert Replays.of(log).log is log
    assert replays.align(("z",), ("a",)) is replays
    assert replays.align(("y", "z"), ("a",)).log.observation.tolist() == [1]
    assert replays.part([0]).over(window(1)).log is not log
    assert pickle.loads(pickle.dumps(replays)).log.n_steps == 1
    assert Replays.holding(replays.over(window(2))).over(window(2)) is replays.over(window(2))


# ---- nothing is read twice ----------------------------------------------------------------------


@pytest.fixture
def read(monkeypatch) -> list[tuple[Memory, int]]:
    """The memories that were replayed over a log, with its steps, in this order. Other orders of a
    log's steps, drawn for a test, are other logs."""
    found: list[tuple[Memory, int]] = []
    inside = []

    def listening(kind):
        replay = kind.replay

        def listen(self, z, a, start, *first):
            if not inside:
                found.append((self, len(z)))
            inside.append(self)
            try:
                return replay(self, z, a, start, *first)
            finally:
                inside.pop()

        monkeypatch.setattr(kind, "replay", listen)

    for kind in (Memory, NamedNodes, Product, Window):
        listening(kind)
    tally = Steps.tally

    def drawn(self, *other):
        inside.append(self)
        try:
            return tally(self, *other)
        finally:
            inside.pop()

    monkeypatch.setattr(Steps, "tally", drawn)
    return found


def assert_nothing_twice(read: list[tuple[Memory, int]]) -> None:
    """No log was read over a memory of which a finer one had been read."""
    for i, (memory, steps) in enumerate(read):
        known = [finer for finer, of in read[:i] if of == steps and refines(finer, memory)]
        assert not known, f"{memory} after {', '.join(map(str, known))}"


TOGGLE = NamedNodes(("even", "odd"), [[[1, 0, 1]] * 2, [[0, 0, 1]] * 2])


@pytest.mark.parametrize("memory", [window(1), TOGGLE], ids=str)
@pytest.mark.parametrize("how", [{}, {"gate": "asymptotic"}, {"n_wedge": 20}], ids=str)
def test_one_run_reads_the_log_once_for_what_is_no_projection(read, tmp_path, memory, how):
    tiger = jm.models.tiger()
    behavior = Controller.uniform(tiger.observations, tiger.actions, memory)
    log = jm.simulate(tiger, behavior, episodes=300, seed=random_stream(1, "data"))
    jm.improve(log, behavior, discount=0.95, **how).save(tmp_path / "out")
    assert {steps for _, steps in read} == {log.n_steps}
    assert_nothing_twice(read)
    assert len(read) <= 5, Counter(str(memory) for memory, _ in read)


def test_a_log_that_is_checked_with_several_behaviors_is_read_once(read):
    tiger = jm.models.tiger()
    names_ = tiger.observations, tiger.actions
    two = [
        Controller.uniform(*names_, name="old"),
        Controller.constant(*names_, [0.6, 0.2, 0.2], name="new"),
    ]
    made = [jm.simulate(tiger, b, episodes=100, seed=random_stream(1, b.name)) for b in two]
    log = replace(made[0] + made[1], behavior=Labels.of(["old"] * 100 + ["new"] * 100))
    replays = Replays(log)
    jm.check(replays, two, seed=random_stream(1, "check"))
    assert_nothing_twice(read)


def test_what_is_at_hand_is_used(read):
    tiger = jm.models.tiger()
    behavior = Controller.uniform(tiger.observations, tiger.actions)
    log = jm.simulate(tiger, behavior, episodes=100, seed=random_stream(1, "data"))
    replays = Replays(log)
    replays.over(one_more(one_more(behavior.memory)))
    count(replays, window(2))
    jm.estimate_behavior(replays, window(2))
    jm.offpolicy.estimate(replays, behavior, behavior, discount=0.95)
    jm.order_test(replays, behavior, seed=random_stream(1, "order"))
    jm.evidence.first_returns(
        replays, window(3), discount=0.95, rewards=jm.RewardRange.constant(-100, 10)
    ).bounds(0.05)
    assert [str(memory) for memory, _ in read] == ["window of 3"]


def test_a_small_part_does_not_read_the_whole(read):
    """A twentieth of the log is read by itself, unless the whole is at hand."""
    tiger = jm.models.tiger()
    behavior = Controller.uniform(tiger.observations, tiger.actions)
    log = jm.simulate(tiger, behavior, episodes=100, seed=random_stream(1, "data"))
    replays, few = Replays(log), np.arange(5)
    part = replays.part(few)
    part.over(window(2))
    assert read[-1][1] == part.log.n_steps
    replays.over(window(2))
    read.clear()
    replays.part(few).over(window(2))
    replays.part(np.arange(99)).over(window(1))
    assert read == []


def test_tables_of_states_and_actions_that_do_not_fit_are_refused(monkeypatch):
    """Every reading its own history state, and every order number its own action."""
    n = 1000
    monkeypatch.setattr(resources, "memory", lambda: 50_000_000)
    names = tuple(f"z{i}" for i in range(n)), tuple(f"a{i}" for i in range(n))
    log = Episodes(
        *names, np.arange(n), np.arange(n), np.zeros(n), [0, n], np.array([-1]), np.array([True])
    )
    for what in ("taken", "counts"):
        with refuses(TooLarge, "1,000 history states", "1,000 actions", "96 MB", "--bins"):
            getattr(Replay.of(log, window(1)), what)
