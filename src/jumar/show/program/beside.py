"""How readings are read, found beside the controller of a result: its table knows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from jumar.core.controller import Controller
from jumar.core.errors import ControllerError
from jumar.core.reading import LogReading
from jumar.io.documents import Format, at, check_format, check_keys, checked, read_document
from jumar.io.logs.told import reading_told
from jumar.show.program.table import table

TABLE = ".table.json"
FORM = Format(
    "table",
    1,
    ControllerError,
    keys=(
        "format",
        "name",
        "observations",
        "actions",
        "reading",
        "layers",
        "distributions",
        "default",
    ),
)
_READING = (
    "observation", "action", "episode", "longest_pause", "missing", "separator", "decimal",
)  # fmt: skip


def table_beside(path: Path) -> Path:
    """Where the table of a controller file lies: improved.table.json for improved.json."""
    return path.with_name(path.stem + TABLE)


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
    check_keys(document, _READING, place, FORM)
    columns: dict[str, list[str]] = {}
    bins: dict[str, Any] = {}
    for part in ("observation", "action"):
        columns[part] = []
        for column in checked(document.get(part), list, f"{place}, {part}", ControllerError):
            where = f"{place}, {part}"
            column = checked(column, dict, where, ControllerError)
            check_keys(column, ("column", "ranges"), where, FORM)
            name = checked(column.get("column"), str, f"{where}, column", ControllerError)
            columns[part].append(name)
            if column.get("ranges") is not None:
                bins[name] = checked(column["ranges"], list, f"{where}, ranges", ControllerError)
    for key in ("episode", "longest_pause", "missing", "separator", "decimal"):
        if document.get(key) is not None:
            checked(document[key], str, f"{place}, {key}", ControllerError)
    with at(place, ControllerError):
        told = reading_told(
            columns,
            bins,
            missing="error" if document.get("missing") is None else "symbol",
            decimal=document.get("decimal"),
            separator=document.get("separator") or ",",
        )
    return replace(
        told, episode=document.get("episode"), longest_pause=document.get("longest_pause")
    )
