"""The second pass: scores of held-out episodes, reduced to what the bets need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jumar.algorithms.auto.candidates import Fitted
from jumar.algorithms.auto.dealing import block_of, half_of
from jumar.algorithms.auto.limits import Limits
from jumar.algorithms.auto.scoring import floored_differences, weights_beyond
from jumar.algorithms.auto.streamed.tallied import MOST_SCORE, Tallied, Wager
from jumar.algorithms.auto.workbench import UNBOUNDED
from jumar.core import kernels
from jumar.core.arrays import Bools, Codes, Floats, Frozen, Ints, RowIndex
from jumar.core.episodes import Episodes
from jumar.core.errors import LogError
from jumar.core.exact import ExactSums
from jumar.core.memory import Memory
from jumar.core.replay import Replay
from jumar.large.locating import Locator
from jumar.large.whole import WholeEpisodes


@dataclass(frozen=True, eq=False)
class Ground(Frozen):
    """Where candidates are scored: the history states of the longest memory. H of them."""

    memory: Memory
    states: Ints  # (H, W+1) sorted
    behavior: Floats  # (H, A) rows
    discount: float

    @cached_property
    def index(self) -> RowIndex:
        return RowIndex(self.states)

    def at(self, log: Episodes) -> Ints:
        """(N,) the number of the history state at every step of some whole episodes."""
        replay = Replay.of(log, self.memory)
        number = self.index.find(replay.states)
        at: Ints = number[replay.at]
        if (at < 0).any():
            raise LogError(
                f"{log.where(int(np.argmax(at < 0)))}: this history was not there when the log was "
                "counted. Has the log changed since?"
            )
        return at


@dataclass(frozen=True, eq=False)
class PlacedSteps:
    """Whole episodes on the ground. N steps, E episodes."""

    at: Ints  # (N,) history states
    action: Ints  # (N,)
    reward: Floats  # (N,)
    start: Ints  # (E+1,)
    taken: Floats  # (N,) the probability of each action under the behavior

    @classmethod
    def on(cls, ground: Ground, at: Ints, action: Ints, reward: Floats, start: Ints) -> PlacedSteps:
        return cls(at, action, reward, start, ground.behavior[at, action])

    def scores(
        self,
        ground: Ground,
        limits: Limits,
        candidate: Fitted,
        floors: Sequence[float],
        episodes: Ints,
    ) -> Floats:
        """(F, n) the scores of some of the episodes, for every floor."""
        return floored_differences(
            self.at,
            self.action,
            self.reward,
            self.start,
            episodes,
            candidate.rows,
            self.taken,
            ground.behavior,
            self.at,
            candidate.above,
            candidate.below,
            limits.low,
            limits.high,
            np.array(floors),
            ground.discount,
        )

    def weights(self, ground: Ground, rows: Floats, episodes: Ints) -> Floats:
        """(n,) how much likelier each is than under the behavior."""
        return kernels.episode_weights(
            self.at, self.action, self.start, episodes, rows, self.taken, ground.discount
        )

    def beyond(self, ground: Ground, rows: Floats, ended: Bools, episodes: Ints) -> Floats:
        """(n,) the weight of each that lies beyond its cut; `ended`: (E,) by itself."""
        return weights_beyond(
            self.at, self.action, self.start, ended, episodes, rows, self.taken, ground.discount
        )


@dataclass(frozen=True, eq=False)
class HalfScoring:
    """The shortlist of one half."""

    candidates: tuple[Fitted, ...]
    wagers: tuple[Wager, ...]  # one for each
    limits: Limits
    centre: float  # that rewards are counted from


@dataclass(frozen=True, eq=False)
class Scoring:
    """What is to be scored: the shortlist of each half, on the episodes of the other. Travels."""

    ground: Ground
    halves: tuple[HalfScoring, ...]  # by the half that candidates were made of
    together: bool  # episodes of one hash are one unit

    @property
    def empty(self) -> bool:
        """Is there nothing to score? Then the second pass can be left out."""
        return not any(half.candidates for half in self.halves)

    def nothing(self) -> HeldOut:
        """Scores of no episodes."""
        return HeldOut([half.wagers for half in self.halves], together=self.together)

    def score(self, log: Episodes, code: Codes) -> HeldOut:
        """Score whole episodes, given their hashes (`dealing.codes_of`). Their names are numbered
        as the behavior numbers them."""
        return self.score_steps(self.ground.at(log), WholeEpisodes.of(log, code))

    def score_steps(self, at: Ints, some: WholeEpisodes, found: HeldOut | None = None) -> HeldOut:
        """The same, for somebody who knows the history state at every step already: `at` are row
        numbers of `ground.states`. Scores are added to those `found` before."""
        found, dealt = self.nothing() if found is None else found, half_of(some.code)
        for half, scoring in enumerate(self.halves):
            episodes = np.flatnonzero(dealt == 1 - half)
            if not scoring.candidates or len(episodes) == 0:
                continue
            counted = some.reward - scoring.centre if scoring.centre else some.reward
            steps = PlacedSteps.on(self.ground, at, some.a, counted, some.start)
            for i, candidate in enumerate(scoring.candidates):
                floors = [scoring.wagers[i].bet.floor, UNBOUNDED]
                scores, plain = steps.scores(
                    self.ground, scoring.limits, candidate, floors, episodes
                )
                weights = steps.weights(self.ground, candidate.rows, episodes)
                beyond = steps.beyond(self.ground, candidate.rows, some.terminated, episodes)
                plain = np.maximum(plain, -MOST_SCORE)
                found.add(half, i, (scores, weights, beyond, plain), some.code[episodes])
        return found


class ScoreHeld:
    """Scores episodes that are in memory, as a worker does it."""

    def __init__(self, scoring: Scoring) -> None:
        self.scoring = scoring
        self.locator = Locator(scoring.ground.memory, scoring.ground.states)

    def __call__(self, pieces: Sequence[WholeEpisodes]) -> HeldOut:
        found = self.scoring.nothing()
        for some in pieces:
            at = self.locator.at(some.z, some.a, some.start)
            self.scoring.score_steps(at, some, found)
        return found


class HeldOut:
    """The scores of both shortlists, added up."""

    def __init__(self, wagers: Sequence[Sequence[Wager]], *, together: bool) -> None:
        self.together = together
        self.tallies = [[Tallied(wager) for wager in half] for half in wagers]
        self.units = [[UnitSums() for _ in half] for half in wagers] if together else []

    def add(self, half: int, i: int, found: Sequence[Floats], code: Codes) -> None:
        """Scores of episodes, their weights, those beyond the cuts, and scores without a floor, for
        candidate i of a half."""
        if self.together:
            self.units[half][i].add(found, code)
        else:
            self.tallies[half][i].add(found, block_of(code))

    def merge(self, other: HeldOut) -> None:
        """Add what was scored elsewhere."""
        for mine, theirs in zip(self.tallies, other.tallies, strict=True):
            for one, two in zip(mine, theirs, strict=True):
                one.merge(two)
        for ours, others in zip(self.units, other.units, strict=True):
            for sums, more in zip(ours, others, strict=True):
                sums.merge(more)

    def scored(self, half: int) -> list[Tallied]:
        """What the held-out units say of the candidates of a half."""
        if not self.together:
            return self.tallies[half]
        found = [Tallied(tally.wager) for tally in self.tallies[half]]
        for tally, units in zip(found, self.units[half], strict=True):
            tally.add(units.means(), block_of(units.code))
        return found


class UnitSums:
    """Numbers of the episodes of each unit, where units have several: their sums are held, some
    hundred bytes for each unit."""

    def __init__(self, numbers: int = 4) -> None:
        self.code: Codes = np.zeros(0, np.uint64)  # (U,) ascending
        self.episodes: Ints = np.zeros(0, np.int64)  # (U,)
        self.sums = [ExactSums(0) for _ in range(numbers)]

    def add(self, found: Sequence[Floats], code: Codes) -> None:
        """Of some more episodes."""
        units, number = np.unique(code, return_inverse=True)
        at = self._room(units)[number]
        np.add.at(self.episodes, at, 1)
        for sums, values in zip(self.sums, found, strict=True):
            sums.add(at, np.minimum(values, MOST_SCORE))

    def merge(self, other: UnitSums) -> None:
        at = self._room(other.code)
        self.episodes[at] += other.episodes
        for mine, theirs in zip(self.sums, other.sums, strict=True):
            mine.merge(theirs, at)

    def means(self) -> list[Floats]:
        """(U,) the mean of each number over the episodes of each unit."""
        return [sums.rounded() / self.episodes for sums in self.sums]

    def _room(self, code: Codes) -> Ints:
        """Where some units stand, after room was made for those that are new."""
        every = np.union1d(self.code, code)
        if len(every) > len(self.code):
            at = np.searchsorted(every, self.code)
            episodes = np.zeros(len(every), np.int64)
            episodes[at] = self.episodes
            moved = [ExactSums(len(every)) for _ in self.sums]
            for new, old in zip(moved, self.sums, strict=True):
                new.merge(old, at)
            self.code, self.episodes, self.sums = every, episodes, moved
        found: Ints = np.searchsorted(self.code, code)
        return found


def mean_by_unit(scores: Floats, code: Codes) -> Floats:
    """(U,) the mean score of each unit, given the scores and hashes of episodes."""
    units = UnitSums(1)
    units.add([scores], code)
    return units.means()[0]
