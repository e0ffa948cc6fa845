"""Files behind a file system of pyarrow: read as the same files by their path are."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from jumar.core.errors import LogError
from jumar.log.addresses import Address, shown_address
from jumar.log.formats import FarFile, open_log

TABLE = pa.table({"episode": [1, 1, 2], "observation": ["a", "b", "ä"], "reward": [0.5, 1.0, -2.0]})


def as_workbook(table, path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (table.column_names, *zip(*table.to_pydict().values(), strict=True)):
        book.active.append(row)
    book.save(path)


def as_lines(table, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


WRITERS = {
    "csv": pyarrow.csv.write_csv,
    "parquet": pq.write_table,
    "arrow": pyarrow.feather.write_feather,
    "ndjson": as_lines,
    "json": lambda table, path: path.write_text(json.dumps(table.to_pylist())),
    "xlsx": as_workbook,
}


def far(path, name="s3://loft/log"):
    return FarFile(name, fs.LocalFileSystem(), str(path), path.stat().st_size)


def rows(source):
    text = ["observation"]
    read = pa.Table.from_batches(source.batches(source.names, text))
    return read.to_pydict(), source.rows(read.num_rows).tolist()


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("kind", WRITERS)
def test_the_same_rows(tmp_path, kind, zipped):
    path = tmp_path / f"log.{kind}"
    WRITERS[kind](TABLE, path)
    if zipped:
        if kind in ("parquet", "arrow", "xlsx"):
            pytest.skip("is compressed by itself")
        raw, path = path.read_bytes(), tmp_path / f"log.{kind}.gz"
        path.write_bytes(gzip.compress(raw))
    assert rows(open_log(far(path))) == rows(open_log(path))


@pytest.mark.parametrize("kind", list(WRITERS))
def test_a_damaged_file_is_named_as_it_was_given(tmp_path, kind):
    path = tmp_path / f"log.{kind}"
    path.write_bytes(b"\x00\xff\x13 no log")
    with pytest.raises(LogError, match=r"^s3://loft/log[:,] "):
        rows(open_log(far(path)))


def test_what_is_not_read(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"")
    with pytest.raises(LogError, match=r"^s3://loft/log: the file is empty"):
        open_log(far(tmp_path / "log.csv"))
    (tmp_path / "log.what").write_bytes(b"x")
    with pytest.raises(LogError, match=r"^s3://loft/log: cannot tell the format"):
        open_log(far(tmp_path / "log.what"))
    with pytest.raises(LogError, match=r"^s3://loft/log: Minari is not read from there. Copy it"):
        open_log(far(tmp_path / "log.csv"), "Minari")


# ---- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3://bucket/a@b/c.csv", "s3://bucket/a@b/c.csv"),
        ("s3://me:hush@bucket/a@b", "s3://me:***@bucket/a@b"),
        ("s3://me:hu/sh@bucket/a@b", "s3://me:***@bucket/a@b"),
        ("s3://me@bucket/a", "s3://me@bucket/a"),
        ("s3://b/a?region=x&session_token=hush", "s3://b/a?region=x&session_token=***"),
        ("abfs://:hush@account/a?sig=hush", "abfs://:***@account/a?sig=***"),
        ("hdfs://host:9000/a@b", "hdfs://host:9000/a@b"),
        ("gs://anonymous@b/a?endpoint_override=h:1", "gs://anonymous@b/a?endpoint_override=h:1"),
        ("tcp://big:8786", "tcp://big:8786"),
        ("file:///a/b:c@d", "file:///a/b:c@d"),
        ("logs/a:b@c.csv", "logs/a:b@c.csv"),
    ],
)
def test_what_is_shown_of_an_address(address, shown):
    assert shown_address(address) == shown
    assert "hush" not in repr(Address.of(address))


def test_what_a_library_says_is_shown_without_the_secret():
    address = Address.of("s3://me:a%2Fb%2Bc@bucket/x?token=hush&region=eu")
    said = "no me:a/b+c, a%2Fb%2Bc or hush in eu"
    assert address.without_secret(said) == "no me:***, *** or *** in eu"
    assert address.name_of("bucket/x y.csv") == "s3://bucket/x%20y.csv?token=***&region=eu"
