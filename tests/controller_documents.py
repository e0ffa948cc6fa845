"""Controller documents that several tests begin with, and how one is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from jumar.core.errors import ControllerError
from jumar.memory import Memory, NamedNodes, Product, window
from jumar.policy.files import (
    controller_from_document,
    schema,
)

PAGE = Path(__file__).parents[1] / "docs" / "controller-files.md"
BLOCKS = [
    block
    for block in re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    if re.search(r"^format\b", block, re.MULTILINE)
]
EXAMPLE = BLOCKS[0]
VALIDATOR = jsonschema.Draft202012Validator(schema())

bounded = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def write(folder: Path, text: str | bytes, name: str = "behavior.toml") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def maintenance(**changes: Any) -> dict[str, Any]:
    """The example of the page as a document; None removes a key."""
    document: dict[str, Any] = {
        "format": "jumar-controller/1",
        "observations": ["good", "worn"],
        "actions": ["keep", "inspect", "repair"],
        "default": "keep",
        "memory": {
            "nodes": ["inspected", "due"],
            "moves": [
                {"node": "inspected", "to": "due"},
                {"node": "due", "action": "inspect", "to": "inspected"},
                {"node": "due", "to": "due"},
            ],
        },
        "rules": [
            {"observation": "worn", "action": "repair"},
            {"node": "due", "action": "inspect"},
        ],
    }
    document.update(changes)
    return {key: value for key, value in document.items() if value is not None}


def windowed(length: int, *rules: dict[str, Any], actions: bool = False) -> dict[str, Any]:
    memory = {"window": length, **({"actions": True} if actions else {})}
    return maintenance(memory=memory, rules=list(rules))


def refusal(document: Any) -> str:
    with pytest.raises(ControllerError) as caught:
        controller_from_document(document, "behavior.toml")
    return str(caught.value)


NAMES = ["good", "worn", "größer als 3", 'a "quoted" one', "back\\slash", "moves", "日本", "a.b=c"]


@st.composite
def memories(draw: st.DrawFn, O: int, A: int, deep: bool = True) -> Memory:
    kind = draw(st.sampled_from(["window", "actions", "table"] + ["product"] * deep))
    if kind == "window":
        return window(draw(st.integers(1, 4))).on(O, A)
    if kind == "actions":
        return window(draw(st.integers(1, 3)), actions=True).on(O, A)
    if kind == "product":
        parts = [draw(memories(O, A, deep=False)) for _ in range(draw(st.integers(1, 2)))]
        return Product(tuple(parts)).on(O, A)
    M = draw(st.integers(1, 3))
    size = M * O * A
    next_ = draw(st.lists(st.integers(0, M - 1), min_size=size, max_size=size))
    start = draw(st.integers(0, M - 1))
    nodes = tuple(draw(st.permutations(NAMES))[:M])
    return NamedNodes(nodes, np.reshape(next_, (M, O, A)), start).on(O, A)


def with_rule(rule: Any, **changes: Any) -> dict[str, Any]:
    """The example with its second rule replaced."""
    return maintenance(rules=[maintenance()["rules"][0], rule], **changes)


def with_moves(*moves: Any) -> dict[str, Any]:
    return maintenance(memory={"nodes": ["inspected", "due"], "moves": list(moves)})


WHOLE = maintenance(
    default=None,
    name="today",
    exploration=0.02,
    memory={"product": [maintenance()["memory"], {"window": 2, "actions": True}]},
    rules=[
        {"node": ["*", [["worn", "*"]]], "observation": "worn", "action": "repair"},
        {"node": ["due", [["good", "keep"]]], "action": {"keep": 0.5, "inspect": 0.5}},
    ],
    otherwise={"memory": maintenance()["memory"], "default": {"keep": 1}},
)
