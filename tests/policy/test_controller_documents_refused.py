"""Controller documents that are refused, each with its place, fact and remedy; and the schema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from controller_documents import (
    VALIDATOR,
    WHOLE,
    maintenance,
    refusal,
    windowed,
    with_moves,
    with_rule,
)
from facts import tells
from jumar.policy.files import controller_from_document, schema

# what a schema can see
OF_WRONG_SHAPE = {
    "a negative probability": (
        with_rule({"node": "due", "action": {"keep": -0.5, "repair": 1.5}}),
        "behavior.toml, rule 2: -0.5 for action 'keep' is not a probability.",
    ),
    "a probability that is text": (
        with_rule({"node": "due", "action": {"keep": "0.5"}}),
        "'0.5' for action 'keep' is not a probability. Write a number from 0 to 1.",
    ),
    "an action that is a list": (
        with_rule({"node": "due", "action": ["keep"]}),
        "behavior.toml, rule 2: the action is a list. Write the name of an action, or "
        'probabilities such as { "keep" = 1.0 }.',
    ),
    "a rule without an action": (
        with_rule({"node": "due"}),
        'behavior.toml, rule 2: has no action. Add action = "keep".',
    ),
    "a rule with a misspelt key": (
        with_rule({"node": "due", "acton": "keep"}),
        "behavior.toml, rule 2: key 'acton' is not one of node, observation, action. "
        "Did you mean 'action'?",
    ),
    "one pair of brackets around rules": (
        maintenance(rules={"action": "keep"}),
        "behavior.toml, rules: is a table of keys and values. Write a list; as a heading in TOML "
        "it has two brackets: [[rules]].",
    ),
    "a misspelt key": (
        maintenance(explorations=0.1),
        "behavior.toml: key 'explorations' is not one of format, name, estimated, observations, "
        "actions, memory, exploration, explored, default, rules, otherwise. Did you mean "
        "'exploration'?",
    ),
    "a document that is a list": ([1], "behavior.toml: is a list. Write {...}."),
    "no format": (
        maintenance(format=None),
        "behavior.toml: there is no 'format'. Add format = \"jumar-controller/1\" at the top",
    ),
    "a newer format": (
        maintenance(format="jumar-controller/2", more={}),
        "behavior.toml: the file is of a newer format version 2; this jumar reads version 1. "
        "Update jumar.",
    ),
    "no observations": (
        maintenance(observations=None),
        "behavior.toml: there are no 'observations'. List their names: observations = ",
    ),
    "the same observation twice": (
        maintenance(observations=["good", "good"]),
        "behavior.toml: observation name 2: 'good' is also name 1. Names must differ.",
    ),
    "a reserved name": (
        maintenance(observations=["good", "*"]),
        "behavior.toml: observation name 2: '*' is reserved",
    ),
    "an observation that is a number": (
        maintenance(observations=["good", 3]),
        "behavior.toml, observation 2: is a number. Write text in quotes.",
    ),
    "an exploration of 1": (
        maintenance(exploration=1),
        "behavior.toml: exploration 1 is not a number from 0 up to, but not including, 1. "
        "Write 0.02 for 2 % of the time.",
    ),
    "both default and otherwise": (
        maintenance(otherwise={"default": "keep"}),
        "behavior.toml: both 'default' and 'otherwise' say what to do where no rule fits. "
        "Remove one of them.",
    ),
    "a node with a number in it": (
        windowed(3, {"node": ["worn", 3], "action": "repair"}),
        "behavior.toml, rule 1: the node holds a number. Write nodes as names in quotes",
    ),
    "a move to nowhere": (
        with_moves({"node": "inspected"}),
        'behavior.toml, memory, move 1: does not say where to go. Add to = "inspected".',
    ),
    "a memory of two kinds": (
        maintenance(memory={**maintenance()["memory"], "window": 2}),
        "given. Write exactly one, such as window = 3.",
    ),
    "a key of another kind of memory": (
        maintenance(memory={"window": 2, "moves": []}),
        "behavior.toml, memory: key 'moves' is not one of window, actions.",
    ),
    "a window of 0": (
        windowed(0),
        "behavior.toml, memory: window: length 0 must be a whole number from 1 (only the current "
        "observation) to 1000.",
    ),
    "a window of one and a half": (maintenance(memory={"window": 1.5}), "window: 1.5 is not"),
    "actions in words": (
        maintenance(memory={"window": 2, "actions": "yes"}),
        "behavior.toml, memory, actions: is text. Write true or false.",
    ),
    "an empty product": (
        maintenance(memory={"product": []}),
        "behavior.toml, memory: the product is empty. List at least one memory.",
    ),
}
# names, sums, shadows and sizes, which it cannot
BAD_DOCUMENTS = OF_WRONG_SHAPE | {
    "an unknown action": (
        with_rule({"node": "due", "action": "repaire"}),
        "behavior.toml, rule 2: action 'repaire' is not one of keep, inspect, repair. "
        "Did you mean 'repair'?",
    ),
    "an unknown node": (
        with_rule({"node": "dew", "action": "keep"}),
        "behavior.toml, rule 2: node 'dew' is not one of inspected, due. Did you mean 'due'?",
    ),
    "a sum that is not 1": (
        with_rule({"node": "due", "observation": "good", "action": {"keep": 0.5, "repair": 0.4}}),
        "behavior.toml, rule 2: probabilities sum to 0.9, not 1 "
        "(node 'due', observation 'good'). Write the row so that it sums to 1.",
    ),
    "half a character": (
        maintenance(observations=["good", "\ud800"]),
        r"behavior.toml: observation name 2: '\ud800' has half a character",
    ),
    "neither default nor otherwise": (
        maintenance(default=None),
        "behavior.toml: there is neither 'default' nor 'otherwise', and no rule fits node "
        "'inspected', observation 'good'. Add default = \"keep\", or a rule that fits it.",
    ),
    "other observations within otherwise": (
        maintenance(default=None, otherwise={"observations": ["good", "bad"], "default": "keep"}),
        "behavior.toml, otherwise: its observations (good, bad) differ from those of the "
        "controller around it (good, worn). Leave them out: they are taken over.",
    ),
    "an otherwise that remembers more": (
        maintenance(default=None, otherwise={"memory": {"window": 3}, "default": "keep"}),
        "behavior.toml: Memory 'table of 2 nodes' does not refine 'window of 3'",
    ),
    "a rule in the shadow of one": (
        with_rule({"node": "due", "observation": "worn", "action": "keep"}),
        "behavior.toml, rule 2: can never apply, because rule 1 comes first and fits everything",
    ),
    "a rule in the shadow of several": (
        maintenance(
            rules=[
                {"observation": "worn", "action": "repair"},
                {"node": "due", "observation": "good", "action": "inspect"},
                {"node": "due", "action": "keep"},
            ]
        ),
        "behavior.toml, rule 3: can never apply, because earlier rules, 1, 2, fit everything it "
        "fits. Remove it, or move it up.",
    ),
    "a wildcard in too large a memory": (
        windowed(
            30,
            {"node": ["worn"] * 29, "action": "repair"},
            {"node": ["*"] * 28 + ["worn"], "action": "repair"},
        ),
        "behavior.toml, rule 2: fits many nodes, but a window of 30 has more than 200000 nodes, "
        "too many to list. Write the nodes out, use a smaller memory, or put the rule into an "
        "'otherwise' controller with a smaller memory.",
    ),
    "a window node of the wrong length": (
        windowed(3, {"node": ["worn"], "action": "repair"}),
        "behavior.toml, rule 1: ['worn'] is not a list of 2: [observation, observation]. A window "
        "of 3 needs a list of the 2 earlier observations, oldest first",
    ),
    "something before nothing": (
        windowed(3, {"node": ["worn", ""], "action": "repair"}),
        "behavior.toml, rule 1: node ['worn', ''] does not exist in a window of 3. A window of 3 "
        'needs a list of the 2 earlier observations, oldest first; "" (nothing yet) can only stand '
        "before the first.",
    ),
    "a product node of the wrong length": (
        maintenance(
            memory={"product": [{"window": 2}, {"window": 1}]},
            rules=[{"node": [["worn"]], "action": "keep"}],
        ),
        "behavior.toml, rule 1: [['worn']] is not a list of 2: [[observation], []].",
    ),
    "a move that is missing": (
        with_moves({"node": "inspected", "to": "due"}, {"action": "inspect", "to": "inspected"}),
        "behavior.toml, memory: no move fits node 'due', observation 'good', action 'keep'. "
        'Add one at the end, such as { node = "due", to = "due" }.',
    ),
    "a move that never happens": (
        with_moves({"to": "due"}, {"node": "due", "to": "inspected"}),
        "behavior.toml, memory, move 2: can never apply, because move 1 comes first",
    ),
    "a table of too many moves": (
        maintenance(
            observations=[f"z{i}" for i in range(1000)],
            actions=[f"a{i}" for i in range(1000)],
            memory={"nodes": [f"n{i}" for i in range(1000)]},
        ),
        "1000 nodes, 1000 observations and 1000 actions make more than 100000000 moves. "
        "Use fewer nodes, or a window.",
    ),
}


@pytest.mark.parametrize("case", BAD_DOCUMENTS)
def test_a_wrong_document_is_refused_with_place_fact_and_remedy(case):
    document, message = BAD_DOCUMENTS[case]
    told = refusal(document)
    tells(told, message)
    assert told.startswith("behavior.toml")


def test_neither_default_nor_otherwise_in_a_memory_too_large_to_look_through_is_refused():
    document = windowed(30, {"node": ["worn"] * 29, "action": "repair"})
    del document["default"]
    assert refusal(document).startswith(
        "behavior.toml: there is neither 'default' nor 'otherwise', but a window of 30 has more "
        "than 200000 nodes"
    )


def test_an_otherwise_within_an_otherwise_a_thousand_times_is_refused():
    document: dict[str, Any] = {"default": "keep"}
    for _ in range(3000):
        document = {"otherwise": document}
    assert "nested too deeply" in refusal(maintenance(default=None, **document))


# ---- the schema ---------------------------------------------------------------------------


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


def test_hand_written_documents_obey_the_schema():
    for document in (maintenance(), maintenance(exploration=0.02), WHOLE):
        controller_from_document(document)
        VALIDATOR.validate(document)


@pytest.mark.parametrize("case", OF_WRONG_SHAPE)
def test_the_schema_refuses_what_has_the_wrong_shape(case):
    assert not VALIDATOR.is_valid(OF_WRONG_SHAPE[case][0])
