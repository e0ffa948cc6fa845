"""One data set of a study: every size, memory and setting, each policy evaluated exactly.

What is a rule runs in compiled loops (`jumar.lab.study.batch`). Other algorithms run one by one, as
`jumar.improve` runs them: rewards declared, the same share of δ for what they need to know of the
returns. Settings that choose their memory see the log and the behavior, and draw from a stream of
their own, named after study seed, behavior, data set and size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jumar.algorithms import Material
from jumar.core.arrays import Floats, Ints
from jumar.core.errors import NotConverged
from jumar.core.randomness import random_stream
from jumar.gate import Selection
from jumar.lab.study import batch
from jumar.lab.study.prepared import Prepared, simulate_dataset
from jumar.lab.study.settings import StudySetting
from jumar.lab.study.spec import BehaviorSpec, StudySpec
from jumar.lab.truth.evaluation import evaluate
from jumar.log.episodes import Episodes
from jumar.tally.replay import Replays

STAYED = "behavior"  # what is chosen when nothing is


def run_dataset(spec: StudySpec, prepared: Prepared, number: int) -> Floats:
    """(memories, sizes, fixed settings, fields) of one data set."""
    log = simulate_dataset(spec, prepared, number)
    settings = spec.fixed
    results = np.empty((len(prepared.tasks), len(spec.sizes), len(settings), batch.FIELDS))
    ruled = [j for j, setting in enumerate(settings) if setting.compiled]
    if ruled:
        rules = rule_arrays([settings[j] for j in ruled])
        sizes, γ = np.array(spec.sizes, np.int64), prepared.pomdp.discount
        nothing = np.zeros((0, 0, 0, 0))
        finest = batch.count_sizes(*log, sizes, prepared.tasks[prepared.finest])
        for m, (task, coarser) in enumerate(zip(prepared.tasks, prepared.coarsenings, strict=True)):
            if m == prepared.finest:
                counts = finest
            elif coarser is not None:
                counts = batch.coarsen(finest, *coarser, task)
            else:
                counts = batch.count_sizes(*log, sizes, task)
            try:
                found = batch.improve_sizes(counts, sizes, task, *rules, γ, nothing)
                results[m][:, ruled] = found
            except ArithmeticError as error:
                raise NotConverged(f"{prepared.spec.name}, data set {number}: {error}") from error
    others = [j for j in range(len(settings)) if j not in ruled]
    if others:
        whole = Episodes(prepared.pomdp.observations, prepared.pomdp.actions, *log)
        for i, size in enumerate(spec.sizes):
            part = Replays(whole.select(np.arange(size)))
            materials = [  # what one setting finds in the log, the next one need not look for
                Material(part, memory, prepared.pomdp.discount, prepared.rewards, spec.delta)
                for memory in prepared.memories
            ]
            for j in others:
                results[:, i, j] = _run_one_by_one(prepared, materials, settings[j])
    return results


def rule_arrays(settings: Sequence[StudySetting]) -> tuple[Ints, Floats, Floats]:
    """Kind, threshold and unseen value of settings that are rules."""
    rules = []
    for setting in settings:
        make = setting.entry.admitted
        assert make is not None, f"{setting.algorithm} is no rule"
        rules.append(make(**setting.options))
    return (
        np.array([rule.kind for rule in rules], np.int64),
        np.array([rule.n_wedge for rule in rules], np.float64),
        np.array([rule.unseen_value for rule in rules], np.float64),
    )


def _run_one_by_one(
    prepared: Prepared, materials: Sequence[Material], setting: StudySetting
) -> Floats:
    """(memories, fields) of an algorithm that compiled loops do not know."""
    results = np.empty((len(materials), batch.FIELDS))
    for m, material in enumerate(materials):
        found = setting.entry.learn(material, prepared.behavior, **setting.options)
        unchanged = found.changed == 0
        results[m, batch.VALUE] = (
            prepared.value if unchanged else prepared.value_of(m, found.mdp.states, found.policy)
        )
        results[m, batch.MODEL_VALUE] = found.performance
        results[m, batch.MODEL_BEHAVIOR] = found.behavior_performance
        results[m, batch.KNOWN] = (material.mdp.visits > (setting.threshold or 0)).sum()
    return results


# ---- settings that choose -----------------------------------------------------------------------


class Choices(NamedTuple):
    """What was chosen on one data set. S sizes, C settings that choose."""

    results: Floats  # (S, C, FIELDS); the estimates are those of held-out episodes
    chosen: tuple[str, ...]  # (S * C,) in words


def selection_stream(
    spec: StudySpec, behavior: BehaviorSpec, number: int, size: int
) -> np.random.Generator:
    """The random numbers for choosing on the log of one size of one data set."""
    return random_stream(spec.seed, "selection", behavior.name, number, size)


def choose(spec: StudySpec, prepared: Prepared, number: int) -> Choices:
    """Let the settings that choose by themselves do so, on every size of one data set."""
    pomdp = prepared.pomdp
    log = simulate_dataset(spec, prepared, number)
    whole = Episodes(pomdp.observations, pomdp.actions, *log)
    results = np.full((len(spec.sizes), len(spec.choosing), batch.FIELDS), np.nan)
    chosen = []
    for i, size in enumerate(spec.sizes):
        if not any(setting.runs(number, size) for setting in spec.choosing):
            chosen += [STAYED] * len(spec.choosing)
            continue
        part = whole.select(np.arange(size))
        earned = float(part.returns(pomdp.discount).mean())
        for j, setting in enumerate(spec.choosing):
            if not setting.runs(number, size):
                chosen.append(STAYED)  # its row has no value, and is dropped
                continue
            choice = setting.entry.choice
            assert choice is not None, f"{setting.algorithm} does not choose its memory"
            found = choice.choose(
                part,
                prepared.behavior,
                discount=pomdp.discount,
                seed=selection_stream(spec, prepared.spec, number, size),
                **setting.options,
            )
            results[i, j, batch.VALUE] = _value(prepared, found)
            results[i, j, batch.MODEL_BEHAVIOR] = earned
            results[i, j, batch.MODEL_VALUE] = earned + (found.chosen.gain if found.chosen else 0)
            chosen.append(str(found.chosen.setting) if found.chosen else STAYED)
    return Choices(results, tuple(chosen))


def _value(prepared: Prepared, found: Selection) -> float:
    if found.chosen is None:
        return prepared.value
    return evaluate(prepared.pomdp, found.controller).value
