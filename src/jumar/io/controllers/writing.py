"""From a controller to its document, and from there to the text of a JSON file."""

from __future__ import annotations

import json
from typing import Any

from jumar.core.controller import Controller
from jumar.io.controllers.nodes import Alphabet, Nodes
from jumar.io.controllers.reading import CONTROLLER


def write_document(controller: Controller, nested: bool = False) -> dict[str, Any]:
    """The document of a controller; nested, it takes format and names over from the one around."""
    names = Alphabet(controller.observations, controller.actions)
    nodes = Nodes(controller.memory, names)
    document: dict[str, Any] = {} if nested else {"format": CONTROLLER.tag}
    document["name"] = controller.name
    if not nested:
        document["observations"] = list(names.observations)
        document["actions"] = list(names.actions)
    document["memory"] = controller.memory.to_document(*nodes.alphabet)
    if not isinstance(controller.otherwise, Controller):
        document["default"] = _choice(controller.otherwise.tolist(), names)
    rules = [
        {"observation": names.observations[z], "action": _choice(row, names)}
        for z, row in zip(controller.states[:, -1], controller.rows.tolist(), strict=True)
    ]
    if nodes.n_fields:  # else there is only one node, and nothing to say about it
        written = nodes.write(controller.states[:, :-1], controller.name)
        rules = [{"node": node, **rule} for node, rule in zip(written, rules, strict=True)]
    document["rules"] = rules
    if isinstance(controller.otherwise, Controller):
        document["otherwise"] = write_document(controller.otherwise, nested=True)
    return document


def _choice(row: list[float], names: Alphabet) -> str | dict[str, float]:
    chosen = {name: p for name, p in zip(names.actions, row, strict=True) if p > 0}
    return next(iter(chosen)) if list(chosen.values()) == [1.0] else chosen


def layout(value: Any, indent: str = "", key: str = "") -> str:
    """JSON with one rule, one move or one part of a product on a line."""
    inner = indent + "  "
    if key in ("", "otherwise") or (
        key in ("memory", "part") and not value.keys().isdisjoint(("moves", "product"))
    ):
        lines = [f"{json.dumps(k)}: {layout(v, inner, k)}" for k, v in value.items()]
        opening, closing = "{}"
    elif key in ("rules", "moves", "product") and value:
        lines = [layout(item, inner, "part" if key == "product" else "item") for item in value]
        opening, closing = "[]"
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    body = ",\n".join(inner + line for line in lines)
    return f"{opening}\n{body}\n{indent}{closing}"
