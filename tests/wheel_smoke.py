"""The wheel as users get it: installed into an empty environment, far from the checkout.

    python tests/wheel_smoke.py WHEEL          (`make wheel-test` builds one first)

Is every file of the package in it, and nothing else? Does what it installs run: the command line,
an improvement from files written here, every public name? Says what everything weighs.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "jumar"
WEIGH = """
import importlib.metadata as installed, json
sizes = {}
for each in installed.distributions():
    paths = [each.locate_file(file) for file in each.files or ()]
    sizes[each.name] = sum(path.stat().st_size for path in paths if path.exists())
print(json.dumps(sizes))
"""
EVERYTHING = """
import jumar
from jumar.lab.study.spec import load_study

public = [getattr(jumar, name) for name in jumar.__all__]
shipped = [load_study(name) for name in ("paper", "safety", "safety-seeds", "mdps")]
"""
CONTROLLER = """
format = "jumar-controller/1"
name = "toss a coin"
observations = ["free", "busy"]
actions = ["wait", "ask"]
default = { wait = 0.5, ask = 0.5 }
"""


def main(wheel: Path) -> None:
    complete(wheel)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        python = installed(wheel, home / "venv")
        used(python.with_name("jumar"), home)
        weighed(python)
    print("The wheel installs and runs.")


def complete(wheel: Path) -> None:
    """Every file of the package is in the wheel, with nothing but the package's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    files = {
        f"jumar/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in names if ".dist-info/" not in name}
    assert packed == files, f"missing {files - packed}, too much {packed - files}"
    assert "jumar/py.typed" in packed
    # the description is read where docs/ is not
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    print(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB")


def installed(wheel: Path, folder: Path) -> Path:
    """The Python of a new environment with nothing but the wheel and what it needs."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
    subprocess.run(pip, check=True, env=clean())
    return python


def clean() -> dict[str, str]:
    """The environment without what could lead back to the checkout."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA", "VIRTUAL"))}


def used(jumar: Path, home: Path) -> None:
    """What a new user does first."""
    said = ran(jumar, home, "--version")
    assert re.fullmatch(r"jumar \d+\.\d+\.\d+\S*\n", said), said
    assert "improve" in ran(jumar, home, "--help")
    assert "tiger" in ran(jumar, home, "models")
    write_example(home)
    ran(jumar, home, *shlex.split("improve log.csv --policy coin.toml --discount 0.95 -o out"))
    files = ["report.html", "improved.json", "improved.py", "controller.svg", "decisions.csv"]
    assert all((home / "out" / name).stat().st_size for name in files)
    for ending in (".c", ".js", ".sql"):  # their templates are there, too
        ran(jumar, home, "export", "out", "-o", f"improved{ending}")
    verdict = json.loads((home / "out" / "certificate.json").read_text())["verdict"]
    assert verdict["word"] == "adopt-if", verdict
    ran(jumar.with_name("python"), home, "-c", EVERYTHING)


def write_example(home: Path) -> None:
    """A log in which asking pays when people are free: 2,000 tosses of a coin."""
    draw = random.Random(1)
    rows = ["episode,observation,action,reward,terminated"]
    for episode in range(2000):
        seen, done = draw.choice(["free", "busy"]), draw.choice(["wait", "ask"])
        pays = 0 if done == "wait" else 1 if seen == "free" else -1
        rows.append(f"{episode},{seen},{done},{pays},true")
    (home / "log.csv").write_text("\n".join(rows) + "\n")
    (home / "coin.toml").write_text(CONTROLLER)


def ran(program: Path, home: Path, *words: str) -> str:
    run = subprocess.run([program, *words], cwd=home, env=clean(), capture_output=True, text=True)
    assert run.returncode == 0, f"{program.name} {' '.join(words)}\n{run.stdout}\n{run.stderr}"
    return run.stdout


def weighed(python: Path) -> None:
    """What everything weighs, the heaviest first."""
    run = subprocess.run([python, "-c", WEIGH], capture_output=True, check=True, env=clean())
    sizes = json.loads(run.stdout)
    heavy = sorted(sizes.items(), key=lambda each: -each[1])
    print(f"installed: {sum(sizes.values()) / 1e6:.0f} MB")
    print(", ".join(f"{name} {size / 1e6:.0f}" for name, size in heavy if size > 1e6))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
