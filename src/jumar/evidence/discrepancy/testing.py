"""The λ-discrepancy (Allen, Kirtland, Tao et al. 2024): is a memory enough for values?

What action a brings in history state h can be learned from a log in two ways:

    TD(0)   Q(h, a) = mean of r + γ V(h'),  V(h) = mean of Q(h, a) over what was done in h
    TD(1)   the mean of the returns that followed, to the end of the episode

Where the memory is enough, both tell the same, but for chance. Where it is not, the first takes all
histories that lead to h' for the same, and the second does not. The discrepancy is the difference,
in the mean square over what the log visits. It is about values: of a gap in the laws that nothing
hangs on it tells nothing, and of a small gap that values hang on it tells, however far ahead.

How much chance makes is told as in the order test (`jumar.evidence.order`): if the memory is
enough, all logs made of the same steps, each beginning where the one before it ended, are equally
likely. All of these have the same TD(0) values; their returns differ. So

    T = Σ n(h, a) (TD(1) - TD(0))² / Σ n(h, a)

is compared with the T of such logs, drawn uniformly, and what these have on average is taken off.

Of a record that was cut off the return is not known. It goes on with V of the history state it was
cut off in, in the log and in the logs it is compared with: what lies beyond cuts cannot tell the
two ways apart. A last step of which nobody knows what followed counts as V of its own state. And so
that lengths stay what they were, a step stays as far from the start of its episode as it was, where
there are more records than steps in the longest. (Where there are fewer that would leave nothing to
exchange; then lengths are free, and the test rejects too rarely.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, sum_by
from jumar.core.errors import MemoryMismatch, ParameterError
from jumar.core.memory import Memory
from jumar.core.memory.refinement import refines
from jumar.core.randomness import Seed, generator
from jumar.core.replay import UNSEEN, Replay, Replays
from jumar.core.rounding import ALIKE
from jumar.core.shown import Shown
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.order.steps import cut_into_steps
from jumar.evidence.order.testing import LEVEL, MOST_STEPS, RESAMPLES, WORK, some_episodes
from jumar.io.controllers import ControllerLike, controller_of
from jumar.io.logs import LogLike, log_of

if TYPE_CHECKING:
    from jumar.evidence.order.steps import Steps


@dataclass(frozen=True, eq=False, repr=False)
class Discrepancy(Frozen, Shown):
    """How far values that are learned step by step are from what episodes paid. P pairs (h, a) of
    which the log knows what followed."""

    memory: Memory
    discount: float
    size: float  # root of T, beyond chance
    as_logged: float  # root of T
    by_chance: float  # root of the mean T of other logs of the same steps
    p: float
    resamples: int
    level: float  # rejected when p is at most this
    episodes: int  # tested; fewer than the log has if it is very long
    cut: float  # share of episodes that were cut off
    states: Ints  # (P, W+1) the history state of each pair
    action: Ints  # (P,)
    visits: Ints  # (P,)
    step_by_step: Floats  # (P,) TD(0)
    to_the_end: Floats  # (P,) TD(1)

    @property
    def rejected(self) -> bool:
        """Is the memory not enough for values?"""
        return self.p <= self.level

    @property
    def summary(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        if not self.rejected:
            return (
                f"No sign that values learned with a {self.memory} are wrong: step by step and to "
                f"the end of episodes they agree (p = {self.p:.2g})."
            )
        return (
            f"Values learned with a {self.memory} are wrong: learned step by step, they are not "
            f"what episodes paid (p = {self.p:.2g})."
        )


def lambda_discrepancy(
    log: LogLike,
    behavior: ControllerLike,
    *,
    discount: float,
    memory: Memory | None = None,
    resamples: int | None = None,
    level: float = LEVEL,
    seed: Seed = 1,
) -> Discrepancy:
    """Compare what actions bring, learned step by step, with what episodes paid.

    Parameters
    ----------
    log
        What `read_logs` returns, a file, or a table of pandas, polars or pyarrow.
    behavior
        The controller that made the log, or its file.
    discount
        Weight of the next step against this one. 1 needs episodes that end.
    memory
        The memory in question. It must know all that the behavior remembers; without it, just
        that.
    resamples
        Draws to compare the log with. Without it, as many as the size of the log allows.
    level
        The memory is rejected when the p-value is at most this.
    seed
        A whole number or a generator, for the draws.

    Returns
    -------
    Discrepancy
        Both values of every pair, how far they are apart, and the p-value.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> patient = Controller.constant(tiger.observations, tiger.actions, [0.2, 0.1, 0.7])
    >>> log = simulate(tiger, patient, episodes=2000, seed=1)
    >>> lambda_discrepancy(log, patient, discount=0.95).rejected
    True
    """
    if not 0 <= discount <= 1:
        raise ParameterError(f"discount: {discount!r} must lie in [0, 1].")
    settings = Settings(level, resamples)
    made_by = controller_of(behavior)
    replays = Replays.of(log_of(log, made_by)).align(made_by.observations, made_by.actions)
    memory = made_by.memory if memory is None else memory.on(*made_by.memory.alphabet)
    if not refines(memory, made_by.memory):
        raise MemoryMismatch(
            f"memory: a {memory} does not know all that the behavior ({made_by.memory}) remembers. "
            "Use join(behavior.memory, memory)."
        )
    for_subset, for_draws = generator(seed, "discrepancy").spawn(2)
    replays = some_episodes(replays, for_subset, MOST_STEPS)
    values = _Values(replays.over(memory), discount)
    B = settings.draws(replays.log.n_steps, RESAMPLES, WORK)
    steps = cut_into_steps(values.replay, values.replay, rewards=False)
    logged = values.square(values.returns())
    drawn = np.array([values.square(x) for x in values.of_shuffled(steps, B, for_draws)])
    chance = float(drawn.mean())
    return Discrepancy(
        memory=memory,
        discount=discount,
        size=math.sqrt(max(0.0, logged - chance)),
        as_logged=math.sqrt(logged),
        by_chance=math.sqrt(chance),
        # T has a unit, and what counts as equal has none
        p=p_value(1.0, drawn / logged) if logged > 0 else 1.0,
        resamples=B,
        level=level,
        episodes=len(replays.log),
        cut=float(1 - replays.log.terminated.mean()),
        states=values.replay.states[values.pairs // values.n_actions],
        action=values.pairs % values.n_actions,
        visits=values.visits,
        step_by_step=values.step_by_step,
        to_the_end=values.returns() / values.visits,
    )


class _Values:
    """The values of pairs, learned step by step. P pairs with known outcomes, N steps."""

    def __init__(self, replay: Replay, discount: float) -> None:
        self.replay, self.discount = replay, discount
        self.n_actions = len(replay.log.actions)
        known = replay.known
        self.pairs, number = np.unique(replay.pair[known], return_inverse=True)
        self.pair = np.full(replay.log.n_steps, -1)
        self.pair[known] = number.reshape(-1)
        self.visits = np.bincount(self.pair[known], minlength=len(self.pairs))

    @cached_property
    def state_values(self) -> Floats:
        """(H,) V, which is 0 where nothing is known."""
        from jumar.solve.linear import solve_discounted

        replay, γ = self.replay, self.discount
        known, H = replay.known, len(replay.states)
        at, follows = replay.at[known], replay.follows[known]
        n = np.maximum(np.bincount(at, minlength=H), 1)
        paid = sum_by(at, replay.log.reward[known], H) / n
        try:
            return solve_discounted(at, follows, γ / n[at], paid)
        except ZeroDivisionError:
            raise ParameterError(
                "discount: with 1 the values of a log whose episodes do not end are infinite. Give "
                "a discount below 1."
            ) from None

    @cached_property
    def alone(self) -> Floats:
        """(N,) what every step is worth as the last of its episode."""
        replay, v = self.replay, self.state_values
        follows = replay.follows
        then = np.where(follows >= 0, v[np.maximum(follows, 0)], 0.0)
        worth = replay.log.reward + self.discount * then
        found: Floats = np.where(follows == UNSEEN, v[replay.at], worth)
        return found

    @cached_property
    def step_by_step(self) -> Floats:
        """(P,) TD(0)."""
        known = self.pair >= 0
        total = sum_by(self.pair[known], self.alone[known], len(self.pairs))
        found: Floats = total / self.visits
        return found

    def returns(self, steps: Ints | None = None, start: Ints | None = None) -> Floats:
        """(P,) the sum of the returns from every visit of a pair on; of the log, or of one made of
        its steps."""
        from jumar.evidence.discrepancy.kernels import returns_by_pair

        log = self.replay.log
        return returns_by_pair(
            np.arange(log.n_steps) if steps is None else steps,
            log.start if start is None else start,
            log.reward,
            self.alone,
            self.pair,
            len(self.pairs),
            self.discount,
        )

    def of_shuffled(self, steps: Steps, times: int, rng: np.random.Generator) -> list[Floats]:
        """The returns of other logs of the same steps."""
        log = self.replay.log
        longest = int(log.lengths.max(initial=0))
        at_its_age = not log.terminated.all() and len(log) > longest
        drawn = steps.shuffles(times, rng, longest if at_its_age else None)
        return [self.returns(x.steps, x.start) for x in drawn]

    def square(self, returns: Floats) -> float:
        """T."""
        if not len(self.visits):
            return 0.0
        off = returns / self.visits - self.step_by_step
        scale = np.abs(self.step_by_step).max()
        off = np.where(np.abs(off) > ALIKE * scale, off, 0.0)
        return float((self.visits * off**2).sum() / self.visits.sum())
