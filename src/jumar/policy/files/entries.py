"""The parts of a policy file: names and patterns for them, entries, the memory.

``"*"`` fits all names, ``"high+*"`` every name of two parts whose first part is high: an
observation of several columns is written with a plus between them. A name that is listed as it
stands, stars included, is that name.

A kind of memory registers itself by the word that stands for it (`jumar.memory.KINDS`) and reads
its own entry; what is found there is checked here, and errors name the place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from jumar.core.arrays import Ints
from jumar.core.documents import Format, at, check_keys, checked, lookup, show
from jumar.core.errors import ControllerError, ParameterError
from jumar.core.names import JOINT, WILDCARD, check_names
from jumar.core.text import listing
from jumar.memory import KINDS, Memory

T = TypeVar("T")
CONTROLLER = Format(
    "controller",
    1,
    ControllerError,
    keys=(
        "format", "name", "estimated", "observations", "actions", "memory", "exploration",
        "explored", "default", "rules", "otherwise",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Alphabet:
    """The names, and the number of each."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]

    @cached_property
    def z(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.observations)}

    @cached_property
    def a(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.actions)}


def fitting(kind: str, pattern: Any, numbers: Mapping[str, int], place: str) -> Sequence[int]:
    """The numbers of the names that a pattern fits, at least one."""
    if isinstance(pattern, str) and pattern not in numbers:
        if pattern == WILDCARD:
            return range(len(numbers))
        parts = pattern.split(JOINT)
        if len(parts) > 1 and WILDCARD in parts:
            found = [number for name, number in numbers.items() if _fits(parts, name)]
            if not found:
                raise ControllerError(
                    f"{place}: {kind} pattern {show(pattern)} fits none of {listing(numbers)}. "
                    f"A {WILDCARD!r} stands for one part of a name with {len(parts)} parts."
                )
            return found
    return (lookup(kind, pattern, numbers, place, ControllerError),)


def _fits(parts: Sequence[str], name: str) -> bool:
    if name.count(JOINT) != len(parts) - 1:
        return False
    found = name.split(JOINT)
    return all(part in (WILDCARD, own) for part, own in zip(parts, found, strict=True))


def read_memory(document: Any, place: str, names: Alphabet) -> Memory:
    """The memory that an entry describes, bound to the alphabet."""
    document = checked(document, dict, place, ControllerError)
    known = dict.fromkeys(key for kind in KINDS.values() for key in kind.file_keys())
    check_keys(document, known, place, CONTROLLER)
    words = [word for word in KINDS if word in document]
    if len(words) != 1:
        raise ControllerError(
            f"{place}: {' and '.join(words) or 'none'} of {listing(KINDS)} given. Write exactly "
            "one, such as window = 3."
        )
    kind = KINDS[words[0]]
    check_keys(document, kind.file_keys(), place, CONTROLLER)
    try:
        memory = kind.from_document(Entry(document, place, names))
    except ParameterError as error:  # the memory itself does not want this value
        raise ControllerError(f"{place}: {error}") from error
    return memory.on(len(names.observations), len(names.actions))


@dataclass(frozen=True)
class Entry:
    """A table of keys and values in a file, and where it stands."""

    document: Mapping[str, Any]
    place: str
    alphabet: Alphabet

    @property
    def observations(self) -> Mapping[str, int]:
        """The number of each observation."""
        return self.alphabet.z

    @property
    def actions(self) -> Mapping[str, int]:
        """The number of each action."""
        return self.alphabet.a

    def __contains__(self, key: str) -> bool:
        return key in self.document

    def value(self, key: str, kind: Any) -> Any:
        """The value of a dataclass field, of the annotated kind where that is a simple one."""
        value, place = self.document[key], f"{self.place}, {key}"
        kind = getattr(kind, "__name__", kind)  # an annotation is a type or its name
        if kind == "int" and (not isinstance(value, int) or isinstance(value, bool)):
            raise ControllerError(f"{place}: {show(value)} is not a whole number.")
        simple = {"bool": bool, "str": str, "list": list}.get(kind)
        return checked(value, simple, place, ControllerError) if simple else value

    def get(self, key: str, kind: type[T], default: T) -> T:
        """The value of a key that may be left out."""
        value = self.document.get(key, default)
        return checked(value, kind, f"{self.place}, {key}", ControllerError)

    def number(self, key: str, kind: str, numbers: Mapping[str, int]) -> int:
        """The number of the name that stands under a key."""
        place = self.place if key in (kind, "to") else f"{self.place}, {key}"
        return lookup(kind, self.document[key], numbers, place, ControllerError)

    def fitting(self, key: str, numbers: Mapping[str, int]) -> Sequence[int]:
        """The numbers of the names that the pattern under a key fits; without one, of all."""
        return fitting(key, self.document.get(key, WILDCARD), numbers, self.place)

    def names(self, key: str, kind: str) -> tuple[str, ...]:
        """A list of names."""
        return read_names(kind, self.document[key], self.place)

    def items(self, key: str, noun: str, keys: tuple[str, ...]) -> Iterator[Entry]:
        """The entries of a list, each with only these keys."""
        for i, item in enumerate(self.get(key, list, []), 1):
            place = f"{self.place}, {noun} {i}"
            item = checked(item, dict, place, ControllerError)
            check_keys(item, keys, place, CONTROLLER)
            yield Entry(item, place, self.alphabet)

    def memories(self, key: str) -> Iterator[Memory]:
        """A list of memories."""
        parts = self.get(key, list, [])
        if not parts:
            raise self.error(f"the {key} is empty. List at least one memory.")
        for i, part in enumerate(parts, 1):
            yield read_memory(part, f"{self.place}, part {i}", self.alphabet)

    def error(self, fact: str) -> ControllerError:
        """An error at this place."""
        return ControllerError(f"{self.place}: {fact}")

    def never(self, noun: str, i: int, rivals: Ints) -> ControllerError:
        """The error for a rule or a move that never applies, because earlier ones always fit
        first."""
        earlier = listing([str(j + 1) for j in rivals], 5)
        by = f"earlier {noun}s, {earlier}, fit everything it fits"
        if len(rivals) == 1:
            by = f"{noun} {earlier} comes first and fits everything it fits"
        return ControllerError(
            f"{self.place}, {noun} {i + 1}: can never apply, because {by}. Remove it, or move it "
            "up."
        )


def read_names(kind: str, value: Any, place: str) -> tuple[str, ...]:
    """The names of observations, actions or nodes."""
    for i, name in enumerate(checked(value, list, f"{place}, {kind}s", ControllerError), 1):
        checked(name, str, f"{place}, {kind} {i}", ControllerError)
    with at(place, ControllerError):
        return check_names(kind, value, ControllerError)
