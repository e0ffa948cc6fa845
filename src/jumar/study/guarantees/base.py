"""A process with known truth on which a promise is tried: the model, the behavior that makes its
logs, and what its owner would tell jumar.

A claim about a log is compared with the exact value of what was claimed, and nothing else. Where
records are cut off after T steps that is the return of T steps; where episodes end it is the whole
return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jumar.core.arrays import Frozen
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.evidence.consistency import rewards_seen
from jumar.evidence.rewards import RewardRange
from jumar.truth.evaluation import evaluate
from jumar.truth.pomdp import END, Pomdp
from jumar.truth.simulation import simulate

Outcome = tuple[float, str | None, str | None, float]  # probability, next state and observation
# (None, None: the episode ends), reward


@dataclass(frozen=True, eq=False)
class Process(Frozen):
    """One process, and the logs to draw from it."""

    name: str
    mechanism: str  # why a promise may fail here, in one sentence
    pomdp: Pomdp
    behavior: Controller
    target: Controller  # another controller, chosen before any log was seen
    horizon: int | None  # records are cut off after so many steps; None: episodes end
    rewards: RewardRange | None  # as declared by the owner; None: read off the log
    sizes: tuple[int, ...]  # episodes of the logs
    more_sizes: tuple[int, ...] = ()  # run only when everything is asked for
    kind: str = ""  # of the four ways in which the gate of 0.1.0 failed: M1, M2, M3 or M4
    longest: int | None = None  # the most steps of an episode, where the owner knows that
    sufficient: bool = False  # does the last observation tell all of the past that matters?

    def log(self, episodes: int, rng: np.random.Generator) -> Episodes:
        """A log of the behavior."""
        return simulate(
            self.pomdp, self.behavior, episodes=episodes, seed=rng, max_steps=self.horizon
        )

    def value(self, controller: Controller) -> float:
        """The exact return, up to the cut where records are cut off."""
        return evaluate(self.pomdp, controller, self.horizon).value

    def value_for_ever(self, controller: Controller) -> float:
        """The exact return if nobody stopped recording."""
        return evaluate(self.pomdp, controller).value

    @property
    def declared(self) -> bool:
        return self.rewards is not None

    def shown(self, log: Episodes) -> bool:
        """Is the range of the rewards known: declared, or all of it in the log?"""
        if self.declared:
            return True
        going, ending = (self.pomdp.reward_extremes(ending=over) for over in (False, True))
        seen = rewards_seen(log)
        return seen.ending == ending and going in (None, seen.continuing)


def model(
    name: str,
    *,
    observations: Sequence[str],
    start: Mapping[tuple[str, str], float],
    outcomes: Mapping[tuple[str, str], Sequence[Outcome]],
    discount: float,
) -> Pomdp:
    """A Pomdp from what may happen in every state under every action.

    `start` is the law of the first (state, observation). States and actions are numbered as
    `outcomes` names them first.

    >>> coin = model("coin", observations=["now"], start={("s", "now"): 1.0}, discount=1.0,
    ...              outcomes={("s", "toss"): [(0.5, None, None, 1.0), (0.5, None, None, 0.0)]})
    >>> coin.expected_reward.tolist()
    [[0.5]]
    """
    states = list(dict.fromkeys(s for s, _ in outcomes))
    actions = list(dict.fromkeys(a for _, a in outcomes))
    looks = list(observations)
    first = np.zeros((len(states), len(looks)))
    for (s, z), p in start.items():
        first[states.index(s), looks.index(z)] += p
    law = first.sum(1)
    shown = np.divide(first, law[:, None], out=np.full_like(first, 1 / len(looks)),
                      where=law[:, None] > 0)  # fmt: skip
    pointer, probability, next_state, next_look, reward = [0], [], [], [], []
    for s in states:
        for a in actions:
            for chance, to, sees, pays in outcomes[s, a]:
                probability.append(chance)
                next_state.append(END if to is None else states.index(to))
                next_look.append(END if sees is None else looks.index(sees))
                reward.append(pays)
            pointer.append(len(probability))
    return Pomdp(
        name=name,
        states=tuple(states),
        actions=tuple(actions),
        observations=tuple(looks),
        start=law,
        first_observation=shown,
        pointer=np.array(pointer),
        probability=np.array(probability),
        next_state=np.array(next_state),
        next_observation=np.array(next_look),
        reward=np.array(reward),
        discount=discount,
    )


def rule(pomdp: Pomdp, rows: Mapping[str, Sequence[float]], name: str) -> Controller:
    """A controller that sees the last observation only; one row of probabilities for each.

    >>> from jumar import models
    >>> tiger = models.tiger()
    >>> listens = rule(tiger, dict.fromkeys(tiger.observations, (0, 0, 1)), "listens")
    >>> listens.row([], "hear-left").tolist()
    [0.0, 0.0, 1.0]
    """
    uniform = Controller.uniform(pomdp.observations, pomdp.actions, name=name)
    states = np.array([[pomdp.observations.index(z)] for z in rows])
    return uniform.except_at(states, np.array([list(row) for row in rows.values()], float), name)


def declared(pomdp: Pomdp) -> RewardRange:
    """The reward range that an owner declares. If every step ends the episode, a step that goes on
    pays nothing."""
    going, ending = (pomdp.reward_extremes(ending=over) for over in (False, True))
    return RewardRange(going or (0.0, 0.0), ending)


def renamed(process: Process, name: str, mechanism: str, rewards: RewardRange | None) -> Process:
    """The same process, with another declaration by its owner."""
    return replace(process, name=name, mechanism=mechanism, rewards=rewards)
