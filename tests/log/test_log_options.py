"""The options of the command line say the same as the arguments of read_logs."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from jumar.cli import options
from jumar.cli.log_options import log_options
from jumar.core.errors import ParameterError
from jumar.log.reading import read_logs

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "zurcher" / "zurcher_log.csv"

app = typer.Typer()


@app.command()
@log_options
def read(log: Annotated[Path, typer.Argument()], reading: dict[str, Any]) -> None:
    found = read_logs(log, **reading)
    print(len(found), found.n_steps, ",".join(found.observations), f"{found.reward.sum():.6f}")


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


def test_every_option_has_an_argument_and_the_same_default():
    asked = options.as_reading()
    arguments = inspect.signature(read_logs).parameters
    assert set(asked) == set(arguments) - {"source", "observations", "actions"}
    assert {n: v or None for n, v in asked.items()} == {
        n: arguments[n].default or None for n in asked
    }


def test_all_options_at_once(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "bus,when,shake,noise,job,euro\n"
        "1,2024-01-02,3,loud,run,2\n1,2024-01-01,1,,run,1\n1,2024-01-01,1,,run,1\n"
        "1,2024-06-01,9,loud,fix,4\n"
    )
    line = run(
        path, "--columns", "episode=bus,time=when,action=job", "--columns",
        "cost=euro,observation=shake+noise", "--cost", "--ends", "cut", "--gap", "90d",
        "--bins", "shake=low:2:mid:5:high", "--missing", "symbol", "--repeated", "drop",
    )  # fmt: skip
    assert line == "2 3 high+loud,low+missing,mid+loud -7.000000"


def test_prices_may_be_given_in_one_or_more_options(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("episode,observation,action,miles\n1,z,a=b,100\n1,z,run,0\n")
    one = run(path, "--ends", "cut", "--prices", "action:a=b=-10,column:miles=-4.6e-2")
    two = run(
        path, "--ends", "cut", "--prices", "action:a=b=-10", "--prices", "column:miles=-0.046"
    )
    assert one == two == "1 2 z -14.600000"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"columns": ["bus"]}, "--columns bus: expected PART=NAME, such as episode=bus_id."),
        ({"columns": ["episode="]}, "--columns episode=: expected PART=NAME, such as"),
        ({"columns": ["=bus"]}, "--columns =bus: expected PART=NAME, such as"),
        ({"columns": ["a=b,"]}, "--columns a=b,: expected PART=NAME, such as"),
        ({"columns": ["step=a", "step=b"]}, "--columns step=b: step is given twice. Give it once."),
        ({"bins": ["vibration"]}, "--bins vibration: expected COLUMN=NAME:EDGE:NAME, such as vib"),
        ({"bins": ["v=low:2"]}, "--bins v=low:2: expected COLUMN=NAME:EDGE:NAME, such as vibrat"),
        ({"bins": ["v=low:x:high"]}, "--bins v=low:x:high: 'x' is not a number. Write it like vi"),
        ({"bins": ["v=a:1:b", "v=a:1:b"]}, "--bins v=a:1:b: v is given twice. Give it once."),
        ({"prices": ["action:run"]}, "--prices action:run: expected WHAT=NUMBER, such as action:"),
        ({"prices": ["action:run=x"]}, "--prices action:run=x: 'x' is not a number. Write it lik"),
        ({"prices": ["a:b=1,a:b=2"]}, "--prices a:b=1,a:b=2: a:b is given twice. Give it once."),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_with_an_example(texts, message):
    with pytest.raises(ParameterError) as caught:
        options.as_reading(**texts)
    assert str(caught.value).startswith(message)


@pytest.mark.skipif(not DATA.is_file(), reason="the bus data is not here")
def test_the_bus_log_is_read_as_it_is():
    """The 162 buses of groups 1 to 8 with 15,568 months, and four more buses with 99 months each.
    Each of the 124 replacements costs 10.075, a mile 4.6e-7."""
    import csv

    with DATA.open(newline="") as file:
        rows = list(csv.DictReader(file))
    miles = sum(float(row["miles_since_replacement"]) for row in rows)
    replaced = sum(row["a"] == "1" for row in rows)
    assert sum(row["group"] != "0" for row in rows) == 15_568
    assert (len(rows), replaced) == (15_568 + 4 * 99, 124)
    line = run(
        DATA, "--columns", "step=t,observation=miles_since_replacement,action=a", "--ends", "cut",
        "--bins", "miles_since_replacement=new:50000:used:150000:old",
        "--prices", "action:1=-10.075,column:miles_since_replacement=-4.6e-7",
    )  # fmt: skip
    assert line == f"166 15964 new,old,used {-10.075 * replaced - 4.6e-7 * miles:.6f}"
