"""Every error jumar raises on purpose.

    JumarError                 catch this to catch them all
    ├── ParameterError         an argument is outside its range (also a ValueError)
    ├── ModelError             a Pomdp is not one: lost probability mass, unknown names
    ├── ControllerError        a controller's rows, names or file are wrong
    ├── MemoryMismatch         one memory does not refine another, or does not fit the alphabet
    ├── LogError               a log cannot be read, or was not produced by this controller
    ├── ProjectError           a project file, or the record of a run, cannot be read
    ├── StudyError             a study file, or the folder of a study, cannot be used
    ├── EngineError            workers cannot be reached, or were lost
    ├── WriteError             a file cannot be written, wherever it is: the disk is full
    ├── MissingExtra           an optional library is not installed (also an ImportError)
    ├── TooLarge               a memory or model would have to be enumerated, and is too big for it
    ├── NotConverged           a solver stopped without the promised gap
    └── ImpossibleClaim        a certificate claims more than returns allow: an error in jumar

A message names the place, the fact and the remedy, in this order:
``logs.csv, row 341 (episode 17): action 'repaire' is not one of keep, inspect, repair.
Did you mean 'repair'?``
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from jumar.core.text import listing, printable


class JumarError(Exception):
    """Base of every error raised on purpose."""


class ParameterError(JumarError, ValueError):
    """An argument is outside its range."""


class ModelError(JumarError):
    """A model is not a POMDP."""


class ModelWarning(UserWarning):
    """A model was read, and something in its file was put right or taken in one of two ways."""


class ControllerError(JumarError):
    """A controller's rows, names or file are wrong."""


class MemoryMismatch(JumarError):
    """A memory does not refine another, or does not fit the alphabet."""


class LogError(JumarError):
    """A log cannot be read, or cannot have been produced by this controller.

    Attributes
    ----------
    problems
        All problems that were found, up to twenty, each with its place and remedy. The message has
        one per line.
    """

    def __init__(self, message: str = "", problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems) or (message,)
        self.no_rows = False  # is this all that is wrong?


class ProjectError(JumarError):
    """A project file, or the record of a run, cannot be read."""


class CountsError(JumarError):
    """A file of counts is wrong, or does not go together with another one."""


class StudyError(JumarError):
    """A study file is wrong, or the folder of a study cannot be used."""


class EngineError(JumarError):
    """Workers cannot be started or reached, or were lost."""


class WriteError(JumarError):
    """A file cannot be written: the disk is full or broken."""


class MissingExtra(JumarError, ImportError):
    """An optional library is not installed.

    >>> str(MissingExtra("Environments", "gymnasium", "gym"))
    "Environments need gymnasium. Install it: pip install 'jumar[gym]'."
    """

    def __init__(self, what: str, library: str, extra: str) -> None:
        super().__init__(f"{what} need {library}. Install it: pip install 'jumar[{extra}]'.")


class TooLarge(JumarError):
    """Something would have to be enumerated that is too large for it."""


class NotConverged(JumarError):
    """A solver stopped without the promised gap."""


class ImpossibleClaim(JumarError):
    """A certificate claims more than the returns allow: an error in jumar itself."""


MOST_COMPARED = 2000  # names; each takes some 10 µs


def not_one_of(kind: str, name: object, names: Iterable[str]) -> str:
    """The fact and the remedy for an unknown name.

    >>> not_one_of("action", "repaire", ["keep", "inspect", "repair"])
    "action 'repaire' is not one of keep, inspect, repair. Did you mean 'repair'?"
    """
    names = list(names)
    close = get_close_matches(str(name)[:60], names[:MOST_COMPARED], n=1)
    hint = f" Did you mean {printable(close[0])!r}?" if close else ""
    return f"{kind} {printable(str(name))!r} is not one of {listing(names)}.{hint}"
