"""What is tried on held-out episodes, and what came of it; the same for every gate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jumar.algorithms import ALGORITHMS
from jumar.core.arrays import Frozen
from jumar.core.plain import finite, picked
from jumar.core.text import Shown
from jumar.evidence.plausible import Evidenced
from jumar.gate.bets import Bet, Scores
from jumar.gate.limits import Limits
from jumar.memory import Memory
from jumar.policy.controller import Controller
from jumar.solve.simplifying import Simplified

PROVED, ASYMPTOTIC = "proved", "asymptotic"
GATES = (PROVED, ASYMPTOTIC)
Range = tuple[float, float]


@dataclass(frozen=True)
class Setting:
    """How a candidate was made."""

    memory: Memory
    algorithm: str
    parameters: tuple[tuple[str, object], ...] = ()  # of the algorithm, by name
    mixture: float = 1.0  # share of the new rows
    simplified: float | None = None  # the share of its gain that fewer changes had to keep
    heeds: float = 0.0  # weight of the signals to keep beside the objective, while it was made

    def __str__(self) -> str:
        share = "" if self.mixture == 1 else f", mixed {self.mixture:g} with the behavior"
        fewer = "" if self.simplified is None else ", simplified"
        entry, parameters = ALGORITHMS.get(self.algorithm), dict(self.parameters)
        said = entry.setting(parameters) if entry else self.algorithm  # else a caller's function
        if entry is None and "number" in parameters:
            said += f", number {parameters['number']}"
        heeds = f", kept signals weigh {self.heeds:g}" if self.heeds else ""
        return f"{said}, {self.memory}{share}{fewer}{heeds}"

    @property
    def record(self) -> dict[str, object]:
        """In plain types."""
        asked = {} if self.simplified is None else {"simplify": self.simplified}
        asked |= {"heeds": self.heeds} if self.heeds else {}
        return {"base": self.algorithm, **dict(self.parameters), "mixture": self.mixture, **asked}


@dataclass(frozen=True)
class Opinion:
    """Of a gain."""

    gain: float
    error: float

    @property
    def merit(self) -> float:
        """Noise is no merit: of many candidates the luckiest looks best."""
        return self.gain - self.error / 2


@dataclass(frozen=True, eq=False)
class KeptSignal(Frozen):
    """A signal that must not get worse."""

    signal: str
    loss: float | None  # allowed per episode, as it was said
    limits: Limits  # of its returns
    most: float  # that can be gained
    costs: bool = False  # the log holds costs, here with their sign turned

    @property
    def possible(self) -> Range:
        """The least and the greatest gain that returns allow."""
        return _possible(self.limits, self.most)


@dataclass(frozen=True, repr=False)
class KeptTrial(Shown):
    """One candidate on the other half of the log, as a signal to keep sees it."""

    signal: str
    loss: float  # allowed per episode
    gain: float  # held-out estimate
    error: float  # its standard error
    lower: float  # lower bound on the gain, at the level of the test
    passed: bool  # no more than the loss is lost
    scores: Scores | None = field(default=None, repr=False, compare=False)  # of its units
    bet: Bet | None = None  # that was laid on it

    @property
    def summary(self) -> str:
        passed = "kept" if self.passed else "not kept"
        return f"{self.signal}, held-out gain {self.gain:.4g} ± {self.error:.2g}, {passed}"

    def to_dict(self, possible: Range) -> dict[str, Any]:
        """In plain JSON types. What is not `possible` is not in there."""
        return {
            "signal": self.signal,
            "loss_allowed": self.loss,
            **_numbers(self, possible),
            "passed": self.passed,
        }


@dataclass(frozen=True, repr=False)
class Trial(Shown):
    """One candidate on the other half of the log."""

    setting: Setting
    half: int  # that it was fitted on
    promised: float  # gain expected by the half it was fitted on
    gain: float  # held-out estimate
    error: float  # its standard error
    effective: float  # how many of its own episodes the held-out ones are worth
    missing: float  # share of what it does that the held-out episodes show nothing of
    lower: float  # lower bound on the gain, at the level of the test
    passed: bool
    level: float  # the chance of error that its test was given
    units: int  # held out: episodes, or clusters
    refused: str = ""  # why it cannot pass, whatever its bound
    second: bool | None = None  # would it pass the other test? None: not asked
    weight: float = 1.0  # mean of the held-out weights: 1, if the behavior is what made the log
    weight_error: float = math.inf  # its standard error
    excess: float = 0.0  # what a bet on a mean above 1 grew to, by logged propensities (`bets`)
    beyond: float = 0.0  # share of its discounted weight beyond where recordings stop
    scores: Scores | None = field(default=None, repr=False, compare=False)  # of its units
    bet: Bet | None = None  # that was laid on it
    opinion: Opinion | None = None  # of its gain, where more is known than scores
    # its gain by the same scores with no floor: those of a bet may be cut off, so that they never
    # fall below one, which costs the estimate most of its control variate
    plain: Opinion | None = None
    reached: float | None = None  # the least δ with which its bet passes; above 1: with none
    # what was kept of its changes before the test, if that was asked for
    simplified: Simplified | None = field(default=None, repr=False, compare=False)
    kept: tuple[KeptTrial, ...] = ()  # what each signal to keep says
    won: bool = False  # with signals to keep: does it pass on the objective alone?
    # gain by models of both halves that remember what it does, where a memory was learned
    by_both: float | None = None

    def merit(self, most: float) -> float:
        """By which the best of those that passed is chosen: noise is no merit, nor is a gain
        beyond what returns allow."""
        if self.opinion is not None:
            return min(self.opinion.merit, most)
        return min(self.gain, most) - self.error / 2

    @property
    def told(self) -> Opinion:
        """Its gain as people are told it."""
        return self.plain or Opinion(self.gain, self.error)

    @property
    def summary(self) -> str:
        passed = "passed" if self.passed else "not passed"
        told = self.told
        return f"{self.setting}, held-out gain {told.gain:.4g} ± {told.error:.2g}, {passed}"

    def to_dict(self, possible: Range, kept: Sequence[KeptSignal] = ()) -> dict[str, Any]:
        """In plain JSON types. What is not `possible`, or hardly tested, is not in there."""
        signals = [k.to_dict(s.possible) for k, s in zip(self.kept, kept, strict=False)]
        return {
            "setting": str(self.setting),
            "half": self.half,
            **_numbers(self, possible, self.effective),
            "effective_episodes": self.effective,
            "missing": self.missing,
            "mean_weight": self.weight,
            "weight_beyond_the_cut": self.beyond,
            **picked(self, "level passed"),
            "passes_from_delta": None if (self.reached or 0.0) > 1 else self.reached,
            "refused": self.refused or None,
            "passes_the_other_test": self.second,
            **({"kept": signals} if signals else {}),
        }


def _numbers(
    trial: Trial | KeptTrial, possible: Range, effective: float | None = None
) -> dict[str, Any]:
    """The gain, where a person may see it; and the bound on it, where it excludes anything."""
    low, high = trial.lower, math.inf
    told = trial.told if isinstance(trial, Trial) else Opinion(trial.gain, trial.error)
    found = Evidenced(told.gain, low, high, told.error, possible, effective)
    return {
        "gain": found.shown,
        "standard_error": None if found.shown is None else finite(told.error),
        "lower_bound": finite(low) if low > possible[0] else None,
    }


def _possible(limits: Limits, most: float) -> Range:
    mean = float(limits.high[0] - most)
    low, high = limits.shown
    return low - mean, high - mean


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Frozen, Shown):
    """What was tried, and what was chosen."""

    gate: str  # "proved" or "asymptotic"
    delta: float
    episodes: int
    units: int  # independent ones: clusters, or the episodes themselves
    trials: tuple[Trial, ...]  # the shortlists, best lower bound first
    tried: int  # candidates fitted in all
    chosen: Trial | None  # None: the behavior stays
    controller: Controller
    limits: Limits  # of the returns
    most: float  # the best return that is possible, less the behavior's mean return
    # share of the discounted weight that lies beyond where recordings stopped: under the behavior
    # or under what was chosen (or would have been, if that were not too much), whichever is larger
    beyond: float
    memories: tuple[Memory, ...] = ()
    kept: tuple[KeptSignal, ...] = ()  # signals that must not get worse
    objective: str = ""  # the signal that must get better, where there are several
    makers: tuple[str, ...] = ()  # of candidates, where they were asked for
    # by each half, where that was asked for; None: nothing beyond what the behavior remembers
    learned: tuple[Memory | None, ...] = ()

    @property
    def summary(self) -> str:
        chosen = str(self.chosen.setting) if self.chosen else "the behavior stays"
        return f"{self.tried:,} candidates, {len(self.trials)} tested; {chosen}"

    @property
    def range(self) -> float:
        """R: how far two returns can lie apart."""
        return self.limits.range

    @property
    def logged(self) -> float:
        """The behavior's mean return, up to where recordings stop."""
        return float(self.limits.high[0] - self.most)

    @property
    def possible(self) -> Range:
        """The least and the greatest gain that returns allow."""
        return _possible(self.limits, self.most)

    @property
    def too_short(self) -> bool:
        """Does the behavior stay only because too much lies beyond where recordings stop?"""
        return (
            self.chosen is None
            and self.beyond > MOST_BEYOND
            and any(trial.passed for trial in self.trials)
        )

    @property
    def best(self) -> Trial | None:
        """The chosen one, or the one that came closest."""
        return self.chosen or (self.trials[0] if self.trials else None)

    @property
    def heaviest(self) -> Trial | None:
        """The one whose weights contradict logged propensities most."""
        return max(self.trials, key=lambda trial: trial.excess, default=None)

    @property
    def overweight(self) -> bool:
        """Do weights say that logged propensities are too small?"""
        return self.heaviest is not None and self.heaviest.excess >= -math.log(DOUBTED)

    @property
    def held_back(self) -> Trial | None:
        """Where the behavior stays only because a signal is not kept: of those that were better on
        the objective, the one that came closest."""
        won = [trial for trial in self.trials if trial.won and not trial.passed]
        if self.chosen is not None or self.beyond > MOST_BEYOND:
            return None
        return min(won, key=lambda trial: trial.reached or math.inf, default=None)

    @property
    def unkept(self) -> list[tuple[KeptSignal, KeptTrial]]:
        """Where the behavior stays and nothing was better on the objective: the signals that the
        one that came closest is not proved to keep."""
        if self.chosen is not None or self.held_back is not None or self.best is None:
            return []
        pairs = zip(self.kept, self.best.kept, strict=True)
        return [(signal, trial) for signal, trial in pairs if not trial.passed]

    @property
    def remembers_learned(self) -> bool:
        """Does the chosen one remember what its half of the log taught?"""
        chosen = self.chosen
        if chosen is None or not self.learned:
            return False
        return chosen.setting.memory == self.learned[chosen.half]

    @property
    def only_approximate(self) -> bool:
        """Did nothing pass, though something would have passed the approximate test?"""
        return self.chosen is None and any(trial.second for trial in self.trials)

    def to_dict(self) -> dict[str, Any]:
        """What was tried and chosen, in plain JSON types."""
        learned = [memory and str(memory) for memory in self.learned]
        keeps = {"objective": self.objective, "keeps": [kept.signal for kept in self.kept]}
        return {
            "gate": self.gate,
            "candidates": self.tried,
            **({"candidates_from": list(self.makers)} if self.makers else {}),
            **({"memories_learned": learned} if learned else {}),
            "tested": [trial.to_dict(self.possible, self.kept) for trial in self.trials],
            "chosen": self.chosen.to_dict(self.possible, self.kept) if self.chosen else None,
            "only_the_approximate_test_passes": self.only_approximate,
            "weight_beyond_the_cut": self.beyond,
            "kept_because_records_are_short": self.too_short,
            **(keeps if self.kept else {}),
        }


MOST_BEYOND = 0.25  # share of the weight beyond the cuts with which a change is still deployed
DOUBTED = 0.05  # chance of weights like these, with which propensities are no longer believed
