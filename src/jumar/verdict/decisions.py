"""What an improvement decides, history state by history state, and why.

The total gain in the estimated model splits exactly over the history states (the performance
difference lemma):

    ρ(new) - ρ(behavior) = Σ_h d(h) g(h),    g(h) = Σ_a (π_new - π_b)(a|h) Q_b(h, a)

with Q_b the behavior's action values and d the discounted number of times the new controller comes
to h. g(h) is what the new controller wins each time it meets h, and d(h) g(h) is its part of the
whole, told as a share of all parts above 0: else one could be 300 %.
A history state that stays as it was contributes exactly 0.

This serves to order decisions and to tell their parts of the gain in percent. It is no estimate of
an amount: how much the whole brings is told by held-out episodes (`verdict.gain`). The model
counts up to where recordings stop: with c the share of steps after which one was cut off, what
follows a step counts γ(1 - c). An action that was never tried in h is taken to be worth what is
done there instead, and a history state of which nothing is known what the others are on average. So
neither an unknown pair nor a shift of all rewards moves the order.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from jumar.algorithms import ALGORITHMS, Algorithm, trusted_from
from jumar.core.arrays import ROUNDING, Bools, Floats, Frozen, Ints
from jumar.core.text import Shown, percent, shown, times
from jumar.memory.frames import Framed, history_state_columns
from jumar.policy.words import action_lines, history_state_heads, history_state_words
from jumar.solve.linear import solve_discounted
from jumar.solve.nouns import Improvement
from jumar.solve.solver import tried_values
from jumar.tally.replay import Replays
from jumar.verdict.alike import alike
from jumar.verdict.kept import Heeded

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a formula begins with


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(Frozen, Shown, Framed):
    """One entry per history state of the model, in the order of the model.

    As a table (`to_pandas`, `to_polars`, `to_arrow`) the most telling come first.
    """

    improvement: Improvement
    gain: Floats  # (H,) g(h): won each time h is met, by the model
    share: Floats  # (H,) d(h) g(h), as parts of all that is won; 0 where half of it is lost again
    met: Floats  # (H,) d(h): discounted number of times the new controller comes here
    q: Floats  # (H, A) the behavior's action values in the model
    # by history state that changes: actions that the data cannot tell apart, the preferred first
    alike: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    meant: Floats | None = None  # (H, A) the behavior without exceptions, where that is known
    left_out: frozenset[int] = frozenset()  # changes that were taken back to keep the rule simple
    heeded: Heeded | None = None  # kept signals that counted when the changes were made

    @property
    def summary(self) -> str:
        return f"{int(self.changed.sum()):,} of {len(self.gain):,} situations change"

    @cached_property
    def changed(self) -> Bools:
        """(H,) does h change?"""
        found: Bools = (self.improvement.policy != self.improvement.behavior_policy).any(1)
        return found

    @cached_property
    def worth(self) -> Floats:
        """(H,) what the behavior is worth from h on, by the model."""
        found: Floats = (self.improvement.behavior_policy * self.q).sum(1)
        return found

    @cached_property
    def visits(self) -> Ints:
        """(H,) steps of the log in h whose outcome is known."""
        total: Ints = self.improvement.mdp.visits.sum(1).astype(np.int64)
        return total

    @cached_property
    def order(self) -> Ints:
        """(H,) most telling first: what changed, by its share of the gain, then by visits."""
        order: Ints = np.lexsort([-self.visits, -self.share, ~self.changed])
        return order

    @property
    def threshold(self) -> float:
        """A pair counts as known when it was seen more often than this."""
        said = trusted_from(self.improvement)
        if said is not None:
            return float(said)
        return float(self._entry.least_visits) if self._entry else 0.0

    @property
    def _entry(self) -> Algorithm | None:
        """What the registry knows of the algorithm."""
        return ALGORITHMS.get(self.improvement.algorithm)

    def history_state(self, h: int) -> list[str]:
        """⟨n, z⟩ in words, one text for each of `heads`."""
        return history_state_words(self.improvement.controller, self.improvement.mdp.states[h])

    @property
    def heads(self) -> list[str]:
        """The titles of the texts of a history state."""
        return history_state_heads(self.improvement.controller.memory)

    def actions_at(self, h: int, *, new: bool) -> str:
        """What the old or the new controller does at h, in words."""
        chosen = self.improvement
        row = (chosen.policy if new else chosen.behavior_policy)[h]
        rare = self.exceptions(h, row)
        done = ", ".join(action_lines(chosen.controller.actions, np.where(rare, 0.0, row)))
        return f"{done} (rest: exceptions)" if rare.any() else done

    def change(self, h: int) -> list[str]:
        """What was done at h and what will be, one line per action, all exceptions in one."""
        chosen = self.improvement
        new, old = chosen.policy[h], chosen.behavior_policy[h]
        rare = self.exceptions(h, old) & (new <= old)
        lines = action_lines(
            chosen.controller.actions, np.where(rare, 0.0, new), np.where(rare, 0.0, old)
        )
        if rare.any():
            before, after = (percent(float(row[rare].sum())) for row in (old, new))
            lines.append(f"exceptions {before}" + ("" if before == after else f" → {after}"))
        return lines

    def exceptions(self, h: int, row: Floats) -> Bools:
        """(A,) the actions of a row at h that the behavior does only by exception."""
        if self.meant is None:
            return np.zeros(len(row), np.bool_)
        found: Bools = (
            (self.meant[h] == 0) & (row > 0) & (row <= self.improvement.behavior_policy[h])
        )
        return found

    def only_exceptions(self, h: int) -> bool:
        """Does h change in nothing but fewer exceptions?"""
        moved = self.improvement.policy[h] - self.improvement.behavior_policy[h]
        if self.meant is None or not self.changed[h]:
            return False
        less, more = moved < 0, moved > 0
        return bool((self.meant[h][less] == 0).all() and (self.meant[h][more] > 0).all())

    def share_text(self, h: int) -> str:
        """Its part of the gain in percent, by the model; empty where it has none."""
        return percent(float(self.share[h])) if self.changed[h] and self.share[h] > 0 else ""

    def why(self, h: int) -> str:
        """Why h changes, or why it stays as it is, as one sentence."""
        rare = self.exceptions(h, self.improvement.policy[h])
        kept = "; exceptions stay, as too little is known about them" if rare.any() else ""
        return self._reason(h) + kept

    def _reason(self, h: int) -> str:
        chosen, N = self.improvement, self.threshold
        actions, visits = chosen.controller.actions, chosen.mdp.visits[h]
        new, old = chosen.policy[h], chosen.behavior_policy[h]
        if self.changed[h]:
            up = int(np.argmax(new - old))
            tried = f"{shown(actions[up])!r} was tried {times(int(visits[up]))} here"
            if self.only_exceptions(h):
                tried = f"fewer exceptions: {shown(actions[up])!r} is what your policy means to do"
            elif h in self.alike:
                names = [repr(shown(actions[a])) for a in self.alike[h]]
                tried = f"no difference in {self.compared} between {', '.join(names)}"
            return f"{tried}; {self._what_it_brings(h, up)}"
        if h in self.left_out:
            return "a change here would bring little: it was left out to keep the policy simple"
        if self._entry and self._entry.words.kept:
            return self._entry.words.kept(bool(self.changed.any()))
        known = np.flatnonzero(visits > N)
        seldom = f"{times(int(N))} or less"
        if len(known) == 0:
            return (
                "no action was ever tried here"
                if N == 0
                else f"every action was tried {seldom} here: too little to learn from"
            )
        if len(known) == 1 and N > 0:
            only = shown(actions[int(known[0])])
            return f"only {only!r} was tried more than {times(int(N))}: nothing to compare it with"
        if len(known) == 1:
            return f"only {shown(actions[int(known[0])])!r} was ever tried: nothing to compare"
        if len(known) < len(actions):
            tried = "ever tried" if N == 0 else f"tried more than {times(int(N))}"
            return f"your policy already does the best of what was {tried}"
        return "your policy already does the best that is admitted"

    @property
    def compared(self) -> str:
        """By what actions are alike (`alike`): all that the log tells, unless signals counted."""
        return shown(self.heeded.objective) if self.heeded else "the data"

    @property
    def _rounding(self) -> float:
        """Values that differ by less do not differ."""
        return ROUNDING * float(np.abs(self.q).max())

    def _what_it_brings(self, h: int, up: int) -> str:
        """Of a change: what it is worth by itself, or what else it is made for."""
        chosen, gain = self.improvement, float(self.gain[h])
        moved = chosen.policy[h] - chosen.behavior_policy[h]
        if self.heeded and abs(gain) <= self._rounding:
            gain = 0.0
        if gain > 0:
            return f"in the model, this alone is better{self._rather_than(h, up)}"
        sake = self.heeded.sake(h, moved, gain) if self.heeded else None
        if self.heeded is None or sake is None:
            # worth it only if the rest of the new controller follows
            return "it pays off together with the other changes"
        worth = "the old way is better" if gain < 0 else "it makes no difference"
        name = shown(chosen.controller.actions[up])
        return (
            f"by {shown(self.heeded.objective)} alone {worth}, but {name!r} is chosen for the sake "
            f"of {shown(sake)}"
        )

    def _rather_than(self, h: int, up: int) -> str:
        """What the objective alone would rather have done more often, if a kept signal forbade
        it."""
        known = self.improvement.mdp.visits[h] > self.threshold
        if self.heeded is None or not known.any():
            return ""
        best = int(np.argmax(np.where(known, self.q[h], -np.inf)))
        instead = np.zeros(len(known))
        instead[[up, best]] = 1.0, -1.0
        lost = float(self.q[h, best] - self.q[h, up])
        if lost <= self._rounding:
            return ""
        sake = self.heeded.sake(h, instead, -lost)
        if sake is None:
            return ""
        names = self.improvement.controller.actions
        return (
            f"; by {shown(self.heeded.objective)} alone {shown(names[best])!r} would be better, "
            f"but {shown(names[up])!r} is chosen for the sake of {shown(sake)}"
        )

    def thin(self) -> list[Thin]:
        """Where more data could change the answer: actions tried too seldom to be trusted. First
        those that look better than the old controller so far, then those never tried, then those
        that look worse; of equal ones, those of the history states met most."""
        chosen = self.improvement
        visits, N = chosen.mdp.visits, self.threshold
        found = []
        for h, a in np.argwhere(visits <= N).tolist():
            tried = int(visits[h, a])
            promise = float(self.q[h, a] - self.worth[h]) if tried else None
            found.append(Thin(h, a, tried, int(N) + 1 - tried, promise, int(self.visits[h])))
        return sorted(
            found,
            key=lambda t: (
                -max(0.0, t.promise or 0.0) * self.met[t.h],
                t.promise is not None,
                -t.visits,
                t.h,
                t.a,
            ),
        )

    def to_arrow(self) -> Any:
        """One row per history state, the most telling first, as a table of pyarrow: how often it
        was seen, what each action's probability was (old) and is (new), how often it was tried,
        its part of the gain by the model, and why."""
        import pyarrow as pa

        chosen, order = self.improvement, self.order
        mdp, actions = chosen.mdp, chosen.controller.actions
        by_action = {
            f"{kind}: {action}": values[order, a]
            for kind, values in (
                ("old", chosen.behavior_policy),
                ("new", chosen.policy),
                ("tried", mdp.visits.astype(np.int64)),
            )
            for a, action in enumerate(actions)
        }
        states = history_state_columns(mdp.memory, mdp.states[order], mdp.observations, actions)
        return pa.table(
            {
                **states,
                "changed": self.changed[order],
                "times_seen": self.visits[order],
                **by_action,
                "share_of_the_gain": self.share[order],
                "why": [self.why(h) for h in order.tolist()],
            }
        )

    def rows(
        self, verdict: str, *, gains: bool = True, untold: bool = False
    ) -> Iterator[list[str | int]]:
        """The head, and one row per history state, for a spreadsheet. Each row repeats the verdict
        on the whole, because rows get copied elsewhere. Without `gains`, nothing is said of them,
        nor why; where nothing can be relied on, what the new policy would do is left `untold`."""
        chosen = self.improvement
        yield [
            *self.heads,
            "changed",
            "old",
            "new",
            "times seen",
            *(f"tried: {shown(action)}" for action in chosen.controller.actions),
            "share of the gain",
            "why",
            "verdict on the whole",
        ]
        for h in self.order.tolist():
            yield [
                *self.history_state(h),
                "" if untold else "yes" if self.changed[h] else "no",
                self.actions_at(h, new=False),
                "" if untold else self.actions_at(h, new=True),
                int(self.visits[h]),
                *(int(n) for n in chosen.mdp.visits[h]),
                self.share_text(h) if gains else "",
                self.why(h) if gains or not (untold or self.changed[h]) else "",
                verdict,
            ]

    def to_csv(self, verdict: str, *, gains: bool = True, untold: bool = False) -> str:
        """The same as text; see `rows`."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        for row in self.rows(verdict, gains=gains, untold=untold):
            writer.writerow([_cell(x) if isinstance(x, str) else x for x in row])
        return file.getvalue()


@dataclass(frozen=True)
class Thin:
    """An action that was tried too seldom in a history state to be trusted there."""

    h: int
    a: int
    tried: int
    missing: int  # more tries that would make it count
    promise: float | None  # above 0: it looks better so far than the old policy; None: never tried
    visits: int  # times h was met


def decide(
    improvement: Improvement,
    replays: Replays | None = None,
    meant: Floats | None = None,
    left_out: Ints | None = None,
    heeded: Heeded | None = None,
    stopping: float = 0.0,
) -> Decisions:
    """What an improvement decides in every history state of its model. `replays` of its log tell
    which actions the data cannot tell apart; `meant` (H, A) is the behavior without exceptions;
    `left_out` (K, W+1) are history states whose change was taken back to keep the rule simple;
    `heeded` are kept signals that counted when it was made; `stopping` is the share of steps after
    which a recording was cut off."""
    mdp, new, old = improvement.mdp, improvement.policy, improvement.behavior_policy
    γ = mdp.discount * (1 - stopping)
    q = tried_values(mdp, old, γ)
    gain = ((new - old) * q).sum(1)
    weight = γ * mdp.probability * new.ravel()[mdp.pair]
    source = mdp.pair // len(mdp.actions)
    met = solve_discounted(source, mdp.successor, weight, mdp.start, transpose=True)
    whole = float(met @ gain)
    won = float((met * gain).clip(0).sum())
    # where the model takes back most of what it finds elsewhere, it has no parts of a gain to tell
    share = met * gain / won if whole > won / 2 else np.zeros(len(mdp))
    same = {} if replays is None else alike(replays.over(mdp.memory), improvement)
    found = () if left_out is None else mdp.index.find(left_out).tolist()
    kept = frozenset(h for h in found if h >= 0)
    made = Decisions(improvement, gain, share, met, q, same, meant, kept, heeded)
    # to do as one means to needs no other reason
    return replace(
        made, alike={h: group for h, group in same.items() if not made.only_exceptions(h)}
    )


def _cell(text: str) -> str:
    """Text that a spreadsheet takes for text: a leading = + - @ would make it a formula, and some
    take the wide forms of these for the same."""
    return "'" + text if unicodedata.normalize("NFKC", text[:1]) in _FORMULA else text
