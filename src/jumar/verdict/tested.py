"""What "auto" tested, as a table for people. Every policy was learned from one half of the log
and tested on the other. The best come first, and the chosen one is among them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jumar.algorithms import ALGORITHMS
from jumar.core.text import counted, listing, number, percent, rounded, shown
from jumar.evidence.plausible import Evidenced
from jumar.gate import Selection, Trial
from jumar.gate.dealing import HALVES
from jumar.gate.trials import PROVED, Setting
from jumar.verdict.verdicts import Carried

MOST_TESTED = 8


@dataclass(frozen=True)
class TestedRow:
    """One policy that was tested, in words."""

    setting: str  # with the half it was learned from
    cells: tuple[str, ...]  # under `Trials.heads`
    passed: bool
    chosen: bool
    remark: str  # why it did not pass, other than by chance


@dataclass(frozen=True)
class Trials:
    """What was tested, how, and what came of it."""

    how: str
    count: str
    summary: str  # for those who do not see the table
    heads: tuple[str, ...]
    rows: tuple[TestedRow, ...]


EFFECTIVE, GAIN, LOWER = "effective episodes", "gain on the other half", "at least"
_HEADS = {
    Carried.AT_LEAST: (EFFECTIVE, GAIN, LOWER),
    Carried.ESTIMATE: (EFFECTIVE, GAIN),
    Carried.NONE: (EFFECTIVE,),
}


def in_words(selection: Selection, numbers: Carried = Carried.AT_LEAST) -> Trials:
    """What the page says about the test, with the `numbers` that the verdict carries.

    >>> from jumar import Controller, models, simulate
    >>> from jumar.gate import select
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=500, seed=1)
    >>> test = in_words(select(log, behavior, discount=0.95, seed=1))
    >>> len(test.rows) > 0, sum(row.chosen for row in test.rows)
    (True, 1)
    """
    trials, chosen = selection.trials, selection.chosen
    listed = trials[:MOST_TESTED]
    if chosen and chosen not in listed:
        listed = (*listed[:-1], chosen)
    return Trials(
        how=_how(selection),
        count=_count(selection, len(listed)),
        summary=_summary(trials),
        heads=_HEADS[numbers],
        rows=tuple(_row(selection, trial, _HEADS[numbers]) for trial in listed),
    )


def _how(selection: Selection) -> str:
    said = (
        f"A hash of their labels deals the episodes into {HALVES} halves. New policies were "
        "learned from each half and tested on the other. "
    )
    if selection.makers:
        said += f"They were made by {listing(map(shown, selection.makers))}. "
    if selection.learned:
        said += f"{_learned(selection)} "
    if selection.gate == PROVED:
        return said + (
            "The test is a bet on the new policy. If that is not better, the chance that the "
            "bet ever multiplies its stake by 1/p is at most p, for every number of episodes. A "
            "policy passes when its bet reaches that multiple. Over both halves, p sums to "
            f"{100 * selection.delta:g} %."
        )
    return said + (
        "A policy passes if the lower bound of its gain is above zero. The bound allows for "
        "picking the best of several, and is right when there are enough episodes."
    )


def _learned(selection: Selection) -> str:
    """What the halves found worth remembering."""
    found = [
        f"half {half} taught {'nothing more' if memory is None else f'a {shown(str(memory), 200)}'}"
        for half, memory in enumerate(selection.learned, 1)
    ]
    said = "What is worth remembering was learned from each half by itself, too"
    return f"{said}: {listing(found)}."


def setting_words(setting: Setting) -> str:
    """How a policy was learned, for people who do not know the names of algorithms.

    >>> from jumar import window
    >>> setting_words(Setting(window(2), "spibb", (("n_wedge", 20),), 0.5))
    'window of 2; trusts what was tried more than 20 times, leaves the rest as it is; 50% new \
policy, 50% old'
    """
    entry = ALGORITHMS.get(setting.algorithm)
    does = entry.does(dict(setting.parameters)) if entry else _by_function(setting)
    said = f"{shown(str(setting.memory), 200)}; {does}"
    if setting.heeds:
        said += f"; gives the signals to keep a weight of {setting.heeds:g}"
    new = setting.mixture
    return said if new == 1 else f"{said}; {percent(new)} new policy, {percent(1 - new)} old"


def _by_function(setting: Setting) -> str:
    if not setting.algorithm.endswith("()"):
        return f"method {shown(setting.algorithm)}"
    number = dict(setting.parameters).get("number")
    said = f"made by {shown(setting.algorithm)}"
    return said if number is None else f"{said}, number {number}"


def _row(selection: Selection, trial: Trial, heads: tuple[str, ...]) -> TestedRow:
    name = trial.setting.algorithm
    # somebody asked for algorithms by name, and will look for their names
    whose = f"{name}: " if selection.makers and name in ALGORITHMS else ""
    gain, error = trial.told.gain, trial.told.error
    found = Evidenced(gain, gain, gain, error, selection.possible, trial.effective)
    amount, lower = "–", "–"
    if found.shown is not None:
        amount = f"{rounded(found.shown, error)} ± {rounded(error, error)}"
    if math.isfinite(trial.lower) and trial.lower > 0:
        lower = number(trial.lower)
    cells = {EFFECTIVE: number(round(trial.effective)), GAIN: amount, LOWER: lower}
    return TestedRow(
        setting=f"{whose}{setting_words(trial.setting)}; from half {trial.half + 1}",
        cells=tuple(cells[head] for head in heads),
        passed=trial.passed,
        chosen=trial == selection.chosen,
        remark=_remark(trial),
    )


def _remark(trial: Trial) -> str:
    if trial.refused:
        return trial.refused
    if lost := [shown(kept.signal) for kept in trial.kept if not kept.passed]:
        return f"not proved to keep {listing(lost)}"
    if trial.second is not None and trial.second != trial.passed:
        return (
            "would not pass the approximate test"
            if trial.passed
            else "only the approximate test passes: promising, not proved"
        )
    return f"{percent(trial.missing)} of what it does is not in the log" if trial.missing else ""


def _count(selection: Selection, listed: int) -> str:
    made, trials = counted(selection.tried, "policy"), len(selection.trials)
    were = "was" if selection.tried == 1 else "were"
    if trials == 0:
        return f"{made} {were} learned. None promised a gain, so none was tested."
    best = "most promising one" if trials == 1 else f"{trials:,} most promising ones"
    said = f"{made} {were} learned, and the {best} tested"
    return f"{said}. Here are the best {listed}." if listed < trials else f"{said}."


def _summary(trials: tuple[Trial, ...]) -> str:
    passed = sum(trial.passed for trial in trials)
    return (
        f"Policies tested on episodes they were not learned from: {passed} of {len(trials)} passed."
    )
