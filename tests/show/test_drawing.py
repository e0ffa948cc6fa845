"""Controllers as pictures: what stands in them is true, and no name breaks out of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import ControllerError, ParameterError
from jumar.core.text import shown
from jumar.memory import NamedNodes, history_states, window
from jumar.memory.reach import reachable
from jumar.policy.controller import Controller
from jumar.policy.files import load_controller
from jumar.show.drawing import MOST_ROWS, draw
from jumar.show.drawing.dot import INK, text_of
from jumar.show.drawing.graph import describe, drawn_states, graph_of
from jumar.show.drawing.svg import render
from results import Color, contrast, rgb
from strategies import controllers, names

SEEN, DONE = ("nothing seen", "good", "worn"), ("keep", "inspect", "repair")
DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
KEEP, INSPECT, REPAIR = np.eye(3)


def schedule() -> Controller:
    """Inspect every second year; repair what is worn."""
    turns = NamedNodes(("inspected", "due"), [[[1] * 3] * 3, [[0] * 3] * 3])
    states = [[n, z] for n in range(2) for z in range(3)]
    rows = [KEEP, KEEP, REPAIR, INSPECT, INSPECT, REPAIR]
    return Controller(SEEN, DONE, turns, states, rows, KEEP, name="schedule")


def improved() -> Controller:
    """The schedule, but half of what is worn right after an inspection is kept."""
    return schedule().except_at(np.array([[0, 2]]), np.array([[0.5, 0, 0.5]]), name="improved")


def circle(size: int, behavior: bool = True) -> Controller:
    """Nodes 0, 1, ..., size - 1 and round again; 3 situations each, all to keep."""
    to = (np.arange(size) + 1) % size
    memory = NamedNodes(names("year ", size), np.broadcast_to(to[:, None, None], (size, 3, 3)))
    return Controller.constant(SEEN, DONE, KEEP, memory, name="circle")


def texts(svg: str) -> list[str]:
    """The texts of a drawing; the marks that keep lines from left to right are no part of them."""
    return [(e.text or "").replace("\u200e", "") for e in ET.fromstring(svg).iter(f"{SVG}text")]


def graph(controller: Controller, behavior: Controller | None = None, visits=None):
    nodes = reachable(controller)
    states = history_states(nodes, len(controller.observations))
    boxes, arrows = graph_of(nodes, drawn_states(states, controller, behavior, visits))
    return SimpleNamespace(boxes=boxes, arrows=arrows)


# ---------------------------------------------------------------- boxes and lines


def test_a_schedule_of_two_nodes():
    drawn = graph(schedule())
    assert [box.name for box in drawn.boxes] == ["inspected", "due"]
    assert [box.initial for box in drawn.boxes] == [True, False]
    assert [(line.seen, line.done) for line in drawn.boxes[1].lines] == [
        ("nothing seen, good", ("inspect 100%",)),
        ("worn", ("repair 100%",)),
    ]
    assert [(a.source, a.target, a.when) for a in drawn.arrows] == [(0, 1, ()), (1, 0, ())]


def test_what_is_always_done_is_one_line():
    (box,) = graph(Controller.constant(SEEN, DONE, KEEP)).boxes
    assert box.name == "no memory"
    assert [(line.seen, line.done) for line in box.lines] == [("anything", ("keep 100%",))]


def test_a_window_is_named_by_what_was_seen():
    drawn = graph(Controller.constant(("hear-left",), ("listen",), [1], window(3)))
    assert [box.name for box in drawn.boxes] == [
        "(start)",
        "(start) → hear-left",
        "hear-left → hear-left",
    ]


def test_a_box_with_too_many_lines_keeps_those_that_changed():
    many = tuple(f"z{i}" for i in range(20))
    rows = np.linspace(0, 1, 20)
    was = Controller(
        many, ("a", "b"), window(1), np.arange(20)[:, None], np.c_[rows, 1 - rows], [1, 0]
    )
    now = was.except_at(np.array([[19]]), np.array([[0.3, 0.7]]))
    (box,) = graph(now, was).boxes
    assert (box.lines[0].seen, box.lines[0].changed) == ("z19", True)
    assert (len(box.lines), box.more) == (12, 8)
    assert "+8 more" in texts(draw(now, behavior=was).svg)


@pytest.mark.parametrize(
    ("goes", "possible", "when"),
    [
        ("111 111 111", "111 111 111", ()),
        ("100 010 001", "100 010 001", ()),
        ("000 111 000", "111 111 111", ("good",)),
        ("111 111 000", "111 111 111", ("nothing seen", "good")),
        ("000 010 000", "100 010 001", ("good",)),  # the only action there: no need to name it
        ("001 001 001", "111 111 111", ("after repair",)),
        ("000 001 001", "100 011 011", ("after repair",)),
        ("100 110 000", "111 111 111", ("nothing seen / keep", "good / keep, inspect")),
        ("111 110 110", "111 111 111", ("nothing seen", "good, worn / keep, inspect")),
        ("000 100 000", "000 110 010", ("after keep",)),
        ("000 110 000", "000 110 010", ("good",)),
    ],
)
def test_arrows_carry_the_shortest_true_description(goes, possible, when):
    goes, possible = (
        np.array([[c == "1" for c in z] for z in s.split()]) for s in (goes, possible)
    )
    assert describe(goes, possible, SEEN, DONE) == when


def test_long_lists_are_cut_and_all_but_one_is_said_so():
    many = tuple(f"z{i}" for i in range(9))
    everything = np.ones((9, 1), bool)
    first = np.arange(9)[:, None]
    assert describe(first < 7, everything, many, ("a",)) == ("z0", "z1", "z2", "+4 more")
    assert describe(first < 4, everything, many, ("a",)) == ("z0", "z1", "z2", "z3")
    assert describe(first != 4, everything, many, ("a",)) == ("not z4",)


@given(controllers(names("z", 3), names("a", 2)))
def test_there_is_an_arrow_exactly_where_the_controller_can_go(controller):
    nodes = reachable(controller).tolist()
    drawn = graph(controller)
    ways = set()
    for i, node in enumerate(nodes):
        for z in range(3):
            for a in range(2):
                if controller.rows_at(np.array([[*node, z]]))[0, a] > 0:
                    step = controller.memory.step(np.array([node]), np.array([z]), np.array([a]))
                    ways.add((i, nodes.index(step[0].tolist())))
    assert {(a.source, a.target) for a in drawn.arrows} == (ways if len(nodes) > 1 else set())
    for n in range(len(nodes)):  # one way out needs no description, several need one each
        when = [arrow.when for arrow in drawn.arrows if arrow.source == n]
        assert all(when) if len(when) > 1 else not any(when)


# ---------------------------------------------------------------- what changed, what was seen


def test_a_change_is_told_by_sign_weight_and_colour():
    drawing = draw(improved(), behavior=schedule())
    marked = [
        e for e in ET.fromstring(drawing.svg).iter(f"{SVG}text") if "changed" in e.get("style", "")
    ]
    assert [e.text for e in marked] == ["▲ worn", "→", "keep 0% → 50%, repair 100% → 50%"]
    assert {e.get("font-weight") for e in marked} == {"bold"}
    assert "▶ begins here · ▲ changed (1 of 6 situations): was → is" in texts(drawing.svg)
    assert drawing.description.splitlines() == [
        "Policy improved: 2 memory nodes, 6 situations. 1 of them changed.",
        "In inspected, on seeing worn: keep 0% → 50%, repair 100% → 50%.",
    ]


@pytest.mark.parametrize("behavior", [None, improved()])
def test_where_nothing_changed_nothing_is_marked(behavior):
    drawing = draw(improved(), behavior=behavior)
    assert "▲" not in drawing.dot
    assert INK["changed"] not in drawing.dot
    assert drawing.description == "Policy improved: 2 memory nodes, 6 situations."


def test_counts_stand_at_the_right_and_add_up():
    """Two lines of the list are the same situation: 1,000 + 204 visits."""
    visits = np.array([[0, 0], [0, 0], [1, 1]]), np.array([1000, 204, 7])
    first, second = graph(schedule(), visits=visits).boxes
    assert [(line.seen, line.count) for line in first.lines] == [
        ("nothing seen", 1204),
        ("good", 0),
        ("worn", 0),
    ]
    assert [(line.seen, line.count) for line in second.lines] == [
        ("nothing seen", 0),
        ("good", 7),
        ("worn", 0),
    ]
    drawn = texts(draw(schedule(), visits=visits).svg)
    assert drawn.count("seen 1,204×") == drawn.count("seen 7×") == 1
    assert drawn.count("never seen") == 4


def test_only_nodes_that_were_visited_are_drawn():
    """The log went from year 0 to year 1 and was never seen in year 2."""
    visits = np.array([[0, 1], [1, 1], [2, 1], [4, 1]]), np.array([5, 5, 0, 3])
    drawing = draw(circle(5), visits=visits)
    assert drawing.description.startswith("Policy circle: 2 memory nodes, 6 situations.")
    assert "year 4" not in "".join(texts(drawing.svg))  # nothing that was met leads there


def test_visits_must_fit_the_memory():
    with refuses(ParameterError, "(1, 2)", "(1,)"):
        draw(schedule(), visits=(np.array([[0]]), np.array([5])))
    with pytest.raises(ParameterError, match=r"counts of shape \(2,\)"):
        draw(schedule(), visits=(np.array([[0, 0]]), np.array([5, 6])))


def test_a_behavior_with_other_memory_is_compared_over_both():
    drawing = draw(Controller.constant(SEEN, DONE, KEEP), behavior=schedule())
    assert "changed (4 of 6 situations)" in drawing.dot
    with refuses(ControllerError, "cannot be compared", "actions"):
        draw(schedule(), behavior=Controller.uniform(SEEN, ("keep", "sell", "repair")))


# ---------------------------------------------------------------- too many to draw


def test_thirty_nodes_are_a_graph_and_thirty_one_a_table():
    assert draw(circle(30)).kind == "graph"
    assert draw(circle(31)).kind == "table"
    assert draw(circle(31), most=31).kind == "graph"
    with refuses(ParameterError, "0 nodes", "1 or more"):
        draw(circle(3), most=0)


def test_a_table_has_the_changes_first_the_most_visited_on_top():
    """60 nodes, 180 situations; the log met state i i + 1 times. Every fourth changes: 45."""
    was = circle(60)
    states = history_states(np.arange(60)[:, None], 3)
    now = was.except_at(states[::4], np.tile([0.5, 0.5, 0], (45, 1)), name="improved")
    drawing = draw(now, behavior=was, visits=(states, np.arange(1, 181)), where="decisions.csv")
    assert drawing.kind == "table"
    counts = [int(t[:-1]) for t in texts(drawing.svg) if re.fullmatch(r"\d+×", t)]
    assert counts == list(range(177, 17, -4))
    assert len(counts) == MOST_ROWS == 40
    hidden = "Not shown: 5 more that changed and 135 that stay as they were."
    assert f"{hidden} They stand in decisions.csv." in texts(drawing.svg)
    assert drawing.description.splitlines()[1].startswith("In year 58, on seeing worn: keep 100%")
    few = draw(now.except_at(states[4::4], np.tile(KEEP, (44, 1))), behavior=was)
    assert texts(few.svg).count("▲") == 1
    assert "▲ changed (1 of 180 situations): was → is" in texts(few.svg)
    assert "Not shown: 140 that stay as they were." in few.svg
    assert "Not shown: 140 more. They stand in the file of the policy." in draw(was).svg


def test_nodes_that_all_lead_to_each_other_are_a_table():
    """A window of 2 on 20 observations: 21 nodes, but 420 arrows."""
    drawing = draw(Controller.uniform(names("z", 20), ("a", "b"), window(2)))
    assert drawing.kind == "table"
    assert "380 more" in drawing.svg


def test_a_memory_too_large_to_list_shows_what_is_written_out():
    """8²⁰ nodes; one situation differs."""
    was = Controller.uniform(names("z", 8), ("a", "b"), window(21))
    state = np.array([[*was.memory.initial(), 3]])
    drawing = draw(was.except_at(state, np.array([[1.0, 0.0]])), behavior=was)
    assert drawing.kind == "table"
    assert "▲ changed (1 of 1 situation): was → is" in texts(drawing.svg)
    assert "Everywhere else: a 50%, b 50%" in texts(drawing.svg)
    nothing = draw(was)
    assert nothing.description == "Policy uniform: window of 21, 0 situations."
    lifted = Controller.uniform(names("z", 8), ("a", "b"), name="any").lift(window(21))
    assert "Everywhere else it does the same as any." in texts(draw(lifted).svg)
    backwards = draw(lifted, behavior=was.except_at(state, np.array([[1.0, 0.0]])))
    assert "▲ changed (1 of 1 situation): was → is" in texts(backwards.svg)


def test_changes_where_the_controller_no_longer_comes_are_counted():
    """Repairing led to a second node. The new controller never repairs, and would keep there."""
    memory = NamedNodes(("new", "repaired"), [[[0, 0, 1]] * 3, [[0, 0, 1]] * 3])
    was = Controller.constant(SEEN, DONE, REPAIR, memory)
    now = Controller.constant(SEEN, DONE, KEEP, memory)
    drawn = texts(draw(now, behavior=was).svg)
    assert "▲ changed (3 of 3 situations): was → is" in drawn
    assert "3 more changed where this policy never comes" in drawn
    visits = np.array([[0, 0], [1, 0], [1, 1], [1, 2]]), np.array([9, 9, 9, 0])
    assert "2 more changed where this policy never comes" in texts(
        draw(now, behavior=was, visits=visits).svg
    )
    assert not any("more changed" in text for text in texts(draw(was, behavior=was).svg))


def test_of_a_long_memory_the_end_is_shown():
    memory = window(40)
    c = Controller.uniform(("hear-left", "hear-right"), ("listen",), memory)
    node = c.state(["hear-right"] * 38 + ["hear-left"], "hear-left")
    drawing = draw(c.except_at(node[None, :], np.array([[1.0]])), visits=(node[None, :], [1]))
    assert drawing.kind == "graph"  # only the start: nothing that was met leads on
    many = np.array([c.state(["hear-left"] * 38 + [z], "hear-left") for z in c.observations])
    table = draw(c, visits=(np.r_[many, node[None, :]], [1, 1, 1]), most=1)
    assert max(map(len, texts(table.svg))) < 60


# ---------------------------------------------------------------- names that can be anything

HOSTILE = [
    "<script>alert(1)</script>",
    "</svg><b>",
    "a \"quoted\" 'name'",
    "\\N \\G \\E \\n \\",
    "&nbsp; &bogus; &#60; &amp;lt;",
    "a\nb\r\t\x00\x1b[2J",
    "]]> <!-- --> <![CDATA[",
    "תקין לגמרי",
    "نصب",
    "🔧 é ﷽",
    "\u202egnorw",
    "\u2028\ufeff\ufffe\uffff",
    " ",
    "x" * 10_000,
    "{a|b} <f0> [c]",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_shown_as_text_wherever_it_stands(name):
    memory = NamedNodes((name, "other"), [[[1, 0], [1, 1]], [[0, 0], [1, 0]]])
    controller = Controller.uniform((name, "z"), (name, "a"), memory, name=name)
    drawing = draw(controller, behavior=Controller.constant((name, "z"), (name, "a"), [1, 0]))
    root = ET.fromstring(drawing.svg)
    allowed = {"svg", "title", "desc", "style", "g", "polygon", "path", "text"}
    assert {e.tag.removeprefix(SVG) for e in root.iter()} == allowed
    said = texts(drawing.svg)
    if name.strip():
        assert f"▶ {shown(name)}" in said  # the node
        assert f"{shown(name)} / a" in said  # an arrow
        assert f"{shown(name)} 100% → 50%, a 0% → 50%" in " ".join(said)  # a rule, maybe broken
        assert root.find(f"{SVG}title").text == shown(name, 80)
    letters = {
        c for c in drawing.svg + drawing.dot if unicodedata.category(c) in ("Cc", "Cf", "Cn")
    }
    assert letters <= {"\n", "\u200e"}
    assert len(drawing.svg) < 20_000


@settings(max_examples=40)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda t: t != "*"))
def test_no_name_breaks_the_picture(name):
    memory = NamedNodes((name, "other"), [[[1]], [[0]]])
    drawing = draw(Controller.uniform((name,), ("act",), memory))
    assert "".join(f"▶ {shown(name)}".split()) in ["".join(t.split()) for t in texts(drawing.svg)]


def test_a_line_goes_on_from_left_to_right_after_a_name_that_does_not():
    assert text_of("תקין לגמרי 50%, a") == "תקין לגמרי\u200e 50%, a"
    assert text_of("worn, bad 50%") == "worn, bad 50%"


# ---------------------------------------------------------------- the SVG as a file


def test_a_drawing_needs_nothing_but_itself():
    svg = draw(improved(), behavior=schedule()).svg
    assert svg.startswith("<svg ")
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    for word in ("DOCTYPE", "<script", "href", "<image", "@import", "url("):
        assert word not in svg


def test_a_drawing_has_a_text_alternative():
    drawing = draw(replace(improved(), name="Bridge 7"), behavior=schedule(), note="Verdict: safe")
    root = ET.fromstring(drawing.svg)
    assert root.get("role") == "img"
    title, description = root.get("aria-labelledby").split()
    by_id = {e.get("id"): e.text for e in root.iter() if e.get("id")}
    assert by_id == {title: "Bridge 7", description: drawing.description}
    assert "Verdict: safe" in drawing.description
    assert "Verdict: safe" in " ".join(texts(drawing.svg))


def test_two_drawings_on_one_page_share_no_id():
    ids = [set(re.findall(r' id="(.*?)"', draw(c).svg)) for c in (schedule(), improved())]
    assert [len(i) for i in ids] == [2, 2]
    assert not ids[0] & ids[1]


def test_a_drawing_is_as_wide_as_the_page_and_not_wider_than_itself():
    root = ET.fromstring(draw(schedule()).svg)
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert root.get("style") == "max-width:100%;height:auto"


def test_colours_are_those_of_the_page():
    root = ET.fromstring(draw(improved(), behavior=schedule()).svg)
    paints = {e.get(side) for e in root.iter() for side in ("fill", "stroke")} - {None}
    assert paints == {"currentColor", "none", "#c4570a"}
    for element in root.iter():  # where it is not the page's colour, the page can set it
        for side in ("fill", "stroke"):
            if element.get(side) == "#c4570a":
                assert element.get("style").startswith(f"{side}:var(--jumar-changed, ")


def mixed(ink: Color, paper: Color, opacity: float) -> Color:
    return tuple(a * opacity + b * (1 - opacity) for a, b in zip(ink, paper, strict=True))


def test_what_is_written_can_be_read_by_day_and_by_night():
    alone = re.search("<style>(.*)</style>", draw(schedule()).svg)[1]
    looks = re.findall(r"color:(#\w+);background:(#\w+);--jumar-changed:(#\w+)", alone)
    assert len(looks) == 2  # light and dark
    for look in looks:
        text, paper, changed = map(rgb, look)
        assert contrast(text, paper) > 12
        assert contrast(mixed(text, paper, 0.72), paper) > 4.5  # notes and counts
        assert contrast(changed, mixed(changed, paper, 0.12)) > 4.5  # on its own tint
        assert contrast(mixed(text, paper, 0.55), paper) > 3  # lines
    for paper in ("#ffffff", "#111111"):
        assert contrast(rgb("#c4570a"), rgb(paper)) > 4


def test_the_picture_of_the_documentation_says_what_its_page_says(tmp_path):
    page = (DOCS / "pictures.md").read_text("utf-8")
    found = []
    for i, block in enumerate(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)):
        (tmp_path / f"{i}.toml").write_text(block)
        found.append(load_controller(tmp_path / f"{i}.toml"))
    drawing = draw(found[1], behavior=found[0])
    kept = (DOCS / "pictures" / "bridge-controller.svg").read_text("utf-8")
    assert texts(kept) == texts(drawing.svg)  # letters only: where they stand depends on fonts


# ---------------------------------------------------------------- Graphviz itself


def test_nothing_is_printed_on_the_first_drawing():
    code = (
        "from jumar.policy.controller import Controller; from jumar.show.drawing import draw;"
        "draw(Controller.uniform(('z',), ('a',)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")


def test_standard_error_is_given_back(capfd):
    render("digraph { a }", "t", "d", "p")
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"
    with pytest.raises(Exception, match=r"."):
        render("this is no graph", "t", "d", "p")
    os.write(2, b"and again")
    assert capfd.readouterr().err == "and again"


def test_threads_draw_one_after_the_other():
    wanted = [draw(circle(n)).svg for n in range(1, 9)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda n: draw(circle(n)).svg, range(1, 9))) == wanted


def test_drawing_is_loaded_only_when_something_is_drawn():
    code = "import jumar.show.drawing, jumar.cli, sys; print('pygraphviz' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
