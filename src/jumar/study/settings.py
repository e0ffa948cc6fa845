"""The settings of a study: algorithms with all their parameters.

Every algorithm of the registry works with a memory that the study gives it. `auto`, the selection
(`algorithms.auto`), is no algorithm but a choice among them, made by the log itself: it chooses its
own memory, so a study runs it once per log and writes `CHOSEN` where others have their memory.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from jumar.algorithms import ALGORITHMS, read_parameter
from jumar.algorithms import algorithm as algorithm_entry
from jumar.algorithms.auto.trials import GATES
from jumar.core.errors import ParameterError, not_one_of
from jumar.evidence.bounds import check_delta
from jumar.io.documents import at, checked, number, show, whole

AUTO = "auto"
CHOSEN = 0  # in place of a window: the setting chose it by itself
MOST_MORE_MEMORY = 8

# parameters of `auto` with their defaults: as `jumar.algorithms.auto.select` has them
AUTO_DEFAULTS: dict[str, Any] = {"delta": 0.05, "gate": "proved", "more_memory": 2}


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

    @property
    def chooses_memory(self) -> bool:
        """It is run once per log, not once per memory."""
        return self.algorithm == AUTO

    @property
    def compiled(self) -> bool:
        """It is a rule that compiled loops know."""
        return not self.chooses_memory and algorithm_entry(self.algorithm).rule is not None


def settings_from_document(item: Any, place: str) -> list[Setting]:
    """One algorithm table of a study: every combination of the lists in it.

    >>> [s.label for s in settings_from_document({"name": "spibb", "n_wedge": [5, 20]}, "study")]
    ['spibb(n_wedge=5)', 'spibb(n_wedge=20)']
    >>> [s.label for s in settings_from_document({"name": "auto"}, "study")]
    ['auto(delta=0.05, gate=proved, more_memory=2)']
    """
    item = checked(item, dict, place, ParameterError)
    if "name" not in item:
        raise ParameterError(f"{place}: 'name' is missing. Add name = \"spibb\".")
    name = _name(checked(item["name"], str, f"{place}, name", ParameterError), place)
    known = AUTO_DEFAULTS if name == AUTO else _defaults(name)
    for parameter in item:
        if parameter != "name" and parameter not in known:
            raise ParameterError(
                f"{place}: {not_one_of('parameter', parameter, known or ['(none)'])}"
            )
    axes = []
    for parameter, default in known.items():
        value = item.get(parameter, default)
        values = value if isinstance(value, list) else [value]
        if not values:
            raise ParameterError(f"{place}: {parameter} is empty. List at least one value.")
        axes.append([(parameter, _parameter(name, parameter, v, place)) for v in values])
    settings = [Setting(name, combination) for combination in itertools.product(*axes)]
    make_rule = None if name == AUTO else algorithm_entry(name).rule
    if make_rule is not None:
        with at(place, ParameterError):  # a value out of range is told now, not after a long run
            for setting in settings:
                make_rule(**dict(setting.parameters))
    return settings


def _name(name: str, place: str) -> str:
    key = name.replace("-", "_").lower()
    if key not in (*ALGORITHMS, AUTO):
        raise ParameterError(f"{place}: {not_one_of('algorithm', name, (*ALGORITHMS, AUTO))}")
    return key


def _defaults(name: str) -> dict[str, Any]:
    return {key: p.default for key, p in algorithm_entry(name).parameters.items()}


def _parameter(name: str, parameter: str, value: Any, place: str) -> object:
    if name != AUTO:
        with at(place, ParameterError):
            text = value if isinstance(value, str) else show(value)
            return read_parameter(name, parameter, text)
    if parameter == "more_memory":
        return whole(value, f"{place}, {parameter}", ParameterError, most=MOST_MORE_MEMORY)
    if parameter == "gate":
        gate = checked(value, str, f"{place}, {parameter}", ParameterError)
        if gate not in GATES:
            raise ParameterError(f"{place}: {not_one_of('gate', gate, GATES)}")
        return gate
    with at(place, ParameterError):
        return check_delta(number(value, parameter, ParameterError))
