"""RaMDP (Petrik, Ghavamzadeh, Chow 2016): every step costs more the less it was tried.

The greedy policy of the estimated model with rewards

    R̃(h, a) - κ · (hi - lo) / √n(h, a),

[lo, hi] being the range of the returns. So κ is a number without a unit: the same policy comes out
whatever rewards are counted in, and adding the same to every reward changes nothing where episodes
do not end. (As published, κ is in units of reward: 0.003 means little where rewards are ±100.) An
error of κ/√n in a law of outcomes moves a value by at most that share of the range, which is what
the penalty stands for; κ = √(ln(2XA/δ)/2) is MBIE (`mbie`).

An action that was never tried is never chosen; where nothing was tried the behavior stays, and is
worth the least that the rewards allow. There is no bound for what it returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from jumar.algorithms.entry import Algorithm, Grid, Look, Looks, Words, check_amount
from jumar.evidence.rewards import RewardRange, rewards_in
from jumar.policy.controller import Controller
from jumar.solve.nouns import GREEDY, Admitted, Improvement
from jumar.solve.solver import improvement, solve
from jumar.tally.history import HistoryMdp

TRIED = 0.0  # a threshold: seen at all
KAPPA = 0.05  # on random MDPs safer than the published 0.003 (of returns in [0, 1]), and better


def improve(
    mdp: HistoryMdp,
    behavior: Controller,
    *,
    kappa: float = KAPPA,
    rewards: RewardRange | None = None,
) -> Improvement:
    """The greedy policy of the model with a penalty for what was tried seldom; not safe. `kappa` is
    that of an action that was tried once, as a share of the range of the returns, and `rewards`
    what a step can pay: without it, what the model shows."""
    penalty = check_amount("kappa", kappa, "0 is Basic RL, 0.01 a light penalty.")
    return penalised(mdp, behavior, penalty, rewards, "ramdp", {"kappa": kappa})


def penalised(
    mdp: HistoryMdp,
    behavior: Controller,
    kappa: float,
    rewards: RewardRange | None,
    algorithm: str,
    parameters: Mapping[str, object],
) -> Improvement:
    """The greedy policy with a penalty of so many ranges of the returns per root of a visit."""
    low, high = (rewards or rewards_in(mdp)).returns(mdp.discount)
    penalty = kappa * (high - low) / np.sqrt(np.maximum(mdp.visits, 1.0))
    careful = replace(mdp, reward=mdp.reward - penalty)
    found = solve(careful, mdp.policy_of(behavior), Admitted(GREEDY, TRIED, low))
    return improvement(mdp, behavior, found.policy, algorithm=algorithm, parameters=parameters)


ENTRY = Algorithm(
    name="ramdp",
    summary="the greedy policy of the model, with a penalty for what was tried seldom; not safe",
    improve=improve,
    needs={"rewards": lambda material: material.rewards},
    grids={"family": Grid(tuple((("kappa", k),) for k in (0.003, 0.05, 0.3)))},
    words=Words(
        setting=lambda p: f"κ = {p['kappa']:g}",
        does=lambda p: f"charges {p['kappa']:g} of the range of returns for what was tried once",
    ),
    looks=Looks(curve=lambda p: Look(f"RaMDP (κ = {p['kappa']:g})", "#8a6d3b", "X", minor=True)),
)
