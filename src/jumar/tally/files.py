"""Counts in a Parquet file, which other programs can read too.

One row per history state and action that were seen, and one more per history state in which
episodes begin (with no action); sorted, so that equal counts are equal files.

==================  ===============================================================================
node                list of whole numbers: the memory node. For a window, one number per remembered
                    observation, oldest first: 0 for nothing yet, else 1 + the number of the
                    observation; with actions a second number each. For named nodes the number of
                    the node
observation         what was seen
action              what was done; null in the row that counts episodes that began here
starts              episodes that began here (only in rows without an action)
visits              how often that was done and it is known what followed
ends                how often the process ended with it
reward_sum          the sum of the rewards, rounded once
reward_rest         list of numbers: what rounding took; together they are the exact sum
next_observation    list of whole numbers: the observations that followed, by their number
next_times          list of whole numbers: how often each did
==================  ===============================================================================

The metadata key ``jumar`` holds JSON: the format (``jumar-counts/1``), the names of observations
and actions in order, the memory as in a controller file, facts of the log, and which parts of which
files were counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, Ints, number_rows
from jumar.core.documents import checked, number, whole
from jumar.core.errors import CountsError, JumarError, LogError
from jumar.core.exact import ExactSums
from jumar.core.files import replacing
from jumar.core.names import check_names
from jumar.core.text import printable
from jumar.log.formats.numpy_arrays import to_numpy
from jumar.log.reading.columns import is_text
from jumar.log.shards.plan import CountedFiles, FilePart
from jumar.memory import Memory
from jumar.policy.files.entries import Alphabet, read_memory
from jumar.tally.counted import Counted, CountedFacts, Lengths

LARGEST = 2**63 - 1  # of a count
FORMAT = "jumar-counts/1"
METADATA = b"jumar"
NAMES = ("observation", "action")
LISTS = ("node", "reward_rest", "next_observation", "next_times")
COLUMNS = (
    "node",
    "observation",
    "action",
    "starts",
    "visits",
    "ends",
    "reward_sum",
    "reward_rest",
    "next_observation",
    "next_times",
)


def save_counts(counted: Counted, path: str | os.PathLike[str]) -> None:
    """Write counts to a Parquet file, whole or not at all."""
    from pyarrow import parquet

    table = _to_table(counted)
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def load_counts(path: str | os.PathLike[str]) -> Counted:
    """Read counts from a Parquet file; an error says what is wrong with it.

    Parameters
    ----------
    path
        A file that `jumar count` or `jumar merge` wrote.

    Returns
    -------
    Counted
        The counts.
    """
    import pyarrow as pa
    from pyarrow import parquet

    place = str(path)
    if not Path(path).is_file():
        raise CountsError(f"{place}: there is no such file. Check the path.")
    try:
        table = parquet.read_table(path, partitioning=None)
        table.validate(full=True)
        return _from_table(table, place)
    except CountsError:
        raise
    except RecursionError as error:
        raise CountsError(f"{place}: lists are nested too deeply. Count again.") from error
    except JumarError as error:  # of names or a memory
        raise CountsError(f"{place}: {str(error).removeprefix(place).lstrip(': ')}") from error
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError) as error:
        fact = printable(str(error).partition("\n")[0][:200]) or type(error).__name__
        raise CountsError(
            f"{place}: cannot be read as counts: {fact}. Make the file with jumar count."
        ) from error


def _to_table(counted: Counted) -> Any:
    import pyarrow as pa

    c = counted
    began = np.flatnonzero(c.starts)
    state = np.concatenate([began, c.state])
    action = np.concatenate([np.full(len(began), -1), c.action])
    order = np.lexsort([action, state])
    state, action = state[order], action[order]
    has_action = action >= 0

    def per_pair(values: Array) -> Array:
        none = np.zeros((len(began), *values.shape[1:]), values.dtype)
        return np.concatenate([none, values])[order]

    fields = c.memory.to_fields(c.states[:, :-1])[state]
    expansion = c.rewards.expansion()
    rest = per_pair(expansion[:, 1:])
    # pairs lie in order, and so do their moves
    lengths = per_pair(np.bincount(c.pair, minlength=len(c.state)))
    table = pa.table(
        {
            "node": _lists(np.full(len(state), fields.shape[1]), fields.ravel().astype(np.int32)),
            "observation": _names(c.states[state, -1], c.observations),
            "action": _names(action, c.actions),
            "starts": np.where(has_action, 0, c.starts[state]),
            "visits": per_pair(c.visits),
            "ends": per_pair(c.ends),
            "reward_sum": per_pair(expansion[:, 0]),
            "reward_rest": _lists((rest != 0).sum(1), rest[rest != 0]),
            "next_observation": _lists(lengths, c.seen.astype(np.int32)),
            "next_times": _lists(lengths, c.times),
        }
    )
    about = {
        "format": FORMAT,
        "observations": list(c.observations),
        "actions": list(c.actions),
        "memory": c.memory.to_document(c.observations, c.actions),
        "facts": asdict(c.facts),
        "counted": c.files.to_dict(),
    }
    return table.replace_schema_metadata({METADATA: json.dumps(about).encode()})


def _lists(lengths: Array, values: Array) -> Any:
    import pyarrow as pa

    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))


def _names(codes: Ints, names: tuple[str, ...]) -> Any:
    import pyarrow as pa

    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


def _from_table(table: Any, place: str) -> Counted:
    about = _about(table, place)
    columns = {name: table.column(name).combine_chunks() for name in COLUMNS}
    _check_columns(columns, place)
    observations = check_names("observation", about["observations"], LogError)
    actions = check_names("action", about["actions"], LogError)
    memory = read_memory(about["memory"], f"{place}: memory", Alphabet(observations, actions))
    z = _codes(columns["observation"], observations, place)
    a = _codes(columns["action"], actions, place, may_be_null=True)
    states, state = _states(columns, memory, z, place)
    starts, visits, ends = (
        to_numpy(columns[name]).astype(np.int64) for name in ("starts", "visits", "ends")
    )
    is_pair = a >= 0
    lengths, seen = _unlisted(columns["next_observation"])
    again, times = _unlisted(columns["next_times"])
    _check(np.array_equal(lengths, again), place, "observations and times that follow do not match")
    exist = ((seen >= 0) & (seen < len(observations))).all()
    _check(exist, place, "an observation that follows does not exist")
    counted = (times > 0).all() and (ends >= 0).all() and (starts >= 0).all()
    _check(counted, place, "a count is negative")
    idle = not lengths[~is_pair].any() and not ends[~is_pair].any()
    _check(idle, place, "something follows no action")
    key = state * (len(actions) + 1) + a
    _check((np.diff(key) > 0).all(), place, "rows are not sorted, or occur twice")
    of_row = np.cumsum(is_pair) - 1
    pair = np.repeat(of_row, lengths)
    moves = pair * len(observations) + seen
    _check((np.diff(moves) > 0).all(), place, "what follows is not sorted, or occurs twice")
    begins = np.zeros(len(states), np.int64)
    begins[state[~is_pair]] = starts[~is_pair]
    found = Counted(
        observations,
        actions,
        memory,
        states,
        begins,
        state[is_pair],
        a[is_pair],
        ends[is_pair],
        _rewards(columns, is_pair, place),
        pair,
        seen.astype(np.int64),
        times.astype(np.int64),
        _facts(about["facts"], place),
        _files(about.get("counted", []), place),
    )
    _check(np.array_equal(found.visits, visits[is_pair]), place, "visits are not what followed")
    began = sum(begins.tolist())
    _check(began == found.facts.episodes, place, "episodes are not those that began")
    return found


def _about(table: Any, place: str) -> Mapping[str, Any]:
    """What the file says about itself, if it is one of counts."""
    raw = (table.schema.metadata or {}).get(METADATA)
    about = json.loads(raw) if raw else {}
    if not isinstance(about, dict) or "format" not in about:
        raise CountsError(f"{place}: this is no file of counts. Make one with jumar count.")
    if about["format"] != FORMAT:
        raise CountsError(
            f"{place}: is written as {printable(str(about['format'])[:40])!r}, which this version "
            f"does not know; it knows {FORMAT}. Install a newer jumar, or count again."
        )
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise CountsError(f"{place}: has no column {missing[0]!r}. Make it with jumar count.")
    return about


def _states(columns: Mapping[str, Any], memory: Memory, z: Ints, place: str) -> tuple[Ints, Ints]:
    """The history states, sorted, and that of every row."""
    sizes, fields = _unlisted(columns["node"])
    width = memory.to_fields(memory.initial()[None, :]).shape[1]
    _check((sizes == width).all(), place, "a node has the wrong number of fields")
    rows = fields.reshape(len(z), width).astype(np.int64)
    nodes = memory.from_fields(rows) if len(z) else np.zeros((0, memory.width), np.int64)
    _check((rows >= 0).all() and memory.has(nodes).all(), place, "a node does not exist")
    return number_rows(np.column_stack([nodes, z]))


def _rewards(columns: Mapping[str, Any], is_pair: Bools, place: str) -> ExactSums:
    rewards = ExactSums(int(is_pair.sum()))
    sums, (parts, rest) = to_numpy(columns["reward_sum"]), _unlisted(columns["reward_rest"])
    rewards.add(np.arange(len(rewards)), _finite(sums[is_pair], place))
    rewards.add(np.repeat(np.cumsum(is_pair) - 1, parts), _finite(rest, place))
    return rewards


def _check_columns(columns: Mapping[str, Any], place: str) -> None:
    """Is every column of the type that it was written with, and without gaps?"""
    import pyarrow as pa

    for name, column in columns.items():
        kind, gaps = column.type, column.null_count
        if name in LISTS:
            listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
            _check(listed, place, f"column {name} holds no lists")
            kind, gaps = kind.value_type, gaps + column.values.null_count
        if name in NAMES:
            fits = is_text(kind)
            gaps = 0 if name == "action" else gaps
        else:
            whole = pa.types.is_signed_integer(kind)
            fits = kind == pa.float64() if name.startswith("reward") else whole
        _check(fits, place, f"column {name} is of type {printable(str(kind))}")
        _check(gaps == 0, place, f"something is missing in column {name}")


def _check(holds: Any, place: str, fact: str) -> None:
    if not holds:
        raise CountsError(f"{place}: is damaged: {fact}. Count again.")


def _finite(values: Array, place: str) -> Array:
    _check((np.abs(values) < 1e300).all(), place, "a sum of rewards is not finite")
    return np.ascontiguousarray(values, np.float64)


def _codes(column: Any, names: tuple[str, ...], place: str, may_be_null: bool = False) -> Ints:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    number = {name: i for i, name in enumerate(names)}
    known = [number.get(word, -2) for word in column.dictionary.to_pylist()]
    code = np.array([*known, -1], np.int64)[to_numpy(column.indices, len(known))]
    _check((code >= (-1 if may_be_null else 0)).all(), place, "a name is not in its list")
    return code


def _unlisted(column: Any) -> tuple[Ints, Array]:
    """(n,) lengths of lists, and all that is in them."""
    offsets = np.asarray(to_numpy(column.offsets)).astype(np.int64)
    values = np.asarray(to_numpy(column.values))[offsets[0] : offsets[-1]]
    return np.diff(offsets), values


# ---- what a file says about itself --------------------------------------------------------------


def _facts(data: Any, place: str) -> CountedFacts:
    facts = checked(data, dict, f"{place}: facts", CountsError)

    def count(name: str, among: Mapping[str, Any] = facts) -> int:
        return whole(among.get(name), f"{place}: {name}", CountsError, most=LARGEST)

    def lengths(name: str) -> Lengths:
        told = checked(facts.get(name), dict, f"{place}: {name}", CountsError)
        return Lengths(count("shortest", told), count("longest", told))

    def span(name: str) -> tuple[float, float] | None:
        if facts.get(name) is None:
            return None
        low, high = checked(facts[name], list, f"{place}: {name}", CountsError)
        _check(-1e300 < low <= high < 1e300, place, f"{name} are no range")
        return number(low, place, CountsError), number(high, place, CountsError)

    return CountedFacts(
        count("episodes"),
        count("steps"),
        count("unfinished"),
        count("ended"),
        lengths("lengths_ended"),
        lengths("lengths_cut"),
        span("rewards"),
        span("ending_rewards"),
    )


def _files(data: Any, place: str) -> CountedFiles:
    """Which parts of which files were counted."""
    place = f"{place}: what was counted"
    return CountedFiles(
        tuple(_part(entry, place) for entry in checked(data, list, place, CountsError))
    )


def _part(entry: Any, place: str) -> FilePart:
    file, first, last, labels, rising = checked(entry, list, place, CountsError)
    checked(file, str, place, CountsError)
    checked(rising, bool, place, CountsError)
    first, last = (whole(at, place, CountsError, most=LARGEST) for at in (first, last))
    _check(first < last, place, "a part of a file ends before it begins")
    if labels is not None:
        kinds = [type(label) for label in checked(labels, list, place, CountsError)]
        _check(kinds in ([int, int], [str, str]), place, "labels are not two numbers or two texts")
        labels = labels[0], labels[1]
    return FilePart(file, first, last, labels, rising)
