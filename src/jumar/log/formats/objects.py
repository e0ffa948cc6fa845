"""JSON objects that hold other objects: a row is an object, or every turn of a list in it.

    {"call": 17, "turns": [{"heard": "hello", "did": "ask"}, {"heard": "yes", "did": "save"}]}

With ``turns="turns"`` this is two rows with the columns heard, did and call. Keys of nested objects
are joined with dots (``state.room``). A key of the outer object is a column of every turn. If turns
have the same key, theirs is meant, and the outer one is ``outer.key``. ``last.key`` is the outer
value on the last turn and 0 on the others: what is paid once, or happens in the end. Without a key
``episode``, every outer object is an episode.

The objects stand one per line (NDJSON), or in a list (JSON), which is read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import LogError, not_one_of
from jumar.core.reading import row_words, turn_rows
from jumar.core.text import printable
from jumar.log.formats.lines import leaves, list_of_objects, no_object, parsed, scalar
from jumar.log.formats.places import Place
from jumar.log.formats.source import BATCH_ROWS, Source, naming, no_rows
from jumar.log.formats.text import TextFile
from jumar.log.problems import MOST, Problems

OUTER, LAST, EPISODE = "outer.", "last.", "episode"
Object = dict[str, Any]
Look = Callable[[Object, Object, bool], Any]  # outer object, turn, is it the last? -> value


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
        outer: dict[str, None] = {}
        inner: dict[str, None] = {}
        problems = Problems()
        for row, made in self._objects(problems):
            around, steps = self._taken_apart(row, made, problems)
            outer |= dict.fromkeys(around)
            self.advice = self.advice or _advice(around, turns)
            for _, step in steps:
                inner |= dict.fromkeys(step)
            if len(problems.told) == MOST:
                break
        problems.check()
        if not outer and not inner:
            raise no_rows(self.name)
        own = [key for key in outer if key not in inner]
        self._inner, self._numbered = set(inner), False
        self.names = own
        if turns is not None:
            self._numbered = EPISODE not in inner and EPISODE not in outer
            self.once = set(own)
            aliases = [prefix + key for prefix in (OUTER, LAST) for key in outer]
            self.names = [*inner, *own, *([EPISODE] * self._numbered), *aliases]
        self._outer = {*own, EPISODE}

    def rows(self, n: int) -> Array:
        return np.concatenate([*self._rows, np.zeros(0, np.int64)])[:n]

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        import pyarrow as pa

        self._rows = []
        cells: dict[str, list[str | None]] = {name: [] for name in columns}
        places: list[tuple[int, int]] = []
        problems = Problems()

        def made() -> Any:
            row, turn = np.array(places, np.int64).reshape(-1, 2).T
            self._rows.append(row if self._turns is None else turn_rows(row, turn))
            batch = pa.record_batch(
                {name: pa.array(values, pa.string()) for name, values in cells.items()}
            )
            places.clear()
            for values in cells.values():
                values.clear()
            return batch

        looks = [(name, cells[name], self._look(name)) for name in columns]
        with naming(self.name, self._kind):
            for row, found in self._objects(Problems()):
                outer, steps = self._taken_apart(row, found, Problems())
                if self._numbered:
                    outer = {**outer, EPISODE: str(row)}
                for turn, step in steps or [(0, outer)]:
                    for name, column, look in looks:
                        value = look(outer, step, turn == len(steps))
                        column.append(self._scalar(value, name, row, turn, problems))
                    places.append((row, turn))
                if len(places) >= BATCH_ROWS:
                    yield made()
            problems.check()
            if places:
                yield made()

    # ---- objects ----------------------------------------------------------------------------

    def _look(self, name: str) -> Look:
        """Where the value of a column stands."""
        if self._turns is None or name in self._inner:
            return lambda outer, step, last: step.get(name)
        if name in self._outer:
            return lambda outer, step, last: outer.get(name)
        prefix, _, key = name.partition(".")
        if prefix + "." == LAST:
            return lambda outer, step, last: outer.get(key) if last else "0"
        return lambda outer, step, last: outer.get(key)

    def _taken_apart(
        self, row: int, found: Object, problems: Problems
    ) -> tuple[Object, list[tuple[int, Object]]]:
        """The keys around the turns, and the turns with their numbers."""
        if self._turns is None:
            return self._flat(found, row, 0, problems), []
        place = f"{self.name}, {row_words(row)}"
        steps, rest = _take(found, self._turns)
        outer = self._flat(rest, row, 0, problems)
        shown = printable(self._turns)
        if steps is None:
            fact = not_one_of("key", self._turns, outer)
            problems.add(f"{place}: there is no list of turns: {fact}", _NAME_THE_LIST)
        elif not isinstance(steps, list):
            problems.add(f"{place}, key {shown!r}: is not a list.", _NAME_THE_LIST)
        elif not steps:
            problems.add(f"{place}, key {shown!r}: has no turns.", "Leave the object out.")
        else:
            made = []
            for turn, step in enumerate(steps, 1):
                if isinstance(step, dict):
                    made.append((turn, self._flat(step, row, turn, problems)))
                else:
                    problems.add(
                        f"{place}, turn {turn}: {printable(str(step))!r} is not an object.",
                        'Write every turn like {"heard": "yes", "did": "save"}.',
                    )
            return outer, made
        return outer, []

    def _flat(self, found: Object, row: int, turn: int, problems: Problems) -> Object:
        """Keys of nested objects joined with dots."""
        if not any(isinstance(value, dict) for value in found.values()):
            return found
        flat: Object = {}
        for key, value in leaves(found):
            if key in flat:
                problems.add(f"{self._cell(row, turn, key)}: is there twice.", "Keep one.")
            flat[key] = value
        return flat

    def _scalar(self, value: Any, name: str, row: int, turn: int, problems: Problems) -> str | None:
        try:
            return scalar(value, self._cell(row, turn, name))
        except LogError as error:
            problems.add(str(error))
            return None

    def _cell(self, row: int, turn: int, key: str) -> str:
        place = f"row {row}, turn {turn}" if turn else f"row {row}"
        return f"{self.name}, {place}, column {printable(key)!r}"

    # ---- the file ---------------------------------------------------------------------------

    def _objects(self, problems: Problems) -> Iterator[tuple[int, Object]]:
        """The objects with their rows: lines of NDJSON, entries of a JSON list."""
        by_line = self._kind == "NDJSON"
        for row, found in self._lines(problems) if by_line else enumerate(self._listed, 1):
            if isinstance(found, dict):
                yield row, found
            else:
                problems.add(str(no_object(found, f"{self.name}, row {row}")))

    def _lines(self, problems: Problems) -> Iterator[tuple[int, Any]]:
        with naming(self.name, self._kind), self._file.lines() as lines:
            for row, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        yield row, parsed(line, f"{self.name}, row {row}", self._file)
                    except LogError as error:
                        problems.add(str(error))

    @cached_property
    def _listed(self) -> list[Any]:
        with naming(self.name, self._kind), self._file.lines() as lines:
            text = lines.read()
        if not text.strip():
            raise no_rows(self.name)
        found = parsed(text, self.name, self._file, whole_file=True)
        return found if isinstance(found, list) else [found]


_NAME_THE_LIST = "Name the key that holds the turns: turns='turns' (--turns turns)."


def _take(found: Object, path: str) -> tuple[Any, Object]:
    """What stands under a key, or a path of keys with dots, and everything else."""
    if path in found:
        return found[path], {key: value for key, value in found.items() if key != path}
    key, _, rest = path.partition(".")
    if not isinstance(found.get(key), dict):
        return None, found
    taken, others = _take(found[key], rest)
    return taken, {**found, key: others}


def _advice(found: Object, turns: str | None) -> str:
    """What may be meant by an object whose keys hold lists of objects."""
    for key, value in found.items():
        if turns is None and isinstance(value, list) and value and isinstance(value[0], dict):
            return list_of_objects(key)
    return ""


Opener = Callable[..., Source]


def lines_or_turns(plain: Opener) -> Opener:
    """Opens NDJSON with the plain reader, or where there are turns with the one that knows them."""

    def opened(path: Place, turns: str | None = None, **options: Any) -> Source:
        if turns is None:
            return plain(path, **options)
        return JsonObjects(path, "NDJSON", turns=turns, **options)

    return opened
