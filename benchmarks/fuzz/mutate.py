"""Small damage: to bytes, to words of a text, to values of a document, to cells of a table."""

from __future__ import annotations

import contextlib
import copy
import datetime
import decimal
import gzip
import io
import json
import random
import re
from typing import Any

ODD_NUMBERS = (
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "3",
    "0.5",
    "1.5",
    "1e-9",
    "1e308",
    "-1e308",
    "1e400",
    "-1e400",
    "5e-324",
    "1e-163",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "NaN",
    "Infinity",
    "1e60",
    "1e-60",
    "9007199254740993",
    "2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "100000000000000000000",
    "1" + "0" * 400,
    "0.1",
    "0.9999999999999999",
    "1_000",
    "1,5",
    "١",
    "½",
    "0x10",
    "1e",
    "--1",
    "+1",
    " 1 ",
    "1e5",
    "1000000",
)
ODD_TEXTS = (
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\x00",
    "\x1b[2J",
    "\x07",
    "\u202e",
    "\ufeff",
    "é",
    "ζ",
    "名",
    "🐍",
    "e\u0301",
    "\u200b",
    "null",
    "None",
    "NA",
    "nan",
    "true",
    "TRUE",
    "False",
    "yes",
    "0",
    "1",
    "-",
    ".",
    "..",
    "/",
    "\\",
    "'",
    '"',
    "`",
    "=",
    ",",
    ";",
    ":",
    "|",
    "+",
    "*",
    "[]",
    "{}",
    "[",
    "]]",
    "{",
    "}",
    "<b>",
    "&amp;",
    "$(id)",
    "%s",
    "{0}",
    "a b",
    "x" * 300,
    "format",
    "episode",
    "observation",
    "estimate",
    "window",
    "keep",
    "missing",
    "2024-01-01",
    "01/02/2024",
    "12:30",
    "7d",
    "C:\\x",
    "../../etc/passwd",
    "/dev/null",
    "/dev/zero",
    "file:///etc",
    "a=b",
    "--help",
    "-o",
)
WORDS = re.compile(rb"[A-Za-z_]+|-?\d+(?:\.\d+)?(?:e-?\d+)?|\"[^\"\n]*\"|[\[\]{},;:=]")
BINARY = (".parquet", ".arrow", ".gz")


def odd_value(rng: random.Random, depth: int = 0) -> Any:
    """Anything that a JSON document can hold."""
    kind = rng.randrange(9 if depth < 3 else 7)
    if kind == 0:
        return rng.choice(ODD_TEXTS)
    if kind == 1:
        return rng.choice((0, 1, -1, 2, 5, 10**9, 2**31, 2**63, -(2**63), 10**20, 10**400))
    if kind == 2:
        return rng.choice((0.0, -0.0, 0.5, 1.0, 1e308, -1e308, 5e-324, 1e-163, 1e60, float("nan")))
    if kind == 3:
        return rng.choice((True, False, None))
    if kind == 4:
        return rng.choice((float("inf"), float("-inf"), 1e-9, 0.1, 1 / 3, 1000, 37))
    if kind == 5:
        return rng.choice((["ok", "noise"], [1, 2], [], {}, [[]], [None], ["ok", "ok"]))
    if kind == 6:
        return rng.choice(
            ("ok", "noise", "run", "replace", "good", "worn", "due", "tiger", "spibb")
        )
    if kind == 7:
        return [odd_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {
        rng.choice((*ODD_TEXTS, "node", "to", "do", "ok", "run")): odd_value(rng, depth + 1)
        for _ in range(rng.randrange(3))
    }


# ---- bytes ------------------------------------------------------------------------------------


def damage(data: bytes, rng: random.Random) -> bytes:
    """One to four small changes to bytes, whatever they mean."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(made) + 1)
        kind = rng.randrange(8)
        if kind == 0:
            made[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            made[at:at] = rng.choice(ODD_TEXTS).encode()
        elif kind == 2:
            del made[at : at + rng.choice((1, 1, 2, 8, 64))]
        elif kind == 3:
            del made[at:]
        elif kind == 4:
            end = at + rng.choice((1, 4, 20, 100))
            made[at:at] = made[at:end]
        elif kind == 5:
            made[at : at + 1] = rng.choice(b'\x00\xff\x80\n\r,";* .0129+-eE{}[]=').to_bytes(
                1, "big"
            )
        elif kind == 6 and made:
            made[at % len(made)] ^= 1 << rng.randrange(8)
        else:
            other = rng.randrange(len(made) + 1)
            made[at:at] = made[other : other + rng.choice((2, 10, 50))]
    return bytes(made)


def reword(data: bytes, rng: random.Random) -> bytes:
    """Other words and numbers in a text, other lines: what people and programs get wrong."""
    kind = rng.randrange(10)
    if kind < 5:
        for _ in range(rng.choice((1, 1, 2))):
            words = list(WORDS.finditer(data))
            if not words:
                return damage(data, rng)
            word = rng.choice(words)
            new = rng.choice(
                (
                    rng.choice(ODD_NUMBERS).encode(),
                    rng.choice(ODD_TEXTS).encode(),
                    rng.choice(words)[0],
                    b'"' + rng.choice(ODD_TEXTS).encode() + b'"',
                    b"",
                )
            )
            data = data[: word.start()] + new + data[word.end() :]
        return data
    lines = data.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    if kind == 5:
        del lines[at]
    elif kind == 6:
        lines.insert(other, lines[at])
    elif kind == 7:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 8:
        return _encoded(data, rng)
    else:
        lines = lines[: at + 1]
    return b"\n".join(lines)


def _encoded(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    kind = rng.randrange(6)
    if kind == 0:
        return text.encode("utf-16")
    if kind == 1:
        return b"\xef\xbb\xbf" + data
    if kind == 2:
        return text.replace("\n", "\r\n").encode()
    if kind == 3:
        return text.replace("\n", "\r").encode()
    if kind == 4:
        return text.replace("ok", "schön").encode("latin-1", "replace")
    return text.replace(",", ";").replace(".", ",").encode()


# ---- documents --------------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to every value in a document, its own first."""
    found = [path]
    inside = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    for key, item in inside:
        found += places(item, (*path, key))
    return found


def near(value: Any, rng: random.Random) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, 0, 1, 2, 10 * value, -value))
    if isinstance(value, float):
        return rng.choice(
            (0.0, 1.0, 0.5, -value, value / 2, 2 * value, value + 1e-12, 1e-300, 1e50)
        )
    if isinstance(value, str):
        return rng.choice(("ok", "noise", "run", "replace", "good", "due", "fresh", value + "x"))
    return odd_value(rng)


def revalue(document: Any, rng: random.Random) -> Any:
    """A document with a value changed, added, renamed or taken away."""
    made = copy.deepcopy(document)
    if rng.randrange(2):
        path = rng.choice([path for path in places(made) if path])
        holder = made
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = near(holder[path[-1]], rng)
        return made
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice(places(made))
        if not path:
            continue
        holder = made
        for key in path[:-1]:
            holder = holder[key]
        key, kind = path[-1], rng.randrange(8)
        if kind < 4:
            holder[key] = odd_value(rng)
        elif kind == 4:
            del holder[key]
        elif kind == 5 and isinstance(holder, dict):
            holder[rng.choice(ODD_TEXTS)] = holder.pop(key)
        elif kind == 6 and isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        else:
            other = rng.choice(places(made))
            found = made
            for step in other:
                found = found[step]
            holder[key] = copy.deepcopy(found)
    return made


def as_json(document: Any) -> bytes:
    """JSON that a program writes, with NaN and all."""
    return json.dumps(document).encode("utf-8", "surrogatepass")


# ---- tables -----------------------------------------------------------------------------------

CELLS: tuple[Any, ...] = (
    None,
    "",
    " ",
    "ok",
    "noise",
    "run",
    "replace",
    "nan",
    "NA",
    0,
    1,
    -1,
    3,
    2**31,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    0.0,
    -0.0,
    0.5,
    1e308,
    -1e308,
    5e-324,
    1e-163,
    1e61,
    float("nan"),
    float("inf"),
    True,
    False,
    "true",
    "\x1b[31m",
    "\x00",
    "é",
    "x" * 200,
    "1e5",
    "1,5",
    "2024-01-01",
    "2024-13-45",
    b"\xff\xfe",
    [1, 2],
    {"a": 1},
    [],
    {},
    datetime.date(2024, 1, 1),
    datetime.datetime(2024, 1, 1, 12),
    datetime.time(1, 2),
    datetime.timedelta(days=7),
    decimal.Decimal("1.5"),
    decimal.Decimal("NaN"),
)


def retable(rows: list[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    """Rows with cells, columns or whole rows changed."""
    made = [dict(row) for row in rows]
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        if not made:
            return made
        names = list(made[0]) or ["episode"]
        name, kind = rng.choice(names), rng.randrange(14)
        if kind > 9:
            row = rng.choice(made)
            row[name] = rng.choice((near(row.get(name), rng), rng.choice(made).get(name), None))
        elif kind < 3:
            rng.choice(made)[name] = rng.choice(CELLS)
        elif kind == 3:
            made.remove(rng.choice(made))
        elif kind == 4:
            made.insert(rng.randrange(len(made) + 1), dict(rng.choice(made)))
        elif kind == 5:
            rng.shuffle(made)
        elif kind == 6:
            new = rng.choice((*ODD_TEXTS, "Reward", "reward ", "obs"))
            made = [{(new if k == name else k): v for k, v in row.items()} for row in made]
        elif kind == 7:
            cell = rng.choice(CELLS)
            made = [{**row, name: cell} for row in made]
        elif kind == 8:
            made = [{k: v for k, v in row.items() if k != name} for row in made]
        else:
            made = made[: rng.choice((0, 1, 2, 5))]
    return made


def table_bytes(rows: list[dict[str, Any]], ending: str, rng: random.Random) -> bytes:
    """The rows as a file of this kind; what a kind cannot hold becomes text."""
    if ending == "ndjson":
        return b"".join(json.dumps(row, default=str).encode() + b"\n" for row in rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if ending in ("csv", "tsv", "csv.gz"):
        mark = "\t" if ending == "tsv" else rng.choice((*"," * 9, ";"))
        lines = [mark.join(_quoted(name, mark) for name in names)]
        lines += [mark.join(_quoted(row.get(name), mark) for name in names) for row in rows]
        text = ("\n".join(lines) + "\n").encode("utf-8", "replace")
        return gzip.compress(text) if ending == "csv.gz" else text
    return _arrow(rows, names, ending, rng)


def _quoted(cell: Any, mark: str) -> str:
    text = "" if cell is None else str(cell)
    risky = any(letter in text for letter in (mark, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if risky else text


def _arrow(rows: list[dict[str, Any]], names: list[str], ending: str, rng: random.Random) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = []
    for name in names:
        cells = [row.get(name) for row in rows]
        try:
            column = pa.array(cells)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            column = pa.array([None if cell is None else str(cell) for cell in cells])
        if rng.randrange(6) == 0:
            wanted = rng.choice(
                (
                    pa.string(),
                    pa.large_string(),
                    pa.float32(),
                    pa.int8(),
                    pa.int64(),
                    pa.bool_(),
                    pa.float16(),
                )
            )
            with contextlib.suppress(pa.ArrowException, TypeError, ValueError):
                column = column.cast(wanted, safe=False)
        if rng.randrange(8) == 0:
            with contextlib.suppress(pa.ArrowException, TypeError):
                column = column.dictionary_encode()
        columns.append(column)
    table = pa.table(columns, names=names) if columns else pa.table({})
    buffer = io.BytesIO()
    try:
        if ending == "parquet":
            pq.write_table(table, buffer, compression=rng.choice(("none", "snappy", "zstd")))
        else:
            new = pa.ipc.new_stream if rng.randrange(4) == 0 else pa.ipc.new_file
            with new(buffer, table.schema) as file:
                file.write_table(table)
    except (pa.ArrowException, TypeError, ValueError):
        return b""
    return buffer.getvalue()
