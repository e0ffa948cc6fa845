"""The part of a stand-alone program that is the same for every controller.

`jumar.show.program.program` copies what follows the marked data section, word for word, behind the
data of one controller. So this file imports nothing but the standard library of Python 3.9,
is plain ASCII, and knows its data only by these names. The small example between the marks makes it
run as it is: repair what was worn the last time and is worn again, where a wear of 2 and more is
called worn.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import random
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from itertools import chain
from typing import Any, TextIO

# ---- data: begin ----
FORMAT = "jumar-program/1"
NAME = "example"
OBSERVATIONS: tuple[str, ...] = ("good", "worn")
ACTIONS: tuple[str, ...] = ("keep", "repair")

# How a reading becomes an observation: its columns, each with the ranges its numbers are cut into.
OBSERVATION_COLUMNS: tuple[tuple[str, Any], ...] = (("wear", ("good", 2.0, "worn")),)
ACTION_COLUMNS: tuple[tuple[str, Any], ...] = (("work", None),)
EPISODE_COLUMN: str | None = "bridge"
MISSING: str | None = None
SEPARATOR = ","
DECIMAL = "."


def _next_1(n_actions: int, node: Any, z: int, a: int) -> Any:
    return (*node, z)[1:]


LAYERS: tuple[tuple[Any, Any], ...] = (
    (
        ((_next_1, (-1,), 0),),
        {
            ((1,), 1): (0.0, 1.0),
        },
    ),
)
DEFAULT: tuple[float, ...] = (1.0, 0.0)
# ---- data: end ----

# How the data are written.
#
# A column is (name, ranges): ("low", 2.0, "high") calls numbers below 2 low, and 2 and above high.
# Without ranges its text is the name. Several columns are joined: "low+quiet". A missing value is
# called MISSING, if that is a name, and else refused. Text files have SEPARATOR between columns
# and DECIMAL in numbers.
#
# From here on observations and actions are numbers, in the order of their lists.
#
# A layer is (memory, rows). The first layer with a row for the history state (what is remembered
# and what is seen) decides; if none has one, DEFAULT does. Every layer always updates its memory.
#
# A memory is a tuple of parts (next, first, data): what it holds before the first step is `first`,
# and after z was seen and a was done at a node it holds next(data, node, z, a).
# The rows are {(part, part, ..., z): (probability of every action, ...)}.

RESET = "reset"
JOINT = "+"


class BadReading(ValueError):
    """A reading of which no observation can be made."""


class UnknownName(BadReading):
    """An observation or an action that the controller does not know."""


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
        row = self._row(self._seen(seen))
        return {name: row[a] for a, name in enumerate(ACTIONS)}

    def act(self, seen: object) -> str:
        """Choose an action on seeing this, and remember both."""
        z = self._seen(seen)
        a = self._choose(self._row(z))
        self._remember(z, a)
        return ACTIONS[a]

    def tell(self, seen: object, done: object) -> None:
        """Remember that this was seen and that somebody else did that."""
        z = self._seen(seen)
        self._remember(z, self._done(done))

    def _seen(self, seen: object) -> int:
        """The number of an observation, or of what a reading is called."""
        name = seen
        if isinstance(seen, Mapping):
            name = observation(seen)
        elif len(OBSERVATION_COLUMNS) == 1 and not (isinstance(seen, str) and seen in self._z):
            # the value of the only column; text without a number can only be a name
            column, ranges = OBSERVATION_COLUMNS[0]
            if not isinstance(seen, str) or (ranges and re.search("[0-9]", seen)):
                name = observation({column: seen})
        return self._number("observation", name, self._z)

    def _done(self, done: object) -> int:
        name = _joined("action", ACTION_COLUMNS, done) if isinstance(done, Mapping) else done
        return self._number("action", name, self._a)

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

_GAPS = " '\u00a0\u2009\u202f\u2019"  # between thousands
NO_NUMBER = (
    "n/a",
    "na",
    "n.a.",
    "#n/a",
    "null",
    "none",
    "missing",
    "-",
    "--",
    "?",
)  # in lower case


def observation(reading: Mapping[Any, object], decimal: str | None = None) -> str:
    """What a reading is called: {"vibration": 3.2, "noise": "quiet"} may be "mid+quiet".

    Empty text, None, NaN, and words such as n/a in place of a number are missing values. Other
    columns are ignored. Numbers in text have the decimal mark of the log, or the one that is given.
    """
    return _joined("observation", OBSERVATION_COLUMNS, reading, decimal, MISSING)


def _joined(
    kind: str,
    columns: Sequence[tuple[str, Any]],
    reading: Mapping[Any, object],
    decimal: str | None = None,
    missing: str | None = None,
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


def _name(column: str, value: Any, ranges: Any, decimal: str | None) -> str | None:
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


def _number(column: str, value: Any, decimal: str | None) -> float:
    """A value as a number; NaN where there is none."""
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise BadReading(f"column {_short(column)}: {_shown(value)} is no number.") from None
    mark = decimal or DECIMAL
    other = "." if mark == "," else ","
    text = value.strip().replace("\u2212", "-")  # the minus sign of a typesetter
    if not text or text.lower() in NO_NUMBER or re.fullmatch(r"(?i)[+-]?nan", text):
        return float("nan")
    power = "(?:[eE][+-]?[0-9]+)?"
    plain = rf"[+-]?(?:[0-9]+(?:[{mark}][0-9]*)?|[{mark}][0-9]+){power}|(?i:[+-]?inf(?:inity)?)"
    thousands = rf"[+-]?[1-9][0-9]{{0,2}}(?:[{_GAPS}{other}][0-9]{{3}})+(?:[{mark}][0-9]*)?{power}"
    if not re.fullmatch(plain, text):
        place = f"column {_short(column)}: {_shown(value)}"
        if not re.fullmatch(thousands, text):
            remedy = f" Say --decimal {other}." if text.count(other) == 1 else ""
            raise BadReading(f"{place} is no number with a decimal {_CALLED[mark]}.{remedy}")
        if decimal is None and text.count(other) == 1 and mark not in text:
            raise BadReading(
                f"{place} has a {_CALLED[other]} that may part thousands or decimals. Leave out "
                "what parts thousands, or say --decimal."
            )
    return float(re.sub(f"[{_GAPS}{other}]", "", text).replace(",", "."))


_CALLED = {".": "point", ",": "comma"}


# ---- names as lines of text ----


def written(name: str) -> str:
    """A name as one line: as it is, or in JSON quotes where it could be misread.

    Quotes are needed for line breaks and other invisible characters, for spaces at the ends, for
    the word that starts a new episode, and for a name that begins with a quote itself.
    """
    plain = name.isprintable() and name == name.strip() and name != RESET
    return name if plain and not name.startswith('"') else json.dumps(name)


def _read(line: str) -> str:
    """The name that a line holds."""
    if line.startswith('"'):
        try:
            name = json.loads(line)
        except ValueError:
            return line
        if isinstance(name, str):
            return name
    return line


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


# ---- the program ----


def main(arguments: Sequence[str], lines: Iterable[str], out: TextIO, err: TextIO) -> int:
    """Read readings or observations, write actions; the exit code."""
    options = _parser().parse_args(arguments)
    if options.list:
        for kind, names in (("observation", OBSERVATIONS), ("action", ACTIONS)):
            for name in names:
                out.write(f"{kind}\t{written(name)}\n")
        for column, ranges in OBSERVATION_COLUMNS:
            cut = [written(part) if isinstance(part, str) else repr(part) for part in ranges or ()]
            out.write("\t".join(["column", written(column), *cut]) + "\n")
        return 0
    controller = Controller(options.seed, options.most_likely)
    lines = iter(lines)
    before, first = [], ""  # lines before the first that is not blank, and that one
    for first in lines:
        if first.strip():
            break
        before.append(first)
    whole = chain(before, [first], lines)
    try:
        if _read(first.strip()) in (*OBSERVATIONS, RESET) and not options.csv:
            _answer_lines(controller, whole, out)
            return 0
        header = _header(first, lines)
        separator = _separator(header, options.separator)
        if separator is not None:
            records = csv.reader(
                chain(before, io.StringIO(header, newline=""), lines), delimiter=separator
            )
            _answer_rows(controller, records, separator, options, out)
        elif options.csv or any(mark in first for mark in (SEPARATOR, ",", ";", "\t", "|")):
            raise BadReading(f"line {len(before) + 1}: {_no_header(header)}")
        else:
            _answer_lines(controller, whole, out)
    except BadReading as error:
        err.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Reads a CSV with a header from standard input and writes it with the action "
        "to take in one more column. It needs the columns that make the observation (see --list). "
        "Rows of an episode are in the order of time; those of several may alternate. Where a row "
        "tells what was done, this is remembered, else the decision. "
        "Without a header: one observation per line, and one action per line is written; the line "
        "'reset' starts a new episode, an empty line is skipped, and a name in double quotes is "
        "read as JSON."
    )
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--seed", type=int, help="the same seed gives the same actions")
    parser.add_argument("--most-likely", action="store_true", help="no dice: the likeliest action")
    rows = parser.add_argument_group("for CSV")
    rows.add_argument("--csv", action="store_true", help="it is one, even if it does not look so")
    rows.add_argument(
        "--column", default="decision", help="where the action is written: %(default)s"
    )
    rows.add_argument(
        "--probabilities", action="store_true", help="write how likely every action is, too"
    )
    rows.add_argument("--episode", metavar="COLUMN", help="a new value starts a new episode")
    rows.add_argument("--one-episode", action="store_true", help="all rows are one episode")
    rows.add_argument("--separator", help="between columns; else it is found in the header")
    rows.add_argument("--decimal", choices=".,", help=f"the decimal mark, else {DECIMAL}")
    return parser


def _answer_lines(controller: Controller, lines: Iterable[str], out: TextIO) -> None:
    """One observation per line."""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text == RESET:
            controller.reset()
        elif text:
            try:
                action = controller.act(_read(text))
            except BadReading as error:
                raise BadReading(f"line {number}: {error}") from None
            out.write(written(action) + "\n")
            out.flush()  # whoever waits for the action may be another program


# ---- CSV ----


def _header(first: str, lines: Iterator[str]) -> str:
    """The first row; a name in quotes may have line breaks."""
    text = first
    while text.count('"') % 2:
        more = next(lines, None)
        if more is None:
            break
        text += more
    return text


def _separator(header: str, given: str | None) -> str | None:
    """What stands between the columns, so that those of the observation are found."""
    wanted = {column for column, _ in OBSERVATION_COLUMNS}
    given = {"tab": "\t", "\\t": "\t"}.get(given or "", given)
    if given is not None and (len(given) != 1 or given.isalnum() or given in '"\r\n '):
        raise BadReading(f"--separator: {_short(given)} is not one of , ; | or tab.")
    for mark in (SEPARATOR, ",", ";", "\t", "|") if given is None else (given,):
        names = next(csv.reader(io.StringIO(header, newline=""), delimiter=mark), [])
        if wanted <= set(names):
            return mark
    return None


def _no_header(header: str) -> str:
    columns = ", ".join(_short(column) for column, _ in OBSERVATION_COLUMNS)
    return (
        f"{_short(header.strip())} is neither an observation nor the header of a CSV with the "
        f"columns {columns}. See --list."
    )


def _answer_rows(
    controller: Controller,
    records: Iterator[list[str]],
    separator: str,
    options: argparse.Namespace,
    out: TextIO,
) -> None:
    """A row with the decision for every row."""
    names: list[str] = []
    episode: str | None = None
    memories: dict[str, Any] = {}  # by episode
    row = 0
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    while True:
        row += 1
        try:
            cells = next(records, None)
            if cells is None:
                return
            if not cells:
                continue
            if not names:
                names = cells
                episode = _check_columns(names, options)
                added = _likely_columns() if options.probabilities else []
                writer.writerow([*names, options.column, *added])
                continue
            if len(cells) != len(names):
                raise BadReading(f"has {len(cells)} cells, but the header has {len(names)}.")
            reading = {name: cells[i] for i, name in enumerate(names)}
            if episode is not None:
                _enter(controller, memories, reading[episode])
            likely, decision = _decide(controller, reading, options.decimal)
        except csv.Error as error:
            raise BadReading(f"row {row}: {error}.") from None
        except BadReading as error:
            raise BadReading(f"row {row}: {error}") from None
        shown = [repr(p).replace(".", options.decimal or DECIMAL) for p in likely]
        writer.writerow([*cells, decision, *(shown if options.probabilities else [])])
        out.flush()  # whoever waits for the decision may be another program


def _likely_columns() -> list[str]:
    return [f"probability of {action}" for action in ACTIONS]


def _check_columns(names: list[str], options: argparse.Namespace) -> str | None:
    """The column of the episodes, if there is one and it matters."""
    used = [column for column, _ in (*OBSERVATION_COLUMNS, *ACTION_COLUMNS)]
    episode = options.episode or EPISODE_COLUMN
    if options.one_episode:
        episode = None
    elif episode is None or episode not in names:
        remembers = any(first != () for memory, _ in LAYERS for _, first, _ in memory)
        if remembers or options.episode:
            known = f"no column {_short(episode)}" if episode else "no column for the episodes"
            raise BadReading(
                f"{known}, but memory starts anew with every episode. Name it with --episode "
                "COLUMN, or say --one-episode."
            )
        episode = None
    for name in used if episode is None else [*used, episode]:
        if names.count(name) > 1:
            raise BadReading(f"there are {names.count(name)} columns {_short(name)}. Keep one.")
    for name in [options.column, *(_likely_columns() if options.probabilities else [])]:
        if name in names:
            raise BadReading(
                f"there is a column {_short(name)} already. Rename it, or write the decision "
                "elsewhere with --column."
            )
    return episode


def _enter(controller: Controller, memories: dict[str, Any], label: str) -> None:
    """Go on in an episode where it was left."""
    if not label:
        raise BadReading("the episode is missing.")
    if label not in memories:
        controller.reset()
        memories[label] = controller._nodes
    controller._nodes = memories[label]


def _decide(
    controller: Controller, reading: Mapping[str, str], decimal: str | None
) -> tuple[Sequence[float], str]:
    """How likely every action is, and the one that is chosen. What was really done, if the reading
    tells, is remembered; else the choice."""
    z = controller._number("observation", observation(reading, decimal), controller._z)
    likely = controller._row(z)
    a = done = controller._choose(likely)
    columns = [column for column, _ in ACTION_COLUMNS]
    if all(column in reading for column in columns) and any(reading[c] for c in columns):
        done = controller._done(_joined("action", ACTION_COLUMNS, reading, decimal))
    controller._remember(z, done)
    return likely, ACTIONS[a]


def run() -> int:
    """The program on the standard streams, which speak UTF-8 whatever the system does."""
    for stream, encoding in (
        (sys.stdin, "utf-8-sig"),
        (sys.stdout, "utf-8"),
        (sys.stderr, "utf-8"),
    ):
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
