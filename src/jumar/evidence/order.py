"""Does what follows depend on more than the memory knows?

H₀: given the history x of the base memory and the action, what follows (next observation, end,
reward) does not depend on what a finer memory knows besides. Then the log is a walk on the
histories x, and all logs made of the same steps, each beginning where the one before it ended, are
equally likely: nothing in such a log can tell one order from another. So G is compared with the G
of such orders, drawn uniformly (`loops.reorder`), and the p-value that is counted (`chance`) is
never too small too often, however sparse the counts: this is a parametric bootstrap of the model
of the base memory, *given* what is estimated from the log. How likely the behavior made each action
plays no part; only that it remembers no more than the base memory. Simulating the estimated model
instead would take its rare outcomes for impossible and reject far too often.

That an episode was cut off is treated like a step. Where cutting depends on the time since the
start, and not on the history, the orders are no longer exactly alike; so that histories which have
just begun stay as many, steps near the start of an episode then keep their distance from it.

*How far off.* A mean gap D is above 0 by chance alone: the same log, shuffled, has b on average.
Independent errors add to a real gap as squares do, so the effect is

    √(D² - b²),  and 0 where D < b,

which is D - b²/2D where the gap is large. The interval draws episodes with replacement, centres the
gaps it finds on D (the basic bootstrap) and takes off chance from both ends in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.documents import whole
from jumar.core.errors import MemoryMismatch, ParameterError
from jumar.core.randomness import Seed, generator
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.steps import Steps, Tally, cut_into_steps
from jumar.memory import Memory
from jumar.memory.refinement import one_more, refines
from jumar.policy.controller import Controller
from jumar.policy.files import ControllerLike, controller_of
from jumar.tally.replay import LogLike, Replays, log_of

LEVEL = 0.05
RESAMPLES = 199
WORK = 1e7  # steps walked in all draws of one test
MOST_STEPS = 100_000  # of a longer log, as many episodes as have about so many steps are tested
LONGEST = 4
FEWEST = 10  # episodes for an interval
BLOCKS = 2000  # beyond so many episodes, blocks of them are drawn
DRAWS = 200
BATCH = 4_000_000  # numbers held at once


@dataclass(frozen=True)
class OrderTest:
    """Whether one memory is enough, compared with a finer one.

    Effects are means over what the log visits: how far the law (reward) of a finer history is from
    that of all histories the base memory takes for the same, less what chance alone makes.
    """

    base: Memory
    finer: Memory
    statistic: float  # G
    p: float
    resamples: int
    level: float  # rejected when p is at most this
    episodes: int  # tested; fewer than the log has if it is very long
    decided: int  # steps that can tell the two memories apart
    effect: float  # mean distance of laws, in total variation
    interval: tuple[float, float] | None  # 95 %; None with too few episodes
    reward_effect: float  # mean distance of mean rewards
    reward_interval: tuple[float, float] | None

    @property
    def rejected(self) -> bool:
        """Is the base memory not enough?"""
        return self.p <= self.level

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        if self.decided == 0:
            return (
                f"The log cannot tell a {self.finer} from a {self.base}: no action was done in a "
                "situation where both the past and what followed differ."
            )
        if not self.rejected:
            return (
                f"No sign that what follows depends on more than a {self.base} knows "
                f"(compared with a {self.finer}, p = {self.p:.2g})."
            )
        what = "95% interval "
        return (
            f"A {self.base} is not enough: what happens next also depends on what only a "
            f"{self.finer} remembers (p = {self.p:.2g}). Without that, chances are off by "
            f"{with_interval(self.effect, self.interval, what)} on average, and the mean reward by "
            f"{with_interval(self.reward_effect, self.reward_interval, what)}."
        )


def with_interval(effect: float, interval: tuple[float, float] | None, what: str = "") -> str:
    """
    >>> with_interval(0.25, (0.1, 0.4), "95% interval "), with_interval(0.25, None)
    ('0.25 (95% interval 0.1 to 0.4)', '0.25')
    """
    ends = f" ({what}{interval[0]:.2g} to {interval[1]:.2g})" if interval else ""
    return f"{effect:.2g}{ends}"


def order_test(
    log: LogLike,
    behavior: ControllerLike,
    *,
    memory: Memory | None = None,
    finer: Memory | None = None,
    resamples: int | None = None,
    level: float = LEVEL,
    seed: Seed = 1,
) -> OrderTest:
    """Test whether a memory is enough, against a finer one.

    Parameters
    ----------
    log
        What `read_logs` returns, a file, or a table of pandas, polars or pyarrow.
    behavior
        The controller that made the log, or its file.
    memory
        The memory in question. It must know all that the behavior remembers; without it, just
        that.
    finer
        The memory to compare with. Without it, one observation more.
    resamples
        Draws to compare the log with. Without it, as many as the size of the log allows.
    level
        The memory is rejected when the p-value is at most this.
    seed
        A whole number or a generator, for the draws.

    Returns
    -------
    OrderTest
        The p-value, and how far off the shorter memory is.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=500, seed=1)
    >>> found = order_test(log, behavior, seed=1)
    >>> str(found.base), str(found.finer), found.p, found.rejected
    ('window of 1', 'window of 2', 0.005, True)
    """
    settings = Settings(level, resamples)
    made_by, replays = with_behavior(log, behavior)
    base, finer = _memories(made_by.memory, memory, finer)
    for_subset, for_draws, for_episodes = generator(seed, "order").spawn(3)
    replays = some_episodes(replays, for_subset, MOST_STEPS)
    fine = replays.over(finer)  # first: the base is then a projection of it
    steps = cut_into_steps(replays.over(base), fine)
    logged, which = steps.as_logged()
    G = logged.statistic()
    decided = _decided(steps, logged)
    B = settings.draws(replays.log.n_steps, RESAMPLES, WORK)
    p, effects = 1.0, np.zeros(2)
    intervals: list[tuple[float, float] | None] = [None, None]
    if decided:
        drawn, chance = _by_chance(steps, B, for_draws)
        p = p_value(G, drawn)
        effects = beyond_chance(logged.gaps(), chance)
        ends = gap_ends(steps, logged, which, for_episodes)
        if ends is not None:
            intervals = [(a, b) for a, b in beyond_chance(ends, chance[:, None]).tolist()]
    return OrderTest(
        base=base,
        finer=finer,
        statistic=G,
        p=p,
        resamples=B,
        level=level,
        episodes=len(replays.log),
        decided=decided,
        effect=float(effects[0]),
        interval=intervals[0],
        reward_effect=float(effects[1]),
        reward_interval=intervals[1],
    )


def order_tests(
    log: LogLike,
    behavior: ControllerLike,
    *,
    memory: Memory | None = None,
    longest: int = LONGEST,
    resamples: int | None = None,
    level: float = LEVEL,
    seed: Seed = 1,
) -> tuple[OrderTest, ...]:
    """Test a memory, then one observation more, and so on, until one is not rejected.

    The tests are a fixed sequence: the chance that a memory that *is* enough is passed over is at
    most `level` in all.

    Parameters
    ----------
    log
    behavior
    memory
        The first memory, as for `order_test`.
    longest
        Memories are compared with windows of up to so many observations, or at least with one more
        than `memory`.
    resamples
    level
    seed
        Of each test.

    Returns
    -------
    tuple of OrderTest
        One test after the other; `suggested` concludes from them.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> maze = models.cheese_maze()
    >>> behavior = Controller.uniform(maze.observations, maze.actions)
    >>> log = simulate(maze, behavior, episodes=20, seed=1)
    >>> tests = order_tests(log, behavior, seed=1, longest=3)
    >>> [(str(test.base), test.rejected) for test in tests]
    [('window of 1', True), ('window of 2', True)]
    """
    longest = whole(longest, "longest", ParameterError, 2)
    made_by, replays = with_behavior(log, behavior)
    base, _ = _memories(made_by.memory, memory, None)
    ask = partial(order_test, replays, made_by, resamples=resamples, level=level)
    found: list[OrderTest] = []
    for rng in generator(seed, "order").spawn(max(1, longest - (base.span or 1))):
        found.append(ask(seed=rng, memory=base))
        if not found[-1].rejected:
            break
        base = found[-1].finer
    return tuple(found)


def with_behavior(log: LogLike, behavior: ControllerLike) -> tuple[Controller, Replays]:
    """Who made a log, and the log with its names numbered alike."""
    made_by = controller_of(behavior)
    replays = Replays.of(log_of(log, made_by))
    return made_by, replays.align(made_by.observations, made_by.actions)


def suggested(tests: tuple[OrderTest, ...]) -> Memory:
    """The first memory that was not rejected; if all were, the longest one there was.

    It is the least the log asks for, not proof that no more is needed: a small log rejects little.
    """
    if not tests:
        raise ParameterError("tests: there is none to conclude from.")
    return tests[-1].finer if tests[-1].rejected else tests[-1].base


def _memories(behavior: Memory, base: Memory | None, finer: Memory | None) -> tuple[Memory, Memory]:
    """The two memories of a test, bound to the alphabet; an error where it would mean nothing."""
    alphabet = behavior.alphabet
    base = behavior if base is None else base.on(*alphabet)
    if not refines(base, behavior):
        raise MemoryMismatch(
            f"memory: a {base} does not know all that the behavior ({behavior}) remembers. What "
            "was done would then tell the two memories apart, whatever follows. Use "
            "join(behavior.memory, memory)."
        )
    finer = one_more(base) if finer is None else finer.on(*alphabet)
    if finer is None:
        raise ParameterError(f"finer: a {base} has no obvious longer one; give the finer memory.")
    if not refines(finer, base):
        raise MemoryMismatch(
            f"finer: a {finer} does not know all that a {base} knows. Use join(memory, finer)."
        )
    if refines(base, finer):
        raise ParameterError(f"finer: a {finer} knows no more than a {base}; give a longer one.")
    return base, finer


def _by_chance(steps: Steps, B: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(B,) G of shuffled logs, and (2,) their mean gaps."""
    G, gaps = np.empty(B), np.zeros(2)
    for b, drawn in enumerate(steps.shuffles(B, rng)):
        tally = steps.tally(*drawn)
        G[b] = tally.statistic()
        gaps += tally.gaps() / B
    return G, gaps


def some_episodes(replays: Replays, rng: np.random.Generator, most: int) -> Replays:
    """All episodes, or so many of them at random that about so many steps are left."""
    log = replays.log
    if log.n_steps <= most:
        return replays
    keep = max(1, round(len(log) * most / log.n_steps))
    return replays.part(np.sort(rng.permutation(len(log))[:keep]))


def _decided(steps: Steps, tally: Tally) -> int:
    """Steps of pairs (x, a) that know several finer histories and several outcomes."""
    P = len(steps.base.states) * len(steps.log.actions)
    tells = (np.bincount(tally.pair, minlength=P) > 1) & (
        np.bincount(steps.cells[:, 0], minlength=P) > 1
    )
    return int(tally.times[tells[tally.pair[tally.fine_pair]]].sum())


# ---- how far off --------------------------------------------------------------------------------


def beyond_chance(gaps: Floats, chance: Floats) -> Floats:
    """Gaps without what chance adds to them.

    >>> beyond_chance(np.array([0.5, 0.2]), np.array([0.3, 0.3])).tolist()
    [0.4, 0.0]
    """
    gaps = np.maximum(gaps, 0)
    left: Floats = np.sqrt(np.maximum((gaps - chance) * (gaps + chance), 0))
    return left


def gap_ends(steps: Steps, logged: Tally, which: Ints, rng: np.random.Generator) -> Floats | None:
    """(2, 2) low and high ends of 95 % intervals around the gaps of law and reward, chance
    included; None with too few episodes. `which` is the cell of every step with known outcome."""
    from scipy.sparse import csr_array

    log = steps.log
    E = len(log)
    if E < FEWEST or len(which) == 0:
        return None
    n = min(E, BLOCKS)
    block = rng.permutation(E) % n if n < E else np.arange(E)
    known = steps.known
    column = np.repeat(block, log.lengths)[known]
    shape = len(logged.times), n
    times: Any = csr_array((np.ones(len(which)), (which, column)), shape=shape)
    rewards: Any = csr_array((log.reward[known], (which, column)), shape=shape)
    batch = max(1, BATCH // max(shape))
    drawn = []
    for done in range(0, DRAWS, batch):
        R = min(batch, DRAWS - done)
        weights = np.column_stack(
            [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(R)]
        ).astype(np.float64)
        drawn.append(logged.gaps(times @ weights, rewards @ weights))
    spread = np.concatenate(drawn, axis=1)
    spread -= spread.mean(1, keepdims=True)
    right, left = np.quantile(spread, [0.025, 0.975], axis=1)
    return np.asarray(logged.gaps()[:, None] - np.column_stack([left, right]))
