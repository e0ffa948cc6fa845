"""The commands paper, study and plan, as people type them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

import jumar as jm
from facts import says
from jumar.cli import main
from jumar.lab.study.spec import load_study

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = re.findall(r"```toml\n(.*?)```", (DOCS / "studies.md").read_text(), re.DOTALL)
EXAMPLE = next(block for block in BLOCKS if "jumar-study/1" in block)
MACHINE = next(block for block in BLOCKS if "jumar-model/1" in block)


def run(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main([str(a) for a in arguments])
    told = capsys.readouterr()
    return left.value.code or 0, told.out, told.err


@pytest.fixture
def outlines(monkeypatch):
    """Figures are drawn, but not rendered: test_study_run.py and test_study_safety.py render every
    kind of figure in every format."""
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **options: path.write(b""))


def test_the_example_of_the_documentation_is_a_study(tmp_path):
    (tmp_path / "my.toml").write_text(EXAMPLE)
    assert load_study(tmp_path / "my.toml").n_policies == 100 * 3 * 3 * 3


def test_a_part_of_the_paper_in_one_command(capsys, tmp_path, outlines):
    out = tmp_path / "paper"
    command = ("paper", "-o", out, "--seeds", 3, "--only", "tiger:1", "--planner", 2)
    code, text, _ = run(capsys, *command)
    assert code == 0
    assert "Tiger, k=1, k′ = 2" in text
    assert (out / "index.html").exists()
    names = {path.stem for path in (out / "figures").iterdir()}
    assert names == {"tiger-memoryless", "heatmap-tiger-k1"}
    table = pq.read_table(out / "results.parquet")
    assert table.num_rows == 3 * 13 * 2 * 11
    assert json.loads((out / "planner.json").read_text())["tiger:1"]["episodes"] == 2

    code, text, _ = run(capsys, "paper", "-o", out, "--summary", "--json")
    data = json.loads(text)
    assert code == 0
    assert len(data["cells"]) == 13 * 2 * 11


def test_options_of_paper_choose_variants(capsys, tmp_path, outlines):
    out = tmp_path / "p"
    code, _, _ = run(
        capsys, "paper", "-o", out, "--seeds", 1, "--only", "cheese_maze:2", "--planner", 0,
        "--cheese-step-reward", 0,
    )  # fmt: skip
    assert code == 0
    manifest = json.loads((out / "study.json").read_text())
    assert manifest["behaviors"][0]["model"] == "cheese_maze:step_reward=0.0"
    assert manifest["behaviors"][0]["optimum"] == pytest.approx(0.8460830625, abs=1e-9)
    assert not (out / "planner.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "lion:1"], "behavior 'lion:1' is not one of"),
        (["--seeds", "0"], "datasets is 0; at least 1 is needed"),
        (["--summary"], "no study has been run here"),
        (["--planner", "1"], "--planner 1: give at least 2 episodes, or 0 for none."),
    ],
)
def test_wrong_usage_of_paper_leaves_nothing_behind(capsys, tmp_path, arguments, message):
    out = tmp_path / "p"
    code, _, error = run(capsys, "paper", "-o", out, *arguments)
    assert code == 2
    assert message in error
    assert not out.exists()


def test_a_study_of_a_model_file_and_a_controller_file(capsys, tmp_path, outlines):
    soon = MACHINE.replace("discount = 0.95", "discount = 0.5")  # its optimum is soon known
    assert soon != MACHINE
    (tmp_path / "machine.toml").write_text(soon)
    (tmp_path / "rule.toml").write_text(
        'format = "jumar-controller/1"\nobservations = ["ok", "noise"]\n'
        'actions = ["run", "replace"]\nexploration = 0.2\ndefault = "run"\n'
        '[[rules]]\nobservation = "noise"\naction = "replace"\n'
    )
    (tmp_path / "study.toml").write_text(
        'format = "jumar-study/1"\ndatasets = 4\nsizes = [5, 50]\n'
        '[[behaviors]]\nmodel = "machine.toml"\npolicy = "rule.toml"\nmemories = [1, 2]\n'
        '[[algorithms]]\nname = "spibb"\nn_wedge = [3]\n'
    )
    out = tmp_path / "out"
    code, text, _ = run(capsys, "study", tmp_path / "study.toml", "-o", out, "--json")
    assert code == 0
    data = json.loads(text)
    rule = jm.load_controller(tmp_path / "rule.toml")
    value = jm.evaluate(jm.load_model(tmp_path / "machine.toml"), rule).value
    assert data["behaviors"][0]["value"] == pytest.approx(value)
    assert len(data["cells"]) == 2 * 2
    code, text, _ = run(
        capsys, "train", tmp_path / "machine.toml", "-o", tmp_path / "trained.json", "--json"
    )
    assert code == 0


def test_a_part_of_the_safety_study_in_one_command(capsys, tmp_path, outlines):
    out = tmp_path / "s"
    command = ("study", "safety", "-o", out, "--datasets", 1, "--sizes", "30,5", "--jobs", 1)
    code, text, _ = run(capsys, *command, "--only", "tiger:1", "--json")
    assert code == 0
    data = json.loads(text)
    assert [line["setting"] for line in data["settings"]][:2] == ["auto", "strict"]
    assert {cell["size"] for cell in data["cells"]} == {5, 30}
    assert len(data["cells"]) == 2 * (12 * 2 + 1)
    assert {path.name for path in (out / "figures").iterdir()} == {
        "safety.svg",
        "safety.pdf",
        "safety.png",
    }
    code, text, _ = run(capsys, "study", "safety", "-o", out, "--summary")
    assert code == 0
    assert "Tiger, k=1, k′ chosen from the log" in text
    assert "spibb in hindsight" in text


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("10,many", "--sizes '10,many': give whole numbers with commas between"),
        ("0,5", "sizes must be whole numbers from 1"),
        ("", "--sizes '': give whole numbers"),
    ],
)
def test_wrong_sizes_are_refused(capsys, tmp_path, sizes, message):
    code, _, error = run(capsys, "study", "safety", "-o", tmp_path / "s", "--sizes", sizes)
    assert code == 2
    assert message in error
    assert not (tmp_path / "s").exists()


def alive_in_group(group: int) -> list[str]:
    """Processes of a group that are more than waiting to be buried, from /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # gone meanwhile
        if int(its_group) == group and state != "Z":
            found.append(stat.parent.name)
    return found


def _heed_interrupts() -> None:
    """As at a terminal: what runs in the background ignores them, and so would all it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def begun(out, *command, **more):
    """A command that has finished its first block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jumar", *command, "-o", str(out)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,
        **more,
    )
    while process.poll() is None and not list(out.glob("blocks/*.parquet")):
        time.sleep(0.01)
    return process


@pytest.mark.slow
def test_ctrl_c_leaves_no_worker_behind_and_says_how_to_go_on(tmp_path):
    out = tmp_path / "s"
    part = ("--jobs", "2", "--only", "voicemail:1", "--sizes", "1,50")
    process = begun(out, "study", "safety", *part, start_new_session=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "run the same command again" in error
    assert "Traceback" not in error
    assert list(out.glob("blocks/*.parquet"))
    for _ in range(600):
        if not (left := alive_in_group(process.pid)):
            break
        time.sleep(0.05)
    assert left == []


@pytest.mark.slow
def test_ctrl_c_leaves_a_resumable_state_and_says_how_to_go_on(tmp_path):
    out = tmp_path / "p"
    # 20 blocks, and the first of them is soon there
    process = begun(out, "paper", "--planner", "0", "--only", "tiger:1")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 1
    assert "run the same command again" in error
    assert "Traceback" not in error
    assert list(out.glob("blocks/*.parquet"))


def test_plan_plays_a_model(capsys):
    code, text, _ = run(
        capsys, "plan", "tiger", "--episodes", 5, "--simulations", 50, "--seed", 3, "--json"
    )
    data = json.loads(text)
    assert code == 0
    assert data["optimum"] == pytest.approx(5.0212519209)
    code, again, _ = run(
        capsys, "plan", "tiger", "--episodes", 5, "--simulations", 50, "--seed", 3, "--json"
    )
    assert again == text
    code, text, _ = run(capsys, "plan", "tiger", "--episodes", 1, "--simulations", 10, "--json")
    assert json.loads(text)["standard_error"] is None  # one episode has no spread
    code, text, _ = run(capsys, "plan", "tiger", "--episodes", 2, "--simulations", 10)
    assert "PO-UCT earns" in text
    code, _, error = run(capsys, "plan", "tiger", "--simulations", 0)
    assert code == 2
    assert "simulations: 0 is out of range" in error


def test_every_public_name_is_in_the_reference():
    page = (DOCS / "api.md").read_text()
    missing = [name for name in jm.__all__ if not re.search(rf"\b{name}\b", page)]
    assert missing == []


# ---- what is wrong in a file is no wrong usage --------------------------------------------------

SMALL = """\
format = "jumar-study/1"
datasets = 2
sizes = [1, 5]
[[behaviors]]
model = "tiger"
window = 1
memories = [1]
[[algorithms]]
name = "spibb"
n_wedge = [5, 20]
"""


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("datasets = 2", "datasets = 0", ("study.toml", "datasets", "0", "from 1")),
        ('"tiger"', '"tiger:loud=1"', ("tiger", "'loud'")),
        ("[[behaviors]]", "[[behaviors", ("study.toml",)),
    ],
)
def test_a_mistake_in_a_study_file_exits_with_1(capsys, tmp_path, old, new, facts):
    (tmp_path / "study.toml").write_text(SMALL.replace(old, new))
    code, out, error = run(capsys, "study", tmp_path / "study.toml", "-o", tmp_path / "out")
    assert (code, out) == (1, "")
    says(error, *facts)
    assert not (tmp_path / "out").exists()


def test_a_study_file_that_is_not_there_exits_with_1(capsys, tmp_path):
    code, _, error = run(capsys, "study", tmp_path / "s.toml", "-o", tmp_path / "out")
    assert code == 1
    says(error, "s.toml", "no such file", "paper, family, safety")


def test_a_damaged_folder_of_a_study_is_told_with_a_remedy(capsys, tmp_path, outlines):
    (tmp_path / "study.toml").write_text(SMALL)
    command = ("study", tmp_path / "study.toml", "-o", tmp_path / "out", "--jobs", 1)
    assert run(capsys, *command)[0] == 0
    (tmp_path / "out" / "results.parquet").write_bytes(b"PAR1 and rubbish \x1b[2J PAR1")
    code, _, error = run(capsys, *command, "--summary")
    assert code == 1
    says(error, "StudyError", "results.parquet", "cannot be read", "Delete it")
    assert "\x1b" not in error
    (tmp_path / "out" / "results.parquet").unlink()
    assert run(capsys, *command)[0] == 0  # the remedy works
    manifest = tmp_path / "out" / "study.json"
    for damaged in ("{", "[]", "[" * 100_000, manifest.read_text().replace('"sizes"', '"size"')):
        manifest.write_text(damaged)
        code, _, error = run(capsys, *command, "--summary")
        assert code == 1
        says(error, "StudyError", "study.json", "Choose another folder")


@pytest.mark.slow
def test_a_second_run_in_the_same_folder_is_refused(capsys, tmp_path):
    (tmp_path / "study.toml").write_text(SMALL)
    holding = (
        "import sys, time\nfrom jumar.lab.study.store import Store\n"
        "with Store(sys.argv[1]).alone():\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", holding, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    command = ("study", tmp_path / "study.toml", "-o", tmp_path / "out", "--jobs", 1)
    guarantees = ("study", "guarantees", "-o", tmp_path / "out", "--datasets", 1)
    for again in (command, guarantees):
        code, out, error = run(capsys, *again)
        assert (code, out) == (1, "")
        says(error, "another run", f"process {holder.pid}", tmp_path / "out", "choose another")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert run(capsys, *command)[0] == 0
    assert ".jumar-lock" not in [path.name for path in (tmp_path / "out").iterdir()]
