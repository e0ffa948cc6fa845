"""What people see: every table rendered at a width, compared letter by letter where it is small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from facts import refuses, says
from jumar.core.errors import LogError
from jumar.core.text import percent, shown
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.memory import NamedNodes, product, window
from jumar.policy.controller import Controller
from jumar.policy.words import action_lines
from jumar.show.terminal import as_text, controller_view, plain_table, result_view
from strategies import controllers

NAMES = ("good", "worn"), ("keep", "repair")


def rendered(view, width: int = 80) -> str:
    return as_text(view, width)


def same(view, expected: str, width: int = 80) -> None:
    assert rendered(view, width).strip("\n") == expected.strip("\n")


# ---------------------------------------------------------------- words and numbers


@given(st.floats(0, 1))
def test_only_certainty_is_printed_as_certain(p):
    assert (percent(p) == "100%") == (p >= 1 - 1e-9)
    assert (percent(p) == "0%") == (p == 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("worn", "worn"),
        ("תקין 🔧 é", "תקין 🔧 é"),
        ("[red]", "[red]"),
        ("a\nb", r"a\nb"),
        ("\x1b[0m", r"\x1b[0m"),
        ("\u202egnorw", r"\u202egnorw"),  # would turn the rest of the line around
        ("\ud800", r"\ud800"),
        ("x" * 40, "x" * 40),
        ("x" * 41, "x" * 39 + "…"),
        ("x" * 10_000, "x" * 39 + "…"),
    ],
)
def test_names_cannot_disturb_a_terminal(name, text):
    assert shown(name) == text


@given(st.text())
def test_every_name_is_printable_and_short(name):
    assert shown(name).isprintable()
    assert len(shown(name)) <= 40


def test_actions_tell_what_they_were():
    actions = ("a", "b", "c", "d", "e")
    new, old = np.array([0, 0.75, 0.25, 0, 0]), np.array([0.125, 0.25, 0.25, 0.375, 0])
    assert action_lines(actions, new) == ["b 75%", "c 25%"]
    assert action_lines(actions, new, old) == ["b 25% → 75%", "c 25%", "dropped: d 37.5%, a 12.5%"]
    assert action_lines(actions, new, old, most=1) == [
        "b 25% → 75%",
        "...",
        "dropped: d 37.5%, ...",
    ]
    assert action_lines(actions, new, new) == action_lines(actions, new)


def test_cells_and_headers_are_never_markup():
    text = rendered(plain_table(["[red]x", ":smile:"], [["[/]", "[bold]y[/bold]"]], title="[b]t"))
    for literal in ("[red]x", ":smile:", "[/]", "[bold]y[/bold]", "[b]t"):
        assert literal in text


def test_numbers_stand_at_the_right_and_are_not_broken():
    same(
        plain_table(["what", "n"], [["a b c d e f", "1"], ["g", "1,000,000"]], right=["n"]),
        """
  what            n
  ─────────────────
  a b c           1
  d e f
  g       1,000,000
""",
        width=20,
    )


# ---------------------------------------------------------------- controllers


def test_a_controller_without_memory():
    controller = Controller(
        *NAMES, window(1), [[1]], [[0.0, 1.0]], [0.75, 0.25], name="repair what is worn"
    )
    same(
        controller_view(controller),
        """
repair what is worn
  memory        window of 1
  observations  good, worn
  actions       keep, repair

  seen now   keep   repair
  ────────────────────────
  good       75%    25%
  worn       ·      100%
""",
    )


def test_a_window_says_once_that_nothing_was_seen_yet():
    uniform = Controller.uniform(("z",), ("a", "b"), memory=window(4), name="u")
    text = rendered(controller_view(uniform))
    rows = [line.split("  ")[1] for line in text.splitlines() if line.endswith("50%")]
    assert rows == ["(start)", "(start) → z", "(start) → z → z", "z → z → z"]


def test_a_window_with_actions_tells_what_was_done():
    uniform = Controller.uniform(("z",), ("a",), memory=window(2, actions=True), name="u")
    text = rendered(controller_view(uniform))
    assert "seen and done before" in text
    rows = [line.split("  ")[1] for line in text.splitlines() if line.endswith("100%")]
    assert rows == ["(start)", "z: a"]


TWO = NamedNodes(("inspected", "due"), np.array([[[1, 1], [1, 0]], [[0, 0], [0, 0]]]))


def test_a_table_shows_how_it_moves():
    controller = Controller.constant(*NAMES, [1, 0], memory=TWO, name="keep")
    same(
        controller_view(controller),
        """
keep
  memory        table of 2 nodes
  observations  good, worn
  actions       keep, repair

  memory      seen now   keep   repair
  ────────────────────────────────────
  inspected   good       100%   ·
  inspected   worn       100%   ·
  due         good       100%   ·
  due         worn       100%   ·

How the memory moves; it starts with 'inspected'

  memory      on seeing   after doing   goes to
  ───────────────────────────────────────────────
  inspected   good        anything      due
  inspected   worn        keep          due
  inspected   worn        repair        inspected
  due         anything    anything      inspected
""",
    )


def test_an_improved_controller_shows_what_it_changes_and_its_behavior_once():
    behavior = Controller.constant(*NAMES, [0.75, 0.25], memory=TWO, name="rule")
    lifted = behavior.lift(product(TWO, window(2)))
    state = lifted.state(["due", ["good"]], "worn")
    better = lifted.except_at(state[None, :], np.array([[0.0, 1.0]]), "better")
    same(
        controller_view(better),
        """
better
  memory        table of 2 nodes × window of 2
  observations  good, worn
  actions       keep, repair

  memory       seen now   does: was → is
  ─────────────────────────────────────────
  due | good   worn       repair 25% → 100%
                          dropped: keep 75%

Everywhere else it does the same as:
  rule
    memory        table of 2 nodes
    observations  good, worn
    actions       keep, repair

    memory      seen now   keep   repair
    ────────────────────────────────────
    inspected   good       75%    25%
    inspected   worn       75%    25%
    due         good       75%    25%
    due         worn       75%    25%

  How the memory moves; it starts with 'inspected'

    memory      on seeing   after doing   goes to
    ───────────────────────────────────────────────
    inspected   good        anything      due
    inspected   worn        keep          due
    inspected   worn        repair        inspected
    due         anything    anything      inspected
""",
    )


def test_a_lifted_controller_is_shown_as_the_one_it_is():
    lifted = Controller.constant(*NAMES, [1, 0], name="keep").lift(window(5))
    text = rendered(controller_view(lifted))
    assert "window of 5" in text
    assert "Everywhere it does the same as:" in text
    assert text.count("100%") == 2


def test_a_long_window_shows_the_exceptions_and_the_default():
    controller = Controller(*NAMES, window(9), [[0, 1]], [[0.0, 1.0]], [0.75, 0.25], name="long")
    text = rendered(controller_view(controller))
    assert text.count("(start)") == 1
    assert "Everywhere else: keep 75%, repair 25%" in text


def test_many_actions_share_a_column():
    actions = tuple(f"a{i}" for i in range(8))
    row = [0.3, 0, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1]
    controller = Controller.constant(("z",), actions, row, name="many")
    assert "a0 30%, a2 20%, a3 10%, a4 10%, a5 10%, a6 10%, ..." in rendered(
        controller_view(controller)
    )


def test_many_names_are_not_all_listed():
    names = tuple(f"z{i}" for i in range(20))
    text = rendered(controller_view(Controller.uniform(names, ("a", "b"))), 120)
    assert "z11, ... (20 in all)" in text


def test_rows_beyond_the_limit_are_counted():
    uniform = Controller.uniform(*NAMES, memory=window(2), name="u")
    trained = Controller(
        *NAMES, uniform.memory, [[0, 0], [0, 1], [1, 0]], [[1, 0]] * 3, [0, 1], name="t"
    )
    text = rendered(controller_view(trained, 2))
    assert "... and 1 more situation\n" in text
    assert "Everywhere else: repair 100%" in text
    moving = Controller.uniform(*NAMES, memory=TWO, name="m")
    assert "... and 3 more moves" in rendered(controller_view(moving, 1))


@given(controllers(*NAMES), st.sampled_from([20, 80, 200]))
def test_every_controller_can_be_shown_at_every_width(controller, width):
    text = rendered(controller_view(controller), width)
    assert text.startswith("random")
    assert max(map(len, text.splitlines())) <= width


# ---------------------------------------------------------------- improvements


def one_step_log(n: int, terminated: bool = True) -> Episodes:
    """Keeping pays 1, repairing 3; each was done n times."""
    return Episodes(
        *NAMES,
        [1] * 2 * n,
        [0, 1] * n,
        [1.0, 3.0] * n,
        range(2 * n + 1),
        [UNKNOWN] * 2 * n,
        [terminated] * 2 * n,
    )


HALF = Controller.uniform(*NAMES, name="half")


def test_an_improvement_on_a_page():
    result = jm.improve(one_step_log(30), HALF, discount=0.9, algorithm="basic")
    assert result.improvement.trace.gap < 1e-9
    text = rendered(result_view(result.assessment))
    one_line = " ".join(text.split())
    assert text.startswith(result.assessment.verdict.headline)
    assert "60 episodes, 60 steps counted" in one_line
    assert "basic(unseen=exclude)" in one_line
    assert "1 of 1 situation" in one_line
    assert "brings 2 per episode" in one_line
    assert "worn repair 50% → 100% 60 dropped: keep 50%" in one_line
    assert text.index("What changes") < text.index("Certificate")


def test_evidence_tells_where_there_is_a_choice():
    text = rendered(
        result_view(jm.improve(one_step_log(30), HALF, discount=0.9, n_wedge=29).assessment), 200
    )
    says(text, "2 of 2 pairs", "more than N∧ = 29 times", "with a choice of such actions: 1")
    assert "spibb(n_wedge=29)" in text
    none = rendered(
        result_view(jm.improve(one_step_log(30), HALF, discount=0.9, n_wedge=30).assessment), 200
    )
    assert "0 of 2 pairs" in none
    assert "What changes" not in none
    assert "Nothing changes, so nothing can be lost." in none


def test_steps_left_out_are_told():
    log = one_step_log(30, terminated=False)
    with refuses(LogError, "60 steps", "what followed"):
        jm.improve(log, HALF, discount=0.9, algorithm="spibb")
    text = rendered(
        result_view(
            jm.improve(log + one_step_log(5), HALF, discount=0.9, algorithm="spibb").assessment
        ),
        200,
    )
    says(text, "steps counted", "60 left out", "what followed")


def test_bounds_that_say_nothing_are_only_counted():
    result = jm.improve(one_step_log(30), HALF, discount=0.9, algorithm="spibb")
    empty = sum(certificate.vacuous for certificate in result.certificates)
    assert empty == len(result.certificates) - 1
    text = rendered(result_view(result.assessment), 200)
    assert f"{empty} more bounds are vacuous" in text
    assert "Bounds that say something" not in text


def test_bounds_that_say_something_are_listed():
    one = Controller.uniform(("worn",), NAMES[1])  # the only state is seen: the model bound holds
    n = 200_000
    log = Episodes(("worn",), NAMES[1], [0] * 2 * n, [0, 1] * n, [1.0, 3.0] * n,
                   np.arange(2 * n + 1), [UNKNOWN] * 2 * n, [True] * 2 * n)  # fmt: skip
    result = jm.improve(log, one, discount=0.5, algorithm="spibb")
    telling = [c for c in result.certificates if not c.vacuous]
    assert len(telling) == 2
    text = rendered(result_view(result.assessment), 200)
    table = text.partition("Bounds that say something")[2]
    for certificate in telling:
        if certificate.zeta < 0:  # a least gain, which is proved only if the memory suffices
            assert f"{-certificate.zeta:.6g}" not in text
            continue
        line = next(x for x in table.splitlines() if certificate.title + "  " in x)
        assert f"{certificate.zeta:.6g}" in line
        assert str(certificate.validity) in line
    for assumption in result.certificate.assumptions:
        assert f"- {assumption}" in text
