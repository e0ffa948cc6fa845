"""A controller as a program: one Python file that needs nothing but Python.

The file is a header, the controller as plain literals, and the source of `runtime`, copied. A
controller is written as its layers, the exceptions first and what they depart from after them.
Each layer runs its own memory on the same observations and actions, so the node of a coarser
layer need not be projected from that of a finer one: it is simply there. How a memory moves is the
memory's own knowledge (`Memory.machine`): a function, whose source is copied, and its data.

Every name is written with `ascii`, so the file is plain ASCII and no name can end its string,
open another, or change the direction of the text around it.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from itertools import chain, zip_longest
from typing import Any, TypeAlias

from jumar.core.controller import Controller
from jumar.core.errors import ControllerError
from jumar.core.memory import Machine
from jumar.core.reading import MISSING, LogReading, ReadColumn
from jumar.core.text import printable

__all__ = ["program"]

Move: TypeAlias = Callable[[Any, Any, int, int], Any]

MOST_LETTERS = 40  # of a name in a comment

_BEGIN, _END = "# ---- data: begin ----\n", "# ---- data: end ----\n"
_FUTURE = "from __future__ import annotations\n"

_HEADER = '''\
#!/usr/bin/env python3
"""A controller that runs step by step (format jumar-program/1).

This file needs Python 3.9 or newer and nothing else. In a program of your own:

    from improved import start           # the name of this file, without .py

    c = start(seed=1)                    # without a seed, other dice every time
    c.reset()                            # at the beginning of every episode
    action = c.act("what is seen")       # draws an action and remembers both
    c.probabilities("what is seen")      # how likely every action is; changes nothing
    c.tell("what is seen", "an action")  # somebody else acted: only remember it

What is seen is the name of an observation, or a raw reading: a dict of columns, whose numbers are
cut into ranges and joined as they were in the log. An example stands below.

Or on its own, as a filter:

    python improved.py < readings.csv > decisions.csv   # one more column: the decision
    python improved.py --probabilities < readings.csv   # how likely every action is, too
    python improved.py --most-likely < readings.csv     # no dice
    python improved.py --list                           # the names, columns and ranges
    python improved.py --help

Without a header of a CSV, every line is an observation, and the line "reset" starts a new episode.

It was written by a tool from a controller. Change that and write the program anew; the numbers
below are not meant to be edited by hand.
"""
'''


def program(controller: Controller, reading: LogReading | None = None) -> str:
    """The text of a Python file that runs the controller step by step, without jumar.

    `reading` says how observations are made of columns; without it there is one column
    "observation", as in a plain log.

    >>> c = Controller.constant(("good", "worn"), ("keep", "repair"), [0.25, 0.75])
    >>> text = program(c)
    >>> module = {"__name__": "improved"}
    >>> exec(text, module)
    >>> module["Controller"](seed=1).probabilities("worn")
    {'keep': 0.25, 'repair': 0.75}
    >>> from jumar.core.reading import Bins
    >>> wear = ReadColumn("wear", Bins(("good", "worn"), (2.0,)))
    >>> exec(program(c, LogReading(observation=(wear,))), module)
    >>> module["observation"]({"wear": 3.2})
    'worn'
    """
    reading = reading or LogReading()
    source = files(__name__).joinpath("runtime.py").read_text(encoding="utf-8")
    imports, _, rest = source.partition(_FUTURE)[2].partition(_BEGIN)
    runtime = rest.partition(_END)[2]
    # after the docstring: a comment in the first two lines could be taken for an encoding
    title = "".join([f"# Controller: {printable(controller.name)!a}\n", *_example(reading), "\n"])
    data = "".join(_data(controller, reading))
    return _HEADER + title + _FUTURE + imports + _BEGIN + data + _END + runtime


def _example(reading: LogReading) -> Iterator[str]:
    """How it is asked about a raw reading."""
    made = {
        column.name: "..." if column.bins is None else column.bins.edges[0]
        for column in reading.observation
    }
    yield f"# Example: start().act({made!a})\n"
    if reading.longest_pause is not None:
        pause = f"{reading.longest_pause!a}"
        yield f"# A pause longer than {pause} began a new episode: call reset then.\n"


def _columns(field: str, columns: Sequence[ReadColumn]) -> Iterator[str]:
    yield f"{field}: tuple[tuple[str, Any], ...] = (\n"
    for column in columns:
        ranges: tuple[Any, ...] | None = None
        if column.bins is not None:
            pairs = zip_longest(column.bins.names, column.bins.edges)
            ranges = tuple(part for pair in pairs for part in pair if part is not None)
        yield f"    ({column.name!a}, {ranges!a}),\n"
    yield ")\n"


def _reading(reading: LogReading) -> Iterator[str]:
    """The part of the data section that says how readings become observations."""
    yield "\n# How a reading becomes an observation: its columns, each with the ranges its numbers"
    yield " are cut into.\n"
    yield from _columns("OBSERVATION_COLUMNS", reading.observation)
    yield from _columns("ACTION_COLUMNS", reading.action)
    yield f"EPISODE_COLUMN: str | None = {reading.episode!a}\n"
    yield f"MISSING: str | None = {(MISSING if reading.names_missing else None)!a}\n"
    yield f"SEPARATOR = {reading.separator!a}\nDECIMAL = {reading.decimal!a}\n"


def _data(controller: Controller, reading: LogReading) -> Iterator[str]:
    """The lines of the data section."""
    layers = [layer for layer in controller.layers if len(layer.rows)]  # others decide nothing
    machines = [[part.machine() for part in layer.memory.parts] for layer in layers]
    moves: dict[Move, str] = {}
    for machine in chain.from_iterable(machines):
        moves.setdefault(machine.next, f"_next_{len(moves) + 1}")
    yield f'FORMAT = "jumar-program/1"\nNAME = {controller.name!a}\n'
    for field, names in (
        ("OBSERVATIONS", controller.observations),
        ("ACTIONS", controller.actions),
    ):
        yield f"{field}: tuple[str, ...] = (\n"
        yield from (f"    {name!a},\n" for name in names)
        yield ")\n"
    yield from _reading(reading)
    for move, name in moves.items():
        yield f"\n\n{_source(move, name)}\n\n"
    yield "LAYERS: tuple[tuple[Any, Any], ...] = (\n"
    for layer, parts in zip(layers, machines, strict=True):
        yield from _layer(layer, parts, moves)
    yield f")\nDEFAULT: tuple[float, ...] = {tuple(controller.default.tolist())}\n"


def _source(move: Move, name: str) -> str:
    """The text of a function, under another name. It must stand on its own."""
    source = textwrap.dedent(inspect.getsource(move)).strip()
    used = inspect.getclosurevars(move)
    if used.globals or used.nonlocals or not source.isascii():
        raise ControllerError(
            f"{move.__module__}.{move.__qualname__} cannot be copied into a program: it must be "
            "plain ASCII and use nothing but its arguments and what is built into Python."
        )
    return source.replace(f"def {move.__name__}(", f"def {name}(", 1)


def _layer(layer: Controller, parts: list[Machine], moves: dict[Move, str]) -> Iterator[str]:
    yield "    (\n        (\n"
    for part in parts:
        yield f"            ({moves[part.next]}, {part.first}, {_literal(part.data)}),\n"
    yield "        ),\n        {\n"
    pieces = zip(parts, layer.memory.split(layer.states[:, :-1]), strict=True)
    columns = [part.nodes(words) for part, words in pieces]
    keys = zip(*columns, layer.states[:, -1].tolist(), strict=True)
    for key, row in zip(keys, layer.rows.tolist(), strict=True):
        seen = layer.observations[key[-1]][:MOST_LETTERS]
        yield f"            {key}: {tuple(row)},  # on seeing {seen!a}\n"
    yield "        },\n    ),\n"


def _literal(data: Any) -> str:
    """One row of a table on a line."""
    if not isinstance(data, tuple):
        return repr(data)
    return "(\n" + "".join(f"                {row},\n" for row in data) + "            )"
