"""A controller as a program: the same probabilities to the last bit, and no name can break it."""

from __future__ import annotations

import ast
import io
import json
import math
import subprocess
import sys
import threading
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.memory import NamedNodes, product, window
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.show.program import program, runtime
from strategies import controllers, logs, memories, names, rows_of_distributions, single_memories

Z, A = ("good", "worn", "broken"), ("keep", "inspect", "repair")
HOSTILE = (
    "plain",
    "two words",
    "reset",
    " space at the ends ",
    "\"'\"'",
    '"""',
    "'''\n\nraise SystemExit(9)\n'''",
    '"in quotes"',
    '"half',
    "back\\",
    "back\\\\",
    "line\nbreak",
    "carriage\rreturn",
    "tab\tand\x00null",
    "\x1b[2J",
    "\u2028",
    "\u202etxet",
    "שלום",
    "🐯🐅",
    "x" * 10_000,
    "# -*- coding: utf-7 -*-",
    "%(prog)s %d {0} {name} ${HOME} `id`",
    "__import__('os')._exit(9)",
    "# ---- data: end ----",
)


def loaded(controller: Controller) -> Any:
    """The class `Controller` of the program."""
    module: dict[str, Any] = {"__name__": "improved"}
    exec(compile(program(controller), "improved.py", "exec"), module)
    return module["Controller"]


def assert_same_probabilities(controller: Controller, log: Any) -> None:
    """The program, told what happened, gives exactly the rows of the controller."""
    nodes = controller.memory.replay(log.observation, log.action, log.start)
    expected = controller.rows_at(np.column_stack([nodes, log.observation])).tolist()
    c = loaded(controller)()
    for e in range(len(log)):
        c.reset()
        for t in range(log.start[e], log.start[e + 1]):
            z, a = log.observations[log.observation[t]], log.actions[log.action[t]]
            assert list(c.probabilities(z).values()) == expected[t]
            c.tell(z, a)


def layered(draw: Any, log: Any, base: Controller, layers: int) -> Controller:
    """Exceptions at some of the history states of a log, to exceptions, to a base."""
    O, A = len(log.observations), len(log.actions)
    for _ in range(layers):
        memory = join(base.memory, draw(single_memories(O, A)).on(O, A))
        nodes = memory.replay(log.observation, log.action, log.start)
        seen = np.unique(np.column_stack([nodes, log.observation]), axis=0)
        some = np.array(draw(st.lists(st.booleans(), min_size=len(seen), max_size=len(seen))))
        rows = draw(rows_of_distributions(int(some.sum()), A))
        base = base.lift(memory).except_at(seen[some], rows)
    return base


@given(st.data(), st.integers(0, 3))
@pytest.mark.slow
def test_every_layer_and_memory_gives_the_rows_of_the_controller_exactly(data, layers):
    sizes = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    z, a = names("z", sizes[0]), names("a", sizes[1])
    log = data.draw(logs(z, a))
    base = data.draw(controllers(z, a, data.draw(memories(*sizes))))
    assert_same_probabilities(layered(data.draw, log, base, layers), log)


def random_log(rng: np.random.Generator, episodes: int, steps: int) -> Any:
    from jumar.log.episodes import Episodes

    z, a = rng.integers(0, 3, (2, episodes * steps))
    start = np.arange(0, episodes * steps + 1, steps)
    ends = np.zeros(episodes, bool)
    return Episodes(Z, A, z, a, np.zeros(len(z)), start, np.full(episodes, -1), ends)


MEMORIES = [
    window(1),
    window(1, actions=True),
    window(2),
    window(45),  # 44 digits of two bits: two words
    window(30, actions=True),  # 29 digits, 19 to a word
    NamedNodes(("even", "odd"), [[[1] * 3] * 3, [[0] * 3] * 3], start=1),
    product(window(40), NamedNodes(("even", "odd"), [[[1] * 3] * 3, [[0] * 3] * 3])),
]


@pytest.mark.parametrize("memory", MEMORIES, ids=str)
def test_a_long_table_is_the_same_controller(monkeypatch, memory):
    monkeypatch.setattr(import_module("jumar.show.program.table"), "LONG", 3)
    test_a_rule_for_every_second_history_state(memory)


@pytest.mark.parametrize("memory", MEMORIES, ids=str)
def test_a_rule_for_every_second_history_state(memory):
    rng = np.random.default_rng(1)
    log, memory = random_log(rng, 3, 60), memory.on(3, 3)
    nodes = memory.replay(log.observation, log.action, log.start)
    states = np.unique(np.column_stack([nodes, log.observation]), axis=0)[::2]
    rows = rng.dirichlet(np.ones(3), len(states))
    controller = Controller(Z, A, memory, states, rows, [0.5, 0.25, 0.25])
    assert_same_probabilities(controller, log)


def worn_twice() -> Controller:
    """Repair what is worn for the second time in a row, with probability 3/4."""
    base = Controller.constant(Z, A, [1, 0, 0], memory=window(2))
    return base.except_at(base.state(["worn"], "worn")[None, :], np.array([[0.0, 0.25, 0.75]]))


def test_the_second_time_it_is_worn_it_is_repaired_three_times_in_four():
    c = loaded(worn_twice())()
    assert c.probabilities("worn") == {"keep": 1.0, "inspect": 0.0, "repair": 0.0}
    assert c.act("worn") == "keep"
    assert c.probabilities("worn") == {"keep": 0.0, "inspect": 0.25, "repair": 0.75}
    c.reset()
    assert c.probabilities("worn")["keep"] == 1


def test_an_empty_layer_is_left_out_and_a_lifted_controller_is_the_same_program():
    lifted = worn_twice().lift(product(window(4), window(3, actions=True)))
    assert program(lifted) == program(worn_twice())


def test_acting_remembers_what_telling_remembers():
    acting, told = loaded(worn_twice())(seed=1), loaded(worn_twice())()
    rng = np.random.default_rng(2)
    for z in rng.choice(Z, 200):
        assert acting.probabilities(z) == told.probabilities(z)
        told.tell(z, acting.act(z))


def test_the_same_seed_gives_the_same_actions_and_another_seed_others():
    def actions(seed: int) -> list[str]:
        c = loaded(Controller.uniform(Z, A))(seed=seed)
        return [c.act("good") for _ in range(50)]  # two seeds agree with probability 3^-50

    assert actions(1) == actions(1) != actions(2)


def test_actions_are_as_frequent_as_they_should_be():
    """A right program fails with probability 4e-6 at most: 4.9 standard deviations, four times."""
    row, n = [0.0, 0.02, 0.28, 0.7], 20_000
    c = loaded(Controller.constant(("z",), names("a", 4), row))(seed=11)
    drawn = [c.act("z") for _ in range(n)]
    for a, p in enumerate(row):
        off = abs(drawn.count(f"a{a}") - n * p)
        assert off <= 4.9 * math.sqrt(n * p * (1 - p))


def test_an_action_without_probability_is_never_drawn_whatever_the_dice_show():
    # the row sums to a little less than 1, and the dice show the largest number they have
    row = [0.0, 1 / 3, 2 / 3 - 1e-10, 0.0]
    c = loaded(Controller.constant(("z",), names("a", 4), row))()
    for shown, action in ((0.0, "a1"), (1 - 2**-53, "a2")):
        c._dice.random = lambda shown=shown: shown
        assert c.act("z") == action


def test_the_likeliest_action_needs_no_dice_and_the_first_of_two_wins():
    Program = loaded(Controller.constant(Z, A, [0.2, 0.4, 0.4]))
    assert {Program(seed, most_likely=True).act("good") for seed in range(20)} == {"inspect"}


def test_an_unknown_name_is_told_with_those_that_are_known_and_changes_nothing():
    c = loaded(worn_twice())()
    with pytest.raises(ValueError, match=r"observation won is not one of good, worn, broken. Did"):
        c.act("won")
    with pytest.raises(ValueError, match="action replace is not one of keep, inspect, repair"):
        c.tell("worn", "replace")
    with pytest.raises(ValueError, match="observation 1 is not one of"):
        c.probabilities(1)
    assert c.probabilities("worn")["keep"] == 1


# ---- the file -----------------------------------------------------------------------------------


def test_the_header_says_what_it_is_whose_it_is_and_how_to_use_it():
    text = program(worn_twice())
    header = text.partition("from __future__")[0]
    for part in (
        "jumar-program/1",
        "# Controller: 'constant'",
        "c.act(",
        "improved.py --most-likely",
    ):
        assert part in header
    assert "jumar-controller" not in text


def test_the_file_is_ascii_reads_as_python_3_9_and_imports_the_standard_library_only():
    text = program(Controller.uniform(HOSTILE, HOSTILE, name="\n".join(HOSTILE)))
    assert text.isascii()
    tree = ast.parse(text, feature_version=(3, 9))
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= set(sys.stdlib_module_names)
    assert not {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and named(n)} & {
        "eval",
        "exec",
        "compile",
        "open",
        "__import__",
    }


def named(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name)


def run(folder: Any, controller: Controller, lines: str, *options: str) -> Any:
    """The file as a program of its own, which sees nothing of this one."""
    path = folder / "improved.py"
    path.write_text(program(controller), encoding="ascii")
    return subprocess.run(
        [sys.executable, "-I", str(path), *options],
        input=lines.encode(),
        capture_output=True,
        check=False,
        cwd=folder,
    )


def test_hostile_names_are_harmless(tmp_path):
    """Observation i calls for action i; all of them go through the program and come out."""
    n = len(HOSTILE)
    controller = Controller(
        HOSTILE, HOSTILE[::-1], window(1), np.arange(n)[:, None], np.eye(n), np.eye(n)[0], name="x"
    )
    object.__setattr__(controller, "name", '"""\n' + "\n".join(HOSTILE))
    lines = [runtime.written(name) for name in HOSTILE]
    done = run(tmp_path, controller, "\n".join([*lines, "reset", *lines]))
    assert (done.returncode, done.stderr) == (0, b"")
    out = done.stdout.decode().split("\n")
    assert out == [*lines[::-1], *lines[::-1], ""]
    assert [path.name for path in tmp_path.iterdir()] == ["improved.py"]


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_name_written_as_a_line_is_read_back(name):
    line = runtime.written(name)
    assert line == name or not name.isidentifier() or name == "reset"
    assert runtime._read(line.strip()) == name
    assert len(io.StringIO(line + "\n", newline=None).readlines()) == 1
    assert line != "reset"


def test_a_line_in_is_a_line_out_and_reset_begins_again(tmp_path):
    lines = "worn\r\nworn\n\n  reset \nworn\n"
    done = run(tmp_path, worn_twice(), lines, "--most-likely")
    assert done.stdout.decode().split() == ["keep", "repair", "keep"]


def test_an_unknown_line_stops_the_program_with_its_number(tmp_path):
    done = run(tmp_path, worn_twice(), "good\nwrn\ngood\n")
    assert done.returncode == 2
    assert done.stdout == b"keep\n"
    assert done.stderr.decode() == (
        "line 2: observation wrn is not one of good, worn, broken. Did you mean worn?\n"
    )


def test_bytes_that_are_no_text_and_wrong_options_are_told(tmp_path):
    path = tmp_path / "improved.py"
    path.write_text(program(worn_twice()))
    for options, given_, fact in (
        ([], b"\xff\n", rb"observation \xff is not one of good"),
        (["--sed"], b"", b"--sed"),
        (["--seed", "x"], b"", b"invalid int"),
    ):
        command = [sys.executable, "-I", str(path), *options]
        done = subprocess.run(command, input=given_, capture_output=True, check=False)
        assert done.returncode == 2
        assert fact in done.stderr
        assert b"Traceback" not in done.stderr


def test_every_action_is_written_at_once(tmp_path):
    """Another program can wait for the answer before it says what it sees next."""
    path = tmp_path / "improved.py"
    path.write_text(program(worn_twice()))
    with subprocess.Popen(
        [sys.executable, "-I", str(path), "--most-likely"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        give_up = threading.Timer(30, process.kill)  # else a lost answer is waited for for ever
        give_up.start()
        answers = []
        for _ in range(2):
            process.stdin.write("worn\n")
            process.stdin.flush()
            answers.append(process.stdout.readline())
        process.stdin.close()
        give_up.cancel()
    assert answers == ["keep\n", "repair\n"]


# ---- the example that stands in for the data ----------------------------------------------------


def test_the_runtime_runs_as_it_is():
    out, err = io.StringIO(), io.StringIO()
    lines = ["worn\n", "worn\n", "good\n", "worn\n"]
    assert runtime.main([], lines, out, err) == 0
    assert out.getvalue().split() == ["keep", "repair", "keep", "keep"]
    assert runtime.main([], ["x\n"], out, err) == 2
    assert "observation x is not one of good, worn." in err.getvalue()


def test_long_and_many_names_are_cut_in_messages():
    text = runtime._unknown("observation", "y" * 10_000, [*names("z", 20), "x" * 10_000])
    assert len(text) < 300
    assert "... (21 in all)" in text
    assert json.dumps("\x1b") in runtime._unknown("action", "\x1b", ["a"])
