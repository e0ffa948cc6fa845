"""The main job: a log and the controller that made it in, a better controller out.

log -> align names -> check that the behavior could have done it -> replay and count
    -> estimate -> improve -> certify
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar import algorithms
from jumar.arrays import Bools
from jumar.bounds import Scale, check_delta
from jumar.certificate import Certificate, RewardRange, certify, no_guarantee, unchanged
from jumar.controller import Controller
from jumar.episodes import Episodes
from jumar.errors import LogError
from jumar.history import Counts, count
from jumar.improvement import Improvement
from jumar.memory import Memory
from jumar.refinement import join

DELTA = 0.05


@dataclass(frozen=True)
class Result:
    """An improvement with everything that can be said about its safety."""

    improvement: Improvement
    counts: Counts
    certificates: tuple[Certificate, ...]  # most trustworthy first

    @property
    def controller(self) -> Controller:
        return self.improvement.controller

    @property
    def certificate(self) -> Certificate:
        """The most trustworthy one."""
        return self.certificates[0]

    def to_dict(self) -> dict[str, Any]:
        """The numbers and the certificates, in plain JSON types."""
        improvement, counts = self.improvement, self.counts
        return {
            "algorithm": improvement.algorithm,
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in improvement.parameters.items()
            },
            "memory": str(improvement.mdp.memory),
            "discount": improvement.mdp.discount,
            "episodes": int(counts.starts.sum()),
            "steps": int(counts.visits.sum()),
            "steps_left_out": counts.unfinished,
            "history_states": len(improvement.mdp),
            "changed": improvement.changed,
            "estimated": {
                "behavior": improvement.behavior_performance,
                "improved": improvement.performance,
                "gain": improvement.gain,
            },
            "solver": {"iterations": improvement.trace.iterations, "gap": improvement.trace.gap},
            "certificates": [c.to_dict() for c in self.certificates],
        }


def improve(
    log: Episodes,
    behavior: Controller,
    *,
    discount: float,
    memory: Memory | None = None,
    algorithm: str = "spibb",
    delta: float = DELTA,
    rewards: RewardRange | None = None,
    **parameters: object,
) -> Result:
    """Improve the behavior that produced a log.

    `memory` is what the new controller may remember (with what the behavior remembers); without
    it, what the behavior remembers. `rewards` declares what a step can pay, which the log must not
    contradict; without it the range seen in the log is used, and the certificate says that it
    assumes so.

    >>> from jumar import models, simulate, stream
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=2000, rng=stream(1, "data"))
    >>> result = improve(log, behavior, discount=0.95, n_wedge=50)
    >>> result.improvement.changed, result.certificate.vacuous
    (2, True)
    """
    check_delta(delta)
    log = log.align(behavior.observations, behavior.actions)
    check_possible(log, behavior)
    if rewards is not None:
        check_rewards(log, rewards)
    counts = count(log, _joined(behavior, memory))
    if counts.visits.sum() == 0:
        raise LogError(
            f"The log has {counts.unfinished} steps, but of none it is known what followed: every "
            "episode is one step long, cut off, without a final observation."
        )
    mdp = counts.mle(discount)
    improvement = algorithms.run(algorithm, mdp, behavior, **parameters)
    rewards = rewards or rewards_seen(log)
    return Result(improvement, counts, _certify(improvement, counts, rewards, delta))


def _joined(behavior: Controller, memory: Memory | None) -> Memory:
    if memory is None:
        return behavior.memory
    return join(behavior.memory, memory.on(*behavior.memory.alphabet))


def check_possible(log: Episodes, behavior: Controller) -> None:
    """Every logged action must be one that the behavior takes there at all."""
    nodes = behavior.memory.replay(log.observation, log.action, log.start)
    states = np.column_stack([nodes, log.observation])
    taken = behavior.rows_at(states)[np.arange(log.n_steps), log.action]
    impossible = np.flatnonzero(taken <= 0)
    if len(impossible) == 0:
        return
    row = int(impossible[0])
    more = f" ({len(impossible)} such steps in all)" if len(impossible) > 1 else ""
    raise LogError(
        f"{log.where(row)}: action {log.actions[log.action[row]]!r} was taken, but "
        f"{behavior.name} gives it probability 0 at {behavior.describe(states[row])}{more}. Is "
        "this the controller that produced the log? If it explores, say so in its file."
    )


def check_rewards(log: Episodes, rewards: RewardRange) -> None:
    """No logged reward may lie outside the declared range: the bounds would be false."""
    ended = _ended(log)
    if rewards.ending is None and ended.any():
        raise LogError(
            f"{log.where(int(np.argmax(ended)))}: the episode ended, but the declared rewards say "
            "that none ever does. Declare the rewards of endings too."
        )
    for chosen, (lo, hi), what in (
        (~ended, rewards.continuing, "a step that goes on"),
        (ended, rewards.ending or (-math.inf, math.inf), "a step that ends an episode"),
    ):
        outside = chosen & ((log.reward < lo) | (log.reward > hi))
        for row in np.flatnonzero(outside)[:1].tolist():
            raise LogError(
                f"{log.where(row)}: reward {log.reward[row]:g} lies outside {lo:g} to {hi:g}, the "
                f"declared rewards of {what}. Declare a wider range."
            )


def rewards_seen(log: Episodes) -> RewardRange:
    """The rewards that occur in a log, apart for steps that ended an episode."""
    ended = _ended(log)
    on, end = log.reward[~ended], log.reward[ended]
    if len(on) == 0:
        on = end  # every episode is one step long: nothing else is known
    return RewardRange(
        continuing=(float(on.min()), float(on.max())),
        ending=(float(end.min()), float(end.max())) if len(end) else None,
        declared=False,
    )


def _ended(log: Episodes) -> Bools:
    """(N,) the steps with which an episode ended."""
    ended = np.zeros(log.n_steps, np.bool_)
    ended[log.last[log.terminated]] = True
    return ended


def scale_of(memory: Memory, rewards: RewardRange, discount: float) -> Scale:
    """What the bounds need to know of a memory: every ⟨n, z⟩ it can reach, with or without data,
    and one more outcome than observations where episodes can end."""
    O, A = memory.alphabet
    return rewards.scale(
        states=memory.count_nodes() * O,
        actions=A,
        outcomes=O + (rewards.ending is not None),
        discount=discount,
    )


def _certify(
    improvement: Improvement, counts: Counts, rewards: RewardRange, delta: float
) -> tuple[Certificate, ...]:
    mdp = improvement.mdp
    n_wedge: Any = improvement.parameters.get("n_wedge", 0)
    scale = scale_of(mdp.memory, rewards, mdp.discount)
    if improvement.changed == 0:
        return (unchanged(delta, scale.value_range),)
    kind = algorithms.algorithm(improvement.algorithm).bound_kind
    # a pair of a state that was never visited has count 0, so all states must have been seen
    complete = len(mdp) == scale.states
    smallest = int(counts.visits.min()) if complete else 0
    if kind is None and smallest == 0:
        return (
            no_guarantee(
                f"No bound is known for {improvement.algorithm}; nothing is claimed.",
                value_range=scale.value_range,
                estimated_gain=improvement.gain,
            ),
        )
    return certify(
        scale,
        n_wedge=int(n_wedge),
        delta=delta,
        gain=improvement.gain,
        kind="spibb" if kind == "spibb" else "all-known",
        smallest_count=smallest or None,
    )
