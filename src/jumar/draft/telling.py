"""A draft read back in plain words, so that a person sees at once what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.names import JOINT, WILDCARD
from jumar.core.text import counted, number, printable
from jumar.draft.parts import columns_of, words_of
from jumar.draft.rule import patterns
from jumar.log.episodes import Episodes
from jumar.log.reading.options import ROW

if TYPE_CHECKING:
    from jumar.draft.drafting import Draft

MOST_NAMED = 6
LENGTHS = {"365.25d": "year", "30.4375d": "month", "7d": "week", "1d": "day", "1h": "hour"}


def read_back(made: Draft, log: Episodes) -> tuple[str, ...]:
    """What the draft says of a log, as sentences."""
    parts = columns_of(made.proposals)
    return (
        _size(made, log, parts.get("episode", (ROW,))[0]),
        *_seen(made, parts.get("observation", ())),
        *_done(made, log, parts.get("observation", ())),
        _ends(log),
        _paid(made, log),
        *_unused(made),
    )


def _size(made: Draft, log: Episodes, label: str) -> str:
    noun = next(iter(words_of(label)), "episode") if label != ROW else "row"
    noun = noun if noun.isalpha() and noun != "id" else "episode"
    length = LENGTHS.get(made.value("step_length") or "")
    each = f", one row per {length}" if length else ""
    if label == ROW or (log.lengths == 1).all():
        return f"{counted(len(log), noun)}, each by itself."
    return f"{counted(len(log), noun)} of {log.n_steps / len(log):.3g} rows on average{each}."


def _seen(made: Draft, columns: tuple[str, ...]) -> Iterator[str]:
    cuts = made.value("bins") or {}
    told = [
        f"{printable(name)} in {counted(len(cuts[name]) // 2 + 1, 'range')}"
        if name in cuts
        else printable(name)
        for name in columns
    ]
    if told:
        yield f"A policy sees {_listed(told)}: was all of that known before it acts?"


def _done(made: Draft, log: Episodes, columns: tuple[str, ...]) -> Iterator[str]:
    share = np.bincount(log.action, minlength=len(log.actions)) / log.n_steps
    often = np.argsort(-share)[:MOST_NAMED]
    told = [f"{printable(log.actions[a])} ({100 * share[a]:.2g} %)" for a in often]
    more = ", ..." if len(log.actions) > MOST_NAMED else ""
    yield f"It can do {_listed(told)}{more}."
    if log.propensity is not None:
        yield "How likely each action was stands in the log."
    elif log.behavior is not None:
        names = [printable(name) for name in log.behavior.names[:MOST_NAMED]]
        yield f"{_listed(names)} each had a way of their own, which is read off the log."
    elif made.starter is not None and made.window == 1:
        rule = made.starter
        usual = {
            name: int(rule.usual[z])
            for z, name in enumerate(rule.observations)
            if rule.seen[z] and z not in rule.shares
        }
        lines = patterns(usual, rule.default)
        told = [f"{printable(rule.actions[a])} at {_at(name, columns)}" for name, a, _ in lines]
        if len(lines) <= MOST_NAMED:
            told = [*reversed(told), f"{'else ' if told else ''}{rule.actions[rule.default]}"]
            slips = rule.exploration * (1 - 1 / len(rule.actions))
            other = f"; {100 * slips:.2g} % of the time something else" if slips > 0 else ""
            yield f"Usually it was {_listed(told, '; ')}{other}."


def _at(pattern: str, columns: tuple[str, ...]) -> str:
    """ "high+*" of vibration and noise is vibration high."""
    values = pattern.split(JOINT) if len(columns) > 1 else [pattern]
    each = zip(columns, values, strict=False)
    return " and ".join(f"{printable(c)} {printable(v)}" for c, v in each if v != WILDCARD)


def _ends(log: Episodes) -> str:
    ended, all_ = int(log.terminated.sum()), len(log)
    if ended == all_:
        return "Episodes end by themselves: nothing comes after the last row."
    if ended == 0:
        return "Records stop, and what is recorded goes on: what comes later is not seen."
    return f"{ended:,} of {counted(all_, 'episode')} end by themselves, the others are cut off."


def _paid(made: Draft, log: Episodes) -> str:
    paid: Floats = -log.reward if made.value("cost") else log.reward
    unit = f" {made.value('unit')}" if made.value("unit") else ""
    low, high = number(float(paid.min())), number(float(paid.max()))
    word = "costs" if made.value("cost") else "pays"
    return (
        f"A row {word} {low} to {high}{unit}, {float(f'{paid.mean():.3g}'):g} on average: is that "
        "all that can happen?"
    )


def _unused(made: Draft) -> Iterator[str]:
    """The columns that play no part, those of one reason together."""
    names: dict[str, list[str]] = {}
    for name in made.others:
        names.setdefault(made.aside.get(name, "").partition(":")[0], []).append(printable(name))
    for why, those in names.items():
        yield f"Nobody looks at {_listed(those)}" + (f": {why}." if why else ".")


def _listed(words: list[str], mark: str = ", ") -> str:
    if mark == ", " and len(words) > 1:
        return f"{', '.join(words[:-1])} and {words[-1]}"
    return mark.join(words)
