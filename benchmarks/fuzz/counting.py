"""Inputs for counting: logs in several files, files of counts that are damaged, runs to go on with.

Most damage goes past the checksums of Parquet: the file is taken apart, a column, a cell or the
JSON in its metadata is changed, and a sound Parquet file is written of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
from typing import Any

import deep
import mutate
import seeds
from cases import THEN, Case, possible

KEY = b"jumar"
ENDINGS = ("csv", "csv", "tsv", "csv.gz", "parquet", "parquet", "parquet", "arrow", "ndjson")
CONTROLLERS = ("coin.toml", "coin.toml", "coin.toml", "rule.toml", "window.json")
READING: tuple[tuple[str, ...], ...] = (
    *((),) * 12,
    ("--ends", "cut"),
    ("--cost",),
    ("--missing", "symbol"),
    ("--missing", "drop"),
    ("--repeated", "drop"),
    ("--gap", "2"),
    ("--bins", "reading=ok:0:noise", "--columns", "observation=reading"),
    ("--columns", "observation=observation+reading"),
    ("--columns", "cluster=cluster"),
    ("--columns", "step=time"),
    ("--columns", "episode=plant"),
    ("--prices", "action:replace=-2"),
    ("--format", "CSV"),
)
SHARDS = ("1/1", "1/2", "2/2", "3/7", "0/1", "2/1", "1/0", "1/99999999999999999999", "a/b", "1", "")
SHARDS = (*SHARDS, "1/1/1", "-1/2", "١/١", "½/1", "1/" + "9" * 5000)
OUTPUTS = (
    *("counts.parquet",) * 12,
    "counts.csv",
    "no/counts.parquet",
    ".",
    "log.csv",
    "/dev/null",
)


def _changed(rows: list[dict[str, Any]], ending: str, rng: random.Random) -> bytes:
    """Rows as a file: as they are, with odd cells, or damaged as bytes."""
    kind = rng.randrange(6)
    if kind < 3:
        rows = mutate.retable(rows, rng)
    data = mutate.table_bytes(rows, ending, rng)
    if kind == 3:
        binary = f".{ending}".endswith(mutate.BINARY)
        data = mutate.damage(data, rng) if binary else mutate.reword(data, rng)
    return data


def _table(rng: random.Random) -> list[dict[str, Any]]:
    more = [name for name in ("cluster", "time", "reading") if not rng.randrange(3)]
    return [{name: row.get(name) for name in (*seeds.BASIC, *more)} for row in seeds.rows()]


def _in_groups(rows: list[dict[str, Any]], rng: random.Random) -> bytes:
    """A Parquet file of several row groups, which may cut an episode."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer, row_group_size=rng.choice((1, 3, 7, 20)))
    return buffer.getvalue()


def _several(rng: random.Random) -> tuple[str, dict[str, bytes]]:
    """A log in one file or in several, one of them changed; and the folder they lie in."""
    rows, ending = _table(rng), rng.choice(ENDINGS)
    cuts = sorted(rng.choices(range(len(rows) + 1), k=rng.choice((0, 1, 1, 2, 4))))
    pieces = [rows[i:j] for i, j in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    hurt = rng.randrange(len(pieces))
    folder = rng.choice(("", "logs/", "logs/", "logs/plant=ok/", "logs/plant=%1b[2J/", "lo\x1bgs/"))
    files = {}
    for i, piece in enumerate(pieces):
        one = ending if rng.randrange(8) else rng.choice(ENDINGS)
        if i == hurt:
            data = _changed(piece, one, rng)
        elif one == "parquet" and piece and rng.randrange(2):
            data = _in_groups(piece, rng)
        else:
            data = mutate.table_bytes(piece, one, rng)
        files[f"{folder}log-{i}.{one}"] = data
    return folder, files


def log(rng: random.Random) -> Case:
    """A log in one file or in several, in a folder, behind a pattern; and `jumar count`."""
    folder, files = _several(rng)
    named, kind = list(files), rng.randrange(6)
    if kind == 0:
        sources = [rng.choice((folder or ".", "logs", "."))]
    elif kind == 1:
        sources = [rng.choice(("logs/**", "*/*", f"{folder}*", f"{folder}log-[0-9]*", "[", "**/*"))]
    elif kind == 2 and not rng.randrange(3):
        sources = [*named, rng.choice((*named, "none.csv", *mutate.ODD_TEXTS))]
    else:
        sources = named
    if rng.randrange(12) == 0:
        rng.shuffle(sources)
    words = ["count", *sources, *_asked(rng), *rng.choice(READING)]
    files |= {name: seeds.files()[name] for name in set(CONTROLLERS)}
    return Case("count", possible(words), files)


def at_once(rng: random.Random) -> Case:
    """The same, read at once by other commands."""
    folder, files = _several(rng)
    where = (folder or ".", folder or ".", f"{folder}*", f"{folder}log-[0-9]*", "**/*", ".")
    command = rng.choice(ONES)
    words = [command[0], rng.choice(where), *command[1:], *rng.choice(READING)]
    words += ["--each-file"] if rng.randrange(3) == 0 else []
    words += ["--json"] if rng.randrange(2) and command[0] != "init" else []
    files |= {name: seeds.files()[name] for name in set(CONTROLLERS)}
    return Case("several files", possible(words), files)


ONES = (
    ("check", "--policy", "coin.toml"),
    ("check", "--policy", "coin.toml", "--discount", "0.9"),
    ("check", "--policy", "estimate"),
    ("convert", "-o", "all.csv"),
    ("convert", "-o", "all.parquet"),
    ("init", "--yes"),
    ("estimate", "--policy", "coin.toml", "--controller", "coin.toml", "--discount", "0.9"),
    ("improve", "--policy", "coin.toml", "--discount", "0.9", "--n-wedge", "2"),
    ("improve", "--policy", "estimate", "--discount", "0.9"),
    ("improve", "--policy", "coin.toml", "--discount", "0.9", "--learn-memory", "-o", "out"),
    ("improve", "--policy", "coin.toml", "--discount", "0.9"),
)


def _asked(rng: random.Random) -> list[str]:
    words = ["--policy", rng.choice(CONTROLLERS), "-o", rng.choice(OUTPUTS)]
    if rng.randrange(3) == 0:
        words += ["--window", rng.choice(("1", "2", "3", "7", "40", *mutate.ODD_NUMBERS))]
        words += ["--with-actions"] if rng.randrange(2) else []
    words += ["--shard", rng.choice(SHARDS)] if rng.randrange(3) == 0 else []
    words += ["--jobs", rng.choice(("1", "2", "0", "-1"))] if rng.randrange(4) == 0 else []
    words += ["--resume"] if rng.randrange(8) == 0 else []
    return words + (["--json"] if rng.randrange(2) else [])


# ---- files of counts ----------------------------------------------------------------------------


COUNTS = ("first.counts", "second.counts", "wide.counts", "nodes.counts")


def _damaged(rng: random.Random, name: str) -> bytes:
    data, kind = seeds.counts()[name], rng.randrange(8)
    if kind == 0:
        return mutate.damage(data, rng)
    return _other_metadata(data, rng) if kind < 4 else _other_columns(data, rng)


def counts(rng: random.Random) -> Case:
    """A damaged file of counts, merged with a sound one or alone."""
    data = _damaged(rng, rng.choice(COUNTS))
    files = {"damaged.parquet": data, "sound.parquet": seeds.counts()["second.counts"]}
    both = ["damaged.parquet", "sound.parquet"]
    if rng.randrange(2):
        both.reverse()
    words = ["merge", *rng.choice((both, both, ["damaged.parquet"], ["damaged.parquet"] * 2))]
    words += ["-o", rng.choice((*("out.parquet",) * 9, "damaged.parquet", "no/x.parquet", "."))]
    return Case("counts", (*words, *(["--json"] if rng.randrange(2) else [])), files)


def learned(rng: random.Random) -> Case:
    """`jumar improve --counts` on a file of counts, sound or damaged."""
    name = rng.choice(COUNTS)
    data = _damaged(rng, name) if rng.randrange(3) else seeds.counts()[name]
    made_by = "rule.toml" if name == "nodes.counts" else "coin.toml"
    rule = made_by if rng.randrange(6) else rng.choice((*CONTROLLERS, "estimate", "model.toml"))
    words = ["improve", "--counts", "counts.parquet", "--policy", rule, *_from_counts(rng)]
    files = {each: seeds.files()[each] for each in {*CONTROLLERS, "model.toml"}}
    return Case("by counts", tuple(words), {"counts.parquet": data, **files})


def _from_counts(rng: random.Random) -> list[str]:
    """What is asked of counts; most of what needs episodes is refused."""
    words = ["--discount", rng.choice(deep.DISCOUNTS)]
    by_counts = ("spibb", "spibb_leq", "basic", "tilt")
    chosen = rng.choice(by_counts if rng.randrange(4) else deep.ALGORITHMS)
    words += ["--algorithm", chosen] if rng.randrange(3) else []
    words += ["--simplify"] if rng.randrange(3) == 0 else []
    if "--simplify" in words:
        words += ["--gain-share", rng.choice(("0.5", "1", "0"))] if rng.randrange(3) == 0 else []
    if rng.randrange(5) == 0:
        words += ["--window", rng.choice(("1", "2", "3", "9"))]
        words += ["--with-actions"] if rng.randrange(3) == 0 else []
    words += (
        ["--rewards", rng.choice(("-2:1", "0:0", "-1e300:1e300"))] if not rng.randrange(5) else []
    )
    words += ["--delta", rng.choice(("0.5", "0.999", "1e-300"))] if rng.randrange(5) == 0 else []
    words += ["--n-wedge", rng.choice(("0", "1", "1000000"))] if rng.randrange(8) == 0 else []
    words += rng.choice(NEED_EPISODES) if rng.randrange(8) == 0 else ()
    words += ["-o", "out"] if rng.randrange(6) == 0 else []
    return words + (["--json"] if rng.randrange(2) else [])


NEED_EPISODES: tuple[tuple[str, ...], ...] = (
    ("--keep", "safety"),
    ("--objective", "cost"),
    ("--learn-memory",),
    ("--candidates", "soft"),
    ("--gate", "asymptotic"),
    ("--horizon", "3"),
    ("--cost",),
)


def counted(rng: random.Random) -> Case:
    """An odd log, counted in one part or in two that are merged, and what is learned from it."""
    files, rows, name, _ = deep.odd_log(rng)
    holes = any(row.get("observation") is None for row in rows)
    files[name] = mutate.table_bytes(rows, name.partition(".")[2], rng)
    count = ["count", name, "--policy", "rule.json"]
    count += ["--window", rng.choice("123")] if rng.randrange(3) == 0 else []
    count += ["--missing", "drop"] if holes and rng.randrange(6) else []
    count += rng.choice((*((),) * 6, ("--missing", "symbol"), ("--cost",), ("--ends", "cut")))
    if rng.randrange(2):
        words = [*count, "-o", "counts.parquet"]
    else:
        words = [*count, "--shard", "1/2", "-o", "a.parquet", THEN]
        words += [*count, "--shard", "2/2", "-o", "b.parquet", THEN]
        words += ["merge", "a.parquet", "b.parquet", "-o", "counts.parquet"]
    rule = "rule.json" if rng.randrange(9) else "other.json"
    words += [THEN, "improve", "--counts", "counts.parquet", "--policy", rule, *_from_counts(rng)]
    return Case("counted", tuple(words), files)


def _read(data: bytes) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.read_table(pa.BufferReader(data), partitioning=None)


def _written(table: Any) -> bytes:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def _other_metadata(data: bytes, rng: random.Random) -> bytes:
    table = _read(data)
    about = table.schema.metadata[KEY]
    kind = rng.randrange(8)
    if kind == 0:
        about = mutate.damage(about, rng)
    elif kind == 1:
        about = mutate.reword(about, rng)
    elif kind == 2 and not rng.randrange(5):
        about = rng.choice((b"", b"null", b"[]", b"1", b"[" * 100_000, b"\xff", b'{"format":1}'))
    else:
        about = mutate.as_json(mutate.revalue(json.loads(about), rng))
    return _written(table.replace_schema_metadata({KEY: about}))


def _other_columns(data: bytes, rng: random.Random) -> bytes:
    """One column with another type, other cells, or none at all; or other rows."""
    import pyarrow as pa

    table = _read(data)
    about = table.schema.metadata
    at = rng.randrange(table.num_columns)
    name, kind = table.column_names[at], rng.randrange(10)
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        if kind == 0:
            table = table.drop_columns([name])
        elif kind == 1:
            new = rng.choice((*mutate.ODD_TEXTS, *table.column_names))
            table = table.rename_columns([new if n == name else n for n in table.column_names])
        elif kind == 2:
            order = list(range(table.num_rows))
            order = rng.choice((order[::-1], order * 2, order[:3], [], rng.sample(order, 5)))
            table = table.take(pa.array(order, pa.int64()))
        elif kind == 3:
            table = table.set_column(at, name, table.column(rng.randrange(table.num_columns)))
        elif kind == 4:
            wanted = rng.choice((pa.string(), pa.float64(), pa.int8(), pa.bool_(), pa.float16()))
            table = table.set_column(at, name, table.column(at).cast(wanted, safe=False))
        else:
            table = table.set_column(at, name, _other_cells(table.column(at), rng))
    return _written(table.replace_schema_metadata(about))


def _other_cells(column: Any, rng: random.Random) -> Any:
    """Some cells of a column changed; it keeps its type where that can hold them."""
    import pyarrow as pa

    cells = column.to_pylist()
    for _ in range(rng.choice((1, 1, 2))):
        i = rng.randrange(len(cells))
        cell = cells[i]
        if isinstance(cell, list) and rng.randrange(4):
            cell = list(cell)
            where = rng.randrange(len(cell) + 1)
            value = rng.choice((0, 1, -1, 2**31 - 1, 7, None, 0.5, 1e308, float("nan")))
            cell[where : where + rng.randrange(2)] = [value]
            cells[i] = cell
        else:
            near = mutate.near(cell, rng)
            cells[i] = rng.choice((rng.choice(mutate.CELLS), near, rng.choice(cells)))
    try:
        return pa.chunked_array([pa.array(cells, column.type)])
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.chunked_array([pa.array(cells)])


# ---- runs to go on with -------------------------------------------------------------------------


def kept(rng: random.Random) -> Case:
    """`jumar count --resume` beside what an earlier run left, or something else."""
    name = f"shard-{rng.choice(('0-1', '0-1', '0-1', '1-2', '0-9', '1', 'a-b', ''))}.parquet"
    manifest = {"job": rng.choice(("0" * 64, seeds.fingerprint(), seeds.fingerprint()))}
    text = json.dumps(manifest).encode()
    if rng.randrange(3) == 0:
        text = rng.choice((b"", b"[]", b"null", b'"job"', b"\xff\xfe", mutate.damage(text, rng)))
    data = seeds.counts()[rng.choice(("first.counts", "second.counts"))]
    data = rng.choice((data, mutate.damage(data, rng), _other_metadata(data, rng)))
    if rng.randrange(10) == 0:
        left = {"out.parquet.parts": text}  # a file where a folder should be
    else:
        left = {"out.parquet.parts/job.json": text, f"out.parquet.parts/{name}": data}
    files = {
        **left,
        **{each: seeds.files()[each] for each in ("log.csv", "coin.toml")},
    }
    words = ["count", "log.csv", "--policy", "coin.toml", "-o", "out.parquet"]
    words += ["--resume"] if rng.randrange(6) else []
    return Case("kept shards", (*words, *(["--json"] if rng.randrange(2) else [])), files)


# ---- drafts -------------------------------------------------------------------------------------


def draft(rng: random.Random) -> Case:
    """`jumar init`, which looks at any table at all."""
    ending = rng.choice(ENDINGS)
    name = f"log.{ending}"
    words = ["init", name, "--yes", *rng.choice(READING)]
    words += ["--policy", "coin.toml"] if rng.randrange(5) == 0 else []
    words += ["--json"] if rng.randrange(2) else []
    rows = [dict(row) for row in seeds.rows()]
    kept = [key for key in rows[0] if rng.randrange(5)]
    data = _changed([{key: row.get(key) for key in kept} for row in rows], ending, rng)
    return Case("draft", tuple(words), {name: data, "coin.toml": seeds.files()["coin.toml"]})
