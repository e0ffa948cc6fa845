"""What a study is: a grid over behaviors, data sets, sizes, memories and algorithms, as a TOML file.

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

Files are looked for next to the TOML file.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from jumar.algorithms import algorithm as algorithm_entry
from jumar.errors import ParameterError, not_one_of

FORMAT = "jumar-study/1"
SHIPPED = ("paper",)


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
class Setting:
    """One algorithm with all its parameters."""

    algorithm: str
    parameters: tuple[tuple[str, Any], ...]

    @property
    def label(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.algorithm}({inside})"

    def get(self, name: str) -> Any:
        return dict(self.parameters).get(name)


@dataclass(frozen=True)
class StudySpec:
    """A whole grid."""

    title: str
    seed: int
    datasets: int
    sizes: tuple[int, ...]
    behaviors: tuple[BehaviorSpec, ...]
    settings: tuple[Setting, ...]
    delta: float = 0.05
    folder: str = field(default=".", compare=False)  # where files named in it are looked for

    def __post_init__(self) -> None:
        if self.datasets < 1:
            raise ParameterError(f"study: datasets is {self.datasets}; at least 1 is needed.")
        if self.seed < 0:
            raise ParameterError(f"study: seed is {self.seed}; use a whole number from 0.")
        if not self.sizes or min(self.sizes) < 1 or list(self.sizes) != sorted(set(self.sizes)):
            raise ParameterError("study: sizes must be whole numbers from 1, ascending.")
        if not self.behaviors or not self.settings:
            raise ParameterError("study: give at least one behavior and one algorithm.")
        names = [b.name for b in self.behaviors]
        for name in names:
            if names.count(name) > 1:
                raise ParameterError(f"study: two behaviors are called {name!r}; name them apart.")

    @property
    def n_policies(self) -> int:
        per_dataset = sum(len(b.memories) for b in self.behaviors) * len(self.settings)
        return self.datasets * len(self.sizes) * per_dataset

    def only(self, names: tuple[str, ...]) -> StudySpec:
        """The study of some of the behaviors."""
        known = [b.name for b in self.behaviors]
        for name in names:
            if name not in known:
                raise ParameterError("--only: " + not_one_of("behavior", name, known))
        kept = tuple(b for b in self.behaviors if b.name in names)
        return replace(self, behaviors=kept) if names else self


def load_study(source: str | Path) -> StudySpec:
    """A study from a TOML file, or a shipped one by name.

    >>> load_study("paper").n_policies
    715000
    """
    if str(source) in SHIPPED:
        text = resources.files("jumar.study").joinpath(f"{source}.toml").read_text("utf-8")
        return study_from_document(_parse(text, str(source)), str(source))
    path = Path(source)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        shipped = ", ".join(SHIPPED)
        raise ParameterError(
            f"{path}: there is no such file, and no shipped study of that name ({shipped})."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: cannot be read as text: {error}.") from error
    return study_from_document(_parse(text, str(path)), str(path), folder=str(path.parent))


def _parse(text: str, place: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{place}: not valid TOML: {error}.") from error


_TOP = ("format", "title", "seed", "datasets", "sizes", "delta", "behaviors", "algorithms")
_BEHAVIOR = ("name", "model", "window", "seed", "policy", "memories", "with_actions")


def study_from_document(
    document: Mapping[str, Any], place: str = "study", folder: str = "."
) -> StudySpec:
    """A study from its parsed TOML document."""
    _check_keys(document, _TOP, place)
    if document.get("format") != FORMAT:
        raise ParameterError(
            f"{place}: format is {document.get('format')!r}; this jumar reads {FORMAT!r}."
        )
    behaviors = tuple(
        _behavior(item, f"{place}, behavior {i + 1}")
        for i, item in enumerate(_list(document, "behaviors", dict, place))
    )
    settings = tuple(
        itertools.chain.from_iterable(
            _settings(item, f"{place}, algorithm {i + 1}")
            for i, item in enumerate(_list(document, "algorithms", dict, place))
        )
    )
    return StudySpec(
        title=_value(document, "title", str, place, "study"),
        seed=_value(document, "seed", int, place, 1),
        datasets=_value(document, "datasets", int, place, 100),
        sizes=tuple(_list(document, "sizes", int, place)),
        behaviors=behaviors,
        settings=settings,
        delta=_value(document, "delta", float, place, 0.05),
        folder=folder,
    )


def _behavior(item: Mapping[str, Any], place: str) -> BehaviorSpec:
    _check_keys(item, _BEHAVIOR, place)
    if "model" not in item:
        raise ParameterError(f'{place}: names no model. Add model = "tiger".')
    if ("window" in item) == ("policy" in item):
        raise ParameterError(
            f"{place}: give either window (train a behavior) or policy (a controller file)."
        )
    model = _value(item, "model", str, place, "")
    window = item.get("window") and _value(item, "window", int, place, 1)
    label = f"{model.partition(':')[0]}:{window or Path(str(item.get('policy'))).stem}"
    memories = tuple(_list(item, "memories", int, place))
    if not memories or min(memories) < 1:
        raise ParameterError(f"{place}: memories must be windows from 1, such as [2, 3].")
    return BehaviorSpec(
        name=_value(item, "name", str, place, label),
        model=model,
        memories=memories,
        window=window,
        seed=_value(item, "seed", int, place, 1),
        policy=item.get("policy"),
        with_actions=_value(item, "with_actions", bool, place, False),
    )


def _settings(item: Mapping[str, Any], place: str) -> list[Setting]:
    """One algorithm table: every combination of the lists in it."""
    name = _value(item, "name", str, place, "")
    entry = algorithm_entry(name)
    axes = []
    for parameter, value in item.items():
        if parameter == "name":
            continue
        if parameter not in entry.parameters:
            raise ParameterError(
                f"{place}: " + not_one_of("parameter", parameter, entry.parameters)
            )
        values = value if isinstance(value, list) else [value]
        axes.append([(parameter, v) for v in values])
    return [Setting(name, combination) for combination in itertools.product(*axes)]


def _check_keys(item: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in item:
        if key not in known:
            raise ParameterError(f"{place}: " + not_one_of("key", key, known))


def _value(item: Mapping[str, Any], key: str, kind: type, place: str, default: Any) -> Any:
    value = item.get(key, default)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ParameterError(f"{place}: {key} is {value!r}; expected {kind.__name__}.")
    return value


def _list(item: Mapping[str, Any], key: str, kind: type, place: str) -> list[Any]:
    values = item.get(key)
    if not isinstance(values, list) or not all(
        isinstance(v, kind) and not isinstance(v, bool) for v in values
    ):
        raise ParameterError(f"{place}: {key} must be a list of {kind.__name__}.")
    return values
