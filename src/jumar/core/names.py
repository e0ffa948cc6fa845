"""Alphabets: the names of observations, actions, states and memory nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jumar.core.errors import JumarError, ParameterError, not_one_of

WILDCARD = "*"
JOINT = "+"  # between the parts of a name that several columns make
NOTHING = ""  # stands in a window where the episode had not begun yet


def check_names(kind: str, names: Iterable[object], error: type[JumarError]) -> tuple[str, ...]:
    """The names as a tuple, or an error that names the one that is wrong.

    >>> from jumar.core.errors import ModelError
    >>> check_names("action", ["keep", "repair"], ModelError)
    ('keep', 'repair')
    """
    if isinstance(names, str):
        raise error(f"{kind} names: expected a list of names, got the text {names!r}.")
    checked = tuple(names)
    if not checked:
        raise error(f"{kind} names: there are none; at least one is needed.")
    seen: dict[str, int] = {}
    for position, name in enumerate(checked, 1):
        if not isinstance(name, str):
            wrong = f'{name!r} is not text. Write it in quotes: "{name}".'
        elif any("\ud800" <= c <= "\udfff" for c in name):
            wrong = f"{name!r} has half a character, which no file can hold. Correct it."
        elif name in (WILDCARD, NOTHING):
            wrong = f"{name!r} is reserved ('*': anything, '': nothing yet). Choose another name."
        elif name in seen:
            wrong = f"{name!r} is also name {seen[name]}. Names must differ."
        else:
            seen[name] = position
            continue
        raise error(f"{kind} name {position}: {wrong}")
    return tuple(str(name) for name in checked)


def other_names(one: object, other: object) -> list[str]:
    """Which names of two controllers or logs differ, in order too: observations, actions."""
    kinds = ("observations", "actions")
    return [kind for kind in kinds if getattr(one, kind) != getattr(other, kind)]


def position_of(kind: str, name: object, names: Sequence[str], error: type[JumarError]) -> int:
    """The number of a name, or an error that says which names there are."""
    if isinstance(name, str) and name in names:
        return names.index(name)
    raise error(not_one_of(kind, name, names))


def number_of(kind: str, name: int | str, names: Sequence[str]) -> int:
    """The number of a name, or of a number that is one; for callers who may use either.

    >>> number_of("action", "repair", ("keep", "repair")), number_of("action", 0, ("keep",))
    (1, 0)
    """
    if isinstance(name, str):
        return position_of(kind, name, names, ParameterError)
    if not 0 <= name < len(names):
        raise ParameterError(f"{kind} {name}: there are only numbers 0 to {len(names) - 1}.")
    return int(name)
