"""Controllers as files: one document, written by people as TOML or JSON, by jumar as JSON.

A document lists the alphabets, the memory and rules; the first rule that fits ⟨n, z⟩ gives the
row ψ(· | n, z), and where none fits, ``default`` or a nested ``otherwise`` controller does. With
exploration ε every row of its own becomes (1-ε)·row + ε/|A|. What jumar writes it reads back bit
for bit: floats stand as their shortest exact decimal and nothing is renormalised.

Nodes are read as rows of small integers, *fields* (-1 is the wildcard): one per remembered
observation or action, one per named node. A rule whose fields are all known is turned into node
words at once with all others of its kind; only wildcards make the memory list its nodes.
"""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from jumar.arrays import Bools, Floats, Ints, RowIndex, number_rows
from jumar.controller import SUM_TOLERANCE, Controller
from jumar.errors import ControllerError, JumarError, TooLarge, listing, not_one_of
from jumar.files import write_atomically
from jumar.memory import ENUMERABLE, Memory, Product, Table, Window
from jumar.names import NOTHING, WILDCARD, check_names

FORMAT = "jumar-controller/1"
LONGEST_WINDOW = 1_000
MOST_CELLS = 10_000_000  # of a listed memory: nodes × observations × actions
MOST_MOVES = 100_000_000  # of a memory table: nodes × observations × actions

_KEYS = (
    "format",
    "name",
    "observations",
    "actions",
    "memory",
    "exploration",
    "default",
    "rules",
    "otherwise",
)
_ANY = -1


# ---- the public functions -----------------------------------------------------------------


def load_controller(path: str | os.PathLike[str]) -> Controller:
    """Read a controller from a TOML or JSON file.

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
    return controller_from_document(_parse(_read_text(source), source), source)


def save_controller(controller: Controller, path: str | os.PathLike[str]) -> None:
    """Write a JSON file, whole or not at all, that `load_controller` reads back exactly.

    >>> import tempfile
    >>> uniform = Controller.uniform(("good", "worn"), ("keep", "repair"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_controller(uniform, Path(folder, "uniform.json"))
    ...     load_controller(Path(folder, "uniform.json")).same_as(uniform)
    True
    """
    if Path(path).suffix.lower() != ".json":
        raise ControllerError(
            f"{path}: controllers are written as JSON, but the name does not end in .json. "
            f"Use '{Path(path).stem or 'controller'}.json'."
        )
    write_atomically(path, _layout(controller_to_document(controller)) + "\n")


def controller_from_document(document: dict[str, Any], source: str = "controller") -> Controller:
    """The controller a document describes; `source` is what error messages call the document.

    >>> keep = {"format": "jumar-controller/1", "observations": ["good", "worn"],
    ...         "actions": ["keep", "repair"], "exploration": 0.5, "default": "keep"}
    >>> controller_from_document(keep).row([], "good").tolist()
    [0.75, 0.25]
    """
    with _nesting(source):
        return _controller(document, source, None)


def controller_to_document(controller: Controller) -> dict[str, Any]:
    """The document of a controller, of nothing but lists, dicts, text and numbers.

    >>> keep = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0], name="keep")
    >>> document = controller_to_document(keep)
    >>> document["memory"], document["default"], document["rules"]
    ({'window': 1}, 'keep', [])
    """
    with _nesting(controller.name):
        return {"format": FORMAT, **_document(controller, None)}


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of controller documents.

    >>> schema()["title"]
    'jumar controller, version 1'
    """
    text = resources.files("jumar").joinpath("schemas", "controller-1.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


# ---- from file to document ----------------------------------------------------------------


def _read_text(source: str) -> str:
    try:
        data = Path(source).read_bytes()
    except FileNotFoundError as error:
        raise ControllerError(f"{source}: there is no such file.{_neighbour(source)}") from error
    except IsADirectoryError as error:
        raise ControllerError(
            f"{source}: this is a directory. Give the path of a .toml or .json file in it."
        ) from error
    except (OSError, ValueError) as error:
        raise ControllerError(f"{source!r}: cannot be read ({error}). Check the path.") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ControllerError(
            f"{source}: not UTF-8 text (byte {error.start + 1} is 0x{data[error.start]:02x}). "
            "Save the file as UTF-8, or give the path of a controller file."
        ) from error
    if not text.strip():
        raise ControllerError(
            f'{source}: the file is empty. A controller begins with format = "{FORMAT}".'
        )
    return text


def _neighbour(source: str) -> str:
    path = Path(source)
    try:
        close = get_close_matches(path.name, os.listdir(path.parent), n=1)
    except OSError:
        return f" There is no directory '{path.parent}' either. Check the path."
    return f" Did you mean '{path.parent / close[0]}'?" if close else " Check the path."


def _parse(text: str, source: str) -> Any:
    suffix = Path(source).suffix.lower()
    if suffix not in (".json", ".toml"):
        suffix = ".json" if text.lstrip().startswith("{") else ".toml"
    with _nesting(source):
        return _parse_json(text, source) if suffix == ".json" else _parse_toml(text, source)


def _parse_json(text: str, source: str) -> Any:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ControllerError(
                f"{source}: the key {twice!r} stands twice in one object. Remove one of them."
            )
        return made

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        remedy = "The file seems to be cut off: write it again." if cut else "Correct it there."
        raise ControllerError(
            f"{source}, line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}. "
            f"{remedy}"
        ) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise ControllerError(
            f"{source}: a number has too many digits. Probabilities lie between 0 and 1."
        ) from error


def _parse_toml(text: str, source: str) -> Any:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        found = re.fullmatch(r"(.*) \(at (.*)\)", str(error), re.DOTALL)
        fact, where = found.groups() if found else (str(error), "")
        raise ControllerError(
            f"{source}{', ' * bool(where)}{where}: not valid TOML: {fact}. Correct it there; text "
            "stands in quotes, and so do keys with spaces or other special characters."
        ) from error


# ---- from document to controller ----------------------------------------------------------


@dataclass(frozen=True)
class _Alphabet:
    """The names, and the number of each."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]

    @cached_property
    def z(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.observations)}

    @cached_property
    def a(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.actions)}


def _controller(document: Any, source: str, around: Controller | _Outer | None) -> Controller:
    ...
