"""A process with known truth on which a promise is tried: the model, the behavior that makes its
logs, and what its owner would tell jumar.

A claim about a log is compared with the exact value of what was claimed, and nothing else. Where
records are cut off after T steps that is the return of T steps; where episodes end it is the whole
return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Frozen
from jumar.evidence.consistency import rewards_seen
from jumar.evidence.rewards import RewardRange
from jumar.gate.makers import Function
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.lab.truth.simulation import simulate
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller

Outcome = tuple[float, str | None, str | None, float]  # probability, next state and observation
# (None, None: the episode ends), reward
Row = Sequence[float]  # the probability of each action
Rows = Row | Mapping[str, Row]  # the same whatever is seen, or by the last observation


@dataclass(frozen=True, eq=False)
class Process(Frozen):
    """One process, and the logs to draw from it."""

    name: str
    mechanism: str  # why a promise may fail here, in one sentence
    pomdp: Pomdp
    behavior: Controller
    target: Controller  # another controller, chosen before any log was seen
    sizes: tuple[int, ...] = (100, 1000)  # episodes of the logs
    horizon: int | None = None  # records are cut off after so many steps; None: episodes end
    steps: int | None = None  # the most of an episode that ends, where the owner knows that
    declared: bool = True  # does the owner declare what a step can pay?
    sufficient: bool = False  # does the last observation tell all of the past that matters?
    candidates: Function | None = None  # of the owner's own; None: the usual ones
    # adds to a log what its owner writes down beside what happened: a column of propensities
    annotate: Callable[[Episodes, np.random.Generator], Episodes] | None = None

    @property
    def longest(self) -> int | None:
        """The most steps of an episode, if that is known."""
        return self.steps or self.horizon

    def log(self, episodes: int, rng: np.random.Generator) -> Episodes:
        """A log of the behavior."""
        log = simulate(
            self.pomdp, self.behavior, episodes=episodes, seed=rng, max_steps=self.horizon
        )
        return log if self.annotate is None else self.annotate(log, rng)

    @property
    def stated(self) -> Controller | None:
        """The policy that jumar is told; None: only the propensities that are in the log."""
        return self.behavior if self.annotate is None else None

    def value(self, controller: Controller) -> float:
        """The exact return, up to the cut where records are cut off."""
        return evaluate(self.pomdp, controller, self.horizon).value

    def value_for_ever(self, controller: Controller) -> float:
        """The exact return if nobody stopped recording."""
        return evaluate(self.pomdp, controller).value

    @property
    def rewards(self) -> RewardRange | None:
        """As declared by the owner; None: read off the log."""
        return self.pomdp.reward_range if self.declared else None

    def shows_range(self, log: Episodes) -> bool:
        """Is the range of the rewards known: declared, or all of it in the log?"""
        if self.declared:
            return True
        seen, going = rewards_seen(log), self.pomdp.reward_extremes(ending=False)
        return seen.ending == self.pomdp.reward_range.ending and going in (None, seen.continuing)


def make_process(
    mechanism: str, pomdp: Pomdp, behavior: tuple[str, Rows], target: tuple[str, Rows], **more: Any
) -> Process:
    """The process of a model, under its name; a controller is its name and its rows."""
    acts, would_act = (rule(pomdp, rows, name) for name, rows in (behavior, target))
    return Process(pomdp.name, mechanism, pomdp, acts, would_act, **more)


def model(
    name: str,
    *,
    start: Mapping[tuple[str, str], float],
    outcomes: Mapping[tuple[str, str], Sequence[Outcome]],
    discount: float = 0.95,
) -> Pomdp:
    """A Pomdp from what may happen in every state under every action.

    `start` is the law of the first (state, observation). Names are numbered as they come first.

    >>> coin = model("coin", start={("s", "now"): 1.0},
    ...              outcomes={("s", "toss"): ends((0.5, 1.0), (0.5, 0.0))})
    >>> coin.expected_reward.tolist()
    [[0.5]]
    """
    states = list(dict.fromkeys(s for s, _ in outcomes))
    actions = list(dict.fromkeys(a for _, a in outcomes))
    pairs = [outcomes[s, a] for s in states for a in actions]
    probability, to, sees, reward = zip(*(one for pair in pairs for one in pair), strict=True)
    looks = [z for z in dict.fromkeys([z for _, z in start] + list(sees)) if z is not None]
    first = np.zeros((len(states), len(looks)))
    for (s, z), p in start.items():
        first[states.index(s), looks.index(z)] += p
    law = first.sum(1)
    shown = np.divide(first, law[:, None], out=np.full_like(first, 1 / len(looks)),
                      where=law[:, None] > 0)  # fmt: skip
    return Pomdp(
        name=name,
        states=tuple(states),
        actions=tuple(actions),
        observations=tuple(looks),
        start=law,
        first_observation=shown,
        pointer=np.cumsum([0, *map(len, pairs)]),
        probability=np.array(probability),
        next_state=np.array([END if s is None else states.index(s) for s in to]),
        next_observation=np.array([END if z is None else looks.index(z) for z in sees]),
        reward=np.array(reward),
        discount=discount,
    )


def ends(*lots: tuple[float, float]) -> list[Outcome]:
    """The episode ends and pays one of these: (probability, reward)."""
    return [(p, None, None, reward) for p, reward in lots]


def decision(
    name: str, start: Mapping[str, float], pays: Mapping[tuple[str, str], list[Outcome]]
) -> Pomdp:
    """One decision, after which the episode ends. What is seen is all there is, and `start` is its
    law; `pays` is what follows an observation and an action."""
    return model(name, start={(z, z): p for z, p in start.items()}, outcomes=pays)


def rule(pomdp: Pomdp, rows: Rows, name: str) -> Controller:
    """A controller that sees the last observation only; it does anything where it has no row.

    >>> from jumar import models
    >>> listens = rule(models.tiger(), (0, 0, 1), "listens")
    >>> listens.row([], "hear-left").tolist()
    [0.0, 0.0, 1.0]
    """
    if not isinstance(rows, Mapping):
        rows = dict.fromkeys(pomdp.observations, rows)
    uniform = Controller.uniform(pomdp.observations, pomdp.actions, name=name)
    states = np.array([[pomdp.observations.index(z)] for z in rows])
    return uniform.except_at(states, np.array([list(row) for row in rows.values()], float), name)
