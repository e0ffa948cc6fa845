"""Controllers as files: what people write, and what the rules in them mean."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_documents import (
    BLOCKS,
    EXAMPLE,
    VALIDATOR,
    bounded,
    maintenance,
    memories,
    refusal,
    write,
)
from jumar.memory import window
from jumar.policy.files import controller_from_document, load_controller

# ---- what people write --------------------------------------------------------------------


def test_the_maintenance_example_inspects_every_second_year_and_repairs_what_is_worn(tmp_path):
    c = load_controller(write(tmp_path, EXAMPLE))
    keep, inspect, repair = (0.98 * np.eye(3)[a] + 0.02 / 3 for a in range(3))
    assert c.name == "two-yearly inspection"
    assert c.row("inspected", "good").tolist() == keep.tolist()
    assert c.row("inspected", "worn").tolist() == repair.tolist()
    assert c.row("due", "good").tolist() == inspect.tolist()
    assert c.row("due", "worn").tolist() == repair.tolist()
    assert c.row("due", "good") == pytest.approx([0.02 / 3, 0.98 + 0.02 / 3, 0.02 / 3])


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_of_the_page_loads_and_obeys_the_schema(block, tmp_path):
    assert len(block.splitlines()) <= 25
    path = write(tmp_path, block)
    load_controller(path)
    VALIDATOR.validate(tomllib.loads(block))


def test_toml_and_json_say_the_same(tmp_path):
    from_toml = load_controller(write(tmp_path, EXAMPLE))
    document = maintenance(exploration=0.02)
    from_json = load_controller(write(tmp_path, json.dumps(document), "b.json"))
    assert from_toml.same_as(from_json)


@pytest.mark.parametrize("name", ["behavior", "behavior.conf", "behavior.TOML", "behavior.JSON"])
def test_without_a_known_ending_the_content_decides(name, tmp_path):
    upper = name.rpartition(".")[2]
    if upper != "JSON":
        assert load_controller(write(tmp_path, EXAMPLE, name)).memory.width == 1
    if upper != "TOML":
        text = " \n" + json.dumps(maintenance())
        assert load_controller(write(tmp_path, text, name)).memory.width == 1


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(tmp_path):
    text = "\ufeff" + EXAMPLE.replace("\n", "\r\n")
    assert load_controller(write(tmp_path, text)).same_as(
        load_controller(write(tmp_path, EXAMPLE, "plain.toml"))
    )


def test_a_controller_without_a_name_is_called_after_its_file(tmp_path):
    assert load_controller(write(tmp_path, json.dumps(maintenance()), "b.json")).name == "b"
    assert controller_from_document(maintenance()).name == "controller"
    assert controller_from_document(maintenance(name="mine")).name == "mine"


def test_without_memory_only_the_current_observation_counts():
    rules = [{"observation": "worn", "action": {"keep": 0.25, "repair": 0.75}}]
    c = controller_from_document(maintenance(memory=None, rules=rules))
    assert c.memory == window(1).on(2, 3)
    assert c.row([], "worn").tolist() == [0.25, 0, 0.75]
    assert c.row([], "good").tolist() == [1, 0, 0]
    assert c.same_as(
        controller_from_document(maintenance(memory=None, rules=[{**rules[0], "node": []}]))
    )


def test_rules_that_fit_everything_need_no_default():
    rules = [{"observation": "worn", "action": "repair"}, {"observation": "good", "action": "keep"}]
    c = controller_from_document(maintenance(rules=rules, default=None))
    assert len(c.states) == 4
    assert np.asarray(c.otherwise).tolist() == [1 / 3] * 3


def test_exploration_mixes_rules_and_default_but_not_otherwise():
    inner = {"default": "keep"}
    c = controller_from_document(maintenance(default=None, otherwise=inner, exploration=0.3))
    assert c.row("due", "worn") == pytest.approx([0.1, 0.1, 0.8])
    assert c.row("inspected", "good").tolist() == [1, 0, 0]
    inner["exploration"] = 0.6
    c = controller_from_document(maintenance(default=None, otherwise=inner))
    assert c.row("due", "worn").tolist() == [0, 0, 1]
    assert c.row("inspected", "good") == pytest.approx([0.6, 0.2, 0.2])


# ---- a slow and obvious twin of rule matching ---------------------------------------------


def fits(pattern: Any, node: Any) -> bool:
    if pattern == "*":
        return True
    if isinstance(pattern, list):
        return all(fits(p, n) for p, n in zip(pattern, node, strict=True))
    return bool(pattern == node)


@st.composite
def patterns(draw: st.DrawFn, node: Any) -> Any:
    """The node with stars in some places."""
    if draw(st.booleans()) and draw(st.booleans()):
        return "*"
    return [draw(patterns(item)) for item in node] if isinstance(node, list) else node


@bounded
@given(st.data())
def test_wildcards_decide_as_a_rule_by_rule_comparison_would(data):
    names = ["good", "worn"], ["keep", "repair"]
    memory = data.draw(memories(2, 2))
    nodes = [memory.read_node(words.tolist(), *names) for words in memory.enumerate()]
    rules = []
    for _ in range(data.draw(st.integers(0, 5))):
        rule = {"node": data.draw(patterns(data.draw(st.sampled_from(nodes))))}
        rule["observation"] = data.draw(st.sampled_from(["good", "worn", "*"]))
        p = data.draw(st.integers(0, 8)) / 8
        rules.append({**rule, "action": {"keep": p, "repair": 1 - p}})
    document = {
        "format": "jumar-controller/1",
        "observations": names[0],
        "actions": names[1],
        "memory": memory.to_document(*names),
        "default": "repair",
        "rules": rules,
    }
    expected, used = {}, set()
    for n, node in enumerate(nodes):
        for z in names[0]:
            hits = [
                i
                for i, r in enumerate(rules)
                if fits(r["node"], node) and r["observation"] in (z, "*")
            ]
            used |= set(hits[:1])
            expected[n, z] = list(rules[hits[0]]["action"].values()) if hits else [0, 1]
    if len(used) < len(rules):
        assert "can never apply" in refusal(document)
        return
    c = controller_from_document(document)
    for (n, z), row in expected.items():
        assert c.row(nodes[n], z).tolist() == row
