"""What is said about a result, in sentences: its gain, its provisos, what could make it wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jumar.core.text import counted, listing, number, plural, rounded, shown
from jumar.evidence.bounds import SUFFICIENT
from jumar.evidence.checking import Check
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import NOT_CONFOUNDED
from jumar.gate.limits import limits_of
from jumar.gate.outcome import share
from jumar.verdict.gain import Gain
from jumar.verdict.result import Result


@dataclass(frozen=True)
class Doubt:
    """Something that could make the answer wrong."""

    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.title}: {self.text}"


# ---- what it brings -----------------------------------------------------------------------------


def expect(gain: Gain, least: float, about: float | None, delta: float) -> str:
    """What is proved, and then what is estimated."""
    save, each = "save" if gain.costs else "gain", f" per {gain.episode}"
    estimate = "" if about is None else f"about {_estimate(gain)}"
    if least > 0:
        size = f"{number(_rounded_down(least))} {gain.unit}".strip()
        said = f"Expect to {save} at least {size}{each}"
        said += f"; {estimate}" if estimate else ""
    else:
        said = "It is proved to be not worse than what you do, but not how much better it is"
        said += f". Expect to {save} about {_estimate(gain, each)}" if estimate else ""
    chance = f"The chance of doing worse than today is at most {100 * delta:g} %."
    return f"{said}. {chance} {gain.caution}".strip()


def looks(gain: Gain) -> str:
    """What is only estimated."""
    if gain.shown is None:
        return f"How much it would bring is not known: {gain.hidden}."
    better = gain.shown >= 0
    way = ("cheaper" if better else "dearer") if gain.costs else ("better" if better else "worse")
    said = f"{gain.whose} looks {way}, by about {_estimate(gain, f' per {gain.episode}')}."
    return f"{said} {gain.caution}".strip()


def counted_up_to_the_cut(result: Result) -> str:
    """What is not in the numbers, where records stop before the end."""
    test = result.selection
    if test is None or test.beyond == 0:
        return ""
    return "These numbers count up to where the records stop."


def _rounded_down(least: float) -> float:
    """To three digits: "at least" allows no rounding up."""
    unit = 10.0 ** (math.floor(math.log10(least)) - 2)
    return math.floor(least / unit) * unit


def _estimate(gain: Gain, each: str = "") -> str:
    assert gain.shown is not None
    assert gain.interval is not None
    said = gain.size(gain.shown)
    low, high = sorted(x if gain.shown >= 0 else -x for x in gain.interval)
    said += f" (90 % interval {rounded(low, gain.error)} to {rounded(high, gain.error)}){each}"
    return f"{said}, {gain.per_year_text}" if gain.per_year_text else said


# ---- on what condition --------------------------------------------------------------------------


def proviso(result: Result) -> tuple[str, tuple[str, ...]]:
    """What was read off the log and must hold, as a clause; and the options that declare it."""
    test = result.selection
    rewards = test.limits.rewards if test else result.rewards
    if not rewards.declared:
        said = "no return can be worse or better"
        if result.costs:
            said = f"no {result.episode} can cost less or more"
        span = _span(result, *_returns(result))
        return f"{said} than in this log ({span})", _declaring(result, rewards)
    steps = test.limits.steps if test and not test.limits.declared_steps else None
    if steps is not None:
        text = f"no record can go on for more than {steps:,} steps, the most in this log"
        return text, ("--horizon", str(steps))
    kept = [shown(c.signal) for c in result.kept if not c.declared]
    return f"no {listing(kept)} can be worse or better than in this log", ()


LOOSER = 2.0  # times the range of the test: with so much more, what passed may not pass again


def early_ends(result: Result) -> bool:
    """Would the same rewards, declared, ask for far more than the test was asked? Only as long as
    they are read off may it take episodes of one length for all there are (`auto.limits`)."""
    test = result.selection
    if test is None or not test.limits.fixed or test.limits.steps is None:
        return False
    declared = replace(test.limits.rewards, declared=True)
    discount = result.improvement.mdp.discount
    wider = limits_of(result.log, discount, declared, test.limits.steps)
    return wider.range > LOOSER * test.limits.range


def _returns(result: Result) -> tuple[float, float]:
    returns = result.log.returns(result.improvement.mdp.discount)
    return float(returns.min()), float(returns.max())


def _span(result: Result, low: float, high: float) -> str:
    """A range as the column has it: of costs with the sign turned."""
    low, high = (0.0 - high, 0.0 - low) if result.costs else (low, high)
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _declaring(result: Result, rewards: RewardRange) -> tuple[str, ...]:
    """As options, which count rewards, also where the column holds costs."""
    options = ["--rewards", _exactly(*rewards.continuing)]
    if rewards.ending is not None and rewards.ending != rewards.continuing:
        options += ["--ending-rewards", _exactly(*rewards.ending)]
    limits = result.selection.limits if result.selection else None
    if limits is not None and limits.steps is not None and not limits.declared_steps:
        options += ["--horizon", str(limits.steps)]
    return tuple(options)


def _exactly(low: float, high: float) -> str:
    """No digit may be lost: what is declared must hold what was logged."""
    return ":".join(f"{x:.0f}" if x == round(x) else repr(x) for x in (low, high))


# ---- what could make it wrong -------------------------------------------------------------------

_HIDDEN = (
    f"The answer holds only if {NOT_CONFOUNDED[0].lower()}{NOT_CONFOUNDED[1:]} "
    "People act on a noise, an experience, a phone call; no log can show that."
)
_CHANGE = "It holds for {episodes} like those in the log, not for times that are different."


def doubts(result: Result) -> Iterator[Doubt]:
    """What could make the answer wrong, whatever it is."""
    yield Doubt("What people acted on that is not in the log", _HIDDEN)
    yield Doubt("Change over time", _CHANGE.format(episodes=plural(result.episode, 2)))
    yield Doubt("The range", _range(result))
    open_ends = result.episodes - int(result.counts.ends.sum())
    if open_ends:
        yield Doubt("The cut", _cut_off(result, open_ends))
    if SUFFICIENT in result.certificate.assumptions:
        yield Doubt(
            "Memory",
            "What happens next may depend on more of the past than the memory holds.",
        )
    if result.remarks.rewards_assumed:
        yield Doubt(
            "Prices",
            "The log does not say what anything cost or paid: the prices were given by hand.",
        )


def luck(result: Result) -> tuple[Doubt, ...]:
    """What could make a gain wrong that is shown: its interval is that of one policy, not of the
    best of several."""
    test = result.selection
    passed = sum(trial.passed for trial in test.trials) if test and test.chosen else 0
    text = f"The estimate is that of the best of {passed} that passed: some of it may be luck."
    return (Doubt("Luck", text),) if passed > 1 else ()


def _range(result: Result) -> str:
    rewards = result.selection.limits.rewards if result.selection else result.rewards
    pays = _span(result, *rewards.continuing)
    if rewards.ending is not None and rewards.ending != rewards.continuing:
        ends = _span(result, *rewards.ending)
        pays += f"; one that ends an episode, {ends}"
    verb = "costs" if result.costs else "pays"
    if rewards.declared:
        return f"You declared what a step {verb} ({pays}). Anything outside makes it wrong."
    return (
        f"What a step {verb} was read off the log ({pays}). A rare loss or gain that the log does "
        "not happen to contain makes it wrong."
    )


def _cut_off(result: Result, open_ends: int) -> str:
    were = "stops" if open_ends == 1 else "stop"
    discount, test = result.improvement.mdp.discount, result.selection
    # the test knows the whole log, where `log` is a sample
    beyond = test.beyond if test else result.log.beyond_cut(discount)
    said = (
        f"{open_ends:,} of {counted(result.episodes, 'record')} {were} before the end. "
        f"Of what counts, {share(beyond)} happens after that, and the log shows nothing of it. "
    )
    if test and test.trials:
        return said + "The test counts up to the cut."
    return said + "There we rely on a model."


def memory_contradicted(result: Result, check: Check) -> bool:
    """Does the certificate assume that the memory suffices, and does the log contradict that?"""
    if SUFFICIENT not in result.certificate.assumptions:
        return False
    memory, order = str(result.improvement.mdp.memory), check.sections.get("order")
    tests = order["tests"] if order else ()
    return any(test["rejected"] for test in tests if test["memory"] == memory)
