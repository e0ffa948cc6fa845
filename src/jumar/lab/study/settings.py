"""The settings of a study: algorithms with all their parameters.

Most algorithms of the registry work with a memory that the study gives them. One that chooses its
memory itself (`Algorithm.choice`) is run once per log, and `CHOSEN` is written where others have
their memory.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any

from jumar.algorithms import ALGORITHMS, Algorithm, meant
from jumar.core.documents import at, checked, show, whole
from jumar.core.errors import StudyError, not_one_of

SWEPT = meant(None, ["n_wedge"]).name  # whose thresholds heat maps and hindsight range over
MOST_SETTINGS = 10_000  # of one algorithm
CHOSEN = 0  # in place of a window: the setting chose it by itself


@dataclass(frozen=True)
class StudySetting:
    """One algorithm with all its parameters."""

    algorithm: str
    parameters: tuple[tuple[str, Any], ...]
    # where it is run, of a setting that chooses: it is slow, and a part of the grid may do
    sizes: tuple[int, ...] = field(default=(), compare=False)  # (): all
    datasets: int | None = field(default=None, compare=False)  # the first so many; None: all

    def runs(self, dataset: int, size: int) -> bool:
        """Is it run on this size of this data set?"""
        return (not self.sizes or size in self.sizes) and (
            self.datasets is None or dataset < self.datasets
        )

    @property
    def part(self) -> dict[str, Any]:
        """The part of the grid where it is run, if that is not all."""
        found = {"sizes": list(self.sizes) or None, "datasets": self.datasets}
        return {key: value for key, value in found.items() if value is not None}

    @property
    def entry(self) -> Algorithm:
        return ALGORITHMS[self.algorithm]

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.parameters)

    @property
    def label(self) -> str:
        """All of it."""
        inside = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.algorithm}({inside})"

    @property
    def title(self) -> str:
        """A short column heading.

        >>> StudySetting("spibb", (("n_wedge", 5),)).title
        'spibb 5'
        """
        return self.entry.label(self.options)

    @property
    def chooses_memory(self) -> bool:
        """It is run once per log, not once per memory."""
        return self.entry.choice is not None

    @property
    def compiled(self) -> bool:
        """Can compiled loops run it?"""
        return self.entry.admitted is not None

    @property
    def threshold(self) -> Any:
        """The visits that a pair must exceed to be trusted; None where the setting has none."""
        return self.entry.trusted(self.options)


def settings_from_document(item: Any, place: str) -> list[StudySetting]:
    """One algorithm table of a study: every combination of the lists in it.

    >>> [s.label for s in settings_from_document({"name": "spibb", "n_wedge": [5, 20]}, "study")]
    ['spibb(n_wedge=5)', 'spibb(n_wedge=20)']
    >>> [s.label for s in settings_from_document({"name": "auto"}, "study")]
    ['auto(delta=0.05, gate=proved, more_memory=2)']
    """
    item = checked(item, dict, place, StudyError)
    if "name" not in item:
        raise StudyError(f"{place}: 'name' is missing. Add name = \"spibb\".")
    entry = _entry(checked(item["name"], str, f"{place}, name", StudyError), place)
    known, part = _defaults(entry), _part(item, entry, place)
    asked = {key: value for key, value in item.items() if key not in ("name", *part)}
    optional = entry.choice.optional if entry.choice else ()
    for parameter in asked:
        if parameter not in (*known, *optional):
            names = [*known, *optional] or ["(none)"]
            raise StudyError(f"{place}: {not_one_of('parameter', parameter, names)}")
    axes = []
    for parameter, default in {**known, **asked}.items():
        value = item.get(parameter, default)
        values = value if isinstance(value, list) else [value]
        if not values:
            raise StudyError(f"{place}: {parameter} is empty. List at least one value.")
        axes.append([(parameter, _parameter(entry, parameter, v, place)) for v in values])
    if math.prod(len(axis) for axis in axes) > MOST_SETTINGS:
        raise StudyError(
            f"{place}: the lists make {math.prod(len(axis) for axis in axes):,} settings; "
            f"{MOST_SETTINGS:,} are the most. List fewer values."
        )
    settings = [StudySetting(entry.name, combination) for combination in itertools.product(*axes)]
    if entry.admitted is not None:
        with at(place, StudyError):  # a value out of range is told now, not after a long run
            for setting in settings:
                entry.admitted(**setting.options)
    return [replace(setting, **part) for setting in settings]


def _part(item: dict[str, Any], entry: Algorithm, place: str) -> dict[str, Any]:
    """Where the settings of a table are run."""
    found: dict[str, Any] = {}
    if "sizes" in item:
        sizes = checked(item["sizes"], list, f"{place}, sizes", StudyError)
        found["sizes"] = tuple(whole(n, f"{place}, sizes", StudyError, least=1) for n in sizes)
    if "datasets" in item:
        found["datasets"] = whole(item["datasets"], f"{place}, datasets", StudyError, least=1)
    for key in found:
        if entry.choice is None:
            raise StudyError(
                f"{place}: {key} is for algorithms that choose their memory. Leave it out: "
                f"{entry.name} is run everywhere."
            )
    return found


def _entry(name: str, place: str) -> Algorithm:
    key = name.replace("-", "_").lower()
    if key not in ALGORITHMS:
        raise StudyError(f"{place}: {not_one_of('algorithm', name, ALGORITHMS)}")
    return ALGORITHMS[key]


def _defaults(entry: Algorithm) -> dict[str, Any]:
    if entry.choice is not None:
        return dict(entry.choice.defaults)
    return {key: p.default for key, p in entry.parameters.items()}


def _parameter(entry: Algorithm, parameter: str, value: Any, place: str) -> object:
    with at(place, StudyError):
        if entry.choice is not None:
            return entry.choice.read(parameter, value)
        return entry.read(parameter, value if isinstance(value, str) else show(value))
