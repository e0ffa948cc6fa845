"""`jumar show`: a controller, the difference of two, and either of them drawn."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from commands import RULE, run_command
from facts import refuses, says
from jumar.core.errors import ControllerError, ParameterError, TooLarge
from jumar.memory import NamedNodes, product, window
from jumar.policy.controller import Controller
from jumar.show.differences import difference, difference_data, on_one_memory
from jumar.show.terminal import as_text, controller_view, difference_view
from strategies import controllers, names

SEEN, DONE = ("good", "worn"), ("keep", "repair")
KEEP, REPAIR, EITHER = [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]


def keeping(memory=None, name: str = "keep", row=KEEP) -> Controller:
    return Controller.constant(SEEN, DONE, row, memory, name=name)


# ---------------------------------------------------------------- where two differ


def test_one_rule_of_two_differs():
    now = keeping().except_at(np.array([[1]]), np.array([REPAIR]), name="repair")
    found = difference(keeping(), now)
    assert found.states.tolist() == [[1]]
    assert (found.old.tolist(), found.new.tolist()) == ([KEEP], [REPAIR])
    assert (found.compared, found.rest, found.same) == (2, None, False)


def test_two_memories_are_compared_over_what_both_remember():
    """Repair on seeing worn twice, against repair on seeing it at all: they differ when worn is
    seen for the first time, at the start and after good."""
    at_all = keeping().except_at(np.array([[1]]), np.array([REPAIR]))
    patient = keeping(window(2))
    twice = patient.except_at(patient.state(["worn"], "worn")[None, :], np.array([REPAIR]))
    found = difference(at_all, twice)
    assert str(found.memory) == "window of 2"
    assert found.compared == 6
    nodes = [found.memory.read_node(s[:-1], SEEN, DONE) for s in found.states.tolist()]
    assert nodes == [[""], ["good"]]
    assert (found.old[:, 1].tolist(), found.new[:, 1].tolist()) == ([1, 1], [0, 0])


def test_memories_of_which_neither_knows_the_other_are_set_side_by_side():
    odd = NamedNodes(("even", "odd"), [[[1, 1]] * 2, [[0, 0]] * 2])
    found = difference(keeping(odd), keeping(window(2)))
    assert str(found.memory) == "table of 2 nodes × window of 2"
    assert found.same


def test_a_difference_nobody_can_come_to_is_none():
    """The second node is entered by repairing only, which neither does."""
    memory = NamedNodes(("new", "repaired"), [[[0, 1]] * 2, [[0, 1]] * 2])
    one, other = keeping(memory), keeping(memory).except_at(np.array([[1, 0]]), np.array([REPAIR]))
    found = difference(one, other)
    assert found.same
    assert found.compared == 2
    # once one of them repairs, the other node counts as well
    repairing = other.except_at(np.array([[0, 1]]), np.array([EITHER]))
    assert difference(one, repairing).states.tolist() == [[0, 1], [1, 0]]


def test_rounding_is_no_difference():
    third = keeping(row=[1 / 3, 2 / 3])
    assert difference(third, keeping(row=[0.1 + 0.7 / 3, 1 - (0.1 + 0.7 / 3)])).same
    assert not difference(third, keeping(row=[0.3333, 0.6667])).same


@given(st.data())
def test_a_lifted_controller_behaves_the_same(data):
    controller = data.draw(controllers(names("z", 2), names("a", 2)))
    lifted = controller.lift(product(controller.memory, window(2)))
    assert difference(controller, lifted).same
    assert difference(lifted, controller).same


@given(controllers(names("z", 2), names("a", 2)), controllers(names("z", 2), names("a", 2)))
def test_what_differs_is_found_by_walking_through_it(was, now):
    """The slow, obvious twin: follow each of the two alone, and look at both wherever it comes."""
    memories = was.memory, now.memory

    def rows(pair, z):
        return [
            c.rows_at(np.array([[*node, z]]))[0] for c, node in zip((was, now), pair, strict=True)
        ]

    def step(pair, z, a):
        z, a = np.array([z]), np.array([a])
        moved = (
            m.step(np.array([node], np.int64).reshape(1, m.width), z, a)[0]
            for m, node in zip(memories, pair, strict=True)
        )
        return tuple(tuple(node.tolist()) for node in moved)

    seen = set()
    for leader in range(2):
        todo = [tuple(tuple(m.initial().tolist()) for m in memories)]
        met = set(todo)
        while todo:
            pair = todo.pop()
            for z in range(2):
                for a in np.flatnonzero(rows(pair, z)[leader]).tolist():
                    following = step(pair, z, a)
                    if following not in met:
                        met.add(following)
                        todo.append(following)
        seen |= met
    wanted = {
        (pair, z) for pair in seen for z in range(2) if not np.allclose(*rows(pair, z), 0, 1e-9)
    }
    found = difference(was, now)
    # one node of the joint memory stands for all pairs it determines: compare what is done there
    assert bool(wanted) == (not found.same)
    told = {
        (tuple(o), tuple(n)) for o, n in zip(found.old.tolist(), found.new.tolist(), strict=True)
    }
    for pair, z in wanted:
        old, new = rows(pair, z)
        old = np.where(np.abs(old - new) <= 1e-9, new, old)
        assert (tuple(old.tolist()), tuple(new.tolist())) in told


def test_a_long_memory_is_compared_where_it_has_rules_of_its_own():
    """A window of 12 on 7 observations has two thousand million nodes."""
    seven = names("z", 7)
    base = Controller.constant(seven, DONE, KEEP, name="keep")
    long = base.lift(window(12))
    start = np.array([[*long.memory.initial(), 3]])
    now = long.except_at(start, np.array([REPAIR]), name="repair")
    found = difference(base, now)
    assert found.states.tolist() == start.tolist()
    assert (found.compared, found.rest) == (None, None)
    assert difference(now, now).same
    # what both fall back on differs too: everywhere, over no memory at all
    other = Controller.constant(seven, DONE, EITHER, name="either")
    below = difference(other, now)
    assert below.states.tolist() == start.tolist()
    assert below.rest is not None
    assert (len(below.rest.states), below.rest.compared) == (7, 7)
    text = " ".join(as_text(difference_view(below), 80).split())
    says(text, "differ 1 situation", "window of 1", "differ in 7 of 7 situations")
    assert difference_data(below)["everywhere_else"]["history_states"] == 7


def test_two_long_memories_that_do_not_know_each_other_cannot_be_compared():
    coin = NamedNodes(("even", "odd"), [[[1, 0]] * 2, [[0, 1]] * 2])  # the parity of repairs
    with refuses(TooLarge, "keep", "window of 30", "parity", "table of 2"):
        difference(keeping(window(30)), keeping(coin, name="parity"))


def test_other_names_cannot_be_compared():
    other = Controller.constant(("good", "broken"), DONE, KEEP, name="other")
    with refuses(ControllerError, "observations", "good, worn", "good, broken"):
        difference(keeping(), other)
    turned = Controller.constant(SEEN, DONE[::-1], KEEP, name="turned")
    with refuses(ControllerError, "actions", "keep, repair", "repair, keep", "order"):
        difference(keeping(), turned)


def test_both_get_the_memory_of_the_second_if_it_knows_enough():
    fine = keeping(window(3))
    assert on_one_memory(keeping(window(2)), fine)[1] is fine
    assert on_one_memory(fine, keeping(window(2)))[0] is fine


# ---------------------------------------------------------------- in a terminal


def test_a_difference_letter_by_letter():
    now = keeping().except_at(np.array([[1]]), np.array([EITHER]), name="careful")
    assert as_text(difference_view(difference(keeping(), now)), 80).strip() == (
        "From keep to careful\n"
        "  compared over  window of 1\n"
        "  differ         1 of 2 situations that one of them can come to\n"
        "\n"
        "  seen now   does: was → is\n"
        "  ──────────────────────────\n"
        "  worn       keep 100% → 50%\n"
        "             repair 0% → 50%"
    )


def test_a_long_difference_is_cut():
    many = names("z", 9)
    was, now = (Controller.constant(many, DONE, row) for row in (KEEP, REPAIR))
    text = as_text(difference_view(difference(was, now), most=2), 80)
    assert "... and 7 more situations" in text
    assert "z2" not in text
    with pytest.raises(ParameterError, match="0 rows"):
        difference_view(difference(was, now), most=0)


# ---------------------------------------------------------------- the command


@pytest.fixture
def show(capsys, monkeypatch, tmp_path):
    """Runs `jumar show` in a folder with two controllers; code, output, errors."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("rule.toml").write_text(RULE)
    rule = jm.load_controller("rule.toml")
    state = rule.state("due", "worn")[None, :]
    rule.except_at(state, np.array([[0.0, 0.5, 0.5]]), name="improved").save("improved.json")

    def run(*arguments: object) -> tuple[int, str, str]:
        done = run_command(capsys, "show", *arguments)
        return done.code, done.out, done.err

    return run


def test_a_rule_written_by_hand(show):
    code, printed, _ = show("rule.toml")
    assert code == 0
    for words in ("inspect every second year", "table of 2 nodes", "98.7%", "goes to", "due"):
        assert words in printed
    document = json.loads(show("rule.toml", "--json")[1])
    assert document["format"] == "jumar-controller/1"
    assert document["actions"] == ["keep", "inspect", "repair"]
    Path("back.json").write_text(json.dumps(document))
    assert jm.load_controller("back.json").same_as(jm.load_controller("rule.toml"))


def test_the_difference_of_two(show):
    code, printed, _ = show("rule.toml", "improved.json")
    assert code == 0
    text = " ".join(printed.split())
    assert "From inspect every second year to improved" in text
    assert "1 of 6 situations that one of them can come to" in text
    assert "due worn inspect 0.7% → 50% repair 98.7% → 50% dropped: keep 0.7%" in text
    assert "they behave the same everywhere" in show("rule.toml", "rule.toml")[1]


def test_the_difference_for_machines(show):
    data = json.loads(show("rule.toml", "improved.json", "--json")[1])
    assert (data["was"], data["is"]) == ("rule.toml", "improved.json")
    assert (data["same"], data["history_states"], data["everywhere_else"]) == (False, 6, None)
    (one,) = data["differences"]
    assert (one["node"], one["observation"]) == ("due", "worn")
    assert one["is"] == {"inspect": 0.5, "repair": 0.5}
    assert sum(one["was"].values()) == pytest.approx(1)
    assert json.loads(show("rule.toml", "rule.toml", "--json")[1])["differences"] == []


def test_a_picture_of_one(show):
    code, printed, _ = show("rule.toml", "-o", "rule.svg")
    assert code == 0
    assert printed.splitlines()[-1] == "Wrote rule.svg"
    svg = Path("rule.svg").read_text("utf-8")
    assert svg.startswith("<svg ")
    assert "▲" not in svg
    assert show("improved.json", "-o", "improved.svg")[0] == 0
    assert "▲ worn" in Path("improved.svg").read_text("utf-8")  # against what it improves on


@pytest.mark.parametrize(("name", "begin"), [("rule.PNG", b"\x89PNG"), ("rule.pdf", b"%PDF")])
def test_a_picture_for_slides_and_print(show, name, begin):
    code, printed, _ = show("rule.toml", "-o", name)
    assert (code, printed.splitlines()[-1]) == (0, f"Wrote {name}")
    assert Path(name).read_bytes().startswith(begin)


def test_a_picture_of_the_difference(show):
    assert show("rule.toml", "improved.json", "-o", "change.DOT")[0] == 0
    dot = Path("change.DOT").read_text("utf-8")
    assert dot.startswith("digraph controller {")
    assert "▲ worn" in dot
    assert "(1 of 6 situations)" in dot
    backwards = show("improved.json", "rule.toml", "--json", "-o", "back.svg")
    assert json.loads(backwards[1])["differences"][0]["was"] == {"inspect": 0.5, "repair": 0.5}
    assert "▲ worn" in Path("back.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rule.toml", "-o", "picture.gif"], 2, "picture.gif: a picture is written as SVG, PNG"),
        (["rule.toml", "-o", "nowhere/picture.svg"], 2, "there is no directory 'nowhere'"),
        (["rule.toml", "none.toml", "-o", "picture.svg"], 1, "none.toml"),
        (["rule.toml", "other.toml", "-o", "picture.svg"], 1, "cannot be compared: the actions"),
    ],
)
def test_what_cannot_be_shown_leaves_nothing_behind(show, arguments, code, message):
    Path("other.toml").write_text(re.sub('"repair"', '"replace"', RULE))
    before = sorted(Path.cwd().iterdir())
    got, out, told = show(*arguments)
    assert (got, out) == (code, "")
    assert message in told
    assert sorted(Path.cwd().iterdir()) == before


def test_moves_that_most_actions_make_are_said_once(tmp_path):
    """Three actions lead on and one does not: two moves instead of four, read back the same."""
    goes = [[[1, 1, 0, 1]], [[0, 1, 1, 0]]]
    memory = NamedNodes(("a", "b"), goes)
    controller = Controller.uniform(("z",), ("w", "x", "y", "u"), memory)
    moves = memory.on(1, 4).moves(("z",), ("w", "x", "y", "u"))
    assert moves == [
        {"node": "a", "observation": "z", "action": "y", "to": "a"},
        {"node": "a", "observation": "z", "to": "b"},
        {"node": "b", "observation": "z", "action": "x", "to": "b"},
        {"node": "b", "observation": "z", "action": "y", "to": "b"},
        {"node": "b", "observation": "z", "to": "a"},
    ]
    controller.save(tmp_path / "c.json")
    assert np.array_equal(jm.load_controller(tmp_path / "c.json").memory.next, goes)
    said = as_text(controller_view(controller))
    assert re.findall(r"(y|x|anything(?: else)?) +[ab]$", said, re.MULTILINE) == [
        "y", "anything else", "x", "y", "anything else",
    ]  # fmt: skip
