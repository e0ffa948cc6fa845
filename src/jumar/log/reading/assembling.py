"""From rows in order to Episodes: what is missing, what a step pays, and how an episode ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from jumar.core.arrays import ALIKE, Array, Bools, Floats, Ints
from jumar.core.errors import LogError, not_one_of
from jumar.core.reading import LogReading
from jumar.core.text import counted, printable
from jumar.log.episodes import SIGNAL, UNKNOWN, Episodes, Labels, Origin, not_a_chance
from jumar.log.problems import Problems
from jumar.log.reading.amounts import Amounts
from jumar.log.reading.columns import Coded
from jumar.log.reading.options import COMBINED, ReadOptions
from jumar.log.reading.ordering import Arranged
from jumar.log.reading.parts import Parts
from jumar.log.reading.symbols import (
    DROP,
    OF_EPISODES,
    PARTLY,
    combined,
    named_missing,
    nameless,
    numbered,
    of_episodes,
)

SEPARATORS = {"commas": ",", "tabs": "\t", "semicolons": ";", "bars": "|"}  # as sources call them
Named: TypeAlias = Mapping[str, tuple[tuple[str, ...], Array]]  # by part: names, (N,) numbers
SYMBOL = "missing='symbol' (--missing symbol) to call it 'missing'"


def assemble(log: Arranged, options: ReadOptions) -> Episodes:
    """The rows as Episodes."""
    log, symbols = _without_missing(log, options)
    problems = Problems()
    _check_holes(log, symbols, problems)
    named = {
        part: numbered(log, part, symbols[part], options.given(part), problems) for part in COMBINED
    }
    check_ends(log.rows.source.name, log.rows.parts.single.get("terminated"), options, problems)
    acted = symbols["action"].code >= 0
    for part, name, amounts in _amounts(log):
        _check_amounts(log, part, name, amounts, acted, problems)
    problems.check()
    z, a = (code for _, code in named.values())
    last = log.first[1:] - 1
    is_step = a != UNKNOWN  # the others only carry a final observation
    steps = slice(None) if is_step.all() else np.flatnonzero(is_step)
    lengths = np.diff(log.first) - ~is_step[last]
    problems.each(
        np.flatnonzero(lengths == 0),
        lambda e: (
            f"{log.where(int(last[e]))}: the episode has no steps, only a final observation.",
            "Leave it out.",
        ),
    )
    problems.check()
    for part, _, amounts in _amounts(log):
        if part != "number":
            _check_idle(log, part, amounts, is_step, problems)
    reward = _rewards(log, options, named, problems)[steps]
    terminated = _terminated(log, options, is_step, log.first[:-1] + lengths - 1, problems)
    final = np.where(is_step[last], UNKNOWN, z[last])
    problems.each(
        np.flatnonzero(terminated & (final != UNKNOWN)),
        lambda e: (
            f"{log.where(int(last[e]))}: an observation follows a step that is marked terminated.",
            "Drop the row, or the mark.",
        ),
    )
    node, propensity = log.rows.node, log.rows.propensity
    labels = {part: of_episodes(log, part, problems) for part in OF_EPISODES}
    problems.check()
    return Episodes(
        named["observation"][0],
        named["action"][0],
        z[steps],
        a[steps],
        reward,
        np.concatenate([[0], np.cumsum(lengths)]),
        final,
        terminated,
        _origin(log, options, steps),
        None if node is None else Labels(tuple(node.names), node.code[steps]),
        None if propensity is None else np.minimum(propensity.values, 1.0)[steps],
        **labels,
        signals={
            name: (0.0 - amounts.values if name in options.cost_signals else amounts.values)[steps]
            for name, amounts in log.rows.signals.items()
        },
        propensity_draws=options.propensity_draws,
    )


def _origin(log: Arranged, options: ReadOptions, steps: Any) -> Origin:
    rows = log.rows
    return Origin(
        rows.source.name,
        rows.row[steps],
        log.labels,
        replace(log.remarks, cost_signals=options.cost_signals),
        columns_of(rows.parts),
        options.cost is not None,
        reading_of(rows.parts, options, rows.source.separator),
        rows.source.files,
    )


def columns_of(parts: Parts) -> dict[str, tuple[str, ...]]:
    """The columns behind every part."""
    single = {part: (name,) for part, name in parts.single.items()}
    single |= {SIGNAL + name: (column,) for name, column in parts.signals.items()}
    return {**single, "observation": parts.observation, "action": parts.action}


def reading_of(parts: Parts, options: ReadOptions, separator: str = "") -> LogReading:
    """What a program needs to know to read such rows one by one."""
    return options.reading(
        {part: parts.of(part) for part in COMBINED},
        parts.single.get("episode"),
        SEPARATORS.get(separator, ","),
        options.decimal or ".",
    )


# ---- missing values -----------------------------------------------------------------------------


def _without_missing(log: Arranged, options: ReadOptions) -> tuple[Arranged, dict[str, Coded]]:
    """The log with what is to be done about missing values; its observations and actions."""
    if options.missing == "symbol":
        log = _with_a_symbol(log)
    if options.missing_reward is not None and log.rows.reward is not None:
        log = _with_rewards(log, log.rows.reward, options.missing_reward)
    symbols = {part: combined(log, part, getattr(log.rows, part)) for part in COMBINED}
    return _without_holes(log, symbols) if options.missing == "drop" else (log, symbols)


def _with_a_symbol(log: Arranged) -> Arranged:
    columns = log.rows.observation
    replaced = int(np.stack([column.code == UNKNOWN for column in columns]).any(0).sum())
    if not replaced:
        return log
    rows = replace(log.rows, observation=tuple(map(named_missing, columns)))
    return replace(log, rows=rows, remarks=replace(log.remarks, replaced=replaced))


def _with_rewards(log: Arranged, reward: Amounts, amount: float) -> Arranged:
    """The log with an amount where the reward is missing."""
    step = np.ones(len(log.rows), np.bool_)
    for column in log.rows.action:
        step &= column.code != UNKNOWN
    holes = reward.missing & step
    if not holes.any():
        return log
    filled = Amounts(np.where(holes, amount, reward.values), reward.missing & ~holes)
    count = f"whose reward is missing at {counted(int(holes.sum()), 'step')}, where it is"
    guessed = (*log.remarks.guessed, f"{count} {amount:g} (as given)")
    return replace(
        log,
        rows=replace(log.rows, reward=filled),
        remarks=replace(log.remarks, guessed=guessed),
    )


def _early(log: Arranged, action: Array) -> Bools:
    """(N,) rows without an action that are not the last of their episode."""
    early: Bools = action < 0
    last = log.first[1:] - 1
    early[last] = action[last] == PARTLY
    return early


def _amounts(log: Arranged) -> Iterator[tuple[str, str, Amounts]]:
    """The columns of numbers: the part in words, the column, what is in it."""
    rows, single = log.rows, log.rows.parts.single
    yield from (("number", name, amounts) for name, amounts in rows.priced.items())
    for part, amounts in (("reward", rows.reward), ("propensity", rows.propensity)):
        if amounts is not None:
            yield part, single[part], amounts
    for name, amounts in rows.signals.items():
        yield f"signal {printable(name)!r}", rows.parts.signals[name], amounts


def _without_holes(log: Arranged, symbols: dict[str, Coded]) -> tuple[Arranged, dict[str, Coded]]:
    z, a = symbols["observation"].code, symbols["action"].code
    holes = (z == UNKNOWN) | _early(log, a)
    for _, _, amounts in _amounts(log):
        holes |= np.isnan(amounts.values) & (a != UNKNOWN)
    for gone in nameless(log):
        holes[log.first[:-1]] |= gone
    dropped = np.logical_or.reduceat(holes, log.first[:-1])
    if not dropped.any():
        return log, symbols
    if dropped.all():
        raise LogError(
            f"{log.rows.source.name}: every episode has a missing value, so missing='drop' "
            f"(--missing drop) leaves nothing; the first is in "
            f"{log.rows.row_words(int(np.flatnonzero(holes)[0]))}. Fill in the values, or choose "
            "columns that are complete."
        )
    kept = np.repeat(~dropped, np.diff(log.first))
    return log.without(dropped), {part: coded.take(kept) for part, coded in symbols.items()}


def _check_holes(log: Arranged, symbols: Mapping[str, Coded], problems: Problems) -> None:
    last = " Only the last row of an episode that was cut off may have none."
    for part, holes, more, remedy in (
        ("observation", symbols["observation"].code == UNKNOWN, "", f"{SYMBOL} or {DROP}"),
        ("action", _early(log, symbols["action"].code), last, DROP),
    ):
        absent = np.flatnonzero(holes)
        if len(absent):
            i, all_ = int(absent[0]), log.rows.so_in_all(absent)
            which = _which_column(log, part, i)
            problems.add(
                f"{log.where(i)}: the {part} is missing{which}.{more}{all_}",
                f"Fill it in, or say {remedy}.",
            )


def _which_column(log: Arranged, part: str, i: int) -> str:
    """Where an observation of several columns has its hole."""
    names = log.rows.parts.of(part)
    if len(names) == 1:
        return ""
    columns: tuple[Coded, ...] = getattr(log.rows, part)
    name = next(n for n, c in zip(names, columns, strict=True) if c.code[i] == UNKNOWN)
    return f" (column {printable(name)!r})"


# ---- rewards ------------------------------------------------------------------------------------


def _check_amounts(
    log: Arranged, part: str, name: str, amounts: Amounts, is_step: Bools, problems: Problems
) -> None:
    """Every step brings its number."""
    values, missing = amounts.values, amounts.missing
    absent = np.flatnonzero(missing & is_step)
    if len(absent):
        zero = "missing_reward=0 (--missing-reward 0) if such a step pays nothing, or "
        problems.add(
            f"{log.rows.cell(int(absent[0]), name)}: the {part} is missing."
            f"{log.rows.so_in_all(absent)}",
            f"Fill it in, or say {zero if part == 'reward' else ''}{DROP}.",
        )
    rule = "rewards must be finite numbers" if part == "reward" else "it must be finite"
    remedy = "Write the amount itself; leave the cell empty if nobody knows."
    wrong = ~np.isfinite(values)
    if part == "propensity":
        wrong = ~((values > 0) & (values <= 1 + ALIKE))

    def problem(i: int) -> tuple[str, str]:
        cell = log.rows.cell(int(i), name)
        if part == "propensity":
            return f"{cell}: {not_a_chance(values[i])}", ""
        return f"{cell}: {part} is {values[i]}; {rule}.", remedy

    problems.each(np.flatnonzero(is_step & ~missing & wrong), problem)


def _check_idle(
    log: Arranged, part: str, amounts: Amounts, is_step: Bools, problems: Problems
) -> None:
    """Where nothing was done, nothing is paid."""
    problems.each(
        np.flatnonzero(~is_step & (np.nan_to_num(amounts.values) != 0)),
        lambda i: (
            f"{log.where(int(i))}: there is a {part} but no action.",
            f"Write what was done; or leave the {part} out, if the row only tells what was seen in "
            "the end.",
        ),
    )


def _rewards(log: Arranged, options: ReadOptions, named: Named, problems: Problems) -> Floats:
    """(N,) what every row pays."""
    reward = log.rows.reward
    if reward is None:
        return _priced(log, options, named, problems)
    return 0.0 - reward.values if options.cost else reward.values


def _priced(log: Arranged, options: ReadOptions, named: Named, problems: Problems) -> Floats:
    """Rewards of a log that has none: the sum of what things cost and pay."""
    pays = {
        kind: (names, np.zeros(len(names) + 1), code)  # the last is for what is UNKNOWN
        for kind, (names, code) in named.items()
    }
    total = np.zeros(len(log.rows))
    for price in options.priced:
        if price.kind == "column":
            total += price.amount * np.nan_to_num(log.rows.priced[price.name].values)
            continue
        names, amounts, _ = pays[price.kind]
        if price.name in names:
            amounts[names.index(price.name)] = price.amount
        else:
            unknown = not_one_of(price.kind, price.name, names)
            problems.add(f"{log.rows.source.name}: prices: {unknown}")
    for _, amounts, code in pays.values():
        if amounts.any():
            total += amounts[code]
    return total


# ---- endings ------------------------------------------------------------------------------------


def check_ends(source: str, column: str | None, options: ReadOptions, problems: Problems) -> None:
    """Something must say what the end of an episode means, and only one thing may: a column of the
    log, or who reads it."""
    if column is None and options.ends is None:
        problems.add(
            f"{source}: there is no column 'terminated', so it is not clear what the end of an "
            "episode means.",
            "Add the column, or say ends='terminated' (--ends terminated: the process ended by "
            "itself) or ends='cut' (--ends cut: the recording stopped).",
        )
    if column is not None and options.ends is not None:
        problems.add(
            f"{source}: the column {printable(column)!r} says how each episode ends.",
            f"Leave out ends={options.ends!r}, or the column.",
        )


def _terminated(
    log: Arranged, options: ReadOptions, is_step: Bools, last_step: Ints, problems: Problems
) -> Bools:
    """(E,) whether the process ended with the last step."""
    flags = log.rows.terminated
    if flags is None:
        # an episode with a closing row was cut off, whatever is said of the others; so was one
        # that goes on after a gap
        carries_on = ~np.append(is_step, True)[last_step + 1]
        ended: Bools = ~carries_on & ~log.split & (options.ends == "terminated")
        return ended
    marked: Bools = flags[last_step]
    elsewhere = flags.copy()
    elsewhere[last_step] = False

    def problem(i: int) -> tuple[str, str]:
        if is_step[i]:
            fact, remedy = "the episode goes on.", "Start a new episode after an ending."
        else:
            fact = "has no action."
            remedy = "Mark the step with which the process ended, and drop this row."
        return f"{log.where(int(i))}: marked terminated, but {fact}", remedy

    problems.each(np.flatnonzero(elsewhere), problem)
    return marked
