"""Datasets of Minari: a folder with metadata.json and main_data.hdf5.

They are read with h5py as they lie on the disk, without minari itself and without a network. An
episode of T steps has T+1 observations; the last is a row without an action, unless the episode
terminated there. Spaces of several numbers are several
columns (`jumar.log.spaces`); if all are whole, there is also one column with their joint names.
What an environment told besides is a column ``info.key``.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import JumarError, LogError, MissingExtra
from jumar.core.resources import check_room
from jumar.core.text import listing, printable, shown
from jumar.log.episodes import SIGNAL
from jumar.log.formats.source import BATCH_ROWS, Source, naming, no_rows
from jumar.log.spaces import NamedSpace, SpaceColumn, columns_of, named_space
from jumar.memory.frames import named

PREFIX = "minari:"
OWN = "jumar"  # the key of the metadata that write_minari leaves
DATA, METADATA, HDF5 = "data", "metadata.json", "main_data.hdf5"
TOLD = ("node", "propensity", "cluster", "behavior")  # parts that write_minari puts into infos
ROOTS = ("observation", "action")
LABELLED = ("node", "cluster", "behavior")
_OF_STEPS = {"reward": "rewards", "terminated": "terminations", "truncated": "truncations"}
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
        self._file = folder / HDF5
        self.about: Mapping[str, Any] = json.loads((folder / METADATA).read_text("utf-8"))
        self.own: Mapping[str, Any] = self.about.get(OWN, {})
        self._check()
        self._columns = {root: self._columns_of(root) for root in ROOTS}
        self._joint = {root: self._joint_of(root) for root in ROOTS}
        parts = [column.name for columns in self._columns.values() for column in columns]
        told = [key for key in TOLD if key in self.own.get("infos", ())]
        told += [SIGNAL + name for name in self.own.get("signals", ())]
        single = [root for root in ROOTS if self._joint[root] is not None]
        self.names = [*dict.fromkeys((
            *("episode", "step", *single, *parts, "reward", "terminated", "truncated", *told),
            *(f"info.{key}" for key in self._info_keys()),
        ))]  # fmt: skip
        self._asked: set[str] = set()

    def _check(self) -> None:
        """Is it a dataset that can be read, with lists where write_minari leaves some?"""
        if self.about["data_format"] != "hdf5":
            stored = shown(str(self.about["data_format"]))
            raise LogError(
                f"{self.name}, {METADATA}: data_format {stored!r} is not read, only hdf5. Write "
                "the dataset with Minari as hdf5."
            )
        place = f"{self.name}, {METADATA}, {OWN}"
        if not isinstance(self.own, dict):
            raise LogError(f"{place}: it is no object. Write the dataset again, or remove it.")
        for key in (*_NAMES, "without_final"):
            kind = int if key == "without_final" else str
            found = self.own.get(key, [])
            if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
                raise LogError(
                    f"{place}, {key}: it is no list of {'numbers' if kind is int else 'names'}. "
                    "Write the dataset again, or remove it."
                )

    # ---- spaces -----------------------------------------------------------------------------

    def _space(self, root: str) -> Any:
        place, text = f"{self.name}, {METADATA}", self.about.get(f"{root}_space")
        if not isinstance(text, str):
            raise LogError(
                f"{place}: there is no {root}_space. Write the dataset with Minari 0.4 or newer."
            )
        try:
            with naming(place, "JSON"):
                return json.loads(text)
        except RecursionError as error:
            raise LogError(f"{place}: the {root}_space is nested too deeply.") from error

    def _columns_of(self, root: str) -> list[SpaceColumn]:
        space = self._space(root)
        try:
            return columns_of(root, space)
        except JumarError as error:
            raise LogError(f"{self.name}, {METADATA}: {error}") from error

    def _joint_of(self, root: str) -> NamedSpace | None:
        """The space, if all its numbers are whole and not too many to name."""
        columns = self._columns[root]
        if all(column.values is not None for column in columns):
            try:
                return named_space(root, self._space(root))
            except JumarError:
                pass  # its columns are there
        names = [column.name for column in columns]
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
        kept = {
            f"{root}s": self._names(root, joint)
            for root, joint in self._joint.items()
            if joint is not None and root in self._asked
        }
        return json.dumps(kept).encode() if kept else None

    def _names(self, root: str, joint: NamedSpace) -> Sequence[str]:
        labels: list[str] = self.own.get(f"{root}s", [])
        return labels if len(labels) == joint.size else joint.names

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

    def _numbered(self, file: Any) -> list[tuple[int, str]]:
        """The episodes in order: their numbers, and what the file calls them."""
        found = []
        for key in file:
            named = _EPISODE.fullmatch(key)
            if named is None:
                raise LogError(
                    f"{self.name}: {printable(key)!r} is not the name of an episode, such as "
                    "'episode_0'. Write the dataset again."
                )
            found.append((int(named[1]), key))
        return sorted(found)

    def _info_keys(self) -> list[str]:
        """The lists in the infos of the first episode."""
        import h5py

        with self._opened("HDF5") as file:
            numbered = self._numbered(file)
            if not numbered:
                raise no_rows(self.name)
            infos = _Episode.of(file, *numbered[0], self.name).group.get("infos")
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
            for number, key in self._numbered(file):
                held.append(self._rows(_Episode.of(file, number, key, self.name), columns))
                rows += len(held[-1][columns[0]])
                if rows >= BATCH_ROWS:
                    yield made()
                    held, rows = [], 0
            if held:
                yield made()

    def _rows(self, episode: _Episode, columns: Sequence[str]) -> dict[str, Array]:
        """The rows of an episode."""
        ended = episode.numbers("terminations")
        T, cut_short = len(ended), episode.number in self.own.get("without_final", ())
        n = T + (T == 0 or (not ended[-1] and not cut_short))
        found: dict[str, Array] = {}
        for name in columns:
            values = self._values(episode, name, n)
            if len(values) not in (T, T + 1):
                raise LogError(
                    f"{episode.place}, {name}: {len(values)} entries, but the episode has {T} "
                    "steps. Write the episode again."
                )
            found[name] = _fitted(values, n)
        return found

    def _values(self, episode: _Episode, name: str, n: int) -> Array:
        """The numbers of a column, of about n rows."""
        root = name.partition(".")[0]
        if name == "episode":
            return np.full(n, episode.number)
        if name == "step":
            return np.arange(n)
        if name in _OF_STEPS:
            return episode.numbers(_OF_STEPS[name]).astype(float)
        if root not in ROOTS:
            signals = [SIGNAL + each for each in self.own.get("signals", ())]
            key = signal_info(signals.index(name)) if name in signals else name
            return episode.info(key.removeprefix("info."))
        joint = self._joint[root]
        parts = [episode.leaf(f"{root}s", c) for c in self._columns[root] if name in (root, c.name)]
        if name != root or joint is None:
            return parts[0]
        codes = joint.joined(parts)
        for at in np.flatnonzero(codes < 0)[:1]:
            value = "+".join(str(part[at]) for part in parts)
            raise LogError(
                f"{episode.place}, step {at}: the {root} {value} is not in the space of the "
                f"dataset. Correct {METADATA}, or the data."
            )
        return codes

    def _typed(self, name: str, values: Array) -> Any:
        """A column for Arrow: names where numbers have some, nothing where there is nothing."""
        import pyarrow as pa

        nothing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_)
        labels = self.own.get(f"{name}_names") if name in LABELLED else None
        if (joint := self._joint.get(name)) is not None:
            labels = self._names(name, joint)
        elif name == "episode" and len(self.own.get("episodes", ())) > int(values.max()):
            labels = self.own["episodes"]
        if labels is not None:
            return self._named(name, values, labels)
        if name in ("terminated", "truncated"):
            return pa.array(np.nan_to_num(values) != 0)
        whole = [c for columns in self._columns.values() for c in columns if c.name == name]
        if whole and whole[0].values is not None and _are_whole(values[~nothing]):
            values = np.where(nothing, 0, values).astype(np.int64)
        return pa.array(values, mask=nothing)

    def _named(self, name: str, codes: Array, names: Sequence[str]) -> Any:
        """A column of names, given as numbers; what is negative or no number is nothing."""
        nothing = ~(codes >= 0) if codes.dtype.kind in "iufb" else np.ones(len(codes), np.bool_)
        known = codes[~nothing]
        if len(known) and not (_are_whole(known) and known.max() < len(names)):
            raise LogError(
                f"{self.name}, {name}: there are names for the numbers 0 to {len(names) - 1}, and "
                "others occur. Write the dataset again."
            )
        return named(np.where(nothing, 0, codes), names, nothing)


@dataclass(frozen=True)
class _Episode:
    """One episode of a file."""

    number: int
    group: Any
    place: str  # as messages call it

    @classmethod
    def of(cls, file: Any, number: int, key: str, name: str) -> _Episode:
        import h5py

        place, group = f"{name}, episode {number}", file.get(key)
        if not isinstance(group, h5py.Group):
            raise LogError(f"{place}: it is no group of lists. Write the episode again.")
        return cls(number, group, place)

    def leaf(self, part: str, column: SpaceColumn) -> Array:
        keys = [f"_index_{key}" if isinstance(key, int) else key for key in column.keys]
        return column.of_array(self.numbers(part, *keys, shape=column.shape))

    def info(self, key: str) -> Array:
        values = self._read("infos", key)
        if values.dtype.kind in "OS" and all(isinstance(item, bytes) for item in values.flat):
            return np.array([item.decode("utf-8", "replace") for item in values], object)
        return self.numbers("infos", key)

    def numbers(self, *keys: str, shape: tuple[int, ...] = ()) -> Array:
        """(T, *shape) numbers; what is nothing is NaN."""
        values = self._read(*keys)
        if values.dtype.kind not in "biuf":
            raise self._not_there(keys[-1])
        if values.shape[1:] != shape:
            raise LogError(
                f"{self.place}, {keys[-1]}: entries have the shape {values.shape[1:]}, but in the "
                f"space of the dataset {shape}. Correct {METADATA}, or the data."
            )
        return values

    def _read(self, *keys: str) -> Array:
        import h5py

        found, what = self.group, "/".join(keys)
        for key in keys:
            found = found.get(key) if isinstance(found, h5py.Group) else None
        if not isinstance(found, h5py.Dataset) or not found.shape:
            raise self._not_there(what)
        # HDF5 keeps nothing of what was never written: a small file may promise terabytes
        size = found.size * found.dtype.itemsize
        check_room(f"{self.place}, {what}", size, "Is it damaged?")
        return np.asarray(found[()])

    def _not_there(self, what: str) -> LogError:
        return LogError(
            f"{self.place}: there is no list of numbers {printable(what)!r}. Write the episode "
            "again."
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
