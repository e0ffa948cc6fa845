"""Certificate: what is known about an improvement, in numbers and in words.

The functions that make certificates are in `evidence.certificate`. Whoever makes one, `Certificate`
checks it: no class of trust may promise a gain that no return allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jumar.core.errors import ImpossibleClaim, ParameterError
from jumar.core.plain import picked
from jumar.core.text import Shown, printable
from jumar.evidence.bounds import BOUNDS, check_delta
from jumar.evidence.validity import Validity

AS_SEEN = (
    "provided that no return lies outside what the log shows: neither a loss nor a gain that it "
    "does not happen to contain"
)
MOST_VISITS = 10**9  # a remedy that asks for more is none
AVERAGE = "the average over the log"
NOT_ODDS = "the level it was computed at; not a chance of error, for none was shown to hold"
_IF_SEEN = "if no return lies outside what the log shows"
_NOT_WORSE = {
    Validity.PROVED: "proved not worse",
    Validity.PROVED_IF_SEEN: f"proved not worse, {_IF_SEEN}",
    Validity.PROVED_IF_SUFFICIENT: "proved not worse, given finite-history sufficiency",
    Validity.PROVED_IF_SUFFICIENT_AND_SEEN: (
        f"proved not worse, given finite-history sufficiency and {_IF_SEEN}"
    ),
}
_SAID = {
    Validity.PUBLISHED: "A published theorem, not checked again, says that",
    Validity.ASYMPTOTIC: "With enough data it becomes true that",
}


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """What is known about ρ(new) - ρ(behavior), in numbers and in words.

    >>> found = Certificate("mine", "My bound", 0.05, 8.0, 110.0, Validity.PROVED)
    >>> found.claim
    "The chance that the new policy's expected return falls more than 8 short of the \
old policy's is at most 5 %."
    >>> found.verdict
    'informative: excludes a loss above 8, 7.27 % of the value range 110 (proved)'
    """

    bound: str  # short name of the bound
    title: str
    delta: float | None  # level it was computed at; a chance of error only where `odds` says so
    zeta: float  # ρ(new) >= ρ(behavior) - zeta; may be infinite
    value_range: float  # highest minus lowest return; may be infinite when unknown
    validity: Validity
    assumptions: tuple[str, ...] = ()
    n_wedge: int | None = None  # visits the bound was read at
    n_needed_for_tenth: int | None = None  # visits for zeta = value_range/10 at no estimated gain
    reason: str = ""  # the claim, where it is not one of loss and chance
    most: float | None = None  # the most that could be gained: see `rewards.most_gain`
    declared: bool = True  # False: the range of the returns was only read off the log
    signal: str = ""  # what returns are counted in, where a log has several signals
    about: str = AVERAGE  # of what it speaks: of the log as a whole, or of what comes next

    @property
    def summary(self) -> str:
        of = f" of {printable(self.signal)}" if self.signal else ""
        size = "" if self.vacuous else f", ζ = {_number(self.zeta)}"
        return f"{self.bound}{of}{size}, {self.validity}; {self.verdict}"

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", check_delta(self.delta))
        if math.isnan(self.zeta) or not self.value_range >= 0.0:
            raise ParameterError(
                f"certificate {self.bound!r}: zeta {self.zeta} and value range "
                f"{self.value_range} must be numbers, the range not negative"
            )
        most = self.value_range if self.most is None else min(self.value_range, self.most)
        slack = 1e-9 * max(1.0, self.value_range) if math.isfinite(self.value_range) else 0.0
        if -self.zeta > most + slack:
            raise ImpossibleClaim(
                f"certificate {self.bound!r}: it claims a gain of {_number(-self.zeta)}, but the "
                f"returns allow no more than {_number(most)}. This is an error in jumar, "
                "not in your data: please report it, and do not use the result."
            )

    @property
    def odds(self) -> float | None:
        """The chance that the statement is wrong is at most this; None: none was proved."""
        return self.delta if self.validity.proved else None

    @property
    def vacuous(self) -> bool:
        """True when zeta excludes nothing that the rewards do not already exclude."""
        # where all returns are equal, zeta 0 is as much as can be said
        return self.zeta >= self.value_range and self.zeta > 0.0

    @property
    def claim(self) -> str:
        """The statement as one sentence, with its probability where one was shown to hold."""
        if self.reason:
            return self.reason
        if math.isinf(self.zeta) or self.vacuous:
            return "Nothing is claimed: any loss is left possible."
        size = _number(abs(self.zeta))
        if self.zeta > 0.0:
            holds, fails = f"falls at most {size} short of", f"falls more than {size} short of"
        elif self.zeta == 0.0:
            holds, fails = "is no lower than", "is lower than"
        else:
            holds, fails = f"is at least {size} above", f"is not at least {size} above"
        what, proviso = "the new policy's expected return", "" if self.declared else f", {AS_SEEN}"
        if not self.validity.proved:
            if self.zeta < 0.0:  # nobody has shown how much is gained at the least
                holds = "is above"
            return (
                f"{_SAID.get(self.validity, 'It is only claimed that')} {what} {holds} the "
                f"old policy's{proviso}; how likely this is wrong is not known."
            )
        odds = "nil" if self.delta is None else f"at most {100 * self.delta:.6g} %"
        return f"The chance that {what} {fails} the old policy's is {odds}{proviso}."

    @property
    def verdict(self) -> str:
        """Whether the claim is worth anything, in words."""
        if self.vacuous:
            return f"vacuous: it excludes nothing that rewards leave possible{self._remedy()}"
        if self.zeta <= 0.0:
            return _NOT_WORSE.get(self.validity, f"not worse, but this is only {self.validity}")
        share = 100.0 * self.zeta / self.value_range
        return (
            f"informative: excludes a loss above {_number(self.zeta)}, {share:.3g} % of the "
            f"value range {_number(self.value_range)} ({self.validity})"
        )

    def _remedy(self) -> str:
        if self.n_needed_for_tenth is None or self.n_needed_for_tenth > MOST_VISITS:
            return ""
        tenth = _number(self.value_range / 10.0)
        needed = _count(self.n_needed_for_tenth)
        every = f"every pair would have to be seen {needed} times"
        what = every if self._of_every_pair else f"N∧ would have to be {needed}"
        return f"; {what} for a loss of at most {tenth}"

    @property
    def _of_every_pair(self) -> bool:
        """Was the bound read at a count that every pair has, and not at N∧?"""
        entry = BOUNDS.get(self.bound)
        return entry is not None and entry.of_every_pair

    def __str__(self) -> str:
        numbers = [f"zeta {_number(self.zeta)}"] if not self.vacuous else []
        numbers.append(f"value range {_number(self.value_range)}")
        if self.n_wedge is not None:
            numbers.append(f"{'N' if self._of_every_pair else 'N∧'} {_count(self.n_wedge)}")
        if self.odds is not None:
            numbers.append(f"delta {self.odds:g}")
        of = f", signal {printable(self.signal)!r}" if self.signal else ""
        lines = [
            f"{self.title} ({self.bound}{of})",
            f"  claim     {self.claim}",
            *([f"  about     {self.about}"] if self.validity is not Validity.NOTHING else []),
            f"  verdict   {self.verdict}",
            f"  validity  {self.validity}: {self.validity.meaning}",
            f"  numbers   {', '.join(numbers)}",
        ]
        if self.assumptions:
            lines.append("  assumes   " + "\n            ".join(self.assumptions))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; a ζ that excludes nothing becomes None, and the verdict says so.

        `odds` is the chance of error; it is None where none was shown to hold, and `delta` is then
        only the level that went into the formula, as `delta_meaning` says.
        """
        meaning = "none" if self.delta is None else NOT_ODDS
        return {
            "signal": self.signal or None,
            **picked(self, "bound title claim about verdict vacuous"),
            "validity": self.validity.value,
            "validity_meaning": self.validity.meaning,
            "assumptions": list(self.assumptions),
            "range_declared": self.declared,
            "odds": self.odds,
            "delta": self.delta,
            "delta_meaning": meaning if self.odds is None else "the chance of error, at most",
            "zeta": None if self.vacuous else self.zeta,
            **picked(self, "value_range most n_wedge"),
            "n_needed_for_tenth": self.n_needed_for_tenth if self._remedy() else None,
        }


def _number(x: float) -> str:
    return "infinite" if math.isinf(x) else f"{x:.6g}"


def _count(n: int) -> str:
    return f"{n:,}" if n < 10**15 else f"{n:.3g}"
