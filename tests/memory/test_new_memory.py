"""A kind of memory that jumar does not have, written in this file alone, goes all the way through:
counting, improving, order tests, controller files, the report and the stand-alone program.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

import jumar as jm
from jumar.core.errors import ControllerError, ParameterError, TooLarge
from jumar.core.randomness import random_stream
from jumar.memory import KINDS, Machine, Memory, product, window
from jumar.memory.forms import Form, OneOf
from jumar.memory.refinement import ladder, one_more, projection, refines
from jumar.policy.controller import Controller
from jumar.policy.files import controller_from_document, controller_to_document
from jumar.policy.words import history_state_heads, history_state_words
from jumar.show.program import LANGUAGES, program, render, table
from programs import needs_cc, needs_node, run_c, run_node, run_python, some_steps

# ---- the memory ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Different(Memory, word="different"):
    """The last `length` observations that differ from the one before, oldest first."""

    length: int = 2

    def __str__(self) -> str:
        return f"memory of the last {self.length} different observations"

    def initial(self) -> np.ndarray:
        return np.zeros(self.length, np.int64)

    def step(self, nodes: np.ndarray, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        z = z[:, None] + 1
        return np.where(nodes[:, -1:] == z, nodes, np.column_stack([nodes[:, 1:], z]))

    def form(self, observations: Sequence[str], actions: Sequence[str]) -> Form:
        return [OneOf("observation", ("", *observations))] * self.length


# ---- and what becomes of it ---------------------------------------------------------------------

MODEL = jm.models.tiger()
Z, A = MODEL.observations, MODEL.actions
MEMORY = Different(2).on(len(Z), len(A))


@pytest.fixture(scope="module")
def behavior() -> Controller:
    """It listens more often when it has heard both sides."""
    base = Controller.constant(Z, A, [0.8, 0.1, 0.1], MEMORY, name="listens")
    mixed = [base.state([Z[0], Z[1]], Z[0]), base.state([Z[1], Z[0]], Z[1])]
    return base.except_at(np.array(mixed), np.array([[0.9, 0.05, 0.05]] * 2))


@pytest.fixture(scope="module")
def log(behavior):
    return jm.simulate(MODEL, behavior, episodes=400, seed=random_stream(1, "data"))


@pytest.fixture(scope="module")
def result(log, behavior):
    return jm.improve(log, behavior, discount=0.95, algorithm="spibb", n_wedge=10)


def remembered(seen: Sequence[str]) -> list[str]:
    """What the memory holds, the slow and obvious way."""
    changes = [z for i, z in enumerate(seen) if i == 0 or z != seen[i - 1]]
    return ["", "", *changes][-2:]


def test_the_log_is_counted_over_it(log):
    counts = jm.count(log, MEMORY)
    assert counts.visits.sum() == log.n_steps
    nodes = MEMORY.replay(log.observation, log.action, log.start)
    for e in range(20):
        steps = range(log.start[e], log.start[e + 1])
        seen = [Z[log.observation[t]] for t in steps]
        for i, t in enumerate(steps):
            assert MEMORY.read_node(nodes[t].tolist(), Z, A) == remembered(seen[:i])


def test_its_nodes_are_counted_and_known():
    O = len(Z)
    assert MEMORY.count_nodes() == 1 + O + O * (O - 1)
    assert MEMORY.has(MEMORY.enumerate()).all()
    assert not MEMORY.has(np.array([[1, 1]])).any()  # the same twice in a row is never kept


def test_it_has_longer_ones_and_knows_what_it_refines():
    assert refines(MEMORY, window(2).on(*MEMORY.alphabet))
    assert not refines(MEMORY, window(3).on(*MEMORY.alphabet))
    assert refines(Different(3).on(*MEMORY.alphabet), MEMORY)
    assert str(one_more(MEMORY)) == f"{MEMORY} × window of 3"
    assert [str(m) for m in ladder(MEMORY, 2)][1:] == [
        f"{MEMORY} × window of 3",
        f"{MEMORY} × window of 4",
    ]


def test_the_order_test_stands_on_it(log, behavior):
    test = jm.order_test(log, behavior, seed=random_stream(1, "order"), resamples=49)
    assert (test.base, test.finer) == (MEMORY, one_more(MEMORY))
    assert 0 < test.p <= 1


def test_it_is_estimated_with_the_current_observation_to_fall_back_on(log):
    estimated = jm.estimate_behavior(log, Different(2))
    assert estimated.memory == MEMORY
    assert str(estimated.otherwise.memory) == "window of 1"


def test_it_is_written_and_read_back(result, behavior, tmp_path):
    for controller in (behavior, result.controller, behavior.lift(product(MEMORY, window(3)))):
        controller.save(tmp_path / "c.json")
        assert jm.load_controller(tmp_path / "c.json").same_as(controller)
    behavior.save(tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["memory"] == {"different": 2}
    assert document["rules"][0]["node"] == [Z[0], Z[1]]


@pytest.mark.parametrize(
    ("memory", "rules", "fact"),
    [
        ({"different": "two"}, [], "memory, different: 'two' is not a whole number"),
        ({"different": 2, "window": 2}, [], "window and different of "),
        ({"different": 2, "start": "x"}, [], "key 'start' is not one of different"),
        ({"different": 2}, [["hear"]], "['hear'] is not a list of 2: [observation, observation]"),
        ({"different": 2}, [[Z[0], "x"]], "observation 'x' is not one of"),
        ({"different": 2}, [[Z[0], Z[0]]], "does not exist in a memory of the last 2 different"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_the_fact(memory, rules, fact):
    document = {
        "format": "jumar-controller/1",
        "observations": list(Z),
        "actions": list(A),
        "memory": memory,
        "default": A[0],
        "rules": [{"node": node, "action": A[1]} for node in rules],
    }
    with pytest.raises(ControllerError) as caught:
        controller_from_document(document, "rule.json")
    assert str(caught.value).startswith("rule.json, ")
    assert fact in str(caught.value)


def test_a_wildcard_in_a_file_fits_all_its_nodes(behavior):
    document = controller_to_document(behavior)
    document["rules"] = [{"node": ["*", Z[0]], "action": A[1]}]
    read = controller_from_document(document)
    nodes = {tuple(read.memory.read_node(s[:-1].tolist(), Z, A)) for s in read.states}
    assert nodes == {("", Z[0]), (Z[1], Z[0])}
    assert len(read.states) == len(nodes) * len(Z)


def test_people_read_it(behavior):
    assert history_state_heads(MEMORY) == ["memory", "seen now"]
    state = behavior.state(["", Z[1]], Z[0])
    assert history_state_words(behavior, state) == [f"(start) → {Z[1]}", Z[0]]


def test_the_report_and_every_other_file_are_made(result, tmp_path):
    made = {path.name for path in result.save(tmp_path / "out")}
    assert {"report.html", "improved.json", "improved.py", "controller.svg"} <= made
    assert str(MEMORY) in (tmp_path / "out" / "report.html").read_text()
    assert jm.load_controller(tmp_path / "out" / "improved.json").same_as(result.controller)


def test_the_program_runs_alone_and_does_what_the_controller_does(result, tmp_path):
    path = tmp_path / "improved.py"
    path.write_text(program(result.controller), encoding="ascii")
    agent = result.controller.start(1, most_likely=True)
    seen = np.random.default_rng(3).choice(Z, (20, 8)).tolist()
    expected = []
    for episode in seen:
        agent.reset()
        expected += [agent.act(z) for z in episode]
    lines = "\n".join("\n".join(["reset", *episode]) for episode in seen)
    command = [sys.executable, "-I", str(path), "--most-likely"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == expected
    assert len(set(expected)) > 1


# ---- what a kind may say besides ----------------------------------------------------------------


def longer(seen: tuple[int, ...], node: tuple[int, ...], z: int, a: int) -> tuple[int, ...]:
    return node if node[-1] == z + 1 else (*node[1:], z + 1)


class Deep(Different, word="deep"):
    """The same kind, which knows its lengths, its nodes and its program without listing them."""

    span = property(lambda self: self.length + 1)

    def resized(self, span: int) -> Memory | None:
        return Deep(span - 1, n_observations=self.n_observations, n_actions=self.n_actions)

    def count_nodes(self) -> int:
        O = self.alphabet[0]
        return 1 + sum(O * (O - 1) ** i for i in range(self.length))

    def has(self, nodes: np.ndarray) -> np.ndarray:
        before, after = nodes[:, :-1], nodes[:, 1:]
        inside = ((nodes >= 0) & (nodes <= self.alphabet[0])).all(1)
        return (
            inside
            & ((before != after) | (before == 0)).all(1)
            & ((after > 0) | (before == 0)).all(1)
        )

    def machine(self) -> Machine:
        first = (0,) * self.length
        return Machine(longer, (), first, lambda nodes: [tuple(n) for n in nodes.tolist()])


def test_a_kind_that_knows_more_needs_no_list_of_nodes(monkeypatch):
    many = Deep(40).on(3, 2)
    assert many.count_nodes() > 10**12
    assert str(one_more(many)) == "memory of the last 41 different observations"
    monkeypatch.setattr(Memory.enumerate, "__defaults__", (1000,))  # soon too many
    with pytest.raises(TooLarge):
        Different(40).on(3, 2).has(np.zeros((1, 40), np.int64))
    with pytest.raises(ControllerError, match="must define 'machine'"):
        Different(40).on(3, 2).machine()


def deep_controller(length: int) -> Controller:
    """A row for every history state of a random walk."""
    rng = np.random.default_rng(1)
    memory = Deep(length).on(3, 2)
    z, a = rng.integers(0, 3, 60), rng.integers(0, 2, 60)
    nodes = memory.replay(z, a, np.array([0, 60]))
    states = np.unique(np.column_stack([nodes, z]), axis=0)
    base = Controller.constant(("x", "y", "z"), ("a", "b"), [1, 0], memory)
    return base.except_at(states, rng.dirichlet([1, 1], len(states)))


@pytest.mark.parametrize(("length", "kind"), [(3, "nodes"), (40, "function")])
def test_a_program_of_its_own_says_the_same(length, kind):
    """With few nodes it is listed, so that every language can run it; else its function is
    copied."""
    controller = deep_controller(length)
    assert table(controller).layers[0].parts[0].kind == kind
    module: dict[str, object] = {"__name__": "improved"}
    exec(program(controller), module)
    copied, agent = module["Controller"](), controller.start(1)
    rng = np.random.default_rng(2)
    choices = rng.choice(controller.observations, 200), rng.choice(controller.actions, 200)
    for z, a in zip(*choices, strict=True):
        assert copied.probabilities(z) == agent.probabilities(z)
        copied.tell(z, a), agent.tell(z, a)


@needs_cc
@needs_node
def test_other_languages_run_it_where_it_can_be_listed_and_say_so_where_not(tmp_path):
    controller = deep_controller(3)
    steps = some_steps(np.random.default_rng(3), 3)
    for run in (run_c, run_node):
        assert run(tmp_path, controller, steps) == run_python(controller, steps)
    for suffix in (".c", ".js", ".mjs", ".sql"):
        with pytest.raises(ControllerError, match="only a Python program can hold"):
            render(table(deep_controller(40)), LANGUAGES[suffix])


def test_a_program_that_would_miss_something_is_refused():
    class Leaky(Deep):
        def machine(self) -> Machine:
            return super().machine()._replace(next=lambda data, node, z, a: np.array(node))

    base = Controller.constant(("x", "y", "z"), ("a",), [1.0], Leaky(40))
    object.__setattr__(base, "rows", np.ones((1, 1)))
    object.__setattr__(base, "states", np.zeros((1, 41), np.int64))
    with pytest.raises(ControllerError, match="cannot be copied into a program"):
        program(base)


def test_two_kinds_cannot_share_a_word():
    assert KINDS["different"] is Different
    with pytest.raises(ParameterError, match="'window' already stands for Window"):

        class Other(Different, word="window"):
            pass

    assert KINDS["window"] is type(window(1))


@dataclass(frozen=True, repr=False)
class Clock(Memory, word="clock"):
    """Odd or even: it has no settings, and takes one name to write."""

    def initial(self) -> np.ndarray:
        return np.zeros(1, np.int64)

    def step(self, nodes: np.ndarray, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        return 1 - nodes

    def form(self, observations: Sequence[str], actions: Sequence[str]) -> Form:
        return OneOf("node", ("even", "odd"))


def test_a_kind_without_settings_is_written_as_its_word():
    controller = Controller.constant(Z, A, [1, 0, 0], Clock())
    document = controller_to_document(controller)
    assert document["memory"] == {"clock": True}
    assert str(controller.memory) == "clock"
    assert controller_from_document(document).same_as(controller)
    agent = controller.start()
    agent.tell(Z[0], A[0])
    assert agent.node == "odd"


def test_a_kind_without_a_word_says_that_it_cannot_be_written(tmp_path):
    class Nameless(Clock):
        pass

    with pytest.raises(ControllerError, match=r'class Nameless\(Memory, word="\.\.\."\)'):
        Controller.constant(Z, A, [1, 0, 0], Nameless()).save(tmp_path / "c.json")


def test_a_projection_onto_a_window_maps_every_node():
    p = projection(MEMORY, window(2).on(*MEMORY.alphabet))
    nodes = MEMORY.enumerate()
    assert p(nodes)[:, 0].tolist() == nodes[:, -1].tolist()
