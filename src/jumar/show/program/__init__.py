"""A controller as a program that needs nothing but its language.

A controller is written as one table of plain data (`table`). Every language is a template that
renders it (`languages`): Python, C, JavaScript, SQL. How a memory moves is the memory's own
knowledge (`Memory.machine`).
"""

from __future__ import annotations

import os
from pathlib import Path

from jumar.core.errors import ParameterError
from jumar.core.files import write_atomically
from jumar.core.reading import LogReading
from jumar.core.text import listing
from jumar.policy.controller import Controller
from jumar.policy.files import save_controller
from jumar.show.program.languages import LANGUAGES, Language, render
from jumar.show.program.table import ENDING, ControllerTable, table

__all__ = [
    "LANGUAGES",
    "ControllerTable",
    "Language",
    "export_controller",
    "program",
    "render",
    "table",
]


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


def export_controller(
    controller: Controller,
    path: str | os.PathLike[str],
    *,
    reading: LogReading | None = None,
) -> None:
    """Write a controller as a program or as data. The ending of the file tells which.

    Parameters
    ----------
    controller
        The controller.
    path
        The file: .py, .c, .js, .mjs or .sql for a program; .table.json for the table that programs
        are made of; .json for a controller.
    reading
        How observations are made of the columns of raw readings, as a log knows it
        (``log.origin.reading``). The policy of a result says so itself; of any other, without it
        there is one column "observation".

    Examples
    --------
    >>> import tempfile
    >>> keep = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_controller(keep, Path(folder, "keep.c"))
    ...     "int keep_act(" in Path(folder, "keep.c").read_text()
    True
    """
    name = Path(path).name.lower()
    suffix = Path(path).suffix.lower()
    if name.endswith(ENDING):
        write_atomically(path, table(controller, reading).text())
    elif suffix in LANGUAGES:
        made = table(controller, reading)
        write_atomically(path, render(made, LANGUAGES[suffix], Path(path).stem))
    elif suffix == ".json":
        save_controller(controller, path)
    else:
        endings = listing([*LANGUAGES, ENDING, ".json"])
        raise ParameterError(
            f"{path}: a policy is written as {endings}, but the name ends in none of these. "
            f"Use '{Path(path).stem or 'controller'}.c' for C."
        )
