"""Planning online: PO-UCT (Silver and Veness 2010) on any model.

Before every decision the planner simulates the model many times from what it believes, in a tree of
the histories that could follow, and does what looks best. Its belief is a set of states, the
particles. `jumar.lab.truth.pouct` has the formulas. What the settings mean:

- `simulations` run before every decision. What the last ones learned about the history that
  really followed is kept.
- `exploration` is c in Q + c √(ln N(h) / N(h, a)). Left out, it is √2 times the range of values:
  with b the greatest and w the least expected return that any policy has from any state
  within the horizon, c = √2 (b - w), the constant of UCB1 (Auer, Cesa-Bianchi, Fischer 2002).
- `particles` hold the belief: the error of a probability p is about √(p (1-p) / particles).

A simulation ends after the least d steps with γ^d <= 0.005, or when the episode is cut off, if that
is sooner: what lies beyond is worth at most that share of a value.

A history is worth what its best action so far is. The mean return of all visits, as published,
counts every bad action that was only tried to learn about it, and needs many more simulations where
one of them is a disaster.

The estimates converge to the best value within the horizon, up to the error of the
particles, as simulations grow. No finite number of them proves anything, so `plan` reports what was
really earned, with a standard error.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from jumar.core.arrays import Floats, freeze
from jumar.core.errors import ParameterError
from jumar.core.names import number_of
from jumar.core.randomness import Seed, generator, random_stream, seed_number
from jumar.core.resources import check_room
from jumar.core.text import whole_number
from jumar.lab.truth import pouct
from jumar.lab.truth.hsvi.bounds import backup, going_on
from jumar.lab.truth.loops import draw
from jumar.lab.truth.pomdp import END, Pomdp, check_it_stops_mattering
from jumar.lab.truth.simulation import FOREVER, model_tables, step_limit

BEYOND = 0.005  # a discount after which a simulation looks no further
NEGLIGIBLE = 1e-6  # a discount below which nothing more is waited for, unless a limit is set
_ROOM = 4  # nodes per simulation: a kept subtree may take three quarters of the tree


@dataclass(frozen=True)
class Pouct:
    """Settings of the planner; the module says what they mean."""

    simulations: int = 1000
    exploration: float | None = None
    particles: int = 10_000

    def __post_init__(self) -> None:
        c = self.exploration
        reasonable = c is None or 0 <= c < math.inf
        for name, fits, remedy in (
            ("simulations", self.simulations >= 1, "use at least 1"),
            ("exploration", reasonable, "use a number from 0, or leave it out"),
            ("particles", self.particles >= 1, "use at least 1"),
        ):
            if not fits:
                raise ParameterError(f"{name}: {getattr(self, name)} is out of range; {remedy}.")


@dataclass(frozen=True, eq=False)
class Planned:
    """What the planner earned."""

    mean: float
    standard_error: float
    episodes: int
    mean_length: float  # decisions in an episode
    returns: Floats = field(repr=False)  # (episodes,) discounted, from the first decision on


def plan(
    pomdp: Pomdp,
    settings: Pouct,
    *,
    episodes: int,
    seed: Seed = 1,
    progress: Callable[[int], None] | None = None,
    max_steps: int | None = None,
) -> Planned:
    """Run a model with the planner in the loop.

    The first observation is drawn before the first decision. Episode e depends on the seed and e
    alone, and its world and its planner draw from streams of their own.

    Parameters
    ----------
    pomdp
        The model.
    settings
        Of the planner.
    episodes
        How many to run.
    seed
        A whole number or a generator.
    progress
        Is told after every episode how many are finished.
    max_steps
        An episode is cut off after so many steps. Without it, after the model's limit; without
        either, as soon as γ^t is below a millionth.

    Returns
    -------
    Planned
        What was earned on average, with a standard error.

    Examples
    --------
    >>> from jumar import models
    >>> found = plan(models.tiger(), Pouct(simulations=200), episodes=20, seed=1)
    >>> found.episodes, found.returns.shape
    (20, (20,))
    """
    if episodes < 1:
        raise ParameterError(f"episodes: {episodes}; at least 1 is needed.")
    check_room(f"{whole_number(episodes)} episodes", 32 * episodes, "Play fewer; 1,000 are usual.")
    seed = seed_number(seed)
    A = len(pomdp.actions)
    start, first_state, first_seen, pointer, cumulative, *_ = model_tables(pomdp)
    planner = Planner(pomdp, settings, max_steps=max_steps)
    returns, steps = np.zeros(episodes), 0
    for e in range(episodes):
        world = random_stream(seed, "plan", "world", e)
        first = draw(start, 0, len(start), world.random())
        s, weight = int(first_state[first]), 1.0
        planner.begin(int(first_seen[first]), random_stream(seed, "plan", "search", e))
        for _ in range(planner.limit):
            a = planner.decide()
            pair = s * A + a
            k = draw(cumulative, pointer[pair], pointer[pair + 1], world.random())
            returns[e] += weight * pomdp.reward[k]
            weight *= pomdp.discount
            steps += 1
            s = int(pomdp.next_state[k])
            if s == END:
                break
            planner.observe(a, int(pomdp.next_observation[k]))
        if progress is not None:
            progress(e + 1)
    spread = float(returns.std(ddof=1)) if episodes > 1 else math.inf
    return Planned(
        mean=float(returns.mean()),
        standard_error=spread / math.sqrt(episodes),
        episodes=episodes,
        mean_length=steps / episodes,
        returns=freeze(returns, np.float64),
    )


class Planner:
    """The planner alone, for any process: begin, then decide and observe.

    >>> from jumar import models
    >>> tiger = models.tiger()
    >>> planner = Planner(tiger, Pouct())
    >>> planner.begin("hear-left", random_stream(1, "planner"))
    >>> tiger.actions[planner.decide()]
    'listen'
    >>> planner.observe("listen", "hear-left")
    >>> bool(planner.belief[0] > 0.9)
    True
    """

    def __init__(self, pomdp: Pomdp, settings: Pouct, *, max_steps: int | None = None) -> None:
        self.pomdp, self.settings = pomdp, settings
        self.limit = episode_limit(pomdp, max_steps)
        self.horizon = min(self.limit, _steps_until(BEYOND, pomdp.discount))  # looked ahead
        low, high = return_range(pomdp, self.horizon)
        c = settings.exploration
        self.exploration = math.sqrt(2) * (high - low) if c is None else c
        outcomes = *model_tables(pomdp)[3:], pomdp.probability
        self._model = pouct.Model(*outcomes, len(pomdp.actions), pomdp.discount)
        check_room(
            f"{whole_number(settings.simulations)} simulations and "
            f"{whole_number(settings.particles)} particles",
            8 * settings.particles
            + 8 * settings.simulations * (3 + _ROOM * (4 + 4 * len(pomdp.actions))),
            "Use fewer; 1,000 and 10,000 are usual.",
        )
        self._tree = pouct.new_tree(_ROOM * settings.simulations + 1, len(pomdp.actions))
        self._expected = pomdp.expected_reward
        self._particles = np.zeros(settings.particles, np.int64)
        self._passed = np.full((settings.simulations, 3), END)
        self._rng: np.random.Generator | None = None
        self._time = 0

    def begin(self, observation: int | str, seed: Seed = 1) -> None:
        """A new episode, after its first observation; all that is drawn comes from `seed`."""
        rng = generator(seed, "planner")
        z = number_of("observation", observation, self.pomdp.observations)
        joint = self.pomdp.start * self.pomdp.first_observation[:, z]
        if joint.sum() == 0:
            raise ParameterError(f"{self._shown(z)} cannot come first.")
        P, share = len(self._particles), np.cumsum(joint)
        at = (np.arange(P) + rng.random()) / P * share[-1]
        last = np.flatnonzero(joint)[-1]  # rounding may lead beyond it
        self._particles[:] = np.minimum(np.searchsorted(share, at, side="right"), last)
        self._rng, self._time = rng, 0
        self._plant(z)

    def decide(self) -> int:
        """Search, and the number of the action that looks best.

        Of the actions tried at present, the one with the greatest Q, where the rewards of the
        visits are replaced by what it is expected to pay in the belief: that needs no sampling.
        """
        left = max(1, self.limit - self._time)
        tree, rng = self._tree, self._begun()
        limits = self.settings.simulations, min(self.horizon, left), self.exploration
        pouct.search(self._model, tree, self._particles, *limits, rng, self._passed)
        tries = tree.visits[0]
        later = (tree.gain[0] - tree.paid[0]) / np.maximum(tries, 1)
        promise = self.belief @ self._expected + later
        return int(np.where(tries > 0, promise, -np.inf).argmax())

    def observe(self, action: int | str, observation: int | str) -> None:
        """What was done, and what was seen after it.

        Simulations that passed through both tell the new particles. What is missing is drawn from
        the old ones, weighted by how probable the observation was; if it was impossible for all of
        them, from every state of the model.
        """
        a = number_of("action", action, self.pomdp.actions)
        z = number_of("observation", observation, self.pomdp.observations)
        rng = self._begun()
        same = (self._passed[:, 0] == a) & (self._passed[:, 1] == z)
        found = self._passed[same, 2][: len(self._particles)]
        if len(found) < len(self._particles):
            drawn, u = np.empty(len(self._particles) - len(found), np.int64), rng.random()
            if not any(
                pouct.resample(self._model, states, a, z, u, drawn)
                for states in (self._particles, np.arange(len(self.pomdp.states)))
            ):
                done = repr(self.pomdp.actions[a])
                raise ParameterError(f"{self._shown(z)} cannot follow {done} in any state.")
            found = np.concatenate([found, drawn])
        self._particles[:] = found
        root = pouct.find(self._tree, 0, a, z)
        if root >= 0:
            pouct.keep_subtree(self._tree, root)
            self._passed[:] = END
        else:
            self._plant(z)
        self._time += 1

    def _plant(self, z: int) -> None:
        """Only a root, without visits."""
        self._tree.size[0] = 0
        pouct.grow(self._tree, z, -1)
        self._passed[:] = END

    @property
    def belief(self) -> Floats:
        """(S,) the share of particles in each state."""
        count = np.bincount(self._particles, minlength=len(self.pomdp.states))
        return count / len(self._particles)

    def _begun(self) -> np.random.Generator:
        if self._rng is None:
            raise ParameterError("Planner: the episode has not begun; call begin first.")
        return self._rng

    def _shown(self, z: int) -> str:
        return f"Model {self.pomdp.name!r}: observation {self.pomdp.observations[z]!r}"


def _steps_until(ε: float, γ: float) -> int:
    """The least d >= 1 with γ^d <= ε; for γ = 1 beyond any limit."""
    if γ == 0:
        return 1
    return sys.maxsize if γ == 1 else max(1, math.ceil(math.log(ε) / math.log(γ)))


def episode_limit(pomdp: Pomdp, max_steps: int | None) -> int:
    """After how many decisions an episode is cut off."""
    if max_steps is None and pomdp.max_steps is None:
        check_it_stops_mattering(pomdp, "an episode")
        return min(FOREVER, _steps_until(NEGLIGIBLE, pomdp.discount))
    return step_limit(pomdp, max_steps)


def return_range(pomdp: Pomdp, horizon: int) -> tuple[float, float]:
    """The least and the greatest expected return of any policy from any state, over a horizon.

    A policy that sees the state bounds all others.

    >>> from jumar import models
    >>> return_range(models.tiger(), 100)
    (-100.0, 10.0)
    """
    steps = going_on(pomdp)

    def most(reward: Floats) -> float:
        v = np.zeros(len(reward))
        for _ in range(horizon):
            before, v = v, backup(steps, reward, v).max(1)
            if np.array_equal(before, v):  # settled: every further step repeats this one
                break
        return float(v.max())

    return -most(-pomdp.expected_reward), most(pomdp.expected_reward)
