"""What is said about a result is decided once, and every rendering says the same."""

from __future__ import annotations

import ast
import csv
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import jumar as jm
from commands import RULE, run_command
from facts import says
from jumar.algorithms.auto.trials import Setting
from jumar.assessment import assessing
from jumar.assessment.result import Result
from jumar.assessment.sentences import gain, safety, warnings
from jumar.assessment.tested import MOST_TESTED, in_words, setting_words
from jumar.assessment.verdict import BADGES, judge
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
from jumar.show.terminal import result_view
from jumar.solve import linear
from results import (
    CHOSEN,
    FAR,
    HALF,
    LOWER,
    Page,
    chosen_by_test,
    one_step_log,
    page_of,
    read,
)
from strategies import names


@cache
def improved(n_wedge: int) -> Result:
    """Shared by all cases: frozen, and the same every time."""
    return jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=n_wedge)


def certified(zeta: float, validity: Validity, delta: float | None = 0.05) -> Result:
    best = Certificate("test", "Test", delta, zeta, 10.0, validity)
    return replace(improved(20), certificates=(best,))


def unchanged_result() -> Result:
    return improved(40)


def checked(**sections: object) -> Check:
    return Check(60, 60, "half", 0.01, sections)


SOUND = checked()
FAILED = checked(fit=SimpleNamespace(verdict=Finding("failed", "No.")))


def test_the_interval_of_a_held_out_gain_is_that_of_student():
    """Of 50 episodes 5 % lie beyond 1.677 standard errors on either side; 5 ± 1.677."""
    result = chosen_by_test(one_step_log(50, 50))
    said = gain(
        result, resample(result.log, result.improvement, seed=jm.random_stream(1, "bootstrap"))
    )
    test, _, model = said.partition("whole log")
    says(test, "brought 5.0 more per episode", "90 % interval 3.3 to 6.7", "2 that passed", "luck")
    says(model, "1 more per episode", "2 → 3", "in 90 % of logs redrawn", "between 1 and 1")
    only = chosen_by_test(one_step_log(50, 50), (CHOSEN, FAR))
    assert "luck" not in gain(only, resample(only.log, only.improvement, seed=jm.random_stream(1)))


def test_held_out_costs_are_saved_and_a_model_that_disagrees_is_told():
    log = read(one_step_log(50, 50), costs=True)
    result = chosen_by_test(replace(log, reward=log.reward - 4))  # costs 3 and 1
    again = resample(result.log, result.improvement, seed=jm.random_stream(1, "bootstrap"))
    said = gain(result, again)
    says(said, "saved 5.0 per episode (90 % interval 3.3 to 6.7)")
    assert "says 1 saved per episode (cost 2 → 1;" in said
    assert "saved on the other half" in page_of(result).text
    worse = replace(result.improvement, performance=-3.0)
    assert worse.gain == -1
    assert "says 1 lost per episode (cost 2 → 3;" in gain(replace(result, improvement=worse), again)


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
    cut = one_step_log(30, 30, terminated=[False] + [True] * 59)
    (told,) = warnings(jm.improve(cut, HALF, discount=0.9, n_wedge=5), SOUND)
    assert "1 of 60 episodes was cut off" in told.text
    assert "1 last step whose outcome is unknown was left out." in told.text


def test_records_that_stop_are_warned_about_even_where_no_step_is_left_out():
    """What was seen after the last step is known, so all 60 steps count."""
    cut = one_step_log(30, 30, terminated=[False] * 60, final_observation=[0] * 60)
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
    ("result", "found", "expected", "words"),
    [
        (certified(-1.0, Validity.PROVED), SOUND, "safe", "certificate"),
        (certified(0.0, Validity.PUBLISHED), SOUND, "safe", "not worse"),
        (certified(-1.0, Validity.CLAIMED), SOUND, "test", "No certificate"),
        (certified(-1.0, Validity.ASYMPTOTIC), SOUND, "tested", "held-out test"),
        (certified(-1.0, Validity.ASYMPTOTIC), FAILED, "unreliable", "failed a check"),
        (certified(-1.0, Validity.PROVED), FAILED, "unreliable", "failed a check"),
        (certified(2.0, Validity.PROVED), SOUND, "test", "No certificate"),
        (certified(10.0, Validity.PROVED), SOUND, "test", "No certificate"),
        (unchanged_result(), SOUND, "keep", "Keep the controller"),
        (unchanged_result(), FAILED, "unreliable", "failed a check"),
    ],
)
def test_only_a_trusted_certificate_of_no_loss_and_a_sound_log_make_it_safe(
    result: Result, found: Check, expected: str, words: str
):
    found = judge(result, found, None)
    assert found.word == expected
    says(found.headline, words)
    assert found.exit_code == (expected == "unreliable")


def test_a_certificate_whose_assumption_the_log_contradicts_makes_nothing_safe():
    """It is proved if a window of 1 suffices; the order test rejects a window of 1."""
    result = certified(-1.0, Validity.PROVED_IF_SUFFICIENT)
    assuming = replace(result.certificate, assumptions=(SUFFICIENT,))
    result = replace(result, certificates=(assuming,))
    assert judge(result, SOUND, None).word == "safe"
    short = rejecting("window of 1")
    assert judge(result, short, None).word == "test"
    assert "the log says that it does not" in safety(result, short)
    assert judge(result, rejecting("window of 2"), None).word == "safe"


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
    found = judge(certified(-1.0, validity), SOUND, test)
    assert found.word == expected
    gain, error = np.mean(gains), 1 / np.sqrt(2)  # two trials with a standard error of 1
    says(found.headline, "held-out test", rounded(abs(gain), error), "did not pass")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (certified(-1.0, Validity.PROVED), ["not worse", "a chance of 5 %"]),
        (certified(2.0, Validity.PROVED), ["more than 2 per episode", "a chance of 5 %"]),
        (certified(2.0, Validity.PROVED, None), ["more than 2 per episode is excluded."]),
        (certified(2.0, Validity.CLAIMED), ["more than 2 per episode", "only claimed"]),
        (certified(10.0, Validity.PROVED), ["excludes no loss"]),
    ],
)
def test_how_safe_it_is_in_words(result: Result, words: list[str]):
    says(safety(result, SOUND), *words)


def test_keeping_what_was_only_estimated_is_not_called_safe_beyond_going_on_as_before():
    result = jm.improve(
        one_step_log(30, 3), replace(HALF, estimated=True), discount=0.9, n_wedge=20
    )
    assert result.improvement.changed == 0
    assert safety(result, SOUND) == result.certificate.claim
    assert "the controller handed over is only a copy" in safety(result, SOUND)


def test_a_warning_stands_for_each_failed_check():
    (first,) = warnings(certified(0.0, Validity.PROVED), FAILED)
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


def maintenance_log(folder: Path, exploration: float, episodes: int = 400) -> Path:
    """A log that the rule made, with this much exploration: repairing pays where it is worn."""
    rule = folder / "truth.toml"
    rule.write_text(rule_with(exploration))
    behavior = jm.load_controller(rule)
    rng = np.random.default_rng(3)
    place = folder / "log.csv"
    with place.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["episode", "step", "observation", "action", "reward"])
        for episode in range(episodes):
            node, worn = behavior.memory.initial()[None, :], False
            for step in range(6):
                z = int(rng.choice([0, 2 if worn else 1]))
                state = np.concatenate([node, [[z]]], axis=1)
                a = int(rng.choice(3, p=behavior.rows_at(state)[0]))
                reward = (-4.0 if worn else 1.0) - (0.0, 0.3, 1.0)[a]
                rows.writerow(
                    [episode, step, behavior.observations[z], behavior.actions[a], reward]
                )
                node = behavior.memory.step(node, np.array([z]), np.array([a]))
                worn = False if a == 2 else bool(worn or rng.random() < 0.3)
    return place


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
        (0.6, 0.6, ["--assume-memory"], None),
    ],
)
def test_every_rendering_says_the_same_verdict(tmp_path, capsys, truth, told, options, expected):
    log = maintenance_log(tmp_path, truth)
    rule = tmp_path / "rule.toml"
    rule.write_text(rule_with(told))
    line = ["improve", log, "--policy", rule, "--ends", "terminated", "--discount", ".9", *options]
    machine = run_command(capsys, *line, "--json", "-o", tmp_path / "out")
    alone = run_command(capsys, *line, "--json")
    person = run_command(capsys, *line)
    word = machine.data["verdict"]["word"]
    if expected:
        assert word == expected
    said = words_of(tmp_path / "out")
    assert said.pop("badge").split() != []
    assert set(said.values()) == {word}
    assert BADGES[word].upper() in person.text
    assert machine.data["verdict"]["headline"] in person.text
    assert machine.code == alone.code == person.code == (word == "unreliable")
    noticed, facts = (
        [notice["fact"] for notice in run.data["notices"]] for run in (machine, alone)
    )
    assert noticed == facts
    assert {**machine.data, "files": [], "notices": alone.data["notices"]} == alone.data


def test_a_failed_check_is_loud_everywhere(tmp_path, capsys):
    """The rule says 50 % exploration, the truth is 15 %: the estimated gain is far too large."""
    log = maintenance_log(tmp_path, 0.15)
    rule = tmp_path / "rule.toml"
    rule.write_text(rule_with(0.5))
    line = ["improve", log, "--policy", rule, "--ends", "terminated", "--discount", ".9"]
    machine = run_command(capsys, *line, "--json", "-o", tmp_path / "out")
    (reason, *_) = machine.data["verdict"]["reasons"]
    assert reason.startswith("Did this policy produce this log?")
    assert machine.data["checks"]["fit"]["status"] == "failed"
    assert (
        json.loads((tmp_path / "out" / "certificate.json").read_text())["verdict"]
        == (machine.data["verdict"])
    )
    person = run_command(capsys, *line)
    assert person.code == 1
    assert person.text.startswith("DO NOT RELY ON THIS")
    assert "A check failed" in person.text


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
        (assessing, "sensitivity"),
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
    assert sorted(calls) == ["check", "decide", "fingerprint", "resample", "sensitivity"]


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
