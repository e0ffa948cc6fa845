"""What is said about a result is decided once, and every rendering says the same."""

from __future__ import annotations

import ast
import csv
import io
import json
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
from jumar.algorithms.auto.trials import Selection, Setting
from jumar.assessment import assessing
from jumar.assessment.gain import gain_of
from jumar.assessment.result import Result
from jumar.assessment.sentences import gain, safety, warnings
from jumar.assessment.tested import MOST_TESTED, in_words, setting_words
from jumar.assessment.verdict import BADGES, Verdict, judge
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.memory import window
from jumar.core.text import rounded
from jumar.evidence.bounds import SUFFICIENT
from jumar.evidence.checking import Check
from jumar.evidence.checking.base import Finding
from jumar.evidence.checking.order import Order
from jumar.evidence.claims import Certificate
from jumar.evidence.resampling import resample
from jumar.evidence.validity import Validity
from jumar.io.controllers import controller_from_document
from jumar.show.terminal import result_view
from jumar.solve import linear
from results import (
    CHOSEN,
    FAR,
    HALF,
    LOWER,
    Page,
    chosen_by_test,
    improved,
    one_step_log,
    one_step_log_with,
    page_of,
    read,
)
from strategies import names


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
    again = resample(result.log, result.improvement, seed=jm.random_stream(1, "bootstrap"))
    return gain(result, gain_of(result, again), again.interval())


def judged(result: Result, found: Check, test: Selection | None = None) -> Verdict:
    again = resample(result.log, result.improvement, seed=1)
    return judge(result, found, test, gain_of(result, again))


def test_the_interval_of_a_held_out_gain_is_that_of_student():
    """Of 50 episodes 5 % lie beyond 1.677 standard errors on either side; 5 ± 1.677."""
    result = chosen_by_test(one_step_log(50, 50))
    test, _, model = told(result).partition("whole log")
    says(
        test, "brings 5.0 more per episode", "90 % interval is 3.3 to 6.7", "2 that passed", "luck"
    )
    says(model, "1 more per episode", "2 → 3", "in 90 % of logs redrawn", "between 1 and 1")
    assert "luck" not in told(chosen_by_test(one_step_log(50, 50), (CHOSEN, FAR)))


def test_held_out_costs_are_saved_and_a_model_that_disagrees_is_told():
    log = read(one_step_log(50, 50), costs=True)
    result = chosen_by_test(replace(log, reward=log.reward - 4))  # costs 3 and 1
    said = told(result)
    says(said, "saves 5.0 per episode", "90 % interval is 3.3 to 6.7")
    assert "says 1 saved per episode (cost 2 → 1;" in said
    assert "saved on the other half" in page_of(result).text
    worse = replace(result.improvement, performance=-3.0)
    assert worse.gain == -1
    assert "says 1 lost per episode (cost 2 → 3;" in told(replace(result, improvement=worse))


def test_the_best_eight_are_shown_and_the_chosen_one_is_always_among_them():
    others = tuple(replace(LOWER, lower=20.0 - i) for i in range(12))
    selection = chosen_by_test(one_step_log(50, 50), (*others, CHOSEN)).selection
    shown = in_words(selection)
    assert len(shown.rows) == MOST_TESTED == 8
    assert [row.lower for row in shown.rows] == ["20", "19", "18", "17", "16", "15", "14", "0.5"]
    assert [row.chosen for row in shown.rows] == [False] * 7 + [True]
    says(shown.count, "13 most promising ones tested", "best 8")


def test_a_setting_of_another_method_is_named():
    says(setting_words(Setting(window(1), "other", (), 1.0)), "window of 1", "method other")


def test_a_single_record_that_stops_early_is_told_in_the_singular():
    cut = one_step_log_with(30, 30, terminated=[False] + [True] * 59)
    (told,) = warnings(jm.improve(cut, HALF, discount=0.9, n_wedge=5), SOUND)
    assert "1 of 60 episodes was cut off" in told.text
    assert "1 last step whose outcome is unknown was left out." in told.text


def test_records_that_stop_are_warned_about_even_where_no_step_is_left_out():
    """What was seen after the last step is known, so all 60 steps count."""
    cut = one_step_log_with(30, 30, terminated=[False] * 60, final_observation=[0] * 60)
    named = jm.improve(cut, HALF, discount=0.9, n_wedge=5)
    assert named.counts.unfinished == 0
    (told,) = warnings(named, SOUND)
    says(told.title, "All episodes", "cut off")
    says(told.text, "60 of 60 episodes were cut off", "estimated from the other episodes")
    says(told.text, "90 % of the discounted weight lies beyond the cuts")
    assert "up to the cut" not in told.text
    (told,) = warnings(chosen_by_test(cut), SOUND)
    says(told.text, "The test counts up to the cut")


@pytest.mark.parametrize(
    ("best", "found", "expected", "words"),
    [
        (bound(-1.0, Validity.PROVED), SOUND, "safe", "certificate"),
        (bound(0.0, Validity.PUBLISHED), SOUND, "safe", "not worse"),
        (bound(-1.0, Validity.CLAIMED), SOUND, "test", "no certificate"),
        (bound(-1.0, Validity.ASYMPTOTIC), SOUND, "tested", "held-out test"),
        (bound(-1.0, Validity.ASYMPTOTIC), FAILED, "unreliable", "failed a check"),
        (bound(-1.0, Validity.PROVED), FAILED, "unreliable", "failed a check"),
        (bound(2.0, Validity.PROVED), SOUND, "test", "no certificate"),
        (bound(10.0, Validity.PROVED), SOUND, "test", "no certificate"),
        (None, SOUND, "keep", "Keep the controller"),
        (None, FAILED, "unreliable", "failed a check"),
    ],
)
def test_only_a_trusted_certificate_of_no_loss_and_a_sound_log_make_it_safe(
    best: Certificate | None, found: Check, expected: str, words: str
):
    found = judged(certified(best) if best else unchanged_result(), found)
    assert found.word == expected
    says(found.headline, words)
    assert found.exit_code == (expected == "unreliable")


def test_a_certificate_whose_assumption_the_log_contradicts_makes_nothing_safe():
    """It is proved if a window of 1 suffices; the order test rejects a window of 1."""
    result = certified(bound(-1.0, Validity.PROVED_IF_SUFFICIENT))
    assuming = replace(result.certificate, assumptions=(SUFFICIENT,))
    result = replace(result, certificates=(assuming,))
    assert judged(result, SOUND).word == "safe"
    short = rejecting("window of 1")
    assert judged(result, short).word == "test"
    assert "the log says that it does not" in safety(result, short)
    assert judged(result, rejecting("window of 2")).word == "safe"


def rejecting(memory: str) -> Check:
    test = SimpleNamespace(memory=memory, rejected=True)
    return checked(order=Order((test,), "window of 3", True, Finding("look", "Too short.")))


@pytest.mark.parametrize(
    ("gains", "validity", "expected"),
    [
        ((-1.0, -2.0), Validity.PUBLISHED, "doubtful"),
        ((-1.0, -2.0), Validity.PROVED_IF_SUFFICIENT, "doubtful"),
        ((-1.0, -2.0), Validity.PROVED, "safe"),  # a proof without "if" stands against chance
        ((3.0, -1.0), Validity.PUBLISHED, "safe"),
        ((0.0, 0.0), Validity.CLAIMED, "doubtful"),
    ],
)
def test_a_named_algorithm_that_loses_on_held_out_episodes_is_not_confirmed(
    gains: tuple[float, float], validity: Validity, expected: str
):
    trials = tuple(replace(LOWER, gain=g, half=i, passed=False) for i, g in enumerate(gains))
    test = replace(chosen_by_test(one_step_log(30, 30)).selection, trials=trials, chosen=None)
    found = judged(certified(bound(-1.0, validity)), SOUND, test)
    assert found.word == expected
    gain, error = np.mean(gains), 1 / np.sqrt(2)  # two trials with a standard error of 1
    says(found.headline, "held-out test", rounded(abs(gain), error), "did not pass")


@pytest.mark.parametrize(
    ("best", "words"),
    [
        (bound(-1.0, Validity.PROVED), ["not worse", "a chance of 5 %"]),
        (bound(2.0, Validity.PROVED), ["more than 2 per episode", "a chance of 5 %"]),
        (bound(2.0, Validity.PROVED, None), ["more than 2 per episode is excluded."]),
        (bound(2.0, Validity.CLAIMED), ["more than 2 per episode", "only claimed"]),
        (bound(10.0, Validity.PROVED), ["excludes no loss"]),
    ],
)
def test_how_safe_it_is_in_words(best: Certificate, words: list[str]):
    says(safety(certified(best), SOUND), *words)


def test_keeping_what_was_only_estimated_is_not_called_safe_beyond_going_on_as_before():
    result = jm.improve(
        one_step_log(30, 3), replace(HALF, estimated=True), discount=0.9, n_wedge=20
    )
    assert result.improvement.changed == 0
    assert safety(result, SOUND) == result.certificate.claim
    assert "the controller handed over is only a copy" in safety(result, SOUND)


def test_a_warning_stands_for_each_failed_check():
    (first,) = warnings(certified(bound(0.0, Validity.PROVED)), FAILED)
    assert (first.title, first.text) == ("A check failed: did this policy produce this log?", "No.")


def test_in_a_large_model_iteration_finds_the_bootstrap_that_elimination_finds(monkeypatch):
    """20 observations seen at random: a window of 2 has 420 history states."""
    rng = np.random.default_rng(1)
    O, N = 20, 6000
    log = Episodes(
        names("z", O), ("a", "b"), rng.integers(O, size=N), rng.integers(2, size=N),
        rng.normal(size=N), np.arange(0, N + 1, 10), [-1] * (N // 10), [True] * (N // 10),
    )  # fmt: skip
    behavior = Controller.uniform(log.observations, log.actions)
    better = jm.improve(log, behavior, discount=0.99, memory=window(2), n_wedge=3).improvement
    assert len(better.mdp) == 420 > linear.ITERATED
    iterated = resample(log, better, seed=jm.random_stream(1, "bootstrap"), draws=5)
    monkeypatch.setattr(linear, "ITERATED", 1000)
    eliminated = resample(log, better, seed=jm.random_stream(1, "bootstrap"), draws=5)
    np.testing.assert_allclose(iterated.gains, eliminated.gains, rtol=1e-6)


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
    (badge,) = [badge for badge in BADGES.values() if f"Verdict: {badge}" in picture]
    return {
        "certificate": json.loads((folder / "certificate.json").read_text())["verdict"]["word"],
        "decisions": word,
        "page": page.partition('class="answer ')[2].partition('"')[0],
        "badge": Page(page).text.partition("To the answer")[2].partition("The log")[0],
        "picture": next(word for word, text in BADGES.items() if text == badge).value,
    }


@pytest.mark.parametrize(
    ("truth", "told", "options", "expected"),
    [
        (0.15, 0.15, ["--rewards", "-5:1"], "keep"),
        (0.15, 0.15, ["--n-wedge", 5], None),
        (0.15, 0.15, ["--algorithm", "basic"], None),
        (0.15, 0.5, [], "unreliable"),
        (0.15, 0.5, ["--n-wedge", 5], "unreliable"),
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
    said = words_of(tmp_path / "out")
    assert said.pop("badge").split() != []
    assert set(said.values()) == {word}
    assert BADGES[word].upper() in person.text
    assert machine.data["verdict"]["headline"] in person.text
    assert machine.code == person.code == (word == "unreliable")
    if word == "unreliable":
        is_loud(machine, person)
        written = json.loads((tmp_path / "out" / "certificate.json").read_text())
        assert written["verdict"] == machine.data["verdict"]


def is_loud(machine: Finished, person: Finished) -> None:
    """The rule says 50 % exploration, the truth is 15 %: the estimated gain is far too large."""
    (reason, *_) = machine.data["verdict"]["reasons"]
    assert reason.startswith("Did this policy produce this log?")
    assert machine.data["checks"]["fit"]["status"] == "failed"
    assert person.code == 1
    assert person.text.startswith("DO NOT RELY ON THIS")
    assert "A check failed" in person.text


@pytest.mark.parametrize("options", [["--rewards", "-5:1"], ["--n-wedge", 5]])
def test_writing_files_changes_nothing_of_what_is_said(tmp_path, capsys, options):
    line = command_line(tmp_path, 0.15, 0.15, *options, "--json")
    alone = run_command(capsys, *line)
    written = run_command(capsys, *line, "-o", tmp_path / "out")
    said = [done.data for done in (alone, written)]
    for notice in [notice for data in said for notice in data["notices"]]:
        del notice["command"]  # it is the one that was typed, with a change
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
        (assessing, "resample"),
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
    assert sorted(calls) == ["check", "decide", "fingerprint", "resample"]


def test_renderers_import_no_estimator():
    """What shows a result sees the assessment, nouns and files; nothing that computes."""
    folder = Path(jm.__file__).parent / "show"
    allowed = ("jumar.core", "jumar.io", "jumar.assessment", "jumar.show")
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
