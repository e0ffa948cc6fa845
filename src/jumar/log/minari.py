"""Datasets of Minari, the format in which offline reinforcement learning exchanges data.

A log is written as numbers, in the order of its names. The names themselves, the discount and the
controller that made the log are kept in the metadata under the key "jumar"; memory nodes,
propensities, clusters, behaviors and signals as infos of every step. So reading it back gives the
same log.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import ControllerError, JumarError, LogError, MissingExtra, ParameterError
from jumar.core.text import Shown, printable
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.log.formats.minari import (
    DATA,
    LABELLED,
    METADATA,
    OWN,
    PREFIX,
    MinariFolder,
    datasets_root,
    located,
    signal_info,
)
from jumar.log.reading import read_logs
from jumar.policy.controller import Controller
from jumar.policy.files import controller_from_document, controller_to_document

_NAME = re.compile(r"(?:[\w-]+/)*[\w-]+-v[0-9]+")


@dataclass(frozen=True, repr=False)
class MinariLog(Shown):
    """What a dataset holds."""

    log: Episodes
    discount: float | None  # if it says so
    controller: Controller | None  # that made it, if it says so
    metadata: dict[str, Any]  # all of metadata.json

    @property
    def summary(self) -> str:
        name = printable(str(self.metadata.get("dataset_id", "a dataset")))
        γ = "" if self.discount is None else f", discount {self.discount:g}"
        return f"{name}: {self.log.summary}{γ}"


def read_minari(dataset: str | os.PathLike[str], **reading: Any) -> MinariLog:
    """Read a dataset of Minari, with what it tells besides the log. Nothing is downloaded.

    Parameters
    ----------
    dataset
        Its folder, or its name, as minari:namespace/name-v0.
    **reading
        As for `jumar.read_logs`: ``bins``, ``columns``, names.

    Returns
    -------
    MinariLog
        `log`, and `discount`, `controller` and `metadata` as far as the dataset has them.
    """
    source = MinariFolder(Path(located(dataset)), str(dataset))
    return MinariLog(
        read_logs(dataset, **reading),
        stored_discount(source),
        _stored_controller(source),
        dict(source.about),
    )


def stored_discount(source: MinariFolder) -> float | None:
    """The discount that a dataset tells."""
    given = source.own.get("discount")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise LogError(
            f"{source.name}, {METADATA}: the discount {given!r} does not lie from 0 to 1. Correct "
            "it."
        )
    return float(given)


def _stored_controller(source: MinariFolder) -> Controller | None:
    document = source.own.get("controller")
    if document is None:
        return None
    try:
        return controller_from_document(document, f"{source.name}, {METADATA}, controller")
    except ControllerError as error:
        raise LogError(str(error)) from error


def write_minari(
    log: Episodes,
    name: str,
    *,
    folder: str | Path | None = None,
    discount: float | None = None,
    controller: Controller | None = None,
    description: str | None = None,
) -> Path:
    """Write a log as a dataset of Minari.

    Parameters
    ----------
    log
        The log.
    name
        Of the dataset: namespace/name-v0.
    folder
        Where datasets are kept. Without it, where Minari keeps its own: MINARI_DATASETS_PATH, or
        .minari/datasets in the home folder.
    discount
        Kept in the metadata.
    controller
        That made the log; kept in the metadata.
    description
        Of the dataset.

    Returns
    -------
    Path
        The folder of the data, which `jumar.read_logs` and ``minari.MinariDataset`` read. It
        appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from jumar import models, read_logs, simulate
    >>> tiger = models.tiger()
    >>> fair = Controller.uniform(tiger.observations, tiger.actions, name="fair")
    >>> log = simulate(tiger, fair, episodes=20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = write_minari(log, "jumar/tiger-v0", folder=folder, discount=0.95)
    ...     read_logs(data).reward.tolist() == log.reward.tolist()
    True
    """
    name = name.removeprefix(PREFIX)
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"name: {printable(name)!r} is not the name of a dataset. Write it like "
            "jumar/tiger/fair-v0."
        )
    root = datasets_root() if folder is None else Path(folder)
    target = root / name / DATA
    try:
        there = target.exists()
    except OSError as error:
        raise ParameterError(
            f"name: {printable(name)!r} cannot be a folder ({error.strerror}). Choose another."
        ) from error
    if there:
        raise LogError(
            f"{target}: there is a dataset already. Choose another version, such as "
            f"{name.rpartition('-v')[0]}-v{int(name.rpartition('-v')[2]) + 1}, or delete it."
        )
    about: dict[str, Any] = {"dataset_id": name, OWN: _own(log, discount, controller)}
    about["description"] = description or "A log written by jumar"
    if controller is not None:
        about["algorithm_name"] = controller.name
    _write(log, target, about)
    _note_namespaces(root, name)
    return target


def _own(log: Episodes, discount: float | None, controller: Controller | None) -> dict[str, Any]:
    """What Minari has no place for."""
    cut = ~log.terminated & (log.final_observation == UNKNOWN)
    own: dict[str, Any] = {
        "format": "jumar-minari/1",
        "observations": list(log.observations),
        "actions": list(log.actions),
        "infos": [part for part, _ in _told(log)],
        "without_final": np.flatnonzero(cut).tolist(),
    }
    labels = {part: getattr(log, part) for part in LABELLED}
    told = {
        "episodes": log.labels,
        "signals": list(log.signals) or None,
        **{f"{part}_names": found and list(found.names) for part, found in labels.items()},
        "controller": controller and controller_to_document(controller),
    }
    own |= {key: value for key, value in told.items() if value is not None}
    if discount is not None:
        if not 0 <= discount <= 1:
            raise ParameterError(f"discount: {discount!r} must lie from 0 to 1, such as 0.95.")
        own["discount"] = float(discount)
    return own


def _told(log: Episodes) -> Iterator[tuple[str, Array]]:
    """What a log tells of every step besides, as numbers."""
    if log.node is not None:
        yield "node", log.node.code
    if log.propensity is not None:
        yield "propensity", log.propensity
    for part in ("cluster", "behavior"):
        labels = getattr(log, part)
        if labels is not None:
            yield part, np.repeat(labels.code, log.lengths)
    for number, signal in enumerate(log.signals.values()):
        yield signal_info(number), signal


def _write(log: Episodes, target: Path, about: dict[str, Any]) -> None:
    try:
        import gymnasium
        import minari
        from minari.dataset.minari_storage import MinariStorage
    except ImportError as error:
        raise MissingExtra("Datasets of Minari", "minari and h5py", "minari") from error
    spaces = (
        gymnasium.spaces.Discrete(len(log.observations)),
        gymnasium.spaces.Discrete(len(log.actions)),
    )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".jumar-", dir=target.parent))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # what Minari recommends to fill in
                store = MinariStorage.new(unfinished, *spaces, data_format="hdf5")
                store.update_metadata({**about, "minari_version": minari.__version__})
                store.get_size = lambda: 0.0  # it adds up all files after every episode
                store.update_episodes(_episodes(log))
                del store.get_size
                store.update_metadata({"dataset_size": store.get_size()})
            unfinished.chmod(0o755)
            unfinished.rename(target)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except JumarError:
        raise
    except OSError as error:
        raise LogError(
            f"{target}: cannot be written ({error.strerror or error}). Make room there, or choose "
            "another folder."
        ) from error


def _episodes(log: Episodes) -> Iterator[Any]:
    from minari.data_collector import EpisodeBuffer

    told = dict(_told(log))
    for e in range(len(log)):
        here = slice(int(log.start[e]), int(log.start[e + 1]))
        T, ended = here.stop - here.start, bool(log.terminated[e])
        last = int(log.final_observation[e])
        if last == UNKNOWN:  # an observation must stand there; nobody reads it
            last = int(log.observation[here.stop - 1])
        over = [False] * (T - 1) + [True]
        never = [False] * T
        infos = {part: [*x[here].tolist(), _NOTHING.get(part, 0.0)] for part, x in told.items()}
        yield EpisodeBuffer(
            id=e,
            observations=np.append(log.observation[here], last),
            actions=log.action[here],
            rewards=log.reward[here].tolist(),
            terminations=over if ended else never,
            truncations=never if ended else over,
            infos=infos or None,
        )


_NOTHING = {"node": UNKNOWN, "cluster": UNKNOWN, "behavior": UNKNOWN}  # amounts: 0


def _note_namespaces(root: Path, name: str) -> None:
    """Minari lists the namespaces that have this file."""
    for parent in list((root / name).parents):
        if parent == root:
            break
        file = parent / "namespace_metadata.json"
        if not file.exists():
            file.write_text("{}")
