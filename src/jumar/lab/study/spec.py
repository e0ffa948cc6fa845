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
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

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
from jumar.lab.study.settings import SWEPT, StudySetting, settings_from_document
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
FORMAT = STUDY.tag

MOST_DATASETS = 1_000_000
MOST_POLICIES = 1_000_000_000  # a day or more; the paper has 715,000
KINDS = ("curves", "heatmap", "safety", "family")


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
    sizes: tuple[int, ...] = ()  # that are shown, of a family; without them, all with a gate


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
        if self.datasets < 1:
            raise ParameterError(f"datasets is {show(self.datasets)}; at least 1 is needed.")
        if self.datasets > MOST_DATASETS:
            raise ParameterError(
                f"datasets is {show(self.datasets)}; use {MOST_DATASETS:,} at most."
            )
        if self.seed < 0:
            raise ParameterError(f"seed is {show(self.seed)}; use a whole number from 0.")
        if not self.sizes or min(self.sizes) < 1 or list(self.sizes) != sorted(set(self.sizes)):
            raise ParameterError("sizes must be whole numbers from 1, ascending.")
        if not self.behaviors or not self.settings:
            raise ParameterError("give at least one behavior and one algorithm.")
        names = [b.name for b in self.behaviors]
        for name, times in Counter(names).items():
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
        check_delta(self.delta)

    @property
    def fixed(self) -> tuple[StudySetting, ...]:
        """The settings that are run with every memory of a behavior."""
        return tuple(s for s in self.settings if not s.chooses_memory)

    @property
    def choosing(self) -> tuple[StudySetting, ...]:
        """The settings that choose their memory themselves."""
        return tuple(s for s in self.settings if s.chooses_memory)

    def policies_of(self, behavior: BehaviorSpec, dataset: int) -> int:
        """How many policies one data set of a behavior leads to."""
        chosen = sum(s.runs(dataset, size) for s in self.choosing for size in self.sizes)
        return len(self.sizes) * len(self.fixed) * len(behavior.memories) + chosen

    @property
    def n_policies(self) -> int:
        memories = sum(len(b.memories) for b in self.behaviors)
        total = self.datasets * len(self.sizes) * len(self.fixed) * memories
        for setting in self.choosing:
            run = min(self.datasets, setting.datasets or self.datasets)
            total += run * len(self.behaviors) * sum(setting.runs(0, n) for n in self.sizes)
        return total

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
        return _study(document, place, folder)


class _Table:
    """A table of a study file, read key by key; what is refused is named with its place."""

    def __init__(self, item: Any, place: str, keys: Collection[str]) -> None:
        self.item = checked(item, dict, place, StudyError)
        self.place = place
        check_keys(self.item, keys, place, STUDY)

    def value(self, key: str, default: Any = None, *, example: str = "") -> Any:
        """With an example instead of a default, the key is required."""
        if example and key not in self.item:
            raise StudyError(f"{self.place}: {key!r} is missing. Add {example}.")
        return self.item.get(key, default)

    def get(self, key: str, kind: type[T], default: Any = None, *, example: str = "") -> T:
        """A bool, a str or a list."""
        value = self.value(key, default, example=example)
        return checked(value, kind, f"{self.place}, {key}", StudyError)

    def whole(self, key: str, default: Any = None, *, least: int = 0) -> int:
        value = self.item.get(key, default)
        return whole(value, f"{self.place}, {key}", StudyError, least=least)

    def each(self, key: str, noun: str, *, example: str = "") -> list[tuple[Any, str]]:
        """What is in a list, each with its place."""
        values = self.get(key, list, [], example=example)
        return [(value, f"{self.place}, {noun} {i}") for i, value in enumerate(values, 1)]


def _study(document: Any, place: str, folder: str) -> StudySpec:
    check_format(checked(document, dict, place, StudyError), place, STUDY)
    table = _Table(document, place, STUDY.keys)
    behaviors = [
        _behavior(*item) for item in table.each("behaviors", "behavior", example="[[behaviors]]")
    ]
    settings = [
        settings_from_document(*item)
        for item in table.each("algorithms", "algorithm", example="[[algorithms]]")
    ]
    sizes = table.each("sizes", "size", example="sizes = [1, 10, 100]")
    names = [behavior.name for behavior in behaviors]
    for setting in itertools.chain.from_iterable(settings):
        for size in setting.sizes:
            if size not in (value for value, _ in sizes):
                raise StudyError(f"{place}: {setting.title} is to run on {size}, which is no size.")
    read: dict[str, Any] = {
        "title": table.get("title", str, "study"),
        "seed": table.whole("seed", 1),
        "datasets": table.whole("datasets", 100, least=1),
        "sizes": tuple(whole(*size, StudyError, least=1) for size in sizes),
        "behaviors": tuple(behaviors),
        "settings": tuple(itertools.chain.from_iterable(settings)),
        "delta": number(table.value("delta", 0.05), f"{place}, delta", StudyError),
        "figures": tuple(
            _figure(*item, names, [size for size, _ in sizes])
            for item in table.each("figures", "figure")
        ),
    }
    with at(place, StudyError):
        return StudySpec(**read, folder=folder)


def _behavior(item: Any, place: str) -> BehaviorSpec:
    table = _Table(item, place, [key.name for key in fields(BehaviorSpec)])
    model = table.get("model", str, example='model = "tiger"')
    if ("window" in item) == ("policy" in item):
        raise StudyError(
            f"{place}: give either window (train a behavior) or policy (a controller file)."
        )
    window = _window(item["window"], f"{place}, window") if "window" in item else None
    policy = table.get("policy", str) if "policy" in item else None
    memories = table.each("memories", "memory", example="memories = [2, 3]")
    if not memories:
        raise StudyError(f"{place}: memories is empty. List windows from 1, such as [2, 3].")
    label = f"{model.partition(':')[0]}:{window or Path(str(policy)).stem}"
    return BehaviorSpec(
        name=table.get("name", str, label),
        model=model,
        memories=tuple(_window(*memory) for memory in memories),
        window=window,
        seed=table.whole("seed", 1),
        policy=policy,
        with_actions=table.get("with_actions", bool, False),
    )


def _figure(item: Any, place: str, behaviors: list[str], sizes: Sequence[int]) -> FigureSpec:
    table = _Table(item, place, [key.name for key in fields(FigureSpec)])
    kind = table.value("kind", example='kind = "curves"')
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
    n_wedge = table.get("n_wedge", list, [])
    thresholds = tuple(whole(n, f"{place}, n_wedge", StudyError) for n in n_wedge)
    if kind == "curves" and not thresholds:
        raise StudyError(f"{place}: curves need thresholds. Add n_wedge = [5, 20].")
    rows = tuple(whole(n, f"{place}, sizes", StudyError) for n in table.get("sizes", list, []))
    if rows and kind != "family":
        raise StudyError(
            f'{place}: sizes are for kind = "family"; a {kind} shows all. Remove them.'
        )
    for size in rows:
        if size not in sizes:
            raise StudyError(f"{place}: {not_one_of('size', str(size), list(map(str, sizes)))}")
    return FigureSpec(name, kind, tuple(shown), thresholds, table.get("title", str, ""), rows)


def _window(value: Any, place: str) -> int:
    return whole(value, place, StudyError, least=1, most=LONGEST_WINDOW)
