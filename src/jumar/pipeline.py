"""The main job: a log and the controller that made it in, a better controller out.

log -> align names -> check that the behavior could have done it -> replay and count
    -> estimate -> improve -> certify
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jumar import algorithms
from jumar.bounds import Scale, check_delta
from jumar.certificate import (
    Certificate,
    RewardRange,
    certify,
    for_estimated_behavior,
    no_guarantee,
    unchanged,
)
from jumar.consistency import check_nodes, check_possible, check_rewards, rewards_seen
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
    log: Episodes  # with its names numbered as the controller numbers them
    rewards: RewardRange  # declared, or read off the log
    delta: float
    estimated: bool = False  # the behavior was itself estimated from the log

    @property
    def controller(self) -> Controller:
        return self.improvement.controller

    @property
    def certificate(self) -> Certificate:
        """The most trustworthy one."""
        return self.certificates[0]

    @property
    def behavior(self) -> Controller:
        return self.improvement.behavior

    def report(self, path: str | Path) -> None:
        """Write one self-contained page that explains the result to a person."""
        from jumar.report import write_report

        write_report(self, path)

    def save(self, folder: str | Path) -> list[Path]:
        """Write the controller, the certificate, the decisions, pictures, a program and the report
        into a folder; all of them, or none."""
        from jumar.outputs import save

        return save(self, folder)

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
            "behavior": "estimated from the log" if self.estimated else "given",
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
    estimated: bool = False,
    **parameters: object,
) -> Result:
    """Improve the behavior that produced a log.

    `memory` is what the new controller may remember (with what the behavior remembers); without
    it, what the behavior remembers. `rewards` declares what a step can pay, which the log must not
    contradict; without it the range seen in the log is used, and the certificate says that it
    assumes so. `estimated` says that the behavior is not known but was itself estimated from this
    log (`estimate_behavior`), which weakens every guarantee.

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
    check_nodes(log, behavior)
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
    certificates = _certify(improvement, counts, rewards, delta, estimated)
    return Result(improvement, counts, certificates, log, rewards, delta, estimated)


def _joined(behavior: Controller, memory: Memory | None) -> Memory:
    if memory is None:
        return behavior.memory
    return join(behavior.memory, memory.on(*behavior.memory.alphabet))


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
    improvement: Improvement, counts: Counts, rewards: RewardRange, delta: float, estimated: bool
) -> tuple[Certificate, ...]:
    mdp = improvement.mdp
    n_wedge: Any = improvement.parameters.get("n_wedge", 0)
    scale = scale_of(mdp.memory, rewards, mdp.discount)
    if improvement.changed == 0:
        return (unchanged(delta, scale.value_range),)  # whatever the behavior is: go on as before
    if estimated:
        return for_estimated_behavior(
            _certify(improvement, counts, rewards, delta / 2, False),
            scale=scale,
            r_max=rewards.r_max,
            episodes=int(counts.starts.sum()),
            delta=delta,
        )
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
