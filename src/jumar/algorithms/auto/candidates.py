"""Candidates: improved policies fitted on a part of the log, with what a model of it expects.

A candidate is a table of rows over the history states of the longest memory, with what a model of
the same episodes expects of it and of the behavior. Which are made for a test, the algorithms say
(`Algorithm.grids`): for the proved gate the behavior *tilted* with several strengths, whose weights
stay light; for the asymptotic one the SPIBB family, mixed with the behavior as λπ + (1-λ)π_b.

Expected values are kept within what the returns allow. Where recordings stop after a known number
of steps they count the steps that are left.

A `Bench` is what this asks of a log, wherever the log lies: in memory (`workbench`), or read in
parts (`jumar.algorithms.auto.streamed`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from jumar import algorithms
from jumar.algorithms.auto.board import Numbered, improved
from jumar.algorithms.auto.dealing import DealtPart
from jumar.algorithms.auto.limits import Limits
from jumar.algorithms.auto.trials import Setting
from jumar.algorithms.entry import Algorithm, Named, Proposal
from jumar.core.arrays import Floats
from jumar.core.controller import Controller
from jumar.core.history import HistoryMdp
from jumar.core.memory import Memory
from jumar.solve.solver import action_values, policy_value, solve

MOST_VALUES = 4_000_000  # numbers in a table of values by step


@dataclass(frozen=True, eq=False)
class Fitted:
    """A candidate, and what a model of the same episodes expects. H history states of the longest
    memory."""

    setting: Setting
    rows: Floats  # (H, A)
    above: Floats  # (T', H, A) Q̂ of the candidate above the least return
    below: Floats  # (T', H, A) Q̂ of the behavior below the greatest
    promised: float  # gain by that model


# candidates made of a part of the log, and which share of a half that is
Make = Callable[[DealtPart, float], Iterator[Fitted]]
# the scores of some units, none below -floor, given a candidate and floors: (u,) for each floor
Scorer = Callable[[Fitted, Sequence[float]], list[Floats]]
Learn = Callable[[Mapping[str, object]], Floats]  # from parameters to rows (K, A)


@dataclass(frozen=True, eq=False, kw_only=True)
class Bench(ABC):
    """Where candidates are fitted and scored. H history states of the longest memory."""

    numbered: tuple[Numbered, ...]  # over every memory that is tried, shortest first
    limits: Limits
    delta: float = 0.05  # for what algorithms want to be sure of
    sizes: Mapping[Memory, int] = field(default_factory=dict)  # history states seen in a half

    # ---- what is asked of the log ---------------------------------------------------------------

    @property
    @abstractmethod
    def behavior(self) -> Controller:
        """That candidates start from."""

    @property
    @abstractmethod
    def behavior_rows(self) -> Floats:
        """(H, A)"""

    @abstractmethod
    def units(self, part: DealtPart) -> int:
        """How many independent units a part of the log has."""

    @abstractmethod
    def models(self, part: DealtPart) -> Iterator[tuple[HistoryMdp, Numbered]]:
        """Of a part of the log, one for every memory."""

    @abstractmethod
    def scorer(self, part: DealtPart, most: int) -> Scorer:
        """A maker of scores of the first so many units of a part."""

    @abstractmethod
    def learner(self, entry: Algorithm, numbered: Numbered, part: DealtPart) -> Learn:
        """What an algorithm learns from a part of the log as from a log of nothing else."""

    # ---- what is made of it ---------------------------------------------------------------------

    def size(self, numbered: Numbered) -> int:
        """The number of history states of a memory; of one half, where that is learned from."""
        return self.sizes.get(numbered.memory, len(numbered.states))

    def controller(self, candidate: Fitted) -> Controller:
        """The behavior, except where a candidate differs."""
        memory = candidate.setting.memory
        numbered = next(n for n in self.numbered if n.memory == memory)
        return improved(self.behavior, memory, numbered.states, candidate.rows[numbered.first])

    def candidates(
        self, part: DealtPart, test: str, thinned: float = 1.0, *, distinct: bool = False
    ) -> Iterator[Fitted]:
        """What the algorithms that have a grid for a test make of a part of the log, over every
        memory.

        Thresholds shrink with a log that was thinned out; of `distinct` candidates no two are the
        same policy.
        """
        seen = {self.behavior_rows.tobytes()}
        for mdp, numbered in self.models(part):
            for entry in algorithms.tried_by(test):
                grid = entry.grids[test]
                made = self._proposals(entry, grid.settings, mdp, numbered, part, thinned)
                _, old, value = next(made)
                policies, values, settings = [old], [value], []
                for parameters, new, value in made:
                    for share in grid.mixtures:
                        rows = new if share == 1 else share * new + (1 - share) * old
                        if distinct:
                            mark = rows[numbered.of].tobytes()
                            if mark in seen:
                                continue
                            seen.add(mark)
                        policies.append(rows)
                        values.append(value if share == 1 else None)
                        settings.append(Setting(numbered.memory, entry.name, parameters, share))
                yield from self._fitted(mdp, numbered, policies, values, settings)

    def learned(self, entry: Algorithm, parameters: Mapping[str, object]) -> Make:
        """A maker of one candidate: what an algorithm learns from a part of the log, over the only
        memory there is. None where it keeps the behavior."""

        def make(part: DealtPart, thinned: float = 1.0) -> Iterator[Fitted]:
            for mdp, numbered in self.models(part):
                learn = self.learner(entry, numbered, part)
                both = [numbered.behavior, learn(entry.thinned(parameters, thinned))]
                setting = Setting(numbered.memory, entry.name, tuple(parameters.items()))
                yield from self._fitted(mdp, numbered, both, [None, None], [setting])

        return make

    def _proposals(
        self,
        entry: Algorithm,
        settings: Sequence[Named],
        mdp: HistoryMdp,
        numbered: Numbered,
        part: DealtPart,
        thinned: float,
    ) -> Iterator[Proposal]:
        """The behavior, then what an algorithm makes of every setting; as cheaply as it can be."""
        if entry.propose is not None:
            yield from entry.propose(mdp, numbered.behavior, settings, thinned)
            return
        admitted, old = entry.admitted, numbered.behavior
        learn = self.learner(entry, numbered, part) if admitted is None else None
        yield (), old, None
        for setting in settings:
            parameters = entry.thinned(dict(setting), thinned)
            if admitted is not None:
                yield setting, solve(mdp, old, admitted(**parameters)).policy, None
            elif learn is not None:
                yield setting, learn(parameters), None

    def _fitted(
        self,
        mdp: HistoryMdp,
        numbered: Numbered,
        rows: Sequence[Floats],
        values: Sequence[Floats | None],
        settings: Sequence[Setting],
    ) -> Iterator[Fitted]:
        """Candidates with their expectations; the first row and value are the behavior's. Values
        that nobody knows yet are solved for. Where thresholds make no difference, in a log in which
        everything was seen often, candidates share their tables."""
        q = [
            action_values(mdp, policy_value(mdp, policy)) if value is None else value
            for policy, value in zip(rows, values, strict=True)
        ]
        below = self._tables(mdp, numbered, rows[0], q[0], of_behavior=True)
        base = float(mdp.start @ (rows[0] * q[0]).sum(1))
        known: dict[bytes, Fitted] = {}
        for i, setting in enumerate(settings, 1):
            if np.array_equal(rows[i], rows[0]):
                continue
            mark = rows[i].tobytes() + q[i].tobytes()
            if mark not in known:
                known[mark] = Fitted(
                    setting,
                    np.ascontiguousarray(rows[i][numbered.of]),
                    self._tables(mdp, numbered, rows[i], q[i], of_behavior=False),
                    below,
                    float(mdp.start @ (rows[i] * q[i]).sum(1)) - base,
                )
            yield replace(known[mark], setting=setting)

    def _tables(
        self, mdp: HistoryMdp, numbered: Numbered, rows: Floats, q: Floats, *, of_behavior: bool
    ) -> Floats:
        """(T', H, A) the values of a policy above the least return, or below the greatest."""
        from jumar.solve.iteration import model_of
        from jumar.solve.sweeps import values_by_step

        limits, T = self.limits, 1
        values = q[None]
        size = self.size(self.numbered[-1]) * q.shape[1]
        if limits.steps is not None and limits.steps * size <= MOST_VALUES:
            T = limits.steps
            rows = np.ascontiguousarray(rows)
            values = values_by_step(model_of(mdp), rows, mdp.discount, T)
        low, high = limits.low[:T, None, None], limits.high[:T, None, None]
        found: Floats = high - values if of_behavior else values - low
        return np.ascontiguousarray(np.clip(found, 0.0, high - low)[:, numbered.of])
