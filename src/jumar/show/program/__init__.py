"""A controller as a program that needs nothing but its language.

A controller is written as one table of plain data (`table`). Every language is a template that
renders it (`languages`): Python, C, JavaScript, SQL. How a memory moves is the memory's own
knowledge (`Memory.machine`).
"""

from __future__ import annotations

from jumar.core.controller import Controller
from jumar.core.reading import LogReading
from jumar.show.program.languages import LANGUAGES, Language, export, render
from jumar.show.program.table import ControllerTable, table

__all__ = ["LANGUAGES", "Language", "ControllerTable", "export", "program", "render", "table"]


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
    >>> from jumar.core.reading import Bins, ReadColumn
    >>> wear = ReadColumn("wear", Bins(("good", "worn"), (2.0,)))
    >>> exec(program(c, LogReading(observation=(wear,))), module)
    >>> module["observation"]({"wear": 3.2})
    'worn'
    """
    return render(table(controller, reading), LANGUAGES[".py"])
