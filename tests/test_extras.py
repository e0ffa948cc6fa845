"""Libraries that are optional: without them all else works, and each is asked for by its extra."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import jumar
from jumar.core.errors import MissingExtra

ROOT = Path(jumar.__file__).parents[2]
OPTIONAL = ("gymnasium", "minari", "h5py", "pandas", "polars")

# as if they were not installed
BLOCK = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import jumar as jm
tiger = jm.models.tiger()
fair = jm.Controller.uniform(tiger.observations, tiger.actions)
log = jm.simulate(tiger, fair, episodes=20)
def told(ask):
    try:
        ask()
    except jm.JumarError as error:
        assert isinstance(error, ImportError), error
        print(error)
    else:
        print("nothing")
"""


def run(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + textwrap.dedent(code)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_all_public_names_are_there_and_the_main_job_works():
    said = run("""
        for name in jm.__all__:
            getattr(jm, name)
        print(len(jm.improve(log, fair, discount=0.95, n_wedge=5).certificates) > 0)
        import jumar.lab.envs
        print(jumar.lab.envs.register_models())
    """)
    assert said == ["True", "[]"]


def test_each_is_asked_for_by_its_extra(tmp_path):
    (tmp_path / "data").mkdir()
    space = json.dumps({"type": "Discrete", "n": 2, "start": 0})
    about = {"data_format": "hdf5", "observation_space": space, "action_space": space}
    (tmp_path / "data" / "metadata.json").write_text(json.dumps(about))
    said = run(f"""
        import jumar.lab.envs
        told(lambda: jumar.lab.envs.PomdpEnv)
        told(lambda: jm.record(object(), fair, episodes=1))
        told(lambda: jm.write_minari(log, "t-v0", folder={str(tmp_path)!r}))
        told(lambda: jm.read_logs({str(tmp_path)!r}))
        told(log.to_pandas)
        told(log.to_polars)
    """)
    assert [re.search(r"jumar\[\w+\]", line)[0] for line in said] == [
        "jumar[gym]",
        "jumar[gym]",
        "jumar[minari]",
        "jumar[minari]",
        "jumar[pandas]",
        "jumar[polars]",
    ]
    assert not (tmp_path / "t-v0").exists()


def test_every_extra_that_is_asked_for_is_one():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = extras["optional-dependencies"]
    sources = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    wanted = set(re.findall(r"jumar\[(\w+)\]", sources))
    wanted |= set(re.findall(r'MissingExtra\(\s*f?"[^"]*", "[^"]*", "(\w+)"\)', sources))
    assert wanted >= {"gym", "minari", "pandas", "polars", "excel", "cluster", "duckdb"}
    assert wanted <= set(extras)


@pytest.mark.parametrize("name", ["gym", "minari", "pandas", "polars"])
def test_light_extras_are_installed_for_the_tests(name):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = extras["optional-dependencies"]
    libraries = {re.match(r"\w+", each)[0] for each in extras[name]}
    assert libraries <= {re.match(r"[\w-]+", each)[0] for each in extras["dev"]}


def test_it_can_be_caught_as_either():
    error = MissingExtra("Environments", "gymnasium", "gym")
    assert isinstance(error, jumar.JumarError)
    assert isinstance(error, ImportError)
