"""Candidates: improved policies fitted on a part of the log, and what models expect of them.

A candidate is a table of rows over the history states of the longest memory, with what a model of
the same episodes expects of it and of the behavior. Which are made for a test, the algorithms say
(`Algorithm.grids`): for the proved gate the behavior *tilted* with several strengths, whose weights
stay light; for the asymptotic one the SPIBB family, mixed with the behavior as λπ + (1-λ)π_b. A
caller may name others, or bring a function (`makers`). Expected values are kept within what the
returns allow; where recordings stop after a known number of steps they count the steps that are
left.

Scores (`scoring`) are right on average and, for bold candidates, so noisy that they say little
about which of two is better. A model of episodes that the candidate was *not* fitted on (`Models`)
is hardly noisy and knows nothing of the luck that made the candidate; but its memory may not
suffice, and then it is wrong however many episodes there are. So both are asked (`blend`), and
weighed by their errors: that of the mean score is known; that of the model is taken for a part of
what it expects, or for what it lies off the scores beyond their noise, whichever is more. This
serves to order candidates, before a test or after it. No test depends on it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from jumar.algorithms.entry import Algorithm, Named, Proposal
from jumar.algorithms.problem import Material
from jumar.core.arrays import Floats
from jumar.gate.bench import Bench, Fitted, Numbered
from jumar.gate.bets import Scores
from jumar.gate.dealing import DealtPart
from jumar.gate.makers import Maker, OwnFunction, usual
from jumar.gate.trials import Opinion, Setting
from jumar.memory.refinement import refines
from jumar.policy.controller import Controller
from jumar.solve.simplifying import certain, settled, simplify
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

    Where few changes are wanted, each is one action, so that people can follow it: what is judged,
    tested and handed over is that policy. Thresholds shrink with a log that was thinned out; of
    `distinct` candidates no two are the same policy.
    """
    grids = usual(test) if bench.makers is None else bench.makers.grids(test)
    seen = {bench.behavior_rows.tobytes()}
    for mdp, numbered in bench.models(part):
        if numbered.memory in bench.untried:
            continue
        material = cache(partial(bench.material, numbered, part))  # made once, if at all
        for maker, grid in grids:
            made = _proposals(bench, maker, grid.settings, mdp, numbered, material, thinned)
            _, old, value = next(made)
            policies, values, settings = [old], [value], []
            for parameters, new, value in made:
                for share in grid.mixtures:
                    rows = mixed(share, new, old)
                    if bench.simplify is not None:
                        rows, value = certain(old, rows), None
                    if distinct:
                        mark = rows[numbered.of].tobytes()
                        if mark in seen:
                            continue
                        seen.add(mark)
                    policies.append(rows)
                    values.append(value if share == 1 else None)
                    settings.append(Setting(numbered.memory, maker.name, parameters, share))
            yield from _fitted(bench, mdp, numbered, policies, values, settings)


def learned(bench: Bench, entry: Algorithm, parameters: Mapping[str, object]) -> Make:
    """A maker of one candidate: what an algorithm learns from a part of the log, over the only
    memory there is. None where it keeps the behavior."""

    def make(part: DealtPart, thinned: float = 1.0) -> Iterator[Fitted]:
        for mdp, numbered in bench.models(part):
            material = bench.material(numbered, part)
            thresholds = entry.thinned(parameters, thinned)
            made = entry.learn(material, bench.behavior, **thresholds)
            rows = _shown_rows(made.controller, numbered, mdp)
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
    """The same with fewer changes, where that was asked for. `part` is what they were fitted on."""
    # that part alone decides which changes are kept, so a test on anything else is a test of what
    # is left
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
    entry: Maker,
    settings: Sequence[Named],
    mdp: HistoryMdp,
    numbered: Numbered,
    material: Callable[[], Material],
    thinned: float,
) -> Iterator[Proposal]:
    """The behavior, then what an algorithm makes of every setting, as cheaply as it can be; or
    what a function makes."""
    old = numbered.behavior
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
            made = entry.learn(material(), bench.behavior, **parameters)
            yield setting, _shown_rows(made.controller, numbered, mdp), None


def _shown_rows(made: Controller, numbered: Numbered, mdp: HistoryMdp) -> Floats:
    """(K, A) the rows of a controller where the part that it was made of, with this model,
    shows what was done; the behavior's elsewhere."""
    # A controller may have rows for histories that occur in no log. What is handed over has the
    # behavior's there (`Bench.controller`), so that must be what is scored, too, in histories that
    # only held-out episodes have: else the test would be of another policy.
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


SURPRISE = 2.0  # standard errors that a model may lie off the scores by chance
LEANING = 20.0  # visits that the value of a coarser memory counts as much as
TRUSTED = 0.05  # part of what a model expects that it is taken to be wrong by, at least


class Models:
    """Models of a part of the log, one for every memory, that are asked about candidates."""

    def __init__(self, bench: Bench, part: DealtPart) -> None:
        self.models = [_Model(*pair) for pair in bench.models(part)]
        self.steps = bench.limits.steps
        self.sizes = [bench.size(m.numbered) * m.numbered.behavior.shape[1] for m in self.models]
        self.memories = [m.numbered.memory for m in self.models]
        self.longer = [
            [model for j, model in enumerate(self.models[i:], i) if refines(self.memories[j], own)]
            for i, own in enumerate(self.memories)
        ]
        self.behavior_rows = bench.behavior_rows
        self.base = [self._worth(self.behavior_rows, i) for i in range(len(self.models))]
        self.alone: dict[int, float] = {}  # the same by that memory alone, where that is asked

    def gain(self, candidate: Fitted) -> float:
        """What a candidate is expected to gain."""
        i = self.memories.index(candidate.setting.memory)
        return self._worth(candidate.rows, i) - self.base[i]

    def gain_alone(self, candidate: Fitted) -> float:
        """The same, by the model alone that remembers what the candidate does."""
        i = self.memories.index(candidate.setting.memory)
        worth = self._worth_alone(candidate.rows, i)
        if i not in self.alone:
            self.alone[i] = self._worth_alone(self.behavior_rows, i)
        return worth - self.alone[i]

    def _worth_alone(self, table: Floats, i: int) -> float:
        """What the rows of a table over the i-th memory are worth to that memory."""
        model = self.models[i]
        if self._by_step(i):
            return model.worth_by_step(table, self.steps or 0)
        return model.worth(table, model.values(table))

    def _by_step(self, i: int) -> bool:
        return self.steps is not None and self.steps * self.sizes[i] <= MOST_VALUES

    def _worth(self, table: Floats, i: int) -> float:
        """What the rows of a table over the i-th memory are worth: to that memory, then, where
        episodes show it, to the ones that remember more."""
        if self._by_step(i):
            return self._worth_alone(table, i)
        q = self.models[i].values(table)
        for coarser, model in itertools.pairwise(self.longer[i]):
            q = model.values_from(table, q[coarser.numbered.of])
        return self.models[-1].worth(table, q)


class _Model:
    def __init__(self, mdp: HistoryMdp, numbered: Numbered) -> None:
        from jumar.solve.iteration import model_of

        self.mdp, self.numbered = mdp, numbered
        self.raw = model_of(mdp)
        shape = numbered.behavior.shape
        self.q, self.v = np.zeros(shape), np.zeros(shape[0])  # where the next valuation begins

    def rows(self, table: Floats) -> Floats:
        """(K, A) of the (H, A) rows of a table, those of this memory."""
        return np.ascontiguousarray(table[self.numbered.first])

    def values(self, table: Floats) -> Floats:
        """(K, A) what actions are worth, by this memory alone."""
        from jumar.solve.sweeps import value_by_sweeps

        value_by_sweeps(self.raw, self.rows(table), self.mdp.discount, self.q, self.v)
        return self.q

    def values_from(self, table: Floats, prior: Floats) -> Floats:
        """(K, A) the same, leaning on the (H, A) values that a coarser memory gives."""
        from jumar.solve.sweeps import values_leaning

        rows, prior = self.rows(table), self.rows(prior)
        values_leaning(self.raw, rows, self.mdp.discount, prior, LEANING, self.q, self.v)
        return self.q

    def worth(self, table: Floats, q: Floats) -> float:
        """What rows are worth from the start on, given what actions are."""
        return float(self.mdp.start @ (self.rows(table) * q).sum(1))

    def worth_by_step(self, table: Floats, steps: int) -> float:
        """What rows are worth where recordings stop after so many steps."""
        from jumar.solve.sweeps import values_by_step

        q = values_by_step(self.raw, self.rows(table), self.mdp.discount, steps)[0]
        return self.worth(table, q)


def blend(
    scores: Scores, expected: float, *, trusted: float = TRUSTED, surprise: float = SURPRISE
) -> Opinion:
    """What scores and a model's expectation say together.

    >>> from jumar.gate.bets import Scores
    >>> block = np.zeros(16, np.int64)
    >>> noisy = Scores(np.array([-30.0, 32.0] * 8), block)
    >>> close = Scores(np.array([0.9, 1.1] * 8), block)
    >>> round(blend(noisy, 2.0).gain, 2), round(blend(close, 2.0).gain, 2)
    (2.0, 1.0)
    """
    if scores.units < 2:
        return Opinion(-math.inf, 0.0)
    mean = scores.mean
    noise = scores.variance / scores.units
    doubt, apart = trusted * expected, expected - mean
    wrong = max(doubt * doubt, apart * apart - surprise**2 * noise)
    if not noise + wrong > 0:
        return Opinion(mean, 0.0)
    gain = (wrong * mean + noise * expected) / (wrong + noise)
    error = math.sqrt(wrong * noise / (wrong + noise))
    if math.isfinite(gain) and math.isfinite(error):
        return Opinion(gain, error)
    return Opinion(expected, abs(doubt))  # scores beyond all numbers tell nothing
