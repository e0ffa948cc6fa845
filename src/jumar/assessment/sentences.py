"""What is said about a result, in sentences: gain, safety, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jumar.algorithms.auto import Selection
from jumar.assessment.decisions import Decisions
from jumar.assessment.gain import HELD_OUT, Gain
from jumar.assessment.result import Result
from jumar.core.text import counted, listing, number, percent, rounded, shown
from jumar.evidence.bounds import SUFFICIENT
from jumar.evidence.checking import Check
from jumar.evidence.checking.order import Order
from jumar.evidence.claims import AS_SEEN
from jumar.evidence.validity import Validity


@dataclass(frozen=True)
class Fact:
    """Something that was asked of the log, and what was found."""

    text: str
    state: str  # passed, look, failed
    finding: str


@dataclass(frozen=True)
class Warning:
    """Something the reader must know before the numbers."""

    title: str
    text: str
    loud: bool = False  # it must be read, not only be there


def costs(result: Result) -> bool:
    """Are the rewards costs?"""
    origin = result.log.origin
    return bool(origin and origin.remarks.costs)


def sentence(made: Decisions, h: int) -> str:
    """A change as one would say it."""
    chosen = made.improvement
    actions = chosen.controller.actions
    old, new = chosen.behavior_policy[h], chosen.policy[h]
    up, down = int(np.argmax(new - old)), int(np.argmin(new - old))
    *before, now = made.history_state(h)
    when = f"When you see “{now}”" + (f" (memory: {before[0]})" if before else "")
    if made.only_slips(h):
        return (
            f"{when}: do “{shown(actions[up])}” as you mean to, with fewer slips "
            f"({percent(float(old[up]))} of the time, now {percent(float(new[up]))})."
        )
    was = percent(float(old[up])) + (", only by slips" if made.slips(h, old)[up] else "")
    said = f"{when}: “{shown(actions[up])}” {percent(float(new[up]))} of the time (was {was})"
    said += (
        f", mostly instead of “{shown(actions[down])}” (was {percent(float(old[down]))}, now "
        f"{percent(float(new[down]))})."
    )
    if h in made.alike:
        others = listing([f"“{shown(actions[a])}”" for a in made.alike[h]], 6)
        said += f" But there is no difference in {made.compared} between {others}."
    return said


def gain(result: Result, brought: Gain, redrawn: tuple[float, float]) -> str:
    """What the change brings, with an interval; what held-out episodes showed comes first."""
    improvement = result.improvement
    old, new, won = improvement.behavior_performance, improvement.performance, improvement.gain
    costs, money = brought.costs, brought.money
    if improvement.changed == 0:
        text = f"costs {money(-old)}" if costs else f"brings {money(old)}"
        return f"The old controller {text} per episode, by the estimate from the log."
    both = f"cost {money(-old)} → {money(-new)}" if costs else f"{money(old)} → {money(new)}"
    low, high = (number(x) for x in redrawn)
    if brought.source == HELD_OUT:
        verb = ("saved" if won >= 0 else "lost") if costs else ("more" if won >= 0 else "less")
        return (
            f"{brought.sentence} {_interval(brought)}{_luck(result)} The model estimated from the "
            f"whole log says {money(abs(won))} {verb} per episode ({both}; in 90 % of logs redrawn "
            f"from this one, between {low} and {high}). But this model also contains the episodes "
            "that the controller was learned from, and it assumes that the memory suffices."
        )
    return f"{brought.sentence} ({both}; in 90 % of redrawn logs, between {low} and {high}.)"


def _interval(brought: Gain) -> str:
    low, high = (rounded(x, brought.error) for x in (brought.low, brought.high))
    return f"By their scores alone, the 90 % interval is {low} to {high} per episode."


def _luck(result: Result) -> str:
    trials = result.selection.trials if result.selection else ()
    passed = sum(trial.passed for trial in trials)
    if passed < 2:  # the interval is that of one controller, not of the best of several
        return ""
    return f" It is the best of {passed} that passed, so some of this may be luck."


_NEXT = {
    "safe": "Use improved.json or improved.py in place of the old controller. Go on logging, and "
    "improve again when the log has doubled.",
    "tested": "Use the new controller on a part first, and go on logging. The test is exact only "
    "for many episodes.",
    "test": "Try the changes in a few places, log what happens there, and run this again with the "
    "longer log.",
    "doubtful": "Keep the old controller. Log more episodes, or try a longer memory (--window).",
    "keep": "Keep the old controller. Log more, and let people try other actions now and then: "
    "what was never tried cannot be recommended.",
    "unreliable": "Find out why the check failed: a wrong rule, a wrong column, or a process that "
    "changed. Correct it and run this again.",
}


def next_step(word: str, held_out: Selection | None) -> str:
    """What to do now."""
    from jumar.algorithms.auto.samples import needs

    said = _NEXT[str(word)]
    if word in ("keep", "test", "doubtful") and held_out is not None and held_out.trials:
        plan = needs(held_out, None, (0.8,))
        if plan and plan[0].episodes is not None and plan[0].episodes > held_out.episodes:
            said += (
                f" With about {plan[0].episodes:,} episodes in all, a gain of "
                f"{number(plan[0].gain)} per episode would probably be certified."
            )
    return said


def memory_contradicted(result: Result, check: Check) -> bool:
    """Does the certificate assume that the memory suffices, and does the log contradict that?"""
    if SUFFICIENT not in result.certificate.assumptions:
        return False
    memory, order = str(result.improvement.mdp.memory), check.sections.get("order")
    tests = order.tests if isinstance(order, Order) else ()
    return any(test.rejected for test in tests if test.memory == memory)


def safety(result: Result, check: Check) -> str:
    """What can be lost."""
    best = result.certificate
    if result.improvement.changed == 0 and result.estimated:
        return best.claim
    if result.improvement.changed == 0:
        why = f" {best.claim}" if result.selection else ""
        return f"Nothing changes, so nothing can be lost.{why}"
    if best.vacuous:
        return (
            "No certificate says anything at this size of log: the best bound excludes no loss. "
            "The estimate may be right, but nothing here proves it."
        )
    chance = "" if best.odds is None else f", except with a chance of {100 * best.odds:g} %"
    if not best.declared:
        chance += f", {AS_SEEN}"
    if best.reason:
        said = best.reason
    elif best.zeta <= 0:
        said = f"Not worse than the old controller{chance}."
    else:
        said = f"A loss of more than {number(best.zeta)} per episode is excluded{chance}."
    for certificate in result.kept:
        said += f" {certificate.claim}"
    if memory_contradicted(result, check):
        said += " But this assumes that the memory suffices, and the log says that it does not."
    if best.validity.strength < Validity.PUBLISHED.strength:
        said += f" But this is only {best.validity.value}: {_small(best.validity.meaning)}"
    return said


def warnings(result: Result, check: Check) -> Iterator[Warning]:
    """What must be known before the numbers, the worst first."""
    remarks = result.log.origin.remarks if result.log.origin else None
    for fact in facts(check):
        if fact.state == "failed":
            yield Warning(f"A check failed: {_small(fact.text)}", fact.finding, loud=True)
    if result.estimated:
        yield Warning(
            "The behavior was estimated.",
            "Nobody said which controller produced this log; it was estimated from the log itself. "
            "If people acted on things that are not in the log (a noise, an experience, a phone "
            "call), those things may explain both what they did and how it went (confounding). "
            "Then even endless data of this kind would mislead. No certificate excludes that.",
        )
    if remarks and remarks.rewards_assumed:
        yield Warning(
            "The rewards were assumed.",
            "The log does not say what anything cost or paid; the prices were given by hand. Every "
            "value here depends on them.",
        )
    open_ends = result.episodes - int(result.counts.ends.sum())
    if open_ends:
        every = "Some" if open_ends < result.episodes else "All"
        yield Warning(f"{every} episodes were cut off.", _cut_off(result, open_ends))


def _cut_off(result: Result, open_ends: int) -> str:
    were = "was" if open_ends == 1 else "were"
    said = (
        f"{open_ends:,} of {counted(result.episodes, 'episode')} {were} cut off: the process still "
        "runs, or recording stopped. Nothing is known after the cut"
    )
    left_out = result.counts.unfinished
    if left_out:
        said += (
            f"; {counted(left_out, 'last step')} whose outcome is unknown "
            f"{'was' if left_out == 1 else 'were'} left out. That is sound if the cut had "
            "nothing to do with what would have followed."
        )
    else:
        said += ", and what would have followed is estimated from the other episodes."
    discount = result.improvement.mdp.discount
    test = result.selection  # which knows the whole log, where `log` is a sample
    beyond = test.beyond if test else result.log.beyond_cut(discount)
    said += f" {100 * beyond:.2g} % of the discounted weight lies beyond the cuts."
    if result.selection and result.selection.trials:
        said += " The test counts up to the cut."
    return said


def facts(check: Check) -> list[Fact]:
    """What was asked of the log."""
    return [
        Fact(question, section.verdict.status, section.verdict.sentence)
        for question, section in check.answers
    ]


def _small(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
