"""What a run leaves behind: guarantees.json, guarantees.md and guarantees.svg."""

from __future__ import annotations

import json
from pathlib import Path

from jumar.io.files import write_atomically
from jumar.study.drawing import save
from jumar.study.guarantees.figure import draw
from jumar.study.guarantees.page_tables import markdown
from jumar.study.guarantees.summary import findings
from jumar.study.store import Store

NAME = "guarantees"


def write_report(store: Store) -> list[Path]:
    """Write the numbers, the tables and the figure into the folder of the run."""
    found = findings(store)
    data = store.folder / f"{NAME}.json"
    write_atomically(data, json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n")
    page = store.folder / f"{NAME}.md"
    write_atomically(page, markdown(found))
    files = [data, page]
    if found.of("gates"):
        files += save(draw(found), store.folder / f"{NAME}.svg")
    return files
