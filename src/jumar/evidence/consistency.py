"""Check that the stated policy and the declared rewards could have produced a log.

A log that contradicts them would make every number computed from it false, so it is refused, with
the first row that contradicts.
"""

from __future__ import annotations

import math

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.errors import LogError
from jumar.core.text import printable
from jumar.evidence.rewards import RewardRange
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.memory.forms import OneOf
from jumar.policy.controller import Controller
from jumar.tally.history import Counts
from jumar.tally.replay import Replays

WRONG_POLICY = (
    "Is this the policy that produced the log? If it explores, say so in its file; `jumar check` "
    "tells which exploration would fit."
)


def rows_taken(log: Episodes | Replays, controller: Controller) -> Floats:
    """(N,) the probability that a controller, replayed over the log, gives to each logged action.

    >>> log = Episodes(("z",), ("a", "b"), [0, 0], [0, 1], [0, 0], [0, 2], [-1], [True])
    >>> rows_taken(log, Controller.constant(("z",), ("a", "b"), [0.75, 0.25])).tolist()
    [0.75, 0.25]
    """
    replay = Replays.of(log).over(controller.memory)
    taken: Floats = controller.rows_at(replay.states)[replay.at, replay.log.action]
    return taken


def check_counted(
    counts: Counts, behavior: Controller, seen: RewardRange, declared: RewardRange | None
) -> None:
    """Of a log of which only counts are at hand: no action that the behavior never takes, no reward
    that was declared impossible."""
    states = behavior.lift(counts.memory)
    h, a = np.nonzero((states.rows_at(counts.states) <= 0) & (counts.visits > 0))
    if len(h):
        action, name = printable(counts.actions[a[0]]), printable(behavior.name)
        times = int(counts.visits[h, a].sum())
        raise LogError(
            f"Log: action {action!r} was taken, but {name} gives it probability 0 at "
            f"{states.describe(counts.states[h[0]])} ({times:,} such steps in all). {WRONG_POLICY}"
        )
    if declared is None:
        return
    for kind in ("continuing", "ending"):
        found, allowed = getattr(seen, kind), getattr(declared, kind)
        if found is not None and (
            allowed is None or found[0] < allowed[0] or found[1] > allowed[1]
        ):
            limits = "no episode ends" if allowed is None else f"{allowed[0]:g} to {allowed[1]:g}"
            raise LogError(
                f"Log: rewards of {kind} steps lie between {found[0]:g} and {found[1]:g}, but "
                f"declared is: {limits}. Declare a wider range."
            )


def check_nodes(replays: Replays, behavior: Controller, made: Bools) -> bool:
    """Where the log says what the controller remembered, replaying must come to the same in all
    episodes that it `made`. False if there is nothing to compare: the log names no nodes, or the
    memory has not exactly one part with named ones."""
    log = replays.log
    written = [(part, part.form(log.observations, log.actions)) for part in behavior.memory.parts]
    named = [(part, form) for part, form in written if isinstance(form, OneOf)]
    if log.node is None or len(named) != 1:
        return False
    (part, form), names = named[0], log.node.names
    meant = np.array([*(form.numbers.get(n, UNKNOWN) for n in names), UNKNOWN], np.int64)
    replay = replays.over(part)
    replayed: Ints = part.to_fields(replay.states[:, :-1])[replay.at, 0]
    told = (log.node.code != UNKNOWN) & np.repeat(made, log.lengths)
    wrong = np.flatnonzero(told & (meant[log.node.code] != replayed))
    for row in wrong[:1].tolist():
        logged, here = printable(names[log.node.code[row]]), printable(form.names[replayed[row]])
        raise LogError(
            f"{log.where(row)}: the log says that the memory was {logged!r}, but "
            f"{printable(behavior.name)}, replayed from the start of the episode, is at "
            f"{here!r}{in_all(wrong)}. Does the episode begin where the policy starts, and are all "
            "its steps there?"
        )
    return True


def in_all(wrong: Ints) -> str:
    """How many steps there are like the one that is named."""
    return f" ({len(wrong):,} such steps in all)" if len(wrong) > 1 else ""


def check_rewards(log: Episodes, rewards: RewardRange) -> None:
    """No logged reward may lie outside the declared range: the bounds would be false."""
    ended = _ended(log)
    if rewards.ending is None and ended.any():
        raise LogError(
            f"{log.where(int(np.argmax(ended)))}: the episode ended, but the declared rewards say "
            "that none ever does. Declare the rewards of endings too."
        )
    for chosen, (lo, hi), what in (
        (~ended, rewards.continuing, "a step that goes on"),
        (ended, rewards.ending or (-math.inf, math.inf), "a step that ends an episode"),
    ):
        outside = chosen & ((log.reward < lo) | (log.reward > hi))
        for row in np.flatnonzero(outside)[:1].tolist():
            raise LogError(
                f"{log.where(row)}: reward {log.reward[row]:g} lies outside {lo:g} to {hi:g}, the "
                f"declared rewards of {what}. Declare a wider range."
            )


def check_horizon(log: Episodes, horizon: int) -> None:
    """No episode may have more steps than are declared possible."""
    for e in np.flatnonzero(log.lengths > horizon)[:1]:
        raise LogError(
            f"{log.where(int(log.start[e]))}: this episode has {log.lengths[e]} steps, more than "
            f"the declared horizon of {horizon}. Declare a longer one."
        )


def rewards_seen(log: Episodes) -> RewardRange:
    """The rewards that occur in a log, apart for steps that ended an episode."""
    end, on = log.reward[log.last[log.terminated]], log.reward[~_ended(log)]
    if len(on) == 0:
        on = log.reward  # every episode is one step long: nothing else is known
    return RewardRange(
        continuing=(float(on.min()), float(on.max())),
        ending=(float(end.min()), float(end.max())) if len(end) else None,
        declared=False,
    )


def _ended(log: Episodes) -> Bools:
    """(N,) the steps with which an episode ended."""
    ended = np.zeros(log.n_steps, np.bool_)
    ended[log.last[log.terminated]] = True
    return ended
