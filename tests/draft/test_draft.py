"""What `jumar init` proposes for logs it has never seen; and logs as other people have them: each
broke the first draft of something."""

from __future__ import annotations

import datetime
import gzip
import io
import random
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import jumar as jm
import own_logs
from commands import run_command
from jumar.core.errors import LogError
from jumar.core.reading import NO_NUMBER
from jumar.draft import draft
from jumar.draft.parts import columns_of
from jumar.draft.ranges import cut, named, round_numbers
from jumar.draft.rule import patterns
from jumar.draft.writing import project_text, rule_text
from jumar.project import load_project
from jumar.show.program import runtime


def proposed(path: Path) -> dict[str, tuple[str, ...]]:
    return dict(columns_of(draft(path).proposals))


def written(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def clinic(tmp_path) -> Path:
    own_logs.clinic(tmp_path / "clinic.csv", patients=400)
    return tmp_path / "clinic.csv"


def test_a_clinic_is_read_with_its_ranges(clinic):
    made = draft(clinic)
    assert columns_of(made.proposals) == {
        "episode": ("patient_id",),
        "step": ("visit",),
        "reward": ("benefit",),
        "action": ("therapy",),
        "observation": ("glucose",),  # nothing was decided by the other readings
    }
    assert made.others == ("systolic", "weight")
    names, edges = made.value("bins")["glucose"][::2], made.value("bins")["glucose"][1::2]
    assert edges == pytest.approx([7.5, 11], abs=0.11)  # as the protocol says
    assert names == ("low", "mid", "high")
    assert made.value("missing") == "symbol"
    assert made.value("cost") is None
    assert made.window == 1  # the protocol looks at the glucose of today
    assert made.starter.exploration == pytest.approx(1 / 8, abs=0.03)
    usual = dict(zip(made.starter.observations, made.starter.usual, strict=True))
    actions = made.starter.actions
    assert [actions[usual[z]] for z in ("low", "mid", "high")] == ["diet", "tablets", "insulin"]


def test_a_spreadsheet_of_pumps_is_read_with_its_rule(tmp_path):
    """Semicolons, decimal commas, dates as 31.05.2024, costs, and a rare range above 7."""
    own_logs.pumps(tmp_path / "pumps.csv")
    made = draft(tmp_path / "pumps.csv")
    parts = columns_of(made.proposals)
    assert (parts["time"], parts["observation"]) == (("date",), ("vibration", "temperature"))
    assert {4, 7} < set(made.value("bins")["vibration"])  # where the rule looks
    assert (made.value("cost"), made.value("unit")) == (True, "EUR")
    assert (made.value("ends"), made.value("step_length")) == ("cut", "7d")
    assert made.starter.exploration == pytest.approx(0.06, abs=0.01)
    usual = [made.starter.actions[a] for a in made.starter.usual]
    names = (name.partition("+")[0] for name in made.starter.observations)
    rule = dict(zip(names, usual, strict=True))
    lowest, *_, highest = made.value("bins")["vibration"]
    assert (rule[lowest], rule[highest]) == ("run", "replace")
    assert made.others == ("comment",)


def test_calls_with_turns_are_read(tmp_path):
    own_logs.calls(tmp_path / "calls.jsonl", calls=500)
    made = draft(tmp_path / "calls.jsonl")
    assert made.value("turns") == "turns"
    assert columns_of(made.proposals) == {
        "episode": ("call",),
        "step": ("n",),
        "reward": ("score",),
        "action": ("said",),
        "observation": ("heard.intent",),
    }
    assert made.value("ends") == "terminated"
    assert made.trouble == ""
    assert made.window == 2  # the rule asks once, then acts: it knows whether it has asked
    project = tomllib.loads(project_text(made, "calls.jsonl", "rule.toml"))
    assert (project["policy"], project["window"]) == ("estimate", 2)


def test_everything_works_as_printed(clinic, capsys, monkeypatch):
    monkeypatch.chdir(clinic.parent)
    done = run_command(capsys, "init", clinic.name, "--yes")
    assert done.code == 0
    assert "Next" in done.out
    assert "jumar check" in done.out
    assert run_command(capsys, "check").code == 0
    assert run_command(capsys, "improve", "-o", "out").code == 0
    assert (clinic.parent / "out" / "report.html").is_file()


def test_files_are_not_written_over(clinic, capsys, monkeypatch):
    monkeypatch.chdir(clinic.parent)
    (clinic.parent / "jumar.toml").write_text("mine")
    refused = run_command(capsys, "init", clinic.name, "--yes")
    assert refused.code == 2
    assert "--force" in refused.err
    assert (clinic.parent / "jumar.toml").read_text() == "mine"
    assert not (clinic.parent / "rule.toml").exists()
    assert run_command(capsys, "init", clinic.name, "--yes", "--force").code == 0
    assert load_project("jumar.toml").rest["policy"].endswith("rule.toml")


def test_what_is_given_is_taken_over(clinic, capsys, monkeypatch):
    monkeypatch.chdir(clinic.parent)
    words = ("--columns", "observation=systolic", "--ends", "terminated")
    words += ("--bins", "systolic=fine:140:raised")
    found = run_command(capsys, "init", clinic.name, *words, "--json").data["settings"]
    assert found["columns"]["observation"] == "systolic"
    assert found["columns"]["action"] == "therapy"
    assert found["ends"] == "terminated"
    assert found["bins"] == {"systolic": ["fine", 140.0, "raised"]}
    refused = run_command(capsys, "init", clinic, "--force", "--columns", "reward=benefits")
    assert refused.code == 1
    assert all(fact in refused.err for fact in ("clinic.csv", "'benefits'", "'benefit'"))


def log_of(lengths: list[int], last: str = "", final: str = "", time: bool = False) -> str:
    """Episodes of these lengths; the last action or observation may be a word of its own."""
    rng = random.Random(1)
    lines = ["case," + ("date," if time else "") + "finding,action,score"]
    for e, n in enumerate(lengths):
        for t in range(n):
            day = max(lengths) - n + t + 1 if time else 0
            seen, done = rng.choice(["good", "bad"]), rng.choice(["wait", "act"])
            if t == n - 1:
                seen, done = final or seen, last or done
            when = f"2024-{1 + day // 28:02}-{1 + day % 28:02}," if time else ""
            lines.append(f"{e},{when}{seen},{done},{rng.randint(0, 9)}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "ends", "reason"),
    [
        (log_of([5, 3, 7, 4] * 5, last="hang up"), "terminated", "hang up"),
        (log_of([5, 3, 7, 4] * 5, final="dead"), "terminated", "dead"),
        (log_of([6] * 12), "cut", "6 rows"),
        (log_of([8, 3, 8, 8, 5] * 4), "cut", "8 rows"),
        (log_of([5, 9, 7, 14, 11, 6] * 2, time=True), "cut", "when the log stops"),
        (log_of([5, 9, 7, 14, 11, 6]), "cut", "they stop whatever was seen"),
    ],
)
def test_how_episodes_end(tmp_path, text, ends, reason):
    made = draft(written(tmp_path, text))
    line = next(item for item in made.settings if item.key == "ends")
    assert line.value == ends
    assert reason in line.why


def test_time_gives_the_length_of_a_step(tmp_path):
    week = [f"2024-01-{1 + 7 * t:02}" for t in range(4)]
    rows = [
        f"{e},{day},{'ab'[(e + t) % 2]},{'xy'[t % 2]},1"
        for e in range(9)
        for t, day in enumerate(week)
    ]
    made = draft(written(tmp_path, "\n".join(["truck,date,finding,action,reward", *rows])))
    assert made.value("step_length") == "7d"
    # the records stop after four weeks, so hardly anything later can count
    assert (made.value("yearly_discount"), made.value("discount")) == (None, 0.8)


def test_what_is_lacking_is_said_and_the_rest_written(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{e},{t},{'ab'[(e + t) % 2]},{'xy'[t % 2]}" for e in range(9) for t in range(4)]
    written(tmp_path, "\n".join(["truck,step,finding,action", *rows]), "my log.csv")
    done = run_command(capsys, "init", "my log.csv", "--yes")
    assert done.code == 1
    assert "--columns reward=NAME" in done.err
    assert "jumar init 'my log.csv' --force" in done.err
    assert (tmp_path / "jumar.toml").is_file()
    again = run_command(capsys, "init", "my log.csv", "--force", "--yes", "--prices", "action:x=-1")
    assert again.code == 0, again.err
    assert run_command(capsys, "check").code in (0, 1)


def test_the_files_are_toml_whatever_the_names(tmp_path):
    odd = ['"quoted"', "back\\slash", "new\tline", "ümlaut € \x7f", "# comment", "a = b", "[x]"]
    table = ["case,t,what is = seen,action,reward"]
    rng = random.Random(3)
    for e in range(30):
        for t in range(4):
            name = '"' + odd[(e + t) % len(odd)].replace('"', '""') + '"'
            table.append(f"{e},{t},{name},{rng.choice(['go', 'stop'])},1")
    path = written(tmp_path, "\n".join(table))
    made = draft(path, {"columns": {"observation": "what is = seen"}})
    project = tomllib.loads(project_text(made, str(path), "rule.toml"))
    assert project["columns"]["observation"] == "what is = seen"
    (tmp_path / "rule.toml").write_text(rule_text(made.starter, str(path)))
    rule = jm.load_controller(tmp_path / "rule.toml")
    assert rule.estimated
    assert set(rule.observations) == set(odd)


def test_cuts_stand_where_the_rule_changes():
    rng = np.random.default_rng(5)
    for edge in (7.0, 350.0, 0.02):
        values = rng.gamma(4, edge / 4, 4000)
        action = (values >= edge).astype(np.int64)
        slip = rng.random(4000) < 0.1
        action[slip] = rng.integers(0, 2, slip.sum())
        found = cut(values, action)
        assert len(found) == 1
        assert found[0] == pytest.approx(edge, rel=0.03)


def test_cuts_of_odd_columns():
    assert cut(np.array([])) == ()
    assert cut(np.full(10, 3.0)) == ()
    assert cut(np.array([np.nan, np.nan])) == ()
    assert len(round_numbers(np.array([-1e300, 1e300]))) <= 50
    mostly = np.r_[np.zeros(990), np.arange(10.0)]
    assert all(low < high for low, high in zip(cut(mostly), cut(mostly)[1:], strict=False))
    assert named((1.0,)) == ("low", 1, "high")


def test_every_example_is_understood():
    expected = {
        "voicemail": ("call", "turn", "heard", "response", "score", "terminated"),
        "bridge": ("bridge", "year", "finding", "work", "cost", "cut"),
        "species": ("block", "year", "tigers", "decision", "benefit", "cut"),
    }
    folder = Path(__file__).parents[2] / "examples"
    for name in expected:
        made = draft(folder / name / "log.csv")
        parts = {part: names[0] for part, names in columns_of(made.proposals).items()}
        clock = parts.get("step") or parts.get("time")
        found = (parts["episode"], clock, parts["observation"], parts["action"], parts["reward"])
        assert (*found, made.value("ends")) == expected[name]


@pytest.mark.parametrize("kind", ["csv", "arrow", "parquet"])
def test_a_table_without_rows_is_told_so(tmp_path, kind):
    path = tmp_path / f"log.{kind}"
    if kind == "csv":
        path.write_text("episode,observation,action,reward\n")
    else:
        table = pa.table({name: pa.array([], pa.string()) for name in ("episode", "reward")})
        write = pq.write_table if kind == "parquet" else pa.feather.write_feather
        write(table, path)
    with pytest.raises(LogError, match="no rows"):
        draft(path)


def test_columns_of_odd_types_are_looked_at(tmp_path):
    """Times of day, spans, lists and bytes: no part of a log, and no reason to stop."""
    hour = datetime.time(1, 2)
    table = pa.table(
        {
            "episode": [1, 1, 2, 2],
            "observation": ["a", "b", "a", "b"],
            "action": ["x", "y", "y", "x"],
            "reward": [1.0, 2.0, 3.0, 4.0],
            "at": pa.array([hour, None, hour, hour]),
            "span": pa.array([datetime.timedelta(days=7)] * 4),
            "list": pa.array([[1], None, [], [2]]),
            "bytes": pa.array([b"\xff", b"a", None, b""]),
        }
    )
    pq.write_table(table, tmp_path / "log.parquet")
    found = proposed(tmp_path / "log.parquet")
    assert (found["observation"], found["action"]) == (("observation",), ("action",))


def test_propensities_need_no_rule_and_the_next_command_works(tmp_path, monkeypatch, capsys):
    """A rule read off the log would contradict them, and `jumar check` refuse it."""
    monkeypatch.chdir(tmp_path)
    rng, rows = random.Random(1), ["customer,segment,action,revenue,propensity"]
    for customer in range(300):
        segment, price = rng.choice(["new", "regular"]), rng.choice(["low", "low", "high"])
        paid = rng.choice([0, 5 if price == "low" else 14])
        rows.append(f"{customer},{segment},{price},{paid},{2 / 3 if price == 'low' else 1 / 3}")
    written(tmp_path, "\n".join(rows))
    assert run_command(capsys, "init", "log.csv", "--yes").code == 0
    assert not (tmp_path / "rule.toml").exists()
    project = (tmp_path / "jumar.toml").read_text()
    assert "No policy is needed" in project
    assert "every row is an episode of its own" in project
    assert "an episode has 1 step on average" in project
    assert run_command(capsys, "check").code == 0


# ---- strange logs ----------------------------------------------------------------------------


def lines(path: Path, *rows: str, end: str = "\n") -> Path:
    path.write_bytes(end.join([*rows, ""]).encode())
    return path


def lifts(path: Path) -> Path:
    """A German spreadsheet: "n/a" where the sensor failed, dates, decimal commas, costs."""
    rng = random.Random(1)
    rows = ["Aufzug;Datum;Schwingung;Maßnahme;Kosten"]
    for lift in range(40):
        for week in range(12):
            value = rng.uniform(0, 9)
            done = "Wartung" if value >= 4.5 else "nichts"
            done = rng.choice(["Wartung", "nichts"]) if rng.random() < 0.1 else done
            shown = "n/a" if rng.random() < 0.1 else f"{value:.1f}".replace(".", ",")
            cost = "150,50" if done == "Wartung" else "0,00"
            rows.append(f"A{lift};{1 + 2 * week:02}.01.2023;{shown};{done};{cost}")
    return lines(path, *rows)


def test_readings_that_are_not_available_are_missing(tmp_path):
    made = draft(lifts(tmp_path / "lifts.csv"))
    assert made.trouble == ""
    assert made.value("missing") == "symbol"
    low, edge, high = made.value("bins")["Schwingung"]
    assert (low, high) == ("low", "high")
    assert edge == pytest.approx(4.5, abs=0.11)
    assert set(made.starter.observations) == {"low", "high", "missing"}


@pytest.mark.parametrize("word", NO_NUMBER)
def test_every_word_for_no_number_is_missing_in_logs_and_programs(tmp_path, word):
    path = lines(
        tmp_path / "log.csv",
        "episode,observation,action,reward",
        "1,3.5,go,1",
        f"1,{word.upper()},go,1",
    )
    reading = {"ends": "cut", "bins": {"observation": ("low", 2, "high")}}
    assert jm.read_logs(path, **reading, missing="symbol").observations == ("high", "missing")
    with pytest.raises(LogError, match="missing"):
        jm.read_logs(path, **reading)
    assert word in runtime.NO_NUMBER


def test_an_outcome_in_the_last_row_is_paid_there(tmp_path):
    rng = random.Random(3)
    rows = []
    for patient in range(200):
        for visit in range(4):
            pain, fever = rng.randint(0, 10), rng.choice(["yes", "no"])
            act = (
                "operate" if fever == "yes" and pain >= 7 else "drug" if fever == "yes" else "wait"
            )
            act = rng.choice(["operate", "drug", "wait"]) if rng.random() < 0.1 else act
            rows.append(f"P{patient},{visit},{pain},{fever},{act},{'' if visit < 3 else pain}")
    path = lines(tmp_path / "log.csv", "patient,visit,pain,fever,treatment,outcome", *rows)
    made = draft(path)
    assert (made.value("missing_reward"), made.value("ends")) == (0, "terminated")
    assert 7 in made.value("bins")["pain"]  # where the rule looks
    rules = tomllib.loads(rule_text(made.starter, "log.csv"))["rules"]
    assert {rule["observation"]: rule["action"] for rule in rules} == {
        "yes+high": "operate",
        "yes+*": "drug",
    }


def test_batches_of_two_machines_are_the_episodes(tmp_path):
    """Interleaved, in standard input, compressed, without a step column."""
    rng, rows = random.Random(4), []
    for batch in range(120):
        for minute in range(rng.randint(3, 6)):
            colour = rng.choice(["pale", "dark"])
            done = {"pale": "heat", "dark": "cool"}[colour]
            when = f"2024-03-{1 + batch // 10:02} {8 + batch % 10:02}:{minute:02}:00"
            rows.append(f"{when}\t{'AB'[batch % 2]}\tB{batch}\t{colour}\t{done}\t{minute}")
    rng.shuffle(rows)
    path = lines(tmp_path / "log.tsv", "timestamp\tmachine\tbatch\tcolour\tcommand\tpoints", *rows)
    parts = columns_of(draft(path).proposals)
    assert (parts["episode"], parts["time"]) == (("batch",), ("timestamp",))


def test_standard_input_becomes_a_file_of_the_project(tmp_path, capsys, monkeypatch):
    text = gzip.compress(lifts(tmp_path / "lifts.csv").read_bytes())
    (tmp_path / "lifts.csv").unlink()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    done = run_command(capsys, "init", "-", "--yes")
    assert done.code == 0
    assert "Wrote log.csv.gz" in done.out
    assert run_command(capsys, "check").code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    refused = run_command(capsys, "init", "-", "--yes")
    assert refused.code == 2
    assert "--force" in refused.err


def test_money_that_may_be_paid_or_earned_is_asked_about(tmp_path, capsys, monkeypatch):
    """The amount comes after the decision, the quoted price before it."""
    rng, rows = random.Random(5), []
    for ship in range(100):
        for turn in range(3):
            price = rng.uniform(500, 3000)
            rows.append(
                f'S{ship},{turn},"{price:,.2f}",{"yes" if price < 1500 else "no"},{price:.0f}'
            )
    lines(
        tmp_path / "log.csv", "shipment,round,quoted price,decision,amount (USD)", *rows, end="\r\n"
    )
    monkeypatch.chdir(tmp_path)
    done = run_command(capsys, "init", "log.csv", "--yes")
    assert done.code == 0
    project = (tmp_path / "jumar.toml").read_text()
    assert "does not say whether it holds costs or earnings" in run_command(capsys, "check").text
    assert tomllib.loads(project)["columns"]["reward"] == "amount (USD)"
    assert tomllib.loads(project)["columns"]["observation"] == "quoted price"


def test_patterns_say_the_same_as_the_names():
    rng = random.Random(6)
    for _ in range(200):
        names = [f"{a}+{b}+{c}" for a in "xyz" for b in "uv" for c in "pq"]
        usual = {name: rng.choice([0, 0, 1, 2]) for name in names if rng.random() < 0.9}
        found = patterns(usual, 0)
        for name, action in usual.items():
            fits = [a for p, a, _ in found if _fits(p, name)]
            assert (fits[0] if fits else 0) == action
        assert len(found) <= sum(action != 0 for action in usual.values())


def _fits(pattern: str, name: str) -> bool:
    return all(p in ("*", n) for p, n in zip(pattern.split("+"), name.split("+"), strict=True))
