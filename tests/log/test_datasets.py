"""Logs that are given as a data set of pyarrow: counted as the same files are."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import jumar as jm
from jumar.core.errors import LogError
from jumar.log.shards import batches
from jumar.tally import counting
from jumar.tally.counting import count_logs
from log.test_stores import as_bytes, in_parts, save
from object_store import quoted, serving
from tally.test_counting import a_table, controller, prepare
from tally.test_counts_files import the_same

FORMATS = {"parquet": "parquet", "csv": "csv", "csv.gz": "csv", "arrow": "ipc", "ndjson": "json"}


@pytest.fixture
def expected(tmp_path):
    save(a_table(21), tmp_path / "whole.parquet")
    return count_logs(tmp_path / "whole.parquet", controller(jm.window(2)))


@pytest.fixture
def parts(tmp_path):
    """A folder with the log in four files of a kind."""

    def make(kind="parquet", name="logs/{i}.{kind}"):
        for i, part in enumerate(in_parts(a_table(21))):
            path = tmp_path / name.format(i=i, kind=kind)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(as_bytes(part, kind))
        return tmp_path / "logs"

    return make


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("shard_rows", [1, 10**9])
def test_files_of_every_format(parts, expected, monkeypatch, kind, shard_rows):
    monkeypatch.setattr(counting, "SHARD_ROWS", shard_rows)
    monkeypatch.setattr(batches, "BATCH_ROWS", 11)
    dataset = ds.dataset(parts(kind), format=FORMATS[kind])
    the_same(count_logs(dataset, controller(jm.window(2))), expected)


def test_the_files_are_called_by_their_paths(parts):
    folder = parts()
    one = count_logs(ds.dataset(folder), controller()).files
    assert one == count_logs(folder, controller()).files
    table = pq.read_table(folder / "1.parquet")
    words = table["observation"].to_pylist()
    words[3] = "melted"
    pq.write_table(table.set_column(2, "observation", pa.array(words)), folder / "1.parquet")
    place = rf"^{folder}/1\.parquet, row 4 .*'melted' is not one of"
    with pytest.raises(LogError, match=place):
        count_logs(ds.dataset(folder), controller())


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("general", [False, True])
def test_hive_partitions_are_columns(parts, expected, kind, general):
    folder = parts(kind, "logs/year=2024/site=No {i}/p.{kind}")
    dataset = ds.dataset(folder, format=FORMATS[kind], partitioning="hive")
    more = {"repeated": "drop"} if general else {}
    asked = {"columns": {"cluster": "site"}, **more}
    the_same(count_logs(dataset, controller(jm.window(2)), **asked), expected)


def test_any_other_partitioning_is_columns_too(tmp_path):
    """Folders that say no key; a data set knows it."""
    table = a_table(21).drop_columns("observation")
    for word, part in zip(("good", "bad"), in_parts(table, 2), strict=True):
        save(part, tmp_path / f"logs/{word}/p.parquet")
    schema = pa.schema([("observation", pa.string())])
    dataset = ds.dataset(tmp_path / "logs", partitioning=ds.partitioning(schema))
    assert len(count_logs(dataset, controller()).states) == 2


def test_chosen_files_of_a_data_set(parts, expected):
    folder = parts("parquet", "logs/year=202{i}/p.parquet")
    whole = ds.dataset(folder, partitioning="hive")
    late = list(whole.get_fragments(filter=ds.field("year") >= 2022))
    chosen = ds.FileSystemDataset(late, whole.schema, whole.format, whole.filesystem)
    rest = count_logs([folder / f"year=202{i}/p.parquet" for i in (0, 1)], controller(jm.window(2)))
    found = count_logs(chosen, controller(jm.window(2)))
    assert 0 < found.facts.episodes < expected.facts.episodes
    the_same(found + rest, expected)


def test_several_data_sets_and_files_of_different_kinds(parts, tmp_path, expected):
    folder = parts()
    for i in (1, 2):
        pyarrow.csv.write_csv(pq.read_table(folder / f"{i}.parquet"), tmp_path / f"{i}.csv")
    union = ds.dataset(
        [ds.dataset(folder / "0.parquet"), ds.dataset(tmp_path / "1.csv", format="csv")]
    )
    several = [union, tmp_path / "2.csv", ds.dataset([str(folder / "3.parquet")])]
    the_same(count_logs(several, controller(jm.window(2))), expected)
    with pytest.raises(LogError, match=r"3\.parquet: is given twice"):
        count_logs([*several, folder / "3.parquet"], controller())


def test_a_folder_as_a_file_system(parts, expected):
    folder = parts("csv")
    below = fs.SubTreeFileSystem(str(folder.parent), fs.LocalFileSystem())
    dataset = ds.dataset("logs", format="csv", filesystem=below)
    found = count_logs(dataset, controller(jm.window(2)))
    the_same(found, expected)
    assert found.files.parts[0].file == str(folder / "0.csv")


@pytest.mark.parametrize("kind", ["csv.gz", "parquet", "arrow"])
def test_any_file_system_that_pyarrow_knows(parts, expected, kind):
    """One of fsspec."""
    fsspec = pytest.importorskip("fsspec")
    folder = parts(kind)
    system = fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem("file")))
    dataset = ds.dataset(str(folder), format=FORMATS[kind], filesystem=system)
    found = count_logs(dataset, controller(jm.window(2)))
    the_same(found, expected)
    assert found.files.parts[0].file == f"file://{folder}/0.{kind}"
    assert pickle.loads(pickle.dumps(prepare(dataset, controller()))) is not None


def test_read_at_once(parts):
    folder = parts("csv")
    whole = jm.read_logs(a_table(21))
    dataset = ds.dataset(folder, format="csv")
    assert jm.read_logs(dataset).reward.tolist() == whole.reward.tolist()
    assert len(jm.read_logs(ds.dataset(a_table(21)))) == 60
    some = dataset.filter(ds.field("episode") < "e0010")
    assert len(jm.read_logs(some)) == 10
    assert jm.improve(dataset, controller(), discount=0.9, algorithm="spibb") is not None


# ---- what a worker gets --------------------------------------------------------------------------


def test_what_travels_is_small(parts):
    job = prepare(ds.dataset(parts()), controller())
    assert len(pickle.dumps(job)) < 4000
    again = pickle.loads(pickle.dumps(job))
    assert again.plan == job.plan


@pytest.mark.slow
def test_the_credentials_of_a_file_system_travel(expected, monkeypatch):
    with serving() as store:
        parts = in_parts(a_table(21))
        store.upload("sets", {f"site={i}/p.parquet": part for i, part in enumerate(parts)})
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        with store.only_for_one() as (key, secret):
            system = fs.S3FileSystem(
                access_key=key, secret_key=secret, scheme="http", region="us-east-1",
                endpoint_override=f"127.0.0.1:{store.port}",
            )  # fmt: skip
            dataset = ds.dataset("sets", filesystem=system, partitioning="hive")
            asked = {"columns": {"cluster": "site"}}
            like = controller(jm.window(2))
            for workers in ({}, {"engine": "processes", "jobs": 2}):
                found = count_logs(dataset, like, **asked, **workers)
                the_same(found, expected)
            assert found.files.parts[0].file == "s3://sets/site=0/p.parquet"
            named = pickle.dumps(prepare(dataset, like))
            assert named.count(secret.encode()) == 1
            by_address = count_logs(f"s3://{key}:{quoted(secret)}@sets{store}", like)
            the_same(by_address, expected)


# ---- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda d: ds.dataset(d).filter(ds.field("step") > 1), "dataset: it is filtered.*Leave"),
        (lambda d: ds.dataset(a_table(21)), r"dataset: it lies in memory.*jumar\.read_logs"),
        (lambda d: ds.dataset([], schema=a_table(21).schema), "dataset: it has no files"),
        (lambda d: gone(d), r"/0\.parquet: cannot be read as Parquet"),
        (lambda d: some_groups(d), r"/0\.parquet: the dataset has only some row groups"),
        (lambda d: opened(d, as_orc()), "orc is not read. Write it as Parquet"),
    ],
)
def test_what_is_not_read(parts, make, facts):
    with pytest.raises(LogError, match=facts):
        count_logs(make(parts()), controller())


def opened(folder, form):
    """Without a look into the files."""
    return ds.dataset(folder, format=form, schema=a_table(21).schema)


def gone(folder):
    found = ds.dataset(folder)
    (folder / "0.parquet").unlink()
    return found


def as_orc():
    return pytest.importorskip("pyarrow._dataset_orc").OrcFileFormat()


def some_groups(folder):
    whole = ds.dataset(folder)
    pieces = [each.subset(row_group_ids=[0]) for each in whole.get_fragments()]
    return ds.FileSystemDataset(pieces, whole.schema, whole.format, whole.filesystem)
