"""A log in memory, cut into parts and read as if it did not fit: what reads large logs must do."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jumar.algorithms.auto.dealing import FOLDS, HALVES, codes_of, fold_of, half_of, salt_of
from jumar.algorithms.auto.streamed import (
    FirstPass,
    FirstUnits,
    HeldOut,
    LogTally,
    Shortlists,
    longest_memory,
    shortlists,
)
from jumar.algorithms.auto.trials import Selection
from jumar.core.arrays import Codes, RowIndex
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes, Origin
from jumar.core.exact import ExactSums
from jumar.core.history import Counts
from jumar.core.memory import Memory
from jumar.core.randomness import generator
from jumar.core.replay import count
from jumar.large.whole import WholeEpisodes

Shards = Sequence[tuple[Episodes, Codes]]


def labelled(log: Episodes) -> Episodes:
    """The same with a label for every episode."""
    labels = [f"e{i}" for i in range(len(log))]
    return replace(log, origin=Origin("log.csv", np.arange(log.n_steps), labels))


def cut_up(log: Episodes, parts: int, rng: np.random.Generator, seed: int = 1) -> Shards:
    """The log in so many parts of any size, in any order, its episodes shuffled."""
    salt = salt_of(generator(seed, "selection"))
    order = rng.permutation(len(log))
    ends = np.sort(rng.choice(np.arange(1, len(log)), parts - 1, replace=False))
    shards = [log.select(some) for some in np.split(order, ends)]
    return [(shard, codes_of(shard, salt)) for shard in shards]


def counts_of(shards: Shards, memory: Memory) -> dict[tuple[int, int], Counts]:
    """Of every fold of every half; rewards are summed exactly."""
    found = {}
    for half in range(HALVES):
        for fold in range(FOLDS):
            parts = []
            for log, code in shards:
                inside = np.flatnonzero((half_of(code) == half) & (fold_of(code) == fold))
                if len(inside):
                    parts.append(log.select(inside))
            if parts:
                found[half, fold] = _summed(parts, memory)
    return found


def _summed(parts: list[Episodes], memory: Memory) -> Counts:
    counts = [count(part, memory) for part in parts]
    whole = counts[0]
    for more in counts[1:]:
        whole = whole + more
    index, A, sums = RowIndex(whole.states), whole.n_actions, ExactSums(whole.visits.size)
    from jumar.core.replay import Replay

    for part in parts:
        replay = Replay.of(part, memory)
        pair = index.find(replay.states)[replay.at] * A + part.action
        sums.add(pair[replay.known], part.reward[replay.known])
    return replace(whole, reward_sum=sums.rounded().reshape(whole.visits.shape))


def first_pass(shards: Shards, memory: Memory, discount: float, together: bool) -> FirstPass:
    tally, kept = LogTally(discount, together=together), both()
    for log, code in shards:
        own = LogTally(discount, together=together)
        own.add(log.reward, log.start, log.terminated, code)
        tally.merge(own)
        for whole, part in zip(kept, both(), strict=True):
            part.add(WholeEpisodes.of(log, code))
            whole.merge(part)
    return FirstPass(counts_of(shards, memory), tally, *kept)


def both() -> tuple[FirstUnits, FirstUnits]:
    """What is looked at, and what is held: here nearly nothing, so that the log is read twice."""
    return FirstUnits(2500, 10**7), FirstUnits(20, 10**7, by_fold=False)


def prepared(
    shards: Shards, behavior: Controller, *, discount: float, together: bool = False, **more
) -> Shortlists:
    memory = longest_memory(
        behavior, **{k: v for k, v in more.items() if k in ("memory", "more_memory")}
    )
    first = first_pass(shards, memory, discount, together)
    return shortlists(first, behavior, discount=discount, **more)


def scored(lists: Shortlists, shards: Shards) -> HeldOut:
    held_out = lists.scoring.nothing()
    elsewhere = pickle.loads(pickle.dumps(lists.scoring))
    for log, code in shards:
        held_out.merge(pickle.loads(pickle.dumps(elsewhere.score(log, code))))
    return held_out


def streamed(shards: Shards, behavior: Controller, **more) -> Selection:
    lists = prepared(shards, behavior, **more)
    return lists.conclude(scored(lists, shards))
