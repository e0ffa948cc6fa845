"""What a study is: the shipped one, the grid a file makes, and everything that is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facts import refuses, tells
from jumar.core.errors import ParameterError, StudyError
from jumar.lab.study.spec import (
    BehaviorSpec,
    StudySetting,
    StudySpec,
    load_study,
    study_from_document,
)

TEXT = """
format   = "jumar-study/1"
title    = "two thresholds"
seed     = 7
datasets = 10
sizes    = [1, 5, 20]
delta    = 0.1

[[behaviors]]
model    = "tiger"
window   = 2
memories = [2, 3]

[[behaviors]]
name         = "given"
model        = "machine.json"
policy       = "plans/yearly.toml"
memories     = [4]
seed         = 3
with_actions = true

[[algorithms]]
name    = "spibb"
n_wedge = [5, 20]

[[algorithms]]
name   = "basic"
unseen = "zero"
"""


def behavior(**changes: Any) -> dict[str, Any]:
    """A behavior as a document; None removes a key."""
    made = {"model": "tiger", "window": 2, "memories": [2, 3], **changes}
    return {key: value for key, value in made.items() if value is not None}


def study(**changes: Any) -> dict[str, Any]:
    """A small study as a document; None removes a key."""
    made: dict[str, Any] = {
        "format": "jumar-study/1",
        "datasets": 10,
        "sizes": [1, 5, 20],
        "behaviors": [behavior()],
        "algorithms": [{"name": "spibb", "n_wedge": [5, 20]}],
        **changes,
    }
    return {key: value for key, value in made.items() if value is not None}


def write(folder: Path, text: str | bytes, name: str = "study.toml") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# ---- the shipped study --------------------------------------------------------------------


def test_the_papers_study():
    spec = load_study("paper")
    # 500 data sets × 13 sizes × (5 behaviors × 2 memories) × 11 settings
    assert (spec.datasets, len(spec.sizes), spec.n_policies) == (500, 13, 715_000)
    assert [b.name for b in spec.behaviors] == [
        "cheese_maze:2",
        "tiger:2",
        "tiger:1",
        "voicemail:2",
        "voicemail:1",
    ]
    for b in spec.behaviors:
        assert b.memories == (b.window, b.window + 1)
        assert b.name == f"{b.model}:{b.window}"  # what they would be called without a name
    thresholds = [s.options.get("n_wedge") for s in spec.settings if s.algorithm == "spibb"]
    assert thresholds == [5, 7, 10, 15, 20, 30, 50, 70, 100]
    assert [s.label for s in spec.settings[9:]] == ["basic(unseen=zero)", "basic(unseen=exclude)"]


# ---- files --------------------------------------------------------------------------------


def test_a_file_says_everything_about_its_study(tmp_path):
    found = load_study(write(tmp_path, TEXT))
    assert found.folder == str(tmp_path)  # where files that it names are looked for
    assert found == StudySpec(
        title="two thresholds",
        seed=7,
        datasets=10,
        sizes=(1, 5, 20),
        behaviors=(
            BehaviorSpec("tiger:2", "tiger", (2, 3), window=2),
            BehaviorSpec(
                "given",
                "machine.json",
                (4,),
                seed=3,
                policy="plans/yearly.toml",
                with_actions=True,
            ),
        ),
        settings=(
            StudySetting("spibb", (("n_wedge", 5),)),
            StudySetting("spibb", (("n_wedge", 20),)),
            StudySetting("basic", (("unseen", "zero"),)),
        ),
        delta=0.1,
    )


@pytest.mark.parametrize("name", ["study.json", "study", "STUDY.JSON"])
def test_toml_and_json_say_the_same(name, tmp_path):
    from_json = load_study(write(tmp_path, json.dumps(study(delta=1e-3)), name))
    assert from_json == study_from_document(study(delta=1e-3))


def test_what_is_left_out_has_a_default():
    """A behavior is called after its model and its window or policy."""
    items = [
        behavior(model="maze:width=3", window=4),
        behavior(window=None, policy="plans/yearly.toml"),
    ]
    made = study(datasets=None, behaviors=items, algorithms=[{"name": "SPIBB"}])
    spec = study_from_document(made)
    assert (spec.title, spec.seed, spec.datasets, spec.delta) == ("study", 1, 100, 0.05)
    assert [(b.name, b.seed, b.with_actions) for b in spec.behaviors] == [
        ("maze:4", 1, False), ("tiger:yearly", 1, False),
    ]  # fmt: skip
    assert [s.label for s in spec.settings] == ["spibb(n_wedge=20)"]


# ---- the grid -----------------------------------------------------------------------------


def test_lists_of_an_algorithm_make_a_grid():
    items = [
        {"name": "spibb", "n_wedge": [5, 20]},
        {"name": "soft", "epsilon": [0.2, 0.5], "rule": ["exact", "approx"]},
        {"name": "spibb_leq", "n_wedge": 7},
    ]
    spec = study_from_document(study(algorithms=items))
    assert [s.label.replace(", steps=many, error=hoeffding", "") for s in spec.settings] == [
        "spibb(n_wedge=5)",
        "spibb(n_wedge=20)",
        "soft(epsilon=0.2, rule=exact)",
        "soft(epsilon=0.2, rule=approx)",
        "soft(epsilon=0.5, rule=exact)",
        "soft(epsilon=0.5, rule=approx)",
        "spibb_leq(n_wedge=7)",
    ]
    assert spec.n_policies == 10 * 3 * 2 * 7  # data sets, sizes, memories, settings


def test_only_keeps_the_behaviors_that_are_named():
    spec = load_study("paper")
    some = spec.only(("tiger:1", "cheese_maze:2"))
    assert [b.name for b in some.behaviors] == ["cheese_maze:2", "tiger:1"]
    assert some.n_policies == 715_000 * 2 // 5
    assert (some.sizes, some.settings, some.seed) == (spec.sizes, spec.settings, spec.seed)
    with refuses(ParameterError, "--only: behavior 'tigre:2' is not one of", "'tiger:2'?"):
        spec.only(("tigre:2",))


# ---- what is refused: the document --------------------------------------------------------

KEYS = "format, title, seed, datasets, sizes, delta, behaviors, algorithms, figures"


def of_one(**item: Any) -> dict[str, Any]:
    """What changes a study to one with a single algorithm."""
    return {"algorithms": [item]}


def spibb(*n_wedge: int) -> dict[str, Any]:
    return of_one(name="spibb", n_wedge=list(n_wedge))


BOTH = ", behavior 1: give either window (train a behavior) or policy (a controller file)."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": 3}, f": key 'dataset' is not one of {KEYS}. Did you mean 'datasets'?"),
        ({"format": None}, ": there is no 'format'. Add format = \"jumar-study/1\" at the top"),
        ({"sizes": None}, ": 'sizes' is missing. Add sizes = [1, 10, 100]."),
        ({"sizes": [0, 1]}, ", size 1: 0 is not a whole number from 1."),
        ({"sizes": [1, 10, 5]}, ": sizes must be whole numbers from 1, ascending."),
        ({"datasets": 0}, ", datasets: 0 is not a whole number from 1."),
        ({"datasets": 10**12}, ": datasets is 1000000000000; use 1,000,000 at most."),
        (
            {"datasets": 10**6, "sizes": list(range(1, 1001))},
            ": the grid has 4,000,000,000 policies; 1,000,000,000 are the most.",
        ),
        (
            {"behaviors": behavior()},
            ", behaviors: is a table of keys and values. Write a list; as a heading in TOML it has "
            "two brackets: [[behaviors]].",
        ),
        (
            {"behaviors": [behavior(model=None)]},
            ", behavior 1: 'model' is missing. Add model = \"tiger\".",
        ),
        ({"behaviors": [behavior(policy="yearly.toml")]}, BOTH),
        ({"behaviors": [behavior(window=None)]}, BOTH),
        (
            {"behaviors": [behavior(memories=[])]},
            ", behavior 1: memories is empty. List windows from 1, such as [2, 3].",
        ),
        (
            {"behaviors": [behavior(), behavior(name="tiger:2", memories=[4])]},
            ": two behaviors are called 'tiger:2'; name them apart.",
        ),
        (
            {"behaviors": [behavior(memories=[2, 2])]},
            ": behavior 'tiger:2': a memory is listed twice.",
        ),
        ({"algorithms": []}, ": give at least one behavior and one algorithm."),
        (of_one(n_wedge=5), ", algorithm 1: 'name' is missing. Add name = \"spibb\"."),
        (spibb(5, 5), ": spibb(n_wedge=5) is asked for twice."),
        (spibb(-1), ", algorithm 1: n_wedge: -1 is not a whole number"),
        (spibb(), ", algorithm 1: n_wedge is empty. List at least one value."),
        (
            spibb(*range(20_000)),
            ", algorithm 1: the lists make 20,000 settings; 10,000 are the most.",
        ),
        (
            of_one(name="soft", datasets=2),
            ", algorithm 1: datasets is for algorithms that choose their memory.",
        ),
        (of_one(name="auto", datasets=0), ", algorithm 1, datasets: 0 is not a whole number"),
        (
            of_one(name="spib"),
            ", algorithm 1: algorithm 'spib' is not one of auto, spibb, spibb_leq, strict, tilt, "
            "basic. Did you mean 'spibb'?",
        ),
        (
            of_one(name="spibb", nwedge=5),
            ", algorithm 1: parameter 'nwedge' is not one of n_wedge. Did you mean 'n_wedge'?",
        ),
    ],
)
def test_a_wrong_document_is_refused_with_place_fact_and_remedy(changes, message):
    with pytest.raises(StudyError) as caught:
        study_from_document(study(**changes), "study.toml")
    tells(caught.value, f"study.toml{message}")
    assert str(caught.value).startswith("study.toml" + message.partition(":")[0])


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.sampled_from(["", "tiger", "spibb", "zero", "jumar-study/1", "\ud800"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "model", "window", "x"]), inner, max_size=3),
    ),
    max_leaves=4,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_a_document_with_anything_anywhere_only_ever_raises_our_own_errors(data):
    document = copy.deepcopy(study(title="t", seed=1, delta=0.1, behaviors=[behavior(name="b")]))
    where: Any = document
    while True:
        key = data.draw(st.sampled_from(list(where) if isinstance(where, dict) else [0]))
        if not isinstance(where[key], dict | list) or data.draw(st.booleans()):
            break
        where = where[key]
    where[key] = data.draw(ANYTHING)
    try:
        spec = study_from_document(document, "study.toml")
    except StudyError as error:
        assert str(error).startswith("study.toml")  # noqa: PT017
    else:
        assert spec.n_policies >= 1


def test_a_study_made_in_a_program_is_checked_as_well():
    with refuses(ParameterError, "datasets is 0", "at least 1"):
        replace(load_study("paper"), datasets=0)


# ---- what is refused: the file ------------------------------------------------------------


def test_a_file_of_another_kind_is_refused(tmp_path):
    with refuses(StudyError, "format 'jumar-controller/1' is not 'jumar-study/1'"):
        load_study(write(tmp_path, 'format = "jumar-controller/1"\n'))


def test_a_missing_file_is_refused_and_the_shipped_studies_are_named(tmp_path):
    write(tmp_path, TEXT)
    with refuses(StudyError, "no such file", "study.toml'", "studies"):
        load_study(tmp_path / "studdy.toml")
    with refuses(StudyError, "x.json", "no such file", "path", "studies"):
        load_study(tmp_path / "x.json")
    shipped = r"Studies that come with jumar: paper, family, safety, safety-seeds, mdps\.$"
    with pytest.raises(StudyError, match=shipped):
        load_study("papr")
