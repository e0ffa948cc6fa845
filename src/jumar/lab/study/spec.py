"""What a study is: a grid over behaviors, data sets, sizes, memories and algorithms, as a file.

    format   = "jumar-study/1"
    title    = "..."
    seed     = 1
    datasets = 500
    sizes    = [1, 2, 5, 10]

    [[behaviors]]
    model    = "tiger"                 # a registered model with options, or a model file
    window   = 2                       # train one with this window (as the paper does), or
    # policy = "behavior.toml"         # take this one
    memories = [2, 3]                  # windows of the improved controllers

    [[algorithms]]
    name     = "spibb"
    n_wedge  = [5, 20]                 # a list makes a grid

The same in JSON is read as well. Files are looked for next to the study file.

Most algorithms of the registry work with a memory that the study gives them. One that chooses its
memory itself (`Algorithm.choice`) is run once per log, and `CHOSEN` is written where others have
their memory.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from jumar.algorithms import ALGORITHMS, Algorithm, algorithm, meant
from jumar.core.documents import (
    Format,
    at,
    check_format,
    check_keys,
    checked,
    nesting,
    number,
    parse,
    read_document,
    show,
    whole,
)
from jumar.core.errors import ParameterError, StudyError, not_one_of
from jumar.evidence.bounds import check_delta
from jumar.memory import LONGEST_WINDOW

T = TypeVar("T")

SHIPPED = ("paper", "family", "safety", "safety-seeds", "mdps")
STUDY = Format(
    "study",
    1,
    StudyError,
    keys=(
        "format",
        "title",
        "seed",
        "datasets",
        "sizes",
        "delta",
        "behaviors",
        "algorithms",
        "figures",
    ),
    elsewhere=f"Studies that come with jumar: {', '.join(SHIPPED)}.",
)
SWEPT = meant(None, ["n_wedge"]).name  # whose thresholds heat maps and hindsight range over
CHOSEN = 0  # in place of a window: the setting chose it by itself
MOST_SETTINGS = 10_000  # of one algorithm
MOST_DATASETS = 1_000_000
MOST_POLICIES = 1_000_000_000  # a day or more; the paper has 715,000
KINDS = ("curves", "heatmap", "safety", "family")


@dataclass(frozen=True)
class StudySetting:
    """One algorithm with all its parameters."""

    algorithm: str
    parameters: tuple[tuple[str, Any], ...]
    # a setting that chooses is slow: only the first so many data sets of each size; None: all
    datasets: int | None = field(default=None, compare=False)

    def runs(self, dataset: int) -> bool:
        """Is it run on this data set?"""
        return self.datasets is None or dataset < self.datasets

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


@dataclass(frozen=True)
class BehaviorSpec:
    """One environment with the policy that collects its data."""

    name: str
    model: str
    memories: tuple[int, ...]  # windows
    window: int | None = None  # of the behavior to train
    seed: int = 1
    policy: str | None = None  # file of a given behavior
    with_actions: bool = False  # the windows of the improved controllers remember actions


@dataclass(frozen=True)
class FigureSpec:
    """One figure: curves of some behaviors at some thresholds, the heat map of one behavior, how
    safe every setting was, or every algorithm with and without a gate."""

    name: str
    kind: str  # one of KINDS
    behaviors: tuple[str, ...]
    n_wedge: tuple[int, ...] = ()
    title: str = ""


def check_grid(datasets: int, seed: int, delta: float) -> None:
    """Check what every study has."""
    if datasets < 1:
        raise ParameterError(f"datasets is {show(datasets)}; at least 1 is needed.")
    if datasets > MOST_DATASETS:
        raise ParameterError(f"datasets is {show(datasets)}; use {MOST_DATASETS:,} at most.")
    if seed < 0:
        raise ParameterError(f"seed is {show(seed)}; use a whole number from 0.")
    check_delta(delta)


@dataclass(frozen=True)
class StudySpec:
    """A whole grid."""

    title: str
    seed: int
    datasets: int
    sizes: tuple[int, ...]
    behaviors: tuple[BehaviorSpec, ...]
    settings: tuple[StudySetting, ...]
    delta: float = 0.05
    figures: tuple[FigureSpec, ...] = ()
    folder: str = field(default=".", compare=False)  # where files named in it are looked for

    def __post_init__(self) -> None:
        check_grid(self.datasets, self.seed, self.delta)
        if not self.sizes or min(self.sizes) < 1 or list(self.sizes) != sorted(set(self.sizes)):
            raise ParameterError("sizes must be whole numbers from 1, ascending.")
        if not self.behaviors or not self.settings:
            raise ParameterError("give at least one behavior and one algorithm.")
        for name, times in Counter(b.name for b in self.behaviors).items():
            if times > 1:
                raise ParameterError(f"two behaviors are called {name!r}; name them apart.")
        for behavior in self.behaviors:
            if len(set(behavior.memories)) < len(behavior.memories):
                raise ParameterError(f"behavior {behavior.name!r}: a memory is listed twice.")
        for setting, times in Counter(self.settings).items():
            if times > 1:
                raise ParameterError(f"{setting.label} is asked for twice.")
        if self.n_policies > MOST_POLICIES:
            raise ParameterError(
                f"the grid has {self.n_policies:,} policies; {MOST_POLICIES:,} are the most. Use "
                "fewer data sets, sizes, memories or settings."
            )

    @property
    def fixed(self) -> tuple[StudySetting, ...]:
        """The settings that are run with every memory of a behavior."""
        return tuple(s for s in self.settings if not s.chooses_memory)

    @property
    def choosing(self) -> tuple[StudySetting, ...]:
        """The settings that choose their memory themselves."""
        return tuple(s for s in self.settings if s.chooses_memory)

    @property
    def n_policies(self) -> int:
        fixed = self.datasets * len(self.fixed) * sum(len(b.memories) for b in self.behaviors)
        chosen = sum(min(self.datasets, s.datasets or self.datasets) for s in self.choosing)
        return len(self.sizes) * (fixed + chosen * len(self.behaviors))

    def only(self, names: tuple[str, ...]) -> StudySpec:
        """The study of some of the behaviors."""
        known = [b.name for b in self.behaviors]
        for name in names:
            if name not in known:
                raise ParameterError("--only: " + not_one_of("behavior", name, known))
        if not names:
            return self
        kept = tuple(b for b in self.behaviors if b.name in names)
        figures = [
            replace(f, behaviors=tuple(b for b in f.behaviors if b in names)) for f in self.figures
        ]
        return replace(self, behaviors=kept, figures=tuple(f for f in figures if f.behaviors))

    def figures_to_draw(self) -> tuple[FigureSpec, ...]:
        """The figures asked for; without any, how safe every setting was if one of them chooses by
        itself, and curves and a heat map of SPIBB for every behavior."""
        if self.figures:
            return self.figures
        thresholds = tuple(s.threshold for s in self.settings if s.algorithm == SWEPT)
        ends = tuple(dict.fromkeys(thresholds[:1] + thresholds[-1:]))
        names = tuple(b.name for b in self.behaviors)
        figures = [FigureSpec("safety", "safety", names, ends)] if self.choosing else []
        for name in names if thresholds else ():
            plain = re.sub(r"[^A-Za-z0-9_]+", "-", name)
            figures.append(FigureSpec(f"curves-{plain}", "curves", (name,), ends))
            if len(thresholds) > 1 and len(self.sizes) > 1:
                figures.append(FigureSpec(f"heatmap-{plain}", "heatmap", (name,)))
        return tuple(figures)


# ---- from a file --------------------------------------------------------------------------------


def load_study(source: str | os.PathLike[str]) -> StudySpec:
    """A study from a TOML or JSON file, or a shipped one by name.

    >>> load_study("paper").n_policies
    715000
    """
    name = str(os.fspath(source))
    if name in SHIPPED:
        text = resources.files("jumar.lab.study").joinpath(f"{name}.toml").read_text("utf-8")
        return study_from_document(parse(text, f"{name}.toml", STUDY), name)
    return study_from_document(read_document(name, STUDY), name, folder=str(Path(name).parent))


def study_from_document(
    document: dict[str, Any], place: str = "study", folder: str = "."
) -> StudySpec:
    """The study a document describes; `place` is what error messages call the document.

    >>> tiger = {"model": "tiger", "window": 2, "memories": [2, 3]}
    >>> spibb = {"name": "spibb", "n_wedge": [5, 20]}
    >>> study = study_from_document({"format": "jumar-study/1", "datasets": 10, "sizes": [1, 2],
    ...                              "behaviors": [tiger], "algorithms": [spibb]})
    >>> [setting.label for setting in study.settings], study.n_policies
    (['spibb(n_wedge=5)', 'spibb(n_wedge=20)'], 80)
    """
    with nesting(place, STUDY):
        check_format(checked(document, dict, place, StudyError), place, STUDY)
        table = _Table(document, place, STUDY.keys)
        behaviors = [
            _behavior(*item)
            for item in table.each("behaviors", "behavior", example="[[behaviors]]")
        ]
        names = [behavior.name for behavior in behaviors]
        settings = [
            settings_from_document(*item)
            for item in table.each("algorithms", "algorithm", example="[[algorithms]]")
        ]
        read: dict[str, Any] = {
            "title": table.get("title", str, "study"),
            "seed": table.whole("seed", 1),
            "datasets": table.whole("datasets", 100, least=1),
            "sizes": table.wholes("sizes", "size", example="sizes = [1, 10, 100]"),
            "behaviors": tuple(behaviors),
            "settings": tuple(itertools.chain.from_iterable(settings)),
            "delta": number(document.get("delta", 0.05), f"{place}, delta", StudyError),
            "figures": tuple(_figure(*item, names) for item in table.each("figures", "figure")),
        }
        with at(place, StudyError):
            return StudySpec(**read, folder=folder)


class _Table:
    """A table of a study file, read key by key; what is refused is named with its place."""

    def __init__(self, item: Any, place: str, keys: Collection[str]) -> None:
        self.item = checked(item, dict, place, StudyError)
        self.place = place
        check_keys(self.item, keys, place, STUDY)

    def get(self, key: str, kind: type[T], default: Any = None, *, example: str = "") -> T:
        """A bool, a str or a list. With an example instead of a default, the key is required."""
        if example and key not in self.item:
            raise StudyError(f"{self.place}: {key!r} is missing. Add {example}.")
        return checked(self.item.get(key, default), kind, f"{self.place}, {key}", StudyError)

    def whole(self, key: str, default: Any = None, *, least: int = 0, most: Any = None) -> int:
        value = self.item.get(key, default)
        return whole(value, f"{self.place}, {key}", StudyError, least=least, most=most)

    def each(self, key: str, noun: str, *, example: str = "") -> list[tuple[Any, str]]:
        """What is in a list, each with its place."""
        values = self.get(key, list, [], example=example)
        return [(value, f"{self.place}, {noun} {i}") for i, value in enumerate(values, 1)]

    def wholes(
        self, key: str, noun: str, *, example: str = "", least: int = 1, most: Any = None
    ) -> tuple[int, ...]:
        items = self.each(key, noun, example=example)
        return tuple(whole(*item, StudyError, least=least, most=most) for item in items)


def _behavior(item: Any, place: str) -> BehaviorSpec:
    table = _Table(item, place, [key.name for key in fields(BehaviorSpec)])
    model = table.get("model", str, example='model = "tiger"')
    if ("window" in item) == ("policy" in item):
        raise StudyError(
            f"{place}: give either window (train a behavior) or policy (a controller file)."
        )
    window = table.whole("window", least=1, most=LONGEST_WINDOW) if "window" in item else None
    policy = table.get("policy", str) if "policy" in item else None
    memories = table.wholes("memories", "memory", example="memories = [2, 3]", most=LONGEST_WINDOW)
    if not memories:
        raise StudyError(f"{place}: memories is empty. List windows from 1, such as [2, 3].")
    label = f"{model.partition(':')[0]}:{window or Path(str(policy)).stem}"
    return BehaviorSpec(
        name=table.get("name", str, label),
        model=model,
        memories=memories,
        window=window,
        seed=table.whole("seed", 1),
        policy=policy,
        with_actions=table.get("with_actions", bool, False),
    )


def _figure(item: Any, place: str, behaviors: list[str]) -> FigureSpec:
    table = _Table(item, place, [key.name for key in fields(FigureSpec)])
    kind = table.get("kind", str, example='kind = "curves"')
    if kind not in KINDS:
        raise StudyError(f"{place}: {not_one_of('kind', kind, KINDS)}")
    name = table.get("name", str, example='name = "performance"')
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise StudyError(
            f"{place}: name {show(name)} becomes a file's name; use letters, digits, - and _."
        )
    shown = table.get("behaviors", list, example='behaviors = ["tiger:2"]')
    for behavior in shown:
        if behavior not in behaviors:
            raise StudyError(f"{place}: {not_one_of('behavior', behavior, behaviors)}")
    if not shown or (kind == "heatmap" and len(shown) != 1):
        raise StudyError(
            f"{place}: a heat map shows exactly one behavior, other figures one or more."
        )
    thresholds = table.wholes("n_wedge", "n_wedge", least=0)
    if kind == "curves" and not thresholds:
        raise StudyError(f"{place}: curves need thresholds. Add n_wedge = [5, 20].")
    return FigureSpec(name, kind, tuple(shown), thresholds, table.get("title", str, ""))


def settings_from_document(item: Any, place: str) -> list[StudySetting]:
    """One algorithm table of a study: every combination of the lists in it.

    >>> [s.label for s in settings_from_document({"name": "spibb", "n_wedge": [5, 20]}, "study")]
    ['spibb(n_wedge=5)', 'spibb(n_wedge=20)']
    >>> [s.label for s in settings_from_document({"name": "auto"}, "study")]
    ['auto(delta=0.05, gate=proved, more_memory=2)']
    """
    table = _Table(item, place, item if isinstance(item, dict) else ())
    name = table.get("name", str, example='name = "spibb"')
    with at(place, StudyError):
        entry = algorithm(name)
    datasets = None
    if "datasets" in item:
        datasets = table.whole("datasets", least=1)
        if entry.choice is None:
            raise StudyError(
                f"{place}: datasets is for algorithms that choose their memory. Leave it out: "
                f"{entry.name} is run everywhere."
            )
    asked = {key: value for key, value in item.items() if key not in ("name", "datasets")}
    axes = _axes(entry, asked, place)
    if (many := math.prod(len(axis) for axis in axes)) > MOST_SETTINGS:
        raise StudyError(
            f"{place}: the lists make {many:,} settings; {MOST_SETTINGS:,} are the most. List "
            "fewer values."
        )
    settings = [StudySetting(entry.name, chosen, datasets) for chosen in itertools.product(*axes)]
    if entry.admitted is not None:
        with at(place, StudyError):  # a value out of range is told now, not after a long run
            for setting in settings:
                entry.admitted(**setting.options)
    return settings


def _axes(entry: Algorithm, asked: dict[str, Any], place: str) -> list[list[tuple[str, Any]]]:
    """For every parameter of an algorithm its name with each value that is asked for."""
    choice = entry.choice
    known = {key: p.default for key, p in entry.parameters.items()}
    known = known if choice is None else dict(choice.defaults)
    names = [*known, *(choice.optional if choice else ())]
    axes = []
    for parameter, value in {**known, **asked}.items():
        if parameter not in names:
            fact = not_one_of("parameter", parameter, names or ["(none)"])
            raise StudyError(f"{place}: {fact}")
        values = value if isinstance(value, list) else [value]
        if not values:
            raise StudyError(f"{place}: {parameter} is empty. List at least one value.")
        with at(place, StudyError):
            if choice is not None:
                read = [choice.read(parameter, v) for v in values]
            else:
                read = [entry.read(parameter, v if isinstance(v, str) else show(v)) for v in values]
        axes.append([(parameter, v) for v in read])
    return axes
