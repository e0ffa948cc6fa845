"""The least and the greatest return that is possible from every step of an episode on.

Bets need them: nothing can be lost below the least, and the behavior cannot have earned more than
the greatest. With ``lo`` and ``hi`` the least and greatest reward of a step that goes on, and
``lo†``, ``hi†`` those of a step that ends the episode, low[t] is the least of

    lo†                        it ends with this step (if episodes can end)
    lo + γ·low[t+1]            it goes on
    lo                         the recording stops after this step

and high[t] the same with the greatest; low[T] = high[T] = 0 if no episode has more than T steps.
Without a T nothing depends on t, and γ < 1 bounds the rest.

Where rewards and horizon T are declared, the limits follow from these alone: that a log shows no
ending, no time-out or no early stop is no evidence that there is none. What was not declared is
read off the log and is an assumption, which is told and lowers the class of the claim:

- *rewards*: what steps pay in the log (`Limits.rewards`);
- *one length*, where the rewards are read off, too: every episode has T steps (`Limits.fixed`).
  Then nothing ends or stops before T; and everything ends then, if all in the log does;
- *to the step T*: no recording has more than T steps, where all that did not end stopped after T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Frozen, freeze
from jumar.evidence.bounds import check_count
from jumar.evidence.offpolicy.ranges import return_ranges
from jumar.evidence.rewards import RewardRange
from jumar.gate.dealing import LogFacts, facts_of
from jumar.log.episodes import Episodes

MOST_STEPS = 100_000  # a longer horizon narrows nothing that matters: limits without one hold too


@dataclass(frozen=True, eq=False)
class Limits(Frozen):
    """What an episode can still be worth. With T = 0 nothing depends on the step."""

    low: Floats  # (T+1,) from step t on; later steps are like the last
    high: Floats  # (T+1,)
    rewards: RewardRange  # declared, or read off the log
    steps: int | None  # T
    declared_steps: bool = False  # T was declared, not read off the log
    fixed: bool = False  # every episode has exactly T steps: read off the log, never declared
    # the least and greatest return of episodes no longer than those of the log: it says what an
    # estimate from this log can be, and nothing that is proved
    logged: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        for field in ("low", "high"):
            object.__setattr__(self, field, freeze(getattr(self, field), np.float64))

    @property
    def range(self) -> float:
        """R: how far two returns can lie apart."""
        return float(self.high[0] - self.low[0])

    @property
    def shown(self) -> tuple[float, float]:
        """The least and greatest return that an estimate from this log can be."""
        return max(float(self.low[0]), self.logged[0]), min(float(self.high[0]), self.logged[1])


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
    >>> limits_of(log, 0.5, horizon=2).low.tolist()  # -1, and then it is cut off: -1 again
    [-1.5, -1.0, 0.0]
    """
    if horizon is not None:
        horizon = check_count("horizon", horizon, 1, "pass the most steps of an episode")
    facts = facts_of(log, horizon) if isinstance(log, Episodes) else log
    if horizon is not None:
        facts.check_horizon(horizon)
    seen, steps = rewards or facts.rewards, horizon or facts.common_cut
    # allowed, for rewards that were not declared lower the class, and `_assumptions` names it
    fixed = not seen.declared and facts.common_length == (horizon or facts.longest)
    if fixed:
        steps = facts.longest
    least, greatest = return_ranges(seen, discount, facts.longest)
    logged = float(least.min()), float(greatest.max())
    if steps is None or steps > MOST_STEPS:
        return Limits(*_at_any_time(discount, seen), seen, None, logged=logged)
    ended = fixed and facts.cut == 0  # as above
    ends = _by_step(discount, seen, steps, fixed=fixed, ended=ended)
    return Limits(*ends, seen, steps, horizon is not None, fixed, logged)


def _by_step(
    discount: float, rewards: RewardRange, steps: int, *, fixed: bool, ended: bool
) -> tuple[Floats, Floats]:
    """`fixed`: nothing ends or stops before T; `ended`: everything ends then."""
    (lo, hi), ending = rewards.continuing, rewards.ending
    low, high = np.zeros(steps + 1), np.zeros(steps + 1)
    for t in range(steps - 1, -1, -1):
        stops, ends = [(lo, hi)], [ending] if ending is not None else []
        ways = [(lo + discount * low[t + 1], hi + discount * high[t + 1])]
        if t == steps - 1:
            ways = ends if ended else stops + ends
        elif not fixed:
            ways += stops + ends
        # over every way an episode may go on: a limit that leaves one out lets scores fall below
        # their floor, and then no bet on them is fair
        low[t], high[t] = min(way[0] for way in ways), max(way[1] for way in ways)
    return low, high


def _at_any_time(discount: float, rewards: RewardRange) -> tuple[Floats, Floats]:
    low, high = rewards.returns(discount)
    lo, hi = rewards.continuing  # a recording may also stop after one step
    return np.array([min(low, lo)]), np.array([max(high, hi)])
