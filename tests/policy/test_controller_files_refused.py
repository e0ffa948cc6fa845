"""Controller files that are refused; whatever is in a file, only our own errors are raised."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_documents import EXAMPLE, VALIDATOR, WHOLE, bounded, maintenance, write
from facts import refuses, tells
from jumar.core.errors import ControllerError, JumarError
from jumar.policy.files import controller_from_document, controller_to_document, load_controller

# ---- what is refused: the file ------------------------------------------------------------

VALID_JSON = json.dumps(maintenance(), indent=1)

BAD_FILES = {
    "cut off JSON": ("b.json", VALID_JSON[: len(VALID_JSON) // 2], "JSON: was cut off"),
    "wrong TOML": (
        "b.toml",
        'format = "jumar-controller/1"\nname = two-yearly\n',
        "b.toml, line 2, column 8: not valid TOML: Invalid value. Correct it there; text stands",
    ),
    "the same key twice in JSON": (
        "b.json",
        '{"name": "x", "format": "jumar-controller/1", "name": "y"}',
        "b.json: the key 'name' stands twice in one object. Remove one of them",
    ),
    "binary": (
        "b.json",
        b"PAR1\x00\xff\xfe\x80",
        "b.json: not UTF-8 text (byte 6 is 0xff). Save the file as UTF-8",
    ),
    "nothing": ("b.toml", "", 'b.toml: the file is empty. A controller begins with format = "'),
    "a JSON list": ("b.json", "[1]", "b.json: is a list. Write {...}"),
    "deep JSON": (
        "b.json",
        "[" * 100_000,
        "b.json: nested too deeply to be a controller. Nest less",
    ),
    "a number of 5000 digits in JSON": (
        "b.json",
        json.dumps(maintenance(exploration=0.125)).replace("0.125", "1" * 5000),
        "b.json: a number has too many digits",
    ),
    "a date in TOML": (
        "b.toml",
        EXAMPLE.replace('"two-yearly inspection"', "1979-05-27"),
        "b.toml, name: is a date. Write text in quotes",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_wrong_file_is_refused_with_place_fact_and_remedy(case, tmp_path):
    name, content, message = BAD_FILES[case]
    with pytest.raises(ControllerError) as caught:
        load_controller(write(tmp_path, content, name))
    tells(caught.value, message)


def test_a_missing_file_is_refused_and_a_similar_name_offered(tmp_path):
    write(tmp_path, EXAMPLE)
    with refuses(ControllerError, "no such file", "behavior.toml'"):
        load_controller(tmp_path / "behaviour.toml")
    with refuses(ControllerError, "no such file", "path"):
        load_controller(tmp_path / "x.json")
    with refuses(ControllerError, "no directory"):
        load_controller(tmp_path / "nowhere" / "behavior.toml")
    with refuses(ControllerError, "a directory", "path"):
        load_controller(tmp_path)
    with refuses(ControllerError, "cannot be read"):
        load_controller("a\0b.toml")


@settings(bounded, max_examples=120)
@given(st.data(), st.sampled_from([".json", ".toml"]))
def test_a_mutated_file_only_ever_raises_our_own_errors(data, ending):
    text = bytearray((VALID_JSON if ending == ".json" else EXAMPLE).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 5))
        pieces = st.one_of(
            st.binary(max_size=3),
            st.sampled_from([b'"*"', b"9", b"{", b"]", b"-", b"\n", b"[[", b"1e9", b"\\ud800"]),
        )
        text[at : at + length] = data.draw(pieces)
        if not text:
            break
    loads_or_refuses(bytes(text), ending)


def loads_or_refuses(content: bytes, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), content, f"c{ending}")
        try:
            c = load_controller(path)
        except JumarError as error:
            assert str(error).startswith(str(path))  # noqa: PT017
        else:
            assert controller_from_document(controller_to_document(c)).same_as(c)


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.sampled_from(["*", "", "worn", "due", "keep", "\ud800", "jumar-controller/1"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["node", "action", "window", "nodes", "keep", "default", "x"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)


@settings(bounded, max_examples=120)
@given(st.data())
def test_a_document_with_anything_anywhere_only_ever_raises_our_own_errors(data):
    document = copy.deepcopy(WHOLE)
    where: Any = document
    while True:
        keys = list(where) if isinstance(where, dict) else list(range(len(where)))
        key = data.draw(st.sampled_from(keys))
        inside = where[key]
        if not isinstance(inside, dict | list) or not inside or data.draw(st.booleans()):
            break
        where = inside
    where[key] = data.draw(ANYTHING)
    try:
        c = controller_from_document(document)
    except ControllerError:
        return
    VALIDATOR.validate(document)  # what is read also obeys the schema
    assert controller_from_document(controller_to_document(c)).same_as(c)
