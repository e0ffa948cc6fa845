"""Memory of the last few observations, or observations and actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Ints
from jumar.core.errors import ControllerError, ParameterError, TooLarge
from jumar.core.memory.base import ENUMERABLE, Memory
from jumar.core.names import NOTHING, position_of

LONGEST_WINDOW = 1000


@dataclass(frozen=True)
class Window(Memory):
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

    def replay(self, z: Ints, a: Ints, start: Ints) -> Ints:
        from jumar.core import kernels

        sizes = np.array(self._word_sizes, np.int64)
        return kernels.window_nodes(self.symbol(z, a), start, self._base, sizes)

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

    def read_node(
        self, words: Sequence[int], observations: Sequence[str], actions: Sequence[str]
    ) -> list[Any]:
        newest_first = self.digits(np.array([words], np.int64).reshape(1, self.width))[0]
        return [self._read_digit(int(d), observations, actions) for d in newest_first[::-1]]

    def _read_digit(self, digit: int, observations: Sequence[str], actions: Sequence[str]) -> Any:
        if not self.actions:
            return observations[digit - 1] if digit else NOTHING
        if not digit:
            return [NOTHING, NOTHING]
        z, a = divmod(digit - 1, len(actions))
        return [observations[z], actions[a]]

    def write_node(
        self, value: Any, observations: Sequence[str], actions: Sequence[str], place: str = ""
    ) -> list[int]:
        what = "[observation, action] pairs" if self.actions else "observations"
        nothing = '["", ""]' if self.actions else '""'
        if not isinstance(value, list) or len(value) != self._digits:
            raise ControllerError(
                f"{place}node {value!r}: a {self} needs a list of the {self._digits} earlier "
                f"{what}, oldest first; write {nothing} for nothing yet."
            )
        digits = [self._write_digit(item, observations, actions, place) for item in value]
        began = False
        for digit in digits:
            if began and not digit:
                raise ControllerError(
                    f'{place}node {value!r}: "" (nothing yet) can only stand before the first '
                    "observation."
                )
            began = began or bool(digit)
        packed = self.pack(np.array([digits[::-1]], np.int64).reshape(1, -1))[0]
        return [int(word) for word in packed]

    def _write_digit(
        self, item: Any, observations: Sequence[str], actions: Sequence[str], place: str
    ) -> int:
        if not self.actions:
            if item == NOTHING:
                return 0
            return position_of("observation", item, observations, ControllerError, place) + 1
        if not isinstance(item, list) or len(item) != 2:
            raise ControllerError(f"{place}{item!r} is not an [observation, action] pair.")
        if item == [NOTHING, NOTHING]:
            return 0
        z = position_of("observation", item[0], observations, ControllerError, place)
        a = position_of("action", item[1], actions, ControllerError, place)
        return z * len(actions) + a + 1

    def to_document(self, observations: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
        return {"window": self.length, **({"actions": True} if self.actions else {})}
