"""Certificates: what an improvement may lose, how sure that is, and whether it says anything.

A certificate states ρ(new) >= ρ(behavior) - ζ except with a chance of at most δ. It is never a
bare number: it carries how far the statement can be trusted, what it assumes, and a verdict in
words. It is *vacuous* when ζ reaches the value range hi - lo, for then it excludes nothing that
the rewards themselves do not exclude.

The formulas are in `jumar.bounds`, their derivations in docs/bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, get_args

from jumar.bounds import (
    BOUNDS,
    SUFFICIENT,
    Bound,
    Kind,
    Scale,
    bound,
    check_count,
    check_delta,
    check_finite,
)
from jumar.errors import ParameterError, not_one_of
from jumar.rewards import RewardRange
from jumar.validity import Validity

__all__ = [
    "BOUNDS",
    "Bound",
    "Certificate",
    "Kind",
    "RewardRange",
    "Scale",
    "Validity",
    "bound",
    "by_trust",
    "certify",
    "data_dependent",
    "for_estimated_behavior",
    "kept_estimate",
    "no_guarantee",
    "unchanged",
]


_READ_OFF = (
    "The reward range was only read off the log: no step can pay more or less than was seen."
)


@dataclass(frozen=True)
class Certificate:
    """What is known about ρ(new) - ρ(behavior), in numbers and in words.

    >>> tiger = RewardRange(continuing=(-1, -1), ending=(-100, 10))
    >>> scale = tiger.scale(states=6, actions=3, outcomes=3, discount=0.95)
    >>> best, *others = certify(scale, n_wedge=50, delta=0.05, gain=3.2, kind="spibb")
    >>> best.bound, best.vacuous
    ('spibb', True)
    >>> best.verdict
    'vacuous: zeta 5239.85 exceeds the value range 110, so it excludes nothing; \
N∧ would have to be 11,359,349 for a loss of at most 11'
    """

    bound: str  # short name of the bound
    title: str
    delta: float | None  # chance that the statement is wrong; None: it has no chance in it
    zeta: float  # ρ(new) >= ρ(behavior) - zeta; may be infinite
    value_range: float  # highest minus lowest return; may be infinite when unknown
    validity: Validity
    assumptions: tuple[str, ...] = ()
    estimated_gain: float | None = None  # ρ(new) - ρ(behavior) in the estimated model
    n_wedge: int | None = None  # visits the bound was read at
    n_needed_for_tenth: int | None = None  # visits for zeta = value_range/10 at no estimated gain
    reason: str = ""  # the claim, where it is not one of loss and chance

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", check_delta(self.delta))
        if math.isnan(self.zeta) or not self.value_range >= 0.0:
            raise ParameterError(
                f"certificate {self.bound!r}: zeta {self.zeta} and value range "
                f"{self.value_range} must be numbers, the range not negative"
            )

    @property
    def vacuous(self) -> bool:
        """True when zeta excludes nothing that the rewards do not already exclude."""
        # where all returns are equal, zeta 0 is as much as can be said
        return self.zeta >= self.value_range and self.zeta > 0.0

    @property
    def claim(self) -> str:
        """The statement as one sentence, with its probability."""
        if self.reason:
            return self.reason
        if math.isinf(self.zeta):
            return "Nothing is claimed: any loss is left possible."
        if self.zeta > 0.0:
            event = f"falls more than {_number(self.zeta)} short of the behavior's"
        elif self.zeta == 0.0:
            event = "is lower than the behavior's"
        else:
            event = f"is not at least {_number(-self.zeta)} above the behavior's"
        odds = "nil" if self.delta is None else f"at most {100 * self.delta:.6g} %"
        return f"The chance that the new controller's expected return {event} is {odds}."

    @property
    def verdict(self) -> str:
        """Whether the claim is worth anything, in words."""
        if self.vacuous:
            size = (
                "zeta is infinite"
                if math.isinf(self.zeta)
                else f"zeta {_number(self.zeta)} "
                f"{'exceeds' if self.zeta > self.value_range else 'equals'} "
                f"the value range {_number(self.value_range)}"
            )
            return f"vacuous: {size}, so it excludes nothing{self._remedy()}"
        if self.zeta <= 0.0:
            return {
                Validity.PROVED: "proved not worse",
                Validity.PROVED_IF_SUFFICIENT: "proved not worse, given finite-history sufficiency",
            }.get(self.validity, f"not worse, but this is only {self.validity}")
        share = 100.0 * self.zeta / self.value_range
        return (
            f"informative: excludes a loss above {_number(self.zeta)}, {share:.3g} % of the "
            f"value range {_number(self.value_range)} ({self.validity})"
        )

    def _remedy(self) -> str:
        if self.n_needed_for_tenth is None:
            return ""
        tenth = _number(self.value_range / 10.0)
        needed = _count(self.n_needed_for_tenth)
        if self.bound == "plug-in":
            return (
                f"; every pair would have to be seen {needed} times for a loss of at most {tenth}"
            )
        return f"; N∧ would have to be {needed} for a loss of at most {tenth}"

    def __str__(self) -> str:
        numbers = [f"zeta {_number(self.zeta)}", f"value range {_number(self.value_range)}"]
        if self.estimated_gain is not None:
            numbers.append(f"estimated gain {_number(self.estimated_gain)}")
        if self.n_wedge is not None:
            numbers.append(f"{'N' if self.bound == 'plug-in' else 'N∧'} {_count(self.n_wedge)}")
        if self.delta is not None:
            numbers.append(f"delta {self.delta:g}")
        lines = [
            f"{self.title} ({self.bound})",
            f"  claim     {self.claim}",
            f"  verdict   {self.verdict}",
            f"  validity  {self.validity}: {self.validity.meaning}",
            f"  numbers   {', '.join(numbers)}",
        ]
        labels = ["  assumes   "] + ["            "] * len(self.assumptions)
        lines += [label + text for label, text in zip(labels, self.assumptions, strict=False)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; an infinite number becomes None, and the verdict says so in words.

        >>> no_guarantee("Pairs that were never seen may be chosen.").to_dict()["zeta"] is None
        True
        """

        def plain(number: float | None) -> float | None:
            return number if number is not None and math.isfinite(number) else None

        return {
            "bound": self.bound,
            "title": self.title,
            "claim": self.claim,
            "verdict": self.verdict,
            "vacuous": self.vacuous,
            "validity": self.validity.value,
            "validity_meaning": self.validity.meaning,
            "assumptions": list(self.assumptions),
            "delta": self.delta,
            "zeta": plain(self.zeta),
            "value_range": plain(self.value_range),
            "estimated_gain": plain(self.estimated_gain),
            "n_wedge": self.n_wedge,
            "n_needed_for_tenth": self.n_needed_for_tenth,
        }


def _number(x: float) -> str:
    return "infinite" if math.isinf(x) else f"{x:.6g}"


def _count(n: int) -> str:
    return f"{n:,}" if n < 10**15 else f"{n:.3g}"


def certify(
    scale: Scale,
    *,
    n_wedge: int,
    delta: float,
    gain: float,
    kind: Kind,
    smallest_count: int | None = None,
) -> tuple[Certificate, ...]:
    """Every bound that applies, the most trustworthy first, then the smallest zeta.

    `kind` says how the controller was made: "spibb" (several steps, unknown pairs keep the
    behavior), "one-step" (one improvement against the behavior's first-visit returns) or
    "all-known" (any policy computed from the estimated model). `gain` is ρ(new) - ρ(behavior) in
    that model. `smallest_count` is the smallest count over *all* reachable history states and
    actions; from 1 on, the plug-in bound applies too, whatever the kind, and is read at the power
    of two below it, at the price of looking (`peeled`).

    >>> scale = Scale(states=6, actions=3, outcomes=3, discount=0.95, v_max=100, value_range=110)
    >>> (one,) = certify(scale, n_wedge=3_000_000, delta=0.05, gain=0.0, kind="one-step")
    >>> one.claim
    "The chance that the new controller's expected return falls more than 8.37727 short of the \
behavior's is at most 5 %."
    """
    n_wedge = check_count("n_wedge", n_wedge, 0, "pass the count above which a pair is known")
    delta = check_delta(delta)
    gain = check_finite("gain", gain, "pass the estimated gain, or 0")
    if kind not in get_args(Kind):
        raise ParameterError(not_one_of("kind", kind, get_args(Kind)))
    if smallest_count is not None:
        smallest_count = check_count("smallest_count", smallest_count, 0, "pass a count, or None")

    readings = [(b, n_wedge, delta) for b in BOUNDS.values() if b.applies_to == kind != "all-known"]
    if smallest_count:
        n, share = peeled(smallest_count, delta)
        readings += [(b, n, share) for b in BOUNDS.values() if b.applies_to == "all-known"]
    if not readings:
        reason = "Nothing is claimed: some history state and action may never have been seen."
        return (no_guarantee(reason, value_range=scale.value_range, estimated_gain=gain),)
    return by_trust([_certificate(b, scale, n, delta, share, gain) for b, n, share in readings])


def by_trust(certificates: Iterable[Certificate]) -> tuple[Certificate, ...]:
    """Those that say something first, then the most trustworthy, then the smallest zeta."""
    return tuple(sorted(certificates, key=lambda c: (c.vacuous, -c.validity.strength, c.zeta)))


def peeled(count: int, delta: float) -> tuple[int, float]:
    """A count read off the log as a power of two N = 2^j <= count, and the share of δ it may use.

    A bound for a fixed N does not hold for the N that the log suggests. The bounds for all powers
    of two hold together when the j-th uses δ/((j+1)(j+2)), for these shares sum to δ; so any of
    them may be chosen after looking.

    >>> n, share = peeled(705, 0.05)
    >>> n, round(0.05 / share)
    (512, 110)
    """
    j = count.bit_length() - 1
    return 2**j, delta / ((j + 1) * (j + 2))


def _certificate(
    b: Bound, scale: Scale, n: int, delta: float, share: float, gain: float
) -> Certificate:
    tenth = scale.value_range / 10.0
    return Certificate(
        bound=b.name,
        title=b.title,
        delta=delta,
        zeta=b.zeta(scale, n, share, gain),
        value_range=scale.value_range,
        validity=b.validity,
        assumptions=b.assumptions if scale.declared else (*b.assumptions, _READ_OFF),
        estimated_gain=gain,
        n_wedge=n,
        n_needed_for_tenth=b.n_needed(scale, tenth, share),
    )


def data_dependent(
    least_gain: float,
    scale: Scale,
    *,
    delta: float,
    gain: float,
    strict: bool = False,
    unfinished: int = 0,
) -> Certificate:
    """The certificate of a gain that the log proves with all its counts and returns, not only
    with the smallest count (`jumar.robust.worst_gain`).

    `strict` says that the controller was made so that no history state can lose; `unfinished` is
    the number of steps whose outcome the log does not tell.

    >>> tiger = RewardRange(continuing=(-1, -1), ending=(-100, 10))
    >>> scale = tiger.scale(states=6, actions=3, outcomes=3, discount=0.95)
    >>> data_dependent(2.5, scale, delta=0.05, gain=3.0).claim
    "The chance that the new controller's expected return is not at least 2.5 above the \
behavior's is at most 5 %."
    """
    assumptions = [SUFFICIENT, _EPISODES]
    if unfinished:
        assumptions.append(_STOPPED)
    if not scale.declared:
        assumptions.append(_READ_OFF)
    return Certificate(
        bound="strict" if strict else "data-dependent",
        title="Strict one-step improvement" if strict else "Every return and outcome at its worst",
        delta=delta,
        zeta=-least_gain + 0.0,  # no minus zero
        value_range=scale.value_range,
        validity=Validity.PROVED_IF_SUFFICIENT,
        assumptions=tuple(assumptions),
        estimated_gain=gain,
    )


_EPISODES = (
    "Episodes are independent runs of the behavior, each from its beginning; when a recording was "
    "cut off, nothing was known then of what would come."
)
_STOPPED = (
    "Where the log does not tell what followed a step, the recording did not stop because of it."
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
            assumptions=(*c.assumptions, NOT_CONFOUNDED),
            n_needed_for_tenth=None,
        )
        for c in certificates
    )


def kept_estimate(certificate: Certificate) -> Certificate:
    """The certificate of changing nothing where the behavior itself was only estimated: going on
    as before loses nothing, but the controller in hand is a copy that may differ from it."""
    return replace(
        certificate,
        validity=Validity.CLAIMED,
        assumptions=(*certificate.assumptions, NOT_CONFOUNDED),
        reason=(
            f"{certificate.reason} Go on as you do: the controller handed over is only a copy of "
            "that, estimated from the log."
        ),
    )


NOT_CONFOUNDED = (
    "The behavior was estimated from the log, as the share of each action in each history state: "
    "what was done depended on nothing but what the log shows."
)


def unchanged(delta: float, value_range: float, *, n_wedge: int | None = None) -> Certificate:
    """The certificate of a controller that is the behavior itself.

    >>> unchanged(delta=0.05, value_range=110).verdict
    'proved not worse'
    """
    return Certificate(
        bound="unchanged",
        title="Nothing was changed",
        delta=delta,
        zeta=0.0,
        value_range=value_range,
        validity=Validity.PROVED,
        estimated_gain=0.0,
        n_wedge=n_wedge,
        reason="The controller is the behavior itself, so nothing can be lost.",
    )


def no_guarantee(
    reason: str,
    *,
    value_range: float = math.inf,
    estimated_gain: float | None = None,
    n_wedge: int | None = None,
) -> Certificate:
    """The certificate of an algorithm that promises nothing, and why.

    Its validity is the weakest class: it claims nothing that could be proved.

    >>> no_guarantee("Basic RL may choose what was never seen.", value_range=110).verdict
    'vacuous: zeta is infinite, so it excludes nothing'
    """
    return Certificate(
        bound="none",
        title="No guarantee",
        delta=None,
        zeta=math.inf,
        value_range=value_range,
        validity=Validity.NOTHING,
        estimated_gain=estimated_gain,
        n_wedge=n_wedge,
        reason=reason,
    )
