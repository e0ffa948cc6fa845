"""The part of a stand-alone program that is the same for every controller.

`jumar.show.program.program` copies what follows the marked data section, word for word, behind the
data of one controller. So this file imports nothing but the standard library of Python 3.9,
is plain ASCII, and knows its data only by these names. The small example between the marks makes it
run as it is: repair what was worn the last time and is worn again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TextIO

# ---- data: begin ----
FORMAT = "jumar-program/1"
NAME = "example"
OBSERVATIONS: tuple[str, ...] = ("good", "worn")
ACTIONS: tuple[str, ...] = ("keep", "repair")


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

# How the data are written. Observations and actions are numbers, in the order of their lists.
#
# A layer is (memory, rows). The first layer with a row for the history state (what is remembered
# and what is seen) decides; if none has one, DEFAULT does. Every layer always updates its memory.
#
# A memory is a tuple of parts (next, first, data): what it holds before the first step is `first`,
# and after z was seen and a was done at a node it holds next(data, node, z, a).
# The rows are {(part, part, ..., z): (probability of every action, ...)}.

RESET = "reset"


class UnknownName(ValueError):
    """An observation or an action that the controller does not know."""


class Controller:
    """Runs the controller step by step.

    Call `reset` at the beginning of every episode, and `act` with what is seen at every step.
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

    def probabilities(self, observation: str) -> dict[str, float]:
        """How likely every action is on seeing this now. Nothing is drawn or remembered."""
        row = self._row(self._number("observation", observation, self._z))
        return {name: row[a] for a, name in enumerate(ACTIONS)}

    def act(self, observation: str) -> str:
        """Choose an action on seeing this, and remember both."""
        z = self._number("observation", observation, self._z)
        a = self._choose(self._row(z))
        self._remember(z, a)
        return ACTIONS[a]

    def tell(self, observation: str, action: str) -> None:
        """Remember that this was seen and that somebody else did that."""
        z = self._number("observation", observation, self._z)
        self._remember(z, self._number("action", action, self._a))

    def _number(self, kind: str, name: str, numbers: dict[str, int]) -> int:
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
    given = _short(name) if isinstance(name, str) else ascii(name)[:60]
    return f"{kind} {given} is not one of {', '.join(shown)}{more}.{hint}"


def _short(name: str) -> str:
    text = written(name)
    return text if len(text) <= 60 else text[:57] + "..."


# ---- the program ----


def main(arguments: Sequence[str], lines: Iterable[str], out: TextIO, err: TextIO) -> int:
    """Read an observation per line, write an action per line; the exit code."""
    parser = argparse.ArgumentParser(
        description="Reads one observation per line and writes the action to take, one per line. "
        "The line 'reset' starts a new episode, an empty line is skipped. A name in double "
        "quotes is read as JSON."
    )
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--seed", type=int, help="the same seed gives the same actions")
    parser.add_argument("--most-likely", action="store_true", help="no dice: the likeliest action")
    options = parser.parse_args(arguments)
    if options.list:
        for kind, names in (("observation", OBSERVATIONS), ("action", ACTIONS)):
            for name in names:
                out.write(f"{kind}\t{written(name)}\n")
        return 0
    controller = Controller(options.seed, options.most_likely)
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text == RESET:
            controller.reset()
        elif text:
            try:
                action = controller.act(_read(text))
            except UnknownName as error:
                err.write(f"line {number}: {error}\n")
                return 2
            out.write(written(action) + "\n")
            out.flush()  # whoever waits for the action may be another program
    return 0


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
