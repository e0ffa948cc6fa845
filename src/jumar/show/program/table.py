"""A controller as one table of plain data, of which programs in every language are made.

    observations, actions   names; from here on they are numbers, in this order
    reading                 how columns of raw readings become observations and actions
    layers                  the exceptions first, and what they depart from after them
    distributions           the different rows of probabilities, one number per action
    default                 the distribution where no layer has a row

A layer is a memory and rows. Each layer runs its own memory on the same observations and actions,
so the node of a coarser layer need not be projected from that of a finer one. The first layer with
a row for what is remembered and seen decides. A memory is a list of parts:

    window     the last symbols, oldest first, -1 for nothing yet. A symbol is the observation z, or
               z * actions + a where actions are remembered (`actions` is 0 where they are not)
    nodes      the number of a node; `nodes[n][z][a]` is the next one
    function   a memory that only Python can run: the source of next(data, node, z, a)

A row is [node of part 1, node of part 2, ..., observation, distribution]. So a window of 45 takes
44 numbers for every history state that has a row of its own, and nothing for all others.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from jumar.core.documents import Format, at, check_format, check_keys, checked, read_document
from jumar.core.errors import ControllerError, TooLarge
from jumar.core.reading import LogReading, ReadColumn
from jumar.log.reading.options import reading_told
from jumar.memory import Memory
from jumar.memory.base import look_up
from jumar.memory.kinds import push
from jumar.policy.controller import Controller

ENDING = ".table.json"
_KEYS = "format name observations actions reading layers distributions default"
FORM = Format("table", 1, ControllerError, keys=tuple(_KEYS.split()))
_TEXTS = ("episode", "longest_pause", "missing", "separator", "decimal")
LONG = 5_000  # rows of a layer that people still read
MOST_CELLS = 20_000  # of a memory that is listed though it has a function of its own

Move: TypeAlias = Callable[[Any, Any, int, int], Any]
Node: TypeAlias = int | tuple[int, ...]


@dataclass(frozen=True)
class MemoryPart:
    """A memory, or one of several side by side."""

    kind: str  # window, nodes or function
    first: Node  # what it holds before the first step
    data: Any  # window: number of actions, or 0; nodes: the moves; function: its first argument
    move: Move

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return 1 if isinstance(self.first, int) else len(self.first)

    @property
    def actions(self) -> int:
        """How many actions a symbol of a window tells; 0 where it tells none."""
        return self.data if self.kind == "window" else 0

    def document(self) -> dict[str, Any]:
        """It as plain data."""
        if self.kind == "window":
            return {"window": self.size, "actions": self.data, "first": self.first}
        if self.kind == "nodes":
            return {"nodes": self.data, "first": self.first}
        source = source_of(self.move, "next")
        return {"function": source, "data": self.data, "first": self.first}


@dataclass(frozen=True)
class Layer:
    """A memory, and what is done at some history states."""

    parts: tuple[MemoryPart, ...]
    keys: tuple[tuple[Any, ...], ...]  # (K,) what each part holds, and the observation
    choices: tuple[int, ...]  # (K,) the number of a distribution

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """What each part holds, the observation; the choice."""
        return [(*key, choice) for key, choice in zip(self.keys, self.choices, strict=True)]

    @property
    def long(self) -> bool:
        """Are there so many rows that nobody reads them?"""
        return len(self.keys) > LONG


@dataclass(frozen=True)
class ControllerTable:
    """A controller as plain data."""

    name: str
    observations: tuple[str, ...]
    actions: tuple[str, ...]
    reading: LogReading
    layers: tuple[Layer, ...]
    distributions: tuple[tuple[float, ...], ...]
    default: int

    @property
    def missing(self) -> str | None:
        """What a missing value is called, if that is a name."""
        return self.reading.missing

    def document(self) -> dict[str, Any]:
        """It as lists, dicts, text and numbers."""
        return {
            "format": "jumar-table/1",
            "name": self.name,
            "observations": self.observations,
            "actions": self.actions,
            "reading": reading_document(self.reading),
            "layers": [
                {"memory": [part.document() for part in layer.parts], "rows": layer.rows}
                for layer in self.layers
            ],
            "distributions": self.distributions,
            "default": self.default,
        }

    def text(self) -> str:
        """The text of a JSON file, one row on a line."""
        return _laid_out(self.document()) + "\n"


def table(controller: Controller, reading: LogReading | None = None) -> ControllerTable:
    """The table of a controller. `reading` says how observations are made of columns; without it
    the controller itself may, or there is one column "observation", as in a plain log.

    >>> worn = Controller.constant(("good", "worn"), ("keep", "repair"), [0.25, 0.75])
    >>> table(worn).document()["distributions"]
    ((0.25, 0.75),)
    """
    numbers: dict[tuple[float, ...], int] = {}

    def number(row: list[float]) -> int:
        return numbers.setdefault(tuple(row), len(numbers))

    default = number(controller.default.tolist())
    layers = []
    for layer in controller.layers:
        if not len(layer.rows):
            continue  # it decides nothing
        machines = [_part(memory) for memory in layer.memory.parts]
        pieces = layer.memory.split(layer.states[:, :-1])
        columns = [nodes(words) for (_, nodes), words in zip(machines, pieces, strict=True)]
        keys = zip(*columns, layer.states[:, -1].tolist(), strict=True)
        choices = tuple(number(row) for row in layer.rows.tolist())
        layers.append(Layer(tuple(part for part, _ in machines), tuple(keys), choices))
    return ControllerTable(
        controller.name,
        controller.observations,
        controller.actions,
        reading or controller.reading or LogReading(),
        tuple(layers),
        tuple(numbers),
        default,
    )


def _part(memory: Memory) -> tuple[MemoryPart, Callable[[Any], list[Any]]]:
    """A part, and the function that writes its nodes."""
    machine = memory.machine()
    known: dict[Any, str] = {push: "window", look_up: "nodes"}
    kind = known.get(machine.next, "function")
    if kind == "function":
        # as a list of nodes every language can run it
        O, A = memory.alphabet
        try:
            small = memory.count_nodes() * O * A <= MOST_CELLS
            machine = Memory.machine(memory) if small else machine
            kind = "nodes" if small else kind
        except TooLarge:
            pass
    return MemoryPart(kind, machine.first, machine.data, machine.next), machine.nodes


def source_of(move: Move, name: str) -> str:
    """The text of a function, under another name. It must stand on its own."""
    source = textwrap.dedent(inspect.getsource(move)).strip()
    used = inspect.getclosurevars(move)
    if used.globals or used.nonlocals or not source.isascii():
        raise ControllerError(
            f"{move.__module__}.{move.__qualname__} cannot be copied into a program: it must be "
            "plain ASCII and use nothing but its arguments and what is built into Python."
        )
    return source.replace(f"def {move.__name__}(", f"def {name}(", 1)


def reading_document(reading: LogReading) -> dict[str, Any]:
    """How a log was read, as plain data."""

    def columns(these: tuple[ReadColumn, ...]) -> list[dict[str, Any]]:
        return [{"column": column.name, "ranges": column.ranges} for column in these]

    return {
        "observation": columns(reading.observation),
        "action": columns(reading.action),
        "episode": reading.episode,
        "longest_pause": reading.longest_pause,
        "missing": reading.missing,
        "separator": reading.separator,
        "decimal": reading.decimal,
    }


def _laid_out(value: Any, indent: str = "") -> str:
    """JSON with one row on a line."""
    inner = indent + " "
    if isinstance(value, dict):
        lines = [f"{json.dumps(key)}: {_laid_out(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        lines = [_laid_out(item, inner) for item in value]
        return "[\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)


# ---- read back, beside the controller of a result -----------------------------------------------


def table_beside(path: Path) -> Path:
    """Where the table of a controller file lies: improved.table.json for improved.json."""
    return path.with_name(path.stem + ENDING)


def reading_beside(path: Path, controller: Controller) -> LogReading | None:
    """How readings are read, as the table beside a controller file says; None where there is none,
    or one of another controller."""
    beside = table_beside(path)
    if not beside.is_file():
        return None
    place = str(beside)
    document = checked(read_document(place, FORM), dict, place, ControllerError)
    check_format(document, place, FORM)
    check_keys(document, FORM.keys, place, FORM)
    reading = _reading(document.get("reading"), f"{place}, reading")
    same = json.loads(table(controller, reading).text()) == document
    return reading if same else None


def _reading(document: Any, place: str) -> LogReading:
    document = checked(document, dict, place, ControllerError)
    check_keys(document, ("observation", "action", *_TEXTS), place, FORM)
    columns: dict[str, list[str]] = {"observation": [], "action": []}
    bins: dict[str, Any] = {}
    for part, names in columns.items():
        where = f"{place}, {part}"
        for column in checked(document.get(part), list, where, ControllerError):
            column = checked(column, dict, where, ControllerError)
            names.append(checked(column.get("column"), str, f"{where}, column", ControllerError))
            if column.get("ranges") is not None:
                bins[names[-1]] = checked(column["ranges"], list, where, ControllerError)
    told = {key: document[key] for key in _TEXTS if document.get(key) is not None}
    for key, text in told.items():
        checked(text, str, f"{place}, {key}", ControllerError)
    with at(place, ControllerError):
        reading = reading_told(
            columns,
            bins,
            missing="symbol" if "missing" in told else "error",
            decimal=told.get("decimal"),
            separator=told.get("separator") or ",",
        )
    return replace(reading, episode=told.get("episode"), longest_pause=told.get("longest_pause"))
