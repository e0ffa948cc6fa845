"""Certificates: what an improvement may lose, how sure that is, and whether it says anything.

A certificate states ρ(new) >= ρ(behavior) - ζ except with a chance of at most δ. It is never a
bare number: it carries how far the statement can be trusted, what it assumes, and a verdict in
words (`claims`). It is *vacuous* when ζ reaches the value range hi - lo, for then it excludes
nothing that the rewards themselves do not exclude.

No certificate promises more than the returns allow: an estimated gain counts only up to the most
that could be gained. A range of returns that was only read off the log lowers the class of what was
proved with it. A class in which no chance of error was shown prints none.

The formulas are in `jumar.evidence.bounds`, their derivations in the documentation (Bounds).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jumar.core.errors import ParameterError, not_one_of
from jumar.evidence.bounds import BOUNDS, STOPPED, SUFFICIENT, Kind, Scale
from jumar.evidence.claims import Certificate
from jumar.evidence.rewards import RewardRange, Starts
from jumar.evidence.validity import NOT_CONFOUNDED, Validity
from jumar.memory import Memory

OF_STARTS = 0.1  # the part of δ for the law of first observations, where a bound pays for it
_COPIED = (
    "What is compared with is a copy of what acted: estimated from the log, or mixed of several "
    "policies."
)
_EPISODES = (
    "Episodes are independent runs of your policy, each from its beginning; when a recording was "
    "cut off, nothing was known then of what would come."
)
_OF_NO_MODEL = ("unchanged", "none")
_COUNTED = "The claim is about the return up to where recordings stop."
READ_OFF = "The reward range was only read off the log: no step can pay more or less than was seen."


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


def certify(
    scale: Scale,
    *,
    n_wedge: int,
    delta: float,
    gain: float,
    kind: Kind,
    smallest_count: int | None = None,
    starts: Starts | None = None,
    most: float | None = None,
) -> tuple[Certificate, ...]:
    """Every bound that applies to a `kind` of controller, the most trustworthy first, then the
    smallest zeta.

    A pair is known above `n_wedge` visits; `gain` is ρ(new) - ρ(behavior) in the estimated model,
    of which no more is credited than the `most` that could be gained (`gains.most_gain`). Where
    *all* reachable pairs have a `smallest_count` of 1 or more, the plug-in bound applies too,
    whatever the kind. It is read at the power of two below, at the price of looking (`peeled`), and
    pays for what is not known of where episodes begin (`starts`, with the gain from there).

    >>> scale = Scale(states=6, actions=3, outcomes=3, discount=0.95, v_max=100, value_range=110)
    >>> best, *_ = certify(scale, n_wedge=10**9, delta=0.05, gain=0.0, kind="bootstrapped")
    >>> best.bound, round(best.zeta, 3)
    ('spibb', 1.172)
    """
    kinds = dict.fromkeys(b.applies_to for b in BOUNDS.values())
    if kind not in kinds:
        raise ParameterError(not_one_of("kind", kind, kinds))
    possible = scale.value_range if most is None else min(most, scale.value_range)
    found = []
    for name, b in BOUNDS.items():
        if b.applies_to == kind and not b.of_every_pair:
            n, share, credited = n_wedge, delta, gain
        elif b.of_every_pair and smallest_count and starts is not None:
            n, share = peeled(smallest_count, (1 - OF_STARTS) * delta)
            credited = starts.least(OF_STARTS * delta)
        else:
            continue
        zeta = b.zeta(scale, n, share, min(credited, possible))
        needed = b.n_needed(scale, scale.value_range / 10.0, share)
        certificate = Certificate(
            name, b.title, delta, zeta, scale.value_range, b.validity, b.assumptions, n, needed,
            most=most,
        )  # fmt: skip
        found.append(_within(scale, certificate))
    if not found:
        reason = "Nothing is claimed: some situation and action may never have been seen."
        return (no_guarantee(reason, value_range=scale.value_range),)
    return by_trust(found)


def _within(scale: Scale, certificate: Certificate) -> Certificate:
    """The same statement with what every one assumes, and with its proviso where the range of the
    returns was not declared."""
    assumptions, validity = (*certificate.assumptions, NOT_CONFOUNDED), certificate.validity
    if not scale.declared:
        assumptions, validity = (*assumptions, READ_OFF), validity.if_seen
    return replace(certificate, assumptions=assumptions, validity=validity, declared=scale.declared)


def by_trust(certificates: Iterable[Certificate]) -> tuple[Certificate, ...]:
    """Those that say something first, then the most trustworthy, then the smallest zeta."""
    return tuple(sorted(certificates, key=lambda c: (c.vacuous, -c.validity.strength, c.zeta)))


def worth_showing(certificates: Sequence[Certificate]) -> tuple[Certificate, ...]:
    """Those that a person can learn something from, in their order: the one to go by, whatever was
    tested or computed from all the data, the published bound and the paper's corollary, and of
    those that are proved the tightest one. The others say the same with other constants.

    >>> scale = Scale(states=6, actions=3, outcomes=3, discount=0.95, v_max=100, value_range=110)
    >>> found = certify(scale, n_wedge=50, delta=0.05, gain=0.0, kind="bootstrapped")
    >>> len(found), [c.bound for c in worth_showing(found)]
    (8, ['spibb', 'corollary'])
    """
    least = Validity.PROVED_IF_SUFFICIENT_AND_SEEN.strength
    formulas = [c for c in certificates if c.bound in BOUNDS]
    proved = [c for c in formulas if c.validity.strength >= least]
    tightest = min(proved, key=lambda c: c.zeta, default=None)

    def telling(certificate: Certificate) -> bool:
        entry = BOUNDS.get(certificate.bound)  # None: not a formula in counts
        return entry is None or entry.by_default or certificate is tightest

    return tuple(c for i, c in enumerate(certificates) if i == 0 or telling(c))


def peeled(count: int, delta: float) -> tuple[int, float]:
    """A count read off the log as a power of two N = 2^j <= count, and the share of δ it may use.

    A bound for a fixed N does not hold for the N that the log suggests. The bounds for all powers
    of two hold together when the j-th uses δ/((j+1)(j+2)), for these shares sum to δ; so any of
    them may be chosen after looking.
    """
    j = count.bit_length() - 1
    return 2**j, delta / ((j + 1) * (j + 2))


def data_dependent(
    least_gain: float,
    scale: Scale,
    *,
    delta: float,
    strict: bool = False,
    unfinished: int = 0,
    most: float | None = None,
) -> Certificate:
    """The certificate of a gain that the log proves with all its counts and returns, not only
    with the smallest count (`jumar.evidence.robust.worst_gain`).

    `strict` says that the controller was made so that no history state can lose; `most` is what
    could be gained at all, which a memory that does not suffice can make `least_gain` exceed.
    """
    least_gain = min(least_gain, scale.value_range, math.inf if most is None else most)
    bound = "strict" if strict else "data-dependent"
    title = "Strict one-step improvement" if strict else "Every return and outcome at its worst"
    found = promised(bound, title, -least_gain, scale, delta=delta, unfinished=unfinished)
    return replace(found, most=most)


def promised(
    bound: str, title: str, zeta: float, scale: Scale, *, delta: float, unfinished: int = 0
) -> Certificate:
    """The certificate of an algorithm with a proof of its own, under finite-history sufficiency.

    `unfinished`, where it rests on counts of steps and not on whole episodes alone, is the number
    of those whose outcome the log does not tell.
    """
    assumptions = (SUFFICIENT, _EPISODES, *((STOPPED,) if unfinished else ()))
    zeta = zeta + 0.0  # no minus zero
    claimed = Validity.PROVED_IF_SUFFICIENT
    return _within(
        scale, Certificate(bound, title, delta, zeta, scale.value_range, claimed, assumptions)
    )


def for_estimated_behavior(
    certificates: tuple[Certificate, ...],
    *,
    scale: Scale,
    r_max: float,
    episodes: int,
    delta: float,
) -> tuple[Certificate, ...]:
    """The same statements where the behavior itself was estimated from the log.

    Comparing with an estimate costs 2 R_max/(1-γ) · sqrt((3XA + 4 ln(1/δ))/(2m)) more, m being the
    number of episodes (Simão, Laroche, Tachet des Combes 2020). `certificates` were computed at
    δ/2 and this term takes the other half. The proof of the term was not checked, so no
    statement keeps a better class than `claimed`.
    """
    share = delta / 2
    pairs = scale.states * scale.actions
    spread = math.sqrt((3 * pairs + 4 * math.log(1 / share)) / (2 * episodes))
    extra = 2 * r_max / (1 - scale.discount) * spread
    return tuple(
        replace(
            c,
            delta=delta if c.delta is not None else None,
            zeta=c.zeta + extra,
            validity=min(c.validity, Validity.CLAIMED, key=lambda v: v.strength),
            assumptions=(*c.assumptions, _COPIED),
            n_needed_for_tenth=None,
        )
        for c in certificates
    )


def up_to_the_cut(
    certificates: tuple[Certificate, ...], *, discount: float, shortest: int, longest: int | None
) -> tuple[Certificate, ...]:
    """The same statements of the return up to where recordings stop, as the log counts it.

    A bound of values of a process that goes on for ever says less of that: of two policies, what
    comes after the cuts differs by no more than γ^T times the value range, T being the steps of the
    `shortest` recording that was cut off. `longest` is that of all, where no episode ended.
    """
    beyond = discount**shortest
    within = 1.0 if longest is None else 1 - discount**longest

    def counted(c: Certificate) -> Certificate:
        if c.bound in _OF_NO_MODEL:
            return replace(c, value_range=min(c.value_range, within * c.value_range))
        return replace(
            c,
            zeta=c.zeta + beyond * c.value_range,
            value_range=within * c.value_range,
            assumptions=tuple(dict.fromkeys((*c.assumptions, STOPPED, _COUNTED))),
        )

    return tuple(map(counted, certificates))


def kept_estimate(certificate: Certificate, mixed: bool = False) -> Certificate:
    """The certificate of changing nothing where the behavior is not one controller that is known:
    going on as before loses nothing, but the controller in hand is a copy that may differ from it,
    estimated from the log, or `mixed` of several."""
    made = "mixed of those that made the log" if mixed else "estimated from the log"
    go_on = f"Go on as you do: what is handed over is only a copy of that, {made}."
    return replace(
        certificate,
        validity=Validity.CLAIMED,
        assumptions=(*certificate.assumptions, NOT_CONFOUNDED),
        reason=f"{certificate.reason} {go_on}",
    )


def unchanged(delta: float, value_range: float) -> Certificate:
    """The certificate of a controller that is the behavior itself."""
    return Certificate(
        "unchanged", "Nothing was changed", delta, 0.0, value_range, Validity.PROVED,
        reason="Nothing changes, so nothing can be lost.", about="every episode",
    )  # fmt: skip


def no_guarantee(reason: str, *, value_range: float) -> Certificate:
    """The certificate of what promises nothing, and why."""
    return Certificate(
        "none", "No certificate", None, math.inf, value_range, Validity.NOTHING,
        reason=reason, about="nothing",
    )  # fmt: skip
