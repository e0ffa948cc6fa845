"""Memory of the last few observations, or observations and actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Ints
from jumar.core.errors import ParameterError, TooLarge
from jumar.core.names import NOTHING
from jumar.memory.base import ENUMERABLE, Machine, Memory
from jumar.memory.forms import Form, OneOf
from jumar.memory.projecting import Projection

LONGEST_WINDOW = 1000
NOW = "the current observation"


@dataclass(frozen=True, repr=False)
class Window(Memory, word="window"):
    """The last `length` observations including the current one; with `actions`, also what was
    done on each of the earlier ones."""

    length: int
    actions: bool = False

    def __post_init__(self) -> None:
        whole = isinstance(self.length, int | np.integer) and not isinstance(self.length, bool)
        if whole:
            object.__setattr__(self, "length", int(self.length))
        if not whole or not 1 <= self.length <= LONGEST_WINDOW:
            raise ParameterError(
                f"window: length {self.length!r} must be a whole number from 1 (only the current "
                f"observation) to {LONGEST_WINDOW}."
            )

    def __str__(self) -> str:
        return f"window of {self.length}" + (" with actions" if self.actions else "")

    @property
    def _digits(self) -> int:
        return self.length - 1

    @cached_property
    def _base(self) -> int:
        O, A = self.alphabet
        return (O * A if self.actions else O) + 1

    @cached_property
    def _per_word(self) -> int:
        """How many digits one 63-bit word holds."""
        count, room = 0, 2**63 - 1
        while room >= self._base:
            room //= self._base
            count += 1
        return count

    @cached_property
    def _word_sizes(self) -> tuple[int, ...]:
        """Digits in each word; the newest digits stand in the first word."""
        full, rest = divmod(self._digits, self._per_word)
        return (self._per_word,) * full + ((rest,) if rest else ())

    @property
    def width(self) -> int:
        return len(self._word_sizes)

    def initial(self) -> Ints:
        return np.zeros(self.width, np.int64)

    def symbol(self, z: Ints, a: Ints) -> Ints:
        """The digit that remembers z (and a); 0 is kept for 'nothing yet'."""
        return z * self.alphabet[1] + a + 1 if self.actions else z + 1

    def step(self, nodes: Ints, z: Ints, a: Ints) -> Ints:
        moved = np.empty_like(nodes)
        newest = self.symbol(z, a)
        for w, size in enumerate(self._word_sizes):
            top = self._base ** (size - 1)
            moved[:, w] = nodes[:, w] % top * self._base + newest
            newest = nodes[:, w] // top
        return moved

    def replay(self, z: Ints, a: Ints, start: Ints, first: Ints | None = None) -> Ints:
        from jumar.core import kernels

        sizes = np.array(self._word_sizes, np.int64)
        first = self.initial() if first is None else first
        return kernels.window_nodes(self.symbol(z, a), start, self._base, sizes, first)

    def has(self, nodes: Ints) -> Bools:
        fits = np.ones(len(nodes), np.bool_)
        for w, size in enumerate(self._word_sizes):
            fits &= (nodes[:, w] >= 0) & (nodes[:, w] < self._base**size)
        empty = self.digits(nodes) == 0  # newest first: once there is nothing, nothing is older
        fits &= (empty[:, :-1] <= empty[:, 1:]).all(1)
        return fits

    def count_nodes(self) -> int:
        symbols = self._base - 1
        return self.length if symbols == 1 else (symbols**self.length - 1) // (symbols - 1)

    def enumerate(self, limit: int = ENUMERABLE) -> Ints:
        if self.count_nodes() > limit:  # known without walking
            raise TooLarge(f"Nodes of a {self}: {self.count_nodes()} of them; too many to list.")
        return super().enumerate(limit)

    def digits(self, nodes: Ints) -> Ints:
        """(N, length-1) the digits of every node, newest first."""
        columns = [
            nodes[:, w] // self._base**j % self._base
            for w, size in enumerate(self._word_sizes)
            for j in range(size)
        ]
        return np.stack(columns, 1) if columns else np.zeros((len(nodes), 0), np.int64)

    def pack(self, digits: Ints) -> Ints:
        """(N, W) the nodes with these digits, newest first."""
        nodes = np.zeros((len(digits), self.width), np.int64)
        column = 0
        for w, size in enumerate(self._word_sizes):
            for j in range(size):
                nodes[:, w] += digits[:, column] * self._base**j
                column += 1
        return nodes

    def to_fields(self, nodes: Ints) -> Ints:
        """Oldest first, per remembered step: 0 for nothing yet, else 1 + the observation; with
        actions a second field, 0 or 1 + the action."""
        digits = self.digits(nodes)[:, ::-1]
        if not self.actions:
            return digits
        z, a = np.divmod(digits - 1, self.alphabet[1])
        pairs = np.where(digits[:, :, None] == 0, 0, np.stack([z, a], 2) + 1)
        return pairs.reshape(len(nodes), 2 * self._digits)

    def from_fields(self, rows: Ints) -> Ints:
        if not self.actions:
            return self.pack(rows[:, ::-1])
        z, a = rows[:, ::2], rows[:, 1::2]
        return self.pack(np.where(z == 0, 0, (z - 1) * self.alphabet[1] + a)[:, ::-1])

    def form(self, observations: Sequence[str], actions: Sequence[str]) -> Form:
        z = OneOf("observation", (NOTHING, *observations))
        if not self.actions:
            return [z] * self._digits
        return [[z, OneOf("action", (NOTHING, *actions))]] * self._digits

    @property
    def node_help(self) -> str:
        what = "[observation, action] pairs" if self.actions else "observations"
        nothing = '["", ""]' if self.actions else '""'
        return (
            f"A {self} needs a list of the {self._digits} earlier {what}, oldest first; "
            f"{nothing} (nothing yet) can only stand before the first."
        )

    @property
    def head(self) -> str:
        return "seen and done before" if self.actions else "seen before"

    @property
    def span(self) -> int:
        return self.length

    @property
    def knows(self) -> str:
        told = f"the last {self.length} observations" + " and actions" * self.actions
        return NOW if self.length == 1 else told

    def resized(self, span: int) -> Window | None:
        return replace(self, length=span) if 1 <= span <= LONGEST_WINDOW else None

    def onto(self, coarse: Memory) -> Projection | None:
        if not isinstance(coarse, Window):
            return super().onto(coarse)
        A = self.alphabet[1]
        if self.length < coarse.length or (coarse.actions and not self.actions and A > 1):
            return None

        def shorten(nodes: Ints) -> Ints:
            digits = self.digits(nodes)[:, : coarse.length - 1]
            if self.actions and not coarse.actions:
                digits = np.where(digits == 0, 0, (digits - 1) // A + 1)
            return coarse.pack(digits)

        return shorten

    def machine(self) -> Machine:
        A = self.alphabet[1] if self.actions else 0
        first = (-1,) * self._digits  # digit 0 is "nothing yet" here and -1 there
        return Machine(
            push,
            A,
            first,
            lambda nodes: [tuple(row) for row in (self.digits(nodes)[:, ::-1] - 1).tolist()],
        )


def push(n_actions: int, node: Any, z: int, a: int) -> Any:
    """The oldest is forgotten; without actions `n_actions` is 0."""
    return (*node, z * n_actions + a if n_actions else z)[1:]
