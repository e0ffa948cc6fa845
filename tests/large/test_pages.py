"""Words and flags straight from the pages of a Parquet file: the slow twin is pyarrow."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumar.large import page_kernels, pages
from jumar.large.footers import read_chunks
from jumar.large.pages import quick_columns
from packed_bytes import varint

COLUMNS = ["word", "flag"]


def a_table(rows, words=5, seed=0, runs=1, gaps=0.0, nullable=True):
    """Words in runs of about this length, and flags."""
    rng = np.random.default_rng(seed)
    names = np.array([f"w{'ö' * (i % 3)}{i}" for i in range(words)], object)
    which = np.repeat(rng.integers(0, words, rows), rng.integers(1, runs + 1, rows))[:rows]
    missing = rng.random(rows) < gaps
    table = pa.table(
        {
            "word": pa.array(np.where(missing, None, names[which]), pa.string()),
            "flag": pa.array(np.where(missing, None, rng.random(rows) < 0.1), pa.bool_()),
        }
    )
    return (
        table if nullable else table.cast(pa.schema([f.with_nullable(False) for f in table.schema]))
    )


def written(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def only_quick(data, columns=COLUMNS, group=0, handle=None):
    """What is read here, and the file."""
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=["word"])
    chunks = read_chunks(data)[group]
    rows = file.metadata.row_group(group).num_rows
    wanted = {name: chunks[name] for name in columns if name in chunks}
    return quick_columns(handle or pa.BufferReader(data), file, wanted, rows), file


def both_ways(data, group=0):
    """What is read here, and what pyarrow reads."""
    quick, file = only_quick(data, group=group)
    return quick, file.read_row_group(group, columns=COLUMNS)


def same(quick, table):
    return all(pa.chunked_array([column]).equals(table[name]) for name, column in quick.items())


WRITTEN = {
    "as usual": {},
    "pages of the second version": {"data_page_version": "2.0"},
    "not packed": {"compression": "none"},
    "second version, not packed": {"compression": "none", "data_page_version": "2.0"},
    "zstd": {"compression": "zstd"},
    "gzip": {"compression": "gzip"},
    "small pages": {"data_page_size": 64, "write_batch_size": 13},
    "one page": {"data_page_size": 1 << 30, "max_rows_per_page": 1 << 30},
    "without statistics": {"write_statistics": False},
    "old version": {"version": "1.0"},
    "checked": {"write_page_checksum": True},
}


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("how", WRITTEN)
def test_all_is_read_as_pyarrow_reads_it(how, nullable):
    for rows in (1, 7, 8, 9, 500, 20_000, 20_001, 50_003):
        for words, runs in ((1, 1), (2, 40), (5, 1), (300, 9)):
            data = written(a_table(rows, words, rows, runs, nullable=nullable), **WRITTEN[how])
            quick, table = both_ways(data)
            assert same(quick, table)
            flags_differ = "second" in how  # there they are runs
            assert list(quick) == (["word"] if flags_differ else COLUMNS)


def test_a_later_row_group_has_its_own_dictionary():
    one, two = a_table(1000, 3, 1), a_table(1000, 9, 2)
    data = written(pa.concat_tables([one, two]), row_group_size=1000)
    for group, table in enumerate((one, two)):
        quick, _ = both_ways(data, group)
        assert quick["word"].to_pylist() == table["word"].to_pylist()


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_gaps_are_left_to_pyarrow(statistics, version):
    options = {"write_statistics": statistics, "data_page_version": version}
    for gaps in (0.0005, 0.5, 1.0):
        quick, _ = both_ways(written(a_table(20_000, gaps=gaps), **options))
        assert quick == {}
    late = pa.concat_tables([a_table(40_000), a_table(3, gaps=1.0)])  # only the last page has gaps
    assert both_ways(written(late, **options))[0] == {}


def test_other_encodings_and_other_columns_are_left_to_pyarrow():
    table = a_table(5000, 4000)
    quick, _ = both_ways(written(table, dictionary_pagesize_limit=100))  # from some page on plain
    assert list(quick) == ["flag"]
    quick, _ = both_ways(written(table, use_dictionary=False))
    assert list(quick) == ["flag"]
    assert both_ways(written(table, compression="lz4"))[0] == {}
    nested = pa.table({"word": [["a"], ["b"]], "flag": [{"x": True}, {"x": False}]})
    file = io.BytesIO()
    pq.write_table(nested, file)
    assert read_chunks(file.getvalue()) == ({},)


@pytest.mark.parametrize("how", WRITTEN)
def test_damaged_pages_are_left_to_pyarrow_or_read_alike(how):
    """Whatever bytes there are: no crash, and nothing that pyarrow reads otherwise. What it refuses
    is left to it, or what was damaged does not matter."""
    rng = np.random.default_rng(5)
    seen = {"alike": 0, "left": 0}
    for turn in range(150):
        words, runs = ((3, 1), (300, 30), (2, 200))[turn % 3]
        table, name = a_table(900, words, turn % 7, runs), COLUMNS[turn % 2]
        data = bytearray(written(table, **WRITTEN[how]))
        chunk = pq.ParquetFile(pa.BufferReader(bytes(data))).metadata.row_group(0).column(turn % 2)
        begin = chunk.dictionary_page_offset or chunk.data_page_offset
        data[begin + int(rng.integers(chunk.total_compressed_size))] = rng.integers(256)
        quick, file = only_quick(bytes(data), [name])
        if not quick:
            seen["left"] += 1
            continue
        try:
            expected = file.read_row_group(0, columns=[name])[name]
        except OSError:
            assert quick[name].to_pylist() == table[name].to_pylist()
            continue
        assert pa.chunked_array([quick[name]]).equals(expected)
        seen["alike"] += 1
    assert min(seen.values()) > 10


def test_a_chunk_that_is_cut_off_is_left_to_pyarrow():
    data = written(a_table(900))
    for n in (0, 4, 50, 200):
        assert only_quick(data, handle=pa.BufferReader(data[:n]))[0] == {}


# ---- the loops ----------------------------------------------------------------------------------


def runs_of(codes, width, rng):
    """The obvious way to pack numbers in runs of both kinds."""
    out, at = bytearray([width]), 0
    while at < len(codes):
        same = 1
        while at + same < len(codes) and codes[at + same] == codes[at]:
            same += 1
        if same >= 8 or at + 8 > len(codes):
            same = same if same >= 8 else 1
            out += varint(same << 1) + int(codes[at]).to_bytes((width + 7) // 8, "little")
            at += same
        else:
            groups = int(rng.integers(1, (len(codes) - at) // 8 + 1))
            packed = 0
            for i, code in enumerate(codes[at : at + 8 * groups]):
                packed |= int(code) << (i * width)
            out += varint(groups << 1 | 1) + packed.to_bytes(groups * width, "little")
            at += 8 * groups
    return bytes(out)


def in_words(data):
    found = np.zeros(len(data) // 4 + 3, np.uint32)
    found.view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
    return found


@pytest.mark.parametrize("width", [0, 1, 2, 3, 7, 8, 9, 13, 16, 24, 25, 31])
def test_numbers_of_every_width(width):
    rng = np.random.default_rng(width)
    for n in (1, 8, 9, 63, 200, 1000):
        codes = np.repeat(rng.integers(0, 1 << width, n), rng.integers(1, 12, n))[:n]
        data = runs_of(codes.tolist(), width, rng)
        found = np.full(n, -1, np.int32)
        largest = int(codes.max())
        if largest + 1 < 1 << 31:
            assert page_kernels.unpack(in_words(data), len(data), 0, largest + 1, found)
            assert found.tolist() == codes.tolist()
        assert not page_kernels.unpack(in_words(data), len(data), 0, largest, found)
        more = np.empty(n + 1, np.int32)
        assert not page_kernels.unpack(in_words(data), len(data), 0, 1 << 31, more)


def test_any_bytes_at_all():
    """Nothing is written past the end, and every loop ends."""
    rng = np.random.default_rng(1)
    told = np.zeros(page_kernels.TOLD, np.int64)
    for _ in range(5000):
        data = rng.integers(0, 256, int(rng.integers(0, 40)), np.uint8)
        if rng.random() < 0.5 and len(data):
            data[0] %= 34
        found = np.full(120, -7, np.int32)
        page_kernels.unpack(in_words(data.tobytes()), len(data), 0, 1 << 31, found[10:110])
        assert (found[:10] == -7).all()
        assert (found[110:] == -7).all()
        assert page_kernels.where_values_begin(data, 100) <= len(data)
        assert page_kernels.read_header(data, 0, told) <= len(data)


def test_bits_behind_bits():
    rng = np.random.default_rng(2)
    for _ in range(200):
        pieces = [rng.random(int(n)) < 0.5 for n in rng.integers(0, 40, 6)]
        into = np.zeros((sum(map(len, pieces)) + 7) // 8, np.uint8)
        at = 0
        for piece in pieces:
            bits = np.packbits(piece, bitorder="little")
            if len(bits):
                bits[-1] |= 0xFF << (len(piece) % 8 or 8) & 0xFF  # what is behind it is not ours
            page_kernels.put_bits(bits, len(piece), into, at)
            at += len(piece)
        every = np.concatenate(pieces)
        assert np.unpackbits(into, count=len(every), bitorder="little").tolist() == every.tolist()


def test_too_many_words_are_left_to_pyarrow(monkeypatch):
    monkeypatch.setattr(pages, "MOST_WORDS", 2)
    quick, _ = both_ways(written(a_table(500)))
    assert list(quick) == ["flag"]
