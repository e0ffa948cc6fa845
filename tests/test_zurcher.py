"""Zurcher's bus engines (Rust 1987): a real log, from the raw table to the page.

166 buses in 9 groups, one row per bus and month; group 0 was not used by Rust, so the known facts
are those of the other 162. Nobody wrote down the rule, the costs are Rust's estimates, and every
bus was still running when the records stop: the page has to say all of it.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from jumar.cli import main
from jumar.log.reading import read_logs
from jumar.policy.files import load_controller
from results import Page

SHARED = Path(os.environ.get("JUMAR_DATA", Path(__file__).parents[2] / "shared" / "data"))
DATA = SHARED / "zurcher" / "zurcher_log.csv"
pytestmark = pytest.mark.skipif(
    not DATA.exists(), reason=f"{DATA} is not there: the bus log is not part of the project"
)

BINS = ("under 50k", "50-100k", "100-150k", "150-200k", "200-250k", "250-300k", "300-350k",
        "over 350k")  # fmt: skip
MILES = ":".join(f"{name}:{50_000 * i}" for i, name in enumerate(BINS[:-1], 1)) + f":{BINS[-1]}"
# RC = 10.0750 for a new engine; 0.001 · 2.2930 a month for each 5,000 miles on the old one
PRICES = "action:replace=-10.075,column:miles_since_replacement=-4.586e-7"
READING = [
    "--columns", "episode=bus_id,step=t,observation=miles_since_replacement,action=a",
    "--bins", f"miles_since_replacement={MILES}", "--bins", "a=keep:0.5:replace",
    "--prices", PRICES, "--ends", "cut",
]  # fmt: skip


def improve(folder: Path, n_wedge: int) -> Path:
    out = folder / f"out-{n_wedge}"
    with pytest.raises(SystemExit) as left:
        main(["improve", str(DATA), "--policy", "estimate", "--window", "1", "--discount", "0.99",
              *READING, "--n-wedge", str(n_wedge), "-o", str(out)])  # fmt: skip
    assert left.value.code == 1  # the log drifts: its verdict is do-not-rely
    return out


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("zurcher")
    return {n_wedge: improve(folder, n_wedge) for n_wedge in (5, 20)}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with DATA.open(newline="") as file:
        return list(csv.DictReader(file))


def decisions(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "decisions.csv").open(encoding="utf-8", newline="") as file:
        return {row["seen now"]: row for row in csv.DictReader(file)}


def bin_of(row: dict[str, str]) -> str:
    return BINS[min(int(float(row["miles_since_replacement"]) // 50_000), len(BINS) - 1)]


def test_the_file_is_the_one_that_is_known(rows):
    """Rust's groups 1 to 8: 162 buses, 15,568 months, 124 replacements, none of them in 1 and 2."""
    known = [row for row in rows if row["group"] != "0"]
    assert (len(rows), len({row["bus_id"] for row in rows})) == (15_964, 166)
    assert (len(known), len({row["bus_id"] for row in known})) == (15_568, 162)
    replaced = Counter(row["group"] for row in known if row["a"] == "1")
    assert replaced == {"3": 27, "4": 33, "5": 11, "6": 7, "7": 27, "8": 19}
    assert sum(replaced.values()) == 124


def test_a_month_pays_for_its_miles_and_for_a_new_engine(rows):
    log = read_logs(
        DATA,
        columns={"episode": "bus_id", "step": "t", "observation": "miles_since_replacement",
                 "action": "a"},
        bins={"miles_since_replacement": ("new", 1e5, "old"), "a": ("keep", 0.5, "replace")},
        prices={"action:replace": -10.075, "column:miles_since_replacement": -4.586e-7},
        ends="cut",
    )  # fmt: skip
    miles = sum(float(row["miles_since_replacement"]) for row in rows)
    assert log.reward.sum() == pytest.approx(-10.075 * 124 - 4.586e-7 * miles)
    assert not log.terminated.any()


def test_every_month_whose_next_is_known_is_counted_by_mileage(out, rows):
    """The last month of each of the 166 buses tells nothing of what followed it."""
    last = {row["bus_id"]: i for i, row in enumerate(rows)}
    counted = [row for i, row in enumerate(rows) if last[row["bus_id"]] != i]
    assert len(counted) == 15_964 - 166
    seen = Counter(map(bin_of, counted))
    replaced = Counter(bin_of(row) for row in counted if row["a"] == "1")
    assert [replaced[name] for name in BINS] == [0, 1, 17, 33, 37, 25, 8, 3]
    for name, row in decisions(out[20]).items():
        assert int(row["times seen"]) == seen[name]
        assert int(row["tried: replace"]) == replaced[name]
        assert int(row["tried: keep"]) == seen[name] - replaced[name]


@pytest.mark.parametrize(
    ("n_wedge", "free"),
    [
        (5, ["100-150k", "150-200k", "200-250k", "250-300k", "300-350k"]),  # 17 33 37 25 8
        (20, ["150-200k", "200-250k", "250-300k"]),  # 33 37 25
    ],
)
def test_only_where_both_actions_were_seen_often_enough_may_the_rule_move(out, n_wedge, free):
    """Over 350,000 miles there are 23 months and 3 replacements: too few at any threshold. Below
    50,000 nothing was ever replaced."""
    new = load_controller(out[n_wedge] / "improved.json")
    for name, row in decisions(out[n_wedge]).items():
        both = min(int(row["tried: keep"]), int(row["tried: replace"])) > n_wedge
        assert both == (name in free)
        moved = max(new.row([], name)) == 1 and name != "under 50k"
        assert moved == both


def test_a_table_of_a_log_that_drifts_tells_no_decision(out):
    told = {(row["changed"], row["new"], row["why"]) for row in decisions(out[20]).values()}
    assert told == {("", "", "")}


def test_the_page_says_what_an_honest_page_must_say(out):
    page = Page((out[20] / "report.html").read_text("utf-8"))
    assert "166 episodes, 15,964 steps" in page.text
    assert "behavior estimated from the log" in page.text
    assert "depended on nothing but what is in the log" in page.text  # confounding
    assert "the prices were given by hand" in page.text
    assert "166 of 166 records stop before the end" in page.text
    # the file goes group by group, so its two halves hold different groups of buses
    first = page.text.index("Do not use these numbers. After the same action")
    assert first < page.text.index("What to change Nothing.")


def test_no_certificate_says_anything(out):
    told = json.loads((out[20] / "certificate.json").read_text())
    assert told["behavior"] == "estimated from the log"
    assert not any({"claim", "zeta", "validity"} & set(c) for c in told["certificates"])
    assert (told["episodes"], told["steps"], told["steps_left_out"]) == (166, 15_798, 166)


def test_a_log_that_drifts_tells_no_gain_anywhere(out):
    told = json.loads((out[20] / "certificate.json").read_text())
    page = Page((out[20] / "report.html").read_text("utf-8"))
    assert told["verdict"]["word"] == "do-not-rely"
    assert "gain" not in told
    assert "90 % interval" not in page.text
    assert {row["share of the gain"] for row in decisions(out[20]).values()} == {""}
