"""Controllers as files: one document, written by people as TOML or JSON, by jumar as JSON.

A document lists the alphabets, the memory and rules; the first rule that fits ⟨n, z⟩ gives the
row ψ(· | n, z), and where none fits, ``default`` or a nested ``otherwise`` controller does. With
exploration ε every row of its own becomes (1-ε)·row + ε/|A|. What jumar writes it reads back bit
for bit: floats stand as their shortest exact decimal and nothing is renormalised.

Free to change: how a message reads. Held in place: the format and its version, and that a file that
was written comes back bit for bit.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from jumar.core.documents import nesting, read_document
from jumar.core.errors import ControllerError, ParameterError
from jumar.core.files import write_atomically
from jumar.core.text import printable
from jumar.policy.controller import Controller
from jumar.policy.files.entries import CONTROLLER
from jumar.policy.files.reading import read_controller, write_document

__all__ = [
    "ControllerLike",
    "controller_from_document",
    "controller_of",
    "controller_text",
    "controller_to_document",
    "load_controller",
    "save_controller",
    "schema",
]

ControllerLike = Controller | str | os.PathLike[str]  # what a caller may pass for one


def controller_of(controller: ControllerLike) -> Controller:
    """The controller, read if it is a file."""
    if isinstance(controller, str | os.PathLike):
        return load_controller(controller)
    if not isinstance(controller, Controller):
        raise ParameterError(
            f"{printable(repr(controller)[:40])} is no controller. Pass one, or its file."
        )
    return controller


def load_controller(
    path: str | os.PathLike[str], *, exploration: float | None = None
) -> Controller:
    """Read a controller from a TOML or JSON file, or from the folder of a result.

    Parameters
    ----------
    path
        The file; or the folder, for its improved.json. With the table that lies beside it in such a
        folder, the controller acts on raw readings.
    exploration
        How often any action is taken, in place of what the file says.

    Returns
    -------
    Controller
        The controller.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "behavior.toml")
    ...     _ = file.write_text('''
    ...         format = "jumar-controller/1"
    ...         observations = ["good", "worn"]
    ...         actions = ["keep", "repair"]
    ...         default = "keep"
    ...         rules = [{ observation = "worn", action = { keep = 0.25, repair = 0.75 } }]
    ...     ''')
    ...     load_controller(file).row([], "worn").tolist()
    [0.25, 0.75]
    """
    from jumar.show.program.table import reading_beside

    inside = os.path.join(path, "improved.json")
    file = inside if os.path.isfile(inside) else str(os.fspath(path))
    controller = controller_from_document(read_document(file, CONTROLLER), file, exploration)
    reading = reading_beside(Path(file), controller)
    return replace(controller, reading=reading) if reading else controller


def save_controller(controller: Controller, path: str | os.PathLike[str]) -> None:
    """Write a JSON file, whole or not at all, that `load_controller` reads back exactly."""
    if not Path(path).name.lower().endswith(".json"):
        raise ControllerError(
            f"{path}: controllers are written as JSON, but the name does not end in .json. "
            f"Use '{Path(path).stem or 'controller'}.json'."
        )
    write_atomically(path, controller_text(controller))


def controller_from_document(
    document: dict[str, Any], source: str = "controller", exploration: float | None = None
) -> Controller:
    """The controller a document describes; `source` is what error messages call the document, and
    `exploration` stands in place of what it says.

    >>> keep = {"format": "jumar-controller/1", "observations": ["good", "worn"],
    ...         "actions": ["keep", "repair"], "exploration": 0.5, "default": "keep"}
    >>> controller_from_document(keep).row([], "good").tolist()
    [0.75, 0.25]
    """
    with nesting(source, CONTROLLER):
        return read_controller(document, source, Path(source).stem, exploration=exploration)


def controller_to_document(controller: Controller) -> dict[str, Any]:
    """The document of a controller, of nothing but lists, dicts, text and numbers."""
    with nesting(controller.name, CONTROLLER):
        return write_document(controller)


def controller_text(controller: Controller) -> str:
    """The text of a controller's file."""
    with nesting(controller.name, CONTROLLER):
        return _layout(write_document(controller)) + "\n"


def _layout(value: Any, indent: str = "", key: str = "") -> str:
    """JSON with one rule, one move or one part of a product on a line."""
    inner = indent + "  "
    if isinstance(value, dict) and (key in ("", "otherwise") or any(map(_listing, value.values()))):
        lines = [f"{json.dumps(k)}: {_layout(v, inner, k)}" for k, v in value.items()]
        opening, closing = "{}"
    elif _listing(value):
        lines = [_layout(item, inner, "item") for item in value]
        opening, closing = "[]"
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    body = ",\n".join(inner + line for line in lines)
    return f"{opening}\n{body}\n{indent}{closing}"


def _listing(value: Any) -> bool:
    """Is it a list of rules, moves or parts?"""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of controller documents."""
    text = resources.files("jumar.policy.files").joinpath("schema-1.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
