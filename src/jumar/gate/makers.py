"""Where the candidates of `auto` come from: algorithms of the registry, or a caller's function.

Without a word, from the algorithms that have a grid for the test that is asked (`Algorithm.grids`).
A caller may name others or give a function. No test rests on it: candidates are made of one half,
and what a test on the other half promises holds for each of them, whoever made it (Thomas,
Theocharous and Ghavamzadeh 2015). So a bad maker is safe, only useless. A bet on held-out episodes
needs light weights: algorithms with a grid for a test have seen to that; the rows of all others,
and of functions, are also mixed with the behavior's, as λπ + (1-λ)π_b.

    def my_function(mdp: HistoryMdp, behavior: Controller):
        ...
        return rows  # (H, A), a Controller, an Improvement; several of them; or None

It is called with the model of a part of the log and the behavior that candidates start from: once
for every half and memory, and once more for each fold of a half by which a bet is chosen. The model
holds what that part shows and nothing else: not even the history states that occur only in what is
held out. What it returns counts in the history states in which that part shows what was done; in
all others the behavior decides, in the test and in what is handed over (`Bench.controller`).

What it must not do is remember an earlier call: the half that it is tested on is the one that it
was called with before, or will be, and then no promise holds. Nobody can check that here; the
documentation says so. A row that puts probability where the behavior never takes an action is
refused, with its place: no log can tell what that leads to. (A test would hold all the same: in the
scores of `scoring` such an action counts as the worst that can happen.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn, TypeAlias

import numpy as np

from jumar import algorithms
from jumar.algorithms.entry import Algorithm, Grid
from jumar.core.arrays import Floats
from jumar.core.errors import MemoryMismatch, ParameterError, not_one_of
from jumar.core.names import other_names
from jumar.core.text import counted, printable
from jumar.gate.trials import GATES
from jumar.policy.controller import Controller
from jumar.solve.nouns import Improvement
from jumar.tally.history import HistoryMdp

Function = Callable[[HistoryMdp, Controller], Any]
MOST_RETURNED = 1000  # candidates of one call
SCALED = 1e-6  # rows whose sums are off by no more are scaled: softmax in single precision
RETURNS = (
    f"Return rows (an array with one row for every state of the model, one column for every "
    f"action), a Controller, an Improvement, up to {MOST_RETURNED:,} of them, or None"
)


@dataclass(frozen=True, eq=False)
class OwnFunction:
    """A function, and what its candidates are called."""

    call: Function

    @property
    def name(self) -> str:
        """No algorithm of the registry has such a name.

        >>> OwnFunction(len).name
        'len()'
        """
        inner = getattr(self.call, "func", self.call)  # of functools.partial
        found = getattr(inner, "__name__", None) or type(inner).__name__
        return f"{printable(str(found))[:60]}()"

    def propose(self, mdp: HistoryMdp, behavior: Controller) -> Iterator[tuple[int, Controller]]:
        """Controllers over the memory of the model, each with its number in what was returned; 0
        where that is no list. The same one is returned once."""
        old = mdp.policy_of(behavior)
        seen: set[bytes] = set()
        for number, item in self._returned(mdp, behavior):
            given = self._given(item, mdp, number)
            rows = mdp.policy_of(given) if isinstance(given, Controller) else given
            if rows.tobytes() in seen:
                continue
            seen.add(rows.tobytes())
            self._check_support(rows, old, mdp, behavior, number)
            if not isinstance(given, Controller):
                name = f"{behavior.name}, improved"
                given = behavior.lift(mdp.memory).except_at(mdp.states, given, name)
            yield number, given

    def _returned(self, mdp: HistoryMdp, behavior: Controller) -> list[tuple[int, Any]]:
        try:
            found = self.call(mdp, behavior)
            if found is None:
                return []
            if _is_one(found):
                return [(0, found)]
            # a generator may fill the same array again
            fresh = (x.copy() if isinstance(x, np.ndarray) else x for x in found)
            items = list(enumerate(islice(fresh, MOST_RETURNED + 1), 1))
        except Exception as error:
            error.add_note(
                f"{self.name}, the function that was given as `candidates`, failed on the model of "
                f"a part of the log: {mdp.summary}."
            )
            raise
        if len(items) > MOST_RETURNED:
            self._refuse(0, f"returned more than {MOST_RETURNED:,} candidates. Return fewer.")
        return items

    def _given(self, item: Any, mdp: HistoryMdp, number: int) -> Controller | Floats:
        """A controller over the memory of the model, or rows (H, A)."""
        if isinstance(item, Improvement):
            item = item.controller
        if isinstance(item, Controller):
            for kind in other_names(item, mdp):
                self._refuse(
                    number,
                    f"its {kind} ({', '.join(getattr(item, kind))}) are not those of the model "
                    f"({', '.join(getattr(mdp, kind))}), in this order.",
                )
            try:
                return item.lift(mdp.memory)
            except MemoryMismatch:
                self._refuse(
                    number,
                    f"it remembers more ({item.memory}) than the model it was called with "
                    f"({mdp.memory}). Return None for models with less memory, or say what may be "
                    "remembered: memory=...",
                )
        try:
            rows = np.array(item, np.float64)
        except (TypeError, ValueError):
            kind = f"{type(item).__name__} {printable(repr(item)[:40])}"
            self._refuse(number, f"returned {kind}. {RETURNS}.")
        H, A = mdp.shape
        if rows.shape != (H, A):
            self._refuse(
                number,
                f"rows have shape {rows.shape}; the model has {counted(H, 'history state')} and "
                f"{counted(A, 'action')}. {RETURNS}.",
            )
        total = rows.sum(1)
        wrong = ~np.isfinite(rows).all(1) | (rows < 0).any(1) | ~(np.abs(total - 1) <= SCALED)
        for h in np.flatnonzero(wrong):
            self._refuse(
                number,
                f"row {h} is {rows[h].tolist()}. Probabilities lie between 0 and 1, and sum to 1.",
            )
        scaled: Floats = rows / total[:, None]
        return scaled

    def _check_support(
        self, rows: Floats, old: Floats, mdp: HistoryMdp, behavior: Controller, number: int
    ) -> None:
        for h, a in np.argwhere((rows > 0) & (old <= 0)):
            where = behavior.lift(mdp.memory).describe(mdp.states[h])
            self._refuse(
                number,
                f"{where}: it takes {printable(mdp.actions[a])!r} with probability "
                f"{rows[h, a]:.3g}, which the behavior never does there. No log of the behavior "
                "can tell what that leads to. Leave such actions at 0: "
                "mdp.policy_of(behavior) > 0 says where there is more.",
            )

    def _refuse(self, number: int, why: str) -> NoReturn:
        which = f", number {number}" if number else ""
        raise ParameterError(f"candidates: {self.name}{which}: {why}")


def _is_one(found: Any) -> bool:
    """Is it one candidate, and no list of them?"""
    if isinstance(found, Controller | Improvement):
        return True
    if isinstance(found, np.ndarray):
        return found.ndim != 3
    if isinstance(found, list | tuple) and found and isinstance(found[0], list | tuple):
        return not isinstance(found[0][0] if found[0] else None, list | tuple)
    return not isinstance(found, Iterable) or isinstance(found, str | bytes | dict)


# names of algorithms (several in one text with commas between), functions, or a list of both
CandidatesLike: TypeAlias = "str | Function | Sequence[str | Function]"

FAMILY = "family"  # the grid for any test
LIGHTER = (1.0, 0.5, 0.25, 0.1)  # shares of the new rows, the rest the behavior's
USUAL = "auto"  # as a name: what is tried without a word
Maker = Algorithm | OwnFunction


@dataclass(frozen=True, eq=False)
class Makers:
    """Who makes candidates, in the order that was asked for."""

    makers: tuple[Maker | None, ...]  # None: the usual ones

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(USUAL if maker is None else maker.name for maker in self.makers)

    def grids(self, test: str) -> list[tuple[Maker, Grid]]:
        """What is tried for a test; each maker is asked once."""
        found: list[tuple[Maker, Grid]] = []
        for maker in self.makers:
            if maker is None:
                found += usual(test)
            elif isinstance(maker, OwnFunction):
                found.append((maker, Grid(mixtures=LIGHTER)))
            else:
                found.append((maker, grid_of(maker, test)))
        by_name: dict[str, tuple[Maker, Grid]] = {}
        for maker, grid in found:
            by_name.setdefault(maker.name, (maker, grid))
        return list(by_name.values())


def usual(test: str) -> list[tuple[Maker, Grid]]:
    """What is tried without a word."""
    return [(entry, entry.grids[test]) for entry in algorithms.tried_by(test)]


def grid_of(entry: Algorithm, test: str) -> Grid:
    """What a test tries of an algorithm that was named: its grid for that test; else the one for
    any test, or for another gate; else what it does by default.

    >>> from jumar.algorithms import algorithm
    >>> len(grid_of(algorithm("spibb"), "proved").settings), grid_of(algorithm("basic"), "proved")
    (5, Grid(settings=((('unseen', 'exclude'),),), mixtures=(1.0, 0.5, 0.25, 0.1)))
    """
    grids = entry.grids
    if test in grids:
        grid = grids[test]
    elif FAMILY in grids:
        grid = Grid(grids[FAMILY].settings, LIGHTER)
    else:
        grid = next((grids[gate] for gate in GATES if gate in grids), Grid(mixtures=LIGHTER))
    defaults = {name: p.default for name, p in entry.parameters.items()}
    given = [dict(setting) for setting in grid.settings]
    complete = [tuple({**some, **defaults, **some}.items()) for some in given]
    return Grid(tuple(complete), grid.mixtures)


def makers_of(candidates: CandidatesLike | Makers | None) -> Makers | None:
    """Who makes candidates, as a caller says it; None where nothing is said.

    >>> makers_of("soft, robust").names
    ('soft', 'robust')
    """
    if candidates is None or isinstance(candidates, Makers):
        return candidates
    found: dict[str, Maker | None] = {}
    for item in candidates if isinstance(candidates, list | tuple) else [candidates]:
        for maker in _makers(item):
            name = USUAL if maker is None else maker.name
            if name in found and isinstance(maker, OwnFunction):
                raise ParameterError(
                    f"candidates: two functions are called {name}. Name them apart."
                )
            found.setdefault(name, maker)
    if not found:
        raise ParameterError(
            "candidates: there is no name in it. Name algorithms, such as soft,robust, or leave it "
            "out."
        )
    return Makers(tuple(found.values()))


def _makers(item: Any) -> list[Maker | None]:
    if isinstance(item, str):
        return [_named(name.strip()) for name in item.split(",") if name.strip()]
    if callable(item):
        return [OwnFunction(item)]
    raise ParameterError(
        f"candidates: {printable(repr(item)[:40])} is neither the name of an algorithm nor a "
        "function. `jumar algorithms` lists names; a function takes a model and the behavior."
    )


def _named(name: str) -> Algorithm | None:
    key = name.replace("-", "_").lower()
    if key not in algorithms.ALGORITHMS:
        raise ParameterError(f"candidates: {not_one_of('algorithm', name, algorithms.ALGORITHMS)}")
    entry = algorithms.ALGORITHMS[key]
    if entry.improve is None and key != USUAL:
        raise ParameterError(
            f"candidates: {key} chooses its memory itself and makes no candidates. Leave it out."
        )
    return None if key == USUAL else entry
