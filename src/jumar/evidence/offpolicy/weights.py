"""How much likelier each logged step is under another controller.

Both controllers are replayed over the log, each through its own memory. Step t of an episode has
the ratio π(a_t | n_t, z_t) / π_b(a_t | n^b_t, z_t), and the prefix up to it the weight

    w_t = Π_{s<=t} π(a_s | n_s, z_s) / π_b(a_s | n^b_s, z_s).

What the environment does cancels out, whatever it is: so E_b[w_t f] = E_π[f] for every f of the
first t+1 steps, provided that the behavior may do whatever π may do (it *covers* π). Nodes are
deterministic, so nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.errors import ControllerError
from jumar.core.text import printable
from jumar.evidence.consistency import rows_taken
from jumar.evidence.given import Behaviors
from jumar.evidence.practice import Practice, practice_of
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller
from jumar.tally.replay import Replays


def ratios(log: Episodes | Replays, target: Controller, behavior: Behaviors) -> Floats:
    """(N,) π(a | n, z) / π_b(a | n^b, z) at every logged step, π_b the behavior of its episode.

    The two may remember different things and number the names differently. A step that the
    behavior cannot have done is a LogError with its place. Without a behavior, the propensities of
    the log stand for it.

    >>> names = ("z",), ("a", "b")
    >>> log = Episodes(*names, [0, 0], [0, 1], [0, 0], [0, 2], [-1], [True])
    >>> fair, bent = Controller.uniform(*names), Controller.constant(*names, [0.75, 0.25])
    >>> ratios(log, bent, fair).tolist()
    [1.5, 0.5]
    """
    replays = Replays.of(log)
    return taken(replays, target) / behavior_taken(replays, behavior)


def taken(log: Episodes | Replays, controller: Controller) -> Floats:
    """(N,) the probability a controller gives to each logged action."""
    replays = Replays.of(log).align(controller.observations, controller.actions)
    return rows_taken(replays, controller)


def behavior_taken(log: Episodes | Replays, behavior: Behaviors) -> Floats:
    """(N,) the same for whoever made the log, who gives none of them 0."""
    return practice_of(log, behavior).taken


def step_of(start: Ints) -> Ints:
    """(N,) the number of every step within its episode."""
    steps: Ints = np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start))
    return steps


BLOCK = 100_000  # steps: what is computed of so many is still in a cache when it is used


def blocks(start: Ints) -> Iterator[tuple[slice, Ints]]:
    """The steps of some episodes after the other, and where these begin among them.

    >>> [(steps.stop, own.tolist()) for steps, own in blocks(np.array([0, 70_000, 140_000]))]
    [(70000, [0, 70000]), (140000, [0, 70000])]
    """
    e, E = 0, len(start) - 1
    while e < E:
        end = max(e + 1, int(np.searchsorted(start, start[e] + BLOCK, side="right")) - 1)
        yield slice(int(start[e]), int(start[end])), start[e : end + 1] - start[e]
        e = end


def cumulative(ratio: Floats, start: Ints) -> Floats:
    """(N,) the weight w_t of every prefix: the product of the ratios so far in the episode.

    >>> cumulative(np.array([2.0, 0.5, 3.0, 3.0]), np.array([0, 2, 4])).tolist()
    [2.0, 1.0, 3.0, 9.0]
    """
    from jumar.core import kernels

    return kernels.running_products(ratio, start)


def final(ratio: Floats, start: Ints) -> Floats:
    """(E,) the weight of every whole episode."""
    whole: Floats = cumulative(ratio, start)[start[1:] - 1]
    return whole


def averaged(ratio: Floats, start: Ints, discount: float) -> Floats:
    """(E,) the weights of every episode, averaged over steps as a discounted return is: those of
    Σ_t γ^t w_t / Σ_t γ^t up to the longest episode. One that is over keeps its last weight, so that
    the mean is 1.

    >>> averaged(np.array([2.0, 0.0, 0.5]), np.array([0, 2, 3]), 1.0).tolist()
    [1.0, 0.5]
    """
    longest = int(np.diff(start).max())
    power = np.append(0.0, np.cumsum(discount ** np.arange(longest)))  # (T+1,) Σ_{s<t} γ^s
    found = []
    for steps, own in blocks(start):
        w = cumulative(ratio[steps], own)
        within = np.add.reduceat(discount ** step_of(own) * w, own[:-1])
        found.append(within + w[own[1:] - 1] * (power[-1] - power[np.diff(own)]))
    averages: Floats = np.concatenate(found) / power[-1]
    return averages


def effective_size(weight: Floats) -> float:
    """(Σw)² / Σw²: how many equally weighted episodes would say as much; 0 without any weight.

    >>> effective_size(np.ones(50)), effective_size(np.array([1.0, 0, 0]))
    (50.0, 1.0)
    """
    largest = weight.max()
    if largest <= 0:
        return 0.0
    w = weight / largest  # squares of large weights would overflow
    return float(w.sum() ** 2 / (w**2).sum())


def largest_share(weight: Floats) -> float:
    """The part of all weight that the heaviest episode carries.

    >>> largest_share(np.array([1.0, 3.0]))
    0.75
    """
    largest = weight.max()
    return float(1 / (weight / largest).sum()) if largest > 0 else 0.0


def check_covered(target: Controller, practice: Practice, ratio: Floats) -> None:
    """Where the log leads the target, it must do nothing that the behavior never does.

    A log cannot tell what such an action is worth, and every estimate would leave it out silently.
    Steps after one that the target would not have taken do not count.
    """
    log = practice.log
    before = np.append(1.0, cumulative(ratio, log.start)[:-1])
    before[log.start[:-1]] = 1.0
    rows = np.flatnonzero(before > 0)
    missing = _never_done(target, practice, rows)
    rows, missing = rows[missing.any(1)], missing[missing.any(1)]
    if len(rows) == 0:
        return
    row = int(rows[0])
    action = target.actions[int(np.argmax(missing[0]))]
    more = f" ({len(rows):,} such steps in all)" if len(rows) > 1 else ""
    behavior = practice.names[practice.made_by[log.episode_of(row)]]
    raise ControllerError(
        f"{log.where(row)}: here {printable(target.name)} may do {printable(action)!r}, which "
        f"{printable(behavior)} never does{more}. No log of the one can tell what that is "
        "worth. Estimate a controller that only does what the behavior does at least sometimes."
    )


def _never_done(target: Controller, practice: Practice, rows: Ints) -> Bools:
    """(K, A) may the target do this at the chosen steps, and the behavior never?"""
    replays = practice.replays.align(target.observations, target.actions)
    replay = replays.over(target.memory)
    may: Bools = (target.rows_at(replay.states) > 0)[replay.at[rows]]
    actions = practice.log.actions
    known = [a for a in target.actions if a in actions]
    mine, theirs = ([names.index(a) for a in known] for names in (target.actions, actions))
    done = practice.rows_of(rows)
    if done is not None:
        may[:, mine] &= done[:, theirs] <= 0
        return may
    # of an action that was not certain nobody knows what else might have been done
    certain = (practice.taken[rows] >= 1)[:, None]
    may[:, mine] &= certain & (practice.log.action[rows, None] != np.array(theirs))
    return may
