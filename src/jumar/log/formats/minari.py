"""Datasets of Minari: a folder with metadata.json and main_data.hdf5.

They are read with h5py as they lie on the disk, without minari itself and without a network. An
episode of T steps has T+1 observations; the last is a row
without an action, unless the episode terminated there. Spaces of several numbers are several
columns (`jumar.log.spaces`); if all are whole, there is also one column with their joint names.
What an environment told besides is a column ``info.key``.

`jumar.log.minari` writes such datasets, with names for the numbers and more in the metadata.
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
from jumar.core.errors import JumarError, LogError
from jumar.core.text import listing, printable, shown
from jumar.log.episodes import SIGNAL
from jumar.log.formats.minari_episodes import METADATA, Episode, EpisodesFile
from jumar.log.formats.source import BATCH_ROWS, Source, naming
from jumar.log.spaces import NamedSpace, SpaceColumn, columns_of, named_space

PREFIX = "minari:"
OWN = "jumar"  # the key of the metadata that write_minari leaves
DATA = "data"
TOLD = ("node", "propensity", "cluster", "behavior")  # parts that write_minari puts into infos
ROOTS = ("observation", "action")
LABELLED = ("node", "cluster", "behavior")
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
        self.about: Mapping[str, Any] = json.loads((folder / METADATA).read_text("utf-8"))
        if self.about["data_format"] != "hdf5":
            kind = shown(str(self.about["data_format"]))
            raise LogError(
                f"{self.name}, {METADATA}: data_format {kind!r} is not read, only hdf5. Write the "
                "dataset with Minari as hdf5."
            )
        self._store = EpisodesFile(folder, self.name)
        self.own = self._checked_own()
        self._columns = {root: self._columns_of(root) for root in ROOTS}
        told = [key for key in TOLD if key in self.own.get("infos", ())]
        infos = [f"info.{key}" for key in self._store.info_keys()]
        single = [root for root in ROOTS if self._joint[root] is not None]
        parts = [column.name for columns in self._columns.values() for column in columns]
        told += [SIGNAL + name for name in self.own.get("signals", ())]
        self.names = list(dict.fromkeys(
            ["episode", "step", *single, *parts, "reward", "terminated", "truncated", *told, *infos]
        ))  # fmt: skip
        self._asked: set[str] = set()

    def _checked_own(self) -> Mapping[str, Any]:
        """What write_minari left in the metadata, lists where there should be lists."""
        own = self.about.get(OWN, {})
        place = f"{self.name}, {METADATA}, {OWN}"
        if not isinstance(own, dict):
            raise LogError(f"{place}: it is no object. Write the dataset again, or remove it.")
        for key in (*_NAMES, "without_final"):
            kind = int if key == "without_final" else str
            found = own.get(key, [])
            if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
                raise LogError(
                    f"{place}, {key}: it is no list of {'numbers' if kind is int else 'names'}. "
                    "Write the dataset again, or remove it."
                )
        return own

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
        place = f"{self.name}, {METADATA}"
        try:
            with naming(place, "JSON"):
                space: dict[str, Any] = json.loads(text)
        except RecursionError as error:
            raise LogError(f"{place}: the {root}_space is nested too deeply.") from error
        return space

    def _columns_of(self, root: str) -> list[SpaceColumn]:
        try:
            found = columns_of(root, self._space(root))
        except LogError:
            raise
        except JumarError as error:
            raise LogError(f"{self.name}, {METADATA}: {error}") from error
        if not found:
            raise LogError(f"{self.name}, {METADATA}: {root}: the space has no values.")
        return found

    @property
    def metadata(self) -> bytes | None:  # type: ignore[override]
        """All names of a column that holds names, whether they occur or not."""
        kept = {}
        for root, joint in self._joint.items():
            if joint is not None and root in self._asked:
                kept[f"{root}s"] = self._names(root, joint)
        return json.dumps(kept).encode() if kept else None

    def _names(self, root: str, joint: NamedSpace) -> Sequence[str]:
        labels: list[str] = self.own.get(f"{root}s", [])
        return labels if len(labels) == len(joint.names) else joint.names

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

    def _rows(self, store: EpisodesFile, number: int, columns: Sequence[str]) -> dict[str, Array]:
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
                values = np.asarray(episode.info(self._info_of(name)))
            if len(values) not in (T, T + 1):
                raise LogError(
                    f"{self.name}, episode {number}, {name}: {len(values)} entries, but the "
                    f"episode has {T} steps. Write the episode again."
                )
            found[name] = _fitted(values, n)
        return found

    def _info_of(self, column: str) -> str:
        """The key of the infos behind a column."""
        signals = [SIGNAL + name for name in self.own.get("signals", ())]
        if column in signals:
            return signal_info(signals.index(column))
        return column.removeprefix("info.")

    def _values(self, episode: Episode, root: str, name: str) -> Array:
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
        import pyarrow as pa

        nothing = ~(codes >= 0) if codes.dtype.kind in "iufb" else np.ones(len(codes), np.bool_)
        known = codes[~nothing]
        if len(known) and not (_are_whole(known) and known.max() < len(names)):
            raise LogError(
                f"{self.name}, {name}: there are names for the numbers 0 to {len(names) - 1}, and "
                "others occur. Write the dataset again."
            )
        indices = pa.array(np.where(nothing, 0, codes).astype(np.int32), mask=nothing)
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(names), pa.string()))


def signal_info(number: int) -> str:
    """The key of the infos that holds a signal: its number, for a name may hold what no key can."""
    return f"signal_{number}"


_OF_STEPS = {"reward": "rewards", "terminated": "terminations", "truncated": "truncations"}


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
