"""Algorithms: from an estimated model and the behavior to an improved controller.

An algorithm is a module with ``improve(mdp, behavior, *, parameters) -> Improvement``, usually only
a rule for the rows it admits, handed to the solver, and one entry in `ALGORITHMS`. If it offers
that rule as ``rule(parameters)``, studies run it in compiled loops. It sees counts and the
behavior, never a true model: this package may not import models, simulation or exact evaluation.
An algorithm that also needs the returns of the log says so, and takes them as ``returns``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, get_args, get_origin, get_type_hints

from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.history import HistoryMdp
from jumar.core.improvement import Improvement
from jumar.core.memory import Memory
from jumar.core.replay import Replays, count
from jumar.evidence.first_visits import ReturnBounds, first_returns
from jumar.evidence.rewards import RewardRange
from jumar.solve.rules import Rule

OF_RETURNS = 0.9  # the part of δ for what followed the actions; the rest is for where they led

Improve = Callable[..., Improvement]


@dataclass(frozen=True)
class Algorithm:
    """What the registry knows of an algorithm without loading it."""

    module: str
    summary: str
    bound_kind: str | None  # which family of bounds applies to what it returns
    reaches_optimum: bool = True  # with enough data, it finds the best policy of the model
    needs_returns: bool = False  # also wants bounds on the behavior's returns, as `returns`

    @property
    def improve(self) -> Improve:
        function: Improve = import_module(self.module).improve
        return function

    @property
    def rule(self) -> Callable[..., Rule] | None:
        """Parameters to a rule for compiled loops, where the algorithm is one."""
        return getattr(import_module(self.module), "rule", None)

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The keyword parameters by name; `returns` is not set by people, it comes from the log."""
        signature = inspect.signature(self.improve)
        keyword = inspect.Parameter.KEYWORD_ONLY
        return {
            name: p
            for name, p in signature.parameters.items()
            if p.kind is keyword and not (self.needs_returns and name == "returns")
        }


ALGORITHMS: dict[str, Algorithm] = {
    "spibb": Algorithm(
        "jumar.algorithms.spibb",
        "leave the behavior only for pairs seen more than n_wedge times",
        bound_kind="spibb",
    ),
    "spibb_leq": Algorithm(
        "jumar.algorithms.spibb_leq",
        "never do more often what was seen n_wedge times or less",
        bound_kind=None,
    ),
    "strict": Algorithm(
        "jumar.algorithms.strict",
        "move only from what is proved worse to what is proved better",
        bound_kind="strict",
        reaches_optimum=False,
        needs_returns=True,
    ),
    "tilt": Algorithm(
        "jumar.algorithms.tilt",
        "do more often what pays, by no more than it pays; made to be tested",
        bound_kind=None,
        reaches_optimum=False,
    ),
    "basic": Algorithm(
        "jumar.algorithms.basic",
        "the greedy policy of the estimated model; not safe",
        bound_kind=None,
    ),
}


def algorithm_name(name: str) -> str:
    """The name as the registry spells it.

    >>> algorithm_name("SPIBB-leq")
    'spibb_leq'
    """
    key = name.replace("-", "_").lower()
    if key not in ALGORITHMS:
        raise ParameterError(not_one_of("algorithm", name, ALGORITHMS))
    return key


def algorithm(name: str) -> Algorithm:
    """A registry entry by name.

    >>> sorted(algorithm("spibb").parameters)
    ['n_wedge']
    """
    return ALGORITHMS[algorithm_name(name)]


def run(
    name: str,
    mdp: HistoryMdp,
    behavior: Controller,
    *,
    returns: ReturnBounds | None = None,
    **parameters: object,
) -> Improvement:
    """Improve with the algorithm of that name; an unknown parameter is an error.

    `returns` goes to the algorithms that need it.
    """
    entry = algorithm(name)
    for parameter in parameters:
        if parameter not in entry.parameters:
            known = list(entry.parameters) or ["(none)"]
            raise ParameterError(f"{name}: " + not_one_of("parameter", parameter, known))
    if entry.needs_returns:
        parameters["returns"] = returns
    return entry.improve(mdp, behavior, **parameters)


def learn(
    name: str,
    log: Episodes | Replays,
    behavior: Controller,
    memory: Memory,
    *,
    discount: float,
    rewards: RewardRange,
    delta: float,
    **parameters: object,
) -> Improvement:
    """What an algorithm learns from a log: count, estimate, improve."""
    log = Replays.of(log)
    mdp = count(log, memory).mle(discount)
    returns = None
    if algorithm(name).needs_returns:
        visits = first_returns(log, memory, discount=discount, rewards=rewards)
        returns = visits.bounds(OF_RETURNS * delta)
    return run(name, mdp, behavior, returns=returns, **parameters)


def read_parameter(name: str, parameter: str, text: str) -> object:
    """A parameter given as text, as on a command line, in the type the algorithm wants.

    >>> read_parameter("spibb", "n_wedge", "7"), read_parameter("basic", "unseen", "zero")
    (7, 'zero')
    """
    entry = algorithm(name)
    if parameter not in entry.parameters:
        known = list(entry.parameters) or ["(none)"]
        raise ParameterError(f"{name}: " + not_one_of("parameter", parameter, known))
    wanted = get_type_hints(entry.improve)[parameter]
    if get_origin(wanted) is Literal:
        if text not in get_args(wanted):
            raise ParameterError(f"{parameter}: " + not_one_of("choice", text, get_args(wanted)))
        return text
    try:
        return wanted(text)
    except ValueError as error:
        kind = "whole number" if wanted is int else "number"
        raise ParameterError(f"{parameter}: {text!r} is not a {kind}.") from error
