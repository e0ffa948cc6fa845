"""NDJSON: one JSON object per line. Keys of nested objects are joined with dots: state.room.

A key may come up for the first time anywhere, and a number may turn into a text, both of which
Arrow's streaming reader refuses: it fixes the columns with the first block. So the file is cut into
blocks at line ends and each is read on its own. A block that Arrow refuses, or whose names it would
change (1.50 becomes 1.5), is read line by line with Python's reader, which knows the rows.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Ints
from jumar.core.errors import LogError
from jumar.core.text import printable
from jumar.log.formats.places import Place
from jumar.log.formats.source import Source, naming, no_rows
from jumar.log.formats.text import TextFile

NEWLINE = ord("\n")
BLANKS = np.frombuffer(b"\n\r \t\v\f", np.uint8)  # with which a line may begin that is blank


class JsonLines(Source):
    """An NDJSON file."""

    may_have_more = True
    has_points = True

    def __init__(self, path: Place, name: str | None = None, encoding: str | None = None) -> None:
        self.name, self._file = name or str(path), TextFile(path, encoding)
        self._rows: list[Array] = []
        self.seen = set()
        block = next(self._blocks())
        if not block.strip():
            raise no_rows(self.name)
        table = _table(block)
        self.names = self._keys(block) if table is None else table.column_names
        self.advice = _advice(table)

    def rows(self, n: int) -> Array:
        return np.concatenate([*self._rows, np.zeros(0, np.int32)])[:n]

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        first, self._rows, self.seen = 1, [], set()
        dates: set[str] = set()  # columns that look like dates and shall stay text
        with naming(self.name, "NDJSON"):
            for block in self._blocks():
                lines = first + _filled_lines(block)
                self._rows.append(lines.astype(np.int32))
                table = _table(block, dates)
                if table is not None and (more := _dates(table, columns)):
                    within = {name for name in more if "." in name}  # perhaps in an object
                    dates |= more - within
                    table = None if within else _table(block, dates)
                # several objects on one line, or one on several, would spoil the count of rows
                if table is None or table.num_rows != len(lines) or _changes_names(table, text):
                    table = self._by_hand(block, lines, columns)
                self.seen.update(table.column_names)
                yield from _chosen(table, columns, len(lines)).to_batches()
                first += block.count(b"\n")

    def _blocks(self) -> Iterator[bytes]:
        """The file in pieces that end where a line ends."""
        rest = b""
        for block in self._file.blocks():
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield whole + newline
        yield rest

    def _keys(self, block: bytes) -> list[str]:
        keys: dict[str, None] = {}
        for number, line in zip(_filled_lines(block), _split(block), strict=True):
            keys |= dict.fromkeys(key for key, _ in leaves(self._object(line, 1 + int(number))))
        return list(keys)

    def _object(self, line: bytes, row: int) -> dict[str, Any]:
        """The object of a line, numbers as they are written."""
        text = line.decode(errors="surrogateescape")
        found = parsed(text, f"{self.name}, row {row}", self._file)
        if not isinstance(found, dict):
            raise no_object(found, f"{self.name}, row {row}")
        return found

    def _by_hand(self, block: bytes, lines: Ints, columns: Sequence[str]) -> Any:
        """The columns of a block as text."""
        import pyarrow as pa

        cells: dict[str, list[str | None]] = {}
        for i, line in enumerate(_split(block)):
            here = set()
            for key, value in leaves(self._object(line, int(lines[i])), columns):
                if key not in columns:
                    continue
                place = f"{self.name}, row {lines[i]}, column {printable(key)!r}"
                if key in here:
                    raise LogError(f"{place}: is there twice. Keep one.")
                here.add(key)
                cells.setdefault(key, [None] * len(lines))[i] = scalar(value, place)
        return pa.table({name: pa.array(values, pa.string()) for name, values in cells.items()})


def _table(block: bytes, as_text: Collection[str] = ()) -> Any | None:
    """What Arrow makes of a block, or nothing if it refuses it."""
    import pyarrow as pa
    from pyarrow.json import ParseOptions, ReadOptions, read_json

    if not block.strip():
        return pa.table({})
    try:
        block.decode()  # Arrow does not look
        table = read_json(
            pa.BufferReader(block),
            ReadOptions(use_threads=False, block_size=len(block) + 1),
            ParseOptions(explicit_schema=pa.schema([(name, pa.string()) for name in as_text])),
        )
        while any(pa.types.is_struct(field.type) for field in table.schema):
            table = table.flatten()  # a key of a nested object is called outer.inner
        return table
    except (pa.ArrowException, UnicodeDecodeError):
        return None


# ---- one object ---------------------------------------------------------------------------------

ONE_OBJECT = (
    'Write objects such as {"episode": 17, "observation": "worn", "action": "repair", "reward": '
    "-2}, one per line (.ndjson) or in a list (.json)."
)


def parsed(text: str, where: str, file: TextFile, whole_file: bool = False) -> Any:
    """What a JSON text says, numbers as they are written; bytes that are not UTF-8 are lone
    surrogates in it."""
    if any("\udc80" <= letter <= "\udcff" for letter in ("" if text.isascii() else text)):
        raise LogError(f"{where}: is not UTF-8 text. {file.how_encoded}")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = printable(next(key for key in keys if keys.count(key) > 1))
            raise LogError(f"{where}, column {twice!r}: is there twice. Keep one.")
        return made

    try:
        return json.loads(text, object_pairs_hook=distinct, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        at = f", line {error.lineno}" if whole_file else ""
        remedy = ONE_OBJECT
        if whole_file and error.msg == "Extra data":
            remedy = "If every line is an object, call the file .ndjson, or say --format NDJSON."
        raise LogError(f"{where}{at}: is not JSON: {error.msg}. {remedy}") from error
    except RecursionError as error:
        raise LogError(f"{where}: is nested too deeply. {ONE_OBJECT}") from error


def no_object(found: Any, where: str) -> LogError:
    """The error for what is no object."""
    return LogError(f"{where}: {printable(str(found))!r} is not a JSON object. {ONE_OBJECT}")


def leaves(
    found: Mapping[str, Any], columns: Collection[str] = (), prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """Keys of nested objects joined with dots; an object that is itself a column is left whole."""
    for key, value in found.items():
        if isinstance(value, dict) and prefix + key not in columns:
            yield from leaves(value, columns, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def scalar(value: Any, place: str) -> str | None:
    """A value as text, numbers as they are written."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):  # NaN and Infinity, which Python's reader knows
        return repr(value)
    if not isinstance(value, str):
        raise LogError(f"{place}: is a list or an object. Store text or a number.")
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise LogError(f"{place}: has half a character (a lone surrogate). Correct it.")
    return value


def _advice(table: Any | None) -> str:
    """What may be meant by a file whose keys hold lists of objects."""
    import pyarrow as pa

    for field in [] if table is None else table.schema:
        if pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type):
            return list_of_objects(field.name)
    return ""


def list_of_objects(key: str) -> str:
    """What may be meant by a key that holds lists of objects."""
    return (
        f"The key {printable(key)!r} holds lists of objects: if these are the steps, say "
        f"turns={printable(key)!r} (--turns {shlex.quote(printable(key))})."
    )


def _split(block: bytes) -> Iterator[bytes]:
    return (line for line in block.split(b"\n") if line.strip())


def _filled_lines(block: bytes) -> Ints:
    """(n,) which lines of a block, from 0, are not blank."""
    data = np.frombuffer(block, np.uint8)
    begins = np.append(0, np.flatnonzero(data == NEWLINE) + 1)
    begins = begins[begins < len(data)]
    if not np.isin(data[begins], BLANKS).any():
        return np.arange(len(begins))
    return np.flatnonzero([bool(line.strip()) for line in block.split(b"\n")])


def _dates(table: Any, columns: Sequence[str]) -> set[str]:
    """The columns whose text Arrow has taken for dates; it forgets time zones on the way."""
    import pyarrow as pa

    kinds = {name: table.schema.field(name).type for name in columns if name in table.column_names}
    return {name for name, kind in kinds.items() if pa.types.is_timestamp(kind)}


def _changes_names(table: Any, text: Collection[str]) -> bool:
    """Whether Arrow has read a name as something that is written differently."""
    import pyarrow as pa

    kept = (pa.types.is_string, pa.types.is_int64, pa.types.is_boolean, pa.types.is_null)
    return any(
        not any(same(table.schema.field(name).type) for same in kept)
        for name in text
        if name in table.column_names
    )


def _chosen(table: Any, columns: Sequence[str], n: int) -> Any:
    """The columns, without those that do not occur; at least their number of rows is right."""
    import pyarrow as pa

    return pa.table(
        {
            name: table[name].combine_chunks() if name in table.column_names else pa.nulls(n)
            for name in columns
        }
    )
