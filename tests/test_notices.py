"""What a colleague looking over the shoulder would say: each mistake is noticed in the terminal, in
JSON and on the page, and the remedy, pasted, works."""

from __future__ import annotations

import csv
import json
import random
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import jumar as jm
from commands import Finished, run_command
from made_logs import (
    PUMP_COLUMNS,
    RANGES,
    WORKSHOP_RULE,
    pump_rule,
    pumps,
    two_presses,
    workshop,
)
from results import Page

READ = ("--columns", PUMP_COLUMNS, "--ends", "cut")
LEARN = ("--discount", "0.95", "--algorithm", "spibb")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of one's own, in which commands are typed."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def jumar(capsys):
    def run(*arguments: object) -> Finished:
        return run_command(capsys, *arguments)

    return run


def pump_line(place: Path, slip: float, said: float | None = None, **made) -> tuple:
    """A log of pumps and the rule that its file declares, as words of the command line."""
    pumps(place / "log.csv", slip=slip, **made)
    (place / "rule.toml").write_text(pump_rule(slip if said is None else said))
    return ("log.csv", "--policy", "rule.toml", *READ, "--bins", RANGES, "--cost")


def kinds(data: dict) -> list[str]:
    return [notice["kind"] for notice in data["notices"]]


def one(data: dict, kind: str) -> dict:
    (found,) = [notice for notice in data["notices"] if notice["kind"] == kind]
    return found


def words(text: str) -> str:
    return " ".join(text.split())


def noticed_everywhere(jumar, kind: str, *line: object) -> tuple[dict, dict]:
    """The notice, and all of certificate.json, after `jumar improve ... -o out`: the terminal, JSON
    and the page say the same."""
    person = jumar("improve", *line, "-o", "out")
    assert person.code in (0, 1), person.err
    data = json.loads(Path("out", "certificate.json").read_text())
    found = one(data, kind)
    page = Page(Path("out", "report.html").read_text("utf-8"))
    for text in (found["fact"], found["remedy"]):
        assert words(text) in person.text
        assert words(text) in page.text
    if found["command"]:
        assert f"  {found['command']}\n" in person.out  # on one line
        assert words(found["command"]) in page.text
    return found, data


def pasted(jumar, command: str) -> dict:
    """What JSON says after the command was pasted."""
    program, *line = shlex.split(command)
    assert program == "jumar"
    return jumar(*line, *(() if "--json" in line else ("--json",))).data


# ---- costs --------------------------------------------------------------------------------------


def test_a_cost_that_is_read_as_a_reward(jumar, place):
    """Without a word, replacing every pump every week would be the best there is."""
    pumps(place / "log.csv", slip=0.2)
    (place / "rule.toml").write_text(pump_rule(0.2))
    line = ("log.csv", "--policy", "rule.toml", *READ, *LEARN, "--bins", RANGES)
    found, data = noticed_everywhere(jumar, "cost", *line)
    assert "'cost' is called a cost" in found["fact"]
    assert data["verdict"]["word"] == "do-not-rely"
    assert data["verdict"]["lead"].startswith("The column 'cost'")
    assert found["command"].endswith("--cost")
    after = pasted(jumar, found["command"])
    assert "cost" not in kinds(after)
    assert after["verdict"]["word"] != "do-not-rely"
    check = jumar("check", *line[:5], *READ[2:], "--bins", RANGES, "--json")
    assert check.code == 1
    assert check.data["verdict"]["status"] == "failed"
    assert one(check.data, "cost")["command"].endswith("--cost")


def test_with_a_project_file_the_remedy_is_as_short_as_what_was_typed(jumar, place):
    pumps(place / "log.csv", slip=0.2, pumps=20, weeks=10)
    (place / "rule.toml").write_text(pump_rule(0.2))
    (place / "jumar.toml").write_text(
        'format = "jumar-project/1"\nlog = "log.csv"\npolicy = "rule.toml"\nends = "cut"\n'
        '[columns]\nepisode = "pump"\nstep = "week"\nobservation = "vibration"\n'
        'action = "done"\nreward = "cost"\n[bins]\nvibration = ["low", 6, "high"]\n'
    )
    found = one(jumar("check", "--json").data, "cost")
    assert found["command"] == "jumar check --json --cost"
    for said in ("--cost", "--no-cost"):
        assert "cost" not in kinds(jumar("check", "--json", said).data)


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("cost", (0, 5), True),
        ("Wartungskosten", (0, 5), True),
        ("repairCost_EUR", (3, 5), True),
        ("EUR", (0, 5), True),  # says neither; asked, but not loud
        ("cost", (0, -5), False),  # the sign is turned already
        ("cost saved", (0, 5), False),
        ("revenue EUR", (0, 5), False),
        ("benefit", (0, 5), False),
        ("score", (-1, 5), False),
    ],
)
def test_the_name_and_the_sign_tell_a_cost(place, column, values, expected):
    rows = [f"{i},seen,act,{values[i % 2]},true" for i in range(40)]
    text = "\n".join([f"episode,observation,action,{column},terminated", *rows])
    (place / "log.csv").write_text(text)
    log = jm.read_logs(place / "log.csv", columns={"reward": column})
    notices = jm.check(log, "estimate").notices
    assert [notice.kind for notice in notices] == ["cost"] * expected
    assert all(notice.loud == (column != "EUR") for notice in notices)
    said = jm.read_logs(place / "log.csv", columns={"reward": column}, cost=False)
    assert jm.check(said, "estimate").notices == ()


# ---- readings -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_readings_that_were_never_cut_into_ranges(jumar, place):
    pumps(place / "log.csv", slip=0.2, pumps=40)
    line = ("log.csv", "--policy", "estimate", *READ, "--cost")
    check = jumar("check", *line, "--json")
    assert check.code == 1
    found = one(check.data, "readings")
    assert "1,200 steps" in found["fact"]
    for said in (check.data["verdict"]["sentence"], found["fact"], found["remedy"]):
        assert "log more" not in said.lower()
    assert "--bins vibration=low:6" in found["command"]  # where what was done changes
    assert "Notice: 'vibration' holds numbers" in jumar("check", *line).text
    after = pasted(jumar, found["command"])
    assert kinds(after) == []
    found, data = noticed_everywhere(jumar, "readings", *line, *LEARN)
    assert data["verdict"]["word"] == "do-not-rely"
    assert pasted(jumar, found["command"])["verdict"]["word"] != "do-not-rely"


def test_one_column_of_two_was_never_cut(jumar, place):
    pumps(place / "raw.csv", slip=0.2, pumps=40)
    lines = (place / "raw.csv").read_text().splitlines()
    rows = [f"{line},{'wet' if i % 3 else 'dry'}" for i, line in enumerate(lines[1:])]
    (place / "log.csv").write_text("\n".join([lines[0] + ",air", *rows]))
    columns = PUMP_COLUMNS.replace("vibration", "vibration+air")
    line = ("check", "log.csv", "--policy", "estimate", "--columns", columns, "--ends", "cut")
    found = one(jumar(*line, "--cost", "--json").data, "readings")
    assert "--bins vibration=" in found["command"]
    assert "air=" not in found["command"]
    assert "readings" not in kinds(pasted(jumar, found["command"]))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([str(i) for i in range(40)], False),  # rooms
        ([f"room {i / 7:.3f}" for i in range(400)], False),  # not a number
        ([f"{i / 7:.3f}" for i in range(400)], True),
        ([str(900 + 7 * i) for i in range(400)], True),  # turns per minute
        ([f"{i / 7:.3f}" for i in range(400)] + ["missing"], True),
    ],
)
def test_only_many_numbers_are_readings(place, names, expected):
    rows = [f"{i // 10},{names[i * 7 % len(names)]},act,1,false" for i in range(2000)]
    text = "\n".join(["episode,observation,action,reward,terminated", *rows])
    (place / "log.csv").write_text(text)
    found = jm.check(jm.read_logs(place / "log.csv"), "estimate").notices
    assert [notice.kind for notice in found] == ["readings"] * expected
    assert all(notice.options[:1] == ("--bins",) for notice in found)


# ---- the rule -----------------------------------------------------------------------------------


def test_the_exploration_that_would_fit(jumar, place):
    """The file says .02, the truth is .1."""
    line = pump_line(place, 0.1, said=0.02)
    check = jumar("check", *line, "--json").data
    found = one(check, "exploration")
    assert "says exploration = 0.02, but exploration = 0.1" in found["fact"]
    assert "would fit the log (p = 0." in found["fact"]
    assert "It fits worst at 'low': it does 'run' 98.7% of the time" in found["fact"]
    after = pasted(jumar, found["command"])
    assert "exploration" not in kinds(after)
    assert after["sections"]["fit"]["verdict"]["status"] == "passed"
    found, data = noticed_everywhere(jumar, "exploration", *line, *LEARN)
    assert data["verdict"]["word"] == "do-not-rely"
    after = pasted(jumar, found["command"])
    assert "exploration" not in kinds(after)
    assert after["verdict"]["word"] != "do-not-rely"


def test_a_rule_without_exploration_and_a_log_with_it(jumar, place):
    line = pump_line(place, 0.1, said=0)
    found = one(jumar("check", *line, "--json").data, "exploration")
    assert "says exploration = 0, but exploration = 0.1" in found["fact"]
    refused = jumar("improve", *line, *LEARN)
    assert refused.code == 1
    assert "`jumar check` tells which exploration would fit" in refused.err
    share = found["command"].rpartition(" ")[2]
    assert jumar("improve", *line, *LEARN, "--exploration", share).code == 0


def test_the_situation_that_fits_worst_is_named(jumar, place):
    """Above six they grease; the file says that they replace."""
    line = pump_line(place, 0.1, above="grease")
    found, _ = noticed_everywhere(jumar, "rule", *line, *LEARN)
    assert "No exploration makes replace above six fit the log." in found["fact"]
    assert "It fits worst at 'high'" in found["fact"]
    assert "rule" not in kinds(pasted(jumar, found["command"]))


# ---- exceptions ---------------------------------------------------------------------------------

# after eight weeks a pump is sold, and nothing comes later: most records show an exception or two,
# and many none
SHORT = {"weeks": 8, "pumps": 800}


def test_most_of_the_gain_is_fewer_exceptions(jumar, place):
    """The rule is good; what costs is that in one week of five anything is done."""
    line = (*pump_line(place, 0.2, **SHORT), *LEARN, "--ends", "terminated")
    costs = pumps(place / "log.csv", slip=0.2, **SHORT)
    found, data = noticed_everywhere(jumar, "exceptions", *line)
    assert data["gain"]["old"] == pytest.approx(-sum(costs) / len(costs))
    worth = data["exceptions"]["worth"]
    low, high = worth["interval"]
    assert 0 < low < worth["value"] < high
    assert worth["value"] >= data["gain"]["per_episode"] / 2
    # so many pumps, with and without exceptions, that the difference is known up to about 5
    with_some, without = (
        sum(pumps(place / "other.csv", slip=slip, weeks=8, pumps=20_000, seed=2)) / 20_000
        for slip in (0.2, 0.0)
    )
    saved = with_some - without
    assert low < saved < high
    # what is offered is the rule as it was meant
    offered = jm.load_controller(place / "out" / "without_exceptions.json")
    assert offered.row([], "low").tolist() == [1, 0, 0]
    assert offered.row([], "high").tolist() == [0, 0, 1]
    assert found["command"] == "jumar show out/without_exceptions.json"
    assert jumar("show", "out/without_exceptions.json").code == 0
    rows = list(csv.DictReader((place / "out" / "decisions.csv").read_text().splitlines()))
    low_row = next(row for row in rows if row["seen now"] == "low")
    assert low_row["old"] == "run 86.7% (rest: exceptions)"
    assert "fewer exceptions: 'run' is what your policy means to do" in low_row["why"]


def test_without_a_folder_the_remedy_is_to_write_one(jumar, place):
    line = (*pump_line(place, 0.2, **SHORT), *LEARN, "--ends", "terminated")
    found = one(jumar("improve", *line, "--json").data, "exceptions")
    assert found["command"].endswith("--json -o out")
    pasted(jumar, found["command"].replace(" --json", ""))
    assert (place / "out" / "without_exceptions.json").exists()
    # a later result that has nothing to offer takes the offer away
    jumar("improve", *line, "--n-wedge", "100000", "--no-cost", "-o", "out")
    assert not (place / "out" / "without_exceptions.json").exists()


@pytest.mark.parametrize(
    ("made", "options"),
    [
        ({}, LEARN),  # of 80 records of 30 weeks hardly one is without an exception
        (SHORT, ("--discount", "0.99")),  # 92 % of what counts lies beyond the cuts
    ],
)
def test_what_exceptions_cost_is_not_told_where_the_log_hardly_shows_it(
    jumar, place, made, options
):
    data = jumar("improve", *pump_line(place, 0.2, **made), *options, "--json").data
    assert data["exceptions"]["exploration"] == pytest.approx(0.2)
    assert data["exceptions"]["worth"] is None
    assert "exceptions" not in kinds(data)


# ---- actions that are alike ---------------------------------------------------------------------


def test_no_difference_in_the_data_between_actions(jumar, place):
    """Cleaning, oiling and tightening do the same; one of them came out on top by luck."""
    workshop(place / "log.csv")
    (place / "rule.toml").write_text(WORKSHOP_RULE)
    line = ("log.csv", "--policy", "rule.toml", *LEARN)
    found, data = noticed_everywhere(jumar, "alike", *line)
    assert "no difference in the data" in found["fact"]
    for action in ("clean", "oil", "tighten"):
        assert action in found["fact"]
    assert "wait" not in found["fact"]
    assert data["changed"] == 1
    (why,) = [
        row["why"]
        for row in csv.DictReader((place / "out" / "decisions.csv").read_text().splitlines())
        if row["changed"] == "yes"
    ]
    assert why.startswith("no difference in the data between ")
    assert "'wait'" not in why
    after = pasted(jumar, found["command"])
    assert after["algorithm"] == "strict"
    assert "alike" not in kinds(after)
    assert after["changed"] == 1  # waiting is proved worse


def test_a_notice_of_ones_own(place):
    """One function and one line."""
    from jumar.evidence.noticing import LOOKS, Notice

    def zeros(subject, sections, rng):
        if (subject.log.reward == 0).mean() > 0.9:
            yield Notice("zeros", "Nine of ten steps pay nothing.", "Give prices.")

    two_presses(place / "log.csv", episodes=50)
    log = jm.read_logs(place / "log.csv")
    LOOKS.add("zeros", zeros)
    try:
        assert jm.check(log, "estimate").notices == ()
        (found,) = jm.check(replace(log, reward=0 * log.reward), "estimate").notices
        assert found.kind == "zeros"
    finally:
        LOOKS.remove("zeros")


# ---- a memory that was not used -----------------------------------------------------------------


def test_a_memory_that_was_asked_for_and_not_used(jumar, place):
    line = pump_line(place, 0.2, pumps=30, weeks=10)
    found, data = noticed_everywhere(jumar, "memory", *line, "--discount", "0.95", "--window", "3")
    assert data["memory"] == "window of 1"
    assert "You asked for a window of 3, but the result uses a window of 1" in found["fact"]
    assert "your policy stays" in found["fact"]
    after = pasted(jumar, found["command"])
    assert after["memory"] == "window of 3"
    assert "memory" not in kinds(after)
    named = jumar("improve", *line, *LEARN, "--window", "3", "--json").data
    assert "memory" not in kinds(named)


# ---- a behavior that depends on more than was estimated -----------------------------------------


def ovens(path: Path) -> None:
    """Batches that are unloaded after five steps: whoever remembers less cannot know it."""
    rng = random.Random(14)
    rows = ["batch,step,colour,command,points"]
    for batch in range(1500):
        heat, good = rng.choice([-1, 0, 0, 1]), 0
        for step in range(10):
            seen = heat if rng.random() < 0.8 else rng.choice([-1, 0, 1])
            done = "unload" if step >= 5 else {-1: "heat", 0: "hold", 1: "cool"}[seen]
            if rng.random() < 0.15:
                done = rng.choice(["heat", "hold", "cool", "unload"])
            heat += {"heat": heat < 1, "cool": -(heat > -1)}.get(done, 0)
            good += heat == 0
            paid = 6 * min(good, 4) - 4 * abs(heat) - 8 if done == "unload" else -0.8
            colour = {-1: "pale", 0: "golden", 1: "dark"}[seen]
            rows.append(f"{batch},{step},{colour},{done},{paid}")
            if done == "unload":
                break
            heat = rng.choice([-1, 0, 1]) if rng.random() < 0.2 else heat
    path.write_text("\n".join(rows) + "\n")


OVEN = ("--columns", "episode=batch,observation=colour,action=command,reward=points")


@pytest.mark.slow
def test_weights_that_contradict_the_estimated_behavior(jumar, place):
    """A window of 3 cannot count to five: weights are wrong, and 'gains' beyond all returns too."""
    ovens(place / "ovens.csv")
    line = ("ovens.csv", *OVEN, "--ends", "terminated", "--discount", "0.95")
    line += ("--policy", "estimate", "--window", "3")
    found, data = noticed_everywhere(jumar, "weights", *line)
    assert "two counts of the same episodes" in found["fact"]
    assert data["verdict"]["word"] == "do-not-rely"
    assert "--policy estimate --window 6" in found["command"]  # the rule counts to five
    found, data = noticed_everywhere(jumar, "exceptions", *line[:-1], "6")
    assert "weights" not in kinds(data)
    assert data["verdict"]["word"] != "do-not-rely"
    # what is done one time in ten where something else is usual; they may have had a reason
    assert data["exceptions"]["exploration"] == pytest.approx(0.15, abs=0.03)
    assert found["fact"].startswith("If what your policy did depended on nothing but what is in")
    assert found["remedy"].startswith("Ask those who decided why")


def test_a_rule_with_dice_where_somebody_remembered(jumar, place):
    """Replaced at the second alarm in a row; the file says: in half of the alarms."""
    rng, rows = random.Random(7), ["episode,step,observation,action,reward"]
    for episode in range(200):
        before = False
        for step in range(8):
            alarm = rng.random() < 0.5
            done = "replace" if alarm and before else "run"
            if rng.random() < 0.1:
                done = rng.choice(["replace", "run"])
            rows.append(
                f"{episode},{step},{'alarm' if alarm else 'fine'},{done},{rng.random():.2f}"
            )
            before = alarm
    (place / "log.csv").write_text("\n".join(rows))
    log = jm.read_logs("log.csv", ends="cut")
    alarm = log.observation == log.observations.index("alarm")
    share = round(float((log.action[alarm] == log.actions.index("replace")).mean()), 3)
    (place / "rule.toml").write_text(
        'format = "jumar-controller/1"\nobservations = ["alarm", "fine"]\n'
        'actions = ["replace", "run"]\n[[rules]]\nobservation = "fine"\n'
        'action = { replace = 0.05, run = 0.95 }\n[[rules]]\nobservation = "alarm"\n'
        f"action = {{ replace = {share}, run = {round(1 - share, 3)} }}\n"
    )
    line = ("log.csv", "--policy", "rule.toml", "--ends", "cut")
    data = jumar("check", *line, "--json").data
    found = one(data, "remembers")
    assert "--policy estimate --window 2" in found["command"]
    after = pasted(jumar, found["command"])
    assert "remembers" not in kinds(after)
    noticed_everywhere(jumar, "remembers", *line, "--discount", "0.8")
