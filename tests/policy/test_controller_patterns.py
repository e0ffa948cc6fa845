"""Wildcards for the parts of combined observations: one rule of a clinic is one line, not 27."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_documents import VALIDATOR
from jumar.core.errors import ControllerError
from jumar.policy.controller import Controller
from jumar.policy.files import controller_from_document

LEVELS = ("low", "mid", "high")
CLINIC = ["+".join(parts) for parts in itertools.product(LEVELS, repeat=3)]


def made(*rules: dict[str, Any], observations: list[str] = CLINIC, **more: Any) -> Controller:
    document = {
        "format": "jumar-controller/1",
        "observations": observations,
        "actions": ["wait", "treat"],
        "default": "wait",
        "rules": list(rules),
        **more,
    }
    assert VALIDATOR.is_valid(document)
    return controller_from_document(document)


def treated(controller: Controller, node: Any = ()) -> list[str]:
    return [z for z in controller.observations if controller.row(list(node), z)[1] == 1]


def test_only_names_with_as_many_parts_fit():
    names = ["high", "high+wet", "high+wet+cold"]
    rule = {"observation": "high+*", "action": "treat"}
    assert treated(made(rule, observations=names)) == ["high+wet"]


def test_a_name_that_is_listed_with_its_star_is_that_name():
    rule = {"observation": "high+*", "action": "treat"}
    assert treated(made(rule, observations=["high+*", "high+wet"])) == ["high+*"]


def test_a_pattern_that_fits_nothing_is_refused():
    with pytest.raises(ControllerError, match=r"rule 1: observation pattern 'hihg\+\*\+\*' fits"):
        made({"observation": "hihg+*+*", "action": "treat"})
    with pytest.raises(ControllerError, match="one part of a name with 2 parts"):
        made({"observation": "high+*", "action": "treat"})


def test_a_pattern_behind_rules_that_fit_all_of_it_is_refused():
    rules = [{"observation": f"high+{x}+*", "action": "wait"} for x in LEVELS]
    with pytest.raises(ControllerError, match=r"rule 4: can never apply, because earlier rules"):
        made(*rules, {"observation": "high+*+*", "action": "treat"})


def test_patterns_work_beside_wildcards_in_nodes():
    rules = (
        {"node": ["low+low+low"], "observation": "high+*+*", "action": "wait"},
        {"node": ["*"], "observation": "high+*+*", "action": "treat"},
    )
    controller = made(*rules, memory={"window": 2})
    assert len(treated(controller, ["low+low+high"])) == 9
    assert treated(controller, ["low+low+low"]) == []


def test_moves_of_a_memory_take_patterns_too():
    moves = [{"observation": "high+*+*", "to": "alarmed"}, {"to": "calm"}]
    memory = {"nodes": ["calm", "alarmed"], "moves": moves}
    controller = made({"node": "alarmed", "action": "treat"}, memory=memory)
    table = controller.memory.next
    assert [CLINIC[z] for z in range(27) if table[0, z, 0] == 1] == [
        z for z in CLINIC if z.startswith("high+")
    ]


@given(st.lists(st.tuples(*[st.sampled_from((*LEVELS, "*"))] * 3), min_size=1, max_size=4))
def test_patterns_do_what_the_rules_written_out_do(patterns):
    """Each pattern is the list of names it fits, without those that an earlier one has."""
    taken: set[str] = set()
    kept, written_out = [], []
    for i, pattern in enumerate(patterns):
        fits = [
            z
            for z in CLINIC
            if all(p in ("*", own) for p, own in zip(pattern, z.split("+"), strict=True))
        ]
        action = {"treat": 1 - i / 8, "wait": i / 8}
        if not set(fits) <= taken:
            kept.append({"observation": "+".join(pattern), "action": action})
            written_out += [{"observation": z, "action": action} for z in fits if z not in taken]
        taken |= set(fits)
    assert made(*kept).same_as(made(*written_out))
