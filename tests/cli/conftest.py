"""Command lines run in this process, and the folders they are run on."""

from __future__ import annotations

from pathlib import Path

import pytest

import jumar as jm
from commands import HEADER, RULE, Finished, run_command
from jumar.core.randomness import random_stream


@pytest.fixture
def jumar(capsys, monkeypatch):
    """Runs a command line in this process, on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: object) -> Finished:
        return run_command(capsys, *arguments)

    return run


@pytest.fixture(scope="session")
def tiger(tmp_path_factory) -> Path:
    """A folder with a Tiger behavior and a log of 500 episodes."""
    folder = tmp_path_factory.mktemp("tiger")
    model = jm.models.tiger()
    behavior = jm.train_behavior(model, jm.window(2), softmax=0.05, seed=random_stream(1, "train"))
    behavior.save(folder / "behavior.json")
    log = jm.simulate(model, behavior, episodes=500, seed=random_stream(1, "data"))
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
