"""The table of verdicts: what each kind of log may lead to, and that terminal, page, JSON, notebook
and exit code say no more than its row."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

import jumar as jm
import newcomer_logs as logs
from commands import run_command
from jumar.evidence.plausible import Evidenced
from jumar.verdict.gain import Gain
from jumar.verdict.sentences import expect, looks
from jumar.verdict.verdicts import VERDICTS, Carried, Word
from results import Page

DECLARED = ("--rewards", "0:4", "--horizon", "1")
ENDED = ("--ends", "terminated", "--discount", "0.9")
CALLS = ("--columns", logs.COLUMNS, *ENDED)
PRICES = ("--columns", logs.COLUMNS.replace("points", "price"), *ENDED)
CHANCES = ("--columns", f"{logs.COLUMNS},propensity=chance", *ENDED)
RULE = ("--policy", "rule.toml")
MACHINES = ("--columns", logs.COLUMNS.replace("call", "machine") + ",step=week", "--ends", "cut",
            "--discount", "0.95")  # fmt: skip


@dataclass(frozen=True)
class Newcomer:
    """A log, what is typed, and the verdict."""

    name: str
    word: Word
    says: str  # in the lead or the next step
    make: object
    typed: tuple[str, ...]
    bot: float = 0.5  # by the rule


def log(make, **options):
    return lambda path: make(path, **options)


NEWCOMERS = [
    Newcomer("declared", Word.ADOPT, "at least", log(logs.desk), (*CALLS, *RULE, *DECLARED)),
    Newcomer("read off", Word.ADOPT_IF, "at least", log(logs.desk), (*CALLS, *RULE)),
    Newcomer(
        "costs", Word.ADOPT, "to save at least", log(logs.desk, cost=True, name="price"),
        (*PRICES, *RULE, "--cost", "--rewards", "-4:0", "--horizon", "1"),
    ),
    Newcomer(
        "propensities", Word.ADOPT, "at least", log(logs.desk, chances=True), (*CHANCES, *DECLARED)
    ),
    Newcomer(
        "approximate", Word.TRIAL, "becomes true as the data grow", log(logs.desk),
        (*CALLS, *RULE, *DECLARED, "--gate", "asymptotic"),
    ),
    Newcomer(
        "estimated", Word.TRIAL, "guessed from this log", log(logs.desk),
        (*CALLS, "--policy", "estimate", *DECLARED),
    ),
    Newcomer(
        "confounded", Word.TRIAL, "nothing of this remains", log(logs.clerk),
        (*CALLS, "--policy", "estimate", *DECLARED),
    ),
    Newcomer(
        "named",
        Word.TRIAL, "learned in this way", log(logs.desk), (*CALLS, *RULE, "--n-wedge", "5")
    ),
    Newcomer(
        "named and lost", Word.KEEP, "did no better than yours on the other half",
        log(logs.desk, paid=logs.alike, noise=2.0, calls=60, seed=5),
        (*CALLS, *RULE, "--n-wedge", "1"),
    ),
    Newcomer("nothing to gain", Word.KEEP, "beyond doubt", log(logs.desk, paid=logs.alike),
             (*CALLS, *RULE, *DECLARED)),
    Newcomer("tiny", Word.KEEP, "too few", log(logs.desk, calls=8), (*CALLS, *RULE, *DECLARED)),
    Newcomer("cut", Word.KEEP, "Record for longer", log(logs.machine), (*MACHINES, *RULE)),
    Newcomer("drift", Word.DO_NOT_RELY, "return falls", log(logs.desk, paid=logs.turning),
             (*CALLS, *RULE)),
    Newcomer("wrong rule", Word.DO_NOT_RELY, "did not choose these actions", log(logs.desk),
             (*CALLS, *RULE, *DECLARED), 0.8),
    Newcomer("costs as rewards", Word.DO_NOT_RELY, "--cost", log(logs.desk, name="repair_cost"),
             ("--columns", logs.COLUMNS.replace("points", "repair_cost"), *ENDED, *RULE)),
]  # fmt: skip


@pytest.mark.parametrize("newcomer", NEWCOMERS, ids=lambda newcomer: newcomer.name)
def test_every_rendering_says_what_the_verdict_carries_and_no_more(
    tmp_path, monkeypatch, capsys, newcomer
):
    monkeypatch.chdir(tmp_path)
    newcomer.make(Path("log.csv"))
    logs.rule(Path("rule.toml"), newcomer.bot)
    results, real = [], jm.improve
    monkeypatch.setattr(jm, "improve", lambda *a, **b: results.append(real(*a, **b)) or results[0])
    done = run_command(capsys, "improve", "log.csv", *newcomer.typed, "-o", "out")
    data = json.loads(Path("out", "certificate.json").read_text())
    verdict, (result,) = data["verdict"], results
    terms = VERDICTS[newcomer.word]
    assert (verdict["word"], done.code) == (newcomer.word, terms.exit_code), verdict
    markup = Path("out", "report.html").read_text("utf-8")
    texts = {
        "terminal": done.text,
        "page": Page(markup).text,
        "notebook": " ".join(Page(result._repr_html_()).text.split()),
    }
    for name, text in texts.items():
        assert verdict["headline"] in text, name
        assert verdict["lead"] in text, name
        assert verdict["next_step"] in text, name
        for doubt in ("not in the log", "Change over time", "The range"):
            assert doubt in text, (name, doubt)
        assert ("The cut" in text) == (newcomer.name == "cut"), name
        _carries(text, terms.numbers)
    assert newcomer.says in f"{verdict['lead']} {verdict['next_step']}"
    assert f'<body class="{newcomer.word}">' in markup
    assert ("before-after" in markup.partition("<body")[2]) == (terms.numbers is not Carried.NONE)
    _json_carries(data, terms.numbers)
    if terms.exit_code:  # neither what passed a test nor what would be proved
        assert not data["certificates"]
        assert not {"passed", "validity", "claim", "odds"} & set(_keys(data))
    assert ("When you see" in texts["page"]) == terms.decides
    with Path("out", "decisions.csv").open(encoding="utf-8", newline="") as file:
        new = {row["new"] for row in csv.DictReader(file)}
    assert (new == {""}) == bool(terms.exit_code)  # nothing to change, in no file


def _carries(text: str, numbers: Carried) -> None:
    proved = numbers is Carried.AT_LEAST
    assert bool(re.search(r"at least [\d.]+ per call", text)) == proved
    assert ("worse than today is at most 5 %" in text) == proved
    if not proved:
        assert "at most 5 %" not in text
        assert "at least" not in text
    assert not re.search(r"\bsafe\b", text, re.IGNORECASE)
    assert ("90 % interval" in text) == (numbers is not Carried.NONE)


def _json_carries(data: dict, numbers: Carried) -> None:
    keys = set(_keys(data))
    for least in ("at_least", "lower_bound"):
        assert (least in keys) == (numbers is Carried.AT_LEAST)
    for estimate in ("gain", "estimate", "interval"):
        assert (estimate in keys) == (numbers is not Carried.NONE), estimate
    if numbers is Carried.ESTIMATE:
        assert not {"odds", "delta_meaning"} & set(_keys(data["certificates"]))
    if numbers is Carried.NONE:
        assert not {"promised", "kept_gain", "share_of_the_gain"} & keys


def _keys(data: object):
    if isinstance(data, list):
        for item in data:
            yield from _keys(item)
    if isinstance(data, dict):
        for key, item in data.items():
            yield key
            yield from _keys(item)


def test_the_proviso_is_the_range_of_the_log_and_the_command_declares_it(
    tmp_path, monkeypatch, capsys
):
    """Calls pay 0 to 4. Whoever says so gets rid of the proviso."""
    monkeypatch.chdir(tmp_path)
    logs.desk(Path("log.csv"))
    logs.rule(Path("rule.toml"))
    done = run_command(capsys, "improve", "log.csv", *CALLS, *RULE, "--json")
    assert "(0 to 4)" in done.data["verdict"]["headline"]
    command = done.data["next_command"]
    assert "--rewards 0:4" in command
    again = run_command(capsys, *command.split()[1:])
    assert again.data["verdict"]["word"] == "adopt"
    assert again.data["verdict"]["at_least"] == pytest.approx(done.data["verdict"]["at_least"])


def test_no_log_can_show_what_the_clerk_heard_so_the_doubt_is_said(tmp_path, monkeypatch, capsys):
    """The rule is declared as known, and is not: the clerk sends angry callers to a human. In truth
    the bot is worth 2, the human 2, and nothing can be gained; the log shows a gain."""
    monkeypatch.chdir(tmp_path)
    logs.clerk(Path("log.csv"))
    logs.rule(Path("rule.toml"))
    done = run_command(capsys, "improve", "log.csv", *CALLS, *RULE, *DECLARED, "--json")
    assert done.data["verdict"]["word"] == "adopt"
    hidden, *_ = done.data["verdict"]["what_could_make_this_wrong"]
    assert hidden.startswith(
        "What people acted on that is not in the log: The answer holds only if"
    )


def test_improve_and_check_find_one_p_value_for_drift(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    logs.desk(Path("log.csv"), paid=lambda topic, answer, n: logs.PAYS[topic, answer] - n / 900)
    logs.rule(Path("rule.toml"))
    improved = run_command(capsys, "improve", "log.csv", *CALLS, *RULE, "--json").data
    checked = run_command(capsys, "check", "log.csv", *CALLS[:4], *RULE, "--json").data
    found = checked["sections"]["drift"]["verdict"]["sentence"]
    assert improved["checks"]["drift"]["finding"] == found


@pytest.mark.parametrize(("base", "offered"), [(0, True), (1000, False)])
def test_no_command_is_offered_that_would_lose_what_was_proved(
    base, offered, tmp_path, monkeypatch, capsys
):
    """All days have three calls. Declared rewards also allow for days that end after the first,
    which costs 2,000 where each call pays about 1,000: a range of 2,012 in place of 11."""
    monkeypatch.chdir(tmp_path)
    logs.shifts(Path("log.csv"), base=base)
    logs.rule(Path("rule.toml"))
    done = run_command(capsys, "improve", "log.csv", *CALLS, *RULE, "--json")
    assert done.data["verdict"]["word"] == "adopt-if"
    command = done.data["next_command"]
    assert (command is not None) == offered
    assert ("end early" in done.data["verdict"]["next_step"]) == (not offered)
    if offered:
        again = run_command(capsys, *command.split()[1:])
        assert again.data["verdict"]["word"] == "adopt"


def test_a_gain_is_per_call_and_per_year_in_this_order():
    """ "3,700 a year per call" would be the pay of a year for each call."""
    found = Evidenced(2.0, 1.0, 3.0, error=0.5, possible=(-9.0, 9.0), effective=400.0)
    gain = Gain(found, 5.0, "", steps_per_year=100.0, episode="call")
    assert looks(gain) == (
        "The new policy looks better, by about 2.00 (90 % interval 1.00 to 3.00) per call, 200 a "
        "year for each that runs all year."
    )
    assert "3.00) per call, 200 a year" in expect(gain, 0.0, 2.0, 0.05)
    assert expect(gain, 0.5, 2.0, 0.05).startswith(
        "Expect to gain at least 0.5 per call; about 2.00 (90 %"
    )


def test_more_of_the_same_is_advised_only_where_it_would_decide(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    logs.rule(Path("rule.toml"), 0.5)
    logs.desk(Path("log.csv"), calls=8)
    few = run_command(capsys, "improve", "log.csv", *CALLS, *RULE, *DECLARED, "--json").data
    assert (
        few["verdict"]["next_step"]
        == "8 episodes are too few to learn from some and test on \
others."
    )


def test_the_terminal_tells_changes_in_the_order_of_the_page(tmp_path, monkeypatch, capsys):
    """What brings most comes first, though it is seen less."""
    monkeypatch.chdir(tmp_path)
    logs.rule(Path("rule.toml"), 0.5)
    pays = {**logs.PAYS, ("billing", "human"): 2}
    logs.desk(Path("log.csv"), paid=lambda topic, answer, n: pays[topic, answer])
    done = run_command(capsys, "improve", "log.csv", *CALLS, *RULE, *DECLARED, "-o", "out")
    rows = list(csv.DictReader(Path("out/decisions.csv").read_text("utf-8").splitlines()))
    (first, often), (second, rarely) = [(row["seen now"], int(row["times seen"])) for row in rows]
    assert often < rarely
    table = done.text.partition("What changes")[2].partition("Certificate")[0]
    assert table.index(first) < table.index(second)


@pytest.mark.parametrize(
    ("paid", "bot", "wrong"),
    [
        (logs.pays, 0.8, "This policy did not choose these actions"),
        (logs.turning, 0.5, "The return falls"),
    ],
)
def test_estimate_shows_no_number_where_improve_says_do_not_use_these(
    paid, bot, wrong, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    logs.desk(Path("log.csv"), paid=paid)
    logs.rule(Path("rule.toml"), bot)
    logs.rule(Path("new.toml"), 0.6)
    asked = ("estimate", "log.csv", *CALLS, *RULE, "--controller", "new.toml")
    done, data = run_command(capsys, *asked), run_command(capsys, *asked, "--json").data
    improved = run_command(capsys, "improve", "log.csv", *CALLS, *RULE, "--json")
    assert done.code == improved.code == 1
    assert f"Do not use these numbers. {improved.data['verdict']['lead']}" in done.text
    assert wrong in done.text
    for found in data["estimates"]:
        assert found["value"] is found["lower"] is found["upper"] is None
        assert found["not_shown_because"] == "the log failed a check"
    planned = run_command(capsys, "samples", "log.csv", *CALLS, *RULE, "--json")
    assert (planned.code, planned.data["plan"], planned.data["certified"]) == (1, [], False)
    assert planned.data["not_planned_because"] == data["estimates"][0]["verdict"]


def test_what_was_declared_is_assumed_and_stands_in_the_list(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    logs.desk(Path("log.csv"))
    logs.rule(Path("rule.toml"))
    declared = run_command(capsys, "improve", "log.csv", *CALLS, *RULE, *DECLARED, "--json").data
    listed = declared["certificates"][0]["assumptions"]
    assert "Every step pays 0 to 4, as was declared." in listed
    assert "No recording goes on for more than 1 step, as was declared." in listed
    seen = run_command(capsys, "improve", "log.csv", *CALLS, *RULE, "--json").data
    assert "Every step pays 0 to 4, as the log shows." in seen["certificates"][0]["assumptions"]


def test_nothing_is_worth_a_trial_whose_estimate_is_a_loss():
    """Tiger with 100 episodes and SPIBB: the scores that are bet on say a gain, and those that are
    told a loss; it is in truth no better."""
    tiger = jm.models.tiger()
    setting = asdict(jm.models.training("tiger", tiger))
    behavior = jm.train_behavior(tiger, jm.window(2), seed=1, **setting)
    words = set()
    for seed in range(12):
        log = jm.simulate(tiger, behavior, episodes=100, seed=seed)
        rewards = jm.RewardRange.constant(-100, 10)
        found = jm.improve(log, behavior, discount=0.95, n_wedge=5, rewards=rewards).assessment
        words.add(str(found.verdict.word))
        assert found.verdict.about is None or found.verdict.about > 0
    assert "keep" in words
