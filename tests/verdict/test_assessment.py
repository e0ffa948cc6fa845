"""What is said about a result is decided once, and every rendering says the same."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import jumar as jm
from commands import RULE, Finished, run_command
from facts import says
from jumar.evidence.bounds import SUFFICIENT
from jumar.evidence.checking import Check
from jumar.evidence.checking.base import Finding, Section
from jumar.evidence.claims import Certificate
from jumar.evidence.validity import Validity
from jumar.gate.trials import Selection, Setting
from jumar.memory import window
from jumar.policy.files import controller_from_document
from jumar.show.terminal import result_view
from jumar.verdict import assessing
from jumar.verdict.gain import gain_of
from jumar.verdict.result import Result
from jumar.verdict.sentences import doubts, luck
from jumar.verdict.tested import MOST_TESTED, in_words, setting_words
from jumar.verdict.verdicts import Case, Verdict, judge
from results import (
    CHOSEN,
    FAR,
    HALF,
    LOWER,
    chosen_by_test,
    improved,
    one_step_log,
    one_step_log_with,
    read,
)


def one_step_result(n_wedge: int) -> Result:
    return improved(one_step_log(30, 30), HALF, discount=0.9, n_wedge=n_wedge)


def bound(zeta: float, validity: Validity, delta: float | None = 0.05) -> Certificate:
    return Certificate("test", "Test", delta, zeta, 10.0, validity)


def certified(best: Certificate) -> Result:
    return replace(one_step_result(20), certificates=(best,))


def unchanged_result() -> Result:
    return one_step_result(40)


def checked(**sections: object) -> Check:
    return Check(60, 60, "half", 0.01, sections)


SOUND = checked()
FAILED = checked(fit=SimpleNamespace(verdict=Finding("failed", "No.")))


def told(result: Result) -> str:
    """What is said about the gain."""
    return judged(result, SOUND, result.selection).lead


def judged(result: Result, found: Check, test: Selection | None = None) -> Verdict:
    return judge(Case(result, found, test, gain_of(result, test)))


def test_the_interval_of_a_held_out_gain_is_that_of_student():
    """Of 50 episodes 5 % lie beyond 1.677 standard errors on either side; 5 ± 1.677."""
    result = chosen_by_test(one_step_log(50, 50))
    said = told(result)
    says(said, "about 5.0", "90 % interval 3.3 to 6.7")
    says(said, "as 12 ordinary episodes would")  # fewer than 30, so care is asked for
    (lucky,) = luck(result)
    assert "the best of 2 that passed" in str(lucky)
    assert luck(chosen_by_test(one_step_log(50, 50), (CHOSEN, FAR))) == ()


def test_held_out_costs_are_saved():
    log = read(one_step_log(50, 50), costs=True)
    result = chosen_by_test(replace(log, reward=log.reward - 4))  # costs 3 and 1
    says(told(result), "Expect to save", "about 5.0", "90 % interval 3.3 to 6.7")


def test_the_best_eight_are_shown_and_the_chosen_one_is_always_among_them():
    others = tuple(replace(LOWER, lower=20.0 - i) for i in range(12))
    selection = chosen_by_test(one_step_log(50, 50), (*others, CHOSEN)).selection
    shown = in_words(selection)
    assert len(shown.rows) == MOST_TESTED == 8
    lower = [row.cells[-1] for row in shown.rows]
    assert lower == ["20", "19", "18", "17", "16", "15", "14", "0.5"]
    assert [row.chosen for row in shown.rows] == [False] * 7 + [True]
    says(shown.count, "13 most promising ones tested", "best 8")


def test_a_setting_of_another_method_is_named():
    says(setting_words(Setting(window(1), "other", (), 1.0)), "window of 1", "method other")


def the_cut(result: Result) -> str:
    (found,) = [doubt.text for doubt in doubts(result) if doubt.title == "The cut"]
    return found


def test_records_that_stop_make_the_answer_doubtful():
    """What was seen after the last step is known, so all 60 steps count."""
    cut = one_step_log_with(30, 30, terminated=[False] + [True] * 59)
    assert "1 of 60 records stops before the end" in the_cut(
        jm.improve(cut, HALF, discount=0.9, n_wedge=5)
    )
    cut = one_step_log_with(30, 30, terminated=[False] * 60, final_observation=[0] * 60)
    named = jm.improve(cut, HALF, discount=0.9, n_wedge=5)
    assert named.counts.unfinished == 0
    says(the_cut(named), "60 of 60 records stop", "Of what counts, 90 %", "rely on a model")
    says(the_cut(chosen_by_test(cut)), "The test counts up to the cut")


@pytest.mark.parametrize(
    ("best", "found", "expected", "words"),
    [
        (bound(-1.0, Validity.PROVED), SOUND, "adopt", "at least 1 per episode"),
        (bound(0.0, Validity.PROVED), SOUND, "adopt", "not worse than what you do"),
        (bound(-1.0, Validity.PROVED_IF_SEEN), SOUND, "adopt-if", "at least 1 per episode"),
        (bound(-1.0, Validity.PROVED_IF_SUFFICIENT), SOUND, "trial", "tell all of the past"),
        (bound(0.0, Validity.PUBLISHED), SOUND, "trial", "theorem in print"),
        (bound(-1.0, Validity.CLAIMED), SOUND, "trial", "a step of its proof is missing"),
        (bound(-1.0, Validity.ASYMPTOTIC), SOUND, "trial", "as the data grow"),
        (bound(-1.0, Validity.PROVED), FAILED, "do-not-rely", "No."),
        (bound(2.0, Validity.PROVED), SOUND, "trial", "No certificate excludes a loss"),
        (bound(10.0, Validity.PROVED), SOUND, "trial", "No certificate excludes a loss"),
        (None, SOUND, "keep", "no reason to change"),
        (None, FAILED, "do-not-rely", "No."),
    ],
)
def test_the_class_of_the_certificate_and_the_checks_decide(
    best: Certificate | None, found: Check, expected: str, words: str
):
    found = judged(certified(best) if best else unchanged_result(), found)
    assert found.word == expected
    says(found.lead, words)
    assert found.exit_code == (expected == "do-not-rely")
    assert (found.at_least is not None) == expected.startswith("adopt")


def test_a_least_gain_is_rounded_down():
    says(told(certified(bound(-1.2399, Validity.PROVED))), "at least 1.23 per episode")


def test_a_certificate_whose_assumption_the_log_contradicts_says_so():
    """It is proved if a window of 1 suffices; the order test rejects a window of 1."""
    result = certified(bound(-1.0, Validity.PROVED_IF_SUFFICIENT))
    assuming = replace(result.certificate, assumptions=(SUFFICIENT,))
    result = replace(result, certificates=(assuming,))
    says(judged(result, rejecting("window of 1")).lead, "the log says that it does not")
    assert "it does not" not in judged(result, rejecting("window of 2")).lead


def rejecting(memory: str) -> Check:
    tests = [{"memory": memory, "rejected": True}]
    return checked(order=Section(Finding("look", "Too short."), {"tests": tests}))


@pytest.mark.parametrize(
    ("gains", "expected"),
    [((-1.0, -2.0), "keep"), ((3.0, -1.0), "trial"), ((0.0, 0.0), "keep")],
)
def test_a_named_algorithm_that_loses_on_held_out_episodes_changes_nothing(
    gains: tuple[float, float], expected: str
):
    trials = tuple(replace(LOWER, gain=g, half=i, passed=False) for i, g in enumerate(gains))
    test = replace(chosen_by_test(one_step_log(30, 30)).selection, trials=trials, chosen=None)
    found = judged(certified(bound(-1.0, Validity.PUBLISHED)), SOUND, test)
    assert found.word == expected
    lost = "no better than yours" if expected == "keep" else "0 of 2 policies"
    says(found.lead, lost, "on the other half")


def test_keeping_what_was_only_estimated_says_that_it_is_a_copy():
    result = jm.improve(
        one_step_log(30, 3), replace(HALF, estimated=True), discount=0.9, n_wedge=20
    )
    assert result.improvement.changed == 0
    says(judged(result, SOUND).next_step, "only a copy of yours")


# ---------------------------------------------------------------- all say the same


def rule_with(exploration: float) -> str:
    return RULE.replace("exploration = 0.02", f"exploration = {exploration}")


@cache
def maintenance_log(exploration: float, episodes: int = 400) -> str:
    """A log that the rule made, with this much exploration: repairing pays where it is worn."""
    behavior = controller_from_document(tomllib.loads(rule_with(exploration)))
    rng = np.random.default_rng(3)
    table = io.StringIO()
    rows = csv.writer(table)
    rows.writerow(["episode", "step", "observation", "action", "reward"])
    for episode in range(episodes):
        node, worn = behavior.memory.initial()[None, :], False
        for step in range(6):
            z = int(rng.choice([0, 2 if worn else 1]))
            state = np.concatenate([node, [[z]]], axis=1)
            a = int(rng.choice(3, p=behavior.rows_at(state)[0]))
            reward = (-4.0 if worn else 1.0) - (0.0, 0.3, 1.0)[a]
            rows.writerow([episode, step, behavior.observations[z], behavior.actions[a], reward])
            node = behavior.memory.step(node, np.array([z]), np.array([a]))
            worn = False if a == 2 else bool(worn or rng.random() < 0.3)
    return table.getvalue()


def command_line(folder: Path, truth: float, told: float, *options: object) -> list[object]:
    """A log made with one amount of exploration and the rule that tells another."""
    (folder / "log.csv").write_text(maintenance_log(truth))
    (folder / "rule.toml").write_text(rule_with(told))
    where = ["improve", folder / "log.csv", "--policy", folder / "rule.toml"]
    return [*where, "--ends", "terminated", "--discount", ".9", *options]


def words_of(folder: Path) -> dict[str, str]:
    """The verdict as each file says it."""
    page = (folder / "report.html").read_text("utf-8")
    (row, *rest) = csv.DictReader((folder / "decisions.csv").read_text("utf-8").splitlines())
    word = row["verdict on the whole"]
    assert all(other["verdict on the whole"] == word for other in rest)
    picture = (folder / "controller.svg").read_text("utf-8")
    return {
        "certificate": json.loads((folder / "certificate.json").read_text())["verdict"]["word"],
        "decisions": word,
        "page": page.partition('class="answer ')[2].partition('"')[0],
        "picture": re.search(r"Verdict: ([a-z-]+)", picture)[1],
    }


@pytest.mark.parametrize(
    ("truth", "told", "options", "expected"),
    [
        (0.15, 0.15, ["--rewards", "-5:1"], "keep"),
        (0.15, 0.15, ["--n-wedge", 5], None),
        (0.15, 0.15, ["--algorithm", "basic"], None),
        (0.15, 0.5, [], "do-not-rely"),
        (0.15, 0.5, ["--n-wedge", 5], "do-not-rely"),
        (0.6, 0.6, ["--gate", "asymptotic"], None),
    ],
)
def test_every_rendering_says_the_same_verdict(tmp_path, capsys, truth, told, options, expected):
    line = command_line(tmp_path, truth, told, *options)
    machine = run_command(capsys, *line, "--json", "-o", tmp_path / "out")
    person = run_command(capsys, *line)
    word = machine.data["verdict"]["word"]
    if expected:
        assert word == expected
    assert set(words_of(tmp_path / "out").values()) == {word}
    assert person.text.startswith(machine.data["verdict"]["headline"])
    assert machine.code == person.code == (word == "do-not-rely")
    if word == "do-not-rely":
        is_loud(machine, person)
        written = json.loads((tmp_path / "out" / "certificate.json").read_text())
        assert written["verdict"] == machine.data["verdict"]


def is_loud(machine: Finished, person: Finished) -> None:
    """The rule says 50 % exploration, the truth is 15 %: the estimated gain is far too large."""
    (reason, *_) = machine.data["verdict"]["reasons"]
    assert reason.startswith("This policy did not choose these actions")
    assert machine.data["checks"]["fit"]["status"] == "failed"
    assert person.code == 1
    assert person.text.startswith("Do not use these numbers.")


@pytest.mark.parametrize("options", [["--rewards", "-5:1"], ["--n-wedge", 5]])
def test_writing_files_changes_nothing_of_what_is_said(tmp_path, capsys, options):
    line = command_line(tmp_path, 0.15, 0.15, *options, "--json")
    alone = run_command(capsys, *line)
    written = run_command(capsys, *line, "-o", tmp_path / "out")
    said = [done.data for done in (alone, written)]
    for notice in [notice for data in said for notice in data["notices"]]:
        del notice["command"]  # it is the one that was typed, with a change
    for data in said:
        del data["next_command"]
    assert {**said[1], "files": []} == said[0]
    assert written.code == alone.code


def test_nothing_is_computed_twice(tmp_path, monkeypatch):
    """Checks, bootstrap, decisions, the layout and fingerprints, for all files of a folder."""
    from jumar.show import outputs, provenance
    from jumar.show.drawing import svg

    calls = []

    def counting(module, name):
        real = getattr(module, name)

        def call(*arguments, **options):
            calls.append(name)
            return real(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    for module, name in [
        (assessing, "check"),
        (assessing, "decide"),
        (svg, "_laid_out"),
        (provenance, "fingerprint"),
    ]:
        counting(module, name)
    log = tmp_path / "log.csv"
    log.write_text("a file")
    result = jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20)
    outputs.save(result.assessment, tmp_path / "out", provenance.Run(files={"log": log}))
    result.report(tmp_path / "page.html")
    print(result_view(result.assessment))
    assert calls.count("_laid_out") == 2  # the folder, and the page written later
    calls = [name for name in calls if name != "_laid_out"]
    assert sorted(calls) == ["check", "decide", "fingerprint"]


def test_renderers_import_no_estimator():
    """What shows a result sees the assessment, nouns and files; nothing that computes."""
    folder = Path(jm.__file__).parent / "show"
    nouns = ("core", "memory", "policy", "log", "project", "verdict", "show")
    allowed = tuple(f"jumar.{name}" for name in nouns)
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text())
        tree.body = [
            n
            for n in tree.body
            if not (isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jumar."):
                assert node.module.startswith(allowed), f"{path.name} imports {node.module}"
