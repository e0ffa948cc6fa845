"""A draft knows time: what came of an action is no observation, what was known before it may be."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from commands import run_command
from jumar.draft import draft
from jumar.draft.parts import columns_of
from jumar.project import load_project

FIELD = ("field", "day", "moisture", "forecast", "irrigation", "water_mm", "status", "margin")


def fields(path: Path, columns: tuple[str, ...] = FIELD, fields: int = 250) -> Path:
    """Twenty days of each field. The rule looks at moisture alone; rain matters too."""
    rng = random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        for field in range(fields):
            wet = rng.uniform(20, 40)
            for day in range(20):
                rain = rng.random() < 0.3
                forecast = "rain" if rain == (rng.random() < 0.9) else "dry"
                seen = round(wet, 1)
                act = "water" if seen < 28 else "none"
                act = rng.choice(["water", "none"]) if rng.random() < 0.2 else act
                wet += 12 * (act == "water") + 12 * rain - rng.uniform(3, 6)
                status = "flooded" if wet > 45 else "dried" if wet < 15 else "fine"
                margin = 5 - 3 * (act == "water") - 10 * (status != "fine")
                wet = min(45, max(15, wet))
                row = (field, day, seen, forecast, act, 12 * (act == "water"), status, margin)
                writer.writerow(dict(zip(FIELD, row, strict=True)))
    return path


def test_what_came_of_an_action_is_no_observation_and_a_forecast_is_one(tmp_path):
    made = draft(fields(tmp_path / "log.csv"))
    parts = columns_of(made.proposals)
    assert parts["observation"] == ("moisture", "forecast")  # the second was ignored so far
    assert (parts["action"], parts["reward"]) == (("irrigation",), ("margin",))
    assert set(made.aside) == {"water_mm", "status"}
    assert all(why.startswith("what came of an action") for why in made.aside.values())


def test_a_name_that_contradicts_its_place_is_left_out_and_said(tmp_path, capsys, monkeypatch):
    """ "status" left of what was done: its name says after, its place before."""
    monkeypatch.chdir(tmp_path)
    order = ("field", "day", "zone_next", "moisture", "forecast", "irrigation", "margin")
    path = fields(tmp_path / "log.csv", ("status", *order[:2], *order[3:]))
    made = draft(path)
    assert "status" not in columns_of(made.proposals)["observation"]
    done = run_command(capsys, "init", "log.csv", "--yes")
    assert "status" in done.out.partition("In words:")[2]


def test_columns_in_alphabetical_order_say_nothing_by_their_place(tmp_path):
    made = draft(fields(tmp_path / "log.csv", tuple(sorted(FIELD))))
    assert "status" in made.aside
    assert made.undecided  # moisture may be either, and is asked for


def test_the_state_after_a_step_is_recognised_by_the_next_row(tmp_path):
    rng = random.Random(2)
    lines = ["run,t,state,action,reward,later"]
    for run in range(60):
        state = rng.choice("abcd")
        for t in range(8):
            act, after = rng.choice(["go", "stay"]), rng.choice("abcd")
            lines.append(f"{run},{t},{state},{act},{rng.randint(0, 3)},{after}")
            state = after
    (tmp_path / "log.csv").write_text("\n".join(lines))
    made = draft(tmp_path / "log.csv")
    assert columns_of(made.proposals)["observation"] == ("state",)
    assert "'state' of the next row" in made.aside["later"]


def test_cuts_are_finer_than_the_old_threshold(tmp_path):
    """The rule waters below 28; where a better one might, there is a cut as well."""
    edges = draft(fields(tmp_path / "log.csv", FIELD[:3] + FIELD[4:])).value("bins")["moisture"]
    assert 28 in edges
    assert len(edges[1::2]) > 1


def test_names_of_people_are_who_acted(tmp_path):
    rng = random.Random(3)
    lines = ["patient,visit,nurse,fever,decision,burden"]
    for patient in range(400):
        nurse = rng.choice(["Ana", "Ben"])
        for visit in range(3):
            fever = rng.choice(["high", "normal"])
            act = "admit" if fever == "high" and nurse == "Ana" else "test"
            act = rng.choice(["admit", "test"]) if rng.random() < 0.2 else act
            lines.append(f"{patient},{visit},{nurse},{fever},{act},{rng.randint(0, 5)}")
    (tmp_path / "log.csv").write_text("\n".join(lines))
    made = draft(tmp_path / "log.csv")
    assert columns_of(made.proposals)["behavior"] == ("nurse",)
    assert made.starter is None
    assert any("Ana and Ben" in line for line in made.told)


def banners(path: Path, rows: int = 600) -> Path:
    rng = random.Random(4)
    lines = ["device,banner,probability,click"]
    for _ in range(rows):
        device, banner = rng.choice(["phone", "desktop"]), rng.choice("AB")
        click = rng.random() < (0.6 if (device == "phone") == (banner == "A") else 0.2)
        lines.append(f"{device},{banner},0.5,{int(click)}")
    path.write_text("\n".join(lines))
    return path


def test_rows_that_nothing_names_or_orders_are_episodes_with_propensities_alone(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    banners(tmp_path / "log.csv")
    assert run_command(capsys, "init", "log.csv", "--yes").code == 0
    rest = load_project("jumar.toml").rest
    assert "policy" not in rest
    assert not Path("rule.toml").exists()
    assert run_command(capsys, "check").code == 0
    found = run_command(capsys, "improve", "--json", "-o", "out").data
    assert found["verdict"]["word"] in ("adopt-if", "keep")
    assert found["history_states"] == 2


def test_a_record_that_stops_whatever_happens_is_cut(tmp_path):
    made = draft(fields(tmp_path / "log.csv"))
    assert made.value("ends") == "cut"


def test_what_a_row_pays_is_drafted_to_be_confirmed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fields(tmp_path / "log.csv")
    run_command(capsys, "init", "log.csv", "--yes")
    text = Path("jumar.toml").read_text()
    assert "# rewards = [-8, 5]" in text
    assert "rewards" not in load_project("jumar.toml").rest  # not before somebody confirms it
    Path("jumar.toml").write_text(text.replace("# rewards =", "rewards ="))
    assert load_project("jumar.toml").rest["rewards"]


@pytest.mark.parametrize("asked", ["observation", "wrong"])
def test_init_asks_until_it_is_right(tmp_path, capsys, monkeypatch, asked):
    monkeypatch.chdir(tmp_path)
    fields(tmp_path / "log.csv")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    answers = iter(["", "forecast", "", "", ""])
    monkeypatch.setattr("typer.prompt", lambda text, default: next(answers, "") or default)
    said = iter([False, asked != "wrong", False, True])
    monkeypatch.setattr("typer.confirm", lambda text, default: next(said))
    assert run_command(capsys, "init", "log.csv").code == 0
    assert 'observation = "forecast"' in Path("jumar.toml").read_text()
