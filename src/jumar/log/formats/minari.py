"""Datasets of Minari: a folder with metadata.json and main_data.hdf5.

They are read with h5py as they lie on the disk, without minari itself and without a network. An
episode of T steps has T+1 observations; the last is a row without an action, unless the episode
terminated there. Spaces of several numbers are several columns (`jumar.log.spaces`); if all are
whole, there is also one column with their joint names. What an environment told besides is a column
``info.key``.

Such files come from anywhere and can hold anything. What is not there, or is not a list of numbers
where one belongs, is told with its place.

`jumar.log.minari` writes such datasets, with names for the numbers and more in the metadata.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import LogError, MissingExtra, ParameterError
from jumar.core.resources import check_room
from jumar.core.text import listing, printable, shown
from jumar.log.episodes import SIGNAL
from jumar.log.formats.source import BATCH_ROWS, Source, naming, no_rows
from jumar.log.spaces import MOST_NAMES, NamedSpace, SpaceColumn, columns_of
from jumar.memory.frames import named

PREFIX = "minari:"
OWN = "jumar"  # the key of the metadata that write_minari leaves
DATA, METADATA, HDF5 = "data", "metadata.json", "main_data.hdf5"
TOLD = ("node", "propensity", "cluster", "behavior")  # parts that write_minari puts into infos
ROOTS = ("observation", "action")
LABELLED = ("node", "cluster", "behavior")
_EPISODE = re.compile("episode_([0-9]{1,18})")
# lists of names that write_minari leaves
_NAMES = (
    *("observations", "actions", "infos", "episodes", "signals"),
    *(f"{key}_names" for key in LABELLED),
)


def datasets_root() -> Path:
    """Where Minari keeps its datasets."""
    given = os.environ.get("MINARI_DATASETS_PATH")
    return Path(given) if given else Path.home() / ".minari" / "datasets"


def is_minari(path: Path) -> bool:
    """Is this the folder of a dataset, or the one around it?"""
    return _data_folder(path) is not None


def _data_folder(path: Path) -> Path | None:
    for folder in (path, path / DATA):
        try:
            known = json.loads((folder / METADATA).read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(known, dict) and "data_format" in known:
            return folder
    return None


def located(source: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The folder of a dataset that is named minari:namespace/name-v0; else the source itself."""
    text = str(source)
    if not text.startswith(PREFIX):
        return source
    name = text.removeprefix(PREFIX)
    root = datasets_root()
    found = _data_folder(root / name) if name else None
    if found is None:
        files = root.glob(f"**/{DATA}/{METADATA}")
        known = sorted(file.parent.parent.relative_to(root).as_posix() for file in files)
        there = f"There are {listing(known)}." if known else "There are none."
        raise LogError(
            f"{printable(text)}: there is no such dataset in {root}. {there} Nothing is "
            "downloaded: `minari download` does that. The folder is MINARI_DATASETS_PATH."
        )
    return found


class MinariFolder(Source):
    """A dataset."""

    has_points = True

    def __init__(self, path: Path, name: str | None = None) -> None:
        folder = _data_folder(path)
        self.name = name or str(path)
        if folder is None:
            raise LogError(
                f"{self.name}: there is no dataset of Minari (no {METADATA} with it). Give its "
                "folder, or minari:NAME."
            )
        self._file = folder / HDF5
        self.about: Mapping[str, Any] = json.loads((folder / METADATA).read_text("utf-8"))
        self.own: Mapping[str, Any] = self.about.get(OWN, {})
        self._check()
        # where a column is: the keys on the way to a list, one number of a space, or all of them
        self._found: dict[str, tuple[str, ...] | SpaceColumn | NamedSpace] = {"episode": ()}
        self._found["step"] = ()
        columns = {root: self._columns_of(root) for root in ROOTS}
        for root in ROOTS:
            if (joint := self._joint_of(root, columns[root])) is not None:
                self._found[root] = joint
        for column in (column for root in ROOTS for column in columns[root]):
            self._found.setdefault(column.name, column)
        self._found["reward"] = ("rewards",)
        self._found |= {"terminated": ("terminations",), "truncated": ("truncations",)}
        told = {key: key for key in TOLD if key in self.own.get("infos", ())}
        told |= {SIGNAL + s: signal_info(i) for i, s in enumerate(self.own.get("signals", ()))}
        told |= {f"info.{key}": key for key in self._info_keys()}
        self._found |= {column: ("infos", key) for column, key in told.items()}
        self.names = list(self._found)
        self._asked: set[str] = set()

    def _check(self) -> None:
        """Is it a dataset that can be read, with lists where write_minari leaves some?"""
        place = f"{self.name}, {METADATA}"
        if self.about["data_format"] != "hdf5":
            stored = shown(str(self.about["data_format"]))
            raise LogError(
                f"{place}: data_format {stored!r} is not read, only hdf5. Write the dataset with "
                "Minari as hdf5."
            )
        for key in (*_NAMES, "without_final"):
            kind, what = (int, "numbers") if key == "without_final" else (str, "names")
            found = self.own.get(key, []) if isinstance(self.own, dict) else None
            if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
                raise LogError(
                    f"{place}, {OWN}, {key}: it is no list of {what}. Write the dataset again, or "
                    "remove it."
                )

    # ---- spaces -----------------------------------------------------------------------------

    def _columns_of(self, root: str) -> list[SpaceColumn]:
        place, text = f"{self.name}, {METADATA}", self.about.get(f"{root}_space")
        if not isinstance(text, str):
            raise LogError(
                f"{place}: there is no {root}_space. Write the dataset with Minari 0.4 or newer."
            )
        try:
            with naming(place, "JSON"):
                return columns_of(root, json.loads(text))
        except RecursionError as error:
            raise LogError(f"{place}: the {root}_space is nested too deeply.") from error
        except ParameterError as error:
            raise LogError(f"{place}: {error}") from error

    def _joint_of(self, root: str, columns: Sequence[SpaceColumn]) -> NamedSpace | None:
        """The space, if all its numbers are whole and not too many to name."""
        names = [column.name for column in columns]
        joint = NamedSpace({}, tuple(columns))
        if 0 < joint.size <= MOST_NAMES:
            return joint
        self.advice = self.advice or (
            f"The {root} is made of numbers: {listing(names)}. Choose those that matter: "
            f"columns={{'{root}': ('{names[0]}', ...)}} (--columns {root}={names[0]}+...); and cut "
            f"real ones into ranges: bins={{'{names[0]}': ('low', 0.5, 'high')}} "
            f"(--bins {names[0]}=low:0.5:high)."
        )
        return None

    @property
    def metadata(self) -> bytes | None:  # type: ignore[override]
        """All names of a column that holds names, whether they occur or not."""
        asked = [root for root in ROOTS if root in self._asked]
        kept = {f"{root}s": names for root in asked if (names := self._names_of(root)) is not None}
        return json.dumps(kept).encode() if kept else None

    def _names_of(self, column: str) -> Sequence[str] | None:
        """The names that the numbers in a column stand for."""
        found = self._found[column]
        if isinstance(found, NamedSpace):
            labels: list[str] = self.own.get(f"{column}s", [])
            return labels if len(labels) == found.size else found.names
        if column == "episode":
            return self.own.get("episodes")
        return self.own.get(f"{column}_names") if column in LABELLED else None

    # ---- episodes ---------------------------------------------------------------------------

    @contextmanager
    def _opened(self, kind: str) -> Iterator[Any]:
        try:
            import h5py
        except ImportError as error:
            raise MissingExtra(f"{self.name}: datasets in HDF5", "h5py", "minari") from error
        if not self._file.is_file():
            raise LogError(f"{self.name}: {HDF5} is missing. Is the dataset complete?")
        with naming(self.name, kind):
            try:
                with h5py.File(self._file, "r") as file:
                    yield file
            except RuntimeError as error:  # damaged groups, links that go round
                raise OSError(str(error)) from error

    def _episodes(self, file: Any) -> Iterator[tuple[int, Any]]:
        """The episodes in order: the number and the group of each."""
        import h5py

        numbers = {}
        for key in file:
            named = _EPISODE.fullmatch(key)
            if named is None:
                raise LogError(
                    f"{self.name}: {printable(key)!r} is not the name of an episode, such as "
                    "'episode_0'. Write the dataset again."
                )
            numbers[int(named[1])] = key
        if not numbers:
            raise no_rows(self.name)
        for number in sorted(numbers):
            group = file.get(numbers[number])
            if not isinstance(group, h5py.Group):
                raise LogError(
                    f"{self.name}, episode {number}: it is no group of lists. Write the episode "
                    "again."
                )
            yield number, group

    def _info_keys(self) -> list[str]:
        """The lists in the infos of the first episode."""
        with self._opened("HDF5") as file:
            import h5py

            infos = next(self._episodes(file))[1].get("infos")
            found = infos.items() if isinstance(infos, h5py.Group) else ()
            return [k for k, item in found if isinstance(item, h5py.Dataset) and item.ndim == 1]

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        import pyarrow as pa

        self._asked = set(columns)
        held: list[dict[str, Array]] = []
        rows = 0

        def made() -> Any:
            whole = {name: np.concatenate([part[name] for part in held]) for name in columns}
            return pa.record_batch({name: self._typed(name, whole[name]) for name in columns})

        with self._opened("Minari") as file:
            for number, group in self._episodes(file):
                held.append(self._rows(number, group, columns))
                rows += len(held[-1][columns[0]])
                if rows >= BATCH_ROWS:
                    yield made()
                    held, rows = [], 0
            if held:
                yield made()

    def _rows(self, number: int, group: Any, columns: Sequence[str]) -> dict[str, Array]:
        """The rows of an episode."""
        place = f"{self.name}, episode {number}"
        ended = _numbers(place, group, ("terminations",))
        T, cut_short = len(ended), number in self.own.get("without_final", ())
        n = T + (T == 0 or (not ended[-1] and not cut_short))
        rows = {"episode": np.full(n, number), "step": np.arange(n)}
        for name in columns:
            if name in ("episode", "step"):
                continue
            values = self._values(place, group, name)
            if len(values) not in (T, T + 1):
                raise LogError(
                    f"{place}, {name}: {len(values)} entries, but the episode has {T} steps. Write "
                    "the episode again."
                )
            rows[name] = _fitted(values, n)
        return rows

    def _values(self, place: str, group: Any, name: str) -> Array:
        """The numbers of a column, or of the joint names."""
        found = self._found[name]
        if isinstance(found, SpaceColumn):
            return _of_column(place, group, found)
        if not isinstance(found, NamedSpace):
            values = _numbers(place, group, found)
            return values.astype(float) if name == "reward" else values
        parts = [_of_column(place, group, column) for column in found.columns]
        codes = found.joined(parts)
        for at in np.flatnonzero(codes < 0)[:1]:
            value = "+".join(str(part[at]) for part in parts)
            raise LogError(
                f"{place}, step {at}: the {name} {value} is not in the space of the dataset. "
                f"Correct {METADATA}, or the data."
            )
        return codes

    def _typed(self, name: str, values: Array) -> Any:
        """A column for Arrow: names where numbers have some, nothing where there is nothing."""
        import pyarrow as pa

        if name in ("terminated", "truncated"):
            return pa.array(np.nan_to_num(values) != 0)
        numbers, found = values.dtype.kind in "iufb", self._found[name]
        nothing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_)
        names = self._names_of(name)
        if names is None or (name == "episode" and len(names) <= values.max()):
            is_whole = isinstance(found, SpaceColumn) and found.values is not None
            if is_whole and _are_whole(values[~nothing]):
                values = np.where(nothing, 0, values).astype(np.int64)
            return pa.array(values, mask=nothing)
        nothing = ~(values >= 0) if numbers else np.ones(len(values), np.bool_)
        known = values[~nothing]
        if len(known) and not (_are_whole(known) and known.max() < len(names)):
            raise LogError(
                f"{self.name}, {name}: there are names for the numbers 0 to {len(names) - 1}, and "
                "others occur. Write the dataset again."
            )
        return named(np.where(nothing, 0, values), names, nothing)


def _of_column(place: str, group: Any, column: SpaceColumn) -> Array:
    """(T,) or (T+1,) one number of a space."""
    keys = [f"_index_{key}" if isinstance(key, int) else key for key in column.keys]
    part = column.name.partition(".")[0]
    return column.of_array(_numbers(place, group, (f"{part}s", *keys), column.shape))


def _numbers(place: str, group: Any, keys: Sequence[str], shape: tuple[int, ...] = ()) -> Array:
    """(T, *shape) the numbers of a list, NaN for nothing; of infos also words."""
    import h5py

    found, what = group, "/".join(keys)
    for key in keys:
        found = found.get(key) if isinstance(found, h5py.Group) else None
    if isinstance(found, h5py.Dataset) and found.shape:
        # HDF5 keeps nothing of what was never written: a small file may promise terabytes
        size = found.size * found.dtype.itemsize
        check_room(f"{place}, {what}", size, "Is it damaged?")
        values = np.asarray(found[()])
        if values.dtype.kind in "biuf" and values.shape[1:] == shape:
            return values
        if keys[0] == "infos" and all(isinstance(item, bytes) for item in values.flat):
            return np.array([item.decode("utf-8", "replace") for item in values], object)
    of_shape = f" with entries of the shape {shape}" if shape else ""
    raise LogError(
        f"{place}: {printable(what)!r} is no list of numbers{of_shape}. Write the episode again."
    )


def signal_info(number: int) -> str:
    """The key of the infos that holds a signal: its number, for a name may hold what no key can."""
    return f"signal_{number}"


def _fitted(values: Array, n: int) -> Array:
    """As many entries as rows; nothing where there is none, as of actions in a closing row."""
    if len(values) >= n:
        return values[:n]
    if values.dtype.kind not in "fiub":
        return np.append(values, [""])
    return np.append(values.astype(float), np.nan)


def _are_whole(values: Array) -> bool:
    """Are these whole numbers, and not too large to be told exactly?"""
    if values.dtype.kind != "f":
        return values.dtype.kind in "iub"
    return bool((np.abs(values) < 2**53).all() and (values == np.floor(values)).all())
