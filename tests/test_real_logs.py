"""Two real logs, from the raw files to the answer: what docs/heartsteps.md and docs/zurcher.md say
is what their scripts and commands give.

The data are not part of the project. They are looked for beside it (../shared/data), or where
JUMAR_DATA says; without them nothing is tested.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shlex
import string
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jumar.cli import main
from jumar.log.reading import read_logs

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("JUMAR_DATA", ROOT.parent / "shared" / "data"))
HEARTSTEPS, BUSES = DATA / "heartsteps" / "HS1_cleaned.csv", DATA / "zurcher" / "original_data"
here = {
    path: pytest.mark.skipif(not path.exists(), reason=f"{path} is not there: no part of jumar")
    for path in (HEARTSTEPS, BUSES)
}


class Walk:
    """A page whose script was run and whose files were written in a folder; its commands are run
    when they are asked for."""

    def __init__(self, page: str, folder: Path) -> None:
        self.folder, text = folder, (ROOT / "docs" / page).read_text("utf-8")
        self.text = " ".join(text.split())
        for name, block in re.findall(r"```toml\n# (\S+)\n(.*?)```", text, re.DOTALL):
            (folder / name).write_text(block)
        (script,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        with contextlib.chdir(folder):
            exec(compile(script, page, "exec"), {})
        lines = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()
        said = dict(re.fullmatch(r'(\w+)="(.*)"', x).groups() for x in lines if x[0].isupper())
        self.commands = [string.Template(x).substitute(said) for x in lines if x[0].islower()]
        self._found: dict[str, Any] = {}

    def run(
        self, *words: str, more: str = "", policy: str | None = "", **instead: str
    ) -> dict[str, Any]:
        """What the only command with all of these words prints as JSON; `instead` are parts of the
        log that other columns play, and policy=None leaves the controller out."""
        (command,) = [c for c in self.commands if all(word in f"{c} " for word in words)]
        command = f"{command} {more}"
        if policy is None:
            command = re.sub(r"--policy \S+", "", command)
        for part, column in instead.items():
            command = re.sub(rf"\b{part}=\w+", f"{part}={column}", command)
        if command not in self._found:
            printed = io.StringIO()
            quiet = contextlib.redirect_stdout(printed)
            with contextlib.chdir(self.folder), quiet, contextlib.suppress(SystemExit):
                main([*shlex.split(command)[1:], "--json"])
            self._found[command] = json.loads(printed.getvalue())
        return self._found[command]

    def says(self, *sentences: str) -> None:
        for sentence in sentences:
            assert sentence in self.text

    def rows(self, file: str) -> list[dict[str, str]]:
        with (self.folder / file).open(newline="") as table:
            return list(csv.DictReader(table))


def by(found: dict[str, Any], estimator: str) -> dict[str, Any]:
    return next(e for e in found["estimates"] if e["estimator"] == estimator)


def statuses(found: dict[str, Any]) -> dict[str, str]:
    return {name: part["verdict"]["status"] for name, part in found["sections"].items()}


# ---- HeartSteps ---------------------------------------------------------------------------------

RULES = {
    "always.toml": "always send",
    "never.toml": "never send",
    "first-week.toml": "always in the first week, then as in the trial",
}


@pytest.fixture(scope="module")
def trial(tmp_path_factory) -> Walk:
    folder = tmp_path_factory.mktemp("heartsteps")
    (folder / HEARTSTEPS.name).symlink_to(HEARTSTEPS)
    return Walk("heartsteps.md", folder)


@here[HEARTSTEPS]
def test_the_trial_has_the_people_and_the_lots_that_the_page_says(trial):
    points = trial.rows("points.csv")
    people = Counter(row["person"] for row in points)
    assert (len(people), len(points), len({row["day"] for row in points})) == (37, 7540, 1529)
    assert (min(people.values()), max(people.values())) == (175, 209)
    lots = Counter((row["seen"] != "unavailable", row["action"]) for row in points)
    assert lots == {(True, "send"): 3594, (True, "nothing"): 2467, (False, "nothing"): 1479}
    chances = {(row["seen"] == "unavailable", row["action"], row["chance"]) for row in points}
    assert chances == {(False, "send", "0.6"), (False, "nothing", "0.4"), (True, "nothing", "1")}
    assert all(value for row in points for value in row.values())
    steps = [float(row["steps"]) for row in points]
    assert (min(steps), max(steps)) == (0.5, 5527.5)  # 0.5 was added to each
    assert round(100 * sum(x < 1 for x in steps) / len(steps)) == 37
    week = sum(row["seen"].startswith("first week") for row in points)
    assert round(0.4 * week / 7540, 2) == 0.05
    trial.says("37 people, 7,540 decision points on 1,529 days, 175 to 209 points per person")
    trial.says("At 6,061 points the person was *available*; 3,594 times", "other 1,479 points")
    trial.says("between 0 and 5,527", "In 37 % of cases", "It changes only 5 % of all points")


@here[HEARTSTEPS]
def test_the_trial_did_what_its_design_says(trial):
    found = trial.run("jumar check")
    assert found["verdict"]["sentence"] in trial.text
    assert {n for n, s in statuses(found).items() if s != "passed"} == {"clusters"}
    assert f"(p = {found['sections']['fit']['p']:.2f})" in trial.text
    alike = found["sections"]["clusters"]
    trial.says(f"intraclass correlation {alike['correlation']:.3f}")
    trial.says(f"{7540 / alike['design_effect']:.0f} independent ones")


@here[HEARTSTEPS]
@pytest.mark.parametrize("file", RULES)
def test_other_rules_are_worth_what_the_table_says(trial, file):
    found = by(trial.run("jumar estimate", "episode=point", file), "dr")
    low, high = found["lower"], found["upper"]
    trial.says(f"| {RULES[file]} | {found['value']:.3f} | {low:.3f} to {high:.3f} |")
    assert (found["clusters"], found["episodes"]) == (37, 7540)
    decided = found["verdict"].startswith("Better than the behavior")
    assert decided == (file == "first-week.toml")
    assert decided or found["verdict"].startswith("Not decided")
    assert any("there are only 37 clusters" in text for text in found["warnings"])


@here[HEARTSTEPS]
def test_plain_steps_give_the_same_picture(trial):
    words = "jumar estimate", "episode=point"
    always = by(trial.run(*words, "always.toml", reward="steps"), "dr")
    week = by(trial.run(*words, "first-week.toml", reward="steps"), "dr")
    trial.says(f"{always['value']:.1f} per point for always", f"{week['value']:.1f} for the first")
    trial.says(f"(−{-always['lower']:.1f} to {always['upper']:.1f})")
    trial.says(f"({week['lower']:.1f} to {week['upper']:.1f})")


@here[HEARTSTEPS]
def test_nobody_can_judge_sending_to_those_who_are_not_available(trial, capsys):
    text = (trial.folder / "always.toml").read_text()
    (trial.folder / "reckless.toml").write_text(text[: text.index("[[rules]]")])
    command = next(c for c in trial.commands if "always.toml" in c)
    with contextlib.chdir(trial.folder), pytest.raises(SystemExit):
        main(shlex.split(command.replace("always", "reckless"))[1:])
    assert "may do 'send', which the logged behavior never does" in capsys.readouterr().err


@here[HEARTSTEPS]
@pytest.mark.parametrize("file", ["always.toml", "first-week.toml"])
def test_whole_days_say_little(trial, file):
    found = trial.run("jumar estimate", "episode=day", file)
    point = by(trial.run("jumar estimate", "episode=point", file), "dr")["value"]
    cells = [f"{5 * point:.2f}"]
    for name in ("pdis", "wdr", "dr"):
        e = by(found, name)
        cells.append(f"{e['value']:.2f} ({e['lower']:.2f} to {e['upper']:.2f})")
    trial.says(f"| {RULES[file]} | {' | '.join(cells)} |")


@here[HEARTSTEPS]
def test_the_rule_of_the_trial_stays_and_thousands_would_be_needed(trial):
    for gate in ("proved", "asymptotic"):
        found = trial.run("jumar improve", more=f"--gate {gate}")
        assert found["selection"]["gate"] == gate
        assert found["selection"]["chosen"] is None
        assert not any(tried["passed"] for tried in found["selection"]["tested"])
        assert found["changed"] == 0
    trial.says("No change passed the test, so your policy stays.")
    plan = trial.run("jumar samples")
    (need,) = [need for need in plan["plan"] if need["power"] == 0.8]
    low, high = (f"{x:.3f}" for x in plan["gain"]["interval"])
    trial.says(f"If a gain of {need['gain']:.3f} were certain", f"{need['episodes']:,} decision")
    trial.says(f"{plan['gain']['value']:.3f} per decision point (90 % interval {low} to {high})")
    assert round(need["episodes"] / 7540 * 37, -2) == 2600


@here[HEARTSTEPS]
def test_the_time_of_day_does_not_help_and_needs_no_controller(trial):
    """The propensities stand in for it."""
    found = trial.run("jumar improve", more="-o finer", policy=None, observation="seen+slot")
    assert (found["selection"]["chosen"], found["history_states"]) == (None, 25)


# ---- Zurcher's buses ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fleet(tmp_path_factory) -> Walk:
    folder = tmp_path_factory.mktemp("zurcher")
    for path in BUSES.glob("*.asc"):
        (folder / path.name).symlink_to(path)
    return Walk("zurcher.md", folder)


@here[BUSES]
def test_the_fleet_is_the_one_that_is_known(fleet):
    months = fleet.rows("buses.csv")
    engines = Counter({row["bus"]: 0 for row in months})
    engines.update(row["bus"] for row in months if row["action"] == "replace")
    assert (len(engines), len(months), engines.total()) == (162, 15_568, 124)
    assert Counter(engines.values()) == {0: 49, 1: 102, 2: 11}
    at = [int(row["miles"]) for row in months if row["action"] == "replace"]
    assert (round(sum(at) / 124), min(at), max(at)) == (215_660, 82_370, 387_282)
    fleet.says("162 buses in 8 groups", "15,568 months, 124 engines", "49 buses never had a new")
    fleet.says("on average at 215,660 miles (82,370 to 387,282)")


@here[BUSES]
def test_the_script_makes_the_table_that_others_made(fleet):
    prepared = DATA / "zurcher" / "zurcher_log.csv"
    with prepared.open(newline="") as table:
        theirs = [
            (row["bus_id"], row["t"], row["miles_since_replacement"], row["a"] == "1")
            for row in csv.DictReader(table)
            if row["group"] != "0"
        ]
    ours = [
        (row["bus"], row["month"], row["miles"], row["action"] == "replace")
        for row in fleet.rows("buses.csv")
    ]
    assert sorted(ours) == sorted(theirs)


@here[BUSES]
def test_the_check_warns_of_everything_the_page_tells(fleet):
    found = fleet.run("jumar check")
    assert found["verdict"]["sentence"] in fleet.text
    status = statuses(found)
    assert status["drift"] == "failed"
    assert {n for n, s in status.items() if s == "look"} == {"cuts", "order", "rows"}
    assert f"no sign of it (p = {found['sections']['longer']['p']:.2f})" in fleet.text
    assert (
        "41 % of what counts happens after that" in found["sections"]["cuts"]["verdict"]["sentence"]
    )
    fleet.says("All 162 records were cut off; 41 % of what counts happens after that")
    log = read_logs(
        fleet.folder / "buses.csv", ends="cut", columns={"episode": "bus", "observation": "action"},
        prices={"action:replace": -1},
    )  # fmt: skip
    assert log.beyond_cut(0.9999) > 0.98


@here[BUSES]
@pytest.mark.slow
def test_the_rule_stays_and_nothing_is_said_of_what_tempts(fleet):
    for gate in ("proved", "asymptotic"):
        kept = fleet.run("jumar improve", "-o out ", more=f"--gate {gate}")
        assert kept["changed"] == 0
        assert (kept["verdict"]["word"], kept["verdict"]["exit_code"]) == ("do-not-rely", 1)
        assert (kept["selection"], kept["certificates"]) == (None, [])
    bold = fleet.run("jumar improve", "-o bold ")
    assert bold["changed"] == 3
    assert bold["verdict"]["word"] == "do-not-rely"
    assert bold["verdict"]["headline"] in fleet.text
    assert "gain" not in bold
    policy = json.loads((fleet.folder / "bold" / "improved.json").read_text("utf-8"))
    never = {x["observation"] for x in policy["rules"] if x["action"] == "keep"}
    assert never == {"150-200k", "200-250k", "250-300k"}
    for row in fleet.rows("bold/decisions.csv"):
        replaced = row["tried: replace"]
        fleet.says(f"| {row['seen now']} | {int(row['times seen']):,} | {replaced} |")
        assert row["changed"] == ""  # what is learned from a log that drifts is not told


@here[BUSES]
def test_no_estimate_is_shown_and_why_not_to_believe_one_is_listed(fleet):
    fleet.run("jumar improve", "-o bold ")
    found = fleet.run("jumar estimate")
    assert {e["estimator"] for e in found["estimates"]} == {"pdis", "dr", "wdr"}
    for e in found["estimates"]:
        assert (e["value"], e["lower"], e["upper"]) == (None, None, None)
        assert e["not_shown_because"] == "the log failed a check"
    dr = by(found, "dr")
    assert dr["verdict"].startswith("Do not use these numbers. After the same action")
    assumed = " ".join(dr["assumptions"])
    for part in ("nothing but what is in the log", "the given prices say",
                 "162 of 162 episodes were cut", "without looking at these episodes"):  # fmt: skip
        assert part in assumed
