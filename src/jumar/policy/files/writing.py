"""From a controller to its document, and from there to the text of a JSON file."""

from __future__ import annotations

import json
from typing import Any

from jumar.policy.controller import Controller
from jumar.policy.files.memories import CONTROLLER
from jumar.policy.files.nodes import Alphabet, Nodes


def write_document(controller: Controller, nested: bool = False) -> dict[str, Any]:
    """The document of a controller; nested, it takes format and names over from the one around."""
    names = Alphabet(controller.observations, controller.actions)
    nodes = Nodes(controller.memory, names)
    document: dict[str, Any] = {} if nested else {"format": CONTROLLER.tag}
    document["name"] = controller.name
    if not nested:
        if controller.estimated:  # what lies within is part of a rule, and made no log
            document["estimated"] = True
        document["observations"] = list(names.observations)
        document["actions"] = list(names.actions)
    document["memory"] = controller.memory.to_document(*nodes.alphabet)
    if controller.exploration:  # the rows contain it: as "exploration" it would be added again
        document["explored"] = controller.exploration
    if not isinstance(controller.otherwise, Controller):
        document["default"] = _choice(controller.otherwise.tolist(), names)
    rules = [
        {"observation": names.observations[z], "action": _choice(row, names)}
        for z, row in zip(controller.states[:, -1], controller.rows.tolist(), strict=True)
    ]
    if nodes.n_fields:  # else there is only one node, and nothing to say about it
        written = nodes.write(controller.states[:, :-1])
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
    if isinstance(value, dict) and (key in ("", "otherwise") or any(map(_listing, value.values()))):
        lines = [f"{json.dumps(k)}: {layout(v, inner, k)}" for k, v in value.items()]
        opening, closing = "{}"
    elif _listing(value):
        lines = [layout(item, inner, "item") for item in value]
        opening, closing = "[]"
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    body = ",\n".join(inner + line for line in lines)
    return f"{opening}\n{body}\n{indent}{closing}"


def _listing(value: Any) -> bool:
    """Is it a list of rules, moves or parts?"""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
