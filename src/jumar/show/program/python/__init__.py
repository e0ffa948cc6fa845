"""The part of a Python program that is the same for every controller.

A program is one file: `data` of its controller, then `acting`, `readings`, `names` and `filter`,
word for word. So these import nothing but the standard library of Python 3.9 and each other, are
plain ASCII, and define no name twice. As they stand here they run on a small example.
"""

from __future__ import annotations

import ast
from importlib.resources import files

_ORDER = ("acting", "readings", "names", "filter")


def joined() -> tuple[str, str]:
    """What the modules import from the standard library, and the rest of them, one after the
    other."""
    plain: set[str] = set()
    parts: dict[str, set[str]] = {}
    bodies = []
    for name in _ORDER:
        source = files(__name__).joinpath(f"{name}.py").read_text(encoding="utf-8")
        tree = ast.parse(source)
        head = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in head:
            if isinstance(node, ast.Import):
                plain |= {found.name for found in node.names}
            elif node.module and node.module.partition(".")[0] not in ("jumar", "__future__"):
                parts.setdefault(node.module, set()).update(found.name for found in node.names)
        body = source.split("\n")[head[-1].end_lineno or 0 :]
        bodies.append("\n".join(body).strip("\n"))
    lines = [f"import {name}" for name in sorted(plain)]
    lines += [f"from {name} import {', '.join(sorted(parts[name]))}" for name in sorted(parts)]
    return "\n".join(lines), "\n\n\n".join(bodies)
