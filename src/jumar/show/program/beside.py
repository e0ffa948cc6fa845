"""How readings are read, found beside the controller of a result: its table knows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from jumar.core.documents import Format, at, check_format, check_keys, checked, read_document
from jumar.core.errors import ControllerError
from jumar.core.reading import LogReading
from jumar.log.reading.options import reading_told
from jumar.policy.controller import Controller
from jumar.show.program.table import table

TABLE = ".table.json"
_KEYS = "format name observations actions reading layers distributions default"
FORM = Format("table", 1, ControllerError, keys=tuple(_KEYS.split()))
_TEXTS = ("episode", "longest_pause", "missing", "separator", "decimal")


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
