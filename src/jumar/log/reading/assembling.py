"""From rows in order to Episodes: what is missing, what a step pays, and how an episode ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from jumar.core.arrays import Array, Bools, Floats, Ints
from jumar.core.errors import LogError, not_one_of
from jumar.core.reading import LogReading
from jumar.core.text import counted, printable
from jumar.log.episodes import SIGNAL, UNKNOWN, Episodes, Labels, Origin
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
    propensities,
)

SEPARATORS = {"commas": ",", "tabs": "\t", "semicolons": ";", "bars": "|"}  # as sources call them
SYMBOL = "missing='symbol' (--missing symbol) to call it 'missing'"


def assemble(log: Arranged, options: ReadOptions) -> Episodes:
    """The rows as Episodes."""
    if options.missing == "symbol":
        log = _with_a_symbol(log)
    if options.missing_reward is not None and log.rows.reward is not None:
        log = _with_rewards(log, log.rows.reward, options.missing_reward)
    symbols = {part: combined(log, part, getattr(log.rows, part)) for part in COMBINED}
    if options.missing == "drop":
        log, symbols = _without_holes(log, symbols)
    problems = Problems()
    _check_holes(log, symbols, problems)
    (observations, z), (actions, a) = (
        numbered(log, part, symbols[part], options.given(part), problems) for part in COMBINED
    )
    check_ends(log.rows.source.name, log.rows.parts.single.get("terminated"), options, problems)
    acted = symbols["action"].code >= 0
    for name, amounts in _amounts(log).items():
        part = "reward" if log.rows.reward is not None else "number"
        _check_amounts(log, part, name, amounts, acted, problems)
    for name, amounts in log.rows.signals.items():
        part = f"signal {printable(name)!r}"
        _check_amounts(log, part, log.rows.parts.signals[name], amounts, acted, problems)
    problems.check()
    last = log.first[1:] - 1
    closing = a == UNKNOWN  # rows that only carry a final observation
    is_step = ~closing
    every = not closing.any()
    steps = slice(None) if every else np.flatnonzero(is_step)
    lengths = np.diff(log.first) - closing[last]
    problems.each(
        np.flatnonzero(lengths == 0),
        lambda e: (
            f"{log.where(int(last[e]))}: the episode has no steps, only a final observation.",
            "Leave it out.",
        ),
    )
    problems.check()
    reward = _rewards(log, is_step, options, (observations, z), (actions, a), problems)[steps]
    terminated = _terminated(log, options, is_step, log.first[:-1] + lengths - 1, problems)
    final = np.where(closing[last], z[last], UNKNOWN)
    problems.each(
        np.flatnonzero(terminated & (final != UNKNOWN)),
        lambda e: (
            f"{log.where(int(last[e]))}: an observation follows a step that is marked terminated.",
            "Drop the row, or the mark.",
        ),
    )
    signals = {
        name: _paid(log, f"signal {printable(name)!r}", amounts, is_step, problems)
        for name, amounts in log.rows.signals.items()
    }
    node, propensity = log.rows.node, propensities(log, is_step, problems)
    labels = {part: of_episodes(log, part, problems) for part in OF_EPISODES}
    problems.check()
    return Episodes(
        observations,
        actions,
        z[steps],
        a[steps],
        reward,
        np.concatenate([[0], np.cumsum(lengths)]),
        final,
        terminated,
        Origin(
            log.rows.source.name,
            log.rows.row[steps],
            log.labels,
            replace(log.remarks, cost_signals=options.cost_signals),
            columns_of(log.rows.parts),
            options.cost is not None,
            reading_of(log.rows.parts, options, log.rows.source.separator),
            log.rows.source.files,
        ),
        None if node is None else Labels(tuple(node.names), node.code[steps]),
        None if propensity is None else propensity[steps],
        **labels,
        signals={
            name: (0.0 - values if name in options.cost_signals else values)[steps]
            for name, values in signals.items()
        },
        propensity_draws=options.propensity_draws,
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


def _amounts(log: Arranged) -> dict[str, Amounts]:
    """The columns rewards are made of."""
    rows = log.rows
    if rows.reward is None:
        return dict(rows.priced)
    return {rows.parts.single["reward"]: rows.reward}


def _without_holes(log: Arranged, symbols: dict[str, Coded]) -> tuple[Arranged, dict[str, Coded]]:
    z, a = symbols["observation"].code, symbols["action"].code
    holes = (z == UNKNOWN) | _early(log, a)
    for amounts in (*_amounts(log).values(), *log.rows.signals.values(), log.rows.propensity):
        if amounts is not None:
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


def _rewards(
    log: Arranged,
    is_step: Bools,
    options: ReadOptions,
    observed: tuple[tuple[str, ...], Array],
    acted: tuple[tuple[str, ...], Array],
    problems: Problems,
) -> Floats:
    """(N,) what every row pays."""
    reward = log.rows.reward
    if reward is None:
        return _priced(log, options, observed, acted, problems)
    found = _paid(log, "reward", reward, is_step, problems)
    return 0.0 - found if options.cost else found


def _paid(log: Arranged, part: str, amounts: Amounts, is_step: Bools, problems: Problems) -> Floats:
    """(N,) the amounts of every row; where nothing was done, nothing is paid."""
    problems.each(
        np.flatnonzero(~is_step & (np.nan_to_num(amounts.values) != 0)),
        lambda i: (
            f"{log.where(int(i))}: there is a {part} but no action.",
            f"Write what was done; or leave the {part} out, if the row only tells what was seen in "
            "the end.",
        ),
    )
    return amounts.values


def _check_amounts(
    log: Arranged, part: str, name: str, amounts: Amounts, is_step: Bools, problems: Problems
) -> None:
    absent = np.flatnonzero(amounts.missing & is_step)
    if len(absent):
        zero = "missing_reward=0 (--missing-reward 0) if such a step pays nothing, or "
        problems.add(
            f"{log.rows.cell(int(absent[0]), name)}: the {part} is missing."
            f"{log.rows.so_in_all(absent)}",
            f"Fill it in, or say {zero if part == 'reward' else ''}{DROP}.",
        )
    rule = "rewards must be finite numbers" if part == "reward" else "it must be finite"
    problems.each(
        np.flatnonzero(is_step & ~amounts.missing & ~np.isfinite(amounts.values)),
        lambda i: (
            f"{log.rows.cell(int(i), name)}: {part} is {amounts.values[i]}; {rule}.",
            "Write the amount itself; leave the cell empty if nobody knows.",
        ),
    )


def _priced(
    log: Arranged,
    options: ReadOptions,
    observed: tuple[tuple[str, ...], Array],
    acted: tuple[tuple[str, ...], Array],
    problems: Problems,
) -> Floats:
    """Rewards of a log that has none: the sum of what things cost and pay."""
    pays = {
        kind: (names, np.zeros(len(names) + 1), code)  # the last is for what is UNKNOWN
        for kind, (names, code) in (("observation", observed), ("action", acted))
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
