"""The least and the greatest return that is possible from every step of an episode on.

Bets need them: nothing can be lost below the least, and the behavior cannot have earned more than
the greatest. With ``lo`` and ``hi`` the least and greatest reward of a step that goes on, and
``lo†``, ``hi†`` those of a step that ends the episode, low[t] is the least of

    lo†                        it ends with this step (if episodes can end)
    lo + γ·low[t+1]            it goes on
    lo                         the recording stops after this step

and high[t] the same with the greatest. Three kinds of logs differ in what can happen when:

- *ended*: all episodes end by themselves. Nothing depends on t, and γ < 1 bounds the rest.
- *to the step T*: recordings that do not end before stop after exactly T steps. low[T] = 0.
- *stopped*: recordings stop after any number of steps. Nothing depends on t.

Rewards that were only read off the log make the limits an assumption. So does a common length of
episodes that end by themselves, which is used only where the rewards were read off the log too:
where they were declared, the limits hold whatever the log did not show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.algorithms.auto.facts import LogFacts, facts_of
from jumar.core.arrays import Floats, Frozen, freeze
from jumar.core.episodes import Episodes
from jumar.evidence.bounds import check_count
from jumar.evidence.rewards import RewardRange

MOST_STEPS = 100_000  # a longer horizon narrows nothing that matters: limits without one hold too


@dataclass(frozen=True, eq=False)
class Limits(Frozen):
    """What an episode can still be worth. With T = 0 nothing depends on the step."""

    low: Floats  # (T+1,) from step t on; later steps are like the last
    high: Floats  # (T+1,)
    rewards: RewardRange  # declared, or read off the log
    steps: int | None  # T, where recordings stop after T steps at the latest
    declared_steps: bool = False  # T was declared, not read off the log
    fixed: bool = False  # every episode has exactly T steps
    reached: bool = False  # recordings that do not end stop after T steps, never before

    def __post_init__(self) -> None:
        for field in ("low", "high"):
            object.__setattr__(self, field, freeze(getattr(self, field), np.float64))

    @property
    def range(self) -> float:
        """R: how far two returns can lie apart."""
        return float(self.high[0] - self.low[0])


def limits_of(
    log: Episodes | LogFacts,
    discount: float,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
) -> Limits:
    """The limits that the declared rewards and the declared longest episode set, or what the log
    shows of them.

    >>> log = Episodes(("z",), ("a",), [0, 0, 0], [0, 0, 0], [-1, 4, 10], [0, 2, 3], [-1, -1],
    ...                [True, True])
    >>> found = limits_of(log, 0.5)
    >>> found.low.tolist(), found.high.tolist()  # steps pay -1, an end 4 to 10
    ([-2.0], [10.0])
    >>> limits_of(log, 0.5, horizon=2).low.tolist()  # -1 and then 4/2
    [1.0, 4.0, 0.0]
    """
    if horizon is not None:
        horizon = check_count("horizon", horizon, 1, "pass the most steps of an episode")
    facts = facts_of(log, horizon) if isinstance(log, Episodes) else log
    if horizon is not None:
        facts.check_horizon(horizon)
    seen = rewards or facts.rewards
    steps = horizon or _last_step(facts, seen)
    if steps is None or (horizon is not None and horizon > MOST_STEPS):
        return _at_any_time(facts, discount, seen)
    fixed = horizon is None and facts.common_length is not None and not seen.declared
    stops_early = facts.cut > 0 and facts.shortest_cut < steps
    (lo, hi), ending = seen.continuing, seen.ending
    low, high = np.zeros(steps + 1), np.zeros(steps + 1)
    for t in range(steps - 1, -1, -1):
        ways = [(lo + discount * low[t + 1], hi + discount * high[t + 1])]
        if ending is not None and t == steps - 1 and facts.cut == 0:
            ways = [ending]  # who has come so far ends
        elif ending is not None and (t == steps - 1 or not fixed):
            ways.append(ending)
        if stops_early:
            ways.append((lo, hi))
        low[t], high[t] = min(way[0] for way in ways), max(way[1] for way in ways)
    always = fixed or (ending is None and not stops_early)
    reached = facts.cut > 0 and not stops_early
    return Limits(low, high, seen, steps, horizon is not None, always, reached)


def _last_step(log: LogFacts, rewards: RewardRange) -> int | None:
    """T, if recordings that did not end all stopped after T steps; else None."""
    if log.cut == 0:
        fixed = not rewards.declared and log.common_length is not None
        return log.longest if fixed else None
    return log.longest if log.shortest_cut == log.longest else None


def _at_any_time(log: LogFacts, discount: float, rewards: RewardRange) -> Limits:
    low, high = rewards.returns(discount)
    if log.cut > 0:  # a recording may also stop after one step
        lo, hi = rewards.continuing
        low, high = min(low, lo), max(high, hi)
    return Limits(np.array([low]), np.array([high]), rewards, None)
