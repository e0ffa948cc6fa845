"""Notebooks run in this process: code cells in order, in one folder, with what they show.

No kernel is started: cells hold plain Python, so running them here gives what Jupyter would. After
a change to a notebook, `python tests/notebooks.py docs/tutorials/*.ipynb` writes what it shows.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from walks import fetch


def shown_by(notebook: dict[str, Any], folder: Path) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell, when all are run in a folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        return [_run("".join(cell["source"]), names, i) for i, cell in enumerate(code(notebook), 1)]


def code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _run(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run one cell; its last expression is shown, as in Jupyter."""
    tree = ast.parse(source, filename=f"cell {number}")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        stream = {"name": "stdout", "output_type": "stream"}
        outputs.append({**stream, "text": lines(printed.getvalue())})
    if value is not None:
        result = {"data": {"text/plain": lines(repr(value))}, "execution_count": number}
        outputs.append({**result, "metadata": {}, "output_type": "execute_result"})
    return outputs


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def text_of(notebook: dict[str, Any]) -> str:
    """The prose, which links the files that are needed."""
    prose = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    return "\n".join("".join(cell["source"]) for cell in prose)


def write(path: Path) -> None:
    """Put what a notebook shows into its file."""
    notebook = json.loads(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        fetch(text_of(notebook), path.parent, Path(folder))
        shown = shown_by(notebook, Path(folder))
    for number, (cell, outputs) in enumerate(zip(code(notebook), shown, strict=True), 1):
        cell["outputs"], cell["execution_count"] = outputs, number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name))
