"""The command line: what it prints and what it writes. Run in this process."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import jumar as jm
from commands import improve
from facts import says
from jumar.algorithms import ALGORITHMS
from jumar.lab.truth.models import MODELS
from jumar.policy.controller import Controller

# ---------------------------------------------------------------- what there is


def test_models(jumar):
    printed = jumar("models")
    assert printed.code == 0
    for name, entry in MODELS.items():
        assert name in printed.out
        if entry.optimum is not None:
            assert f"{entry.optimum:.6g}" in printed.out
    listed = jumar("models", "--json").data["models"]
    assert [m["name"] for m in listed] == list(MODELS)
    tiger = listed[0]
    assert tiger["states"] == ["tiger-left", "tiger-right"]
    assert tiger["actions"] == ["open-left", "open-right", "listen"]
    assert tiger["observations"] == ["hear-left", "hear-right"]
    assert tiger["optimum"] == pytest.approx(5.0212519209)
    assert {m["name"]: m["options"] for m in listed if m["options"]} == {
        "cheese_maze": ["step_reward"],
        "inspection": ["pay", "cost", "loss"],
        "garnet": ["seed", "states", "actions", "successors"],
    }
    assert all(m["summary"] and m["source"] for m in listed)


def test_algorithms(jumar, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    printed = jumar("algorithms")
    assert printed.code == 0
    assert "n_wedge=20" in printed.out
    listed = jumar("algorithms", "--json").data["algorithms"]
    assert [a["name"] for a in listed] == list(ALGORITHMS)
    assert listed[1]["parameters"] == {"n_wedge": 20}
    for entry in listed:
        assert entry["name"] in printed.out
        assert entry["summary"] in printed.out


def test_version_and_help(jumar):
    assert jumar("--version").out == f"jumar {jm.__version__}\n"
    for command in ("models", "algorithms", "train", "simulate", "improve", "evaluate", "show"):
        helped = jumar(command, "--help")
        assert helped.code == 0
        assert "--json" in helped.out
        assert command in jumar("-h").out


# ---------------------------------------------------------------- train and simulate


def test_train_writes_a_controller_and_tells_its_exact_value(jumar, tmp_path):
    path = tmp_path / "b.json"
    done = jumar("train", "tiger", "--window", 2, "--episodes", 200, "-o", path, "--json")
    assert done.code == 0
    behavior = jm.load_controller(path)
    assert done.data == {
        "model": "tiger",
        "memory": "window of 2",
        "seed": 1,
        "value": jm.evaluate(jm.models.tiger(), behavior).value,
        "file": str(path),
    }
    first = path.read_bytes()
    again = jumar("train", "tiger", "--episodes", 200, "-o", path)
    assert again.out == f"{path}: window of 2, exact value {done.data['value']:.6g}\n"
    assert path.read_bytes() == first  # window 2 and seed 1 are the defaults
    jumar("train", "tiger", "--episodes", 200, "--seed", 2, "-o", path)
    assert path.read_bytes() != first


def test_simulate_writes_the_log_it_tells_of(jumar, tiger, tmp_path):
    path = tmp_path / "log.csv"
    arguments = ["simulate", "tiger", "--policy", tiger / "behavior.json", "--episodes", 50]
    done = jumar(*arguments, "--seed", 4, "-o", path, "--json")
    assert done.code == 0
    log = jm.read_logs(path)
    assert done.data == {
        "model": "tiger",
        "episodes": 50,
        "steps": log.n_steps,
        "mean_return": pytest.approx(log.returns(0.95).mean(), abs=1e-12),
        "cut_off": 0,
        "seed": 4,
        "file": str(path),
    }
    first = path.read_bytes()
    printed = jumar(*arguments, "--seed", 4, "-o", path)
    assert printed.out.startswith(f"{path}: 50 episodes, {log.n_steps} steps, mean return ")
    assert path.read_bytes() == first
    jumar(*arguments, "--seed", 5, "-o", path)
    assert path.read_bytes() != first


def test_simulate_can_cut_episodes_off(jumar, tiger, tmp_path):
    path = tmp_path / "log.csv"
    arguments = ("simulate", "tiger", "--policy", tiger / "behavior.json", "--episodes", 100)
    done = jumar(*arguments, "--max-steps", 1, "-o", path, "--json")
    log = jm.read_logs(path)
    assert done.data["cut_off"] == int((~log.terminated).sum()) > 0
    assert log.lengths.tolist() == [1] * 100
    printed = jumar(*arguments, "--max-steps", 1, "-o", path).out
    assert printed.startswith(f"{path}: 100 episodes ({done.data['cut_off']} cut off), 100 steps,")


# ---------------------------------------------------------------- improve


FILES = (
    "improved.json", "decisions.csv", "certificate.json", "controller.svg", "controller.dot",
    "improved.py", "improved.table.json", "report.html", "run.json",
)  # fmt: skip


def without_commands(data: dict) -> dict:
    """The same as Python says it, where nothing was typed."""
    notices = [{**notice, "command": None} for notice in data["notices"]]
    return {name: part for name, part in data.items() if name != "next_command"} | {
        "notices": notices
    }


def test_improve_prints_what_it_did_and_writes_its_files(jumar, tiger, tmp_path):
    out = tmp_path / "new" / "out"
    done = jumar(*improve(tiger, "-o", out))
    assert done.code == 0
    assert done.err == ""
    for words in ("500 episodes", "What changes", "Certificate", "vacuous"):
        assert words in done.out
    assert done.out.endswith("".join(f"Wrote {out / name}\n" for name in FILES))
    assert sorted(os.listdir(out)) == sorted(FILES)
    lines = done.out.replace(str(out), "").splitlines()
    assert max(len(line) for line in lines if not line.startswith("  jumar ")) <= 80


def test_improve_draws_pictures_for_slides_where_they_are_asked_for(jumar, tiger, tmp_path):
    done = jumar(*improve(tiger, "-o", tmp_path, "--pictures", "png, pdf", "--json"))
    pictures = [str(tmp_path / f"controller.{kind}") for kind in ("png", "pdf")]
    assert done.data["files"] == [*(str(tmp_path / name) for name in FILES), *pictures]
    assert [Path(name).read_bytes()[:4] for name in pictures] == [b"\x89PNG", b"%PDF"]
    for options, fact in (
        (("--pictures", "png"), "there is no folder"),
        (("--pictures", "gif", "-o", tmp_path), "'gif' is not one of png, pdf"),
    ):
        refused = jumar(*improve(tiger, *options))
        assert refused.code == 2
        assert fact in refused.err


def test_improve_as_json_agrees_with_the_library(jumar, tiger, tmp_path):
    done = jumar(*improve(tiger, "--n-wedge", 15, "--window", 3, "-o", tmp_path, "--json"))
    behavior = jm.load_controller(tiger / "behavior.json")
    result = jm.improve(
        jm.read_logs(tiger / "log.csv"), behavior, discount=0.95, memory=jm.window(3), n_wedge=15
    )
    files = [str(tmp_path / name) for name in (*FILES, "smallest.json")]
    for notice in done.data["notices"]:
        assert notice["command"].startswith("jumar improve ")
    assert without_commands(done.data) == {**result.assessment.to_dict(), "files": files}
    assert jm.load_controller(files[0]).same_as(result.controller)
    certificate = json.loads(Path(files[2]).read_text(encoding="utf-8"))
    assert without_commands(certificate) == {
        "format": "jumar-certificate/1",
        **result.assessment.to_dict(),
    }
    assert done.data["memory"] == "window of 3"
    assert done.data["parameters"] == {"n_wedge": 15}


def test_improve_gives_the_same_bytes_from_csv_and_parquet_and_every_time(jumar, tiger, tmp_path):
    written = []
    for i, log in enumerate(["log.csv", "log.parquet", "log.csv"]):
        out = tmp_path / str(i)
        jumar(
            *("improve", tiger / log, "--policy", tiger / "behavior.json"),
            *("--discount", 0.95, "--n-wedge", 20, "-o", out),
        )
        # the others tell the file, the command and the time
        told = ("report.html", "run.json")
        files = {name: (out / name).read_text() for name in FILES if name not in told}
        files["certificate.json"] = without_commands(json.loads(files["certificate.json"]))
        written.append(files)
    assert written[0] == written[1] == written[2]


def test_by_default_it_chooses_by_itself_and_says_how_sure(jumar, tiger, tmp_path):
    done = jumar("improve", tiger / "log.csv", "--policy", tiger / "behavior.json",
                 "--discount", 0.95, "-o", tmp_path / "out", "--json")  # fmt: skip
    assert done.data["algorithm"] == "auto"
    result = jm.improve(
        jm.read_logs(tiger / "log.csv"), jm.load_controller(tiger / "behavior.json"), discount=0.95
    )
    assert done.data["selection"] == result.selection.to_dict()
    best = done.data["certificates"][0]
    assert best["bound"] in ("held-out", "unchanged")
    assert len(done.data["selection"]["tested"]) > 0
    assert sorted(os.listdir(tmp_path / "out")) == sorted(FILES)
    wrong = jumar(*improve(tiger, "--algorithm", "auto", "--n-wedge", 5))
    assert wrong.code == 2
    assert "auto: chooses n_wedge itself" in wrong.err


def test_parameters_by_set(jumar, tiger):
    by_set = without_commands(jumar(*improve(tiger, "--set", "n_wedge=7", "--json")).data)
    assert by_set == without_commands(jumar(*improve(tiger, "--n-wedge", 7, "--json")).data)
    assert by_set["parameters"] == {"n_wedge": 7}
    basic = jumar(*improve(tiger, "--algorithm", "basic", "--set", "unseen=zero", "--json")).data
    assert (basic["algorithm"], basic["parameters"]) == ("basic", {"unseen": "zero"})


def test_rewards_declared_on_the_command_line(jumar, tiger):
    seen = jumar(*improve(tiger, "--json")).data["certificates"][0]
    assert any("read off the log" in text for text in seen["assumptions"])
    one = jumar(*improve(tiger, "--rewards", "-100:10", "--json")).data["certificates"][0]
    assert not any("read off the log" in text for text in one["assumptions"])
    assert "value_range" not in one  # any step may pay anything, for ever: it says nothing
    two = jumar(
        *improve(tiger, "--rewards", "-1:-1", "--ending-rewards", "-100:10", "--json")
    ).data["certificates"][0]
    assert two["value_range"] == pytest.approx(110)


def test_delta_is_handed_on(jumar, tiger):
    certificates = jumar(*improve(tiger, "--delta", 0.2, "--json")).data["certificates"]
    assert {c.get("delta", 0.2) for c in certificates} == {0.2}
    tested = jumar(*improve(tiger, "--algorithm", "auto", "--delta", 0.2, "--json")).data
    assert "at most 20 %" in tested["certificates"][0]["claim"]


def test_other_columns_and_the_meaning_of_ends(jumar, buses):
    text = (buses / "log.csv").read_text()
    with_flags = jumar(*improve(buses, "--json")).data
    lines = [line.rpartition(",")[0] for line in text.splitlines()[1:]]
    years = [f"{i % 3},{line}" for i, line in enumerate(lines)]
    (buses / "log.csv").write_text("\n".join(["year,bus_id,observation,action,cost", *years[::-1]]))
    columns = ("--columns", "episode=bus_id,reward=cost,step=year")
    ended = jumar(*improve(buses, *columns, "--ends", "terminated", "--json")).data
    for data in (ended, with_flags):  # what reading remarked differs, nothing else
        del data["checks"]["rows"]
    assert without_commands(ended) == without_commands(with_flags)
    cut = jumar(*improve(buses, *columns, "--ends", "cut", "--json")).data
    assert (cut["steps"], cut["steps_left_out"]) == (60, 30)


# ---------------------------------------------------------------- evaluate


def test_evaluate_one_controller(jumar, tiger):
    path = tiger / "behavior.json"
    model, behavior = jm.models.tiger(), jm.load_controller(path)
    exact = jm.evaluate(model, behavior)
    assert jumar("evaluate", "tiger", "--policy", path, "--json").data == {
        "model": "tiger",
        "optimum": jm.models.optimum("tiger"),
        "controllers": [
            {
                "file": str(path),
                "value": exact.value,
                "horizon": None,
                "mean_length": exact.length,
            }
        ],
    }
    printed = jumar("evaluate", "tiger", "--policy", path)
    assert printed.code == 0
    assert f"{exact.value:.10g}" in printed.out
    assert "value is 5.02125192" in printed.out


def test_evaluate_several_over_a_horizon_with_a_cross_check(jumar, tiger, tmp_path):
    uniform = tmp_path / "uniform.json"
    model = jm.models.tiger()
    Controller.uniform(model.observations, model.actions).save(uniform)
    options = ("--policy", tiger / "behavior.json", "--policy", uniform, "--horizon", 3)
    done = jumar("evaluate", "tiger", *options, "--simulate", 2000, "--json")
    assert done.code == 0
    for item, path in zip(
        done.data["controllers"], (tiger / "behavior.json", uniform), strict=True
    ):
        exact = jm.evaluate(model, jm.load_controller(path), 3)
        assert (item["file"], item["horizon"]) == (str(path), 3)
        assert (item["value"], item["mean_length"]) == (exact.value, exact.length)
        simulated = item["simulated"]
        assert simulated["episodes"] == 2000
        # seeded; a fresh seed would fail with a chance below 1e-6
        assert abs(simulated["mean"] - exact.value) < 5 * simulated["standard_error"]
    printed = jumar("evaluate", "tiger", *options, "--simulate", 2000)
    assert "value over 3 steps" in printed.out
    assert " ± " in printed.out
    assert printed.out == jumar("evaluate", "tiger", *options, "--simulate", 2000).out
    other = jumar("evaluate", "tiger", *options, "--simulate", 2000, "--seed", 2)
    assert other.out != printed.out


def test_a_controller_that_never_ends_is_told_in_words_and_json(jumar, tmp_path):
    model = jm.models.tiger()
    path = tmp_path / "listen.json"
    Controller.constant(model.observations, model.actions, [0, 0, 1]).save(path)
    data = jumar("evaluate", "tiger", "--policy", path, "--json").data["controllers"][0]
    assert data["value"] == pytest.approx(-20)
    assert data["mean_length"] is None
    assert "never ends" in jumar("evaluate", "tiger", "--policy", path).out
    # listening three times costs 1 + 0.95 + 0.95² each time
    short = jumar("evaluate", "tiger", "--policy", path, "--horizon", 3, "--simulate", 9, "--json")
    (item,) = short.data["controllers"]
    assert item["value"] == pytest.approx(-2.8525)
    assert item["simulated"]["mean"] == pytest.approx(-2.8525)
    assert item["simulated"]["standard_error"] == pytest.approx(0, abs=1e-12)
    # one episode has no error bar, and JSON no infinity
    one = jumar("evaluate", "tiger", "--policy", path, "--simulate", 1, "--json")
    assert one.data["controllers"][0]["simulated"]["standard_error"] is None


def test_an_engineer_improves_and_looks(jumar, buses):
    """30 buses: 20 kept and 10 repaired in the first year, 30 inspected in the second."""
    done = jumar(*improve(buses, "-o", buses / "out"))
    assert done.code == 1  # so many repairs are not what a rule with 2 % exploration does
    text = " ".join(done.out.split())
    assert "30 episodes, 90 steps counted" in text
    says(text, "2 of 9 pairs", "more than N∧ = 20 times", "with a choice of such actions: 0")
    assert "Do not use these numbers." in text
    rule = jm.load_controller(buses / "rule.toml")
    unchanged = jm.load_controller(buses / "out" / "improved.json")
    for node in ("inspected", "due"):
        for seen in rule.observations:
            assert unchanged.row(node, seen).tolist() == rule.row(node, seen).tolist()

    bold = jumar(*improve(buses, "--n-wedge", 5, "-o", buses / "out"))
    assert "seen now" not in bold.out  # nothing that was learned is to be used
    shown = jumar("show", buses / "out" / "improved.json").out
    lines = shown.splitlines()
    first = next(i for i, line in enumerate(lines) if "seen now" in line)
    rules = [line for line in lines[first:] if "%" in line][:3]
    assert "inspected   nothing seen   keep 98.7% → 99.3%" in rules[0]
    assert rules[1].strip() == "inspect 0.7%"
    assert rules[2].strip() == "dropped: repair 0.7%"
    assert "Everywhere else it does the same as:" in shown
