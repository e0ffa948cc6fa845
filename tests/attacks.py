"""Logs on which a model that knows no clock, or no pair that was never tried, says what cannot be;
and what finds such numbers in all that is printed.

Rewards are counted in `UNIT`s, which is larger than every count, seed and percentage. So a number
beyond the largest return that is possible is one of money, and wrong, wherever it stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller

UNIT = 1e7
SLACK = 1.001  # numbers are rounded
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w])")


@dataclass(frozen=True)
class Attack:
    """A log, who made it, and what a return can be, up to where recordings stop."""

    log: Episodes
    behavior: Controller
    discount: float
    low: float
    high: float
    longer: bool = False  # an episode may be longer than any in the log, as none was cut off

    @property
    def largest(self) -> float:
        """No return, and no difference of two, is larger."""
        return max(abs(self.low), abs(self.high), self.high - self.low)

    @property
    def largest_sum(self) -> float:
        """The same of plain sums, in which checks tell whether the process drifts."""
        γ, T = self.discount, int(self.log.lengths.max())
        return self.largest * T * (1 - γ) / (1 - γ**T)


def beyond(said: object, largest: float, but: tuple[str, ...] = ()) -> list[str]:
    """The numbers of a text, or of anything made of JSON types, that no return can be; `but` names
    fields that tell ranges of returns."""
    found = [(place, x) for place, x in _numbers(said) if not (but and place.endswith(but))]
    return [f"{place}: {number:g}" for place, number in found if abs(number) > largest * SLACK]


def _numbers(said: object, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(said, dict):
        for key, value in said.items():
            yield from _numbers(value, f"{place}.{key}")
    elif isinstance(said, list | tuple):
        for i, value in enumerate(said):
            yield from _numbers(value, f"{place}[{i}]")
    elif isinstance(said, bool) or said is None:
        return
    elif isinstance(said, int | float):
        yield place, float(said)
    else:
        text = str(said)
        for found in _NUMBER.finditer(text):
            number = float(found.group().replace(",", "").replace("−", "-"))
            if math.isfinite(number):
                yield f"{place} “…{text[max(0, found.start() - 60) : found.end() + 20]}…”", number


# ---------------------------------------------------------------- processes


def _played(
    episodes: int,
    steps: int,
    row: Callable[[int], list[float]],
    step: Callable[[int, int, np.random.Generator], tuple[float, int]],
    seed: int,
    observe: Callable[[int], int] = lambda s: min(s, 1),
    ends: bool = False,
) -> dict[str, Any]:
    """A log of a process whose state is a number that begins at 0. `row` tells what is done on
    seeing an observation, `step` what an action pays in a state, and the next one."""
    rng = np.random.default_rng(seed)
    z, a, r = [], [], []
    for _ in range(episodes):
        s = 0
        for _ in range(steps):
            seen = observe(s)
            act = int(rng.choice(len(row(seen)), p=row(seen)))
            paid, then = step(s, act, rng)
            z.append(seen), a.append(act), r.append(paid)
            s = then
    return {
        "observation": z, "action": a, "reward": np.array(r) * UNIT,
        "start": np.arange(0, episodes * steps + 1, steps),
        "final_observation": [-1] * episodes, "terminated": [ends] * episodes,
    }  # fmt: skip


def _attack(
    rows: list[list[float]], told: dict[str, Any], discount: float, pays: tuple[float, float]
) -> Attack:
    """`pays`: what a step can pay, in units."""
    names = ("z0", "z1"), tuple("abc"[: len(rows[0])])
    log = Episodes(*names, **told)
    behavior = Controller.constant(*names, rows[0])
    if rows[1] != rows[0]:
        index = np.array([[1]])
        behavior = behavior.except_at(index, np.array([rows[1]]), "rule")
    T = int(log.lengths.max())
    weight = float((1 - discount**T) / (1 - discount))
    low, high = (UNIT * x * weight for x in pays)
    return Attack(log, behavior, discount, min(low, 0.0), max(high, 0.0))


def _wear(s: int, a: int, rng: np.random.Generator) -> tuple[float, int]:
    """b wears unseen: it pays 1 until it was done eight times, and -1 from then on."""
    if a == 0:
        return 0.2 * rng.random(), s
    return (1.0 if s < 8 else -1.0), s + 1


def _plain(s: int, a: int, rng: np.random.Generator) -> tuple[float, int]:
    """Two observations at random; b pays on seeing the second, a on seeing the first."""
    return float(a == min(s, 1)) * rng.random(), int(rng.integers(2))


def _shifted(by: float, step: Callable[..., tuple[float, int]]) -> Callable[..., tuple[float, int]]:
    def shifted(s: int, a: int, rng: np.random.Generator) -> tuple[float, int]:
        paid, then = step(s, a, rng)
        return paid + by, then

    return shifted


EVEN = [[0.5, 0.5], [0.5, 0.5]]


def cut_at(steps: int, shift: float, episodes: int) -> Attack:
    """Recordings that stop after so many steps, every reward shifted."""
    told = _played(episodes, steps, EVEN.__getitem__, _shifted(shift, _plain), 1)
    return _attack(EVEN, told, 0.99, (shift, shift + 1))


def hidden_wear(steps: int, episodes: int) -> Attack:
    told = _played(episodes, steps, EVEN.__getitem__, _wear, 2, observe=lambda s: 0)
    return _attack(EVEN, told, 0.99, (-1.0, 1.0))


def exceptions(steps: int, episodes: int, shift: float = 0.0) -> Attack:
    """A rule that is departed from in 2 % of the steps."""
    rows = [[0.99, 0.01], [0.01, 0.99]]
    told = _played(episodes, steps, rows.__getitem__, _shifted(shift, _plain), 3)
    return _attack(rows, told, 0.99, (shift, shift + 1))


def never_tried(steps: int, episodes: int) -> Attack:
    """b is admitted on seeing the second observation, and was never done there; all pays 5 to 6."""
    rows = [[0.5, 0.5], [0.5, 0.5]]
    told = _played(episodes, steps, rows.__getitem__, _shifted(5.0, _plain), 4)
    seldom = np.asarray(told["observation"]) == 1
    told["action"] = np.where(seldom, 0, told["action"])
    return _attack([[0.5, 0.5], [1 - 1e-4, 1e-4]], told, 0.99, (5.0, 6.0))


def outcome_at_the_end(steps: int, episodes: int) -> Attack:
    """Only the last row says how it went; the log does not say that it ended there."""
    told = _played(episodes, steps, EVEN.__getitem__, _plain, 5)
    paid = np.zeros(len(told["reward"]))
    last = np.asarray(told["start"])[1:] - 1
    paid[last] = np.asarray(told["action"])[last] * UNIT
    told["reward"] = paid
    return _attack(EVEN, told, 0.9, (0.0, 1.0))


def one_record(steps: int) -> Attack:
    told = _played(1, steps, EVEN.__getitem__, _shifted(3.0, _plain), 6)
    return _attack(EVEN, told, 0.99, (3.0, 4.0))


def all_alike(steps: int, episodes: int) -> Attack:
    told = _played(episodes, steps, EVEN.__getitem__, lambda s, a, rng: (7.1, 1 - min(s, 1)), 7)
    return _attack(EVEN, told, 0.99, (7.1, 7.1))


def ended_at(steps: int, shift: float, episodes: int) -> Attack:
    """The same length for all, and it is said that they end there."""
    told = _played(episodes, steps, EVEN.__getitem__, _shifted(shift, _plain), 8, ends=True)
    return replace(_attack(EVEN, told, 0.99, (shift, shift + 1)), longer=True)


def staggered(machines: int, steps: int, shift: float) -> Attack:
    """Machines bought one after the other, and all recorded up to the same day."""
    told = _played(machines, steps, EVEN.__getitem__, _shifted(shift, _plain), 9)
    lengths = np.maximum(1, steps * np.arange(machines, 0, -1) // machines)
    start = np.append(0, np.cumsum(lengths))
    kept = (np.arange(machines * steps).reshape(machines, steps) % steps) < lengths[:, None]
    for name in ("observation", "action", "reward"):
        told[name] = np.asarray(told[name])[kept.ravel()]
    found = _attack(EVEN, {**told, "start": start}, 0.99, (shift, shift + 1))
    return replace(found, longer=True)  # only its range: recordings may go on


ATTACKS: dict[str, Callable[[], Attack]] = {
    "cut at 20, rewards + 1,000": lambda: cut_at(20, 1000.0, 300),
    "cut at 100, rewards - 1,000": lambda: cut_at(100, -1000.0, 80),
    "cut at 300, hidden wear": lambda: hidden_wear(300, 30),
    "cut at 20, hidden wear": lambda: hidden_wear(20, 400),
    "2 % exceptions, cut at 100": lambda: exceptions(100, 60),
    "2 % exceptions, cut at 20, rewards + 50": lambda: exceptions(20, 400, 50.0),
    "a pair never tried": lambda: never_tried(20, 200),
    "outcomes on last rows": lambda: outcome_at_the_end(6, 300),
    "staggered, rewards + 100": lambda: staggered(300, 60, 100.0),
    "one long record": lambda: one_record(3000),
    "all returns alike": lambda: all_alike(20, 100),
    "ended at 20, rewards + 1,000": lambda: ended_at(20, 1000.0, 300),
}


@cache
def attack(name: str) -> Attack:
    return ATTACKS[name]()
