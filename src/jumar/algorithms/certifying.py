"""The certificates of an improvement: what its own algorithm promises, and what holds for any."""

from __future__ import annotations

from dataclasses import replace

from jumar.algorithms import ALGORITHMS
from jumar.algorithms.problem import Material
from jumar.evidence.certificate import (
    by_trust,
    certify,
    data_dependent,
    for_estimated_behavior,
    scale_of,
    unchanged,
)
from jumar.evidence.claims import Certificate
from jumar.evidence.rewards import RewardRange, starts_of
from jumar.evidence.robust import worst_gain
from jumar.solve.nouns import Improvement
from jumar.tally.history import Counts


def certificates_of(
    improvement: Improvement, material: Material, *, delta: float, copied: bool, most: float
) -> tuple[Certificate, ...]:
    """All that can be said, the one to go by first. `material` is the log over the memory of the
    new controller; `most` could be gained at all. Where what is compared with is only a copy of
    what acted (`copied`), half of δ is for that."""
    mdp, counts, rewards = improvement.mdp, material.counts, material.rewards
    scale = scale_of(mdp.memory, rewards, mdp.discount)
    if improvement.changed == 0:
        return (unchanged(delta, scale.value_range),)  # whatever the behavior is: go on as before
    if copied:
        return for_estimated_behavior(
            certificates_of(improvement, material, delta=delta / 2, copied=False, most=most),
            scale=scale,
            r_max=rewards.r_max,
            episodes=int(counts.starts.sum()),
            delta=delta,
        )
    published = published_of(improvement, counts, rewards, delta=delta, most=most)
    if material.held is None:  # the others take every episode
        return by_trust([*published]) if published else ()
    entry = ALGORITHMS.get(improvement.algorithm)
    least_gain = worst_gain(
        improvement,
        material.returns,
        delta=delta - material.returns.delta,
        episodes=int(counts.starts.sum()),
        rows=scale.states * scale.actions,
        outcomes=scale.outcomes,
        can_end=rewards.ending is not None,
    )
    from_data = data_dependent(
        least_gain,
        scale,
        delta=delta,
        strict=entry is not None and entry.loses_nowhere,
        unfinished=counts.unfinished,
        most=most,
    )
    own = entry.promise(improvement, material, delta) if entry and entry.promise else None
    found = [from_data, *published]
    if own is not None:  # a memory that does not suffice can make it claim what nobody could gain
        found.append(replace(own, zeta=max(own.zeta, -most), most=most))
    return by_trust(found)


def published_of(
    improvement: Improvement, counts: Counts, rewards: RewardRange, *, delta: float, most: float
) -> tuple[Certificate, ...]:
    """What the published bounds say: they take no more than counts. None where no bound applies."""
    mdp = improvement.mdp
    scale = scale_of(mdp.memory, rewards, mdp.discount)
    entry = ALGORITHMS.get(improvement.algorithm)
    kind = entry.bound_kind if entry else None
    known = entry.trusted(improvement.parameters) if entry else None
    # a pair of a state that was never visited has count 0, so all states must have been seen
    smallest = int(counts.visits.min()) if len(mdp) == scale.states else 0
    if kind is None and smallest == 0:
        return ()
    gain = improvement.values - improvement.behavior_values
    return certify(
        scale,
        n_wedge=int(known or 0),
        delta=delta,
        gain=improvement.gain,
        kind=kind or "all-known",
        smallest_count=smallest or None,
        starts=starts_of(counts, gain) if smallest else None,
        most=most,
    )
