"""What a Python program does; its data are written above it.

A program is one file: the imports of this one, the data of its controller in place of the example
below, and all that follows, word for word. So this imports nothing but the standard library of
Python 3.9 and is plain ASCII. As it stands here it repairs what was worn the last time and is worn
again, where a wear of 2 and more is called worn.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, TextIO

# ---- data: begin ----
OBSERVATIONS: tuple[str, ...] = ("good", "worn")
ACTIONS: tuple[str, ...] = ("keep", "repair")
OBSERVATION_COLUMNS: tuple[tuple[str, Any], ...] = (("wear", ("good", 2.0, "worn")),)
ACTION_COLUMNS: tuple[tuple[str, Any], ...] = (("work", None),)
MISSING: str | None = None
DECIMAL = "."


def _next_1(n_actions: int, node: Any, z: int, a: int) -> Any:
    return (*node, z)[1:]


LAYERS: tuple[tuple[Any, Any], ...] = ((((_next_1, (-1,), 0),), {((1,), 1): (0.0, 1.0)}),)
DEFAULT: tuple[float, ...] = (1.0, 0.0)
# ---- data: end ----

# How the data above are written.
#
# A column is (name, ranges): ("low", 2.0, "high") calls numbers below 2 low, and 2 and above high.
# Without ranges its text is the name. Several columns are joined: "low+quiet". A missing value is
# called MISSING, if that is a name, and else refused. Numbers in text have the mark DECIMAL.
#
# From here on observations and actions are numbers, in the order of their lists.
#
# A layer is (memory, rows). The first layer with a row for the history state (what is remembered
# and what is seen) decides; if none has one, DEFAULT does. Every layer always updates its memory.
#
# A memory is a tuple of parts (next, first, data): what it holds before the first step is `first`,
# and after z was seen and a was done at a node it holds next(data, node, z, a).
# The rows are {(part, part, ..., z): (probability of every action, ...)}.


def start(seed: int | None = None, most_likely: bool = False) -> Controller:
    """A controller at the beginning of an episode."""
    return Controller(seed, most_likely)


class Controller:
    """Runs the controller step by step.

    Call `reset` at the beginning of every episode, and `act` with what is seen at every step: the
    name of an observation, or a reading, which is a dict of columns and their values.
    The same seed gives the same actions; without a seed they differ from run to run. With
    `most_likely` nothing is drawn: the likeliest action is taken, of equal ones the first.
    """

    def __init__(self, seed: int | None = None, most_likely: bool = False) -> None:
        self._dice = random.Random(seed)
        self._most_likely = most_likely
        self._z = {name: number for number, name in enumerate(OBSERVATIONS)}
        self._a = {name: number for number, name in enumerate(ACTIONS)}
        self.reset()

    def reset(self) -> None:
        """Forget everything: a new episode begins. The dice go on where they are."""
        self._nodes = [tuple(first for _, first, _ in memory) for memory, _ in LAYERS]

    def probabilities(self, seen: object) -> dict[str, float]:
        """How likely every action is on seeing this now. Nothing is drawn or remembered."""
        return dict(zip(ACTIONS, self._row(self._seen(seen))))  # noqa: B905 - not in Python 3.9

    def act(self, seen: object) -> str:
        """Choose an action on seeing this, and remember both."""
        z = self._seen(seen)
        a = self._choose(self._row(z))
        self._remember(z, a)
        return ACTIONS[a]

    def tell(self, seen: object, done: object) -> None:
        """Remember that this was seen and that somebody else did that."""
        z = self._seen(seen)
        self._remember(z, self._number("action", did(done), self._a))

    def _seen(self, seen: object) -> int:
        """The number of an observation, or of what a reading is called."""
        return self._number("observation", saw(seen, self._z), self._z)

    def _number(self, kind: str, name: object, numbers: dict[str, int]) -> int:
        if not isinstance(name, str) or name not in numbers:
            raise UnknownName(_unknown(kind, name, list(numbers)))
        return numbers[name]

    def _row(self, z: int) -> Sequence[float]:
        for layer, (_, rows) in enumerate(LAYERS):
            row: Sequence[float] | None = rows.get((*self._nodes[layer], z))
            if row is not None:
                return row
        return DEFAULT

    def _choose(self, row: Sequence[float]) -> int:
        if self._most_likely:
            return max(range(len(row)), key=lambda a: row[a])  # the first of equal ones
        left = self._dice.random()
        last = 0
        for a, probability in enumerate(row):
            if probability > 0:
                last = a  # when rounding leaves a little over, the last possible action takes it
                left -= probability
                if left < 0:
                    break
        return last

    def _remember(self, z: int, a: int) -> None:
        for layer, (memory, _) in enumerate(LAYERS):
            nodes = self._nodes[layer]
            self._nodes[layer] = tuple(
                move(data, nodes[i], z, a) for i, (move, _, data) in enumerate(memory)
            )


# ---- readings ----

JOINT = "+"
# in place of a number, in lower case
NO_NUMBER = ("n/a", "na", "n.a.", "#n/a", "null", "none", "missing", "-", "--", "?")


class BadReading(ValueError):
    """A reading of which no observation can be made."""


class UnknownName(BadReading):
    """An observation or an action that the controller does not know."""


def observation(reading: Mapping[Any, object]) -> str:
    """What a reading is called: {"vibration": 3.2, "noise": "quiet"} may be "mid+quiet".

    Empty text, None, NaN, and words such as n/a in place of a number are missing values. Other
    columns are ignored. Numbers in text have the decimal mark of the log.
    """
    return _joined("observation", OBSERVATION_COLUMNS, reading, MISSING)


def saw(
    seen: object,
    known: Container[str],
    columns: Sequence[tuple[str, Any]] = OBSERVATION_COLUMNS,
    missing: str | None = MISSING,
    decimal: str = DECIMAL,
) -> object:
    """What was seen, by name: a name is itself, a reading or the value of the only column is what
    it is called. A row of pandas is a reading."""
    if isinstance(seen, str) and seen in known:
        return seen
    seen = seen.to_dict() if hasattr(seen, "to_dict") else seen
    if not isinstance(seen, Mapping):
        # the value of the only column; text without a number can only be a name
        read = not isinstance(seen, str) or (columns[0][1] and re.search("[0-9]", seen))
        if len(columns) > 1 or not read:
            return seen
        seen = {columns[0][0]: seen}
    return _joined("observation", columns, seen, missing, decimal)


def did(
    done: object, columns: Sequence[tuple[str, Any]] = ACTION_COLUMNS, decimal: str = DECIMAL
) -> object:
    """What was done, by name: a name is itself, a row of the log is what it is called."""
    if not isinstance(done, Mapping):
        return done
    return _joined("action", columns, done, None, decimal)


def _joined(
    kind: str,
    columns: Sequence[tuple[str, Any]],
    reading: Mapping[Any, object],
    missing: str | None = None,
    decimal: str = DECIMAL,
) -> str:
    names = []
    for column, ranges in columns:
        if column not in reading:
            known = [name for name in reading if isinstance(name, str)]
            close = get_close_matches(column, known, n=1)
            hint = f" Did you mean it by {_short(close[0])}?" if close else ""
            raise BadReading(f"no column {_short(column)}, which is part of the {kind}.{hint}")
        name = _name(column, reading[column], ranges, decimal)
        if name is None and missing is None:
            raise BadReading(f"column {_short(column)}: the {kind} is missing.")
        names.append(missing if name is None else name)
    return JOINT.join(map(str, names))


def _name(column: str, value: Any, ranges: Any, decimal: str = DECIMAL) -> str | None:
    """What a value is called; None where it is missing."""
    if getattr(value, "ndim", None) == 0:  # a number of numpy, as rows of pandas have them
        value = value.item()
    if value is None or (isinstance(value, str) and not value):
        return None
    if isinstance(value, float) and value != value:  # only NaN differs from itself
        return None
    if not ranges:
        return _text(value)
    number = _number(column, value, decimal)
    if number != number:
        return None
    name: str = ranges[::2][bisect_right(ranges[1::2], number)]
    return name


def _text(value: Any) -> str:
    """A value as the log has it in its text: 2.0 is 2, True is true."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    sign, digits, shift = Decimal(repr(float(value))).normalize().as_tuple()
    if not isinstance(shift, int):  # infinite
        return "-inf" if sign else "inf"
    power = len(digits) - 1 + shift
    if -7 < power < 10:
        return format(Decimal((sign, digits, shift)), "f")
    first, *rest = map(str, digits)
    point = "." if rest else ""
    return f"{'-' * sign}{first}{point}{''.join(rest)}e{power:+d}"


def _number(column: str, value: Any, decimal: str) -> float:
    """A value as a number; NaN where there is none."""
    place = f"column {_short(column)}: {_shown(value)} is no number"
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise BadReading(f"{place}.") from None
    text = value.strip()
    if not text or text.lower() in NO_NUMBER:
        return float("nan")
    digits = rf"(?:[0-9]+(?:[{decimal}][0-9]*)?|[{decimal}][0-9]+)(?:e[+-]?[0-9]+)?"
    if not re.fullmatch(rf"(?ai)[+-]?(?:{digits}|inf(?:inity)?|nan)", text):
        raise BadReading(f"{place} with a decimal {'comma' if decimal == ',' else 'point'}.")
    return float(text.replace(",", "."))


# ---- names as lines of text, and in messages ----

RESET = "reset"


def written(name: str) -> str:
    """A name as one line: as it is, or in JSON quotes where it could be misread: for line breaks
    and other invisible characters, spaces at the ends, the word that starts a new episode."""
    plain = name.isprintable() and name == name.strip() and name != RESET
    return name if plain and not name.startswith('"') else json.dumps(name)


def _read(line: str) -> str:
    """The name that a line holds."""
    try:
        name = json.loads(line) if line.startswith('"') else line
    except ValueError:
        return line
    return name if isinstance(name, str) else line


def _unknown(kind: str, name: object, names: Sequence[str]) -> str:
    shown = [_short(known) for known in names[:12]]
    more = f", ... ({len(names)} in all)" if len(names) > 12 else ""
    close = get_close_matches(str(name)[:60], names, n=1)
    hint = f" Did you mean {_short(close[0])}?" if close else ""
    return f"{kind} {_shown(name)} is not one of {', '.join(shown)}{more}.{hint}"


def _shown(value: object) -> str:
    return _short(value) if isinstance(value, str) else ascii(value)[:60]


def _short(name: str) -> str:
    text = written(name)
    return text if len(text) <= 60 else text[:57] + "..."


# ---- the program on its own ----


def main(arguments: Sequence[str], lines: Iterable[str], out: TextIO, err: TextIO) -> int:
    """Read one observation per line, write one action per line; the exit code."""
    parser = argparse.ArgumentParser(
        description="One observation per line in, one action per line out. The line 'reset' starts "
        "a new episode, an empty line is skipped, a name in double quotes is read as JSON."
    )
    parser.add_argument("--seed", type=int, help="the same seed gives the same actions")
    parser.add_argument("--most-likely", action="store_true", help="no dice: the likeliest action")
    options = parser.parse_args(arguments)
    controller = Controller(options.seed, options.most_likely)
    for number, line in enumerate(map(str.strip, lines), 1):
        if line == RESET:
            controller.reset()
        elif line:
            try:
                out.write(written(controller.act(_read(line))) + "\n")
            except BadReading as error:
                err.write(f"line {number}: {error}\n")
                return 2
            out.flush()  # whoever waits for the action may be another program
    return 0


def run() -> int:
    """The program on the standard streams, which speak UTF-8 whatever the system does."""
    encodings = {sys.stdin: "utf-8-sig", sys.stdout: "utf-8", sys.stderr: "utf-8"}
    for stream, encoding in encodings.items():
        stream.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
    try:
        return main(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # nobody reads any more; what is still unwritten must go somewhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    raise SystemExit(run())
