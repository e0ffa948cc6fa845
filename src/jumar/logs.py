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
wrong would either invent endings or lose every last step. Other columns are ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from jumar.arrays import Bools, Floats, Ints
from jumar.episodes import UNKNOWN, Episodes, Origin
from jumar.errors import LogError, ParameterError, not_one_of
from jumar.files import replacing
from jumar.log_files import NEEDED, OPTIONAL, LogTable, format_of, load
from jumar.names import WILDCARD, check_names

Ends = Literal["terminated", "cut"]
_METADATA = b"jumar"
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


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
    for part in columns or ():
        if part not in (*NEEDED, *OPTIONAL):
            raise ParameterError("columns: " + not_one_of("part", part, (*NEEDED, *OPTIONAL)))
    if ends is not None and ends not in get_args(Ends):
        raise ParameterError("ends: " + not_one_of("meaning", ends, get_args(Ends)))
    given = {
        part: check_names(part, names, LogError)
        for part, names in (("observation", observations), ("action", actions))
        if names is not None
    }
    path = Path(path)
    return _Reader(path, load(path, columns or {})).episodes(given, ends)


def write_logs(log: Episodes, path: str | Path) -> None:
    """Write a log as CSV or Parquet (by the ending of the name); Parquet also keeps the names that
    never occurred."""
    import pyarrow.csv
    import pyarrow.parquet

    kind = format_of(Path(path))
    try:
        table = _to_table(log)
    except UnicodeEncodeError as error:
        raise LogError(
            f"{path}: the name {error.object!r} has half a character (a lone surrogate), which no "
            "file can hold. Choose another name."
        ) from error
    with replacing(path) as temporary:
        if kind == "CSV":
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


def _stored_names(table: Any) -> dict[str, tuple[str, ...]]:
    stored = (table.schema.metadata or {}).get(_METADATA)
    try:
        kept = json.loads(stored or "")
        return {
            part: check_names(part, kept[f"{part}s"], LogError)
            for part in ("observation", "action")
        }
    except (ValueError, TypeError, KeyError, LogError):
        return {}  # somebody else's metadata: the names in the columns will do


# ---- from table to episodes -------------------------------------------------------------------


class _Reader:
    """One table on its way to Episodes; knows how to name a row of the file."""

    def __init__(self, path: Path, read: LogTable) -> None:
        self.path, self.table, self.parts, self.row = path, read.table, read.parts, read.row
        labels = self._labels()
        encoded = labels.dictionary_encode()
        self.labels = encoded.dictionary.to_pylist()
        code = encoded.indices.to_numpy().astype(np.int64)
        order = self._order(code)
        self.first = np.searchsorted(code[order], np.arange(len(self.labels) + 1))
        if not np.array_equal(order, np.arange(len(order))):
            self.table, self.row = self.table.take(order), self.row[order]

    def _labels(self) -> Any:
        import pyarrow as pa

        labels = self._column("episode")
        if not pa.types.is_integer(labels.type):
            labels = self._text("episode")
        for row in _nulls(labels):
            raise LogError(f"{self._cell(row, 'episode')}: the episode is missing.")
        return labels

    def _order(self, code: Ints) -> Ints:
        """Rows sorted by episode (in order of appearance), then step."""
        if "step" not in self.parts:
            return np.argsort(code, kind="stable")
        step = self._numbers("step", whole=True)
        for row in np.flatnonzero(~np.isfinite(step))[:1]:
            raise LogError(f"{self._cell(row, 'step')}: {step[row]} is not a number to sort by.")
        order = np.lexsort([step, code])
        same = (np.diff(code[order]) == 0) & (np.diff(step[order]) == 0)
        if same.any():
            i = int(np.flatnonzero(same)[0])
            one, two = sorted(self.row[order[i : i + 2]].tolist())
            raise LogError(
                f"{self.path}, row {two} (episode {self.labels[code[order[i]]]}): the step is the "
                f"same as in row {one}. Number the steps of an episode differently."
            )
        return order

    def episodes(self, given: Mapping[str, tuple[str, ...]], ends: Ends | None) -> Episodes:
        """The table as Episodes."""
        observations, z = self._symbols("observation", given.get("observation"))
        actions, a = self._symbols("action", given.get("action"))
        last = self.first[1:] - 1
        closing = a == UNKNOWN  # rows that only carry a final observation
        self._check_closing(closing, last)
        is_step = ~closing
        step_rows = np.flatnonzero(is_step)
        reward = self._rewards(is_step)[step_rows]
        lengths = np.diff(np.concatenate([[0], np.cumsum(is_step)])[self.first])
        for e in np.flatnonzero(lengths == 0)[:1]:
            raise LogError(
                f"{self._where(last[e])}: the episode has no steps, only a final observation. "
                "Leave it out."
            )
        last_step = self.first[:-1] + lengths - 1
        terminated = self._terminated(ends, is_step, last_step)
        final = np.where(closing[last], z[last], UNKNOWN)
        for e in np.flatnonzero(terminated & (final != UNKNOWN))[:1]:
            raise LogError(
                f"{self._where(last[e])}: an observation follows a step that is marked "
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

    def _cell(self, row: int, part: str) -> str:
        return f"{self.path}, row {self.row[row]}, column {self.parts[part]!r}"

    def _column(self, part: str) -> Any:
        import pyarrow as pa

        column = self.table[self.parts[part]].combine_chunks()
        if pa.types.is_dictionary(column.type):  # it may list what never occurs
            return column.cast(column.type.value_type)
        return column

    def _text(self, part: str) -> Any:
        """A column as text; empty text counts as missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._column(part)
        try:
            text = column.cast(pa.string())
        except pa.ArrowException as error:
            raise LogError(
                f"{self.path}, column {self.parts[part]!r}: a value of type {column.type} cannot "
                "be read as a name. Store text or whole numbers."
            ) from error
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)

    def _symbols(self, part: str, given: tuple[str, ...] | None) -> tuple[tuple[str, ...], Ints]:
        """The alphabet and the number of each row's symbol, UNKNOWN where it is missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._text(part)
        for row in _nulls(column) if part == "observation" else ():
            raise LogError(f"{self._where(row)}: the observation is missing.")
        names = given
        if names is None:
            kept = _stored_names(self.table).get(part, ())
            new = set(column.drop_null().unique().to_pylist()) - {*kept, WILDCARD}
            names = (*kept, *sorted(new))
        code = pc.index_in(column, pa.array(names, pa.string())).fill_null(UNKNOWN).to_numpy()
        unknown = (code == UNKNOWN) & column.is_valid().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(unknown)[:1]:
            name = column[int(row)].as_py()
            if given is None:
                fact = f"{part} {name!r} is reserved for the wildcard. Choose another name."
            else:
                fact = not_one_of(part, name, names)
            raise LogError(f"{self._where(row)}: {fact}")
        return names, code.astype(np.int64)

    def _numbers(self, part: str, needed: Any = True, *, whole: bool = False) -> Any:
        """A column of numbers; `whole` ones as int64, since a float may not tell them apart."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._column(part)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = pc.utf8_trim_whitespace(column)
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        missing = column.is_null().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(missing & needed)[:1]:
            raise LogError(f"{self._cell(row, part)}: the {part} is missing.")
        for kind in (pa.int64(), pa.float64()) if whole else (pa.float64(),):
            try:
                return column.cast(kind, safe=kind == pa.int64()).to_numpy(zero_copy_only=False)
            except pa.ArrowException:
                continue
        for row, value in enumerate(column):
            try:
                value.cast(pa.float64(), safe=False)
            except pa.ArrowException as error:
                fact = f"{value.as_py()!r} is not a number."
                raise LogError(f"{self._cell(row, part)}: {fact}") from error
        raise LogError(f"{self.path}, column {self.parts[part]!r}: these are not all numbers.")

    def _rewards(self, is_step: Bools) -> Floats:
        rewards: Floats = self._numbers("reward", is_step)
        for row in np.flatnonzero(is_step & ~np.isfinite(rewards))[:1]:
            raise LogError(
                f"{self._cell(row, 'reward')}: reward is {rewards[row]}; rewards must be finite "
                "numbers."
            )
        for row in np.flatnonzero(~is_step & (np.nan_to_num(rewards) != 0))[:1]:
            raise LogError(
                f"{self._where(row)}: there is a reward but no action. Write what was done; or "
                "leave the reward out, if the row only tells what was seen in the end."
            )
        return rewards

    def _check_closing(self, closing: Bools, last: Ints) -> None:
        early = closing.copy()
        early[last] = False
        for row in np.flatnonzero(early)[:1]:
            raise LogError(
                f"{self._where(row)}: the action is missing. Only the last row of an episode that "
                "was cut off may have none."
            )

    def _terminated(self, ends: Ends | None, is_step: Bools, last_step: Ints) -> Bools:
        if "terminated" not in self.parts:
            if ends is None:
                raise LogError(
                    f"{self.path}: there is no column 'terminated', so it is not clear what the "
                    "end of an episode means. Add the column, or say ends='terminated' (--ends "
                    "terminated: the process ended by itself) or ends='cut' (--ends cut: the "
                    "recording stopped)."
                )
            # an episode with a closing row was cut off, whatever is said of the others
            carries_on = ~np.append(is_step, True)[last_step + 1]
            ended: Bools = np.full(len(last_step), ends == "terminated") & ~carries_on
            return ended
        if ends is not None:
            raise LogError(
                f"{self.path}: the column {self.parts['terminated']!r} says how each episode ends. "
                f"Leave out ends={ends!r}, or the column."
            )
        flags = self._flags()
        marked: Bools = flags[last_step]
        flags[last_step] = False
        for row in np.flatnonzero(flags)[:1]:
            if is_step[row]:
                fact = "the episode goes on. Start a new episode after an ending."
            else:
                fact = (
                    "has no action. Mark the step with which the process ended, and drop this row."
                )
            raise LogError(f"{self._where(row)}: marked terminated, but {fact}")
        return marked

    def _flags(self) -> Bools:
        words = self._text("terminated").dictionary_encode()
        code = words.indices.fill_null(len(words.dictionary)).to_numpy()
        meanings = []
        for i, word in enumerate(words.dictionary.to_pylist()):
            key = word.strip().lower().removesuffix(".0")
            if key not in _FLAGS:
                row = int(np.flatnonzero(code == i)[0])
                raise LogError(f"{self._cell(row, 'terminated')}: {word!r} is not true or false.")
            meanings.append(_FLAGS[key])
        chosen: Bools = np.array([*meanings, False], np.bool_)[code]
        return chosen


def _nulls(column: Any) -> Ints:
    return np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
