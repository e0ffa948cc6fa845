"""Logs in partitioned folders, behind addresses, and in an object store on this machine."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import time
from itertools import pairwise

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import jumar as jm
from commands import run_command
from jumar.core.errors import LogError
from jumar.log.shards.plan import plan
from jumar.tally import counting
from jumar.tally.counting import count_logs
from large_logs import improve_logs
from object_store import quoted, serving
from tally.test_counting import a_table, controller
from tally.test_counts_files import the_same


def in_parts(table, n=4):
    """A log in n parts; no episode lies in two."""
    labels = table["episode"].to_pylist()
    begins = [i for i, label in enumerate(labels) if i == 0 or label != labels[i - 1]]
    cuts = [begins[len(begins) * k // n] for k in range(n)] + [len(labels)]
    return [table.slice(a, b - a) for a, b in pairwise(cuts)]


def as_bytes(table, kind):
    """A file of this kind, perhaps compressed (csv.gz)."""
    file = io.BytesIO()
    if kind.startswith("csv"):
        pyarrow.csv.write_csv(table, file)
    elif kind == "arrow":
        pyarrow.feather.write_feather(table, file, compression="uncompressed", chunksize=29)
    elif kind == "parquet":
        pq.write_table(table, file, row_group_size=40)
    elif kind == "json":
        file.write(json.dumps(table.to_pylist()).encode())
    else:
        file.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
    raw = file.getvalue()
    return gzip.compress(raw) if kind.endswith(".gz") else raw


def save(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes(table, path.suffix[1:]))


@pytest.fixture
def expected(tmp_path):
    save(a_table(21), tmp_path / "whole.parquet")
    return count_logs(tmp_path / "whole.parquet", controller(jm.window(2)))


# ---- folders called key=value --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson"])
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


@pytest.fixture(scope="module")
def store():
    with serving() as found:
        yield found


@pytest.mark.slow
def test_counting_in_an_object_store(store, tmp_path, expected, capsys):
    parts = in_parts(a_table(21))
    store.upload("logs", {f"all 100%/site={i}/p.parquet": part for i, part in enumerate(parts)})
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
    store.upload("bad", {"a.parquet": parts[0], "b.parquet": b"PAR1 and no more"})
    with pytest.raises(LogError, match=r"^s3://bad/b\.parquet\?.*cannot be read as Parquet"):
        count_logs(f"s3://bad{store}", like)


@pytest.mark.slow
def test_sorting_what_lies_in_an_object_store(store, expected):
    pytest.importorskip("duckdb", reason="needs DuckDB: pip install 'jumar[duckdb]'")
    table = a_table(21)
    odd, even = ([i for i in range(table.num_rows) if i % 2 == k] for k in (1, 0))
    store.upload("mixed", {"a.parquet": table.take(odd), "b.parquet": table.take(even)})
    the_same(count_logs(f"s3://mixed{store}", controller(jm.window(2)), sort=True), expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "arrow", "ndjson", "ndjson.gz", "json"])
def test_every_format_is_read_where_it_lies(store, tmp_path, expected, monkeypatch, kind):
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    bucket = "of-" + kind.replace(".", "-")
    files = {f"site={i}/p.{kind}": as_bytes(p, kind) for i, p in enumerate(in_parts(a_table(21)))}
    store.upload(bucket, files)
    like, address = controller(jm.window(2)), f"s3://{bucket}{store}"
    the_same(count_logs(address, like, columns={"cluster": "site"}), expected)
    the_same(count_logs(address, like, engine="processes", jobs=2), expected)
    # what is wrong with a row is said as here, with the address of its file
    table = a_table(21)
    words = table["observation"].to_pylist()
    words[77] = "melted"
    bad = as_bytes(table.set_column(2, "observation", pa.array(words)), kind)
    store.upload(bucket, {f"bad/b.{kind}": bad})
    (tmp_path / f"b.{kind}").write_bytes(bad)
    with pytest.raises(LogError) as here:
        count_logs(tmp_path / f"b.{kind}", like)
    with pytest.raises(LogError) as there:
        count_logs(f"s3://{bucket}/bad{store}", like)
    place = str(there.value).partition(", row")[0]
    assert place == f"s3://{bucket}/bad/b.{kind}{store}"
    assert str(there.value).replace(place, str(tmp_path / f"b.{kind}")) == str(here.value)


@pytest.mark.slow
def test_text_in_an_object_store_that_is_not_plain(store, tmp_path, expected):
    """Blank lines and another separator are recognised there, and decimal commas read, too."""
    text = as_bytes(a_table(21), "csv").decode().replace(",", ";").replace(".", ",")
    text = text.replace('"', "").replace("\n", "\n\n", 3)
    store.upload("odd", {"a.csv": text.encode()})
    odd = count_logs(f"s3://odd{store}", controller(jm.window(2)), decimal=",")
    the_same(odd, expected)
    store.upload("empty", {"a.csv": b""})
    with pytest.raises(LogError, match=r"^s3://empty/a\.csv\?.*: the file is empty"):
        count_logs(f"s3://empty{store}", controller())
    store.upload("cut", {"a.csv.gz": as_bytes(a_table(21), "csv.gz")[:-100]})
    with pytest.raises(LogError, match=r"^s3://cut/a\.csv\.gz\?.*: cannot be read as CSV"):
        count_logs(f"s3://cut{store}", controller())


@pytest.mark.slow
def test_one_file_of_a_store_is_read_into_memory(store, tmp_path, capsys):
    table = a_table(21)
    here = jm.read_logs(table)
    for kind in ("parquet", "csv.gz", "ndjson"):
        store.upload("single", {f"a.{kind}": as_bytes(table, kind)})
        found = jm.read_logs(f"s3://single/a.{kind}{store}")
        assert found.reward.tolist() == here.reward.tolist()
    kinds = ("parquet", "csv.gz", "ndjson", "csv")
    parts = dict(zip(kinds, in_parts(table), strict=True))
    files = {f"day/{i}.{kind}": as_bytes(parts[kind], kind) for i, kind in enumerate(kinds)}
    store.upload("several-kinds", files)
    for where in ("", "/day", "/day/*"):
        found = jm.read_logs(f"s3://several-kinds{where}{store}")
        assert found.reward.tolist() == here.reward.tolist()
        assert found.where(0).startswith("s3://several-kinds/day/0.parquet?")
    store.upload(
        "several-kinds", {"day/4.csv": b"episode,step,observation,action,reward\n1,x,a,b,0\n"}
    )
    with pytest.raises(LogError, match=r"s3://several-kinds/day/4.csv\?"):
        jm.read_logs(f"s3://several-kinds{store}")
    with pytest.raises(LogError, match=r"^s3://single/no\.csv\?.*there is no such file"):
        jm.read_logs(f"s3://single/no.csv{store}")
    controller().save(tmp_path / "p.json")
    ran = run_command(
        capsys, "check", f"s3://single/a.csv.gz{store}", "--policy", tmp_path / "p.json",
        "--discount", 0.9, "--json",
    )  # fmt: skip
    assert ran.data["episodes"] == 60


@pytest.mark.slow
def test_credentials_in_an_address_are_used_and_travel(store, expected, monkeypatch):
    parts = in_parts(a_table(21))
    store.upload("private", {f"{i}.csv": as_bytes(part, "csv") for i, part in enumerate(parts)})
    like = controller(jm.window(2))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with store.only_for_one() as (key, secret):
        address = f"s3://{key}:{quoted(secret)}@private{store}"
        found = count_logs(address, like)
        the_same(found, expected)
        assert secret not in str(found.files)
        the_same(count_logs(address, like, engine="processes", jobs=2), expected)
        the_same(count_logs(address.replace("%2F", "/"), like), expected)  # as people write it
        for wrong in ("", f"{key}:wrong-{quoted(secret)}@"):
            refused = rf"s3://{key + ':[*]+@' if wrong else ''}private\?.*lets nobody in"
            with pytest.raises(LogError, match=refused) as told:
                count_logs(f"s3://{wrong}private{store}", like)
            assert secret not in str(told.value)
            assert quoted(secret) not in str(told.value)


@pytest.mark.slow
def test_a_secret_is_not_recorded(store, tmp_path, capsys, monkeypatch):
    model = jm.models.tiger()
    behavior = jm.Controller.uniform(model.observations, model.actions)
    jm.write_logs(jm.simulate(model, behavior, episodes=2000), tmp_path / "log.csv")
    behavior.save(tmp_path / "p.json")
    store.upload("hush", {"logs/a.csv": (tmp_path / "log.csv").read_bytes()})
    address = f"s3://me:sw33t%2Fhush@hush/logs{store}"
    asked = ["--policy", tmp_path / "p.json", "--discount", 0.95]
    ran = run_command(capsys, "improve", address, *asked, "-o", tmp_path / "out")
    assert ran.code == 0, ran.err
    counts = tmp_path / "counts.parquet"
    assert run_command(capsys, "count", address, *asked[:2], "-o", counts).code == 0
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(path.name == "run.json" for path in written)
    for text in (ran.out, ran.err, counts, *written):
        raw = text.encode() if isinstance(text, str) else text.read_bytes()
        assert b"sw33t" not in raw, text
    run = json.loads((tmp_path / "out/run.json").read_text())
    assert run["options"]["log"] == f"s3://me:***@hush/logs{store}"
    # repeated: the secret must be given once more
    again = ["improve", "--again", tmp_path / "out/run.json", "-o", tmp_path / "two"]
    refused = run_command(capsys, *again)
    assert refused.code == 1
    assert "its secret was not recorded. Give the address with its secret" in refused.err
    assert run_command(capsys, *again[:1], address, *again[1:]).code == 0
    for name in ("improved.json", "certificate.json", "decisions.csv"):
        one, two = ((tmp_path / out / name).read_text() for out in ("out", "two"))
        assert one == two


@pytest.mark.slow
def test_a_run_on_an_address_is_repeated_from_its_record(store, tmp_path, capsys):
    model = jm.models.tiger()
    behavior = jm.Controller.uniform(model.observations, model.actions)
    jm.write_logs(jm.simulate(model, behavior, episodes=2000), tmp_path / "log.parquet")
    behavior.save(tmp_path / "p.json")
    store.upload("again", {"logs/a.parquet": (tmp_path / "log.parquet").read_bytes()})
    asked = ["--policy", tmp_path / "p.json", "--discount", 0.95, "-o", tmp_path / "out"]
    first = run_command(capsys, "improve", f"s3://again/logs{store}", *asked, "--json")
    assert first.code == 0, first.err
    here = improve_logs(tmp_path / "log.parquet", behavior, discount=0.95).assessment.to_dict()
    assert first.data["selection"] == json.loads(json.dumps(here["selection"]))
    again = ["improve", "--again", tmp_path / "out/run.json", "-o", tmp_path / "two"]
    assert run_command(capsys, *again).code == 0
    for name in ("improved.json", "certificate.json", "decisions.csv"):
        one, two = ((tmp_path / out / name).read_text() for out in ("out", "two"))
        assert one == two


# ---- stores that are not there -------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        pytest.param(
            "s3://me:hu%2Fsh@loft/logs?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1",
            marks=pytest.mark.slow,
        ),
        "s3://me:hu/sh@loft:x/logs",
        "s3://me:hu/sh@loft/logs?regio=hush",
    ],
)
def test_no_message_shows_a_secret(address):
    with pytest.raises(LogError, match=r"^s3://me:\*\*\*@loft") as told:
        count_logs(address, controller())
    shown = repr(told.value) + str(told.value.__cause__) + str(told.value.__context__)
    assert "hu/sh" not in shown
    assert "hu%2Fsh" not in shown
    assert "hush" not in shown


@pytest.mark.slow
def test_google_s_store_is_understood_and_not_waited_for():
    """There is none to try it with: an address is understood, and nobody waits for long."""
    began = time.monotonic()
    place = "gs://anonymous@loft/logs?endpoint_override=127.0.0.1:9&scheme=http"
    with pytest.raises(LogError, match=r"^gs://anonymous@loft.*the store does not answer"):
        count_logs(place, controller())
    assert time.monotonic() - began < 60  # by itself, its client tries for 15 minutes


def test_what_travels_is_small_and_has_the_credentials(monkeypatch):
    """The file system is one object, however many files lie in it."""
    from pyarrow import fs

    asked = []

    def info(path):
        asked.append(path)
        if isinstance(path, str):
            return fs.FileInfo(path, fs.FileType.Directory)
        return [fs.FileInfo(f"loft/{i:04d}.csv", fs.FileType.File, size=10**6) for i in range(500)]

    from jumar.log.addresses import Address

    monkeypatch.setattr(Address, "asked", lambda self, question, what: info(what))
    query = "?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1"
    found = plan([f"s3://me:hu%2Fsh@loft{query}"])
    assert len(found.files) == 500
    raw = pickle.dumps(found)
    assert raw.count(b"hu/sh") == 1
    assert len(raw) < 500 * 300
    system = fs.S3FileSystem(
        access_key="me", secret_key="hu/sh", endpoint_override="127.0.0.1:9", scheme="http",
        region="us-east-1",
    )  # fmt: skip
    assert all(file.far.system.equals(system) for file in pickle.loads(raw).files)
    assert "hu/sh" not in repr(found)
