"""The episodes of a dataset of Minari: groups of lists in one HDF5 file.

Such files come from anywhere and can hold anything. What is not there, or is not a list of numbers
where one belongs, is told with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import JumarError, LogError, MissingExtra
from jumar.core.resources import check_room
from jumar.core.text import printable
from jumar.log.formats.source import naming, no_rows
from jumar.log.spaces import SpaceColumn

METADATA, HDF5 = "metadata.json", "main_data.hdf5"
_EPISODE = re.compile("episode_([0-9]{1,18})")


@contextmanager
def _h5py_errors() -> Iterator[None]:
    """What h5py raises for damaged groups, and for links that go round, as an error of reading."""
    try:
        yield
    except JumarError:
        raise
    except RuntimeError as error:
        raise OSError(str(error)) from error


class EpisodesFile:
    """All episodes of a dataset."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path, self._name = folder / HDF5, name
        self._groups: dict[int, str] = {}  # of every episode
        try:
            import h5py  # noqa: F401 - told before anything is read
        except ImportError as error:
            raise MissingExtra(f"{name}: datasets in HDF5", "h5py", "minari") from error
        if not self._path.is_file():
            raise LogError(f"{name}: {HDF5} is missing. Is the dataset complete?")

    def __enter__(self) -> EpisodesFile:
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
        """The lists in the infos of the first episode."""
        import h5py

        with naming(self._name, "HDF5"), self:
            numbers = self.numbers()
            if not numbers:
                raise no_rows(self._name)
            with _h5py_errors():
                infos = self.episode(numbers[0]).group.get("infos")
                found = infos.items() if isinstance(infos, h5py.Group) else ()
                return [k for k, item in found if isinstance(item, h5py.Dataset) and item.ndim == 1]

    def episode(self, number: int) -> Episode:
        import h5py

        place = f"{self._name}, episode {number}"
        with _h5py_errors():
            group = self._file.get(self._groups[number])
        if not isinstance(group, h5py.Group):
            raise LogError(f"{place}: it is no group of lists. Write the episode again.")
        return Episode(number, group, place)


class Episode:
    """One episode of a file."""

    def __init__(self, number: int, group: Any, place: str) -> None:
        self.number, self.group, self._place = number, group, place

    def steps(self, key: str) -> Array:
        return self._numbers((), key)

    def leaf(self, part: str, column: SpaceColumn) -> Array:
        keys = [f"_index_{key}" if isinstance(key, int) else key for key in column.keys]
        return self._numbers(column.shape, part, *keys)

    def info(self, key: str) -> Array:
        values = self._read("infos", key)
        if values.dtype.kind in "OS" and all(isinstance(item, bytes) for item in values.flat):
            return np.array([item.decode("utf-8", "replace") for item in values], object)
        return self._numbers((), "infos", key)

    def _numbers(self, shape: tuple[int, ...], *keys: str) -> Array:
        """(T, *shape) numbers; what is nothing is NaN."""
        values, what = self._read(*keys), keys[-1]
        if values.dtype.kind not in "biuf":
            raise self._not_there(what)
        if values.shape[1:] != shape:
            raise LogError(
                f"{self._place}, {what}: entries have the shape {values.shape[1:]}, but in the "
                f"space of the dataset {shape}. Correct {METADATA}, or the data."
            )
        return values

    def _read(self, *keys: str) -> Array:
        import h5py

        found, what = self.group, "/".join(keys)
        with _h5py_errors():
            for key in keys:
                found = found.get(key) if isinstance(found, h5py.Group) else None
            if not isinstance(found, h5py.Dataset) or not found.shape:
                raise self._not_there(what)
            size = found.size * found.dtype.itemsize
            check_room(f"{self._place}, {what}", size, "Is it damaged?")
            return np.asarray(found[()])

    def _not_there(self, what: str) -> LogError:
        what = printable(what)
        return LogError(
            f"{self._place}: there is no list of numbers {what!r}. Write the episode again."
        )
