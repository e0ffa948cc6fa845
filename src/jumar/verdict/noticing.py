"""What is noticed about a result, beside what is noticed about its log (`evidence.noticing`).

Each function looks at one thing and yields a notice if there is something to say. From elsewhere,
``LOOKS.add("mine", look)`` enters another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from jumar.core.registry import Registry
from jumar.core.text import counted, listing, rounded, shown
from jumar.draft.rule import remembered
from jumar.evidence.noticing import Notice
from jumar.evidence.validity import NOT_CONFOUNDED
from jumar.memory.refinement import join
from jumar.verdict.decisions import Decisions
from jumar.verdict.exceptions import Exceptions
from jumar.verdict.gain import Gain
from jumar.verdict.result import Result

FILE = "without_exceptions.json"
MUCH, MUCH_BELOW = 4.0, 7.0  # standard errors
LEFT_OUT = 0.9  # of the episodes of a half: less is worth a word
IMPOSSIBLE = 0.001  # chance of weights that rule logged propensities out
ENOUGH = 100  # effective episodes, for a word about weights that are too small
MATTERS = 0.05  # share of the gain that a decision must have to be worth a word


@dataclass(frozen=True, eq=False)
class Looked:
    """What there is to look at."""

    result: Result
    decisions: Decisions
    gain: Gain
    exceptions: Exceptions | None
    failed: bool = False  # did a check of the log fail, which then says more?


def exceptions(found: Looked) -> Iterator[Notice]:
    """What the old policy's exceptions cost, where the log shows it and it is most of the gain."""
    rare = found.exceptions
    if rare is None or rare.worth is None or not rare.costly:
        return
    worth, brought = rare.worth, found.gain.shown
    if worth.shown is None or worth.interval is None or worth.shown < (brought or 0.0) / 2:
        return
    amount, low, high = (rounded(x, worth.error) for x in (worth.shown, *worth.interval))
    unit = f" {found.gain.unit}" if found.gain.unit else ""
    verb, more = ("save", "") if found.gain.costs else ("bring", " more")
    kept = " The new policy keeps some, only because too little is known about them."
    if not found.result.improvement.changed:  # there is no new policy
        kept = ""
    when, first = "Following", "Stop the exceptions"
    upto = "" if found.result.log.terminated.all() else ", up to where the records stop"
    if found.result.estimated:  # what looks like an exception may have had a reason: no log tells
        when = f"If {NOT_CONFOUNDED[0].lower()}{NOT_CONFOUNDED[1:-1]}, following"
        first = "Ask those who decided why they made exceptions"
    yield Notice(
        "exceptions",
        f"{when} your policy without exceptions would already {verb} about {amount}{unit}{more} "
        f"per {found.gain.episode} (90 % interval {low} to {high}){upto}.",
        f"{first} before you change any decision.{kept} {FILE} is your policy without exceptions.",
        file=FILE,
    )


def sampled(found: Looked) -> Iterator[Notice]:
    """The log is larger than what was looked at."""
    result, episodes = found.result, found.result.episodes
    if not result.sampled or len(result.log) >= episodes:
        return
    looked = f"Checks look at {len(result.log):,} of them, chosen by a hash of their label."
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
    trial, heaviest = test.chosen, test.heaviest
    ruled_out = heaviest is not None and heaviest.excess >= -math.log(IMPOSSIBLE)
    if heaviest is not None and ruled_out:
        trial = heaviest
    off = (trial.weight - 1) / trial.weight_error if trial.weight_error > 0 else 0.0
    too_many = off > MUCH or ruled_out
    too_few = off < -MUCH_BELOW and trial.effective > ENOUGH
    # what is possible stands on the mean return of the log, which has an error of its own
    paid = found.result.log.returns(found.result.improvement.mdp.discount)
    error = math.hypot(trial.told.error, float(paid.std()) / math.sqrt(len(paid)))
    beyond = trial.told.gain - MUCH * error > test.most
    if not (too_many or too_few or beyond):
        return
    how = f"they differ by a factor of {rounded(trial.weight, trial.weight_error)}"
    if not (too_many or too_few):
        how = "what the test finds is more than is possible"
    by_propensities = found.result.practice is not None and not found.result.practice.controllers
    wrong, right = "People seem to have acted on something this log does not record", "the policy"
    if by_propensities:
        wrong, right = "The propensities in this log seem to be wrong", "the propensities"
    fact = (
        f"{wrong}: if {right} were right, two counts of the same episodes would agree, but {how}."
    )
    remedy = "Ask those who decided what they looked at, and add that column; or "
    if found.result.estimated:
        longer = max(_window_of(found.result) + 1, remembered(found.result.log))
        remedy += "estimate the policy with a longer memory, or write it down."
        options: tuple[str, ...] = ("--policy", "estimate", "--window", str(longer))
    elif by_propensities:
        remedy = "Log the probabilities themselves: not frequencies, rounded numbers or estimates."
        options = ()
    else:
        remedy += "correct the policy file: jumar check tells where it does not fit."
        options = ()
    yield Notice("weights", fact, remedy, options, loud=True)


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
        f"In {len(groups):,} of {counted(int(made.changed.sum()), 'changed situation')} there "
        f"is no difference in {made.compared} between the action that is preferred and others. On "
        f"“{where}”: {names}.",
        "Take the one that suits you there, or change only what the log proves.",
        ("--algorithm", "strict"),
    )


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
        why = "no policy with it promised enough to be tested"
    else:
        why = f"with it, the best policy {'passed' if best.passed else 'did not pass'} the test"
    if chosen is not None:
        why += f"; the chosen one, with a {used}, is expected to gain more"
    elif result.improvement.changed == 0:
        why += ", and as nothing else passed, your policy stays"
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
        "exceptions": exceptions,
        "alike": alike,
        "memory": memory,
        "sampled": sampled,
    },
)


def notices(found: Looked) -> tuple[Notice, ...]:
    """All that is noticed about a result."""
    return tuple(notice for look in LOOKS.values() for notice in look(found))
