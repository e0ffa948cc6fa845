"""Text for people: numbers, counts, shares, names, and how our data types are shown.

Names come from files and can be anything. What people look at in rows is said in a `TextTable`
before anybody decides how it looks: a terminal or a page renders it without knowing what was
found. All text in it is safe to show: names from files went through `shown`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape


def number(x: float) -> str:
    """A number as people write it.

    >>> number(-6645.71), number(0.012346), number(1234567.0), number(0.0)
    ('-6,646', '0.01235', '1,234,567', '0')
    >>> number(999.96), number(1e30), number(float("-inf"))
    ('1,000', '1e+30', 'unbounded')
    """
    if x == 0 or not math.isfinite(x):
        return "0" if x == 0 else "unbounded"
    if 999.95 <= abs(x) < 1e15:  # from here on, all digits before the point are shown
        return f"{x:,.0f}"
    return f"{x:.4g}"


def rounded(x: float, error: float) -> str:
    """An estimate to the digits that its standard error leaves: two digits of the error.

    >>> rounded(5.0123, 1.03), rounded(-0.01, 1.03), rounded(12345.6, 230.0)
    ('5.0', '0.0', '12,350')
    >>> rounded(5.0123, 0.0)
    '5.012'
    """
    if not 1e-6 <= error < 1e12 or abs(x) >= 1e15:
        return number(x)
    places = 1 - math.floor(math.log10(error))
    return f"{round(x, places) + 0.0:,.{max(0, places)}f}"  # no minus zero


def percent(p: float) -> str:
    """A probability as people write it; what rounding took from 1 does not count.

    >>> percent(0.5), percent(0.0), percent(0.0004), percent(1 - 1e-15), percent(0.99996)
    ('50%', '0%', '<0.1%', '100%', '>99.9%')
    >>> percent(0.6754), percent(0.00994)
    ('67.5%', '1%')
    """
    if 0 < p < 0.0005:
        return "<0.1%"
    if 0.9995 <= p < 1 - 1e-9:
        return ">99.9%"
    return f"{round(100 * p, 1):g}%"


def counted(n: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "episode"), counted(2000, "episode")
    ('1 episode', '2,000 episodes')
    """
    return f"{n:,} {plural(noun, n)}"


def whole_number(n: int) -> str:
    """A whole number as people can read it, however many digits it has.

    >>> whole_number(9_000_000_000), whole_number(10**20), whole_number(-(10**400))
    ('9,000,000,000', '10^20', '-10^400')
    """
    if abs(n) < 10**15:
        return f"{n:,}"
    return f"{'-' if n < 0 else ''}10^{len(str(abs(n))) - 1}"


def plural(noun: str, n: int) -> str:
    """A noun for so many.

    >>> plural("row", 1), plural("row", 0), plural("policy", 2), plural("day", 2)
    ('row', 'rows', 'policies', 'days')
    """
    if n == 1:
        return noun
    return f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"


def times(n: int) -> str:
    """How often.

    >>> times(0), times(1), times(2), times(3000)
    ('never', 'once', 'twice', '3,000 times')
    """
    return {0: "never", 1: "once", 2: "twice"}.get(n, f"{n:,} times")


def shown(name: str, most: int = 40, cut: str = "…") -> str:
    """A name that cannot disturb a terminal: control characters spelled out, long ones cut.

    >>> shown("worn"), shown("a\\nb"), shown("x" * 100) == "x" * 39 + "…"
    ('worn', 'a\\\\nb', True)
    """
    text = "".join(
        letter if letter.isprintable() else _spelled(letter) for letter in name[: most + 1]
    )
    return text if len(text) <= most else text[: most - len(cut)] + cut


def visible(text: str) -> str:
    """A whole text that cannot disturb a terminal, with its lines.

    >>> print(visible("a" + chr(27) + "[2J"))
    a\\x1b[2J
    """
    return "".join(
        letter if letter.isprintable() or letter == "\n" else _spelled(letter) for letter in text
    )


def _spelled(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def printable(name: str) -> str:
    """A name for an error message, as plain printable text.

    >>> printable("worn"), printable("\x1b[2J"), len(printable("x" * 10_000))
    ('worn', '\\\\x1b[2J', 60)
    """
    return shown(name, most=60, cut="...")


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


class Shown(ABC):
    """A value with a short `repr`. The class says its `summary`; dataclasses say ``repr=False``."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What it holds, in a few words."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary}>"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"


@dataclass(frozen=True)
class TextTable:
    """Rows of text under heads."""

    heads: Sequence[str]
    rows: Iterable[Sequence[str]]
    title: str | None = None
    right: Sequence[str] = ()  # the heads of the columns that hold numbers

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", tuple(self.heads))
        object.__setattr__(self, "rows", tuple(map(tuple, self.rows)))
        object.__setattr__(self, "right", tuple(self.right))
