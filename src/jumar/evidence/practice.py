"""Practice: what a caller may say of who acted in a log, and how likely each action was.

A log is weighed by the probability of what was done, and that probability may be known in three
ways:

    one controller       it made every episode
    several controllers  the log names, for every episode, the one that made it (`behavior`)
    propensities         the log holds the probability of every logged action itself

Whatever is computed from weights needs only `taken`, the probability of each logged action under
the behavior of its own episode, given all that was seen and done in the episode before. That holds
for every mixture of behaviors: an episode is weighed by the one that made it, never by an average.

Propensities may be mere frequencies (`jumar.evidence.doubts`), or too small; then nothing is
proved.

Propensities in a log are rounded. Where there are controllers too, both must agree: they may differ
by one part in a million, and by half a unit of the last digit that the column writes, counted
either in decimals (0.3333) or in significant digits (0.0001234), with three digits at the least.
Then `taken` is what the controller says: it is the number that was rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, freeze
from jumar.core.errors import ControllerError, LogError, ParameterError
from jumar.core.text import Shown, listing, printable
from jumar.evidence.chance import Settings
from jumar.evidence.consistency import WRONG_POLICY, check_nodes, in_all, rows_taken
from jumar.evidence.doubts import draws_of, p_of_learning, p_of_possible, rounding_of
from jumar.evidence.estimation import CURRENT, estimate_behavior
from jumar.evidence.validity import (
    UNPROVED_ESTIMATE,
    UNPROVED_LEARNER,
    UNPROVED_SUM,
    unproved_draws,
)
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.policy.files import (
    ControllerLike,
    controller_from_document,
    controller_of,
    controller_to_document,
)
from jumar.tally.replay import LogLike, Replay, Replays, log_of

ESTIMATE = "estimate"

# who made a log, once files are read: one controller, several, or None where it has propensities
Behaviors = Controller | Sequence[Controller] | Mapping[str, Controller] | None
# the same as a caller may pass it: files too, or "estimate"
BehaviorLike = ControllerLike | Sequence[ControllerLike] | Mapping[str, ControllerLike] | None

AS_LOGGED = "the logged behavior"  # of which only propensities are known
AGREEMENT = 1e-6  # relative: what computing a probability in another way may change


@dataclass(frozen=True, eq=False, repr=False)
class Practice(Frozen, Shown):
    """Who made a log. B behaviors, E episodes, N steps, A actions."""

    replays: Replays  # of the log, its names numbered as the controllers number them
    names: tuple[str, ...]  # (B,)
    controllers: tuple[Controller, ...]  # (B,) numbering names alike; none: only propensities
    made_by: Ints  # (E,) int64, the behavior of every episode
    window: Memory = CURRENT  # what an estimated behavior remembers

    @property
    def summary(self) -> str:
        made = ", ".join(self.names) or "known by propensities"
        return f"{len(self.log):,} episodes made by {printable(made)}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "made_by", freeze(self.made_by, np.int64))

    @property
    def log(self) -> Episodes:
        return self.replays.log

    @property
    def several(self) -> bool:
        """Did more than one behavior make the log?"""
        return len(self.names) > 1

    @property
    def only(self) -> Controller | None:
        """The one controller that made the log; None where that is not known, or several did."""
        return self.controllers[0] if len(self.controllers) == 1 else None

    @property
    def estimated(self) -> bool:
        """Was a behavior estimated from a log, so that no claim can rest on it?"""
        return any(controller.estimated for controller in self.controllers)

    @cached_property
    def draws(self) -> int | None:
        """The number of draws in which what the log has for probabilities are mere frequencies,
        so that no claim can rest on them; None where they are exact, or controllers are known."""
        return None if self.controllers else draws_of(self.log)

    @cached_property
    def unproved(self) -> str:
        """Why nothing can be proved of a log that was made like this, in a sentence; or nothing."""
        if self.estimated:
            return UNPROVED_ESTIMATE
        if self.controllers or self.log.propensity is None:
            return ""
        if self.draws is not None:
            return unproved_draws(self.draws, said=self.log.propensity_draws is not None)
        if p_of_possible(self.log.propensity, len(self.log.actions)) <= Settings.level:
            return UNPROVED_SUM
        return UNPROVED_LEARNER if p_of_learning(self.log) <= Settings.level else ""

    @property
    def name(self) -> str:
        """The behaviors, for a sentence."""
        return listing(self.names, most=3)

    @cached_property
    def taken(self) -> Floats:
        """(N,) the probability of every logged action under the behavior of its episode."""
        if not self.controllers:
            assert self.log.propensity is not None  # or there would be no practice
            return self.log.propensity
        found = rows_taken(self.replays, self.controllers[0])
        for k, controller in enumerate(self.controllers[1:], 1):
            steps = np.repeat(self.made_by == k, self.log.lengths)
            found[steps] = rows_taken(self.replays, controller)[steps]
        found.setflags(write=False)
        return found

    @cached_property
    def rows(self) -> Floats | None:
        """(N, A) what the behavior of its episode may do at every step; None where the log only has
        propensities, unless there are two actions: then one tells the other."""
        found = self.rows_of(np.arange(self.log.n_steps))
        return None if found is None else freeze(found, np.float64)

    def rows_of(self, steps: Ints) -> Floats | None:
        """(K, A) the same at some steps."""
        A, taken = len(self.log.actions), self.taken[steps]
        if not self.controllers:
            if A > 2:
                return None
            found = np.repeat(1 - taken[:, None], A, 1)
            found[np.arange(len(steps)), self.log.action[steps]] = taken
            return found if A == 2 else np.ones((len(steps), 1))
        replay, found = self._replay, np.empty((len(steps), A))
        who = self.made_by[np.searchsorted(self.log.start, steps, side="right") - 1]
        for k, rows in enumerate(self._tables):
            mine = who == k
            found[mine] = rows[replay.at[steps[mine]]]
        return found

    @cached_property
    def _tables(self) -> list[Floats]:
        """(H, A) of every behavior: what it may do in each history state of the log."""
        states = self._replay.states
        return [controller.lift(self.memory).rows_at(states) for controller in self.controllers]

    @cached_property
    def memory(self) -> Memory:
        """A memory that refines those of all behaviors."""
        if not self.controllers:
            return self.window.on(len(self.log.observations), len(self.log.actions))
        return reduce(join, (controller.memory for controller in self.controllers))

    @cached_property
    def pooled(self) -> Controller:
        """One controller in place of all: the only behavior itself; of several, in every history
        state of the log the mean of their rows by visits, and elsewhere the first; where only
        propensities are known, the behavior estimated from the log."""
        if not self.controllers:
            return estimate_behavior(self.replays, self.memory)
        if self.only is not None:
            return self.only
        states, at = self._replay.acted
        steps = np.repeat(self.made_by, self.log.lengths)
        visits = np.bincount(at, minlength=len(states))
        rows = np.zeros((len(states), len(self.log.actions)))
        for k, controller in enumerate(self.controllers):
            share = np.bincount(at[steps == k], minlength=len(states)) / visits
            rows += share[:, None] * controller.lift(self.memory).rows_at(states)
        first = self.controllers[0].lift(self.memory)
        mixed = first.except_at(states, rows, name=f"pooled: {self.name}")
        return replace(mixed, estimated=True) if self.estimated else mixed

    @property
    def _replay(self) -> Replay:
        """Of the log, over the common memory."""
        return self.replays.over(self.memory)

    def select(self, episodes: Ints) -> Practice:
        """Who made the chosen episodes, in the given order."""
        return replace(self, replays=self.replays.part(episodes), made_by=self.made_by[episodes])

    def check(self) -> None:
        """The log must not contradict its behaviors: in what was done, in how likely it was, or in
        what was remembered."""
        if not self.controllers:
            return
        log, impossible = self.log, np.flatnonzero(self.taken <= 0)
        for row in impossible[:1].tolist():
            behavior = self.controllers[self.made_by[log.episode_of(row)]]
            replay = self.replays.over(behavior.memory)
            action, name = printable(log.actions[log.action[row]]), printable(behavior.name)
            raise LogError(
                f"{log.where(row)}: action {action!r} was taken, but {name} gives it probability 0 "
                f"at {behavior.describe(replay.states[replay.at[row]])}{in_all(impossible)}. "
                f"{WRONG_POLICY}"
            )
        for k, controller in enumerate(self.controllers):
            check_nodes(self.replays, controller, self.made_by == k)
        self.compare()

    @cached_property
    def disagreement(self) -> Ints:
        """The steps at which log and controllers give the action different probabilities."""
        logged, said = self.log.propensity, self.taken
        if logged is None or not self.controllers:
            return np.zeros(0, np.int64)
        off: Ints = np.flatnonzero(np.abs(logged - said) > rounding_of(logged) + AGREEMENT * said)
        return off

    def compare(self) -> None:
        """Propensities and controllers must agree."""
        log, wrong = self.log, self.disagreement
        for row in wrong[:1].tolist():
            assert log.propensity is not None  # or nothing would disagree
            name = printable(self.names[self.made_by[log.episode_of(row)]])
            raise LogError(
                f"{log.where(row)}: the propensity of {printable(log.actions[log.action[row]])!r} "
                f"is {log.propensity[row]:.6g}, but {name} takes it with probability "
                f"{self.taken[row]:.6g} here{in_all(wrong)}. Only one can be right. If the log is, "
                "leave the controller out (no --policy); if the controller is, leave the column "
                "out."
            )


def practice_of(
    log: LogLike,
    behaviors: BehaviorLike,
    *,
    memory: Memory = CURRENT,
    checked: bool = True,
) -> Practice:
    """Who made a log: the controller that did, or several, each called as the log's `behavior`
    column calls it (a mapping says otherwise); files of these; "estimate", to estimate it from the
    log; or None, where the log has propensities.

    `memory` is what a behavior that is estimated from the log remembers: for "estimate", and where
    there are only propensities. `checked` refuses a log that contradicts its behaviors.

    >>> from jumar.log.episodes import Labels
    >>> names = ("z",), ("a", "b")
    >>> log = Episodes(*names, [0, 0, 0], [0, 1, 1], [0, 0, 0], [0, 2, 3], [-1, -1], [True, True],
    ...                behavior=Labels.of(["old", "new"]))
    >>> old = Controller.uniform(*names, name="old")
    >>> new = Controller.constant(*names, [0.2, 0.8], name="new")
    >>> practice = practice_of(log, [old, new])
    >>> practice.taken.tolist(), practice.names
    ([0.5, 0.5, 0.8], ('new', 'old'))
    >>> practice.pooled.row([], "z").round(3).tolist()  # two steps by the old one, one by the new
    [0.4, 0.6]
    """
    found = _match(*given(log, behaviors, memory), memory)
    if checked:
        found.check()
    return found


# ---- what a caller may pass, and which controller is which --------------------------------------


def is_estimate(behavior: object) -> bool:
    """Is the behavior to be estimated from the log?"""
    return isinstance(behavior, str) and behavior == ESTIMATE


def given(
    log: LogLike, behavior: BehaviorLike, memory: Memory
) -> tuple[Replays, Controller | dict[str, Controller] | None]:
    """The log, and who made it, both in memory. Where the behavior is to be estimated, it remembers
    `memory`. A log that is read numbers names as the first controller does."""
    if is_estimate(behavior):
        replays = Replays.of(log_of(log))
        return replays, estimated(replays.log, memory)
    if behavior is None:
        return Replays.of(log_of(log)), None
    if isinstance(behavior, str) or not isinstance(behavior, Sequence | Mapping):
        only = controller_of(behavior)
        return Replays.of(log_of(log, only)), only
    if isinstance(behavior, Mapping):
        found = {name: controller_of(one) for name, one in behavior.items()}
        return Replays.of(log_of(log, next(iter(found.values()), None))), found
    written = [Written(None, one, controller_of(one)) for one in behavior]
    replays = Replays.of(log_of(log, written[0].controller if written else None))
    if len(written) == 1 and isinstance(written[0].source, Controller):
        return replays, written[0].controller
    return replays, by_name(written, replays.log, "behavior", "{NAME: controller or file}")


def estimated(log: Episodes, memory: Memory) -> Controller | dict[str, Controller]:
    """The behavior estimated from the log; where it names several, each from its own episodes."""
    if log.behavior is None or len(log.behavior.present[0]) == 1:
        return estimate_behavior(log, memory)
    names, of = log.behavior.present
    return {
        name: estimate_behavior(log.select(np.flatnonzero(of == k)), memory)
        for k, name in enumerate(names)
    }


@dataclass(frozen=True)
class Written:
    """A controller, and where it comes from."""

    name: str | None  # which behavior of the log it is, if that was said
    source: ControllerLike
    controller: Controller


def by_name(
    written: Sequence[Written], log: Episodes, option: str, remedy: str
) -> dict[str, Controller]:
    """Which controller is which behavior of the log: by the name that was given, its own, or that
    of its file."""
    known = log.behavior.names if log.behavior else ()
    found: dict[str, Controller] = {}
    for item in written:
        own = item.controller.name
        stem = "" if isinstance(item.source, Controller) else Path(item.source).stem
        name = item.name or next((name for name in (own, stem) if name in known), own)
        if name in found:
            raise ParameterError(
                f"{option}: two controllers are called {printable(name)!r}. Say which behavior "
                f"each one is: {remedy}."
            )
        found[name] = item.controller
    return found


def _match(
    replays: Replays, behaviors: Controller | dict[str, Controller] | None, memory: Memory
) -> Practice:
    log = replays.log
    named, of = log.behavior.present if log.behavior else ((), np.zeros(len(log), np.int64))
    source = log.origin.source if log.origin else "Log"
    if behaviors is None:
        if log.propensity is None:
            raise LogError(
                f"{source}: nothing says how likely the logged actions were. Give the controller "
                "that made the log (--policy FILE), or a column of propensities (columns="
                "{'propensity': ...}, --columns propensity=...)."
            )
        return Practice(replays, named or (AS_LOGGED,), (), of, memory)
    if isinstance(behaviors, Controller):
        if len(named) > 1:
            raise LogError(
                f"{source}: names {len(named)} behaviors ({listing(named)}), but there is one "
                f"controller, {printable(behaviors.name)}. Give one for each (--policy NAME=FILE, "
                "once for each). If it made all episodes, leave the column out: "
                "dataclasses.replace(log, behavior=None)."
            )
        named, behaviors = (behaviors.name,), {behaviors.name: behaviors}
    if not behaviors:
        raise ParameterError(
            "behaviors: expected a controller, several, or a mapping from names to controllers; "
            "None where the log has propensities."
        )
    if not named and len(behaviors) > 1:
        raise LogError(
            f"{source}: {len(behaviors)} controllers ({listing(behaviors)}), but the log does not "
            "say which of them made which episode. Name the column that does: "
            "columns={'behavior': ...} (--columns behavior=...)."
        )
    named = named or tuple(behaviors)
    missing = [name for name in named if name not in behaviors]
    if missing:
        raise LogError(
            f"{source}: the log names behaviors without a controller: {listing(missing)}. The "
            f"controllers are {listing(behaviors)}. Give one for each (--policy NAME=FILE)."
        )
    first, *others = (behaviors[name] for name in named)
    alike = first, *(_numbered_like(first, other) for other in others)
    replays = replays.align(first.observations, first.actions)
    return Practice(replays, named, alike, of, memory)


def _numbered_like(first: Controller, other: Controller) -> Controller:
    """The other controller, its names numbered as the first one numbers them."""
    document = None
    for kind in ("observations", "actions"):
        wanted, found = getattr(first, kind), getattr(other, kind)
        if wanted == found:
            continue
        if set(wanted) != set(found):
            extra = sorted(set(wanted) ^ set(found))
            raise ControllerError(
                f"{printable(first.name)} and {printable(other.name)} do not have the same "
                f"{kind}: only one of them knows {listing(extra)}. Add it to the other."
            )
        document = document or controller_to_document(other)
        document[kind] = list(wanted)  # a document is written in names, so their order is free
    return controller_from_document(document, other.name) if document else other
