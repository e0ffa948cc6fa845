"""Logs in files: a long table with one row per step.

=============  ====================================================================
episode        any label; rows of one episode belong together, in order of `step`
               where there is such a column, else in the order of the file
observation    what was seen
action         what was done on it; empty in an extra last row that only carries the
               observation after an episode was cut off
reward         a finite number
terminated     true on the step with which the process ended by itself
=============  ====================================================================

Without a `terminated` column it must be said what the end of an episode means (`ends`): guessing
wrong would either invent endings or lose every last step. Other columns are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jumar.arrays import Bools, Floats, Ints
from jumar.episodes import UNKNOWN, Episodes, Origin
from jumar.errors import LogError, not_one_of
from jumar.files import replacing

NEEDED = ("episode", "observation", "action", "reward")
OPTIONAL = ("step", "terminated")
Ends = Literal["terminated", "cut"]
_METADATA = b"jumar"


def read_logs(
    path: str | Path,
    *,
    observations: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    ends: Ends | None = None,
) -> Episodes:
    """Read a log from CSV or Parquet.

    `observations` and `actions` fix the names and their order (use the controller's); without them
    the names found are used, sorted. `columns` says which column of the file plays which part.
    """
    path = Path(path)
    columns = {part: (columns or {}).get(part, part) for part in (*NEEDED, *OPTIONAL)}
    table, first_row = _load(path, columns)
    names = {**_stored_names(table), **_given(observations, actions)}
    return _Reader(path, table, columns, first_row).episodes(names, ends)


def write_logs(log: Episodes, path: str | Path) -> None:
    """Write a log as CSV or Parquet (by the ending of the name); Parquet also keeps the names that
    never occurred."""
    import pyarrow.csv
    import pyarrow.parquet

    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise LogError(f"{path}: cannot tell the format; end the name in .csv or .parquet.")
    table = _to_table(log)
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            pyarrow.csv.write_csv(table, temporary)
        else:
            pyarrow.parquet.write_table(table, temporary)


def _to_table(log: Episodes) -> Any:
    """One row per step, and one more for every final observation."""
    import pyarrow as pa

    cut = np.flatnonzero(log.final_observation != UNKNOWN)
    N, extra = log.n_steps, len(cut)
    episode = np.repeat(np.arange(len(log)), log.lengths)
    step = np.arange(N) - np.repeat(log.start[:-1], log.lengths)
    ends_here = np.zeros(N, np.bool_)
    ends_here[log.last] = log.terminated
    episode = np.concatenate([episode, cut])
    step = np.concatenate([step, log.lengths[cut]])
    order = np.lexsort([step, episode])
    missing = np.concatenate([np.zeros(N, np.bool_), np.ones(extra, np.bool_)])[order]

    def names(codes: Ints, alphabet: Sequence[str], mask: Bools | None = None) -> Any:
        indices = pa.array(codes[order].astype(np.int32), mask=mask)
        return pa.DictionaryArray.from_arrays(indices, pa.array(alphabet, pa.string()))

    def padded(values: Any, filler: Any) -> Any:
        return np.concatenate([values, np.full(extra, filler, values.dtype)])

    table = pa.table(
        {
            "episode": episode[order],
            "step": step[order],
            "observation": names(
                np.concatenate([log.observation, log.final_observation[cut]]), log.observations
            ),
            "action": names(padded(log.action, 0), log.actions, missing),
            "reward": pa.array(padded(log.reward, 0.0)[order], mask=missing),
            "terminated": pa.array(padded(ends_here, False)[order], mask=missing),
        }
    )
    kept = {"observations": list(log.observations), "actions": list(log.actions)}
    return table.replace_schema_metadata({_METADATA: json.dumps(kept).encode()})


# ---- reading ----------------------------------------------------------------------------------


def _load(path: Path, columns: Mapping[str, str]) -> tuple[Any, int]:
    """The table, all texts as text, and the number of its first row as a person counts."""
    import pyarrow as pa

    if not path.is_file():
        raise LogError(f"{path}: there is no such file.")
    if path.stat().st_size == 0:
        raise LogError(f"{path}: the file is empty. A log needs a header and at least one row.")
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet

            return pyarrow.parquet.read_table(path), 1
        if path.suffix == ".csv":
            from pyarrow import csv

            text = {name: pa.string() for name in columns.values()}
            convert = csv.ConvertOptions(
                column_types=text, null_values=[""], strings_can_be_null=True
            )
            return csv.read_csv(path, convert_options=convert), 2  # row 1 is the header
    except (pa.ArrowException, OSError, ValueError) as error:
        fact = str(error).splitlines()[0]
        kind = "Parquet" if path.suffix == ".parquet" else "CSV"
        raise LogError(
            f"{path}: cannot be read as {kind}: {fact}. Is the file complete and of that format?"
        ) from error
    raise LogError(f"{path}: cannot tell the format; end the name in .csv or .parquet.")


def _stored_names(table: Any) -> dict[str, tuple[str, ...]]:
    stored = (table.schema.metadata or {}).get(_METADATA)
    if stored is None:
        return {}
    try:
        found = json.loads(stored)
        return {part: tuple(found[part]) for part in ("observations", "actions")}
    except (ValueError, KeyError, TypeError):
        return {}  # somebody else's metadata: the names in the columns will do


def _given(
    observations: Sequence[str] | None, actions: Sequence[str] | None
) -> dict[str, tuple[str, ...]]:
    pairs = (("observations", observations), ("actions", actions))
    return {part: tuple(names) for part, names in pairs if names is not None}


class _Reader:
    """One table on its way to Episodes; knows how to name a row of the file."""

    def __init__(self, path: Path, table: Any, columns: Mapping[str, str], first_row: int) -> None:
        self.path, self.columns, self.first_row = path, columns, first_row
        for part in NEEDED:
            if columns[part] not in table.column_names:
                raise LogError(
                    f"{path}: no column for the {part}: "
                    + not_one_of("column", columns[part], table.column_names)
                )
        if table.num_rows == 0:
            raise LogError(f"{path}: the log is empty: it has no rows below the header.")
        self.order, self.first = self._order(table)
        self.table = table.take(self.order) if self._is_shuffled() else table
        self.row = self.order + first_row

    def _is_shuffled(self) -> bool:
        return not np.array_equal(self.order, np.arange(len(self.order)))

    def _order(self, table: Any) -> tuple[Ints, Ints]:
        """Rows sorted by episode (in order of appearance), then step; first row of each episode."""
        labels = table[self.columns["episode"]].combine_chunks()
        if labels.null_count:
            row = int(np.flatnonzero(labels.is_null().to_numpy(zero_copy_only=False))[0])
            raise LogError(f"{self.path}, row {row + self.first_row}: the episode is missing.")
        encoded = labels.dictionary_encode()
        code = encoded.indices.to_numpy().astype(np.int64)
        if self.columns["step"] in table.column_names:
            step = self._numbers(table, "step", np.arange(len(code)) + self.first_row)
            order = np.lexsort([step, code])
            same = (np.diff(code[order]) == 0) & (np.diff(step[order]) == 0)
            if same.any():
                i = int(np.flatnonzero(same)[0])
                one, two = sorted((order[i : i + 2] + self.first_row).tolist())
                raise LogError(
                    f"{self.path}, row {two} (episode {labels[int(order[i])].as_py()}): the step "
                    f"is the same as in row {one}. Number the steps of an episode differently."
                )
        else:
            order = np.argsort(code, kind="stable")
        first = np.searchsorted(code[order], np.arange(len(encoded.dictionary) + 1))
        self.labels = encoded.dictionary.to_pylist()
        return order, first

    def episodes(self, names: Mapping[str, tuple[str, ...]], ends: Ends | None) -> Episodes:
        """The table as Episodes."""
        observations, z = self._symbols("observation", names.get("observations"))
        actions, a = self._symbols("action", names.get("actions"))
        last = self.first[1:] - 1
        closing = a == UNKNOWN  # rows that only carry a final observation
        self._check_closing(closing, last)
        is_step = ~closing
        step_rows = np.flatnonzero(is_step)
        reward = self._numbers(self.table, "reward", self.row, is_step)[step_rows]
        bad = np.flatnonzero(~np.isfinite(reward))
        if len(bad):
            raise LogError(
                f"{self._where(step_rows[bad[0]])}: reward is {reward[bad[0]]}; rewards must be "
                "finite numbers."
            )
        lengths = np.diff(np.concatenate([[0], np.cumsum(is_step)])[self.first])
        if (lengths == 0).any():
            e = int(np.flatnonzero(lengths == 0)[0])
            raise LogError(
                f"{self.path}, episode {self.labels[e]}: has no steps, only a final observation. "
                "Leave it out."
            )
        last_step = self.first[:-1] + lengths - 1
        terminated = self._terminated(ends, is_step, last_step)
        final = np.where(closing[last], z[last], UNKNOWN)
        both = np.flatnonzero(terminated & (final != UNKNOWN))
        if len(both):
            raise LogError(
                f"{self._where(last[both[0]])}: an observation follows a step that is marked "
                "terminated. Drop the row, or the mark."
            )
        return Episodes(
            observations,
            actions,
            z[step_rows],
            a[step_rows],
            reward,
            np.concatenate([[0], np.cumsum(lengths)]),
            final,
            terminated,
            Origin(str(self.path), self.row[step_rows], self.labels),
        )

    def _where(self, row: int) -> str:
        e = int(np.searchsorted(self.first, row, side="right")) - 1
        return f"{self.path}, row {self.row[row]} (episode {self.labels[e]})"

    def _symbols(self, part: str, names: tuple[str, ...] | None) -> tuple[tuple[str, ...], Ints]:
        """The alphabet and the number of each row's symbol, UNKNOWN where it is missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self.table[self.columns[part]].combine_chunks().cast(pa.string())
        if part == "observation" and column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise LogError(f"{self._where(row)}: the observation is missing.")
        if names is None:
            names = tuple(sorted(column.drop_null().unique().to_pylist()))
        code = pc.index_in(column, pa.array(names, pa.string()))
        unknown = code.is_null().to_numpy(zero_copy_only=False) & column.is_valid().to_numpy(
            zero_copy_only=False
        )
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            raise LogError(f"{self._where(row)}: {not_one_of(part, column[row].as_py(), names)}")
        return names, code.fill_null(UNKNOWN).to_numpy().astype(np.int64)

    def _numbers(self, table: Any, part: str, rows: Ints, needed: Bools | None = None) -> Floats:
        """A column of numbers, NaN where it is missing and not needed."""
        import pyarrow as pa

        name = self.columns[part]
        column = table[name].combine_chunks()
        missing = column.is_null().to_numpy(zero_copy_only=False)
        if needed is not None:
            missing = missing & needed
        if missing.any():
            row = int(np.flatnonzero(missing)[0])
            raise LogError(f"{self.path}, row {rows[row]}, column {name!r}: the {part} is missing.")
        try:
            numbers: Floats = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowException as error:
            for row, text in zip(rows, column.to_pylist(), strict=True):
                if not _is_number(text):
                    raise LogError(
                        f"{self.path}, row {row}, column {name!r}: {text!r} is not a number."
                    ) from error
            raise LogError(f"{self.path}, column {name!r}: {error}") from error
        return numbers

    def _check_closing(self, closing: Bools, last: Ints) -> None:
        is_last = np.zeros(len(closing), np.bool_)
        is_last[last] = True
        early = np.flatnonzero(closing & ~is_last)
        if len(early):
            raise LogError(
                f"{self._where(early[0])}: the action is missing. Only the last row of an episode "
                "that was cut off may have none."
            )

    def _terminated(self, ends: Ends | None, is_step: Bools, last_step: Ints) -> Bools:
        name = self.columns["terminated"]
        if name not in self.table.column_names:
            if ends is None:
                raise LogError(
                    f"{self.path}: there is no column {name!r}, so it is not clear what the end of "
                    "an episode means. Add the column, or say ends='terminated' (the process ended "
                    "by itself) or ends='cut' (the recording stopped)."
                )
            # an episode with a closing row was cut off, whatever is said of the others
            carries_on = ~np.append(is_step, True)[last_step + 1]
            ended: Bools = np.full(len(last_step), ends == "terminated") & ~carries_on
            return ended
        flags = self._flags(name)
        not_last = flags.copy()
        not_last[last_step] = False
        early = np.flatnonzero(not_last)
        if len(early):
            raise LogError(
                f"{self._where(early[0])}: marked terminated, but the episode goes on. Start a new "
                "episode after an ending."
            )
        marked: Bools = flags[last_step]
        return marked

    def _flags(self, name: str) -> Bools:
        import pyarrow as pa

        column = self.table[name].combine_chunks()
        if pa.types.is_boolean(column.type):
            return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
        meaning = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        words = column.cast(pa.string()).dictionary_encode()
        values = []
        for word in words.dictionary.to_pylist():
            key = word.strip().lower().removesuffix(".0")
            if key not in meaning:
                bad = int(np.flatnonzero(np.array(column.cast(pa.string())) == word)[0])
                raise LogError(
                    f"{self._where(bad)}, column {name!r}: {word!r} is not true or false."
                )
            values.append(meaning[key])
        meanings = np.array([*values, False], np.bool_)
        chosen: Bools = meanings[words.indices.fill_null(len(values)).to_numpy()]
        return chosen


def _is_number(text: Any) -> bool:
    try:
        float(text if text is not None else "nan")
    except (TypeError, ValueError):
        return False
    return True
