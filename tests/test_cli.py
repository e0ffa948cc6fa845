"""The command line: what it prints, what it writes, how it fails. Run in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jumar as jm
from commands import RULE, Finished, run_command
from facts import says, tells
from jumar.algorithms import ALGORITHMS
from jumar.core.controller import Controller
from jumar.truth.models import MODELS

HEADER = "episode,observation,action,reward,terminated"


@pytest.fixture
def jumar(capsys, monkeypatch):
    """Runs a command line in this process, on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: object) -> Finished:
        return run_command(capsys, *arguments)

    return run


@pytest.fixture(scope="module")
def tiger(tmp_path_factory) -> Path:
    """A folder with a Tiger behavior and a log of 500 episodes."""
    folder = tmp_path_factory.mktemp("tiger")
    model = jm.models.tiger()
    behavior = jm.train(model, jm.window(2), softmax=0.05, rng=jm.stream(1, "train"))
    behavior.save(folder / "behavior.json")
    log = jm.simulate(model, behavior, episodes=500, rng=jm.stream(1, "data"))
    jm.write_logs(log, folder / "log.csv")
    jm.write_logs(log, folder / "log.parquet")
    return folder


@pytest.fixture
def buses(tmp_path) -> Path:
    """A folder with a rule written by hand and a small log, as a maintenance engineer has them."""
    (tmp_path / "rule.toml").write_text(RULE)
    rows = [HEADER]
    for bus in range(30):
        rows += [
            f"bus {bus},nothing seen,{'keep' if bus % 3 else 'repair'},{0 if bus % 3 else -8},",
            f"bus {bus},nothing seen,inspect,-1,",
            f"bus {bus},good,keep,0,true",
        ]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def improve(folder: Path, *more: object) -> list[object]:
    """SPIBB unless told otherwise: what comes out is then known beforehand."""
    name = "rule.toml" if (folder / "rule.toml").exists() else "behavior.json"
    usual = [] if "--algorithm" in more else ["--algorithm", "spibb"]
    log = ["improve", folder / "log.csv", "--policy", folder / name, "--discount", 0.95]
    return [*log, *usual, *more]


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
    assert (tiger["discount"], tiger["max_steps"]) == (0.95, 300)
    assert tiger["optimum"] == pytest.approx(5.0212519209)
    assert {m["name"]: m["options"] for m in listed if m["options"]} == {
        "cheese_maze": ["step_reward"]
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


def test_train_with_actions_in_the_window_and_another_softmax(jumar, tmp_path):
    path = tmp_path / "b.json"
    options = ("--with-actions", "--episodes", 50, "--softmax", 0, "-o", path, "--json")
    done = jumar("train", "voicemail", *options)
    assert done.data["memory"] == "window of 2 with actions"
    third = pytest.approx([1 / 3] * 3)
    assert jm.load_controller(path).row([["hear-save", "ask"]], "hear-delete") == third


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_simulate_writes_the_log_it_tells_of(jumar, tiger, tmp_path, ending):
    path = tmp_path / f"log.{ending}"
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
    "improved.py", "report.html", "run.json",
)  # fmt: skip


def test_improve_prints_what_it_did_and_writes_its_files(jumar, tiger, tmp_path):
    out = tmp_path / "new" / "out"
    done = jumar(*improve(tiger, "-o", out))
    assert done.code == 0
    assert done.err == ""
    for words in ("500 episodes", "What changes", "Certificate", "vacuous"):
        assert words in done.out
    assert done.out.endswith("".join(f"Wrote {out / name}\n" for name in FILES))
    assert sorted(os.listdir(out)) == sorted(FILES)
    assert max(map(len, done.out.replace(str(out), "").splitlines())) <= 80


def test_improve_as_json_agrees_with_the_library(jumar, tiger, tmp_path):
    done = jumar(*improve(tiger, "--n-wedge", 15, "--window", 3, "-o", tmp_path, "--json"))
    behavior = jm.load_controller(tiger / "behavior.json")
    result = jm.improve(
        jm.read_logs(tiger / "log.csv"), behavior, discount=0.95, memory=jm.window(3), n_wedge=15
    )
    files = [str(tmp_path / name) for name in FILES]
    assert done.data == {**result.assessment.to_dict(), "files": files}
    assert jm.load_controller(files[0]).same_as(result.controller)
    certificate = json.loads(Path(files[2]).read_text(encoding="utf-8"))
    assert certificate == {"format": "jumar-certificate/1", **result.assessment.to_dict()}
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
        written.append([(out / name).read_bytes() for name in FILES if name not in told])
    assert written[0] == written[1] == written[2]


def test_improve_without_a_folder_writes_nothing(jumar, buses):
    before = sorted(os.listdir(buses))
    done = jumar(*improve(buses, "--json"))
    assert done.data["files"] == []
    assert sorted(os.listdir(buses)) == before


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
    by_set = jumar(*improve(tiger, "--set", "n_wedge=7", "--json")).data
    assert by_set == jumar(*improve(tiger, "--n-wedge", 7, "--json")).data
    assert by_set["parameters"] == {"n_wedge": 7}
    basic = jumar(*improve(tiger, "--algorithm", "basic", "--set", "unseen=zero", "--json")).data
    assert (basic["algorithm"], basic["parameters"]) == ("basic", {"unseen": "zero"})


def test_window_with_actions(jumar, tiger):
    data = jumar(*improve(tiger, "--window", 2, "--with-actions", "--json")).data
    assert data["memory"] == "window of 2 with actions"


def test_rewards_declared_on_the_command_line(jumar, tiger):
    seen = jumar(*improve(tiger, "--json")).data["certificates"][0]
    assert any("read off the log" in text for text in seen["assumptions"])
    one = jumar(*improve(tiger, "--rewards", "-100:10", "--json")).data["certificates"][0]
    assert not any("read off the log" in text for text in one["assumptions"])
    assert one["value_range"] == pytest.approx(110 / 0.05)  # any step may pay anything, for ever
    two = jumar(
        *improve(tiger, "--rewards", "-1:-1", "--ending-rewards", "-100:10", "--json")
    ).data["certificates"][0]
    assert two["value_range"] == pytest.approx(110)


def test_delta_is_handed_on(jumar, tiger):
    certificates = jumar(*improve(tiger, "--delta", 0.2, "--json")).data["certificates"]
    assert {c["delta"] for c in certificates} == {0.2}
    assert "at most 20 %" in certificates[0]["claim"]


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
    assert ended == with_flags
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


def test_model_options(jumar, tmp_path):
    maze = jm.models.cheese_maze()
    path = tmp_path / "uniform.json"
    Controller.uniform(maze.observations, maze.actions).save(path)
    usual = jumar("evaluate", "cheese-maze", "--policy", path, "--json").data
    free = jumar("evaluate", "cheese-maze:step_reward=0", "--policy", path, "--json").data
    assert free["controllers"][0]["value"] > usual["controllers"][0]["value"]
    assert free["optimum"] is None  # known for the default options only


def test_an_engineer_improves_and_looks(jumar, buses):
    """30 buses: 20 kept and 10 repaired in the first year, 30 inspected in the second."""
    done = jumar(*improve(buses, "-o", buses / "out"))
    assert done.code == 1  # so many repairs are not what a rule with 2 % exploration does
    text = " ".join(done.out.split())
    assert "30 episodes, 90 steps counted" in text
    says(text, "2 of 9 pairs", "more than N∧ = 20 times", "with a choice of such actions: 0")
    assert "The controller is the behavior itself, so nothing can be lost." in text
    rule = jm.load_controller(buses / "rule.toml")
    unchanged = jm.load_controller(buses / "out" / "improved.json")
    for node in ("inspected", "due"):
        for seen in rule.observations:
            assert unchanged.row(node, seen).tolist() == rule.row(node, seen).tolist()

    bold = jumar(*improve(buses, "--n-wedge", 5, "-o", buses / "out"))
    shown = jumar("show", buses / "out" / "improved.json").out
    for output in (bold.out, shown):
        lines = output.splitlines()
        first = next(i for i, line in enumerate(lines) if "seen now" in line)
        rules = [line for line in lines[first:] if "%" in line][:3]
        assert "inspected   nothing seen   keep 98.7% → 99.3%" in rules[0]
        assert rules[1].strip() == "inspect 0.7%"
        assert rules[2].strip() == "dropped: repair 0.7%"
    assert "Everywhere else it does the same as:" in shown


# ---------------------------------------------------------------- bad input: exit code 1


def controller_with(old: str, new: str) -> str:
    assert old in RULE
    return RULE.replace(old, new)


BAD_CONTROLLERS = {
    "sum": (
        controller_with('action = "repair"', "action = { repair = 0.7, keep = 0.2 }"),
        "rule.toml, rule 1: probabilities sum to 0.9, not 1",
    ),
    "unknown action": (
        controller_with('action = "repair"', 'action = "repaire"'),
        "rule.toml, rule 1: action 'repaire' is not one of keep, inspect, repair. "
        "Did you mean 'repair'?",
    ),
    "unknown observation": (
        controller_with('observation = "worn"', 'observation = "wron"'),
        "rule.toml, rule 1: observation 'wron' is not one of nothing seen, good, worn. "
        "Did you mean 'worn'?",
    ),
    "newer version": (
        controller_with("jumar-controller/1", "jumar-controller/2"),
        "rule.toml: the file is of a newer format version 2; this jumar reads version 1.",
    ),
    "cut off": (RULE[:150], "rule.toml, "),
    "empty": ("", "rule.toml: the file is empty."),
}


@pytest.mark.parametrize(("text", "message"), BAD_CONTROLLERS.values(), ids=BAD_CONTROLLERS)
def test_a_bad_controller_is_named_and_nothing_is_written(jumar, buses, text, message):
    (buses / "rule.toml").write_text(text)
    refused_everywhere(jumar, buses, 1, "ControllerError", message)
    assert jumar("show", buses / "rule.toml").code == 1


def test_a_binary_controller_is_refused(jumar, buses):
    (buses / "rule.toml").write_bytes(bytes(range(256)))
    refused_everywhere(jumar, buses, 1, "ControllerError", "rule.toml: not UTF-8 text")


BAD_LOGS = {
    "unknown action": (
        ["1,good,repaire,0,true"],
        "row 2 (episode 1): action 'repaire' is not one of keep, inspect, repair. "
        "Did you mean 'repair'?",
    ),
    "unknown observation": (
        ["1,good,keep,0,", "1,god,inspect,0,true"],
        "row 3 (episode 1): observation 'god' is not one of nothing seen, good, worn. "
        "Did you mean 'good'?",
    ),
    "NaN": (
        ["1,good,keep,nan,true"],
        "row 2, column 'reward': reward is nan; rewards must be finite numbers.",
    ),
    "infinite": (
        ["1,good,keep,-inf,true"],
        "row 2, column 'reward': reward is -inf; rewards must be finite numbers.",
    ),
    "no steps": (
        ["1,good,keep,0,true", "2,good,,,"],
        "row 3 (episode 2): the episode has no steps, only a final observation. Leave it out.",
    ),
    "empty": ([], "the log is empty: it has no rows. Give at least one episode."),
    "ragged": (["1,good,keep"], "row 2: has 3 cells, but the header has 5."),
}


@pytest.mark.parametrize(("rows", "message"), BAD_LOGS.values(), ids=BAD_LOGS)
def test_a_bad_log_is_named_and_nothing_is_written(jumar, buses, rows, message):
    (buses / "log.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    refused_everywhere(jumar, buses, 1, "LogError", message)


def test_an_action_the_behavior_never_takes_is_named(jumar, buses):
    (buses / "rule.toml").write_text(controller_with("exploration = 0.02\n", ""))
    refused_everywhere(
        jumar,
        buses,
        1,
        "LogError",
        "row 2 (episode bus 0): action 'repair' was taken, but inspect every second year gives it "
        "probability 0 at node 'inspected', observation 'nothing seen' (10 such steps in all). "
        "Is this the controller that produced the log?",
    )


@pytest.mark.parametrize("content", [bytes(range(256)), b"PAR1" + bytes(100), b""])
@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_garbage_is_refused(jumar, buses, name, content):
    (buses / name).write_bytes(content)
    arguments = ("--policy", buses / "rule.toml", "--discount", 0.9, "-o", buses / "out")
    done = jumar("improve", buses / name, *arguments)
    assert done.code == 1
    assert done.err.startswith(f"jumar: LogError: {buses / name}: ")
    assert not (buses / "out").exists()


def test_files_that_are_not_there(jumar, buses):
    done = jumar("improve", buses / "lgo.csv", "--policy", buses / "rule.toml", "--discount", 0.9)
    assert (done.code, done.out) == (1, "")
    assert (
        done.err
        == f"jumar: LogError: {buses / 'lgo.csv'}: there is no such file. Check the path.\n"
    )
    done = jumar("show", buses / "rull.toml")
    assert done.code == 1
    assert f"Did you mean '{buses / 'rule.toml'}'?" in done.err


def test_a_controller_for_another_model_is_refused(jumar, buses, tmp_path):
    done = jumar("evaluate", "tiger", "--policy", buses / "rule.toml")
    assert done.code == 1
    assert "the model's are hear-left, hear-right" in done.err
    done = jumar("simulate", "tiger", "--policy", buses / "rule.toml", "-o", tmp_path / "x.csv")
    assert done.code == 1
    assert not (tmp_path / "x.csv").exists()


def refused_everywhere(jumar, folder: Path, code: int, kind: str, message: str, *more) -> None:
    """The command fails with the message, printed or as JSON, and leaves no trace."""
    before = sorted(os.listdir(folder))
    printed = jumar(*improve(folder, *more, "-o", folder / "out"))
    assert (printed.code, printed.out) == (code, "")
    assert printed.err.startswith(f"jumar: {kind}: ")
    tells(printed.err, message)
    as_json = jumar(*improve(folder, *more, "-o", folder / "out", "--json"))
    assert as_json.code == code
    assert as_json.error["kind"] == kind
    tells(as_json.error["message"], message)
    assert sorted(os.listdir(folder)) == before


# ---------------------------------------------------------------- wrong usage: exit code 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--discount", 1], "discount: 1.0 must lie in [0, 1)."),
        (["--discount", 1.5], "discount: 1.5 must lie in [0, 1)."),
        (["--discount", -0.1], "discount: -0.1 must lie in [0, 1)."),
        (["--discount", "nan"], "discount: nan must lie in [0, 1)."),
        (["--delta", 0], "delta 0.0 is not strictly between 0 and 1"),
        (["--delta", 1], "delta 1.0 is not strictly between 0 and 1"),
        (["--delta", -3, "--algorithm", "basic"], "delta -3.0 is not strictly between 0 and 1"),
        (["--n-wedge", -1], "n_wedge: -1"),
        (["--set", "n_wedge=-1"], "n_wedge: -1"),
        (["--set", "foo"], "--set foo: expected NAME=VALUE, such as n_wedge=20."),
        (["--set", "n_wedge=many"], "n_wedge: 'many' is not a"),
        (
            ["--set", "nwedge=3"],
            "parameter 'nwedge' is not one of n_wedge. Did you mean 'n_wedge'?",
        ),
        (["--set", "n_wedge=3", "--n-wedge", 4], "--set n_wedge=3: n_wedge is given twice."),
        (["--algorithm", "spib"], "algorithm 'spib' is not one of"),
        (
            ["--algorithm", "basic", "--n-wedge", 3],
            "basic: parameter 'n_wedge' is not one of unseen",
        ),
        (
            ["--algorithm", "basic", "--set", "unseen=none"],
            "unseen: choice 'none' is not one of exclude, zero, pessimistic.",
        ),
        (["--rewards", "5"], "--rewards 5: expected LO:HI, lower number first, such as -100:10."),
        (["--rewards", "a:b"], "--rewards a:b: expected LO:HI, lower number first, such as"),
        (["--rewards", "5:-5"], "--rewards 5:-5: expected LO:HI, lower number first"),
        (["--rewards", "0:inf"], "--rewards 0:inf: expected LO:HI, lower number first"),
        (["--ending-rewards", "0:1"], "--ending-rewards: give --rewards as well."),
        (["--window", 0], "window: length 0 must be a whole number from 1"),
        (["--with-actions"], "--with-actions: give --window as well."),
        (["--columns", "bus_id"], "--columns bus_id: expected PART=NAME, such as episode=bus_id."),
        (["--columns", "episode="], "expected PART=NAME"),
        (["--columns", ""], "expected PART=NAME"),
        (["--columns", "bus=bus_id"], "part 'bus' is not one of episode, observation, action"),
        (["--ends", "finished"], "meaning 'finished' is not one of terminated, cut."),
    ],
    ids=str,
)
def test_an_option_out_of_its_range_is_named(jumar, buses, options, message):
    refused_everywhere(jumar, buses, 2, "ParameterError", message, *options)


def test_a_wrong_algorithm_is_told_before_the_log_is_read(jumar, buses):
    (buses / "log.csv").unlink()
    assert "algorithm 'spib' is not" in jumar(*improve(buses, "--algorithm", "spib")).err


def test_declared_rewards_that_the_log_contradicts_are_named(jumar, buses):
    message = "row 2 (episode bus 0): reward -8 lies outside -5 to 0"
    refused_everywhere(jumar, buses, 1, "LogError", message, "--rewards", "-5:0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["improove"], "No such command 'improove'. Did you mean 'improve'?"),
        (["improve"], "Missing argument 'LOG'"),
        (["improve", "log.csv", "--policy", "b.json"], "Missing option '--discount'"),
        (["improve", "l", "--policy", "b", "--discount", "high"], "'--discount'"),
        (["train", "tiger"], "Missing option '--output'"),
        (["train", "tiger", "-o", "b.json", "--seed", "one"], "'--seed'"),
        (["show"], "Missing argument 'CONTROLLER'"),
        (["show", "b.json", "--rows", "0"], "'--rows'"),
        (["evaluate", "tiger"], "Missing option '--policy'"),
        (["models", "--jsn"], "No such option: --jsn"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_done(jumar, arguments, message):
    printed = jumar(*arguments)
    assert (printed.code, printed.out) == (2, "")
    assert message in " ".join(printed.err.split())
    assert "Usage: jumar" in printed.err
    as_json = jumar(*arguments, "--json")
    assert as_json.code == 2
    assert as_json.error["kind"] == "UsageError"
    assert message.split(".")[0] in as_json.error["message"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "tigr", "-o", "b.json"], "model 'tigr' is not one of"),
        (["train", "tiger", "-o", "b.json", "--window", 0], "window: length 0"),
        (["train", "tiger", "-o", "b.json", "--seed", -1], "seed: -1"),
        (["train", "tiger", "-o", "b.json", "--episodes", 0], "episodes: 0"),
        (["train", "tiger", "-o", "b.json", "--softmax", -1], "softmax: -1.0"),
        (["evaluate", "tiger", "--policy", "RULE", "--horizon", 0], "horizon: 0"),
        (["evaluate", "tiger", "--policy", "RULE", "--simulate", -1], "episodes: -1"),
        (
            ["evaluate", "cheese_maze:speed=2", "--policy", "RULE"],
            "option 'speed' is not one of",
        ),
        (
            ["simulate", "tiger", "--policy", "RULE", "-o", "x.csv", "--episodes", 0],
            "episodes: 0",
        ),
        (
            ["simulate", "tiger", "--policy", "RULE", "-o", "x.csv", "--max-steps", 0],
            "max_steps: 0",
        ),
    ],
)
def test_numbers_out_of_range(jumar, tiger, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    arguments = [tiger / "behavior.json" if a == "RULE" else a for a in arguments]
    printed = jumar(*arguments)
    assert (printed.code, printed.out) == (2, "")
    tells(printed.err, message)
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------- writing that fails


def test_a_folder_that_cannot_be_made_leaves_nothing(jumar, buses):
    (buses / "file").write_text("mine")
    before = sorted(os.listdir(buses))
    for out in (buses / "file" / "out", buses / "file"):
        done = jumar(*improve(buses, "-o", out))
        assert done.code == 2
        assert "cannot be made a folder" in done.err
        assert str(buses / "file") in done.err
        assert sorted(os.listdir(buses)) == before
    assert (buses / "file").read_text() == "mine"


def test_no_controller_is_written_when_its_certificate_cannot_be(jumar, buses):
    """An improved controller without its certificate, or with an old one, is worse than none."""
    (buses / "out" / "certificate.json").mkdir(parents=True)
    done = jumar(*improve(buses, "-o", buses / "out"))
    assert done.code == 2
    assert "certificate.json: this is a directory" in done.err
    assert os.listdir(buses / "out") == ["certificate.json"]


def test_no_certificate_is_written_when_the_controller_cannot_be(jumar, buses):
    (buses / "out" / "improved.json").mkdir(parents=True)
    (buses / "out" / "certificate.json").write_text("the old one")
    done = jumar(*improve(buses, "-o", buses / "out"))
    assert done.code == 2
    assert sorted(os.listdir(buses / "out")) == ["certificate.json", "improved.json"]
    assert (buses / "out" / "certificate.json").read_text() == "the old one"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["train", "tiger", "--episodes", 10], "b.json"),
        (["simulate", "tiger", "--policy", "RULE", "--episodes", 10], "log.csv"),
        (["simulate", "tiger", "--policy", "RULE", "--episodes", 10], "log.parquet"),
    ],
)
def test_a_file_that_cannot_be_written_leaves_nothing(jumar, tiger, tmp_path, arguments, name):
    (tmp_path / "file").write_text("mine")
    arguments = [tiger / "behavior.json" if a == "RULE" else a for a in arguments]
    done = jumar(*arguments, "-o", tmp_path / "file" / name)
    assert (done.code, done.out) == (2, "")
    assert "there is no directory" in done.err
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("arguments", "name", "message"),
    [
        (["train", "tiger", "--episodes", 10], "b.txt", "Use 'b.json'"),
        (["simulate", "tiger", "--policy", "RULE"], "log.xls", "end the name in .csv or"),
    ],
)
def test_a_file_of_unknown_kind_is_not_written(jumar, tiger, tmp_path, arguments, name, message):
    arguments = [tiger / "behavior.json" if a == "RULE" else a for a in arguments]
    done = jumar(*arguments, "-o", tmp_path / name)
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_nowhere_to_print_to_is_one_line_and_no_traceback():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "jumar", "models"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("jumar: OSError: ")
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- what a terminal may do with names


STRANGE = ["[red]worn[/red]", "[/]", ":warning:", "\x1b[31mred", "worn\nout", "תקין", "🔧", "[b"]


@pytest.fixture
def strange(tmp_path) -> Path:
    """A controller and a log whose names are markup, escapes and worse."""
    actions = ["[bold]keep", "[/bold]repair\\", "x" * 500]
    controller = Controller.constant(STRANGE, actions, [0.5, 0.25, 0.25], name="[blink]rule[/]")
    controller.save(tmp_path / "behavior.json")
    n = len(STRANGE)
    log = jm.Episodes(
        STRANGE,
        actions,
        list(range(n)) * 30,
        [i % 3 for i in range(n * 30)],
        [float(i % 3) for i in range(n * 30)],
        range(0, n * 30 + 1, n),
        [-1] * 30,
        [True] * 30,
    )
    jm.write_logs(log, tmp_path / "log.csv")
    return tmp_path


def test_markup_in_names_is_printed_as_it_is(jumar, strange):
    done = jumar(*improve(strange, "--n-wedge", 5, "-o", strange / "[red]out[/red]"))
    assert done.code == 0
    assert f"Wrote {strange}/[red]out[/red]/improved.json\n" in done.out
    shown = jumar("show", strange / "[red]out[/red]" / "improved.json").out
    for output in (done.out, shown):
        for text in ("[red]worn[/red]", "[/]", ":warning:", "[bold]keep", "[/bold]repair\\", "[b"):
            assert text in output
        assert "תקין" in output
        assert "🔧" in output
    assert "[blink]rule[/], improved" in shown


def test_control_characters_never_reach_the_terminal(jumar, strange):
    for command in (improve(strange, "--n-wedge", 5), ["show", strange / "behavior.json"]):
        out = jumar(*command).out
        assert "\x1b" not in out
        assert "\\x1b[31mred" in out
        assert "worn\\nout" in out


def test_long_names_do_not_fill_the_screen(jumar, strange):
    for command in (improve(strange, "--n-wedge", 5), ["show", strange / "behavior.json"]):
        out = jumar(*command).out
        assert "x" * 41 not in out.replace("\n", "")
        assert len(out.splitlines()) < 200


def test_names_in_errors_do_not_disturb(jumar, strange):
    (strange / "log.csv").write_text(f"{HEADER}\n1,[red],keep,0,true\n")
    done = jumar(*improve(strange))
    assert done.code == 1
    assert "observation '[red]' is not one of" in done.err


def test_a_terminal_without_these_letters_is_no_reason_to_crash(strange):
    """N∧ and names are beyond ASCII; run apart, as the encoding belongs to the process."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    for command, check in (
        (improve(strange, "--n-wedge", 5), lambda out: b"N\\u2227 = 5" in out),
        (
            ["show", strange / "behavior.json", "--json"],
            lambda out: json.loads(out)["observations"] == STRANGE,
        ),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "jumar", *map(str, command)],
            capture_output=True,
            env=environment,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert check(done.stdout)


@pytest.mark.parametrize("columns", [40, 80, 120, 400])
def test_every_width_of_terminal(jumar, tiger, strange, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in (
        ["models"],
        ["algorithms"],
        improve(tiger),
        improve(strange, "--n-wedge", 5),
        ["show", strange / "behavior.json"],
    ):
        done = jumar(*command)
        assert done.code == 0
        plain = [line for line in done.out.splitlines() if line.isascii()]
        assert max(map(len, plain)) <= columns
