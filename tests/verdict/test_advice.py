"""Advice for people: one action, rules that say what the policy does and no more, a card."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import jumar as jm
import newcomer_logs as logs
from commands import run_command
from jumar.core.reading import Bins, LogReading, ReadColumn
from jumar.log.pace import Pace
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.verdict.advice import advised, certain, done_today, rules, sentence
from jumar.verdict.decisions import Decisions, decide
from results import HOSTILE, RUN, Page, named

CALLS = ("--columns", logs.COLUMNS, "--ends", "terminated", "--discount", "0.9",
         "--policy", "rule.toml")  # fmt: skip
RANGES = ReadColumn("vibration", Bins(("low", "mid", "high"), (2.0, 3.1)))


def decisions(observations, new: dict, old=(1.0, 0.0), memory=None, steps=6000) -> Decisions:
    """Of a log of random observations, where ("keep", "inspect") has new rows for some histories
    (what was seen before, what is seen now)."""
    rng = np.random.default_rng(1)
    actions = ("keep", "inspect")
    z, a = rng.integers(0, len(observations), steps), rng.integers(0, 2, steps)
    start = np.arange(0, steps + 1, 6)
    n = len(start) - 1
    log = jm.Episodes(observations, actions, z, a, a * 1.0, start, [-1] * n, [True] * n)
    behavior = Controller.constant(observations, actions, old, memory or window(1))
    fair = Controller.uniform(observations, actions)
    model = jm.improve(log, fair, discount=0.9, n_wedge=1, memory=memory or window(1))
    mdp = model.improvement.mdp
    states = np.array([behavior.state(list(seen), now) for *seen, now in new])
    made = behavior.except_at(states, np.array(list(new.values()), float))
    rows = made.rows_at(mdp.states)
    return decide(
        replace(model.improvement, policy=rows, behavior_policy=behavior.rows_at(mdp.states))
    )


def test_people_are_told_one_action_and_machines_the_shares():
    made = decisions(("good", "worn"), {("worn",): (0.377, 0.623), ("good",): (0.9, 0.1)})
    told = {made.history_state(h)[0]: advised(made, h) for h in range(2)}
    assert told == {"worn": "inspect", "good": "inspect more often"}
    assert not certain(made)
    assert "62.3%" in made.to_csv("adopt")
    assert "%" not in "".join(sentence(made, h) for h in range(2))


def test_where_the_log_tells_no_difference_either_will_do():
    made = decisions(("good", "worn"), {("worn",): (0.0, 1.0)})
    h = int(np.flatnonzero(made.changed)[0])
    made = replace(made, alike={h: (1, 0)})
    assert (done_today(made, h), advised(made, h)) == ("keep", "either inspect or keep")


def test_ranges_side_by_side_are_one_rule_with_its_edge():
    made = decisions(("high", "low", "mid"), {("mid",): (0, 1), ("high",): (0, 1)})
    told = rules(made, LogReading(observation=(RANGES,)))
    assert [str(rule) for rule in told] == ["When you see vibration 2 or more: inspect."]


def test_a_row_of_readings_is_one_rule():
    made = decisions(("high", "low", "mid"), {("high", "high"): (0, 1)}, memory=window(2))
    told = rules(made, LogReading(observation=(RANGES,)))
    assert [str(rule) for rule in told] == [
        "After two readings of vibration high (3.1 or more) in a row: inspect."
    ]


def test_the_start_is_said():
    made = decisions(("good", "worn"), {("", "worn"): (0, 1)}, memory=window(2))
    assert [str(rule) for rule in rules(made, None)] == [
        "When you see “worn”, at the start: inspect."
    ]


@pytest.mark.parametrize("seed", range(12))
def test_rules_say_what_the_policy_does_and_no_more(seed):
    """Read back on every situation of the log: a rule fits only where the policy does that."""
    from jumar.verdict import advice

    rng = np.random.default_rng(seed)
    seen = ("high+x", "high+y", "low+x", "low+y", "mid+x", "mid+y")
    new = {(before, now): (0, 1) for before in seen for now in seen if rng.random() < 0.4}
    made = decisions(seen, new, memory=window(2), steps=3000)
    reading = LogReading(observation=(RANGES, ReadColumn("noise")))
    boxes, real = [], advice._when
    try:
        advice._when = lambda parts, box, every: boxes.append(box) or real(parts, box, every)
        told = rules(made, reading)
    finally:
        advice._when = real
    _, situations = advice._situations(made, reading)
    for h, situation in enumerate(situations):
        fits = any(advice._inside(situation, box) for box in boxes)
        assert fits == bool(made.changed[h])
    assert len(told) == len(boxes) <= made.changed.sum()


def test_simplify_gives_a_card_that_prints_on_one_sheet(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    logs.desk(Path("log.csv"))
    logs.rule(Path("rule.toml"), 0.5)
    more = ("--rewards", "0:4", "--horizon", "1", "--excel", "-o", "out")
    done = run_command(capsys, "improve", "log.csv", *CALLS, *more, "--simplify")
    assert done.code == 0, done.err
    rows = jm.load_controller("out/improved.json").rows
    assert set(rows.ravel().tolist()) == {0.0, 1.0}
    card = Page(Path("out/card.html").read_text("utf-8")).text
    for said in ("When you see “billing” bot", "In every other situation as today",
                 "Adopt the new policy.", "log.csv: 400 calls"):  # fmt: skip
        assert said in card
    assert re.search(r"Made on \d{4}-\d\d-\d\d", card)
    assert 'href="card.html"' in Path("out/report.html").read_text("utf-8")
    load = pytest.importorskip("openpyxl").load_workbook
    book = load("out/result.xlsx")
    assert book.sheetnames == ["decisions", "log", "verdict"]
    sheet = book["decisions"]
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("A2", sheet.dimensions)
    assert "Adopt the new policy." in [row[1].value for row in book["verdict"]]
    # of an earlier run nothing stays behind
    run_command(capsys, "improve", "log.csv", *CALLS, *more[:4], "-o", "out")
    assert not Path("out/card.html").exists()
    assert not Path("out/result.xlsx").exists()


def test_names_are_text_in_a_workbook_and_on_a_card(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    result = named(HOSTILE, "many")
    result.save(tmp_path, excel=True)
    for sheet in openpyxl.load_workbook(tmp_path / "result.xlsx"):
        assert {cell.data_type for row in sheet for cell in row} <= {"s", "n", "inlineStr"}
    from jumar.show import html
    from jumar.show.html import content

    told = [content.Rule(f"When you see “{name}”", name) for name in HOSTILE]
    real, content.rules_of = content.rules_of, lambda _: told
    try:
        page = Page(html.sheet(result.assessment, RUN.to_dict({})))
    finally:
        content.rules_of = real
    assert not {tag for tag, _ in page.tags} & {"script", "img"}


def test_a_plan_is_told_in_days_and_weeks():
    pace = Pace(40 / 86_400, "call", date(2026, 1, 31))
    assert (
        pace.text(840) == "At the rate of this log (40 calls a day), that takes about three weeks."
    )
    assert pace.until(date(2026, 2, 10)) == 400
    assert pace.day(400) == date(2026, 2, 10)
    slow = Pace(1 / (365.25 * 86_400), "bridge", date(2026, 1, 31), all_=False)
    assert slow.text(3) == (
        "At the rate of one that runs all the time (1 bridge a year), that takes about 3 years."
    )


def test_samples_tells_what_a_day_decides_and_refuses_without_a_rate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    n = 300
    human = rng.random(n) < 0.5
    paid = rng.normal(0.4 * human, 1.0).clip(-3, 3)
    lines = [
        f"{i},2026-01-{1 + i // 40:02}T{i % 20:02}:00,any,{'human' if h else 'bot'},{x:.3f}"
        for i, (h, x) in enumerate(zip(human, paid, strict=True))
    ]
    Path("log.csv").write_text("\n".join(["call,when,topic,answer,points", *lines]) + "\n")
    Controller.uniform(("any",), ("bot", "human")).save("rule.json")
    base = ("log.csv", "--ends", "terminated", "--discount", "0.9", "--policy", "rule.json",
            "--rewards", "-3:3", "--horizon", "1")  # fmt: skip
    undated = ("--columns", logs.COLUMNS)
    with_dates = ("--columns", f"{logs.COLUMNS},time=when")
    kept = run_command(capsys, "improve", *base, *with_dates, "--json").data
    assert kept["verdict"]["word"] == "keep"
    assert "At the rate of this log (39 calls a day)" in kept["verdict"]["next_step"]
    words = kept["next_command"].split()
    assert words[:2] == ["jumar", "samples"]
    assert "--until" in words
    done = run_command(capsys, *words[1:], "--json")
    assert done.code == 0, done.err
    assert 0.5 < done.data["until"]["chance"] < 1.0
    assert (
        "calls a day), that takes about"
        in run_command(capsys, *(w for w in words[1:] if w != "--json")).text
    )
    no_rate = run_command(capsys, "improve", *base, *undated, "--json").data
    assert "the rate of" not in no_rate["verdict"]["next_step"]
    refused = run_command(capsys, "samples", *base, *undated, "--until", "2027-01-01")
    assert "Say how long a step takes (--step-length 7d)" in " ".join(refused.err.split())
