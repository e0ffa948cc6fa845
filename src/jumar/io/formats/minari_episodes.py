"""Where the episodes of a dataset of Minari lie: all in one HDF5 file, or each in a folder with
files of Arrow or Parquet.

Such files come from anywhere and can hold anything. What is not there, or is not a list of numbers
where one belongs, is told with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import JumarError, LogError, MissingExtra
from jumar.core.room import check_room
from jumar.core.text import printable, shown
from jumar.io.formats.source import naming, no_rows
from jumar.io.spaces import SpaceColumn

METADATA, HDF5 = "metadata.json", "main_data.hdf5"
KINDS = ("arrow", "parquet")
_EPISODE = re.compile("episode_([0-9]{1,18})")
_NUMBER = re.compile("[0-9]{1,18}")


def store_of(folder: Path, kind: object, name: str) -> Hdf5Store | FilesStore:
    """The episodes of a dataset whose data_format is `kind`."""
    if kind != "hdf5":
        return FilesStore(folder, shown(str(kind)))
    try:
        import h5py  # noqa: F401 - told before anything is read
    except ImportError as error:
        raise MissingExtra(f"{name}: datasets in HDF5", "h5py", "minari") from error
    return Hdf5Store(folder / HDF5, name)


def _not_there(place: str, what: str) -> LogError:
    return LogError(f"{place}: there is no list of numbers {what!r}. Write the episode again.")


def _numeric(values: Array, place: str, what: str) -> Array:
    """The values, if they are numbers, at least a list of them; nothing is not a number."""
    if values.dtype.kind == "O" and all(
        value is None or isinstance(value, int | float) for value in values.flat
    ):
        values = values.astype(float)
    if values.dtype.kind not in "biuf" or values.ndim == 0:
        raise _not_there(place, what)
    return values


def _shaped(values: Array, shape: tuple[int, ...], place: str, what: str) -> Array:
    if values.shape[1:] != shape:
        raise LogError(
            f"{place}, {what}: entries have the shape {values.shape[1:]}, but in the space of the "
            f"dataset {shape}. Correct {METADATA}, or the data."
        )
    return values


@contextmanager
def _h5py_errors() -> Iterator[None]:
    """What h5py raises for damaged groups, and for links that go round, as an error of reading."""
    try:
        yield
    except JumarError:
        raise
    except RuntimeError as error:
        raise OSError(str(error)) from error


# ---- HDF5 ---------------------------------------------------------------------------------------


class Hdf5Store:
    """All episodes in one file."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._file: Any = None
        self._groups: dict[int, str] = {}  # of every episode
        if not path.is_file():
            raise LogError(f"{name}: {path.name} is missing. Is the dataset complete?")

    def __enter__(self) -> Hdf5Store:
        import h5py

        self._file = h5py.File(self._path, "r")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def numbers(self) -> list[int]:
        with _h5py_errors():
            keys = list(self._file)
        for key in keys:
            named = _EPISODE.fullmatch(key)
            if named is None:
                raise LogError(
                    f"{self._name}: {printable(key)!r} is not the name of an episode, such as "
                    "'episode_0'. Write the dataset again."
                )
            self._groups[int(named[1])] = key
        return sorted(self._groups)

    def info_keys(self) -> list[str]:
        with naming(self._name, "HDF5"), self:
            numbers = self.numbers()
            if not numbers:
                raise no_rows(self._name)
            return self.episode(numbers[0]).info_keys()

    def episode(self, number: int) -> Hdf5Episode:
        import h5py

        place = f"{self._name}, episode {number}"
        with _h5py_errors():
            group = self._file.get(self._groups[number])
        if not isinstance(group, h5py.Group):
            raise LogError(f"{place}: it is no group of lists. Write the episode again.")
        return Hdf5Episode(number, group, place)


class Hdf5Episode:
    """One episode of a file."""

    def __init__(self, number: int, group: Any, place: str) -> None:
        self.number, self._group, self._place = number, group, place

    def info_keys(self) -> list[str]:
        import h5py

        with _h5py_errors():
            infos = self._group.get("infos")
            if not isinstance(infos, h5py.Group):
                return []
            lists = {key: infos.get(key) for key in infos}
        return [
            key for key, item in lists.items() if isinstance(item, h5py.Dataset) and item.ndim == 1
        ]

    def steps(self, key: str) -> Array:
        return _shaped(_numeric(self._read(key), self._place, key), (), self._place, key)

    def leaf(self, part: str, column: SpaceColumn) -> Array:
        keys = [f"_index_{key}" if isinstance(key, int) else key for key in column.keys]
        values = _numeric(self._read(part, *keys), self._place, part)
        return _shaped(values, column.shape, self._place, part)

    def info(self, key: str) -> Array:
        values = self._read("infos", key)
        if values.dtype.kind in "OS" and all(isinstance(item, bytes) for item in values.flat):
            return np.array([item.decode("utf-8", "replace") for item in values], object)
        return _shaped(_numeric(values, self._place, key), (), self._place, key)

    def _read(self, *keys: str) -> Array:
        import h5py

        found, what = self._group, "/".join(keys)
        with _h5py_errors():
            for key in keys:
                found = found.get(key) if isinstance(found, h5py.Group) else None
            if not isinstance(found, h5py.Dataset) or not found.shape:
                raise _not_there(self._place, what)
            size = found.size * found.dtype.itemsize
            check_room(f"{self._place}, {what}", size, "Is it damaged?")
            return np.asarray(found[()])


# ---- Arrow and Parquet --------------------------------------------------------------------------


class FilesStore:
    """A folder for each episode, with a file of Arrow or Parquet."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self._kind = folder, kind
        if kind not in KINDS:
            raise LogError(
                f"{folder}, {METADATA}: data_format {kind!r} is not one of hdf5, arrow, parquet."
            )

    def __enter__(self) -> FilesStore:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def numbers(self) -> list[int]:
        return sorted(
            int(each.name) for each in self._folder.iterdir() if _NUMBER.fullmatch(each.name)
        )

    def info_keys(self) -> list[str]:
        with naming(str(self._folder), self._kind.title()):
            numbers = self.numbers()
            if not numbers:
                raise no_rows(str(self._folder))
            return self.episode(numbers[0]).info_keys()

    def episode(self, number: int) -> FilesEpisode:
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
        table = pa.concat_tables(tables).combine_chunks()
        return FilesEpisode(number, table, f"{self._folder}, episode {number}")


class FilesEpisode:
    """One episode of a folder. The last row has an observation; all else in it is padding."""

    def __init__(self, number: int, table: Any, place: str) -> None:
        self.number, self._table, self._place = number, table, place

    def info_keys(self) -> list[str]:
        import pyarrow as pa

        if "infos" not in self._table.schema.names:
            return []
        kind = self._table.schema.field("infos").type
        return [field.name for field in kind] if pa.types.is_struct(kind) else []

    def steps(self, key: str) -> Array:
        return _numeric(_array(self._column(key)), self._place, key)[:-1]

    def leaf(self, part: str, column: SpaceColumn) -> Array:
        found = self._column(part, *map(str, column.keys))
        values = _numeric(_array(found), self._place, part).reshape(len(found), *column.shape)
        return values if part == "observations" else values[:-1]

    def info(self, key: str) -> Array:
        values = _array(self._column("infos", key))
        return values if values.dtype.kind == "U" else _numeric(values, self._place, key)

    def _column(self, key: str, *fields: str) -> Any:
        import pyarrow as pa

        if self._table.schema.names.count(key) != 1:
            raise _not_there(self._place, key)
        found = self._table[key].combine_chunks()
        for field in fields:
            if not pa.types.is_struct(found.type) or found.type.get_field_index(field) < 0:
                raise _not_there(self._place, _path([key, *fields]))
            found = found.field(field)
        return found


def _path(keys: Sequence[str]) -> str:
    return printable(".".join(keys))


def _array(column: Any) -> Array:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_fixed_size_list(column.type) or pa.types.is_list(column.type):
        column = column.flatten()
    return np.array(column.to_pylist())
