"""A table for languages without nested data: plain numbers side by side, or fixed-width text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from jumar.show.program.table import ControllerTable


@dataclass(frozen=True)
class FlatPart:
    """A part of the memory, and where its numbers stand among those of all layers."""

    number: int
    at: int
    size: int
    actions: int
    moves: list[int] | None  # (M·O·A,) of a part that holds the number of a node


@dataclass(frozen=True)
class FlatLayer:
    """A layer, and where its memory stands among that of all layers."""

    at: int
    size: int
    rows: list[tuple[list[int], int]]  # sorted: memory and observation, distribution

    @property
    def choices(self) -> list[int]:
        return [choice for _, choice in self.rows]


class Flat:
    """The numbers of a table for arrays, and the smallest C types that hold them."""

    def __init__(self, table: ControllerTable) -> None:
        self.first: list[int] = []
        self.parts: list[FlatPart] = []
        self.layers: list[FlatLayer] = []
        self._table = table
        for layer in table.layers:
            keys = ([n for node in key for n in _numbers(node)] for key in layer.keys)
            size = sum(part.size for part in layer.parts)
            rows = sorted(zip(keys, layer.choices, strict=True))
            self.layers.append(FlatLayer(len(self.first), size, rows))
            for part in layer.parts:
                if not part.size:
                    continue  # it remembers nothing
                moves = None
                if part.kind == "nodes":
                    moves = [to for node in part.data for row in node for to in row]
                at = len(self.first)
                self.parts.append(FlatPart(len(self.parts), at, part.size, part.actions, moves))
                self.first += _numbers(part.first)

    @cached_property
    def first_type(self) -> str:
        """Holds every symbol, node and observation."""
        O, A = len(self._table.observations), len(self._table.actions)
        pairs = any(part.actions for part in self.parts)
        nodes = [max(part.moves) for part in self.parts if part.moves]
        return _smallest(max([O * A if pairs else O, *nodes, *self.first]))

    @property
    def moves_type(self) -> str:
        return _smallest(max([0, *(to for part in self.parts for to in part.moves or ())]))

    @property
    def choice_type(self) -> str:
        return _smallest(len(self._table.distributions))


def _numbers(node: int | tuple[int, ...]) -> tuple[int, ...]:
    return (node,) if isinstance(node, int) else node


def _smallest(largest: int) -> str:
    return next(f"int{bits}_t" for bits in (8, 16, 32, 64) if largest < 2 ** (bits - 1))


@dataclass(frozen=True)
class CodedPart:
    """A part of the memory as text."""

    number: int
    first: str
    width: int  # of a symbol
    actions: int
    moves: bool


class Codes:
    """What is remembered as text of fixed width, which databases can cut and compare."""

    def __init__(self, table: ControllerTable) -> None:
        self._z = len(str(len(table.observations) - 1))
        self._a = len(str(len(table.actions) - 1))
        self.parts: list[CodedPart] = []
        self.layers: list[str] = []  # the memory of each as an expression
        self.moves: list[tuple[int, str, int, int, str]] = []
        self.rules: list[tuple[int, str, int, int]] = []
        for number, layer in enumerate(table.layers):
            kept = [(i, part) for i, part in enumerate(layer.parts) if part.size]
            mine: list[CodedPart] = []
            for _, part in kept:
                here = len(self.parts)
                width = self._z + (self._a if part.actions else 0)
                if part.kind == "nodes":
                    width = len(str(len(part.data) - 1))
                    self.moves += [
                        (here, f"{n:0{width}}", z, a, f"{to:0{width}}")
                        for n, rows in enumerate(part.data)
                        for z, row in enumerate(rows)
                        for a, to in enumerate(row)
                    ]
                start = self._node(part.first, width, part.actions)
                mine.append(CodedPart(here, start, width, part.actions, part.kind == "nodes"))
                self.parts.append(mine[-1])
            self.layers.append(" || ".join(f"m.m{part.number}" for part in mine))
            for key, choice in zip(layer.keys, layer.choices, strict=True):
                texts = [
                    self._node(key[i], coded.width, coded.actions)
                    for (i, _), coded in zip(kept, mine, strict=True)
                ]
                self.rules.append((number, "".join(texts), key[-1], choice))

    def z(self, number: int) -> str:
        return f"{number:0{self._z}}"

    def a(self, number: int) -> str:
        return f"{number:0{self._a}}"

    def _node(self, node: int | Sequence[int], width: int, actions: int) -> str:
        if isinstance(node, int):
            return f"{node:0{width}}"
        return "".join(self._symbol(symbol, width, actions) for symbol in node)

    def _symbol(self, symbol: int, width: int, actions: int) -> str:
        if symbol < 0:
            return "." * width  # nothing yet
        return self.z(symbol // actions) + self.a(symbol % actions) if actions else self.z(symbol)
