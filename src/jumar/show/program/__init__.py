"""A controller as a program: one Python file that needs nothing but Python.

The file is a header, the controller as plain literals, and the source of `runtime`, copied. A
controller is written as its layers, the exceptions first and what they depart from after them.
Each layer runs its own memory on the same observations and actions, so the node of a coarser
layer need not be projected from that of a finer one: it is simply there.

Every name is written with `ascii`, so the file is plain ASCII and no name can end its string,
open another, or change the direction of the text around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from jumar.core.arrays import Floats, Ints
from jumar.core.controller import Controller
from jumar.core.errors import ControllerError
from jumar.core.memory import Memory, Product, Table, Window
from jumar.core.text import printable

__all__ = ["program"]

_BEGIN, _END = "# ---- data: begin ----\n", "# ---- data: end ----\n"
_FUTURE = "from __future__ import annotations\n"

_HEADER = '''\
#!/usr/bin/env python3
"""A decision rule that runs step by step (format jumar-program/1).

This file needs Python 3.9 or newer and nothing else. In a program of your own:

    from improved import Controller      # the name of this file, without .py

    c = Controller(seed=1)               # without a seed, other dice every time
    c.reset()                            # at the beginning of every episode
    action = c.act("what is seen")       # draws an action and remembers both
    c.probabilities("what is seen")      # how likely every action is; changes nothing
    c.tell("what is seen", "an action")  # somebody else acted: only remember it

Or on its own, with one observation per line on standard input:

    python improved.py --list            # the names of observations and actions
    python improved.py --seed 1          # the line "reset" starts a new episode
    python improved.py --most-likely     # no dice

It was written by a tool from a controller. Change that and write the program anew; the numbers
below are not meant to be edited by hand.
"""
'''


def program(controller: Controller) -> str:
    """The text of a Python file that runs the controller step by step, without jumar.

    >>> c = Controller.constant(("good", "worn"), ("keep", "repair"), [0.25, 0.75])
    >>> text = program(c)
    >>> module = {"__name__": "improved"}
    >>> exec(text, module)
    >>> module["Controller"](seed=1).probabilities("worn")
    {'keep': 0.25, 'repair': 0.75}
    """
    source = files(__name__).joinpath("runtime.py").read_text(encoding="utf-8")
    imports, _, rest = source.partition(_FUTURE)[2].partition(_BEGIN)
    runtime = rest.partition(_END)[2]
    # after the docstring: a comment in the first two lines could be taken for an encoding
    title = f"# Controller: {printable(controller.name)!a}\n\n"
    data = "".join(_data(controller))
    return _HEADER + title + _FUTURE + imports + _BEGIN + data + _END + runtime


def _data(controller: Controller) -> Iterator[str]:
    """The lines of the data section."""
    yield f'FORMAT = "jumar-program/1"\nNAME = {controller.name!a}\n'
    for field, names in (
        ("OBSERVATIONS", controller.observations),
        ("ACTIONS", controller.actions),
    ):
        yield f"{field}: tuple[str, ...] = (\n"
        yield from (f"    {name!a},\n" for name in names)
        yield ")\n"
    yield "LAYERS: tuple[tuple[Any, Any], ...] = (\n"
    layer: Controller | Floats = controller
    while isinstance(layer, Controller):
        if len(layer.rows):  # a layer without rules of its own decides nothing
            yield from _layer(layer)
        layer = layer.otherwise
    yield f")\nDEFAULT: tuple[float, ...] = {tuple(layer.tolist())}\n"


def _layer(layer: Controller) -> Iterator[str]:
    memory = layer.memory
    parts = memory.parts if isinstance(memory, Product) else (memory,)
    yield "    (\n        (\n"
    for part in parts:
        yield from _part(part)
    yield "        ),\n        {\n"
    for key, row in zip(_keys(memory, layer.states), layer.rows.tolist(), strict=True):
        yield f"            {key}: {tuple(row)},\n"
    yield "        },\n    ),\n"


def _part(part: Memory) -> Iterator[str]:
    if isinstance(part, Window):
        yield f"            ('window', {part.length}, {bool(part.actions)}),\n"
    elif isinstance(part, Table):
        yield f"            ('table', {int(part.start)}, (\n"
        for moves in part.next.tolist():
            yield f"                {tuple(map(tuple, moves))},\n"
        yield "            )),\n"
    else:
        raise ControllerError(
            f"A {part} cannot be written as a program: only windows, tables and products can."
        )


def _keys(memory: Memory, states: Ints) -> list[tuple[object, ...]]:
    """What is remembered by every part, and the observation."""
    nodes, z = states[:, :-1], states[:, -1].tolist()
    if isinstance(memory, Product):
        pieces = zip(memory.parts, memory.split(nodes), strict=True)
        columns = [_nodes(part, piece) for part, piece in pieces]
    else:
        columns = [_nodes(memory, nodes)]
    return list(zip(*columns, z, strict=True))


def _nodes(part: Memory, nodes: Ints) -> list[object]:
    """Nodes as the runtime has them: a number, or a tuple with the oldest first."""
    if isinstance(part, Window):
        # digit 0 is "nothing yet" there and -1 here
        return [tuple(digits) for digits in (part.digits(nodes)[:, ::-1] - 1).tolist()]
    return [int(node) for node in nodes[:, 0]]
