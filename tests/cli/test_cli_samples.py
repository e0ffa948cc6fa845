"""`jumar samples`: planning how much more data a certificate takes. Run in this process."""

from __future__ import annotations

import pytest

import jumar as jm
from jumar.core.randomness import random_stream
from jumar.gate import select
from jumar.gate.samples import plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    tiger = jm.models.tiger()
    behavior = jm.train_behavior(tiger, jm.window(2), softmax=0.05, seed=random_stream(1, "train"))
    behavior.save(folder / "behavior.json")
    log = jm.simulate(tiger, behavior, episodes=200, seed=random_stream(1, "data"))
    jm.write_logs(log, folder / "log.csv")
    return folder


def samples(folder, *arguments):
    log = ["samples", folder / "log.csv", "--policy", folder / "behavior.json"]
    return [*log, "--discount", 0.95, *arguments]


def test_the_plan_is_the_librarys(jumar, folder):
    done = jumar(*samples(folder, "--json", "--gain", 2, "--power", 0.5, "--power", 0.9))
    assert done.code == 0, done.err
    data = done.data
    behavior = jm.load_controller(folder / "behavior.json")
    log = jm.read_logs(
        folder / "log.csv", observations=behavior.observations, actions=behavior.actions
    )
    found = select(log, behavior, discount=0.95, seed=random_stream(1, "selection"))
    needs = plan(found, [2.0], (0.5, 0.9)).needs
    assert [item["episodes"] for item in data["plan"]] == [need.episodes for need in needs]
    assert data["plan"][0]["episodes"] < data["plan"][1]["episodes"]
    assert data["episodes"] == 200


def test_people_see_a_table_and_what_it_is_worth(jumar, folder):
    text = jumar(*samples(folder, "--gain", 2)).text
    assert "gain to certify" in text
    assert "a plan, not a promise" in text


@pytest.mark.parametrize("asked", [(), ("--gain", 2)])
def test_what_passes_gains_as_much_as_improve_says(jumar, folder, asked):
    behavior = jm.load_controller(folder / "behavior.json")
    tiger, seed = jm.models.tiger(), random_stream(2, "data")
    jm.write_logs(jm.simulate(tiger, behavior, episodes=1500, seed=seed), folder / "long.csv")
    policy = ["--policy", folder / "behavior.json", "--discount", 0.95]
    told = [folder / "long.csv", *policy, "--json"]
    found = jumar("improve", *told, "-o", folder / "out").data["gain"]
    planned = jumar("samples", *told, *asked).data
    assert planned["certified"]
    assert planned["gain"]["value"] == found["per_episode"]
    assert planned["gain"]["interval"] == found["interval"]


def test_where_nothing_can_be_planned_there_is_a_reason_and_no_number(jumar, folder):
    """Six episodes are too few to learn from some and test on others."""
    rows = (folder / "log.csv").read_text().splitlines()
    few = [row for row in rows[1:] if int(row.split(",")[0]) < 6]
    (folder / "few.csv").write_text("\n".join([rows[0], *few]) + "\n")
    done = jumar(
        *["samples", folder / "few.csv", "--policy", folder / "behavior.json", "--discount", 0.95],
        "--json",
    )
    assert done.code == 0, done.err
    assert done.data["plan"] == []
    assert done.data["gain"] is None
    assert "too few" in done.data["not_planned_because"]


def test_a_chance_that_is_none_is_refused(jumar, folder):
    done = jumar(*samples(folder, "--power", 1.5))
    assert done.code == 2
    assert "power: 1.5 must lie between 0 and 1" in done.err
