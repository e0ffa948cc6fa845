"""Every error jumar raises on purpose.

    JumarError                 catch this to catch them all
    ├── ParameterError         an argument is outside its range (also a ValueError)
    ├── ModelError             a Pomdp is not one: lost probability mass, unknown names
    ├── ControllerError        a controller's rows, names or file are wrong
    ├── MemoryMismatch         one memory does not refine another, or does not fit the alphabet
    ├── LogError               a log cannot be read, or was not produced by this controller
    ├── TooLarge               a memory or model would have to be enumerated, and is too big for it
    ├── NotConverged           a solver stopped without the promised gap
    └── ImpossibleClaim        a certificate claims more than returns allow: an error in jumar

A message names the place, the fact and the remedy, in this order:
``logs.csv, row 341 (episode 17): action 'repaire' is not one of keep, inspect, repair.
Did you mean 'repair'?``
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class JumarError(Exception):
    """Base of every error raised on purpose."""


class ParameterError(JumarError, ValueError):
    """An argument is outside its range."""


class ModelError(JumarError):
    """A model is not a POMDP."""


class ControllerError(JumarError):
    """A controller's rows, names or file are wrong."""


class MemoryMismatch(JumarError):
    """A memory does not refine another, or does not fit the alphabet."""


class LogError(JumarError):
    """A log cannot be read, or cannot have been produced by this controller."""


class TooLarge(JumarError):
    """Something would have to be enumerated that is too large for it."""


class NotConverged(JumarError):
    """A solver stopped without the promised gap."""


class ImpossibleClaim(JumarError):
    """A certificate claims more than the returns allow: an error in jumar itself."""


def listing(names: Iterable[str], most: int = 12) -> str:
    """The names, comma separated, cut after `most`.

    >>> listing(["keep", "inspect", "repair"])
    'keep, inspect, repair'
    >>> listing("abcde", most=2)
    'a, b, ... (5 in all)'
    """
    names = [printable(name) for name in names]
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join(names[:most]) + f", ... ({len(names)} in all)"


def not_one_of(kind: str, name: object, names: Iterable[str]) -> str:
    """The fact and the remedy for a name nobody knows.

    >>> not_one_of("action", "repaire", ["keep", "inspect", "repair"])
    "action 'repaire' is not one of keep, inspect, repair. Did you mean 'repair'?"
    """
    names = list(names)
    close = get_close_matches(str(name)[:LONGEST], names, n=1)
    hint = f" Did you mean {printable(close[0])!r}?" if close else ""
    return f"{kind} {printable(str(name))!r} is not one of {listing(names)}.{hint}"


LONGEST = 60


def printable(name: str) -> str:
    """A name that is safe in a terminal and not too long: names from logs can be anything.

    >>> printable("worn"), printable("\x1b[2J"), len(printable("x" * 10_000))
    ('worn', '\\\\x1b[2J', 60)
    """
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return safe if len(safe) <= LONGEST else safe[: LONGEST - 3] + "..."
