"""Spaces of environments and datasets, as columns of a log.

A space says which values there are: one of n numbers, several of them, or real numbers. It is
described as Minari writes it, ``{"type": "Discrete", "n": 3, "start": 0}``, and taken apart into
columns that hold one number each. A space of one number is a column "observation" (or "action"),
one of several has the columns observation.0, observation.1, or observation.angle where its parts
have names. Whole numbers are their own names; real numbers need bins. Several columns make one
name, joined as those of a log are: "3+high".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Ints
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.names import JOINT
from jumar.core.reading import Bins, ReadColumn
from jumar.core.text import listing, printable

MOST_COLUMNS = 100  # more are a picture
MOST_NAMES = 100_000  # of a space
MOST_WHOLE = 1_000  # whole numbers of one column that are names of their own
MOST_NESTED = 20  # spaces within spaces
_TOO_MANY = (
    f"the space has more than {MOST_COLUMNS} numbers, too many to make a name of. Reduce it to the "
    "few that matter with a wrapper."
)

Description = Mapping[str, Any]


@dataclass(frozen=True)
class SpaceColumn:
    """One number of a space."""

    name: str
    keys: tuple[str | int, ...]  # the way to it through parts that have names or places,
    shape: tuple[int, ...]  # of the array there,
    place: tuple[int, ...]  # and its place in that
    values: range | None  # whole numbers; None: real ones
    bins: Bins | None = None  # that they are cut into

    @property
    def n_names(self) -> int:
        return len(self.bins.names if self.bins else self.values or ())

    @property
    def names(self) -> tuple[str, ...]:
        return self.bins.names if self.bins else tuple(map(str, self.values or ()))

    def of_array(self, array: Any) -> Array:
        """(N,) its values in an array of N entries."""
        return np.asarray(array[(slice(None), *self.place)])

    def of(self, entry: Any) -> Any:
        """Its value in one entry."""
        for key in self.keys:
            entry = entry[key]
        return entry if self.place == () else np.asarray(entry)[self.place]

    def number(self, values: Array) -> Ints:
        """(N,) the numbers of the names that values have, -1 where one has none."""
        if self.bins:
            return self.bins.find(values).astype(np.int64)
        first = self.values.start if self.values else 0
        with np.errstate(invalid="ignore"):  # what is no number is no name either
            found = values.astype(np.int64) - first
        return np.where((found + first == values) & (found < self.n_names), found, -1)


def columns_of(root: str, space: Description) -> list[SpaceColumn]:
    """The numbers that a space is made of."""
    found = list(islice(_columns(root, space, ()), MOST_COLUMNS + 1))
    if len(found) > MOST_COLUMNS:
        raise ParameterError(f"{root}: {_TOO_MANY}")
    if not found:
        raise ParameterError(f"{root}: the space has no values.")
    return found


def _columns(name: str, space: Description, keys: tuple[str | int, ...]) -> Iterator[SpaceColumn]:
    if not isinstance(space, Mapping):
        raise ParameterError(f"{name}: {printable(repr(space))} is not the description of a space.")
    kind, inside = space.get("type"), space.get("subspaces")
    if kind in ("Dict", "Tuple") and isinstance(inside, Mapping | list | tuple):
        if len(keys) > MOST_NESTED:
            raise ParameterError(f"{name[:60]}: the space is nested too deeply. Flatten it.")
        parts = inside.items() if isinstance(inside, Mapping) else enumerate(inside)
        for key, part in parts:
            yield from _columns(f"{name}.{key}", part, (*keys, key))
        return
    if kind not in ("Discrete", "MultiDiscrete", "Box"):
        raise ParameterError(
            f"{name}: a space of the kind {printable(str(kind))} has no names. Use one of "
            "Discrete, MultiDiscrete, Box, Dict and Tuple."
        )
    try:
        with np.errstate(all="ignore"):  # a range from -inf to inf has no size
            first, size = _range(space)
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else printable(str(error))
        raise ParameterError(f"{name}: the description of the space is wrong: {said}.") from error
    for place in np.ndindex(first.shape):
        low, n = int(first[place]), int(size[place])
        inner = "".join(f".{i}" for i in place)
        whole = range(low, low + n) if n else None
        yield SpaceColumn(name + inner, keys, first.shape, place, whole)


def _range(space: Description) -> tuple[Ints, Ints]:
    """The first whole number of every place, and how many there are; 0 of them: it is real."""
    if space["type"] != "Box":
        size = _wholes(space["n" if space["type"] == "Discrete" else "nvec"])
        if (size < 1).any():
            raise ValueError(f"{size.min()} is below 1")
        return np.broadcast_to(_wholes(space.get("start", 0)), size.shape), size
    shape = tuple(space["shape"])
    if math.prod(shape) > MOST_COLUMNS:
        raise ParameterError(_TOO_MANY)
    low, high = (np.broadcast_to(np.array(space[end], float), shape) for end in ("low", "high"))
    whole = np.issubdtype(np.dtype(space["dtype"]), np.integer)
    size = np.where((high >= low) & (high - low < MOST_WHOLE) & whole, high - low + 1, 0)
    return np.where(size > 0, low, 0).astype(np.int64), size.astype(np.int64)


def _wholes(value: Any) -> Ints:
    """Whole numbers of a description."""
    found = np.array(value)
    if found.dtype.kind not in "iu" and found.size:
        raise ValueError(f"{value!r} is not whole")
    return found.astype(np.int64)


@dataclass(frozen=True)
class NamedSpace:
    """A space whose values have names: products of whole numbers and of ranges."""

    space: Description
    columns: tuple[SpaceColumn, ...]  # those that make a name

    @property
    def size(self) -> int:
        """How many names there are."""
        return math.prod(column.n_names for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """All names. The last column changes fastest."""
        return tuple(JOINT.join(cells) for cells in product(*(c.names for c in self.columns)))

    @property
    def reading(self) -> tuple[ReadColumn, ...]:
        """How a log with these columns is read."""
        return tuple(ReadColumn(column.name, column.bins) for column in self.columns)

    def number(self, entry: Any) -> int:
        """The number of the name of one entry, -1 where its value has none."""
        return int(self.joined([np.array([column.of(entry)]) for column in self.columns])[0])

    def joined(self, values: Sequence[Array]) -> Ints:
        """(N,) the number of the name that the values of every column make together."""
        digits = [c.number(v) for c, v in zip(self.columns, values, strict=True)]
        code: Any = 0
        for column, digit in zip(self.columns, digits, strict=True):
            code = code * column.n_names + digit
        return np.where(np.any(np.less(digits, 0), 0), -1, code)

    def value(self, number: int) -> Any:
        """What has this name, as the space has it; only of whole numbers."""
        digits = np.unravel_index(number, [column.n_names for column in self.columns])
        values = (
            column.values[int(digit)]
            for column, digit in zip(self.columns, digits, strict=True)
            if column.values is not None
        )
        return _composed(self.space, values)


def _composed(space: Description, values: Iterator[int]) -> Any:
    kind = space["type"]
    if kind == "Dict":
        return {key: _composed(part, values) for key, part in space["subspaces"].items()}
    if kind == "Tuple":
        return tuple(_composed(part, values) for part in space["subspaces"])
    if kind == "Discrete":
        return next(values)
    shape = _range(space)[0].shape
    flat = [next(values) for _ in range(math.prod(shape))]
    return np.array(flat, space["dtype"]).reshape(shape)


def named_space(
    root: str, space: Description, bins: Mapping[str, Bins] | None = None
) -> NamedSpace:
    """A space with names for its values. Real numbers that are not cut into bins do not matter, as
    long as anything else does."""
    bins = bins or {}
    every = columns_of(root, space)
    known = [column.name for column in every]
    for name in bins:
        if name not in known:
            raise ParameterError("bins: " + not_one_of("column", name, known))
    cut = [replace(column, bins=bins.get(column.name)) for column in every]
    used = tuple(column for column in cut if column.n_names)
    if not used:
        raise ParameterError(
            f"{root}: the numbers {listing(known)} are real, so they have no names. Cut those that "
            f"matter into ranges: bins={{{known[0]!r}: ('low', 0.5, 'high')}}."
        )
    made = NamedSpace(space, used)
    if made.size > MOST_NAMES:
        raise ParameterError(
            f"{root}: the space has {made.size:,} values, too many to name. Use fewer columns or "
            "bins (a wrapper can leave columns out)."
        )
    return made
