"""How much lies beyond where recordings stop?

A record of T steps that was cut off says nothing of what came later, which has γ^T of the weight
that a value for ever gives to its episode. The mean of that share over all episodes (0 for those
that ended) is the part of every value that comes from a model, or from elsewhere in the log, and
from no return that was seen. Records of 6 steps at a discount of 0.95 leave 74 % open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jumar.core.text import Detail, Facts
from jumar.evidence.checking.base import Finding, Question, Section, look, passed
from jumar.log.episodes import Episodes

MUCH = 0.05  # of the weight; more is worth a look
MOST = 0.5


@dataclass(frozen=True)
class Cuts(Section):
    """Recordings that stopped before the episode did."""

    episodes: int
    cut: int  # of them were cut off
    discount: float
    beyond: float  # share of the discounted weight that lies beyond the cuts
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        weight = f"{self.beyond:.1%} of the weight at discount {self.discount:g}"
        yield Facts([("cut off", f"{self.cut:,} of {self.episodes:,}"), ("beyond", weight)])


def cuts_of(log: Episodes, discount: float | None) -> Cuts | None:
    """What the cuts hide; None where nothing was cut off, or without a discount below 1."""
    cut = int((~log.terminated).sum())
    if cut == 0 or discount is None or discount == 1:
        return None
    beyond = log.beyond_cut(discount)
    return Cuts(len(log), cut, discount, beyond, _verdict(cut, len(log), beyond))


def _verdict(cut: int, episodes: int, beyond: float) -> Finding:
    were = "was" if cut == 1 else "were"
    much = f"{100 * beyond:.2g} %" if beyond >= 1e-4 else "less than 0.01 %"
    said = f"{cut:,} of {episodes:,} {were} cut off; {much} of what counts happens after that"
    if beyond <= MUCH:
        return passed(f"{said}.")
    if beyond <= MOST:
        return look(f"{said}. There we rely on a model.")
    return look(
        f"{said}. There we rely on a model. What pays only later does not show in "
        "such records; keep your policy unless the memory is known to suffice.",
    )


ENTRY = Question(
    "How much lies beyond where recordings stop?",
    lambda subject, rng: cuts_of(subject.log, subject.discount),
)
