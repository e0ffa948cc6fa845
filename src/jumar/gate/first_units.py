"""Whole episodes that a pass over a log keeps: those whose hashes come first."""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Bools, Codes, Ints
from jumar.gate.dealing import BLOCKS, FOLDS, HALVES, half_of, part_of
from jumar.gate.dealt_log import LEAST_KEPT, last_of_first
from jumar.log.shards.whole import WholeEpisodes

SPARE = 1.5  # times as many are let in as are expected to be kept
EVERY_HASH = np.iinfo(np.uint64).max
HALF = 1 << 63  # hashes of a half


class FirstUnits:
    """The first units of every group of a log, in the order of their hashes: so many `units`, and
    no more than so many `steps`. A group is a fold of a half, or a half.

    The first of the whole are among the first of every part, so parts can be looked at apart and
    in any order. Where it is known how long an episode is, more or less, and how many `rows` there
    are, most others are turned away by their hash alone, from the first row on.
    """

    def __init__(
        self,
        units: int,
        steps: int,
        *,
        by_fold: bool = True,
        length: float | None = None,
        rows: int = 0,
    ) -> None:
        self.units, self.steps, self.by_fold = units, steps, by_fold
        self._pieces: list[WholeEpisodes] = []
        self._waiting = 0  # steps and episodes that came since `last` was looked for
        # the last hash of every group that is let in; once it is full, that is kept
        share = 1.0
        if length is not None and rows:
            few = 4 * LEAST_KEPT  # of which it is not sure how many have such hashes
            kept = min(units * length, max(steps, few * length))
            share = SPARE * kept * (HALVES * FOLDS if by_fold else HALVES) / rows
        self.last = self._quantiles(share)
        self.full = np.zeros(len(self.last), np.bool_)

    @property
    def episodes(self) -> WholeEpisodes | None:
        """In the order of their places; None if there are none."""
        pieces = self.pieces()
        if not pieces:
            return None
        found = WholeEpisodes.joined(pieces)
        return found.select(np.lexsort([found.code, found.place]))

    def pieces(self) -> list[WholeEpisodes]:
        """In no order, as they came."""
        self._settle()
        return self._pieces

    @property
    def lacks(self) -> bool:
        """Were units turned away that belong to the first, for episodes are shorter than others?"""
        self._settle()
        return bool((~self.full & (self.last < EVERY_HASH)).any())

    def wanted(self, code: Codes) -> Bools:
        """(E,) which of some episodes may belong to the first; ever fewer as groups fill up."""
        inside: Bools = code <= self.last[self._group_of(code)]
        return inside

    def add(self, some: WholeEpisodes) -> None:
        """Some more episodes."""
        chosen = np.flatnonzero(self.wanted(some.code))
        if len(chosen):
            if len(chosen) < len(some):
                some = some.select(chosen)
            self._pieces.append(some)
            self._waiting += len(self._pieces[-1].reward) + len(chosen)
        if self._waiting > self.steps * len(self.last):
            self._settle()

    def in_one_piece(self) -> FirstUnits:
        """The same, put together: each piece is some work to whoever adds or scores them."""
        pieces = self.pieces()
        self._pieces = [WholeEpisodes.joined(pieces)] if pieces else []
        return self

    def merge(self, other: FirstUnits) -> None:
        """Add what was found elsewhere, where others may have been turned away already."""
        pieces = other.pieces()
        self.last = np.where(other.full, np.minimum(self.last, other.last), self.last)
        self.full |= other.full
        for piece in pieces:
            self.add(piece)

    def _group_of(self, code: Codes) -> Ints:
        return part_of(code) if self.by_fold else half_of(code)

    def _quantiles(self, share: float) -> Codes:
        """(G,) the hash of every group below which such a share of its hashes lies."""
        groups = HALVES * FOLDS if self.by_fold else HALVES
        found = np.full(groups, EVERY_HASH, np.uint64)
        for g in range(groups if share < 1.0 else 0):
            half, fold = divmod(g, FOLDS) if self.by_fold else (g, 0)
            # a fold has every fourth block of its half
            every = FOLDS if self.by_fold else 1
            whole, rest = divmod(share * (BLOCKS / every), 1.0)
            found[g] = half * HALF + int((whole * every + fold + rest) * (HALF / BLOCKS))
        return found

    def _settle(self) -> None:
        """Let in no hash any more that is not among the first, and let go of those that are not."""
        if not self._waiting:
            return
        self._waiting = 0
        self._close()
        kept = []
        for piece in self._pieces:
            chosen = np.flatnonzero(self.wanted(piece.code))
            if len(chosen):
                kept.append(piece if len(chosen) == len(piece) else piece.select(chosen))
        self._pieces = kept

    def _close(self) -> None:
        """Look for the last hash of every group that is kept."""
        code = np.concatenate([piece.code for piece in self._pieces])
        lengths = np.concatenate([np.diff(piece.start) for piece in self._pieces])
        group = self._group_of(code)
        for g in range(len(self.last)):
            own = group == g
            last = last_of_first(code[own], lengths[own], self.units, self.steps)
            if last is not None:
                self.last[g], self.full[g] = last, True
