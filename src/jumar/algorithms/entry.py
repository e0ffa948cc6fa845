"""What is known of an algorithm: one entry, in the algorithm's own module.

Only name, summary and `improve` are needed; whatever else an entry says, the rest of the house
asks it: certificates its bound, `auto` its grid, reports its words, figures its look.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from jumar.algorithms.problem import Material, NotKept, Outcome, Problem
from jumar.core.arrays import Floats
from jumar.core.errors import ParameterError, not_one_of
from jumar.evidence.bounds import Kind
from jumar.evidence.claims import Certificate
from jumar.policy.controller import Controller
from jumar.solve.nouns import Admitted, Improvement
from jumar.solve.simplifying import simplified
from jumar.tally.history import HistoryMdp

Improve = Callable[..., Improvement]
Parameters = Mapping[str, Any]
Named = tuple[tuple[str, Any], ...]  # parameters that can be a key
# parameters, rows (H, A), and what actions are worth under them (H, A) where that is known already
Proposal = tuple[Named, Floats, Floats | None]
# a model, the behavior's rows, settings, and the share of a log that the model was made of; the
# behavior itself comes first
Propose = Callable[[HistoryMdp, Floats, Sequence[Named], float], Iterator[Proposal]]

# what it made of a log, that log, and δ; None where the setting promises nothing
Promise = Callable[[Improvement, Material, float], Certificate | None]


def check_choice(parameter: str, given: object, choices: Any) -> None:
    """A parameter that is one of the words of a `Literal`."""
    if given not in get_args(choices):
        raise ParameterError(f"{parameter}: " + not_one_of("choice", given, get_args(choices)))


def check_amount(parameter: str, given: Any, examples: str) -> float:
    """A parameter that is a finite number from 0; `examples` say what some mean."""
    number = isinstance(given, int | float | np.number) and not isinstance(given, bool)
    if not number or not 0 <= given < math.inf:
        raise ParameterError(f"{parameter}: {given!r} is not a finite number from 0. {examples}")
    return float(given)


@dataclass(frozen=True)
class Grid:
    """What a selection tries of an algorithm."""

    settings: tuple[Named, ...] = ((),)
    mixtures: tuple[float, ...] = (1.0,)  # shares of the new rows, the rest the behavior's


@dataclass(frozen=True)
class Words:
    """How an algorithm speaks. What is None is said in general words."""

    setting: Callable[[Parameters], str] | None = None  # parameters for the record: "N∧ = 5"
    does: Callable[[Parameters], str] | None = None  # what it does, for somebody who decides
    label: Callable[[Parameters], str] | None = None  # the head of a column
    # why a history state stays as it is; do others change?
    kept: Callable[[bool], str] | None = None


@dataclass(frozen=True)
class Look:
    """How a line is drawn; markers, widths and lightness tell lines apart in grey as well."""

    label: str
    colour: str = "#7a3b8f"
    marker: str = "D"
    width: float = 1.3
    dashes: Any = "-"
    tail: bool = False  # draw its CVaR too
    size: float = 2.8  # of the marker
    order: float = 2.0  # larger ones are drawn later, on top
    minor: bool = False  # only its mean is drawn


@dataclass(frozen=True)
class Looks:
    """How an algorithm is drawn. What is None is drawn like any other."""

    curve: Callable[[Parameters], Look] | None = None
    # in the figure about safety, given the thresholds that are asked for; None: not drawn
    safety: Callable[[Parameters, Sequence[int]], Look | None] | None = None


@dataclass(frozen=True)
class Choice:
    """What a study must know of an algorithm that chooses its memory from the log: it is run once
    per log as ``choose(log, behavior, discount=..., seed=..., **parameters)``, for a Selection."""

    choose: Callable[..., Any]
    defaults: Parameters  # of its parameters in a study
    read: Callable[[str, object], object]  # a parameter's value as a study file has it
    optional: tuple[str, ...] = ()  # parameters without a default, which may be left out


@dataclass(frozen=True)
class Algorithm:
    """One algorithm, and all that is known of it."""

    name: str
    summary: str
    improve: Improve | None = None  # (mdp, behavior, *, parameters); None: only `on_problem`
    # from parameters to the rows it admits, where that is all it takes: compiled loops use them
    admitted: Callable[..., Admitted] | None = None
    on_problem: Callable[[Problem], Outcome] | None = None  # in place of count, estimate, improve
    # more than counts: keyword arguments of `improve` that are made of the log
    needs: Mapping[str, Callable[[Material], object]] = field(default_factory=dict)
    # ---- its bound
    bound_kind: Kind | None = None  # which family of bounds applies to what it returns
    loses_nowhere: bool = False  # no history state can lose if the returns lie in their bounds
    promise: Promise | None = None  # a certificate of its own kind, where it has one
    # ---- its threshold and its grids
    threshold: str | None = None  # the parameter that a pair's visits must exceed to be trusted
    least_visits: int = 0  # threshold where no parameter says one
    grids: Mapping[str, Grid] = field(default_factory=dict)  # by the name of the test
    propose: Propose | None = None  # many settings at once, where that is cheaper
    choice: Choice | None = None  # it chooses its memory
    # ---- how it speaks and looks
    words: Words = Words()
    looks: Looks = Looks()

    @cached_property  # a candidate among hundreds is made in a millisecond
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What people can set, by name; what it needs of the log is not among them."""
        if self.improve is None:
            return {}
        return {
            name: p
            for name, p in inspect.signature(self.improve).parameters.items()
            if p.kind is inspect.Parameter.KEYWORD_ONLY and name not in self.needs
        }

    def check(self, parameters: Parameters) -> None:
        """An unknown parameter is an error."""
        for parameter in parameters:
            if parameter in self.parameters:
                continue
            if self.improve is None:
                raise ParameterError(
                    f"{self.name}: chooses {', '.join(parameters)} itself. Leave it out, or name "
                    "the algorithm."
                )
            known = list(self.parameters) or ["(none)"]
            raise ParameterError(f"{self.name}: " + not_one_of("parameter", parameter, known))

    def read(self, parameter: str, text: str) -> object:
        """A parameter given as text, in the type that the algorithm wants."""
        self.check({parameter: text})
        assert self.improve is not None
        wanted = get_type_hints(self.improve)[parameter]
        if get_origin(wanted) is Literal:
            check_choice(parameter, text, wanted)
            return text
        try:
            return wanted(text)
        except ValueError as error:
            kind = "whole number" if wanted is int else "number"
            raise ParameterError(f"{parameter}: {text!r} is not a {kind}.") from error

    def learn(self, material: Material, behavior: Controller, **parameters: object) -> Improvement:
        """What it makes of a log over one memory."""
        self.check(parameters)
        if self.improve is None:
            raise ParameterError(f"{self.name}: chooses its memory itself. Name another algorithm.")
        needed, missing = {}, None
        for name, make in self.needs.items():
            try:
                needed[name] = make(material)
            except NotKept as error:  # some can do without: then the model is all they know
                missing = error
        try:
            return self.improve(material.mdp, behavior, **needed, **parameters)
        except (ParameterError, TypeError) as error:
            if missing is None:
                raise
            raise ParameterError(
                f"{self.name}: learns from episodes, and of a log that is read in parts only "
                "counts are kept. Use an algorithm that needs no more than a model."
            ) from error

    def run(self, problem: Problem, **parameters: object) -> Outcome:
        """What it makes of a problem. Most count, estimate and improve over one memory."""
        self.check(parameters)
        if self.on_problem is not None:
            return self.on_problem(problem)
        if problem.makers is not None:
            raise ParameterError(
                f"candidates: {self.name} takes none, only auto does. Leave the algorithm and its "
                f"parameters out, or name it there: candidates={self.name!r}."
            )
        if problem.keeps:
            raise ParameterError(
                f"keep: {self.name} is not tested on held-out episodes, so nothing would show what "
                "is kept. Leave the algorithm and its parameters out."
            )
        material = problem.material(problem.joined)
        found = self.learn(material, problem.practice.pooled, **parameters)
        if problem.simplify is None:
            return Outcome(material, found)
        found, told = simplified(found, problem.simplify)
        return Outcome(material, found, simplified=told)

    @property
    def promises(self) -> bool:
        """Is anything claimed of what it returns, beyond what holds for any policy?"""
        return self.bound_kind is not None or self.loses_nowhere or self.promise is not None

    # ---- the threshold

    def trusted(self, parameters: Parameters) -> int | float | None:
        """The visits that a pair must exceed; None where no parameter says."""
        value = parameters.get(self.threshold) if self.threshold else None
        value = value.item() if isinstance(value, np.number) else value
        return value if isinstance(value, int | float) else None

    def thinned(self, parameters: Parameters, share: float) -> dict[str, Any]:
        """Parameters for a share of a log: a threshold shrinks with it."""
        found, value = dict(parameters), self.trusted(parameters)
        if self.threshold and value is not None and share < 1:
            found[self.threshold] = math.floor(value * share)
        return found

    # ---- words and looks

    def setting(self, parameters: Parameters) -> str:
        """Name and parameters, for the record."""
        said = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        said = self.words.setting(parameters) if self.words.setting else said
        return f"{self.name}, {said}" if said else self.name

    def does(self, parameters: Parameters) -> str:
        """What it does with these parameters, for somebody who decides."""
        return self.words.does(parameters) if self.words.does else self.summary

    def label(self, parameters: Parameters) -> str:
        """A short column heading."""
        if self.words.label:
            return self.words.label(parameters)
        return " ".join([self.name, *(str(value) for value in parameters.values())])

    def curve(self, parameters: Parameters) -> Look:
        """Its line among performance curves."""
        return self.looks.curve(parameters) if self.looks.curve else Look(self.name)

    def safety(self, parameters: Parameters, thresholds: Sequence[int]) -> Look | None:
        """Its line in the figure about safety."""
        if self.looks.safety:
            return self.looks.safety(parameters, thresholds)
        return Look(f"{self.label(parameters)}, k′ = k")
