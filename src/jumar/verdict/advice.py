"""A policy in words that people can follow: one action, or either of two; and rules.

"Inspect 62.3 % of the time" is for machines: `decisions.csv` and the programs keep it.

A rule is a box: for every part of what is remembered and seen (each column of each moment) a set of
values. Situations of the log lie in a box or not. Boxes are grown around changes, the most telling
first, part by part and the oldest first, as long as each combination in it is a situation of the
log in which the new policy does the same, for sure. So the rules say neither more nor less than the
new policy: elsewhere, do as today.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from jumar.core.names import JOINT, NOTHING
from jumar.core.reading import Bins, LogReading
from jumar.core.text import plural, shown
from jumar.memory import Memory
from jumar.memory.kinds import Product, Window
from jumar.verdict.decisions import Decisions

SURE = 0.98  # of the time: what people call always
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


# ---- one action ---------------------------------------------------------------------------------


def done_today(made: Decisions, h: int) -> str:
    """What the old policy does, without how often."""
    row = made.improvement.behavior_policy[h]
    row = np.where(made.exceptions(h, row), 0.0, row)
    order = np.argsort(-row, kind="stable")
    often = [a for a in order.tolist() if row[a] >= 0.5 * row.max()]
    said = " or ".join(_named(made, a) for a in often[:4]) + " or others" * (len(often) > 4)
    rest = float(row.sum() - row[often].sum())
    return said if rest < 1 - SURE else f"mostly {said}"


def advised(made: Decisions, h: int) -> str:
    """What people are to do: one action, or either where the log tells no difference."""
    old, new = made.improvement.behavior_policy[h], made.improvement.policy[h]
    up = int(np.argmax(new - old))
    if h in made.alike:
        return "either " + " or ".join(_named(made, a) for a in made.alike[h])
    name, sure = _named(made, up), bool(new[up] >= SURE)
    if made.only_exceptions(h):
        return f"{name}, {'without' if sure else 'with fewer'} exceptions"
    if done_today(made, h) in (name, f"mostly {name}"):  # else it would look like no change
        return f"always {name}" if sure else f"{name} more often"
    return name if new[up] == new.max() else f"{name} more often"


def certain(made: Decisions) -> bool:
    """Does every change name one action, so that people can follow the policy that was tested?"""
    return bool((made.improvement.policy[made.changed].max(1) >= SURE).all())


def sentence(made: Decisions, h: int) -> str:
    """A change as one would say it."""
    *before, now = made.history_state(h)
    when = f"When you see “{now}”" + (f" (memory: {before[0]})" if before else "")
    return f"{when}: {advised(made, h)} (today {done_today(made, h)})."


def _named(made: Decisions, a: int) -> str:
    return shown(made.improvement.controller.actions[a])


# ---- rules --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """What to do in some situations."""

    when: str
    do: str

    def __str__(self) -> str:
        return f"{self.when}: {self.do}."


NODE = -1
START = "the start"


@dataclass(frozen=True)
class Part:
    """A part of a situation: a column at a moment, what was done then, or a node."""

    age: int  # steps ago, 0 for now; or NODE
    name: str  # of the column; empty where there is only one
    bins: Bins | None = None
    done: bool = False

    def said(self, some: frozenset[str], every: Sequence[str]) -> str:
        """A set of values, which is not all of them."""
        prefix = f"{shown(self.name)} " if self.name else ""
        if self.bins is not None and some <= set(self.bins.names):
            return prefix + _range(self.bins, some)
        left = [value for value in every if value not in some]
        texts = [_name(value) for value in every if value in some]
        if len(texts) > 2 and len(left) == 1:
            return f"{prefix}anything but {_name(left[0])}"
        return prefix + " or ".join(texts) + (" was done" if self.done else "")


Box = tuple[frozenset[str], ...]


def rules(made: Decisions, reading: LogReading | None) -> list[Rule]:
    """What changes, in words, the most telling first. Whatever they do not speak of stays."""
    parts, situations = _situations(made, reading)
    every = [list(dict.fromkeys(values)) for values in zip(*situations, strict=True)]
    for i, part in enumerate(parts):
        if part.bins is not None:
            known = part.bins.names
            every[i].sort(key=lambda v: known.index(v) if v in known else -1)
    changed = [h for h in made.order.tolist() if made.changed[h]]
    best = made.improvement.policy.argmax(1).tolist()
    does = {h: advised(made, h) if h in made.alike else _named(made, best[h]) for h in changed}
    for h in np.flatnonzero(~made.changed).tolist():
        row = made.improvement.policy[h]
        if row.max() >= 1.0:  # a rule that takes it along says what is done anyway
            does[h] = _named(made, best[h])
    found: list[Rule] = []
    covered: set[tuple[str, ...]] = set()
    for h in changed:
        if situations[h] in covered:
            continue
        same = {situations[i] for i, what in does.items() if what == does[h]}
        box = _grown(situations[h], parts, every, same)
        covered |= {s for s in same if _inside(s, box)}
        found.append(Rule(_when(parts, box, every), does[h]))
    return found


def _grown(
    around: tuple[str, ...],
    parts: Sequence[Part],
    every: Sequence[Sequence[str]],
    same: set[tuple[str, ...]],
) -> Box:
    box: Box = tuple(frozenset([value]) for value in around)

    def allowed(wider: Box) -> bool:
        return sum(_inside(s, wider) for s in same) == _possible(parts, wider)

    for i, part in enumerate(parts):
        if allowed(whole := _with(box, i, frozenset(every[i]))):
            box = whole
            continue
        at = every[i].index(around[i])
        for way in (range(at + 1, len(every[i])), range(at - 1, -1, -1)):
            for j in way:
                if allowed(wider := _with(box, i, box[i] | {every[i][j]})):
                    box = wider
                elif part.bins is not None:
                    break  # a range has no holes
    return box


def _with(box: Box, i: int, values: frozenset[str]) -> Box:
    return *box[:i], values, *box[i + 1 :]


def _inside(situation: tuple[str, ...], box: Box) -> bool:
    return all(value in some for value, some in zip(situation, box, strict=True))


def _possible(parts: Sequence[Part], box: Box) -> int:
    """How many situations a box may hold: where a moment is not yet there, none before it is."""
    oldest = max(part.age for part in parts)
    return sum(
        prod(
            (NOTHING in some) if part.age > begun else len(some - {NOTHING})
            for part, some in zip(parts, box, strict=True)
        )
        for begun in range(oldest + 1)
    )


def _situations(
    made: Decisions, reading: LogReading | None
) -> tuple[list[Part], list[tuple[str, ...]]]:
    """The parts of every situation, the oldest first, and what each is, by the number of h."""
    mdp, controller = made.improvement.mdp, made.improvement.controller
    columns = reading.observation if reading else ()
    if any(len(z.split(JOINT)) != len(columns) for z in controller.observations):
        columns = ()  # one name for all that is seen

    def seen(z: str, age: int) -> Iterator[tuple[Part, str]]:
        texts = z.split(JOINT) if z and columns else [z] * max(1, len(columns))
        for i, text in enumerate(texts):
            name = columns[i].name if columns and (len(columns) > 1 or columns[i].bins) else ""
            yield Part(age, name, columns[i].bins if columns else None), text

    def remembered(memory: Memory, value: Any) -> Iterator[tuple[Part, str]]:
        if isinstance(memory, Product):
            for part, item in zip(memory.parts, value, strict=True):
                yield from remembered(part, item)
        elif isinstance(memory, Window):
            for age, moment in zip(range(len(value), 0, -1), value, strict=True):
                z, *done = [moment] if isinstance(moment, str) else moment
                yield from seen(z, age)
                yield from ((Part(age, "", done=True), a) for a in done)
        elif memory.width:
            yield Part(NODE, ""), memory.speak(value)

    names = controller.observations, controller.actions
    found = [
        [
            *remembered(mdp.memory, mdp.memory.read_node(state[:-1], *names)),
            *seen(names[0][int(state[-1])], 0),
        ]
        for state in mdp.states
    ]
    return [part for part, _ in found[0]], [tuple(text for _, text in each) for each in found]


# ---- words --------------------------------------------------------------------------------------


def _when(parts: Sequence[Part], box: Box, every: Sequence[Sequence[str]]) -> str:
    """The situations of a box in words."""
    said: dict[int, list[str]] = {}
    for part, some, values in zip(parts, box, every, strict=True):
        if len(some) < len(values):
            said.setdefault(part.age, []).append(part.said(some, values))
    node = said.pop(NODE, [])
    memory = f" (memory: {'; '.join(node)})" if node else ""
    moments = {age: " and ".join(texts) for age, texts in said.items()}
    if len(moments) > 1 and set(moments) == set(range(len(moments))):
        (now, *others) = set(moments.values())
        if not others:
            return f"After {_number(len(moments))} readings of {now} in a row{memory}"
    now = moments.pop(0, "")
    head = f"When you see {now}" if now else "Whatever you see"
    past = [
        "at the start" if texts == START else f"{_steps(age)} after {texts}"
        for age, texts in sorted(moments.items())
    ]
    return ", ".join([head, *past]) + memory


def _steps(age: int) -> str:
    return f"{_number(age)} {plural('step', age)}"


def _number(n: int) -> str:
    return NAMES[n] if n < len(NAMES) else str(n)


def _name(value: str) -> str:
    return f"“{shown(value)}”" if value else START


def _range(bins: Bins, some: frozenset[str]) -> str:
    """Ranges side by side as one, with the name of a single one."""
    at = sorted(bins.names.index(name) for name in some)
    low = f"{bins.edges[at[0] - 1]:.12g}" if at[0] > 0 else ""
    high = f"{bins.edges[at[-1]]:.12g}" if at[-1] < len(bins.edges) else ""
    said = (
        f"{low} to below {high}" if low and high else f"{low} or more" if low else f"below {high}"
    )
    (first, *more) = [bins.names[i] for i in at]
    named = not more and not any(letter.isdigit() for letter in first)
    return f"{shown(first)} ({said})" if named else said
