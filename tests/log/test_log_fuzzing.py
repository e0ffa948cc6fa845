"""Damaged logs are read or refused; the reader never crashes."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.core.errors import JumarError
from jumar.log.episodes import Episodes
from jumar.log.reading import read_logs
from log_rows import FORMATS, HEADER, ONE_OF_EACH

# ---------------------------------------------------------------- fuzzing


def _valid(ending: str) -> bytes:
    buffer = io.BytesIO()
    table = pa.table({**ONE_OF_EACH, "step": [1, 2, 1]})
    if ending in ("csv", "tsv", "csv.gz"):
        mark = "\t" if ending == "tsv" else ","
        lines = [f"{HEADER},step".replace(",", mark)]
        for e in range(4):
            for t in range(3):
                cells = [e, f'"zustand{mark} {t}"', "keep", t / 3, t == 2, t]
                lines.append(mark.join(map(str, cells)))
        text = ("\n".join(lines) + "\n").encode()
        buffer.write(gzip.compress(text) if ending == "csv.gz" else text)
    elif ending == "ndjson":
        for row in table.to_pylist() * 3:
            buffer.write(
                (json.dumps({**row, "episode": f"{len(buffer.getvalue())}"}) + "\n").encode()
            )
    elif ending == "stream":
        with pa.ipc.new_stream(buffer, table.schema) as stream:
            stream.write_table(table)
    elif ending == "arrow":
        with pa.ipc.new_file(buffer, table.schema) as file:
            file.write_table(table)
    else:
        pq.write_table(table, buffer, compression="none")
    return buffer.getvalue()


VALID = {ending: _valid(ending) for ending in (*FORMATS, "stream")}
edits = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.sampled_from(["set", "delete", "insert", "cut"]),
        st.sampled_from(b'\x00\xff\x80\n\r,";* .0129+-eEnNtT') | st.integers(0, 255),
    ),
    min_size=1,
    max_size=8,
)


def mutated(data: bytes, changes: list[tuple[int, str, int]]) -> bytes:
    made = bytearray(data)
    for position, kind, byte in changes:
        at = position % (len(made) + 1)
        if kind == "cut":
            del made[at:]
        elif kind == "insert":
            made.insert(at, byte)
        elif kind == "delete":
            del made[at : at + 1]
        else:
            made[at : at + 1] = bytes([byte])
    return bytes(made)


def outcome(path: Path) -> Episodes | str:
    """The log, or the message of the error; any other exception goes through."""
    try:
        return read_logs(path)
    except JumarError as error:
        return str(error)


@pytest.mark.parametrize("ending", VALID)
def test_a_damaged_file_is_read_or_refused_but_never_crashes(tmp_path, ending):
    path = tmp_path / ("log.arrow" if ending == "stream" else f"log.{ending}")
    kinds = set()

    @given(edits)
    def check(changes):
        path.write_bytes(mutated(VALID[ending], changes))
        found = outcome(path)
        kinds.add(type(found))
        if isinstance(found, str):
            assert found.startswith(str(path))
        else:
            assert np.isfinite(found.reward).all()

    path.write_bytes(VALID[ending])
    assert len(read_logs(path)) > 1  # without damage it is a log
    check()
    # files that are all whole, or all broken, test little; but JSON and gzip forgive nothing
    assert kinds >= ({str} if ending in ("ndjson", "csv.gz") else {str, Episodes})


def mostly(*usual: str) -> st.SearchStrategy[str]:
    rare = ["", "*", "nan", "1e400", "-1", "01", "2.5", " ", "true", "é"]
    return st.sampled_from(usual * 15 + tuple(rare))


def test_random_cells_are_read_or_refused(tmp_path):
    columns = {
        "episode": mostly("1", "2"),
        "observation": mostly("z", "0"),
        "action": mostly("a", "0"),
        "reward": mostly("0", "1"),
        "terminated": mostly("", "0"),
        "note": mostly("", "x"),
    }
    path = tmp_path / "log.csv"
    kinds = set()

    @given(
        st.permutations(list(columns)),
        st.lists(st.fixed_dictionaries(columns), max_size=6),
    )
    def check(header, rows):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, header)
            writer.writeheader()
            writer.writerows(rows)
        found = outcome(path)
        kinds.add(type(found))
        if isinstance(found, str):
            assert found.startswith(str(path))
        else:
            assert found.n_steps == sum(row["action"] != "" for row in rows)
            assert len(found) == len({row["episode"] for row in rows})

    check()
    assert kinds == {str, Episodes}
