"""Logs counted where they lie: as counting in memory does, however they are cut."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import jumar as jm
from jumar.core.arrays import Ints
from jumar.core.errors import LogError
from jumar.evidence.consistency import rewards_seen
from jumar.log.shards import batches, general
from jumar.memory import Memory
from jumar.memory.forms import OneOf
from jumar.tally import counting
from jumar.tally import running as tally
from jumar.tally.counting import count_logs, prepared
from jumar.tally.replay import Replays

OBSERVATIONS, ACTIONS = ("good", "worn", "bad"), ("keep", "fix")
TABLE = jm.memory.NamedNodes(
    ("due", "done", "late"),
    np.array([[[1, 0], [2, 1], [2, 2]], [[0, 0], [1, 1], [2, 0]], [[2, 1], [0, 2], [1, 1]]]),
)


@dataclass(frozen=True, repr=False)
class Parity(Memory):
    """How often something was fixed, even or odd: a kind that lists nothing and steps."""

    def initial(self) -> Ints:
        return np.zeros(1, np.int64)

    def step(self, nodes: Ints, z: Ints, a: Ints) -> Ints:
        return (nodes + a[:, None]) % 2

    def form(self, observations, actions):
        return OneOf("fixes", ("even", "odd"))


MEMORIES = {
    "window 1": jm.window(1),
    "window 2": jm.window(2),
    "window 4 with actions": jm.window(4, actions=True),
    "table": TABLE,
    "parity": Parity(),
    "window 40": jm.window(40),
}


def controller(memory=None):
    return jm.Controller.uniform(OBSERVATIONS, ACTIONS, memory or jm.window(1))


def a_table(seed, episodes=60, *, ends="column", closing=True):
    """RowBatch of a log with endings, cuts, and rows that only tell what was seen in the end."""
    rng = np.random.default_rng(seed)
    rows = []
    for e in range(episodes):
        length = int(rng.integers(1, 12))
        ended = rng.random() < 0.5
        for t in range(length):
            last = t == length - 1
            rows.append(
                {
                    "episode": f"e{e:04d}",
                    "step": t,
                    "observation": OBSERVATIONS[rng.integers(3)],
                    "action": ACTIONS[rng.integers(2)],
                    "reward": float(np.round(rng.normal() * 10.0 ** rng.integers(-3, 4), 3)),
                    "terminated": bool(last and ended),
                }
            )
        if closing and not ended and rng.random() < 0.5:
            rows.append(
                {
                    "episode": f"e{e:04d}",
                    "step": length,
                    "observation": OBSERVATIONS[rng.integers(3)],
                    "action": None,
                    "reward": None,
                    "terminated": False,
                }
            )
    table = pa.Table.from_pylist(rows)
    return table if ends == "column" else table.drop_columns(["terminated"])


def same(counted, log, memory):
    """The same as counting in memory; rewards as exact sums."""
    found, expected = counted.counts, jm.count(log, memory)
    for field in ("states", "visits", "ends", "starts", "pair", "successor", "times", "unfinished"):
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field
    replay = Replays.of(log).over(memory)
    known, pair = replay.known, replay.pair
    for k in np.flatnonzero(expected.visits.ravel()):
        total = math.fsum(log.reward[known & (pair == k)])
        assert found.reward_sum.ravel()[k] == total
    facts = counted.facts
    assert (facts.episodes, facts.steps) == (len(log), log.n_steps)
    assert facts.ended == log.terminated.sum()
    seen = rewards_seen(log)
    if facts.rewards is not None:
        assert facts.rewards == seen.continuing
    assert facts.ending_rewards == seen.ending
    for lengths, chosen in (
        (facts.lengths_ended, log.terminated),
        (facts.lengths_cut, ~log.terminated),
    ):
        some = log.lengths[chosen]
        assert (lengths.shortest, lengths.longest) == (
            (some.min(), some.max()) if len(some) else (0, 0)
        )


def written(table, path):
    kind = path.suffix
    if kind == ".parquet":
        pq.write_table(table, path, row_group_size=37)
    elif kind == ".csv":
        pa.csv.write_csv(table, path)
    elif kind == ".arrow":
        pa.feather.write_feather(table, path, compression="uncompressed", chunksize=29)
    else:
        import json

        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


def prepare(sources, like):
    """The work on logs that lie in order: it lasts."""
    with prepared(sources, like) as job:
        return job


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "ndjson"])
def test_as_in_memory(tmp_path, monkeypatch, name, kind):
    monkeypatch.setattr(batches, "BATCH_ROWS", 11)
    monkeypatch.setattr(general, "PIECE_ROWS", 50)
    path = written(a_table(1), tmp_path / f"log.{kind}")
    memory = MEMORIES[name].on(3, 2)
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
    same(count_logs(path, controller(memory)), log, memory)


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.parametrize("cells", [0, 1 << 22])
@pytest.mark.parametrize("shard_rows", [1, 90, 10**9])
def test_cut_anywhere_and_counted_in_any_way(tmp_path, monkeypatch, name, cells, shard_rows):
    """Shards of one row group and of all, tables and hashes, batches of a few rows."""
    monkeypatch.setattr(batches, "BATCH_ROWS", 7)
    monkeypatch.setattr(tally, "MOST_CELLS", cells)
    monkeypatch.setattr(tally, "AT_ONCE", 5)
    monkeypatch.setattr(counting, "SHARD_ROWS", shard_rows)
    path = written(a_table(2), tmp_path / "log.parquet")
    memory = MEMORIES[name].on(3, 2)
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
    same(count_logs(path, controller(memory), jobs=2), log, memory)


@pytest.mark.parametrize("ends", ["terminated", "cut"])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_the_end_of_an_episode_means(tmp_path, ends, kind):
    path = written(a_table(3, ends="not told"), tmp_path / f"log.{kind}")
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS, ends=ends)
    same(count_logs(path, controller(), ends=ends), log, jm.window(1).on(3, 2))


def test_an_episode_may_go_on_in_the_next_file(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    table = a_table(4)
    whole = written(table, tmp_path / "log.parquet")
    folder = tmp_path / "parts"
    folder.mkdir()
    rng, at = np.random.default_rng(1), 0
    for i in range(12):
        size = int(rng.integers(1, 50)) if i < 11 else table.num_rows
        written(table.slice(at, size), folder / f"part-{i:03d}.parquet")
        at += size
    log = jm.read_logs(whole, observations=OBSERVATIONS, actions=ACTIONS)
    memory = jm.window(3).on(3, 2)
    for source in (folder, [*sorted(folder.glob("*.parquet"))], str(folder / "*.parquet")):
        same(count_logs(source, controller(memory), jobs=2), log, memory)


def test_one_endless_episode(tmp_path, monkeypatch):
    """It belongs to the shard in which it begins, and the others have nothing to do."""
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    monkeypatch.setattr(batches, "BATCH_ROWS", 10)
    n = 500
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "episode": np.zeros(n, np.int64),
            "observation": np.array(OBSERVATIONS)[rng.integers(0, 3, n)],
            "action": np.array(ACTIONS)[rng.integers(0, 2, n)],
            "reward": rng.normal(size=n),
        }
    )
    path = written(table, tmp_path / "log.parquet")
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS, ends="cut")
    memory = jm.window(5).on(3, 2)
    same(count_logs(path, controller(memory), ends="cut", jobs=2), log, memory)


def test_ranges_combined_columns_missing_values_and_costs(tmp_path):
    rng = np.random.default_rng(3)
    n = 400
    table = pa.table(
        {
            "episode": np.arange(n) // 8,
            "heat": pa.array(
                np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 20, n)), from_pandas=True
            ),
            "noise": pa.array(
                [None if x < 0.1 else "loud" if x < 0.5 else "quiet" for x in rng.random(n)]
            ),
            "done": np.array(ACTIONS)[rng.integers(0, 2, n)],
            "euro": rng.integers(0, 9, n),
        }
    )
    names = [f"{h}+{s}" for h in ("cold", "hot", "missing") for s in ("loud", "quiet", "missing")]
    like = jm.Controller.uniform(tuple(names), ACTIONS, jm.window(2))
    asked = {
        "columns": {"observation": ("heat", "noise"), "action": "done", "reward": "euro"},
        "bins": {"heat": ("cold", 50.0, "hot")},
        "missing": "symbol",
        "cost": True,
        "ends": "terminated",
    }
    for kind in ("parquet", "csv"):
        path = written(table, tmp_path / f"log.{kind}")
        log = jm.read_logs(path, observations=names, actions=ACTIONS, **asked)
        same(count_logs(path, like, **asked), log, jm.window(2).on(9, 2))


def test_whatever_is_not_plain_is_read_the_general_way(tmp_path, monkeypatch):
    monkeypatch.setattr(general, "PIECE_ROWS", 30)
    lines = ["episode;when;observation;action;amount"]
    rng = np.random.default_rng(4)
    for e in range(40):
        for t in range(int(rng.integers(1, 6))):
            z, a = OBSERVATIONS[rng.integers(3)], ACTIONS[rng.integers(2)]
            lines.append(
                f"{e};{t + 14:02d}.05.2024;{z};{a};{rng.integers(0, 2000)},{rng.integers(10)}5"
            )
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    asked = {
        "columns": {"time": "when", "reward": "amount"},
        "ends": "cut",
        "gap": "2d",
        "decimal": ",",
        "dates": "%d.%m.%Y",
    }
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS, **asked)
    same(count_logs(path, controller(), **asked), log, jm.window(1).on(3, 2))


def test_labels_that_are_numbers_dictionaries_or_text(tmp_path):
    table = a_table(5)
    numbers = [int(label[1:]) for label in table["episode"].to_pylist()]
    log = None
    for labels in (
        pa.array(numbers, pa.int32()),
        pa.array(numbers, pa.uint64()),
        pa.array([str(n) for n in numbers]).dictionary_encode(),
        pa.array([n * 1.5 for n in numbers]),
    ):
        path = written(table.set_column(0, "episode", labels), tmp_path / "log.parquet")
        log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
        same(count_logs(path, controller()), log, jm.window(1).on(3, 2))


WRITTEN = {
    "dictionary that gets full": {"dictionary_pagesize_limit": 64, "write_batch_size": 40},
    "dictionary of each row group": {"row_group_size": 170},
    "both": {"row_group_size": 170, "dictionary_pagesize_limit": 64, "write_batch_size": 40},
    "none": {"use_dictionary": False, "row_group_size": 170},
}


@pytest.mark.parametrize("options", WRITTEN.values(), ids=WRITTEN)
def test_names_are_the_same_whatever_dictionaries_they_are_written_with(
    tmp_path, monkeypatch, options
):
    """A column chunk may begin with a dictionary and go on plainly; the next one has another."""
    monkeypatch.setattr(batches, "BATCH_ROWS", 50)
    monkeypatch.setattr(batches, "FEW_ROWS", 20)
    n = np.arange(2000)
    z = n // 9 % 90 + n * 7 % 11  # new names come up all along, and old ones again
    table = pa.table(
        {
            "episode": n // 13,
            "step": n % 13,
            "observation": [f"seen {i}" for i in z],
            "action": pa.array(ACTIONS).take(pa.array(n * 5 // 3 % 2)),
            "reward": n / 8,
            "terminated": (n % 13 == 12) | (n == n[-1]),
        }
    )
    path = tmp_path / "log.parquet"
    pq.write_table(table, path, **options)
    encodings = pq.read_metadata(path).row_group(0).column(2).encodings
    assert ("RLE_DICTIONARY" in encodings) == options.get("use_dictionary", True)
    by_pyarrow = table.group_by(["observation", "action"]).aggregate(
        [("reward", "sum"), ([], "count_all")]
    )
    names = tuple(f"seen {i}" for i in range(100, -1, -1))
    for rows in (1, 10**9):
        monkeypatch.setattr(counting, "SHARD_ROWS", rows)
        found = count_logs(path, jm.Controller.uniform(names, ACTIONS), jobs=2).counts
        seen = {
            (names[found.states[h, -1]], ACTIONS[a], found.reward_sum[h, a], found.visits[h, a])
            for h, a in np.argwhere(found.visits)
        }
        assert seen == {tuple(row.values()) for row in by_pyarrow.to_pylist()}


# ---- what is wrong with a log -------------------------------------------------------------------


def broken(change):
    rows = a_table(6, 40).to_pylist()
    change(rows)
    return pa.Table.from_pylist(rows, a_table(6, 1).schema)


def set_to(row, **values):
    return lambda rows: rows[row].update(values)


FAULTS = {
    "observation": set_to(70, observation="melted"),
    "action": set_to(70, action="kick"),
    "no observation": set_to(70, observation=None),
    "not a number": set_to(70, reward=math.nan),
    "endless": set_to(70, reward=math.inf),
    "huge": set_to(70, reward=1e200),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("cells", [0, 1 << 22])
def test_what_is_wrong_is_told_as_for_a_log_in_memory(tmp_path, monkeypatch, fault, kind, cells):
    monkeypatch.setattr(batches, "BATCH_ROWS", 16)
    monkeypatch.setattr(tally, "MOST_CELLS", cells)
    path = written(broken(FAULTS[fault]), tmp_path / f"log.{kind}")
    with pytest.raises(LogError) as expected:
        jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
    with pytest.raises(LogError) as found:
        count_logs(path, controller())
    assert str(found.value) == str(expected.value)


def test_rows_out_of_order_and_episodes_in_two_places_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_ROWS", 16)
    table = a_table(7, 30)
    order = np.arange(table.num_rows)

    back = table.take(np.concatenate([order[20:], order[:20]]))
    again = pa.concat_tables([back, table.slice(0, 3)])
    path = written(again, tmp_path / "log.parquet")
    with pytest.raises(LogError, match="second time"):
        count_logs(path, controller())
    swapped = table.to_pylist()
    k = next(i for i, row in enumerate(swapped) if row["step"] == 1)
    swapped[k - 1]["step"], swapped[k]["step"] = 1, 0
    path = written(pa.Table.from_pylist(swapped), tmp_path / "swapped.parquet")
    with pytest.raises(LogError, match="order"):
        count_logs(path, controller())


def test_rewards_of_every_size_are_added_exactly(tmp_path):
    table = broken(set_to(70, reward=1e-200))
    path = written(table, tmp_path / "log.parquet")
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
    same(count_logs(path, controller()), log, jm.window(1).on(3, 2))
    path = written(broken(set_to(70, reward=5e-324)), tmp_path / "log.parquet")
    with pytest.raises(LogError, match="row 71"):
        count_logs(path, controller())


@pytest.mark.parametrize("cells", [0, 1 << 22])
@pytest.mark.parametrize("batch", [7, 1 << 17])
def test_rewards_of_all_sizes_beside_each_other(tmp_path, monkeypatch, cells, batch):
    monkeypatch.setattr(tally, "MOST_CELLS", cells)
    monkeypatch.setattr(batches, "BATCH_ROWS", batch)
    table, rng = a_table(9, episodes=200), np.random.default_rng(3)
    n = table.num_rows
    sizes = rng.choice([0.0, 1e-9, 0.01, 1.0, 40.0, 1e7, 1e40], n) * rng.normal(size=n)
    paid = np.where(np.array(table["action"].to_pylist(), object) == None, 0.0, sizes)  # noqa: E711
    table = table.set_column(table.schema.names.index("reward"), "reward", pa.array(paid))
    path = written(table, tmp_path / "log.parquet")
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
    memory = jm.window(2).on(3, 2)
    same(count_logs(path, controller(memory)), log, memory)


def test_a_damaged_code_is_told_and_not_counted(tmp_path):
    """It has no word, and would be looked up past the end of the words."""
    n = 900
    table = pa.table(
        {
            "episode": np.arange(n) // 9,
            "observation": np.array(OBSERVATIONS)[np.arange(n) // 200 % 2],
            "action": np.array(ACTIONS)[np.arange(n) % 2],
            "reward": np.zeros(n),
        }
    )
    path = tmp_path / "log.parquet"
    pq.write_table(table, path, compression="none")
    chunk = pq.read_metadata(path).row_group(0).column(1)
    data = bytearray(path.read_bytes())
    data[chunk.dictionary_page_offset + chunk.total_compressed_size - 1] = 200
    path.write_bytes(data)
    with pytest.raises(LogError, match=r"log.parquet: cannot be read as Parquet: .*200"):
        count_logs(path, controller(), ends="cut")


def test_a_column_of_lists_is_told(tmp_path):
    table = pa.table({"episode": [0], "observation": [["a"]], "action": ["x"], "reward": [0.0]})
    path = tmp_path / "log.parquet"
    pq.write_table(table, path)
    with pytest.raises(LogError, match="'observation': a value of type list"):
        count_logs(path, controller(), ends="cut")


def test_no_row_is_lost_where_a_late_row_group_is_not_plain(tmp_path, monkeypatch):
    """Steps are numbers up to the last row group, whose steps are words for numbers."""
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    table = a_table(12)
    first = table.set_column(1, "step", pa.array([str(s) for s in table["step"].to_pylist()]))
    rows = first.num_rows
    path = tmp_path / "log.csv"
    text = [",".join(first.column_names)]
    for i, row in enumerate(first.to_pylist()):
        reward = "" if row["reward"] is None else repr(row["reward"])
        if i == rows - 3 and reward:
            reward = f" {reward} "  # not plain to Arrow, and a number to people
        cells = (row["episode"], row["step"], row["observation"], row["action"] or "", reward)
        text.append(",".join((*cells, str(row["terminated"]).lower())))
    path.write_text("\n".join(text) + "\n")
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
    same(count_logs(path, controller()), log, jm.window(1).on(3, 2))
    # a file of two row groups: flags are bits in the first, and numbers that are no bits later
    marks = np.array([int(x) for x in table["terminated"].to_pylist()])
    odd = table.set_column(5, "terminated", pa.array(marks))
    spoiled = odd.to_pylist()
    spoiled[-1]["terminated"] = 2
    path = tmp_path / "log.parquet"
    written(pa.Table.from_pylist(spoiled, odd.schema), path)
    with pytest.raises(LogError, match="true or false"):
        count_logs(path, controller())
    fine = written(odd, path)
    log = jm.read_logs(fine, observations=OBSERVATIONS, actions=ACTIONS)
    same(count_logs(fine, controller()), log, jm.window(1).on(3, 2))


def test_a_label_that_is_missing_in_a_late_row_group_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    rows = a_table(13).to_pylist()
    rows[-2]["episode"] = None
    path = written(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    with pytest.raises(LogError) as expected:
        jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
    with pytest.raises(LogError) as found:
        count_logs(path, controller())
    assert str(found.value) == str(expected.value)


def test_parts_of_a_log_that_is_not_plain_are_not_counted_apart(tmp_path):
    rows = a_table(14).to_pylist()
    rows[-2]["episode"] = None
    path = written(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    job = prepare(path, controller())
    with pytest.raises(LogError, match="--shard"):
        counting.run(job, job.plan.shards(10**9, 1, (2, 2)))


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "ndjson"])
def test_workers_that_start_in_another_folder_find_the_files(tmp_path, monkeypatch, kind):
    """As those of a cluster do. Messages call files as they were given."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = written(a_table(3), tmp_path / f"log.{kind}")
    monkeypatch.chdir(tmp_path)
    job = pickle.dumps(prepare(path.name, controller()))
    here = count_logs(path.name, controller())
    monkeypatch.chdir(elsewhere)
    job = pickle.loads(job)
    there = counting.run(job, job.plan.shards(30, 1))
    assert there.facts == here.facts
    assert [part.file for part in there.files.parts] == [path.name]
