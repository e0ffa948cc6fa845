"""Candidates: improved policies fitted on a part of the log, with what a model of it expects.

A candidate is a table of rows over the history states of the longest memory, with what a model of
the same episodes expects of it and of the behavior. Which are made for a test, the algorithms say
(`Algorithm.grids`): for the proved gate the behavior *tilted* with several strengths, whose weights
stay light; for the asymptotic one the SPIBB family, mixed with the behavior as λπ + (1-λ)π_b. A
caller may name others, or bring a function (`makers`).

Expected values are kept within what the returns allow. Where recordings stop after a known number
of steps they count the steps that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from jumar.algorithms.entry import Algorithm, Proposal
from jumar.algorithms.problem import Material
from jumar.core.arrays import Floats
from jumar.gate.bench import Bench, Fitted, Numbered
from jumar.gate.dealing import DealtPart
from jumar.gate.functions import OwnFunction
from jumar.gate.makers import MakerGrid, usual
from jumar.gate.trials import Setting
from jumar.policy.controller import Controller
from jumar.solve.simplifying import settled, simplify
from jumar.solve.solver import action_values, policy_value, solve
from jumar.tally.history import HistoryMdp

MOST_VALUES = 4_000_000  # numbers in a table of values by step
AT_ONCE = 16  # candidates that are looked at anew
NO_TABLE = np.zeros((0, 0, 0))  # of a candidate that nobody has looked at yet

# candidates made of a part of the log, and which share of a half that is
Make = Callable[[DealtPart, float], Iterator[Fitted]]


def mixed(share: float, new: Floats, old: Floats) -> Floats:
    """A share of new rows, the rest the old ones; exactly these where both are alike."""
    return new if share == 1 else old + share * (new - old)


def candidates(
    bench: Bench, part: DealtPart, test: str, thinned: float = 1.0, *, distinct: bool = False
) -> Iterator[Fitted]:
    """What the algorithms that have a grid for a test, or those that were asked for, make of
    a part of the log, over every memory.

    Thresholds shrink with a log that was thinned out; of `distinct` candidates no two are the
    same policy.
    """
    grids = usual(test) if bench.makers is None else bench.makers.grids(test)
    seen = {bench.behavior_rows.tobytes()}
    for mdp, numbered in bench.models(part):
        if numbered.memory in bench.untried:
            continue
        material = cache(partial(bench.material, numbered, part))  # made once, if at all
        for tried in grids:
            made = _proposals(bench, tried, mdp, numbered, material, thinned)
            _, old, value = next(made)
            policies, values, settings = [old], [value], []
            for parameters, new, value in made:
                for share in tried.grid.mixtures:
                    rows = mixed(share, new, old)
                    if distinct:
                        mark = rows[numbered.of].tobytes()
                        if mark in seen:
                            continue
                        seen.add(mark)
                    policies.append(rows)
                    values.append(value if share == 1 else None)
                    settings.append(Setting(numbered.memory, tried.name, parameters, share))
            yield from _fitted(bench, mdp, numbered, policies, values, settings)


def learned(bench: Bench, entry: Algorithm, parameters: Mapping[str, object]) -> Make:
    """A maker of one candidate: what an algorithm learns from a part of the log, over the only
    memory there is. None where it keeps the behavior."""

    def make(part: DealtPart, thinned: float = 1.0) -> Iterator[Fitted]:
        for mdp, numbered in bench.models(part):
            material = bench.material(numbered, part)
            thresholds = entry.thinned(parameters, thinned)
            rows = _learn(bench, entry, thresholds, mdp, numbered, material)
            both = [numbered.behavior, rows]
            setting = Setting(numbered.memory, entry.name, tuple(parameters.items()))
            for found in _fitted(bench, mdp, numbered, both, [None, None], [setting]):
                yield _simpler(bench, found, mdp, numbered)

    return make


def refitted(bench: Bench, made: Sequence[Fitted], part: DealtPart) -> Iterator[Fitted]:
    """The same candidates, memory by memory, with what a model of a part of this log expects of
    them: another signal may be the reward here. A few at a time, for tables can be large."""
    for mdp, numbered in bench.models(part):
        some = [c for c in made if c.setting.memory == numbered.memory]
        for first in range(0, len(some), AT_ONCE):
            few = some[first : first + AT_ONCE]
            rows = [numbered.behavior, *(c.rows[numbered.first] for c in few)]
            settings = [c.setting for c in few]
            yield from _fitted(bench, mdp, numbered, rows, [None] * len(rows), settings)


def simpler(bench: Bench, made: Sequence[Fitted], part: DealtPart) -> list[Fitted]:
    """The same with fewer changes, where that was asked for. `part` is what they were fitted
    on: which changes are kept it decides alone, so that a test on anything else is a test of
    what is left."""
    if bench.simplify is None or not made:
        return list(made)
    models = {numbered.memory: (mdp, numbered) for mdp, numbered in bench.models(part)}
    return [_simpler(bench, found, *models[found.setting.memory]) for found in made]


def _simpler(bench: Bench, found: Fitted, mdp: HistoryMdp, numbered: Numbered) -> Fitted:
    if bench.simplify is None:
        return found
    old, new = numbered.behavior, found.rows[numbered.first]
    rows, told = simplify(mdp, old, settled(old, new), bench.simplify)
    setting = replace(found.setting, simplified=bench.simplify)
    # where no change is left, only rounding told the candidate from the behavior
    if told.kept == 0 or np.array_equal(rows, new):
        return replace(found, setting=setting, simplified=told)
    (fewer,) = _fitted(bench, mdp, numbered, [old, rows], [None, None], [setting])
    return replace(fewer, simplified=told)


def _proposals(
    bench: Bench,
    tried: MakerGrid,
    mdp: HistoryMdp,
    numbered: Numbered,
    material: Callable[[], Material],
    thinned: float,
) -> Iterator[Proposal]:
    """The behavior, then what an algorithm makes of every setting, as cheaply as it can be; or
    what a function makes."""
    entry, settings, old = tried.maker, tried.grid.settings, numbered.behavior
    if isinstance(entry, OwnFunction):
        yield (), old, None
        if mdp.visits.any():
            for number, controller in entry.propose(material().mdp, bench.behavior):
                named = (("number", number),) if number else ()
                yield named, _shown_rows(controller, numbered, mdp), None
    elif entry.propose is not None:
        yield from entry.propose(mdp, old, settings, thinned)
    elif entry.admitted is not None:
        yield (), old, None
        for setting in settings:
            admitted = entry.admitted(**entry.thinned(dict(setting), thinned))
            yield setting, solve(mdp, old, admitted).policy, None
    else:
        yield (), old, None
        for setting in settings if mdp.visits.any() else ():
            parameters = entry.thinned(dict(setting), thinned)
            yield setting, _learn(bench, entry, parameters, mdp, numbered, material()), None


def _learn(
    bench: Bench,
    entry: Algorithm,
    parameters: Mapping[str, object],
    mdp: HistoryMdp,
    numbered: Numbered,
    material: Material,
) -> Floats:
    """(K, A) what an algorithm learns."""
    found = entry.learn(material, bench.behavior, **parameters)
    return _shown_rows(found.controller, numbered, mdp)


def _shown_rows(made: Controller, numbered: Numbered, mdp: HistoryMdp) -> Floats:
    """(K, A) the rows of a controller where the part that it was made of, with this model,
    shows what was done; the behavior's elsewhere. A controller may have rows for histories
    that occur in no log; what is handed over has the behavior's there (`controller`), so that
    must be what is scored, too, in histories that only held-out episodes have."""
    rows = made.lift(numbered.memory).rows_at(numbered.states)
    shown = (mdp.visits > 0).any(1, keepdims=True)
    found: Floats = np.where(shown, rows, numbered.behavior)
    return found


def _fitted(
    bench: Bench,
    mdp: HistoryMdp,
    numbered: Numbered,
    rows: Sequence[Floats],
    values: Sequence[Floats | None],
    settings: Sequence[Setting],
) -> Iterator[Fitted]:
    """Candidates with their expectations; the first row and value are the behavior's. Values
    that nobody knows yet are solved for. Where thresholds make no difference, in a log in which
    everything was seen often, candidates share their tables."""
    q = [
        action_values(mdp, policy_value(mdp, policy)) if value is None else value
        for policy, value in zip(rows, values, strict=True)
    ]
    below = _tables(bench, mdp, numbered, rows[0], q[0], of_behavior=True)
    base = float(mdp.start @ (rows[0] * q[0]).sum(1))
    known: dict[bytes, Fitted] = {}
    for i, setting in enumerate(settings, 1):
        if np.array_equal(rows[i], rows[0]):
            continue
        mark = rows[i].tobytes() + q[i].tobytes()
        if mark not in known:
            known[mark] = Fitted(
                setting,
                np.ascontiguousarray(rows[i][numbered.of]),
                _tables(bench, mdp, numbered, rows[i], q[i], of_behavior=False),
                below,
                float(mdp.start @ (rows[i] * q[i]).sum(1)) - base,
            )
        yield replace(known[mark], setting=setting)


def _tables(
    bench: Bench, mdp: HistoryMdp, numbered: Numbered, rows: Floats, q: Floats, *, of_behavior: bool
) -> Floats:
    """(T', H, A) the values of a policy above the least return, or below the greatest."""
    from jumar.solve.iteration import model_of
    from jumar.solve.sweeps import values_by_step

    limits, T = bench.limits, 1
    values = q[None]
    size = bench.size(bench.numbered[-1]) * q.shape[1]
    if limits.steps is not None and limits.steps * size <= MOST_VALUES:
        T = limits.steps
        rows = np.ascontiguousarray(rows)
        values = values_by_step(model_of(mdp), rows, mdp.discount, T)
    low, high = limits.low[:T, None, None], limits.high[:T, None, None]
    found: Floats = high - values if of_behavior else values - low
    np.clip(found, 0.0, high - low, out=found)
    return found.take(numbered.of, axis=1)  # in order, which found[:, numbered.of] is not
