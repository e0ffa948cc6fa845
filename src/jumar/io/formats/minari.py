"""Datasets of Minari: a folder with metadata.json and main_data.hdf5, or a file per episode.

They are read as they lie on the disk, without minari itself and without a network: with h5py where
they are HDF5, else with pyarrow. An episode of T steps has T+1 observations; the last is a row
without an action, unless the episode terminated there. Spaces of several numbers are several
columns (`jumar.io.spaces`); if all are whole, there is also one column with their joint names.
What an environment told besides is a column ``info.key``.

`jumar.io.minari` writes such datasets, with names for the numbers and more in the metadata.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import JumarError, LogError, MissingExtra
from jumar.core.text import listing, printable, shown
from jumar.io.formats.source import BATCH_ROWS, Source, naming, no_rows
from jumar.io.spaces import NamedSpace, SpaceColumn, columns_of, named_space

PREFIX = "minari:"
OWN = "jumar"  # the key of the metadata that write_minari leaves
METADATA, HDF5, DATA = "metadata.json", "main_data.hdf5", "data"
TOLD = ("node", "propensity", "cluster", "behavior")  # parts that write_minari puts into infos
ROOTS = ("observation", "action")
LABELLED = ("node", "cluster", "behavior")


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
        except (OSError, ValueError):
            continue
        if isinstance(known, dict) and "data_format" in known:
            return folder
    return None


def located(source: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The folder of a dataset that is named like minari:namespace/name-v0; else the source itself.

    >>> located("log.csv")
    'log.csv'
    """
    text = str(source)
    if not text.startswith(PREFIX):
        return source
    name = text.removeprefix(PREFIX)
    found = _data_folder(datasets_root() / name) if name else None
    if found is None:
        known = sorted(_names_of_datasets(datasets_root()))
        there = f"There are {listing(known)}." if known else "There are none."
        raise LogError(
            f"{printable(text)}: there is no such dataset in {datasets_root()}. {there} Nothing is "
            "downloaded: `minari download` does that. The folder is MINARI_DATASETS_PATH."
        )
    return found


def _names_of_datasets(root: Path) -> Iterator[str]:
    for file in root.glob(f"**/{DATA}/{METADATA}"):
        yield file.parent.parent.relative_to(root).as_posix()


class MinariFolder(Source):
    """A dataset."""

    has_points = True

    def __init__(self, path: Path, name: str | None = None) -> None:
        folder = _data_folder(path)
        self.name = name or str(path)
        if folder is None:
            raise LogError(f"{self.name}: there is no dataset of Minari (no {METADATA} with it).")
        self.about: Mapping[str, Any] = json.loads((folder / METADATA).read_text("utf-8"))
        kind = self.about["data_format"]
        self._store = _hdf5(folder, self.name) if kind == "hdf5" else _Files(folder, str(kind))
        self.own: Mapping[str, Any] = self.about.get(OWN, {})
        self._columns = {root: self._columns_of(root) for root in ROOTS}
        told = [key for key in TOLD if key in self.own.get("infos", ())]
        infos = [f"info.{key}" for key in self._store.info_keys()]
        single = [root for root in ROOTS if self._joint[root] is not None]
        parts = [column.name for columns in self._columns.values() for column in columns]
        self.names = list(dict.fromkeys(
            ["episode", "step", *single, *parts, "reward", "terminated", "truncated", *told, *infos]
        ))  # fmt: skip
        self._asked: set[str] = set()

    @cached_property
    def _joint(self) -> dict[str, NamedSpace | None]:
        """The spaces in which all numbers are whole."""
        found: dict[str, NamedSpace | None] = dict.fromkeys(ROOTS)
        for root, columns in self._columns.items():
            if all(column.values is not None for column in columns):
                try:
                    found[root] = named_space(root, self._space(root))
                except JumarError:
                    continue  # too many values to name; its columns are there
        real = [root for root in ROOTS if found[root] is None]
        if real:
            names = [column.name for column in self._columns[real[0]]]
            self.advice = (
                f"The {real[0]} is made of numbers: {listing(names)}. Choose those that matter: "
                f"columns={{'{real[0]}': ('{names[0]}', ...)}} "
                f"(--columns {real[0]}={names[0]}+...); and cut real ones into ranges: "
                f"bins={{'{names[0]}': ('low', 0.5, 'high')}} (--bins {names[0]}=low:0.5:high)."
            )
        return found

    def _space(self, root: str) -> dict[str, Any]:
        text = self.about.get(f"{root}_space")
        if not isinstance(text, str):
            raise LogError(
                f"{self.name}, {METADATA}: there is no {root}_space. Write the dataset with Minari "
                "0.4 or newer."
            )
        with naming(f"{self.name}, {METADATA}", "JSON"):
            space: dict[str, Any] = json.loads(text)
        return space

    def _columns_of(self, root: str) -> list[SpaceColumn]:
        try:
            return columns_of(root, self._space(root))
        except LogError:
            raise
        except (JumarError, KeyError, TypeError, ValueError) as error:
            raise LogError(f"{self.name}, {METADATA}: {error}") from error

    @property
    def metadata(self) -> bytes | None:  # type: ignore[override]
        """All names of a column that holds names, whether they occur or not."""
        kept = {}
        for root, joint in self._joint.items():
            if joint is not None and root in self._asked:
                kept[f"{root}s"] = self._names(root, joint)
        return json.dumps(kept).encode() if kept else None

    def _names(self, root: str, joint: NamedSpace) -> Sequence[str]:
        labels = self.own.get(f"{root}s")
        named = isinstance(labels, list) and len(labels) == len(joint.names)
        return labels if named and labels is not None else joint.names

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        import pyarrow as pa

        self._asked = set(columns)
        held: list[dict[str, Array]] = []
        rows = 0

        def made() -> Any:
            whole = {name: np.concatenate([part[name] for part in held]) for name in columns}
            return pa.record_batch({name: self._typed(name, whole[name]) for name in columns})

        with naming(self.name, "Minari"), self._store as store:
            for number in store.numbers():
                held.append(self._rows(store, number, columns))
                rows += len(held[-1][columns[0]])
                if rows >= BATCH_ROWS:
                    yield made()
                    held, rows = [], 0
            if held:
                yield made()

    def _rows(self, store: Any, number: int, columns: Sequence[str]) -> dict[str, Array]:
        """The rows of an episode."""
        episode = store.episode(number)
        ended = np.asarray(episode.steps("terminations"))
        T = len(ended)
        closing = T == 0 or (not ended[-1] and number not in self.own.get("without_final", ()))
        n = T + closing
        found: dict[str, Array] = {}
        for name in columns:
            root = name.partition(".")[0]
            if name == "episode":
                values: Array = np.full(n, number)
            elif name == "step":
                values = np.arange(n)
            elif name in _OF_STEPS:
                values = np.asarray(episode.steps(_OF_STEPS[name]), float)
            elif root in ROOTS:
                values = self._values(episode, root, name)
            else:
                values = np.asarray(episode.info(name.removeprefix("info.")))
            self._check_length(name, number, values, T)
            found[name] = _fitted(values, n)
        return found

    def _values(self, episode: Any, root: str, name: str) -> Array:
        """The numbers of a column, or of the joint names."""
        columns, joint = self._columns[root], self._joint[root]
        parts = [c.of_array(episode.leaf(f"{root}s", c)) for c in columns if name in (root, c.name)]
        if name != root or joint is None:
            return parts[0]
        codes = joint.joined(parts)
        if (codes < 0).any():
            at = int(np.flatnonzero(codes < 0)[0])
            raise LogError(
                f"{self.name}, episode {episode.number}, step {at}: the {root} "
                f"{'+'.join(str(part[at]) for part in parts)} is not in the space of the dataset. "
                f"Correct {METADATA}, or the data."
            )
        return codes

    def _check_length(self, name: str, number: int, values: Array, T: int) -> None:
        if len(values) not in (T, T + 1):
            raise LogError(
                f"{self.name}, episode {number}, {name}: {len(values)} entries, but the episode "
                f"has {T} steps. Write the episode again."
            )

    def _typed(self, name: str, values: Array) -> Any:
        """A column for Arrow: names where numbers have some, nothing where there is nothing."""
        import pyarrow as pa

        nothing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_)
        if name == "episode":
            labels = self.own.get("episodes")
            named = isinstance(labels, list) and len(labels) > int(values.max())
            return _named(values, labels) if named and labels is not None else pa.array(values)
        joint = self._joint.get(name)
        if joint is not None:
            return _named(values, self._names(name, joint))
        if name in LABELLED and isinstance(labels := self.own.get(f"{name}_names"), list):
            return _named(np.where(nothing, -1, values), labels)
        if name in ("terminated", "truncated"):
            return pa.array(np.nan_to_num(values) != 0)
        whole = [c for columns in self._columns.values() for c in columns if c.name == name]
        if whole and whole[0].values is not None:
            values = np.where(nothing, 0, values).astype(np.int64)
        return pa.array(values, mask=nothing)


_OF_STEPS = {"reward": "rewards", "terminated": "terminations", "truncated": "truncations"}


def _fitted(values: Array, n: int) -> Array:
    """As many entries as rows; nothing where there is none, as of actions in a closing row."""
    if len(values) >= n:
        return values[:n]
    if values.dtype.kind not in "fiub":
        return np.append(values, [""])
    return np.append(values.astype(float), np.nan)


def _named(codes: Array, names: Sequence[str]) -> Any:
    import pyarrow as pa

    nothing = np.isnan(codes.astype(float)) | (codes < 0)
    indices = pa.array(np.where(nothing, 0, codes).astype(np.int32), mask=nothing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(names), pa.string()))


# ---- where episodes lie -------------------------------------------------------------------------


def _hdf5(folder: Path, name: str) -> _Hdf5:
    try:
        import h5py  # noqa: F401 - told before anything is read
    except ImportError as error:
        raise MissingExtra(f"{name}: datasets in HDF5", "h5py", "minari") from error
    return _Hdf5(folder / HDF5, name)


class _Hdf5:
    """All episodes in one file."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._file: Any = None
        if not path.is_file():
            raise LogError(f"{name}: {path.name} is missing. Is the dataset complete?")

    def __enter__(self) -> _Hdf5:
        import h5py

        self._file = h5py.File(self._path, "r")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def numbers(self) -> list[int]:
        return sorted(int(key.removeprefix("episode_")) for key in self._file)

    def info_keys(self) -> list[str]:
        with naming(self._name, "HDF5"), self:
            numbers = self.numbers()
            if not numbers:
                raise no_rows(self._name)
            infos = self.episode(numbers[0]).group.get("infos", {})
            return [key for key, item in infos.items() if getattr(item, "ndim", 0) == 1]

    def episode(self, number: int) -> _Hdf5Episode:
        return _Hdf5Episode(number, self._file[f"episode_{number}"])


class _Hdf5Episode:
    """One episode of a file."""

    def __init__(self, number: int, group: Any) -> None:
        self.number, self.group = number, group

    def steps(self, key: str) -> Any:
        return self.group[key][()]

    def leaf(self, part: str, column: SpaceColumn) -> Any:
        found = self.group[part]
        for key in column.keys:
            found = found[f"_index_{key}" if isinstance(key, int) else key]
        return found[()]

    def info(self, key: str) -> Any:
        values = self.group["infos"][key][()]
        if values.dtype.kind == "O":  # text
            return np.array([item.decode("utf-8", "replace") for item in values], object)
        return values


class _Files:
    """A folder for each episode, with a file of Arrow or Parquet."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self._kind = folder, kind
        if kind not in ("arrow", "parquet"):
            raise LogError(
                f"{folder}, {METADATA}: data_format {shown(kind)!r} is not one of hdf5, arrow, "
                "parquet."
            )

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def numbers(self) -> list[int]:
        return sorted(int(each.name) for each in self._folder.iterdir() if each.name.isdigit())

    def info_keys(self) -> list[str]:
        with naming(str(self._folder), self._kind.title()):
            numbers = self.numbers()
            if not numbers:
                raise no_rows(str(self._folder))
            table = self.episode(numbers[0]).table
            if "infos" not in table.schema.names:
                return []
            return [field.name for field in table.schema.field("infos").type]

    def episode(self, number: int) -> _ArrowEpisode:
        import pyarrow as pa
        from pyarrow import ipc, parquet

        tables = []
        for path in sorted((self._folder / str(number)).glob(f"*.{self._kind}")):
            if self._kind == "parquet":
                tables.append(parquet.ParquetFile(path).read())
            else:
                with pa.OSFile(str(path)) as file:
                    tables.append(ipc.open_file(file).read_all())
        if not tables:
            raise LogError(
                f"{self._folder / str(number)}: there is no file of the episode. Is the dataset "
                "complete?"
            )
        return _ArrowEpisode(number, pa.concat_tables(tables).combine_chunks())


class _ArrowEpisode:
    """One episode of a folder. The last row has an observation; all else in it is padding."""

    def __init__(self, number: int, table: Any) -> None:
        self.number, self.table = number, table

    def steps(self, key: str) -> Any:
        return _array(self.table[key])[:-1]

    def leaf(self, part: str, column: SpaceColumn) -> Any:
        found = self.table[part].combine_chunks()
        for key in column.keys:
            found = found.field(str(key))
        values = _array(found).reshape(len(found), *column.shape)
        return values if part == "observations" else values[:-1]

    def info(self, key: str) -> Any:
        return _array(self.table["infos"].combine_chunks().field(key))


def _array(column: Any) -> Array:
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_fixed_size_list(column.type) or pa.types.is_list(column.type):
        column = column.flatten()
    return np.array(column.to_pylist())
