"""Raw readings in the stand-alone program: it reads them as `read_logs` does, and then decides as
the controller does."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import jumar as jm
from jumar.core.errors import LogError
from jumar.core.reading import Bins, LogReading, ReadColumn
from jumar.log.reading.symbols import JOINT
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.show.program import program, runtime
from strategies import controllers

A = ("keep", "repair")
VIBRATION = ReadColumn("vibration", Bins(("low", "mid", "high"), (2.0, 5.0)))
PUMP = LogReading((VIBRATION, ReadColumn("noise")), (ReadColumn("work"),), "pump")
LEVELS = tuple(f"{v}+{n}" for v in ("low", "mid", "high") for n in ("quiet", "loud"))


def module(controller: Controller, reading: LogReading | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"__name__": "improved"}
    exec(compile(program(controller, reading), "improved.py", "exec"), made)
    return made


def as_csv(rows: list[list[Any]], separator: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows(rows)
    return out.getvalue()


def alarm() -> Controller:
    """Repair what vibrates highly, and what is loud for the second time."""
    base = Controller.constant(LEVELS, A, [1, 0], memory=window(2))
    loud = [z for z in LEVELS if z.endswith("loud")]
    twice = [base.state([one], two) for one in loud for two in loud]
    high = base.state([""], "high+quiet")
    return base.except_at(np.array([*twice, high]), np.array([[0.0, 1.0]] * (len(twice) + 1)))


# ---- the same as reading a log ------------------------------------------------------------------

words = st.text(
    st.one_of(
        st.sampled_from("\"',;\t \n|%{}\\#é日\u202e🐯"),
        st.characters(codec="utf-8", exclude_characters="\r\x00+*", max_codepoint=0xFFFF),
    ),
    min_size=1,
    max_size=4,
)
numbers = st.one_of(
    st.integers(-10, 10).map(str),
    st.floats(-1e6, 1e6).map(repr),
    st.sampled_from(["2", "5", "2.0", "+5", ".5", "5.", "1e3", "-1E-2", " 3 ", "inf", "-inf"]),
)


@st.composite
def ranges(draw) -> tuple[Any, ...]:
    edges = sorted(set(draw(st.lists(st.floats(-10, 10), min_size=1, max_size=3))))
    assume(len({edge + 0.0 for edge in edges}) == len(edges))
    names = draw(st.lists(words, min_size=len(edges) + 1, max_size=len(edges) + 1, unique=True))
    return tuple(x for pair in zip(names, [*edges, None], strict=True) for x in pair)[:-1]


@st.composite
def raw_logs(draw) -> tuple[list[list[str]], dict[str, Any]]:
    """The rows of a CSV with its header, and the options with which it is read."""
    columns = draw(st.lists(words.map("c{}".format), min_size=1, max_size=3, unique=True))
    bins = {name: draw(ranges()) for name in columns if draw(st.booleans())}
    missing = draw(st.booleans())
    cells = []
    for name in columns:
        usual = (
            numbers
            if name in bins
            else draw(st.lists(words, min_size=1, max_size=3).map(st.sampled_from))
        )
        cells.append(st.one_of(usual, st.just("")) if missing else usual)
    steps = draw(st.lists(st.tuples(*cells, st.sampled_from(A)), min_size=1, max_size=10))
    label = st.sampled_from("xyz")
    rows = [[draw(label), *step, "0"] for step in steps]
    options = {
        "columns": {
            "episode": "machine",
            "observation": columns,
            "action": "work",
            "reward": "paid",
        },
        "bins": bins,
        "missing": "symbol" if missing else "error",
        "ends": "cut",
    }
    return [["machine", *columns, "work", "paid"], *rows], options


@given(st.data(), raw_logs())
@pytest.mark.slow
def test_a_raw_reading_is_decided_as_the_controller_decides_on_what_the_log_reads(
    tmp_path_factory, data, raw
):
    rows, options = raw
    path = tmp_path_factory.mktemp("log") / "log.csv"
    path.write_text(as_csv(rows), encoding="utf-8", newline="")
    try:
        log = jm.read_logs(path, actions=A, **options)
    except LogError as error:
        if "would be called" not in str(error):  # two readings with one name
            raise
        return
    controller = data.draw(controllers(log.observations, A))
    made = module(controller, log.origin.reading)
    agents = {label: controller.start() for label in "xyz"}
    seen = dict(zip(log.origin.row.tolist(), log.observation.tolist(), strict=True))
    program_of = {label: made["start"]() for label in "xyz"}
    for number, cells in enumerate(rows[1:], 2):
        reading, agent = dict(zip(rows[0], cells, strict=True)), agents[cells[0]]
        name = log.observations[seen[number]]
        assert made["observation"](reading) == name
        expected = agent.probabilities(name)
        assert program_of[cells[0]].probabilities(reading) == expected
        assert program_of[cells[0]].probabilities(name) == expected
        agent.tell(name, reading["work"])
        program_of[cells[0]].tell(reading, {"work": reading["work"]})


@given(st.text("0123456789.,+-eE _x", max_size=6))
def test_a_number_in_text_is_the_one_the_log_reads_or_is_refused_as_there(text):
    made = module(
        Controller.uniform(("low", "high"), A),
        LogReading((ReadColumn("v", Bins(("low", "high"), (2.0,))),)),
    )
    table = pa.table({"episode": ["1"], "v": [text], "action": ["keep"], "reward": [0.0]})
    try:
        log = jm.read_logs(
            table, columns={"observation": "v"}, bins={"v": ("low", 2, "high")}, ends="cut"
        )
        expected = log.observations[log.observation[0]]
    except LogError:
        expected = None
    try:
        found = made["observation"]({"v": text})
    except ValueError:
        found = None
    if "," in text or (" " in text.strip()):  # marks that must be said, or that part thousands
        assert None in (expected, found) or expected == found
    else:
        assert found == expected


@given(st.floats(allow_nan=False))
def test_a_number_that_is_a_name_is_written_as_in_the_log(value):
    assert runtime._text(value) == pa.array([value]).cast(pa.string())[0].as_py()


def test_values_of_other_types_have_the_names_of_a_table_in_memory():
    for value in [True, 3, 2.0, "x"]:
        table = pa.table({"episode": [1], "state": [value], "action": ["keep"], "reward": [0]})
        log = jm.read_logs(table, columns={"observation": "state"}, ends="cut")
        assert log.observations == (runtime._name("state", value, None),)
    assert runtime._name("state", np.float32(2), None) == "2"
    assert runtime._name("state", np.bool_(True), None) == "true"
    assert runtime.JOINT == JOINT


# ---- in a program of one's own ------------------------------------------------------------------


def test_a_dict_of_columns_is_acted_on():
    c = module(alarm(), PUMP)["start"](seed=1)
    assert c.act({"vibration": 3.2, "noise": "loud", "other": None}) == "keep"
    assert c.act({"vibration": "3.2", "noise": "loud"}) == "repair"
    c.reset()
    assert c.act("mid+loud") == "keep"


def test_the_value_of_a_single_column_needs_no_dict():
    names = ("low", "mid", "high")
    table = Controller(names, names, window(1), [[0], [1], [2]], np.eye(3), [1, 0, 0])
    c = module(table, LogReading((VIBRATION,)))["start"]()
    assert [c.act(v) for v in (1, 3.2, "7", "low", {"vibration": 2})] == [
        "low",
        "mid",
        "high",
        "low",
        "mid",
    ]
    with pytest.raises(ValueError, match="observation middle is not one of low, mid, high"):
        c.act("middle")


@pytest.mark.parametrize("nothing", [None, "", float("nan"), "nan", "  ", np.float32("nan")])
def test_a_missing_value_is_refused_or_called_missing_as_in_the_log(nothing):
    observation = module(alarm(), PUMP)["observation"]
    with pytest.raises(ValueError, match="column vibration: the observation is missing"):
        observation({"vibration": nothing, "noise": "loud"})
    named = LogReading(PUMP.observation, PUMP.action, "pump", names_missing=True)
    made = module(alarm(), named)
    assert made["observation"]({"vibration": nothing, "noise": "loud"}) == "missing+loud"
    with pytest.raises(ValueError, match=r"observation missing\+loud is not one of low\+quiet"):
        made["start"]().act({"vibration": nothing, "noise": "loud"})


@pytest.mark.parametrize(
    ("reading", "fact"),
    [
        ({"noise": "loud"}, "no column vibration, which is part of the observation"),
        ({"vibraton": 3, "noise": "loud"}, "Did you mean it by vibraton"),
        ({"vibration": "much", "noise": "loud"}, "column vibration: much is no number"),
        (
            {"vibration": "3,2", "noise": "loud"},
            "column vibration: 3,2 is no number with a decimal",
        ),
        ({"vibration": [3], "noise": "loud"}, r"\[3\] is no number"),
        (
            {"vibration": 3, "noise": "lod"},
            r"observation mid\+lod is not one of .*Did you mean mid\+loud",
        ),
    ],
)
def test_a_reading_that_cannot_be_used_is_told_and_changes_nothing(reading, fact):
    c = module(alarm(), PUMP)["start"]()
    c.act("low+loud")
    with pytest.raises(ValueError, match=fact):
        c.act(reading)
    assert c.probabilities("low+loud")["repair"] == 1


# ---- from a log to the file ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def pump_log():
    rng = np.random.default_rng(3)
    n = 400
    table = pa.table(
        {
            "pump": np.repeat(np.arange(n // 4), 4),
            "vibration": [None if x > 9 else x for x in rng.gamma(2, 1.5, n)],
            "noise": rng.choice(["quiet", "loud"], n),
            "work": rng.choice(["keep", "repair"], n),
            "paid": rng.normal(size=n),
        }
    )
    return jm.read_logs(
        table,
        columns={
            "episode": "pump",
            "observation": ["vibration", "noise"],
            "action": "work",
            "reward": "paid",
        },
        bins={"vibration": ("low", 2, "mid", 5, "high")},
        missing="symbol",
        ends="cut",
    )


def test_the_saved_program_knows_how_the_log_was_read(tmp_path, pump_log):
    assert pump_log.origin.reading == LogReading(
        PUMP.observation, PUMP.action, "pump", names_missing=True
    )
    behavior = Controller.uniform(pump_log.observations, pump_log.actions)
    result = jm.improve(pump_log, behavior, discount=0.9, n_wedge=20)
    result.save(tmp_path / "out", pictures=("png", "pdf"))
    made: dict[str, Any] = {"__name__": "improved"}
    exec((tmp_path / "out" / "improved.py").read_text(), made)
    likely = made["start"]().probabilities({"vibration": None, "noise": "quiet"})
    assert likely == result.controller.start().probabilities("missing+quiet")
    assert (tmp_path / "out" / "controller.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "controller.pdf").read_bytes().startswith(b"%PDF")


def test_a_part_of_a_log_and_two_logs_read_alike_keep_what_is_known(pump_log):
    reading = pump_log.origin.reading
    part = pump_log.select(np.arange(5))
    assert part.origin.reading == (part + part).origin.reading == reading
    table = pa.table(
        {"episode": [1], "observation": ["low+loud"], "action": ["keep"], "reward": [0]}
    )
    other = jm.read_logs(table, observations=pump_log.observations, actions=A, ends="cut")
    assert other.origin.reading == LogReading()
    assert (part + other).origin.reading is None
