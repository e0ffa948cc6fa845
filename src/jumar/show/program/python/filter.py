"""The program on its own: observations or a CSV in, actions out."""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TextIO

from jumar.show.program.python.acting import Controller
from jumar.show.program.python.data import (
    ACTION_COLUMNS,
    ACTIONS,
    DECIMAL,
    EPISODE_COLUMN,
    LAYERS,
    OBSERVATION_COLUMNS,
    OBSERVATIONS,
    SEPARATOR,
)
from jumar.show.program.python.names import RESET, _read, _short, written
from jumar.show.program.python.readings import BadReading, _joined, observation

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
