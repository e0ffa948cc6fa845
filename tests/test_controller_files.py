"""Controllers as files: what people write, what jumar writes, and everything that is refused."""

from __future__ import annotations

import copy
import itertools
import json
import os
import re
import stat
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts import refuses, tells
from jumar.core.arrays import number_rows
from jumar.core.controller import Controller
from jumar.core.errors import ControllerError, JumarError, ParameterError
from jumar.core.memory import Memory, NamedNodes, Product, Window, product, window
from jumar.core.memory.refinement import join
from jumar.io.controllers import (
    controller_from_document,
    controller_to_document,
    load_controller,
    save_controller,
    schema,
)
from jumar.io.controllers.nodes import Alphabet, Nodes
from jumar.io.files import write_atomically

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


def test_in_the_maintenance_example_an_inspection_stays_due_until_it_is_made(tmp_path):
    memory = load_controller(write(tmp_path, EXAMPLE)).memory
    assert isinstance(memory, NamedNodes)
    inspected, due = 0, 1
    assert memory.initial().tolist() == [inspected]
    assert memory.next[inspected].tolist() == [[due, due, due]] * 2
    assert memory.next[due].tolist() == [[due, inspected, due]] * 2


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_of_the_page_loads_and_obeys_the_schema(block, tmp_path):
    assert len(block.splitlines()) <= 25
    path = write(tmp_path, block)
    load_controller(path)
    VALIDATOR.validate(tomllib.loads(block))


def test_the_page_shows_every_form_of_memory():
    text = "".join(BLOCKS)
    assert len(BLOCKS) >= 6
    for word in ("nodes =", "window =", "actions = true", "product =", "[otherwise]"):
        assert word in text


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


def test_a_star_says_the_same_as_leaving_the_key_out():
    stars = [
        {"node": "*", "observation": "worn", "action": "repair"},
        {"node": "due", "observation": "*", "action": "inspect"},
    ]
    moves = [
        {"node": "inspected", "observation": "*", "action": "*", "to": "due"},
        {"node": "due", "observation": "*", "action": "inspect", "to": "inspected"},
        {"node": "*", "to": "due"},
    ]
    memory = {"nodes": ["inspected", "due"], "start": "inspected", "moves": moves}
    starred = controller_from_document(maintenance(rules=stars, memory=memory))
    assert starred.same_as(controller_from_document(maintenance()))


def test_the_first_rule_that_fits_wins_whichever_is_the_exact_one():
    wide = {"observation": "worn", "action": "repair"}
    exact = {"node": ["good"], "observation": "worn", "action": "inspect"}
    first = controller_from_document(windowed(2, exact, wide))
    assert first.row(["good"], "worn").tolist() == [0, 1, 0]
    assert first.row(["worn"], "worn").tolist() == [0, 0, 1]
    assert first.row([""], "worn").tolist() == [0, 0, 1]
    assert "rule 1 comes first" in refusal(windowed(2, wide, exact))


def test_a_star_in_a_window_fits_any_observation_and_nothing_yet():
    c = controller_from_document(windowed(3, {"node": ["*", "worn"], "action": "repair"}))
    repaired = [
        node
        for node in itertools.product(["", "good", "worn"], repeat=2)
        if not (node[0] and not node[1]) and c.row(list(node), "good")[2] == 1
    ]
    assert repaired == [("", "worn"), ("good", "worn"), ("worn", "worn")]


def test_a_star_in_an_action_window_stands_for_a_pair_or_for_half_of_one():
    def repaired(node: list[Any]) -> int:
        return len(controller_from_document(windowed(2, rule(node), actions=True)).states) // 2

    def rule(node: list[Any]) -> dict[str, Any]:
        return {"node": node, "action": "repair"}

    assert repaired([["worn", "keep"]]) == 1
    assert repaired([["worn", "*"]]) == 3  # three actions
    assert repaired([["*", "keep"]]) == 2  # two observations: nothing yet has no action
    assert repaired(["*"]) == repaired([["*", "*"]]) == 1 + 2 * 3
    assert repaired([["", "*"]]) == repaired([["", ""]]) == 1


def test_a_star_in_a_product_stands_for_a_whole_part():
    memory = {"product": [maintenance()["memory"], {"window": 2}]}
    rules = [
        {"node": ["due", "*"], "action": "inspect"},
        {"node": ["*", ["worn"]], "action": "repair"},
    ]
    c = controller_from_document(maintenance(memory=memory, rules=rules))
    assert c.row(["due", ["worn"]], "good").tolist() == [0, 1, 0]
    assert c.row(["inspected", ["worn"]], "good").tolist() == [0, 0, 1]
    assert c.row(["inspected", ["good"]], "good").tolist() == [1, 0, 0]


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


def test_a_nested_document_may_repeat_what_it_would_take_over():
    same = {key: maintenance()[key] for key in ("format", "observations", "actions", "default")}
    short, long = {"default": "keep"}, same
    documents = [maintenance(default=None, otherwise=inner) for inner in (short, long)]
    one, other = map(controller_from_document, documents)
    assert one.same_as(other)


def test_reading_a_document_does_not_change_it():
    document = maintenance(exploration=0.1)
    before = copy.deepcopy(document)
    controller_from_document(document)
    assert document == before


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


# ---- what jumar writes --------------------------------------------------------------------

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


@st.composite
def exceptions(draw: st.DrawFn, memory: Memory) -> tuple[np.ndarray, np.ndarray]:
    """Some ⟨n, z⟩ with a row each."""
    O, A = memory.alphabet
    nodes = memory.enumerate()
    picks = st.tuples(st.integers(0, len(nodes) - 1), st.integers(0, O - 1))
    chosen = sorted(draw(st.sets(picks, max_size=6)))
    weights = st.lists(st.integers(0, 9), min_size=A, max_size=A).filter(any)
    rows = [np.array(draw(weights), float) for _ in chosen]
    states = [[*nodes[n], z] for n, z in chosen]
    return (
        np.array(states, np.int64).reshape(len(chosen), memory.width + 1),
        np.array([row / row.sum() for row in rows]).reshape(len(chosen), A),
    )


@st.composite
def controllers(draw: st.DrawFn) -> Controller:
    O, A = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    observations = tuple(draw(st.permutations(NAMES))[:O])
    actions = tuple(draw(st.permutations(NAMES))[:A])
    memory = draw(memories(O, A))
    default = np.array(draw(st.lists(st.integers(1, 9), min_size=A, max_size=A)), float)
    made = Controller(
        observations,
        actions,
        memory,
        *draw(exceptions(memory)),
        default / default.sum(),
        name=draw(st.sampled_from(["behavior", "", "größer"])),
    )
    for _ in range(draw(st.integers(0, 2))):
        finer = join(made.memory, draw(memories(O, A, deep=False)))
        made = made.lift(finer).except_at(*draw(exceptions(finer)), name="improved")
    return made


@bounded
@given(controllers())
def test_what_is_written_is_read_back_bit_for_bit(c):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.json")
        c.save(path)
        back = load_controller(path)
        assert back.same_as(c)
        assert back.name == c.name
        assert json.loads(path.read_text("utf-8")) == controller_to_document(c)
        save_controller(back, Path(folder, "again.json"))
        assert Path(folder, "again.json").read_bytes() == path.read_bytes()


@bounded
@given(controllers())
def test_what_is_written_obeys_the_schema_and_has_no_wildcards(c):
    document = controller_to_document(c)
    VALIDATOR.validate(document)
    assert "*" not in json.dumps(document)


@bounded
@given(st.data())
def test_nodes_are_written_and_read_as_the_memory_itself_does_it(data):
    names = ("good", "worn"), ("keep", "inspect", "repair")
    memory = data.draw(memories(2, 3))
    words = memory.enumerate()
    nodes = Nodes(memory, Alphabet(*names))
    written = nodes.write(words)
    assert written == [memory.read_node(row.tolist(), *names) for row in words]
    fields = np.array([nodes.read(node, "here") for node in written], np.int64)
    fields = fields.reshape(len(words), nodes.n_fields)
    assert memory.possible(fields).all()
    assert memory.from_fields(fields).tolist() == words.tolist()
    assert words.tolist() == [memory.write_node(node, *names) for node in written]


def long_window_controller(memory: Memory, n: int) -> Controller:
    rng = np.random.default_rng(7)
    memory = memory.on(5, 3)
    nodes = np.repeat(memory.initial()[None], n, 0)
    for _ in range(40):
        nodes = memory.step(nodes, rng.integers(5, size=n), rng.integers(3, size=n))
    states, _ = number_rows(np.column_stack([nodes, rng.integers(5, size=n)]))
    rows = rng.dirichlet(np.ones(3), len(states))
    return Controller(tuple("vwxyz"), tuple("abc"), memory, states, rows, np.full(3, 1 / 3))


@pytest.mark.parametrize(
    "memory", [window(30), window(30, actions=True), product(window(3), window(25))], ids=str
)
def test_ten_thousand_exact_rules_of_a_long_window_load_fast_and_list_no_nodes(
    memory, tmp_path, monkeypatch
):
    c = long_window_controller(memory, 10_000)
    assert len(c.states) == 10_000
    path = tmp_path / "long.json"
    c.save(path)

    def listed(*_: object) -> None:
        raise AssertionError("the memory was enumerated")

    monkeypatch.setattr(Memory, "enumerate", listed)
    began = time.perf_counter()
    back = load_controller(path)
    assert time.perf_counter() - began < 5  # 0.15 to 0.4 s where this was written
    assert back.same_as(c)


def test_an_exact_node_with_any_observation_lists_no_nodes_either():
    c = controller_from_document(windowed(30, {"node": ["worn"] * 29, "action": "repair"}))
    assert c.row(["worn"] * 29, "good").tolist() == [0, 0, 1]
    assert len(c.states) == 2


def test_an_improved_controller_is_written_as_its_exceptions():
    behavior = controller_from_document(maintenance(name="today"))
    lifted = behavior.lift(join(behavior.memory, window(2).on(2, 3)))
    states = lifted.state(["due", ["worn"]], "good")[None, :]
    better = lifted.except_at(states, np.array([[0.5, 0.0, 0.5]]), name="better")
    document = controller_to_document(better)
    assert document["name"] == "better"
    assert document["rules"] == [
        {
            "node": ["due", ["worn"]],
            "observation": "good",
            "action": {"keep": 0.5, "repair": 0.5},
        }
    ]
    assert "default" not in document
    inner = document["otherwise"]
    assert inner["name"] == "today"
    assert inner.keys().isdisjoint({"format", "observations", "actions"})
    assert controller_from_document(document).same_as(better)


def test_a_written_file_has_one_rule_on_a_line(tmp_path):
    controller_from_document(maintenance(name="today")).save(tmp_path / "c.json")
    assert (tmp_path / "c.json").read_text().splitlines()[-7:] == [
        '  "default": "keep",',
        '  "rules": [',
        '    {"node": "inspected", "observation": "worn", "action": "repair"},',
        '    {"node": "due", "observation": "good", "action": "inspect"},',
        '    {"node": "due", "observation": "worn", "action": "repair"}',
        "  ]",
        "}",
    ]


def test_probabilities_survive_to_the_last_bit(tmp_path):
    row = [0.1 + 0.2, 5e-324, 1 - (0.1 + 0.2)]
    c = Controller.constant(("good",), ("keep", "inspect", "repair"), row)
    c.save(tmp_path / "c.json")
    assert np.asarray(load_controller(tmp_path / "c.json").otherwise).tolist() == row


def test_a_negative_zero_comes_back_as_zero_and_an_almost_one_as_it_is():
    c = Controller.constant(("good",), ("keep", "repair"), [-0.0, 1.0])
    assert controller_to_document(c)["default"] == "repair"
    almost = np.nextafter(1, 2)
    c = Controller.constant(("good",), ("keep", "repair"), [0.0, almost])
    document = controller_to_document(c)
    assert document["default"] == {"repair": almost}
    VALIDATOR.validate(document)
    assert controller_from_document(document).same_as(c)


def test_saving_needs_the_ending_json(tmp_path):
    c = Controller.uniform(("good",), ("keep",))
    with refuses(ControllerError, ".json", "'improved.json'"):
        c.save(tmp_path / "improved.toml")
    assert os.listdir(tmp_path) == []


def test_a_row_for_a_node_that_does_not_exist_cannot_even_be_made():
    states = window(3).on(2, 1).pack(np.array([[0, 1]]))  # something, and then nothing yet
    with refuses(ControllerError, "window of 3"):
        Controller(
            ("good", "worn"),
            ("keep",),
            window(3),
            np.column_stack([states, [0]]),
            np.ones((1, 1)),
            np.ones(1),
        )


# ---- what is refused: the document --------------------------------------------------------


def with_rule(rule: Any, **changes: Any) -> dict[str, Any]:
    """The example with its second rule replaced."""
    return maintenance(rules=[maintenance()["rules"][0], rule], **changes)


def with_moves(*moves: Any) -> dict[str, Any]:
    return maintenance(memory={"nodes": ["inspected", "due"], "moves": list(moves)})


BAD_DOCUMENTS = {
    "an unknown action": (
        with_rule({"node": "due", "action": "repaire"}),
        "behavior.toml, rule 2: action 'repaire' is not one of keep, inspect, repair. "
        "Did you mean 'repair'?",
    ),
    "an unknown action among probabilities": (
        with_rule({"node": "due", "action": {"kep": 1.0}}),
        "behavior.toml, rule 2: action 'kep' is not one of keep, inspect, repair. "
        "Did you mean 'keep'?",
    ),
    "an unknown observation": (
        with_rule({"observation": "worm", "action": "keep"}),
        "behavior.toml, rule 2: observation 'worm' is not one of good, worn. Did you mean 'worn'?",
    ),
    "an unknown node": (
        with_rule({"node": "dew", "action": "keep"}),
        "behavior.toml, rule 2: node 'dew' is not one of inspected, due. Did you mean 'due'?",
    ),
    "an unknown action in the default": (
        maintenance(default="kep"),
        "behavior.toml, default: action 'kep' is not one of keep, inspect, repair.",
    ),
    "a sum that is not 1": (
        with_rule({"node": "due", "observation": "good", "action": {"keep": 0.5, "repair": 0.4}}),
        "behavior.toml, rule 2: probabilities sum to 0.9, not 1 "
        "(node 'due', observation 'good'). Write the row so that it sums to 1.",
    ),
    "no probabilities at all": (
        with_rule({"node": "due", "action": {}}),
        "behavior.toml, rule 2: probabilities sum to 0, not 1 (node 'due').",
    ),
    "a default that does not sum to 1": (
        maintenance(default={"keep": 0.5}),
        "behavior.toml, default: probabilities sum to 0.5, not 1.",
    ),
    "a negative probability": (
        with_rule({"node": "due", "action": {"keep": -0.5, "repair": 1.5}}),
        "behavior.toml, rule 2: -0.5 for action 'keep' is not a probability.",
    ),
    "an undefined probability": (
        with_rule({"node": "due", "action": {"keep": float("nan")}}),
        "behavior.toml, rule 2: nan for action 'keep' is not a probability.",
    ),
    "an infinite probability": (
        with_rule({"node": "due", "action": {"keep": float("inf")}}),
        "behavior.toml, rule 2: inf for action 'keep' is not a probability.",
    ),
    "a huge probability": (
        with_rule({"node": "due", "action": {"keep": 10**400}}),
        "for action 'keep' is not a probability. Write a number from 0 to 1.",
    ),
    "a number too long to print": (
        with_rule({"node": "due", "action": {"keep": 10**5000}}),
        "a number of thousands of digits for action 'keep' is not a probability.",
    ),
    "a probability that is text": (
        with_rule({"node": "due", "action": {"keep": "0.5"}}),
        "'0.5' for action 'keep' is not a probability. Write a number from 0 to 1.",
    ),
    "a probability that is true": (
        with_rule({"node": "due", "action": {"keep": True}}),
        "True for action 'keep' is not a probability.",
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
    "a rule that is text": (
        with_rule("keep"),
        "behavior.toml, rule 2: is text. Write {...}.",
    ),
    "a rule with a misspelt key": (
        with_rule({"node": "due", "acton": "keep"}),
        "behavior.toml, rule 2: key 'acton' is not one of node, observation, action. "
        "Did you mean 'action'?",
    ),
    "a default below a heading": (
        with_rule({"node": "due", "action": "keep", "default": "keep"}),
        "key 'default' is not one of node, observation, action. "
        "'default = ...' goes above the first [heading].",
    ),
    "one pair of brackets around rules": (
        maintenance(rules={"action": "keep"}),
        "behavior.toml, rules: is a table of keys and values. Write a list; as a heading in TOML "
        "it has two brackets: [[rules]].",
    ),
    "a misspelt key": (
        maintenance(explorations=0.1),
        "behavior.toml: key 'explorations' is not one of format, name, observations, actions, "
        "memory, exploration, default, rules, otherwise. Did you mean 'exploration'?",
    ),
    "a document that is a list": ([1], "behavior.toml: is a list. Write {...}."),
    "no format": (
        maintenance(format=None),
        "behavior.toml: there is no 'format'. Add format = \"jumar-controller/1\" at the top",
    ),
    "a misspelt format": (
        maintenance(format=None, fromat="jumar-controller/1"),
        "there is no 'format'. Is 'fromat' meant to be it?",
    ),
    "a newer format": (
        maintenance(format="jumar-controller/2", more={}),
        "behavior.toml: the file is of a newer format version 2; this jumar reads version 1. "
        "Update jumar.",
    ),
    "a much newer format": (maintenance(format="jumar-controller/10"), "newer format version 10"),
    "another format": (
        maintenance(format="jumar-certificate/1"),
        "behavior.toml: format 'jumar-certificate/1' is not 'jumar-controller/1'.",
    ),
    "an impossible version": (
        maintenance(format="jumar-controller/0"),
        "format 'jumar-controller/0' is not 'jumar-controller/1'.",
    ),
    "a format that is a number": (maintenance(format=1), "format 1 is not 'jumar-controller/1'."),
    "no observations": (
        maintenance(observations=None),
        "behavior.toml: there are no 'observations'. List their names: observations = ",
    ),
    "an empty list of actions": (
        maintenance(actions=[]),
        "behavior.toml: action names: there are none; at least one is needed.",
    ),
    "the same observation twice": (
        maintenance(observations=["good", "good"]),
        "behavior.toml: observation name 2: 'good' is also name 1. Names must differ.",
    ),
    "a reserved name": (
        maintenance(observations=["good", "*"]),
        "behavior.toml: observation name 2: '*' is reserved",
    ),
    "observations that are text": (
        maintenance(observations="good"),
        "behavior.toml, observations: is text. Write a list [...].",
    ),
    "an observation that is a number": (
        maintenance(observations=["good", 3]),
        "behavior.toml, observation 2: is a number. Write text in quotes.",
    ),
    "an observation that is a number too long to print": (
        maintenance(observations=["good", 10**5000]),
        "behavior.toml, observation 2: is a number. Write text in quotes.",
    ),
    "half a character": (
        maintenance(observations=["good", "\ud800"]),
        r"behavior.toml, observation 2: '\ud800' has half a character",
    ),
    "a name that is a number": (maintenance(name=3), "behavior.toml, name: is a number."),
    "an exploration of 1": (
        maintenance(exploration=1),
        "behavior.toml: exploration 1 is not a number from 0 up to, but not including, 1. "
        "Write 0.02 for 2 % of the time.",
    ),
    "a negative exploration": (maintenance(exploration=-0.1), "exploration -0.1 is not"),
    "an undefined exploration": (maintenance(exploration=float("nan")), "exploration nan is not"),
    "an exploration in words": (maintenance(exploration="2 %"), "exploration '2 %' is not"),
    "an exploration that is true": (maintenance(exploration=True), "exploration True is not"),
    "both default and otherwise": (
        maintenance(otherwise={"default": "keep"}),
        "behavior.toml: both 'default' and 'otherwise' say what to do where no rule fits. "
        "Remove one of them.",
    ),
    "neither default nor otherwise": (
        maintenance(default=None),
        "behavior.toml: there is neither 'default' nor 'otherwise', and no rule fits node "
        "'inspected', observation 'good'. Add default = \"keep\", or a rule that fits it.",
    ),
    "an otherwise that is text": (
        maintenance(default=None, otherwise="keep"),
        "behavior.toml, otherwise: is text. Write {...}.",
    ),
    "something wrong within otherwise": (
        maintenance(default=None, otherwise={"rules": [{"action": "kep"}], "default": "keep"}),
        "behavior.toml, otherwise, rule 1: action 'kep' is not one of keep, inspect, repair.",
    ),
    "other observations within otherwise": (
        maintenance(default=None, otherwise={"observations": ["good", "bad"], "default": "keep"}),
        "behavior.toml, otherwise: its observations (good, bad) differ from those of the "
        "controller around it (good, worn). Leave them out: they are taken over.",
    ),
    "another format within otherwise": (
        maintenance(default=None, otherwise={"format": "x", "default": "keep"}),
        "behavior.toml, otherwise: format 'x' is not 'jumar-controller/1'.",
    ),
    "an otherwise that remembers more": (
        maintenance(default=None, otherwise={"memory": {"window": 3}, "default": "keep"}),
        "behavior.toml: Memory 'table of 2 nodes' does not refine 'window of 3'",
    ),
    "the same rule twice": (
        windowed(
            30,
            {"node": ["worn"] * 29, "observation": "good", "action": "repair"},
            {"node": ["good"] * 29, "observation": "good", "action": "repair"},
            {"node": ["worn"] * 29, "observation": "good", "action": "keep"},
        ),
        "behavior.toml, rule 3: can never apply, because rule 1 comes first and fits everything "
        "it fits. Remove it, or move it up.",
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
    "a wildcard in the shadow of several": (
        windowed(
            2,
            {"node": ["worn"], "action": "repair"},
            {"node": [""], "action": "repair"},
            {"observation": "good", "action": "repair"},
            {"node": ["*"], "observation": "good", "action": "keep"},
        ),
        "behavior.toml, rule 4: can never apply, because",
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
    "no node in too large a memory": (
        windowed(30, {"observation": "worn", "action": "repair"}),
        "behavior.toml, rule 1: fits many nodes, but a window of 30 has more than 200000 nodes",
    ),
    "a window node of the wrong length": (
        windowed(3, {"node": ["worn"], "action": "repair"}),
        "behavior.toml, rule 1: ['worn'] is not a list of 2: [observation, observation]. A window "
        "of 3 needs a list of the 2 earlier observations, oldest first",
    ),
    "a window pattern of the wrong length": (
        windowed(3, {"node": ["*"], "action": "repair"}),
        "behavior.toml, rule 1: ['*'] is not a list of 2: [observation, observation].",
    ),
    "a window node with an unknown name": (
        windowed(3, {"node": ["*", "worm"], "action": "repair"}),
        "behavior.toml, rule 1: observation 'worm' is not one of good, worn. Did you mean 'worn'?",
    ),
    "something before nothing": (
        windowed(3, {"node": ["worn", ""], "action": "repair"}),
        "behavior.toml, rule 1: node ['worn', ''] does not exist in a window of 3. A window of 3 "
        'needs a list of the 2 earlier observations, oldest first; "" (nothing yet) can only stand '
        "before the first.",
    ),
    "a pattern of something before nothing": (
        windowed(4, {"node": ["worn", "", "*"], "action": "repair"}),
        "behavior.toml, rule 1: node ['worn', '', '*'] fits nothing that can ever be remembered. "
        "Correct the node, or remove the rule.",
    ),
    "a node with a number in it": (
        windowed(3, {"node": ["worn", 3], "action": "repair"}),
        "behavior.toml, rule 1: the node holds a number. Write nodes as names in quotes",
    ),
    "a node with a number too long to print in it": (
        windowed(3, {"node": ["worn", 10**5000], "action": "repair"}),
        "behavior.toml, rule 1: the node holds a number. Write nodes as names in quotes",
    ),
    "a node that is a table": (
        windowed(3, {"node": {}, "action": "repair"}),
        "behavior.toml, rule 1: the node holds a table of keys and values.",
    ),
    "a pair that is none": (
        windowed(2, {"node": ["worn"], "action": "repair"}, actions=True),
        "behavior.toml, rule 1: 'worn' is not a list of 2: [observation, action].",
    ),
    "a pair with an unknown action": (
        windowed(3, {"node": [["", "*"], ["*", "kep"]], "action": "repair"}, actions=True),
        "behavior.toml, rule 1: action 'kep' is not one of keep, inspect, repair.",
    ),
    "half a pair of nothing": (
        windowed(2, {"node": [["", "keep"]], "action": "repair"}, actions=True),
        "behavior.toml, rule 1: node [['', 'keep']] does not exist in a window of 2 with actions.",
    ),
    "a product node of the wrong length": (
        maintenance(
            memory={"product": [{"window": 2}, {"window": 1}]},
            rules=[{"node": [["worn"]], "action": "keep"}],
        ),
        "behavior.toml, rule 1: [['worn']] is not a list of 2: [[observation], []].",
    ),
    "a product node with an unknown name": (
        maintenance(
            memory={"product": [{"window": 2}, maintenance()["memory"]]},
            rules=[{"node": ["*", "dew"], "action": "keep"}],
        ),
        "behavior.toml, rule 1: node 'dew' is not one of inspected, due. Did you mean 'due'?",
    ),
    "a product pattern that cannot be": (
        maintenance(
            memory={"product": [{"window": 2}, {"window": 3}]},
            rules=[{"node": [["good"], ["*", "worn"]], "action": "keep"}],
        ),
        "fits nothing that can ever be remembered.",
    ),
    "a move that is missing": (
        with_moves({"node": "inspected", "to": "due"}, {"action": "inspect", "to": "inspected"}),
        "behavior.toml, memory: no move fits node 'due', observation 'good', action 'keep'. "
        'Add one at the end, such as { node = "due", to = "due" }.',
    ),
    "no moves": (
        maintenance(memory={"nodes": ["inspected", "due"]}),
        "behavior.toml, memory: no move fits node 'inspected', observation 'good', action 'keep'.",
    ),
    "a move to nowhere": (
        with_moves({"node": "inspected"}),
        'behavior.toml, memory, move 1: does not say where to go. Add to = "inspected".',
    ),
    "a move to an unknown node": (
        with_moves({"to": "dew"}),
        "behavior.toml, memory, move 1: node 'dew' is not one of inspected, due. "
        "Did you mean 'due'?",
    ),
    "a move on an unknown action": (
        with_moves({"to": "due", "action": "inspekt"}),
        "behavior.toml, memory, move 1: action 'inspekt' is not one of keep, inspect, repair.",
    ),
    "a move with a misspelt key": (
        with_moves({"too": "due"}),
        "behavior.toml, memory, move 1: key 'too' is not one of node, observation, action, to. "
        "Did you mean 'to'?",
    ),
    "a move that never happens": (
        with_moves({"to": "due"}, {"node": "due", "to": "inspected"}),
        "behavior.toml, memory, move 2: can never apply, because move 1 comes first",
    ),
    "an unknown start": (
        maintenance(memory={**maintenance()["memory"], "start": "dew"}),
        "behavior.toml, memory, start: node 'dew' is not one of inspected, due.",
    ),
    "a memory of two kinds": (
        maintenance(memory={**maintenance()["memory"], "window": 2}),
        "behavior.toml, memory: nodes and window of nodes, product, window",
    ),
    "a memory of no kind": (
        maintenance(memory={}),
        "behavior.toml, memory: none of nodes, product, window",
    ),
    "a memory with a misspelt key": (
        maintenance(memory={"windw": 2}),
        "behavior.toml, memory: key 'windw' is not one of",
    ),
    "a key of another kind of memory": (
        maintenance(memory={"window": 2, "moves": []}),
        "behavior.toml, memory: key 'moves' is not one of window, actions.",
    ),
    "a memory that is a number": (
        maintenance(memory=3),
        "behavior.toml, memory: is a number. Write {...}.",
    ),
    "a window of 0": (
        windowed(0),
        "behavior.toml, memory: window: length 0 must be a whole number from 1 (only the current "
        "observation) to 1000.",
    ),
    "a window of a billion": (windowed(10**9), "length 1000000000 must be a whole number from 1"),
    "a window of one and a half": (
        maintenance(memory={"window": 1.5}),
        "window: 1.5 is not",
    ),
    "a window of true": (
        maintenance(memory={"window": True}),
        "window: True is not",
    ),
    "actions in words": (
        maintenance(memory={"window": 2, "actions": "yes"}),
        "behavior.toml, memory, actions: is text. Write true or false.",
    ),
    "an empty product": (
        maintenance(memory={"product": []}),
        "behavior.toml, memory: the product is empty. List at least one memory.",
    ),
    "something wrong in a part": (
        maintenance(memory={"product": [{"window": 2}, {"window": -1}]}),
        "behavior.toml, memory, part 2: window: length -1 must be a whole number",
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


def test_a_rule_in_the_shadow_of_a_wildcard_and_of_an_exact_rule_names_both():
    document = windowed(
        2,
        {"node": ["worn"], "observation": "good", "action": "repair"},
        {"node": ["*"], "observation": "worn", "action": "repair"},
        {"node": ["worn"], "action": "keep"},
    )
    assert "because earlier rules, 1, 2, fit everything it fits" in refusal(document)


# ---- what is refused: the file ------------------------------------------------------------

VALID_JSON = json.dumps(maintenance(), indent=1)

BAD_FILES = {
    "cut off JSON": (
        "b.json",
        VALID_JSON[: len(VALID_JSON) // 2],
        "JSON: seems to be cut off",
    ),
    "JSON that ends within text": (
        "b.json",
        '{"format": "jumar-contr',
        "b.json, line 1, column 12: not valid JSON",
    ),
    "a missing comma": (
        "b.json",
        '{"format": "jumar-controller/1"\n "name": "x"}',
        "b.json, line 2, column 2: not valid JSON: Expecting ',' delimiter. Correct it there",
    ),
    "wrong TOML": (
        "b.toml",
        'format = "jumar-controller/1"\nname = two-yearly\n',
        "b.toml, line 2, column 8: not valid TOML: Invalid value. Correct it there; text stands",
    ),
    "cut off TOML": (
        "b.toml",
        EXAMPLE[: EXAMPLE.index("]", 200)],
        "b.toml: not valid TOML",
    ),
    "the same key twice in TOML": (
        "b.toml",
        'name = "x"\nname = "y"\n',
        "b.toml, line 2, column 11: not valid TOML: Cannot overwrite a value",
    ),
    "the same key twice in JSON": (
        "b.json",
        '{"name": "x", "format": "jumar-controller/1", "name": "y"}',
        "b.json: the key 'name' stands twice in one object. Remove one of them",
    ),
    "binary": (
        "b.json",
        b"PAR1\x00\xff\xfe\x80",
        "b.json: not UTF-8 text (byte 6 is 0xff). Save the file as UTF-8",
    ),
    "UTF-16": (
        "b.toml",
        EXAMPLE.encode("utf-16"),
        "b.toml: not UTF-8 text (byte 1 is 0xff)",
    ),
    "zeros": ("b.bin", b"\x00" * 100, "b.bin: not valid TOML"),
    "nothing": ("b.toml", "", 'b.toml: the file is empty. A controller begins with format = "'),
    "white space": ("b.json", " \n", "b.json: the file is empty"),
    "only a comment": ("b.toml", "# behavior\n", "b.toml: there is no 'format'"),
    "a JSON list": ("b.json", "[1]", "b.json: is a list. Write {...}"),
    "deep JSON": (
        "b.json",
        "[" * 100_000,
        "b.json: nested too deeply to be a controller. Nest fewer",
    ),
    "deep JSON objects": (
        "b.json",
        '{"otherwise":' * 100_000,
        "b.json: nested too deeply",
    ),
    "deep TOML": ("b.toml", "a = " + "[" * 100_000, "b.toml: nested too deeply"),
    "not a number in JSON": (
        "b.json",
        json.dumps(with_rule({"node": "due", "action": {"keep": float("nan")}})),
        "b.json, rule 2: nan for action 'keep' is not a probability",
    ),
    "infinity in JSON": (
        "b.json",
        json.dumps(maintenance(exploration=float("inf"))),
        "b.json: exploration inf is not",
    ),
    "a number beyond all floats": (
        "b.json",
        json.dumps(maintenance(exploration=0.125)).replace("0.125", "1e999"),
        "b.json: exploration inf is not",
    ),
    "a number of 5000 digits in JSON": (
        "b.json",
        json.dumps(maintenance(exploration=0.125)).replace("0.125", "1" * 5000),
        "b.json: a number has too many digits",
    ),
    "a number of 5000 digits in TOML": (
        "b.toml",
        EXAMPLE.replace("0.02", "0x1" + "0" * 5000),
        "b.toml: exploration a number of thousands of digits is not a number from 0",
    ),
    "nan in TOML": (
        "b.toml",
        EXAMPLE.replace("0.02", "nan"),
        "b.toml: exploration nan is not",
    ),
    "a date in TOML": (
        "b.toml",
        EXAMPLE.replace('"two-yearly inspection"', "1979-05-27"),
        "b.toml, name: is a date. Write text in quotes",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_wrong_file_is_refused_with_place_fact_and_remedy(case, tmp_path):
    name, content, message = BAD_FILES[case]
    with pytest.raises(ControllerError) as caught:
        load_controller(write(tmp_path, content, name))
    tells(caught.value, message)


def test_a_missing_file_is_refused_and_a_similar_name_offered(tmp_path):
    write(tmp_path, EXAMPLE)
    with refuses(ControllerError, "no such file", "behavior.toml'"):
        load_controller(tmp_path / "behaviour.toml")
    with refuses(ControllerError, "no such file", "path"):
        load_controller(tmp_path / "x.json")
    with refuses(ControllerError, "no directory"):
        load_controller(tmp_path / "nowhere" / "behavior.toml")


def test_a_directory_is_not_a_controller(tmp_path):
    with refuses(ControllerError, "a directory", "path"):
        load_controller(tmp_path)


def test_an_impossible_path_is_refused():
    with pytest.raises(ControllerError, match="cannot be read"):
        load_controller("a\0b.toml")


@bounded
@given(st.binary(max_size=300), st.sampled_from([".json", ".toml", ""]))
def test_random_bytes_only_ever_raise_our_own_errors(content, ending):
    loads_or_refuses(content, ending)


@settings(bounded, max_examples=300)
@given(st.data(), st.sampled_from([".json", ".toml"]))
def test_a_mutated_file_only_ever_raises_our_own_errors(data, ending):
    text = bytearray((VALID_JSON if ending == ".json" else EXAMPLE).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 5))
        pieces = st.one_of(
            st.binary(max_size=3),
            st.sampled_from([b'"*"', b"9", b"{", b"]", b"-", b"\n", b"[[", b"1e9", b"\\ud800"]),
        )
        text[at : at + length] = data.draw(pieces)
        if not text:
            break
    loads_or_refuses(bytes(text), ending)


def loads_or_refuses(content: bytes, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), content, f"c{ending}")
        try:
            c = load_controller(path)
        except JumarError as error:
            assert str(error).startswith(str(path))  # noqa: PT017
        else:
            assert controller_from_document(controller_to_document(c)).same_as(c)


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.sampled_from(["*", "", "worn", "due", "keep", "\ud800", "jumar-controller/1"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["node", "action", "window", "nodes", "keep", "default", "x"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)

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


@settings(bounded, max_examples=300)
@given(st.data())
def test_a_document_with_anything_anywhere_only_ever_raises_our_own_errors(data):
    document = copy.deepcopy(WHOLE)
    where: Any = document
    while True:
        keys = list(where) if isinstance(where, dict) else list(range(len(where)))
        key = data.draw(st.sampled_from(keys))
        inside = where[key]
        if not isinstance(inside, dict | list) or not inside or data.draw(st.booleans()):
            break
        where = inside
    where[key] = data.draw(ANYTHING)
    try:
        c = controller_from_document(document)
    except ControllerError:
        return
    VALIDATOR.validate(document)  # what is read also obeys the schema
    assert controller_from_document(controller_to_document(c)).same_as(c)


# ---- the schema ---------------------------------------------------------------------------


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


def test_each_call_gives_a_schema_of_its_own():
    schema().clear()
    assert schema()["$schema"].endswith("2020-12/schema")


def test_hand_written_documents_obey_the_schema():
    for document in (maintenance(), maintenance(exploration=0.02), WHOLE):
        controller_from_document(document)
        VALIDATOR.validate(document)


SHAPES = [  # what a schema can see: not names, sums, shadows or sizes
    "a negative probability",
    "no probabilities at all",
    "a probability that is text",
    "a probability that is true",
    "an action that is a list",
    "a rule without an action",
    "a rule that is text",
    "a rule with a misspelt key",
    "one pair of brackets around rules",
    "a misspelt key",
    "a document that is a list",
    "no format",
    "a newer format",
    "no observations",
    "an empty list of actions",
    "the same observation twice",
    "a reserved name",
    "observations that are text",
    "an observation that is a number",
    "a name that is a number",
    "an exploration of 1",
    "an exploration in words",
    "both default and otherwise",
    "an otherwise that is text",
    "another format within otherwise",
    "a node with a number in it",
    "a node that is a table",
    "no moves",
    "a move to nowhere",
    "a move with a misspelt key",
    "a memory of two kinds",
    "a memory of no kind",
    "a key of another kind of memory",
    "a window of 0",
    "a window of a billion",
    "a window of one and a half",
    "actions in words",
    "an empty product",
    "something wrong in a part",
]


@pytest.mark.parametrize("case", SHAPES)
def test_the_schema_refuses_what_has_the_wrong_shape(case):
    assert not VALIDATOR.is_valid(BAD_DOCUMENTS[case][0])


# ---- writing files ------------------------------------------------------------------------


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "note.txt"
    write_atomically(path, "größer")
    write_atomically(str(path), b"bytes")
    assert path.read_bytes() == b"bytes"
    assert os.listdir(tmp_path) == ["note.txt"]


def test_a_new_file_obeys_the_umask_and_a_replaced_one_keeps_its_permissions(tmp_path):
    path, other = tmp_path / "note.txt", tmp_path / "other.txt"
    other.touch()
    write_atomically(path, "1")
    assert path.stat().st_mode == other.stat().st_mode
    path.chmod(0o640)
    write_atomically(path, "2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link.txt").symlink_to(tmp_path / "note.txt")
    write_atomically(tmp_path / "link.txt", "1")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "note.txt").read_text() == "1"


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(
    step, failure, tmp_path, monkeypatch
):
    path = tmp_path / "note.txt"
    write_atomically(path, "old")

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(os, step, fail)
    expected = ParameterError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        write_atomically(path, "new")
    if expected is ParameterError:
        assert "note.txt: cannot be written (No space left on device)" in str(caught.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["note.txt"]


def test_a_directory_that_does_not_exist_is_named(tmp_path):
    with refuses(ParameterError, "c.json", "no directory", "nowhere'", "create"):
        save_controller(Controller.uniform(("z",), ("a",)), tmp_path / "nowhere" / "c.json")
    write(tmp_path, "x", "file")
    with refuses(ParameterError, "no directory", "file'"):
        write_atomically(tmp_path / "file" / "c.json", "1")


def test_a_missing_permission_is_named(tmp_path, monkeypatch):
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with refuses(ParameterError, "permission", "choose another"):
        write_atomically(tmp_path / "note.txt", "1")


def test_a_directory_and_a_device_are_not_overwritten(tmp_path):
    with refuses(ParameterError, "a directory", "name of a file"):
        write_atomically(tmp_path, "1")
    with refuses(ParameterError, "regular file", "another path"):
        write_atomically(os.devnull, "1")


def test_text_that_is_no_text_and_an_impossible_path_are_refused(tmp_path):
    with refuses(ParameterError, "half a character", "position 2"):
        write_atomically(tmp_path / "note.txt", "a\ud800")
    with pytest.raises(ParameterError, match="Choose another path"):
        write_atomically("a\0b", "1")
    assert os.listdir(tmp_path) == []


def test_a_window_in_a_file_is_a_window_in_the_program():
    assert controller_from_document(windowed(4)).memory == Window(4).on(2, 3)
