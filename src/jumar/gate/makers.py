"""Where the candidates of `auto` come from.

Without a word, from the algorithms that have a grid for the test that is asked (`Algorithm.grids`).
A caller may name others, any of the registry, or give a function (`functions`). No test rests on
it: candidates are made of one half, and what a test on the other half promises holds for each of
them, whoever made it (Thomas, Theocharous and Ghavamzadeh 2015). So a bad maker is safe, only
useless.

A bet on held-out episodes needs light weights. The algorithms with a grid for a test have seen to
that; the rows of all others are also mixed with the behavior's, as λπ + (1-λ)π_b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jumar import algorithms
from jumar.algorithms.entry import Algorithm, Grid
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.text import printable
from jumar.gate.functions import Function, OwnFunction
from jumar.gate.trials import GATES

# names of algorithms (several in one text with commas between), functions, or a list of both
CandidatesLike: TypeAlias = "str | Function | Sequence[str | Function]"

FAMILY = "family"  # the grid for any test
LIGHTER = (1.0, 0.5, 0.25, 0.1)  # shares of the new rows, the rest the behavior's
USUAL = "auto"  # as a name: what is tried without a word


@dataclass(frozen=True, eq=False)
class MakerGrid:
    """An algorithm with what is tried of it, or a function."""

    maker: Algorithm | OwnFunction
    grid: Grid

    @property
    def name(self) -> str:
        return self.maker.name


@dataclass(frozen=True, eq=False)
class Makers:
    """Who makes candidates, in the order that was asked for."""

    makers: tuple[Algorithm | OwnFunction | None, ...]  # None: the usual ones

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(USUAL if maker is None else maker.name for maker in self.makers)

    @property
    def own(self) -> bool:
        """Is a function among them?"""
        return any(isinstance(maker, OwnFunction) for maker in self.makers)

    def grids(self, test: str) -> list[MakerGrid]:
        """What is tried for a test."""
        found: list[MakerGrid] = []
        for maker in self.makers:
            if maker is None:
                found += usual(test)
            elif isinstance(maker, OwnFunction):
                found.append(MakerGrid(maker, Grid(mixtures=LIGHTER)))
            else:
                found.append(MakerGrid(maker, grid_of(maker, test)))
        by_name: dict[str, MakerGrid] = {}
        for one in found:  # each is asked once
            by_name.setdefault(one.name, one)
        return list(by_name.values())


def usual(test: str) -> list[MakerGrid]:
    """What is tried without a word."""
    return [MakerGrid(entry, entry.grids[test]) for entry in algorithms.tried_by(test)]


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
    listed: Sequence[Any]
    if isinstance(candidates, str) or callable(candidates):
        listed = [candidates]
    elif isinstance(candidates, list | tuple):
        listed = candidates
    else:
        raise _refused(candidates)
    found: dict[str, Algorithm | OwnFunction | None] = {}
    for item in listed:
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


def _makers(item: Any) -> list[Algorithm | OwnFunction | None]:
    if isinstance(item, str):
        return [_named(name.strip()) for name in item.split(",") if name.strip()]
    if callable(item):
        return [OwnFunction(item)]
    raise _refused(item)


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


def _refused(item: object) -> ParameterError:
    return ParameterError(
        f"candidates: {printable(repr(item)[:40])} is neither the name of an algorithm nor a "
        "function. `jumar algorithms` lists names; a function takes a model and the behavior."
    )
