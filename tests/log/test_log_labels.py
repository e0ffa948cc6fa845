"""Propensities, clusters and behaviors in logs: read, checked, kept and written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import LogError
from jumar.log.episodes import Episodes, Labels
from jumar.log.reading import read_logs, write_logs
from strategies import logs

ENDINGS = ["csv", "tsv", "csv.gz", "parquet", "arrow", "ndjson"]
HEAD = "episode,observation,action,reward,propensity,cluster,behavior\n"
ROWS = [
    "1,z,a,0,0.5,Ann,old",
    "1,z,b,1,0.25,Ann,old",
    "2,z,a,0,1,Bob,new",
    "3,z,a,2,0.125,Ann,new",
]


def text(*rows: str, head: str = HEAD) -> str:
    return head + "\n".join(rows) + "\n"


@pytest.fixture
def csv(tmp_path):
    def write(*rows: str, head: str = HEAD) -> str:
        path = tmp_path / "log.csv"
        path.write_text(text(*rows, head=head))
        return str(path)

    return write


def named(labels: Labels | None) -> list[str]:
    return [] if labels is None else [labels.names[k] for k in labels.code]


def same(one: Episodes, other: Episodes) -> bool:
    """Equal in everything but where it was read from."""
    arrays = ("observation", "action", "reward", "start", "final_observation", "terminated")
    return (
        all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
        and named(one.cluster) == named(other.cluster)
        and named(one.behavior) == named(other.behavior)
        and (one.propensity is None) == (other.propensity is None)
        and (one.propensity is None or np.array_equal(one.propensity, other.propensity))
    )


# ---- reading ------------------------------------------------------------------------------------


def test_columns_are_found_by_their_own_names(csv):
    log = read_logs(csv(*ROWS), ends="cut")
    assert log.propensity.tolist() == [0.5, 0.25, 1, 0.125]
    assert named(log.cluster) == ["Ann", "Bob", "Ann"]
    assert named(log.behavior) == ["old", "new", "new"]


def test_one_column_may_be_episode_and_cluster_where_a_gap_splits(csv):
    head = "episode,step,observation,action,reward\n"
    path = csv("bus 1,1,z,a,0", "bus 1,9,z,a,0", "bus 2,1,z,a,0", head=head)
    log = read_logs(path, ends="cut", gap=2, columns={"cluster": "episode"})
    assert log.origin.label == ["bus 1", "bus 1 (2)", "bus 2"]
    assert named(log.cluster) == ["bus 1", "bus 1", "bus 2"]


def test_only_one_row_need_name_the_cluster(csv):
    log = read_logs(csv("1,z,a,0,0.5,,old", "1,z,a,0,0.5,Ann,", "1,z,,,,,"), ends="cut")
    assert (named(log.cluster), named(log.behavior)) == (["Ann"], ["old"])
    assert log.final_observation.tolist() == [0]


def test_a_sum_of_fractions_a_little_above_one_is_one(csv):
    assert read_logs(csv("1,z,a,0,1.0000000000000002,A,b"), ends="cut").propensity.tolist() == [1]


CELL = "row 3, column 'propensity': "
BAD = {
    "0": CELL + "the propensity is 0, but the action was taken. Write how likely it was",
    "1.5": CELL + "the propensity is 1.5; how likely an action was lies above 0 and is at most 1",
    "-0.1": CELL + "the propensity is -0.1;",
    "nan": CELL + "the propensity is nan;",
    "inf": CELL + "the propensity is inf;",
    "": CELL + "the propensity is missing. Fill it in, or say missing='drop'",
    "half": CELL + "'half' is not a number. Write plain digits",
}


@pytest.mark.parametrize("value", BAD)
def test_a_bad_propensity_is_named_with_its_place(csv, value):
    with pytest.raises(LogError) as error:
        read_logs(csv("1,z,a,0,0.5,A,b", f"1,z,a,0,{value},A,b"), ends="cut")
    assert f"log.csv, {BAD[value]}" in str(error.value)


def test_a_propensity_without_an_action_is_an_error(csv):
    with refuses(LogError, "row 3", "there is a propensity but no action"):
        read_logs(csv("1,z,a,0,0.5,A,b", "1,z,,,0.5,A,b"), ends="cut")


@pytest.mark.parametrize(("part", "row"), [("cluster", "Bob,old"), ("behavior", "Ann,new")])
def test_an_episode_has_one_of_each(csv, part, row):
    names = {"cluster": ("Bob", "Ann"), "behavior": ("new", "old")}[part]
    with pytest.raises(LogError) as error:
        read_logs(csv("1,z,a,0,1,Ann,old", "1,z,a,0,1,,", f"1,z,a,0,1,{row}"), ends="cut")
    said = f"row 4 (episode 1): the {part} is '{names[0]}', but '{names[1]}' in row 2 of the same"
    assert said in str(error.value)
    assert "correct the rows" in str(error.value)


@pytest.mark.parametrize("part", ["cluster", "behavior"])
def test_every_episode_needs_one(csv, part):
    gone = {"cluster": "2,z,a,0,1,,new", "behavior": "2,z,a,0,1,Bob,"}[part]
    path = csv(ROWS[0], gone)
    with pytest.raises(
        LogError, match=rf"row 3 \(episode 2\): no row of the episode names its {part}"
    ):
        read_logs(path, ends="cut")
    log = read_logs(path, ends="cut", missing="drop")
    assert (len(log), log.origin.remarks.dropped) == (1, 1)


def test_names_that_could_move_the_cursor_are_shown_as_text(csv):
    with pytest.raises(LogError) as error:
        read_logs(csv("1,z,a,0,1,\x1b[2J,o", "1,z,a,0,1,\u202eAnn,o"), ends="cut")
    assert "\x1b" not in str(error.value)
    assert "\u202e" not in str(error.value)


def test_copies_differ_if_their_propensity_does(csv):
    head = HEAD.replace("episode", "episode,step")
    one, two = "1,1,z,a,0,0.5,Ann,old", "1,1,z,a,0,0.25,Ann,old"
    assert read_logs(csv(one, one, head=head), ends="cut", repeated="drop").n_steps == 1
    with refuses(LogError, "step", "same", "row 2"):
        read_logs(csv(one, two, head=head), ends="cut", repeated="drop")


# ---- a log is a log, however it is stored --------------------------------------------------------


@st.composite
def told_logs(draw) -> Episodes:
    log = draw(logs(("y", "z"), ("a", "b")))
    fractions = st.floats(0, 1, exclude_min=True, allow_subnormal=False)
    word = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=3)
    word = word.filter(lambda name: name.strip() == name)
    each = st.lists(word, min_size=len(log), max_size=len(log))
    return replace(
        log,
        propensity=draw(st.lists(fractions, min_size=log.n_steps, max_size=log.n_steps)),
        cluster=Labels.of(draw(each)),
        behavior=Labels.of(draw(each)),
    )


@pytest.mark.parametrize("ending", ENDINGS)
@given(log=told_logs())
def test_what_is_written_is_read_again(tmp_path_factory, ending, log):
    path = tmp_path_factory.mktemp("logs") / f"log.{ending}"
    write_logs(log, path)
    assert same(read_logs(path, observations=log.observations, actions=log.actions), log)


@given(seed=st.integers(0, 100))
def test_the_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    whole = pa.table({
        "episode": [1, 1, 2, 2, 3], "step": [1, 2, 1, 2, 1],
        "observation": ["z"] * 5, "action": ["a", "b", "a", "a", "b"], "reward": [0, 1, 2, 3, 4],
        "propensity": [0.1, 0.2, 0.3, 0.4, 0.5], "cluster": ["Å", "Å", "B", "B", "Å"],
        "behavior": ["n", "n", "o", "o", "o"],
    })  # fmt: skip
    log = read_logs(whole, ends="cut")
    turned = read_logs(whole.take(rng.permutation(5)), ends="cut")
    order = np.argsort([int(label) for label in turned.origin.label])
    again = turned.select(order)
    assert same(again, log)
    assert (again.cluster.names, again.behavior.names) == (("B", "Å"), ("n", "o"))


# ---- what Episodes do with them ------------------------------------------------------------------

LOG = Episodes(
    ("z",), ("a", "b"), [0, 0, 0], [0, 1, 1], [0, 1, 2], [0, 2, 3], [-1, -1], [True, True],
    propensity=[0.5, 0.25, 0.75], cluster=Labels(("Ann", "Bob"), [1, 0]),
    behavior=Labels(("old",), [0, 0]),
)  # fmt: skip


def test_chosen_episodes_keep_theirs():
    part = LOG.select([1])
    assert part.propensity.tolist() == [0.75]
    assert (named(part.cluster), named(part.behavior)) == (["Ann"], ["old"])
    assert part.cluster.present[0] == ("Ann",)


def test_renumbering_names_keeps_them():
    turned = LOG.align(("z",), ("b", "a"))
    assert turned.action.tolist() == [1, 0, 0]
    assert turned.propensity.tolist() == [0.5, 0.25, 0.75]
    assert named(turned.cluster) == ["Bob", "Ann"]


def test_logs_add_and_equal_names_are_one():
    both = LOG + replace(LOG, cluster=Labels(("Bob", "Cy"), [0, 1]))
    assert named(both.cluster) == ["Bob", "Ann", "Bob", "Cy"]
    assert both.cluster.names == ("Ann", "Bob", "Cy")
    assert both.propensity.tolist() == [0.5, 0.25, 0.75] * 2


@pytest.mark.parametrize("part", ["propensity", "cluster", "behavior"])
def test_a_log_with_and_one_without_do_not_add(part):
    with pytest.raises(LogError, match=f"Only one of the two logs has a column '{part}'"):
        LOG + replace(LOG, **{part: None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"propensity": [0.5, 0.5]}, "3 steps, but 2 in 'propensity'"),
        ({"propensity": [0.5, 0, 0.5]}, "episode 0, step 1: the propensity is 0, but"),
        ({"propensity": [0.5, 0.5, np.nan]}, "episode 1, step 0: the propensity is nan"),
        ({"cluster": Labels(("Ann",), [0])}, "2 episodes, but 1 in 'cluster'"),
        ({"behavior": Labels(("old",), [0, -1])}, "episode 1, step 0: the behavior is missing"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(LogError, match=message):
        replace(LOG, **change)


def test_labels_are_read_only_and_different():
    with pytest.raises(ValueError, match="read-only"):
        LOG.propensity[0] = 1
    with refuses(LogError, "'Ann'", "twice"):
        Labels(("Ann", "Ann"), [0, 1])
