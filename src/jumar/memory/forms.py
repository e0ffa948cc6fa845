"""A node in names: how files write it and how people read it.

The *form* of a node is a tree. A leaf is `OneOf` some names; a branch is a list of forms. A node
is written as one name for each leaf and one list for each branch. It is also a row of small whole
numbers, its *fields*: for each leaf, from left to right, the number of its name. The wildcard
stands for anything, at every level: each field below it is `ANY`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from jumar.core.errors import ControllerError, not_one_of
from jumar.core.names import NOTHING, WILDCARD

ANY = -1  # the wildcard among fields


@dataclass(frozen=True)
class OneOf:
    """A leaf: one of some names.

    >>> form = OneOf("observation", ("good", "worn"))
    >>> read(form, "worn"), write(form, [0]), read(form, "*")
    ([1], 'good', [-1])
    """

    kind: str  # what the names are names of, for messages
    names: tuple[str, ...]  # "" stands for nothing yet

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each name."""
        return {WILDCARD: ANY, **{name: i for i, name in enumerate(self.names)}}


Form: TypeAlias = "OneOf | list[Form]"


def size(form: Form) -> int:
    """How many fields a node has."""
    return 1 if isinstance(form, OneOf) else sum(map(size, form))


def read(form: Form, value: Any) -> list[int]:
    """The fields of a node as it stands in a file; an error that says what is wrong with it."""
    if isinstance(form, OneOf):
        number = form.numbers.get(value) if isinstance(value, str) else None
        if number is None:
            raise ControllerError(not_one_of(form.kind, value, filter(None, form.names)))
        return [number]
    if isinstance(value, str) and value == WILDCARD:
        return [ANY] * size(form)
    if not isinstance(value, list) or len(value) != len(form):
        raise ControllerError(f"{value!r} is not a list of {len(form)}: {_shape(form)}.")
    fields: list[int] = []
    for part, item in zip(form, value, strict=True):
        if isinstance(part, OneOf) and isinstance(item, str) and item in part.numbers:
            fields.append(part.numbers[item])  # by far the most frequent case
        else:
            fields += read(part, item)
    return fields


def write(form: Form, fields: Iterable[int]) -> Any:
    """A node as it stands in a file."""
    rest = iter(fields)
    if isinstance(form, OneOf):
        return form.names[next(rest)]
    return [p.names[next(rest)] if isinstance(p, OneOf) else write(p, rest) for p in form]


def speak(value: Any) -> str:
    """A node as people read it: what was remembered, oldest first, from the start on.

    >>> speak("due"), speak(["", "", "good", "worn"]), speak([["", ""], ["good", "keep"]])
    ('due', '(start) → good → worn', '(start) → good: keep')
    """
    if isinstance(value, str):
        return value
    moments = [item if isinstance(item, str) else ": ".join(filter(None, item)) for item in value]
    begun = [moment for moment in moments if moment != NOTHING]
    return " → ".join(["(start)"] * (len(begun) < len(moments)) + begun)  # said once


def _shape(form: Form) -> str:
    """
    >>> z, a = OneOf("observation", ("good",)), OneOf("action", ("keep",))
    >>> _shape([z, a]), _shape([z] * 9)
    ('[observation, action]', '[observation, observation, observation, ...]')
    """
    if isinstance(form, OneOf):
        return form.kind
    return f"[{', '.join(map(_shape, form[:3]))}{', ...' * (len(form) > 3)}]"
