"""MBIE with a penalty in place of a bonus (after Strehl and Littman 2008): RaMDP by Hoeffding.

What a step of a pair pays, its reward and the discounted value of where it leads, lies in a range
as wide as that of the returns. So for values that are fixed beforehand, the mean of n steps is off
by no more than (hi-lo) √(ln(2XA/δ)/(2n)), for all pairs together with probability 1-δ. MBIE-EB
adds this to every reward, to explore; here it is taken off: `ramdp` with κ = √(ln(2XA/δ)/2).

The value of the best policy is then not overestimated. That of the policy that is returned may be:
it was chosen by the same data. `robust` has a bound that holds for it.
"""

from __future__ import annotations

import math

from jumar.algorithms.entry import Algorithm, Grid, Look, Looks
from jumar.algorithms.ramdp import penalised
from jumar.evidence.bounds import check_delta
from jumar.evidence.rewards import RewardRange
from jumar.policy.controller import Controller
from jumar.solve.nouns import Improvement
from jumar.tally.history import HistoryMdp


def improve(
    mdp: HistoryMdp,
    behavior: Controller,
    *,
    rewards: RewardRange | None = None,
    delta: float = 0.05,
) -> Improvement:
    """The greedy policy of the model with what Hoeffding's inequality allows taken off."""
    return penalised(mdp, behavior, kappa_of(mdp, delta), rewards, "mbie", {})


def kappa_of(mdp: HistoryMdp, delta: float) -> float:
    """√(ln(2XA/δ)/2): the penalty in ranges of the returns per root of a visit."""
    O, A = mdp.memory.alphabet
    pairs = mdp.memory.count_nodes() * O * A
    return math.sqrt((math.log(2) + math.log(pairs) - math.log(check_delta(delta))) / 2)


ENTRY = Algorithm(
    name="mbie",
    summary="the greedy policy of the model, with what Hoeffding allows taken off; not safe",
    improve=improve,
    needs={"rewards": lambda material: material.rewards, "delta": lambda material: material.delta},
    grids={"family": Grid()},
    looks=Looks(curve=lambda _: Look("MBIE", "#b07aa1", "<", minor=True)),
)
