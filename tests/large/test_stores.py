"""Logs in partitioned folders, behind addresses, and in an object store on this machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import jumar as jm
from commands import run_command
from jumar.core.errors import LogError
from jumar.large import counting
from jumar.large.counting import count_logs
from jumar.pipeline.in_parts import improve_logs
from large.test_counting import a_table, controller
from large.test_counts_files import the_same


def in_parts(table, n=4):
    """A log in n parts; no episode lies in two."""
    labels = table["episode"].to_pylist()
    begins = [i for i, label in enumerate(labels) if i == 0 or label != labels[i - 1]]
    cuts = [begins[len(begins) * k // n] for k in range(n)] + [len(labels)]
    return [table.slice(a, b - a) for a, b in pairwise(cuts)]


def save(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=40)
    else:
        pyarrow.csv.write_csv(table, path)


@pytest.fixture
def expected(tmp_path):
    save(a_table(21), tmp_path / "whole.parquet")
    return count_logs(tmp_path / "whole.parquet", controller(jm.window(2)))


# ---- folders called key=value --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("shard_rows", [1, 10**9])
def test_a_folder_tells_the_cluster(tmp_path, expected, monkeypatch, kind, general, shard_rows):
    monkeypatch.setattr(counting, "SHARD_ROWS", shard_rows)
    for i, part in enumerate(in_parts(a_table(21))):
        save(part, tmp_path / f"logs/year=2024/site=No. {i}/part.{kind}")
    more = {"repeated": "drop"} if general else {}
    found = count_logs(
        tmp_path / "logs", controller(jm.window(2)), columns={"cluster": "site"}, **more
    )
    the_same(found, expected)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("general", [False, True])
def test_a_folder_tells_the_episode(tmp_path, expected, kind, general):
    table = a_table(21)
    for i, part in enumerate(in_parts(table, 60)):
        label = part["episode"][0].as_py()
        for k, piece in enumerate((part.slice(0, 2), part.slice(2))):  # of one or two files
            if piece.num_rows and not (general and k):
                piece = part if general else piece
                save(
                    piece.drop_columns("episode"),
                    tmp_path / f"logs/nr={i:03d}/episode={label}/{k}.{kind}",
                )
    more = {"repeated": "drop"} if general else {}
    the_same(count_logs(tmp_path / "logs", controller(jm.window(2)), **more), expected)


def test_folders_tell_values_that_are_quoted(tmp_path):
    table = a_table(21).drop_columns("observation")
    save(table, tmp_path / "logs/observation=gut %26 gerne/a.parquet")
    like = jm.Controller.uniform(("gut & gerne", "other"), ("keep", "fix"))
    assert len(count_logs(tmp_path / "logs", like).states) == 1


def test_whole_clusters_are_held_out(tmp_path):
    model = jm.models.tiger()
    behavior = jm.Controller.uniform(model.observations, model.actions)
    tables = []
    for i in range(6):
        log = jm.simulate(model, behavior, episodes=60, seed=i)
        jm.write_logs(log, tmp_path / "one.parquet")
        table = pq.read_table(tmp_path / "one.parquet").replace_schema_metadata(None)
        labels = pa.array([f"{i}-{e}" for e in table["episode"].to_pylist()])
        table = table.set_column(table.column_names.index("episode"), "episode", labels)
        save(table, tmp_path / f"folders/site=s{i}/log.parquet")
        tables.append(table.append_column("site", pa.array([f"s{i}"] * len(table))))
        save(tables[-1], tmp_path / f"columns/{i}.parquet")
    found = [
        improve_logs(tmp_path / name, behavior, discount=0.95, columns={"cluster": "site"})
        for name in ("folders", "columns")
    ]
    one, two = (result.selection.to_dict() for result in found)
    assert one == two


# ---- labels from dictionaries, which every file has of its own -----------------------------------


def test_an_episode_goes_on_in_a_file_with_another_dictionary(tmp_path, expected, monkeypatch):
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    table = a_table(21)
    for i, at in enumerate(range(0, table.num_rows, 37)):
        piece = table.slice(at, 37)
        labels = pa.array(piece["episode"].to_pylist()).dictionary_encode()
        save(piece.set_column(0, "episode", labels), tmp_path / f"logs/{i:02d}.parquet")
    the_same(count_logs(tmp_path / "logs", controller(jm.window(2)), jobs=2), expected)


# ---- addresses -----------------------------------------------------------------------------------


def test_addresses_of_files_here(tmp_path, expected):
    for i, part in enumerate(in_parts(a_table(21))):
        save(part, tmp_path / f"logs/day {i}/part.parquet")
    like = controller(jm.window(2))
    the_same(count_logs(f"file://{tmp_path}/whole.parquet", like), expected)
    the_same(count_logs((tmp_path / "logs").as_uri(), like), expected)
    the_same(count_logs(f"file://{tmp_path}/logs/*/part.parquet", like), expected)
    the_same(count_logs((tmp_path / "logs/day 0").as_uri(), like), count_logs(
        tmp_path / "logs/day 0", like
    ))  # fmt: skip
    pyarrow.csv.write_csv(a_table(21), tmp_path / "text.csv")
    the_same(count_logs((tmp_path / "text.csv").as_uri(), like), expected)


@pytest.mark.parametrize(
    ("address", "facts"),
    [
        ("file:///nowhere/at/all", ""),
        ("pigeon://loft/logs", "cannot be opened: .*Give an address such as s3://"),
    ],
)
def test_addresses_where_nothing_is(address, facts):
    with pytest.raises(LogError, match=f"^{address.removeprefix('file://')}: {facts}"):
        count_logs(address, controller())


# ---- an object store -----------------------------------------------------------------------------


def moto() -> str | None:
    """The program, beside this Python or where MOTO_SERVER says; not any that is on the path."""
    beside = Path(sys.executable).parent / "moto_server"
    return os.environ.get("MOTO_SERVER") or shutil.which(beside)


@pytest.fixture(scope="module")
def store():
    """The query of addresses in an S3 server on this machine."""
    program = moto()
    if program is None:
        pytest.skip("needs an S3 server: pip install 'moto[server]', or set MOTO_SERVER")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
            patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            yield f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    finally:
        server.kill()
        server.wait()


def upload(store, bucket, files):
    from pyarrow import fs

    system, _ = fs.FileSystem.from_uri(f"s3://{bucket}/x{store}&allow_bucket_creation=true")
    system.create_dir(bucket)
    for name, data in files.items():
        with system.open_output_stream(f"{bucket}/{name}", compression=None) as stream:
            if isinstance(data, bytes):
                stream.write(data)
            else:
                pq.write_table(data, stream, row_group_size=40)


@pytest.mark.slow
def test_counting_in_an_object_store(store, tmp_path, expected, capsys):
    parts = in_parts(a_table(21))
    upload(store, "logs", {f"all 100%/site={i}/p.parquet": part for i, part in enumerate(parts)})
    like = controller(jm.window(2))
    folder = f"s3://logs/all 100%25{store}"
    the_same(count_logs(folder, like), expected)
    the_same(count_logs(f"s3://logs/all%20100%25/*/p.parquet{store}", like), expected)
    asked = {"columns": {"cluster": "site"}}
    the_same(count_logs(folder, like, repeated="drop", **asked), expected)
    the_same(count_logs(folder, like, engine="processes", jobs=2, **asked), expected)
    like.save(tmp_path / "p.json")
    out = tmp_path / "counts.parquet"
    ran = run_command(capsys, "count", folder, "--policy", tmp_path / "p.json", "-o", out, "--json")
    assert ran.code == 0
    assert ran.data["episodes"] == 60
    with pytest.raises(LogError, match=r"^s3://logs/none\?.*: there is no such file or folder"):
        count_logs(f"s3://logs/none{store}", like)
    upload(store, "bad", {"a.parquet": parts[0], "b.parquet": b"PAR1 and no more"})
    with pytest.raises(LogError, match=r"^s3://bad/b\.parquet\?.*cannot be read as Parquet"):
        count_logs(f"s3://bad{store}", like)
    upload(store, "text", {"a.csv": b"episode,observation\n"})
    with pytest.raises(LogError, match=r"^s3://text/a\.csv\?.*only Parquet .*Copy it first"):
        count_logs(f"s3://text{store}", like)


@pytest.mark.slow
def test_sorting_what_lies_in_an_object_store(store, expected):
    pytest.importorskip("duckdb", reason="needs DuckDB: pip install 'jumar[duckdb]'")
    table = a_table(21)
    odd, even = ([i for i in range(table.num_rows) if i % 2 == k] for k in (1, 0))
    upload(store, "mixed", {"a.parquet": table.take(odd), "b.parquet": table.take(even)})
    the_same(count_logs(f"s3://mixed{store}", controller(jm.window(2)), sort=True), expected)


@pytest.mark.slow
def test_improving_in_an_object_store(store, tmp_path, capsys):
    model = jm.models.tiger()
    behavior = jm.Controller.uniform(model.observations, model.actions)
    jm.write_logs(jm.simulate(model, behavior, episodes=2000), tmp_path / "log.parquet")
    behavior.save(tmp_path / "p.json")
    upload(store, "tiger", {"logs/a.parquet": pq.read_table(tmp_path / "log.parquet")})
    asked = ["--policy", tmp_path / "p.json", "--discount", 0.95, "--json", "-o", tmp_path / "out"]
    ran = run_command(capsys, "improve", f"s3://tiger/logs{store}", *asked)
    assert ran.code == 0, ran.err
    here = improve_logs(tmp_path / "log.parquet", behavior, discount=0.95)
    text = ran.data["selection"]
    assert text == json.loads(json.dumps(here.assessment.to_dict()["selection"]))
