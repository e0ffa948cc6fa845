"""Controllers as files: one document, written by people as TOML or JSON, by jumar as JSON.

A document lists the alphabets, the memory and rules; the first rule that fits ⟨n, z⟩ gives the
row ψ(· | n, z), and where none fits, ``default`` or a nested ``otherwise`` controller does. With
exploration ε every row of its own becomes (1-ε)·row + ε/|A|. What jumar writes it reads back bit
for bit: floats stand as their shortest exact decimal and nothing is renormalised.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from jumar.core.documents import nesting, read_document, read_text
from jumar.core.errors import ControllerError, ParameterError
from jumar.core.files import write_atomically
from jumar.core.text import printable
from jumar.policy.controller import Controller
from jumar.policy.files.machines import Named
from jumar.policy.files.memories import CONTROLLER
from jumar.policy.files.paynt import from_paynt, is_paynt, paynt_text
from jumar.policy.files.policy_graphs import from_policy_graph, policy_graph
from jumar.policy.files.reading import read_controller, share_explored
from jumar.policy.files.writing import layout, write_document

__all__ = [
    "FORMAT",
    "ControllerLike",
    "controller_from_document",
    "controller_of",
    "controller_to_document",
    "load_controller",
    "save_controller",
    "schema",
]

FORMAT = CONTROLLER.tag
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
    path: str | os.PathLike[str],
    *,
    exploration: float | None = None,
    names: Named | None = None,
    start: int | str = 0,
) -> Controller:
    """Read a controller from a TOML or JSON file, or from one of PAYNT or pomdp-solve.

    Parameters
    ----------
    path
        The file: of jumar, of PAYNT (JSON with an action_function), or a policy graph (.pg).
    exploration
        How often any action is taken, in place of what the file says.
    names
        Whose observations and actions a file without names is about: a model, a log, a controller.
    start
        Of a policy graph: the node that acts first; "observed" where the first observation tells.

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
    source = str(os.fspath(path))
    name = Path(source).stem
    if Path(source).suffix.lower() == ".pg":
        text = read_text(source, CONTROLLER)
        return _explored(from_policy_graph(text, source, name, names, start), exploration)
    document = read_document(source, CONTROLLER)
    if is_paynt(document):
        return _explored(from_paynt(document, source, name, names), exploration)
    return controller_from_document(document, source, exploration)


def _explored(controller: Controller, exploration: float | None) -> Controller:
    """The controller of a file that says nothing about exploration."""
    if not exploration:
        return controller
    ε = share_explored(exploration, "--exploration")
    rows = (1 - ε) * controller.rows + ε / len(controller.actions)
    return replace(controller, rows=rows, exploration=ε)


def save_controller(controller: Controller, path: str | os.PathLike[str]) -> None:
    """Write a JSON file, whole or not at all, that `load_controller` reads back exactly; or one for
    PAYNT (.paynt.json) or a policy graph (.pg), where the controller can be one.

    >>> import tempfile
    >>> uniform = Controller.uniform(("good", "worn"), ("keep", "repair"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_controller(uniform, Path(folder, "uniform.json"))
    ...     load_controller(Path(folder, "uniform.json")).same_as(uniform)
    True
    """
    name = Path(path).name.lower()
    write = next((text for ending, text in WRITERS.items() if name.endswith(ending)), None)
    if write is None:
        raise ControllerError(
            f"{path}: controllers are written as JSON, but the name does not end in .json. "
            f"Use '{Path(path).stem or 'controller'}.json'."
        )
    write_atomically(path, write(controller))


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
    """The document of a controller, of nothing but lists, dicts, text and numbers.

    >>> keep = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0], name="keep")
    >>> document = controller_to_document(keep)
    >>> document["memory"], document["default"], document["rules"]
    ({'window': 1}, 'keep', [])
    """
    with nesting(controller.name, CONTROLLER):
        return write_document(controller)


def controller_text(controller: Controller) -> str:
    """The text of a controller's file."""
    with nesting(controller.name, CONTROLLER):
        return layout(write_document(controller)) + "\n"


# by how the name of the file ends; the first that fits
WRITERS: dict[str, Callable[[Controller], str]] = {
    ".paynt.json": paynt_text,
    ".json": controller_text,
    ".pg": policy_graph,
}


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of controller documents.

    >>> schema()["title"]
    'jumar controller, version 1'
    """
    text = resources.files("jumar.policy.files").joinpath("schema-1.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
