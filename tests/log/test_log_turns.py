"""Nested JSON: every turn of a list is a row; lists of objects in .json; keys within objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.reading import read_logs

CALLS = [
    {
        "call": 17,
        "turns": [
            {"heard": "hello", "did": "ask", "paid": 0, "state": {"room": "hall"}},
            {"heard": "yes", "did": "save", "paid": 2.5, "state": {"room": "den"}},
        ],
        "outcome": 5,
        "caller": {"age": 40},
        "over": True,
    },
    {
        "call": 18,
        "turns": [{"heard": "hello", "did": "save", "paid": -1, "state": {"room": "hall"}}],
        "outcome": -10,
        "caller": {"age": 7},
        "over": False,
    },
]
COLUMNS = {"episode": "call", "observation": "heard", "action": "did", "reward": "paid"}


@pytest.fixture
def nested(tmp_path):
    """Writes objects into calls.ndjson or calls.json."""

    def write(objects: list[Any], ending: str = "ndjson") -> Path:
        path = tmp_path / f"calls.{ending}"
        texts = [each if isinstance(each, str) else json.dumps(each) for each in objects]
        path.write_text("\n".join(texts) if ending == "ndjson" else f"[{', '.join(texts)}]")
        return path

    return write


def read(path: Path, turns: str = "turns", ends: str | None = "cut", **columns: object):
    return read_logs(path, turns=turns, ends=ends, columns={**COLUMNS, **columns})


def seen(log):
    return [log.observations[z] for z in log.observation]


@pytest.mark.parametrize("ending", ["ndjson", "json"])
def test_every_turn_is_a_row(nested, ending):
    log = read(nested(CALLS, ending))
    assert seen(log) == ["hello", "yes", "hello"]
    assert log.reward.tolist() == [0, 2.5, -1]
    assert log.lengths.tolist() == [2, 1]
    assert log.where(1).endswith("row 1, turn 2 (episode 17)")
    assert log.select([1]).where(0).endswith("row 2, turn 1 (episode 18)")


def test_keys_of_nested_objects_are_joined_with_dots(nested):
    assert seen(read(nested(CALLS), observation="state.room")) == ["hall", "den", "hall"]
    assert seen(read(nested(CALLS), observation="caller.age")) == ["40", "40", "7"]
    both = read(nested(CALLS), observation=("heard", "state.room"))
    assert seen(both) == ["hello+hall", "yes+den", "hello+hall"]


def test_the_list_may_lie_deeper(nested):
    deep = [{"id": c["call"], "dialog": {"lang": "de", "turns": c["turns"]}} for c in CALLS]
    log = read(nested(deep), turns="dialog.turns", episode="id", action=("did", "dialog.lang"))
    assert log.actions == ("ask+de", "save+de")
    flat = [{"id": c["call"], "dialog.turns": c["turns"]} for c in CALLS]
    assert read(nested(flat), turns="dialog.turns", episode="id").n_steps == 3


def test_a_key_of_turns_comes_before_the_same_key_outside(nested):
    objects = [{**call, "heard": "outside"} for call in CALLS]
    assert seen(read(nested(objects))) == ["hello", "yes", "hello"]


def test_an_outer_key_that_only_some_turns_have_is_not_mixed_in(nested):
    objects = [{"call": 1, "heard": "outside", "turns": [{"did": "ask", "paid": 1}]}, CALLS[0]]
    with refuses(LogError, "row 1, turn 1 (episode 1): the observation is missing"):
        read(nested(objects))


def test_what_is_paid_once_is_paid_with_the_last_turn(nested):
    assert read(nested(CALLS), reward="last.outcome").reward.tolist() == [0, 5, -10]
    ended = read(nested(CALLS), ends=None, terminated="last.over")
    assert ended.terminated.tolist() == [True, False]
    for part, key in (("reward", "outcome"), ("terminated", "over")):
        with refuses(
            LogError, f"'{key}' stands once for all turns of an object", f"{part}=last.{key}"
        ):
            read(nested(CALLS), ends=None, **{part: key})


def test_without_a_key_for_it_every_object_is_an_episode(nested):
    objects = [{"turns": call["turns"]} for call in CALLS]
    log = read(nested(objects), episode="episode")
    assert (log.lengths.tolist(), log.origin.label) == ([2, 1], ["1", "2"])


def test_turns_of_one_episode_may_stand_in_several_objects(nested):
    objects = [{"call": 1, "turns": CALLS[0]["turns"]}, {"call": 1, "turns": CALLS[1]["turns"]}]
    assert read(nested(objects)).lengths.tolist() == [3]


@pytest.mark.parametrize(
    ("objects", "facts"),
    [
        ([{"call": 1, "turn": []}], ["row 1: there is no list of turns", "'turns' is not one of"]),
        ([{"call": 1, "turns": 7}], ["row 1, key 'turns': is not a list"]),
        ([{"call": 1, "turns": []}], ["row 1, key 'turns': has no turns", "Leave the object out"]),
        ([CALLS[0], {"call": 1, "turns": [3]}], ["row 2, turn 1: '3' is not an object"]),
        ([CALLS[0], "[1]"], ["row 2: \"['1']\" is not a JSON object"]),
        ([CALLS[0], "", "{"], ["row 3: is not JSON", "one per line"]),
        (['{"call": 1, "call": 2, "turns": []}'], ["row 1, column 'call': is there twice"]),
        (["[" * 100_000], ["row 1: is nested too deeply"]),
        (
            [{"call": 1, "turns": [{"heard": ["x"], "did": "a", "paid": 1}]}],
            ["row 1, turn 1, column 'heard': is a list or an object"],
        ),
        (
            [{"call": 1, "turns": [{"heard": "\ud800", "did": "a", "paid": 1}]}],
            ["row 1, turn 1, column 'heard': has half a character"],
        ),
        (
            [{"call": 1, "turns": [{"heard": "x", "did": "a", "paid": "one"}]}],
            ["row 1, turn 1, column 'paid': 'one' is not a number"],
        ),
        (
            [{"call": 1, "turns": [{"heard": {"a": 1}, "heard.a": 2, "did": "a", "paid": 1}]}],
            ["row 1, turn 1, column 'heard.a': is there twice"],
        ),
    ],
)
def test_what_is_wrong_is_named_with_line_turn_and_key(nested, objects, facts):
    with refuses(LogError, *facts):
        read(nested(objects))


def test_all_lines_that_are_wrong_are_told(nested):
    bad = [{"call": 1, "turns": []}, "{", {"call": 2}, CALLS[0], {"call": 3, "turns": [1, 2]}]
    with pytest.raises(LogError) as caught:
        read(nested(bad))
    places = [problem.partition(", ")[2][:14] for problem in caught.value.problems]
    assert [place[:5] for place in places] == ["row 1", "row 2", "row 3", "row 5", "row 5"]


def test_a_text_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "calls.ndjson"
    path.write_bytes(json.dumps(CALLS[0]).encode() + b'\n{"call": "\xe4", "turns": []}\n')
    with refuses(LogError, "row 2: is not UTF-8 text", "encoding='cp1252'"):
        read(path)


# ---- without turns ------------------------------------------------------------------------------

ROW = {"episode": 1, "observation": "z", "action": "a", "reward": 1.5, "terminated": True}


@pytest.mark.parametrize("ending", ["ndjson", "json"])
def test_a_forgotten_option_is_advised(nested, ending):
    with refuses(LogError, "The key 'turns' holds lists of objects", "--turns turns"):
        read_logs(nested(CALLS, ending), columns=COLUMNS)


def test_a_list_of_flat_rows_is_a_log(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps([ROW, {**ROW, "episode": 2, "note": {"deep": [1]}}], indent=2))
    log = read_logs(path)
    assert (log.reward.tolist(), log.where(1)) == ([1.5, 1.5], f"{path}, row 2 (episode 2)")
    path.write_text(json.dumps(ROW))
    assert read_logs(path).n_steps == 1


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("[]", ["the log is empty"]),
        ("  ", ["the log is empty"]),
        ("[{]", ["line 1: is not JSON"]),
        ('{"a": 1}\n{"a": 2}', ["line 2: is not JSON", "--format NDJSON"]),
        ("[1, 2]", ["row 1: '1' is not a JSON object"]),
    ],
)
def test_json_that_is_no_log_is_refused(tmp_path, text, facts):
    path = tmp_path / "log.json"
    path.write_text(text)
    with refuses(LogError, *facts):
        read_logs(path)


def test_keys_within_objects_are_columns_of_plain_ndjson(nested):
    rows = [
        {**ROW, "episode": e, "state": {"room": room, "at": "2024-01-01T00:00:00Z"}}
        for e, room in enumerate(("hall", "den"))
    ]
    path = nested(rows)
    assert read_logs(path, columns={"observation": "state.room"}).observations == ("den", "hall")
    assert read_logs(path, columns={"time": "state.at"}).n_steps == 2
    numbers = [{**ROW, "episode": e, "state": {"room": e}} for e in (1, 1.5)]
    log = read_logs(nested(numbers), columns={"observation": "state.room"})
    assert log.observations == ("1", "1.5")
    with refuses(LogError, "'state' is not one of", "state.room"):
        read_logs(nested(rows), columns={"observation": "state"})


def test_numbers_of_json_have_a_point(nested):
    with refuses(ParameterError, "decimal:", "have a decimal point"):
        read_logs(nested([ROW]), decimal=",")
    words = [{**ROW, "reward": "3,5"}, {**ROW, "episode": 2, "reward": "4"}]
    assert read_logs(nested(words)).reward.tolist() == [3.5, 4]


SCALARS = st.one_of(st.text(max_size=4), st.integers(), st.booleans(), st.none(), st.floats())
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["call", "turns", "heard", "did", "paid", "x.y"]), inner),
    ),
    max_leaves=12,
)


@given(st.lists(st.one_of(JSON.map(json.dumps), st.text(max_size=5)), max_size=4), st.booleans())
def test_any_json_is_read_or_refused(tmp_path_factory, texts, as_lines):
    path = tmp_path_factory.mktemp("json") / ("log.ndjson" if as_lines else "log.json")
    path.write_bytes(("\n" if as_lines else ",").join(texts).encode("utf-8", "surrogatepass"))
    for turns in ("turns", None):
        try:
            read_logs(path, turns=turns, ends="cut", columns=COLUMNS)
        except LogError as error:
            assert all(line.isprintable() for line in str(error).split("\n"))  # noqa: PT017
