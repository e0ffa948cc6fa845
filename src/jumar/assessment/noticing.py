"""What is noticed about a result, beside what is noticed about its log (`evidence.noticing`).

Each function looks at one thing and yields a notice if there is something to say. From elsewhere,
``LOOKS.add("mine", look)`` enters another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from jumar.assessment.decisions import Decisions
from jumar.assessment.result import Result
from jumar.assessment.split import Split
from jumar.core.memory.refinement import join
from jumar.core.registry import Registry
from jumar.core.text import counted, listing, number, percent, rounded, shown
from jumar.draft.rule import remembered
from jumar.evidence.gains import most_gain
from jumar.evidence.noticing import Notice

FILE = "without_slips.json"
MUCH, MUCH_BELOW = 4.0, 7.0  # standard errors
LEFT_OUT = 0.9  # of the episodes of a half: less is worth a word
ENOUGH = 100  # effective episodes, for a word about weights that are too small
MATTERS = 0.05  # share of the gain that a decision must have to be worth a word
SLACK = 1e-9  # relative: what computing a value in another way may change


@dataclass(frozen=True, eq=False)
class Looked:
    """What there is to look at."""

    result: Result
    decisions: Decisions
    split: Split | None
    failed: bool = False  # did a check of the log fail, which then says more?

    @property
    def costs(self) -> bool:
        """Are rewards costs, so that values are told with the sign turned?"""
        origin = self.result.log.origin
        return bool(origin and origin.remarks.costs)


def slips(found: Looked) -> Iterator[Notice]:
    """Most of the gain is fewer slips."""
    split = found.split
    if split is None or not split.mostly_slips:
        return
    sign, worth = (-1, "costs") if found.costs else (1, "brings")
    old, meant, new = (number(sign * v) for v in (split.behavior, split.intended, split.improved))
    said = (
        f"By the model, the old controller {worth} {old} per episode as it acted, and {meant} "
        "without its slips"
    )
    if split.share is None:
        said = f"To do what the old controller says, without slips, would bring more. {said}."
    else:
        part = "all" if split.share >= 1 else percent(split.share)
        said = f"Fewer slips are {part} of the gain. {said}; the new controller {worth} {new}."
    yield Notice(
        "slips",
        f"{said} {_tested(split)}",
        "Stop the slips before you change any decision; what the new controller keeps of them, it "
        f"keeps only because too little is known about them. {FILE} is the old controller without "
        "slips.",
        file=FILE,
    )


def _tested(split: Split) -> str:
    test = split.test
    if test is None:
        return "The log has no episode without slips, so this could not be tested without a model."
    low, high, gain = (
        rounded(x, test.standard_error) for x in (test.lower, test.upper, test.value)
    )
    sure = "" if test.lower > 0 else " It may be chance."
    return (
        f"Estimated without a model, {gain} per episode are due to slips (90 % interval {low} to "
        f"{high}).{sure}"
    )


def sampled(found: Looked) -> Iterator[Notice]:
    """The log is larger than what was looked at."""
    result, episodes = found.result, found.result.episodes
    if result.sampled is None or len(result.log) >= episodes:
        return
    looked = (
        f"Checks and redrawn logs look at {len(result.log):,} of them, chosen by "
        "a hash of their label."
    )
    test = result.selection
    tested = max((t.units for t in test.trials), default=0) if test else 0
    if test is None or tested >= max(LEFT_OUT * test.units / 2, 1) or not tested:
        yield Notice(
            "sampled",
            f"All {episodes:,} episodes were counted and tested. {looked}",
            "Nothing is to be done; what the test says, it says of the whole log.",
        )
        return
    yield Notice(
        "sampled",
        f"All {episodes:,} episodes were counted. {looked} The test bets on held-out episodes one "
        f"after the other and was clear after {tested:,} of each half.",
        "What it says holds. With all of them the least that is gained is told better; that reads "
        "the log once more.",
        ("--thorough",),
    )


def weights(found: Looked) -> Iterator[Notice]:
    """The held-out test contradicts the behavior: how much likelier an episode is under the new
    controller is 1 on average over what the behavior does. Weights are skewed: where the largest
    ones did not come up, their mean is too low, and its error as well. So below 1 more is asked."""
    test = found.result.selection
    if test is None or test.chosen is None or found.failed:
        return
    trial = test.chosen
    off = (trial.weight - 1) / trial.weight_error if trial.weight_error > 0 else 0.0
    too_many = off > MUCH
    too_few = off < -MUCH_BELOW and trial.effective > ENOUGH
    beyond = trial.gain - MUCH * trial.error > test.most
    if not (too_many or too_few or beyond):
        return
    mean, error = (rounded(x, trial.weight_error) for x in (trial.weight, trial.weight_error))
    if too_many or too_few:
        fact = f"Held-out episodes should weigh 1 on average, and weigh {mean} ± {error}"
    else:
        gain, most = rounded(trial.gain, trial.error), number(test.most)
        fact = f"The held-out gain is {gain} per episode, and no more than {most} is possible"
    if found.result.estimated:
        longer = max(_window_of(found.result) + 1, remembered(found.result.log))
        said = "So what was done is not what was estimated: it depends on more. The gain is wrong."
        remedy = "Estimate what was done with a longer memory, or write the rule down."
        options: tuple[str, ...] = ("--policy", "estimate", "--window", str(longer))
    else:
        said = "So the log was not made by this controller. The gain is wrong."
        remedy = "Correct the controller; jumar check says where it does not fit."
        options = ()
    yield Notice("weights", f"{fact}. {said}", remedy, options, loud=True)


def _window_of(result: Result) -> int:
    """How many observations the behavior sees at most."""
    return max((getattr(part, "length", 1) for part in result.behavior.memory.parts), default=1)


def alike(found: Looked) -> Iterator[Notice]:
    """The data do not say which of several actions is best, in a decision that matters."""
    made, actions = found.decisions, found.result.controller.actions
    least = MATTERS * float(np.abs(made.share).sum())
    groups = [h for h in made.order.tolist() if h in made.alike and made.share[h] >= least]
    if not groups:
        return
    first = groups[0]
    names = listing([shown(actions[a]) for a in made.alike[first]], 6)
    where = " · ".join(made.history_state(first))
    yield Notice(
        "alike",
        f"In {len(groups):,} of {counted(int(made.changed.sum()), 'changed history state')} there "
        f"is no difference in {made.compared} between the action that is preferred and others. On "
        f"“{where}”: {names}.",
        "Take the one that suits you there, or change only what the log proves.",
        ("--algorithm", "strict"),
    )


def large(found: Looked) -> Iterator[Notice]:
    """An estimate larger than any return that was seen, or than what rewards allow."""
    result, made = found.result, found.result.improvement
    if made.changed == 0 or result.selection is not None:  # there held-out episodes have the word
        return
    γ = made.mdp.discount
    seen, value = best_return(result), made.performance
    most = most_gain(result.log, result.rewards, γ)
    if value <= seen + SLACK * max(1.0, abs(seen)) and made.gain <= most * (1 + SLACK):
        return
    cut = "" if result.log.terminated.all() else ", even if all went well after the cut"
    sign, worth, best = (-1, "costs", "least") if found.costs else (1, "is worth", "most")
    yield Notice(
        "large",
        f"By the model, the new controller {worth} {number(sign * value)} per episode on average. "
        f"No episode of the log did that well: the {best} is {number(sign * seen)}{cut}. The model "
        "may join parts of episodes that do not go together.",
        "Let the change be tested on episodes that it was not learned from.",
        ("--algorithm", "auto"),
    )


def best_return(result: Result) -> float:
    """The largest return of the log. What lies beyond a cut is taken at its best."""
    log, γ = result.log, result.improvement.mdp.discount
    beyond = np.where(log.terminated, 0.0, γ**log.lengths)
    best = max(0.0, float(log.reward.max()), result.rewards.continuing[1]) / (1 - γ)
    return float((log.returns(γ) + beyond * best).max())


def memory(found: Looked) -> Iterator[Notice]:
    """A memory that was asked for and not used, and why."""
    result = found.result
    own, used, asked = result.behavior.memory, result.improvement.mdp.memory, result.asked
    if asked is None or result.selection is None:  # a named algorithm uses what it is told
        return
    wanted = join(own, asked.on(*own.alphabet))
    if wanted == used or join(used, wanted) == used:
        return
    chosen = result.selection.chosen
    tried = [trial for trial in result.selection.trials if trial.setting.memory == wanted]
    best = max(tried, key=lambda trial: trial.gain, default=None)
    if best is None:
        why = "no controller with it promised enough to be tested on held-out episodes"
    else:
        gain = f"{rounded(best.gain, best.error)} ± {rounded(best.error, best.error)}"
        why = f"the best controller with it gained {gain} on held-out episodes"
        why += " and did not pass" if not best.passed else ""
    if chosen is not None:
        gain = f"{rounded(chosen.gain, chosen.error)} ± {rounded(chosen.error, chosen.error)}"
        why += f"; with a {used}, the chosen one gained {gain}"
    elif result.improvement.changed == 0:
        why += ", and as nothing else passed, the old controller stays"
    yield Notice(
        "memory",
        f"You asked for a {asked}, but the result uses a {used}: {why}.",
        "To see what the memory you asked for would do, name an algorithm; it is tested as well.",
        ("--algorithm", "spibb"),
    )


LOOKS: Registry[Callable[[Looked], Iterator[Notice]]] = Registry(
    "notice",
    {
        "weights": weights,
        "slips": slips,
        "alike": alike,
        "large": large,
        "memory": memory,
        "sampled": sampled,
    },
)


def notices(found: Looked) -> tuple[Notice, ...]:
    """All that is noticed about a result."""
    return tuple(notice for look in LOOKS.values() for notice in look(found))
