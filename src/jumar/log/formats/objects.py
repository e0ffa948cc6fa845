"""JSON: objects one per line (NDJSON) or in a list (JSON), and objects that hold a list of turns.

Keys of nested objects are joined with dots: state.room. A row is an object, or every turn of a list
in it:

    {"call": 17, "turns": [{"heard": "hello", "did": "ask"}, {"heard": "yes", "did": "save"}]}

With ``turns="turns"`` this is two rows with the columns heard, did and call. A key of the outer
object is a column of every turn; if turns have the same key, theirs is meant. ``last.key`` is the
outer value on the last turn and 0 on the others: what is paid once, or happens in the end. Without
a key ``episode``, every outer object is an episode.

In NDJSON a key may come up for the first time anywhere, and a number may turn into a text, both of
which Arrow's streaming reader refuses: it fixes the columns with the first block. So the file is
cut into blocks at line ends and each is read on its own. A block that Arrow refuses, or whose names
it would change (1.50 becomes 1.5), is read line by line with Python's reader, which knows the rows.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Ints
from jumar.core.errors import LogError, not_one_of
from jumar.core.reading import row_words, turn_rows
from jumar.core.text import printable
from jumar.log.formats.places import Place, TextFile, is_not_utf8
from jumar.log.formats.source import BATCH_ROWS, Source, naming, no_rows, text_batch
from jumar.log.problems import MOST, Problems

HEAD = 1 << 20  # bytes by which columns are known
NEWLINE = ord("\n")
IS_BLANK = np.isin(np.arange(256), [*b"\n\r \t\v\f"])  # with which a line may begin that is blank
LAST, EPISODE = "last.", "episode"
ONE_OBJECT = (
    'Write objects such as {"episode": 17, "observation": "worn", "action": "repair", "reward": '
    "-2}, one per line (.ndjson) or in a list (.json)."
)
NO_SCALAR = "is a list or an object. Store text or a number."
NAME_THE_LIST = "Name the key that holds the turns: turns='turns' (--turns turns)."

Object = dict[str, Any]


def ndjson(
    path: Place, name: str | None = None, encoding: str | None = None, turns: str | None = None
) -> Source:
    """An NDJSON file; where there are turns, with the reader that knows them."""
    if turns is None:
        return JsonLines(path, name, encoding)
    return JsonObjects(path, "NDJSON", name, encoding, turns)


# ---- plain lines --------------------------------------------------------------------------------


class JsonLines(Source):
    """An NDJSON file."""

    may_have_more = True
    has_points = True

    def __init__(self, path: Place, name: str | None = None, encoding: str | None = None) -> None:
        import pyarrow as pa

        self.name, self._file = name or str(path), TextFile(path, encoding)
        self._rows: list[Array] = []
        self._dates: set[str] = set()  # columns that look like dates and shall stay text
        self.seen = set()
        block = next(self._blocks())
        if not block.strip():
            raise no_rows(self.name)
        block = block[: block.rfind(b"\n", 0, HEAD) + 1] or block
        table = _table(block)
        if table is not None:
            self.names = table.column_names
            lists = (field for field in table.schema if pa.types.is_list(field.type))
            objects = (f.name for f in lists if pa.types.is_struct(f.type.value_type))
            self.advice = _advice_of(objects)
            self._dates = {name for name in _dates(table, self.names) if "." not in name}
        else:
            lines = zip(_split(block), _filled_lines(block)[0], strict=True)
            found = [flat(self._object(line, 1 + int(n)), self.name) for line, n in lines]
            self.names = list(dict.fromkeys(key for row in found for key in row))

    def rows(self, n: int) -> Array:
        return np.concatenate([*self._rows, np.zeros(0, np.int32)])[:n]

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        import pyarrow as pa

        first, self._rows, self.seen = 1, [], set()
        dates = self._dates & {*columns}
        with naming(self.name, "NDJSON"):
            for block in self._blocks():
                filled, n_lines = _filled_lines(block)
                lines, first = (first + filled).astype(np.int32), first + n_lines
                self._rows.append(lines)
                table = _table(block, dates)
                if table is not None and (more := _dates(table, columns)):
                    within = {name for name in more if "." in name}  # perhaps in an object
                    dates |= more - within
                    table = None if within else _table(block, dates)
                # several objects on one line, or one on several, would spoil the count of rows
                if table is None or table.num_rows != len(lines) or _changes_names(table, text):
                    table = self._by_hand(block, lines, columns)
                self.seen.update(table.column_names)
                nothing = pa.nulls(len(lines))  # a column that does not occur
                chosen = {
                    name: table[name].combine_chunks() if name in table.column_names else nothing
                    for name in columns
                }
                yield from pa.table(chosen).to_batches()

    def _blocks(self) -> Iterator[bytes]:
        """The file in pieces that end where a line ends."""
        rest = b""
        for block in self._file.blocks():
            end, view = block.rfind(b"\n") + 1, memoryview(block)
            if end:
                yield b"".join((rest, view[:end]))
                rest = b""
            rest += view[end:]
        yield rest

    def _object(self, line: bytes, row: int) -> Object:
        """The object of a line, numbers as they are written."""
        place = f"{self.name}, row {row}"
        found = parsed(line.decode(errors="surrogateescape"), place, self._file)
        if not isinstance(found, dict):
            raise no_object(found, place)
        return found

    def _by_hand(self, block: bytes, lines: Array, columns: Sequence[str]) -> Any:
        """The columns of a block as text."""
        import pyarrow as pa

        cells: dict[str, list[str | None]] = {}
        for i, line in enumerate(_split(block)):
            place = f"{self.name}, row {lines[i]}"
            for key, value in flat(self._object(line, int(lines[i])), place, columns).items():
                if key in columns:
                    text = scalar(value, place, key)
                    cells.setdefault(key, [None] * len(lines))[i] = text
        return pa.Table.from_batches([text_batch(cells)])


def _table(block: bytes, as_text: Collection[str] = ()) -> Any | None:
    """What Arrow makes of a block, or nothing if it refuses it."""
    import pyarrow as pa
    from pyarrow.json import ParseOptions, ReadOptions, read_json

    if not block or block.isspace():
        return pa.table({})
    try:
        if not block.isascii():
            block.decode()  # Arrow does not look
        table = read_json(
            pa.BufferReader(block),
            ReadOptions(use_threads=False, block_size=len(block) + 1),
            ParseOptions(explicit_schema=pa.schema([(name, pa.string()) for name in as_text])),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()  # a key of a nested object is called outer.inner
    return table if len(set(table.column_names)) == table.num_columns else None


def _split(block: bytes) -> Iterator[bytes]:
    return (line for line in block.split(b"\n") if line.strip())


def _filled_lines(block: bytes) -> tuple[Ints, int]:
    """(n,) which lines of a block, from 0, are not blank; and how many end in it."""
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == NEWLINE)
    begins = np.append(0, ends + 1)
    begins = begins[begins < len(data)]
    if not IS_BLANK[data[begins]].any():
        return np.arange(len(begins)), len(ends)
    return np.flatnonzero([bool(line.strip()) for line in block.split(b"\n")]), len(ends)


def _dates(table: Any, columns: Sequence[str]) -> set[str]:
    """The columns whose text Arrow has taken for dates; it forgets time zones on the way."""
    import pyarrow as pa

    there = [field for field in table.schema if field.name in columns]
    return {field.name for field in there if pa.types.is_timestamp(field.type)}


def _changes_names(table: Any, text: Collection[str]) -> bool:
    """Whether Arrow has read a name as something that is written differently."""
    import pyarrow as pa

    kept = (pa.types.is_string, pa.types.is_int64, pa.types.is_boolean, pa.types.is_null)
    there = [field.type for field in table.schema if field.name in text]
    return any(not any(same(kind) for same in kept) for kind in there)


# ---- lists, and turns ---------------------------------------------------------------------------


class JsonObjects(Source):
    """A file of JSON objects, one row for each, or one for every turn."""

    has_points = True

    def __init__(
        self,
        path: Place,
        kind: str,
        name: str | None = None,
        encoding: str | None = None,
        turns: str | None = None,
    ) -> None:
        self.name, self._kind, self._turns = name or str(path), kind, turns
        self._file = TextFile(path, encoding)
        self._rows: list[Array] = []
        self._numbered = False  # is every outer object an episode?
        outer: dict[str, None] = {}
        inner: dict[str, None] = {}
        problems = Problems()
        for _, around, steps in self._taken_apart(problems):
            outer |= dict.fromkeys(around)
            for step in steps:
                inner |= dict.fromkeys(step)
            if turns is None and not self.advice:
                filled = ((key, v) for key, v in around.items() if isinstance(v, list) and v)
                self.advice = _advice_of(key for key, v in filled if isinstance(v[0], dict))
            if len(problems.told) == MOST:
                break
        problems.check()
        if not outer and not inner:
            raise no_rows(self.name)
        self._inner, own = inner, [key for key in outer if key not in inner]
        self._numbered = turns is not None and EPISODE not in inner and EPISODE not in outer
        self.names = own
        if turns is not None:
            self.once = set(own)
            episode = [EPISODE] if self._numbered else []
            self.names = [*inner, *own, *episode, *(LAST + key for key in outer)]

    def rows(self, n: int) -> Array:
        return np.concatenate([*self._rows, np.zeros(0, np.int64)])[:n]

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        self._rows = []
        cells: dict[str, list[str | None]] = {name: [] for name in columns}
        places: list[tuple[int, int]] = []
        problems = Problems()

        def made() -> Any:
            row, turn = np.array(places, np.int64).T
            self._rows.append(row if self._turns is None else turn_rows(row, turn))
            batch = text_batch(cells)
            places.clear()
            for texts in cells.values():
                texts.clear()
            return batch

        looks = [(name, cells[name], self._look(name)) for name in columns]
        with naming(self.name, self._kind):
            for row, outer, steps in self._taken_apart(Problems()):
                for turn, step in enumerate(steps, 1) if steps else [(0, outer)]:
                    place = self._place(row, turn)
                    for name, column, look in looks:
                        value = look(outer, step, turn == len(steps))
                        try:
                            column.append(scalar(value, place, name))
                        except LogError as error:
                            problems.add(str(error))
                            column.append(None)
                    places.append((row, turn))
                if len(places) >= BATCH_ROWS:
                    yield made()
            problems.check()
            if places:
                yield made()

    def _look(self, name: str) -> Callable[[Object, Object, bool], Any]:
        """Where the value of a column stands: in the outer object, or in a turn, perhaps the last.

        Parameters of what is returned: the outer object, the turn, is it the last?
        """
        if self._turns is None or name in self._inner:
            return lambda outer, step, last: step.get(name)
        if name in self.once or name == EPISODE:
            return lambda outer, step, last: outer.get(name)
        key = name.removeprefix(LAST)
        return lambda outer, step, last: outer.get(key) if last else "0"

    def _place(self, row: int, turn: int = 0) -> str:
        return f"{self.name}, {row_words(row)}" + (f", turn {turn}" if turn else "")

    def _taken_apart(self, problems: Problems) -> Iterator[tuple[int, Object, list[Object]]]:
        """Every object: its row, the keys around the turns, the turns."""
        listed = self._lines(problems) if self._kind == "NDJSON" else enumerate(self._listed, 1)
        for row, found in listed:
            try:
                if not isinstance(found, dict):
                    raise no_object(found, self._place(row))
                if self._turns is None:
                    yield row, flat(found, self._place(row)), []
                    continue
                steps, rest = _take(found, self._turns)
                outer = flat(rest, self._place(row))
                if self._numbered:
                    outer = {**outer, EPISODE: str(row)}
                yield row, outer, self._steps(steps, row, outer, problems)
            except LogError as error:
                problems.add(str(error))

    def _steps(self, steps: Any, row: int, outer: Object, problems: Problems) -> list[Object]:
        place, key = self._place(row), printable(self._turns or "")
        if steps is None:
            fact = f"there is no list of turns: {not_one_of('key', self._turns, outer)}"
            problems.add(f"{place}: {fact}", NAME_THE_LIST)
        elif not isinstance(steps, list):
            problems.add(f"{place}, key {key!r}: is not a list.", NAME_THE_LIST)
        elif not steps:
            problems.add(f"{place}, key {key!r}: has no turns.", "Leave the object out.")
        else:
            for turn, step in enumerate(steps, 1):
                if not isinstance(step, dict):
                    problems.add(
                        f"{place}, turn {turn}: {printable(str(step))!r} is not an object.",
                        'Write every turn like {"heard": "yes", "did": "save"}.',
                    )
            return [
                flat(step, self._place(row, turn))
                for turn, step in enumerate(steps, 1)
                if isinstance(step, dict)
            ]
        return []

    def _lines(self, problems: Problems) -> Iterator[tuple[int, Any]]:
        with naming(self.name, self._kind), self._file.lines() as lines:
            for row, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        found = parsed(line, self._place(row), self._file)
                    except LogError as error:
                        problems.add(str(error))
                    else:
                        yield row, found

    @cached_property
    def _listed(self) -> list[Any]:
        with naming(self.name, self._kind), self._file.lines() as lines:
            text = lines.read()
        if not text.strip():
            raise no_rows(self.name)
        found = parsed(text, self.name, self._file, whole_file=True)
        return found if isinstance(found, list) else [found]


def _take(found: Object, path: str) -> tuple[Any, Object]:
    """What stands under a key, or a path of keys with dots, and everything else."""
    if path in found:
        return found[path], {key: value for key, value in found.items() if key != path}
    key, _, rest = path.partition(".")
    if not isinstance(found.get(key), dict):
        return None, found
    taken, others = _take(found[key], rest)
    return taken, {**found, key: others}


# ---- one object ---------------------------------------------------------------------------------


def parsed(text: str, where: str, file: TextFile, whole_file: bool = False) -> Any:
    """What a JSON text says, numbers as they are written; bytes that are not UTF-8 are lone
    surrogates in it."""
    if is_not_utf8(text):
        raise LogError(f"{where}: is not UTF-8 text. {file.how_encoded}")

    def distinct(pairs: list[tuple[str, Any]]) -> Object:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            raise _twice(where, next(key for key in keys if keys.count(key) > 1))
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


def flat(found: Mapping[str, Any], place: str, columns: Collection[str] = ()) -> Object:
    """Keys of nested objects joined with dots; an object that is itself a column is left whole."""
    if not any(isinstance(value, dict) for value in found.values()):
        return dict(found)
    made: Object = {}
    for key, value in found.items():
        inside = {key: value}
        if isinstance(value, dict) and key not in columns:
            within = {name.removeprefix(f"{key}.") for name in columns}
            inside = {f"{key}.{k}": v for k, v in flat(value, place, within).items()}
        for name in inside.keys() & made.keys():
            raise _twice(place, name)
        made |= inside
    return made


def scalar(value: Any, place: str, column: str) -> str | None:
    """A value as text, numbers as they are written."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):  # NaN and Infinity, which Python's reader knows
        return repr(value)
    if not isinstance(value, str):
        fact = NO_SCALAR
    elif not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        fact = "has half a character (a lone surrogate). Correct it."
    else:
        return value
    raise LogError(f"{place}, column {printable(column)!r}: {fact}")


def no_object(found: Any, where: str) -> LogError:
    """The error for what is no object."""
    return LogError(f"{where}: {printable(str(found))!r} is not a JSON object. {ONE_OBJECT}")


def _twice(place: str, key: str) -> LogError:
    return LogError(f"{place}, column {printable(key)!r}: is there twice. Keep one.")


def _advice_of(keys: Iterable[str]) -> str:
    """What may be meant by keys that hold lists of objects."""
    for key in map(printable, keys):
        return (
            f"The key {key!r} holds lists of objects: if these are the steps, say "
            f"turns={key!r} (--turns {shlex.quote(key)})."
        )
    return ""
