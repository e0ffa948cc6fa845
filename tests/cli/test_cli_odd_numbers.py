"""Numbers that nobody means: refused where they are read, with their range and a remedy.

Before, each of these ended in a traceback, in a warning among the JSON, or never.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import pytest

import jumar as jm
from facts import says

HUGE = 10**20
DOCS = Path(__file__).parents[2] / "docs"
MODEL = next(
    block
    for block in re.findall(r"```toml\n(.*?)```", (DOCS / "studies.md").read_text(), re.DOTALL)
    if "jumar-model/1" in block
)
RULE = """\
format = "jumar-controller/1"
observations = ["ok", "noise"]
actions = ["run", "replace"]
exploration = 0.2
default = "run"
[[rules]]
observation = "noise"
action = "replace"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, its rule and a log of 100 episodes; rewards of all sizes."""
    path = tmp_path_factory.mktemp("odd")
    (path / "m.toml").write_text(MODEL)
    (path / "huge.toml").write_text(MODEL.replace("reward = 1.0", "reward = 1e308"))
    tiny = MODEL
    for reward in ("1.0", "-1.0", "-2.0"):
        tiny = tiny.replace(f"reward = {reward}", f"reward = {reward}e-200")
    (path / "tiny.toml").write_text(tiny)
    (path / "long.toml").write_text(MODEL.replace("max_steps = 100", f"max_steps = {HUGE}"))
    (path / "rule.toml").write_text(RULE)
    rule = jm.load_controller(path / "rule.toml")
    log = jm.simulate(jm.load_model(path / "m.toml"), rule, episodes=100, seed=1)
    jm.write_logs(log, path / "log.csv")
    for factor in ("1e-163", "1e-310", "5e-324", "1e61"):
        _scaled(path, factor)
    return path


def _scaled(path, factor):
    with open(path / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(path / f"log{factor}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        for row in rows:
            row["reward"] = repr(float(row["reward"]) * float(factor)) if row["reward"] else ""
            writer.writerow(row)


# what is typed | exit code | what the message says. RULE is a policy, LOG a log with policy and
# discount; HUGE is 10^20
CASES = """
samples LOG --gain nan | 2 | gain, nan, positive
samples LOG --gain inf | 2 | gain, inf, positive
samples LOG --gain 1e308 | 2 | gain, 1e+308, positive
samples LOG --gain 5e-324 | 2 | gain, 5e-324, positive
samples LOG --gain -1 | 2 | gain, -1.0, positive
evaluate huge.toml RULE | 1 | huge.toml, 'good', 'run', 1e+308, too large, unit
plan huge.toml | 1 | 1e+308, too large, unit
train huge.toml -o b.json | 1 | 1e+308, too large, unit
evaluate tiny.toml RULE | 1 | tiny.toml, 2e-200, too small, unit
simulate long.toml RULE -o l.csv | 1 | long.toml, max_steps, HUGE, 10000000
simulate m.toml RULE -o l.csv --max-steps HUGE | 2 | max_steps, 10^20, 10000000
simulate m.toml RULE -o l.csv --episodes 9000000000 | 1 | 9000000000 episodes, 4.5 TB, fewer
evaluate m.toml RULE --simulate HUGE | 1 | episodes, Simulate fewer
plan m.toml --particles 100000000000 | 1 | 100000000000 particles, 800 GB, Use fewer, 10000
plan m.toml --simulations 100000000000 | 1 | 100000000000 simulations, Use fewer, 1000
plan m.toml --episodes 100000000000 | 1 | 100000000000 episodes, 3.2 TB, Play fewer
train m.toml -o b.json --episodes HUGE | 2 | episodes, HUGE, 1000000000
estimate LOG --controller rule.toml --horizon HUGE | 2 | horizon, HUGE, 100000, Leave it out
check LOG --discount 1e400 | 2 | --discount, inf
improve LOG --discount nan | 2 | --discount, nan, 0 to 1
samples LOG --discount 1.5 | 2 | --discount, 1.5
check LOG --discount= --yearly-discount 1e400 --step-length 7d | 2 | --yearly-discount, inf, 0 to 1
improve LOG --rewards -5:1e308 | 2 | rewards, 1e+308, larger unit
improve LOG --rewards 0:1e-300 | 2 | rewards, 1e-300, smaller unit
improve LOG1e61 | 1 | log1e61.csv, row, too large, larger unit
improve LOG1e-163 | 1 | log1e-163.csv, row, 2e-163, too small, smaller unit
improve LOG1e-310 | 1 | log1e-310.csv, row, too small, smaller unit
estimate LOG5e-324 --controller rule.toml | 1 | log5e-324.csv, row, too small, smaller unit
"""


def typed(words: str) -> list[str]:
    """The words of a case, with what they stand for."""
    found: list[str] = []
    for word in words.replace("HUGE", str(HUGE)).split():
        if word == "RULE":
            found += ["--policy", "rule.toml"]
        elif word.startswith("LOG"):
            discount = [] if "--discount" in words else ["--discount", "0.95"]
            found += [f"log{word[3:]}.csv", "--policy", "rule.toml", *discount]
        elif word != "--discount=":  # none at all
            found.append(word)
    return found


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_an_odd_number_is_refused_with_a_remedy(jumar, folder, monkeypatch, case):
    monkeypatch.chdir(folder)
    words, code, facts = case.split(" | ")
    before = sorted(path.name for path in folder.iterdir())
    done = jumar(*typed(words), "--json")
    assert (done.code, done.out) == (int(code), "")
    told = done.error["message"].replace(",000", "000")
    says(told, *facts.replace("HUGE", str(HUGE)).split(", "))
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_value_over_a_huge_horizon_is_that_for_ever_where_it_comes_to_rest(jumar, folder):
    command = ["evaluate", folder / "m.toml", "--policy", folder / "rule.toml", "--json"]
    far = jumar(*command, "--horizon", HUGE).data["controllers"][0]
    ever = jumar(*command).data["controllers"][0]
    assert far["value"] == pytest.approx(ever["value"], rel=1e-12)
    assert far["mean_length"] == pytest.approx(ever["mean_length"], rel=1e-12)


def test_a_horizon_that_never_comes_to_rest_is_refused(jumar, folder):
    never = RULE.replace("exploration = 0.2\n", "").partition("[[rules]]")[0]
    (folder / "never.toml").write_text(never)
    done = jumar(
        "evaluate", folder / "m.toml", "--policy", folder / "never.toml", "--horizon", HUGE
    )
    assert (done.code, done.out) == (1, "")
    says(done.err, "TooLarge", "10^20 steps", "leave it out")


def test_a_huge_inverse_temperature_is_a_greedy_controller(jumar, folder):
    made = folder / "greedy.json"
    done = jumar(
        "train", folder / "m.toml", "-o", made, "--softmax", "1e308", "--episodes", 50, "--json"
    )
    assert (done.code, done.err) == (0, "")
    assert set(jm.load_controller(made).rows.ravel().tolist()) <= {0.0, 0.5, 1.0}


def test_no_memory_left_is_one_line(jumar, monkeypatch):
    def none(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(sys.modules["jumar.cli.commands"], "say", none)
    done = jumar("models")
    assert (done.code, done.out) == (1, "")
    says(done.err, "jumar: MemoryError", "not enough memory", "less data")


GOOGOLS = "1" + "0" * 400


@pytest.mark.parametrize(
    "words",
    [
        f"simulate m.toml RULE -o l.csv --episodes {GOOGOLS}",
        f"simulate m.toml RULE -o l.csv --max-steps {GOOGOLS}",
        f"evaluate m.toml RULE --simulate {GOOGOLS}",
        f"evaluate m.toml --policy never.toml --horizon {GOOGOLS}",
        *(f"plan m.toml --{what} {GOOGOLS}" for what in ("particles", "simulations", "episodes")),
    ],
)
def test_numbers_no_double_can_hold_are_refused_in_short(jumar, folder, monkeypatch, words):
    monkeypatch.chdir(folder)
    (folder / "never.toml").write_text(RULE.replace("exploration = 0.2\n", "").partition("[[")[0])
    done = jumar(*typed(words))
    assert done.code in (1, 2)
    says(done.err, "10^400")
    assert len(done.err) < 400


def test_a_file_without_an_end_is_no_controller(jumar, folder, monkeypatch):
    from jumar.core import documents

    monkeypatch.setattr(documents, "MOST_BYTES", 1000)
    done = jumar("show", "/dev/zero")
    assert done.code == 1
    says(done.err, "ControllerError", "/dev/zero", "1,000 bytes", "controller")
