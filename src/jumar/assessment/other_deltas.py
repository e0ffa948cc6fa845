"""How the answer would change with δ, the accepted chance that it is wrong.

The controllers and the held-out scores stay as they are; only the level of the test and of the
certificate moves. δ must be fixed before anybody looks: to take another one because of this table
voids the promise, and the table says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jumar.algorithms.auto import Selection
from jumar.algorithms.auto.other_deltas import OTHER_DELTAS, repeatable, retested
from jumar.algorithms.certifying import certificates_of
from jumar.algorithms.problem import Problem
from jumar.assessment.result import Result
from jumar.assessment.sensitivity import LARGEST
from jumar.core.text import number
from jumar.evidence.claims import Certificate
from jumar.evidence.gains import most_gain
from jumar.io.plain import picked

MOST_STEPS = 500_000  # of a log whose bounds are computed once more for every δ
LEAST = 1e-9  # a smaller δ is not told apart: a bet may have grown beyond what a float holds
KEEP = "nothing: the old controller stays"
NOTE = (
    "δ has to be fixed before the log is looked at; here it is {delta:g}. This table only shows "
    "how much the answer depends on it, for the controllers that were made with it. To pick "
    "another δ after seeing the table voids the promise."
)
NO_ODDS = (
    "The behavior was estimated from the log, so no δ is a chance of error here; it is only a "
    "number in the computation."
)


@dataclass(frozen=True)
class AtDelta:
    """What would be said with one δ."""

    delta: float
    used: bool
    tested: int  # controllers, on held-out episodes
    passed: int  # of these
    least_gain: float | None  # that would be certified; below 0: a loss up to that is not excluded
    says: str  # the certificate, in a few words

    @property
    def test(self) -> str:
        """What came of the test, in words."""
        if self.tested == 0:
            return "nothing to test"
        if self.tested == 1:
            return "passed" if self.passed else "not passed"
        return f"{self.passed} of {self.tested} passed" if self.passed else "none passed"

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return picked(self, "delta used tested passed least_gain says")


@dataclass(frozen=True)
class Deltas:
    """The answer with several δ."""

    note: str  # what the table is for, and what it is not for
    rows: tuple[AtDelta, ...]
    reached: float | None  # the least δ with which the controller handed over still passes

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {
            "note": self.note,
            "passes_from": self.reached,
            "rows": [row.to_dict() for row in self.rows],
        }


def other_deltas(result: Result, held_out: Selection | None) -> Deltas | None:
    """What the held-out test and the certificate would say with other δ. None where there is no
    test: nothing changes, whatever δ is.

    >>> from jumar import Controller, improve, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=100, seed=1)
    >>> found = improve(log, behavior, discount=0.95).assessment.deltas
    >>> [(row.delta, row.test) for row in found.rows][1:3]
    [(0.05, '3 of 4 passed'), (0.1, '4 of 4 passed')]
    >>> [row.says for row in found.rows][:2]
    ['better, by how much is not proved', 'better by at least 3.56 per episode']
    """
    if held_out is None or not repeatable(held_out):
        return None
    deltas = sorted({result.delta, *OTHER_DELTAS})
    if result.selection is not None:
        rows = tuple(_by_test(result, result.selection, deltas))
    else:
        rows = tuple(_by_bound(result, held_out, deltas))
    note = NOTE.format(delta=result.delta)
    if result.estimated:
        note += f" {NO_ODDS}"
    chosen = result.selection.chosen if result.selection else None
    reached = chosen.reached if chosen else None
    if reached is not None:
        reached *= result.delta / held_out.delta
        note += f" The controller that was chosen passes with every δ from {_up(reached)} on."
    return Deltas(note, rows, reached)


def _up(x: float) -> str:
    """Two digits, rounded up: with the number that is printed it does pass.

    >>> _up(0.02381), _up(0.02), _up(4.01e-7), _up(0.0)
    ('0.024', '0.02', '4.1e-07', '1e-09')
    """
    x = max(x, LEAST)
    unit = 10.0 ** (math.floor(math.log10(x)) - 1)
    return f"{math.ceil(x / unit - 1e-9) * unit:.2g}"


def _by_test(result: Result, selection: Selection, deltas: list[float]) -> Iterator[AtDelta]:
    """Where the held-out test chose the controller, and is the certificate."""
    for δ in deltas:
        used = result.delta == δ
        share = selection.delta if used else δ * selection.delta / result.delta
        found = retested(selection, share)
        tested, passed, lower = len(selection.trials), found.passed, found.lower
        said = KEEP if lower is None else _gained(lower, "per episode")
        if selection.chosen not in (None, found.chosen) and lower is not None:
            said = f"another controller: {said}"
        yield AtDelta(δ, used, tested, passed, lower, said)


def _gained(lower: float, when: str) -> str:
    if lower > 0:
        return f"better by at least {number(lower)} {when}"
    return "better, by how much is not proved"


def _by_bound(result: Result, held_out: Selection, deltas: list[float]) -> Iterator[AtDelta]:
    """Where an algorithm was named: the certificate is a bound that is computed from all the data,
    and the test is of controllers that were learned in the same way."""
    large = result.log.n_steps > MOST_STEPS or len(result.improvement.mdp) > LARGEST
    for δ in deltas:
        used = result.delta == δ
        tested, passed = len(held_out.trials), retested(held_out, δ).passed
        if large and not used:
            yield AtDelta(δ, used, tested, passed, None, "not computed, as the log is large")
            continue
        best = result.certificate if used else _certificate(result, δ)
        least = None if best.vacuous else -best.zeta + 0.0
        yield AtDelta(δ, used, tested, passed, least, _in_words(best))


def _certificate(result: Result, delta: float) -> Certificate:
    practice, improvement = result.practice, result.improvement
    assert practice is not None  # of every result of an algorithm that was named
    discount = improvement.mdp.discount
    problem = Problem(practice, discount, delta=delta, rewards=result.rewards)
    most = most_gain(practice.log, result.rewards, discount)
    return certificates_of(
        improvement,
        problem.material(improvement.mdp.memory),
        delta=delta,
        copied=problem.copied,
        most=most,
    )[0]


def _in_words(certificate: Certificate) -> str:
    if certificate.vacuous:
        return "nothing: it excludes no loss"
    if certificate.zeta > 0:
        return f"no loss above {number(certificate.zeta)} per episode"
    if certificate.zeta < 0:
        return _gained(-certificate.zeta, "per episode")
    return "not worse"
