"""The verdict on a result, and what may be shown under it: one table that every rendering reads.

The word is the first of these whose condition holds:

do-not-rely  a check of the log failed, or something as bad was noticed
keep         nothing changes; or an algorithm was named, and what is learned in its way lost on
             episodes it was not learned from
adopt        proved whatever the environment is, and the range was declared
adopt-if     proved within what the log shows of the range
trial        everything else: an approximate test, a policy that was guessed from the log, a claim,
             a published theorem, a proof that needs the memory to suffice

`VERDICTS` says for each word what may be shown. Terminal, page, JSON, notebook and exit code read
it, and nobody decides on their own: a number that the verdict does not carry is in none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import Any

from jumar.core.plain import plain
from jumar.core.registry import Registry
from jumar.core.text import counted, listing, plural, shown
from jumar.evidence.checking import Check
from jumar.evidence.claims import Certificate
from jumar.evidence.noticing import Notice
from jumar.evidence.validity import Validity
from jumar.gate import Selection
from jumar.gate.asymptotic import normal
from jumar.gate.outcome import unproved
from jumar.gate.samples import LIKELY, MOST_TIMES, plan, two_digits
from jumar.verdict import sentences
from jumar.verdict.gain import Gain
from jumar.verdict.kept import kept_clauses
from jumar.verdict.result import Result
from jumar.verdict.sentences import Doubt

LEAST_TRIAL = 20  # episodes: with fewer a mean is not yet normal


class Word(StrEnum):
    """The verdict in one word."""

    ADOPT = "adopt"
    ADOPT_IF = "adopt-if"
    TRIAL = "trial"
    KEEP = "keep"
    DO_NOT_RELY = "do-not-rely"


class Carried(StrEnum):
    """Which numbers of a gain may be shown."""

    AT_LEAST = "what is proved, then the estimate"
    ESTIMATE = "the estimate with its interval"
    NONE = "none"


@dataclass(frozen=True)
class Terms:
    """A verdict: what may be shown under it, and when it holds."""

    headline: str
    numbers: Carried
    decides: bool  # are decisions shown as things to change?
    colour: str  # of the page: good, warn, accent or bad
    rank: int  # the first verdict that holds counts
    of: Callable[[Case], Verdict | None]  # the verdict, if it holds
    next_step: str = ""
    exit_code: int = 0


@dataclass(frozen=True)
class Verdict:
    """What to make of a result, with all numbers of its gain that may be shown."""

    word: str  # of `VERDICTS`
    headline: str  # what to do
    lead: str  # what it brings, or why not
    next_step: str
    doubts: tuple[Doubt, ...]  # what could make this wrong
    reasons: tuple[str, ...] = ()  # what the word rests on, the strongest first
    options: tuple[str, ...] = ()  # of the command that is the next step
    command: str = "improve"  # its name
    at_least: float | None = None  # gain per episode that is proved
    about: float | None = None  # ... that is estimated
    interval: tuple[float, float] | None = None  # 90 %, of that estimate

    @property
    def terms(self) -> Terms:
        """What may be shown."""
        return VERDICTS[self.word]

    @property
    def exit_code(self) -> int:
        """Of the command."""
        return self.terms.exit_code

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        numbers = {"estimate": self.about, "interval": self.interval}
        if self.terms.numbers is Carried.AT_LEAST:
            numbers = {"at_least": self.at_least, **numbers}
        return {
            "word": str(self.word),
            "headline": self.headline,
            "lead": self.lead,
            **({} if self.terms.numbers is Carried.NONE else plain(numbers)),
            "next_step": self.next_step,
            "next_options": list(self.options),
            "what_could_make_this_wrong": [str(doubt) for doubt in self.doubts],
            "reasons": list(self.reasons),
            "exit_code": self.exit_code,
        }


@dataclass(frozen=True, eq=False)
class Case:
    """All that a verdict is given on."""

    result: Result
    check: Check
    held_out: Selection | None  # the held-out test, if one was made
    gain: Gain
    notices: Sequence[Notice] = ()  # of the log and of the result

    @cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """What could make any verdict wrong."""
        return tuple(sentences.doubts(self.result))

    @property
    def lucky(self) -> tuple[Doubt, ...]:
        """The same where a gain is shown."""
        return *self.doubts, *sentences.luck(self.result)

    @property
    def lost(self) -> bool:
        """An algorithm was named, and what is learned in its way brought nothing?"""
        return self.result.selection is None and self.held_out is not None and _lost(self.held_out)

    @cached_property
    def weakest(self) -> Certificate:
        """A chain of claims is as strong as the weakest."""
        certificates = self.result.certificate, *self.result.kept
        return min(certificates, key=lambda c: c.validity.strength)

    @cached_property
    def unproved(self) -> str:
        """Why a certificate proves nothing here, whatever its class; empty where it does."""
        return _unproved(self.result, self.check)


def judge(case: Case) -> Verdict:
    """The verdict."""
    kinds = sorted(VERDICTS.values(), key=lambda kind: kind.rank)
    return next(found for kind in kinds if (found := kind.of(case)) is not None)


@dataclass(frozen=True)
class Failure:
    """Why nothing that was learned can be relied on."""

    wrong: str
    remedy: str
    options: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """In place of every number."""
        return f"{VERDICTS[Word.DO_NOT_RELY].headline} {self.wrong} {self.remedy}"


def failures(check: Check, notices: Sequence[Notice]) -> list[Failure]:
    """All that is loud, and every check that failed."""
    loud = [Failure(n.fact, n.remedy, n.options) for n in notices if n.loud]
    return loud + [
        _failure(name, part.verdict.sentence, check.notices)
        for name, part in check.sections.items()
        if part.verdict.status == "failed"
    ]


_REMEDIES = {
    "drift": "Use the later part of the log, or find out what changed.",
    "propensities": "Correct the column of propensities, or leave it out and state the policy.",
}
_FIND_OUT = (
    "jumar check tells where it does not fit. Correct the policy file or the column that is wrong, "
    "and run this again."
)


def _failure(name: str, finding: str, notices: Sequence[Notice]) -> Failure:
    """Of a check, with the remedy that was noticed, if one was."""
    wrong = f"{finding.partition('. ')[0].removesuffix('.')}."
    about = [notice for notice in notices if name == "fit" and notice.options]
    if about:
        return Failure(wrong, about[0].remedy, about[0].options)
    return Failure(wrong, _REMEDIES.get(name, _FIND_OUT))


def _do_not_rely(case: Case) -> Verdict | None:
    broken = failures(case.check, case.notices)
    if not broken:
        return None
    first, *_ = broken
    headline = VERDICTS[Word.DO_NOT_RELY].headline
    reasons = tuple(failure.wrong for failure in broken)
    # nobody wants to paste one command after the other
    options = tuple(word for failure in broken for word in failure.options)
    return Verdict(
        Word.DO_NOT_RELY, headline, first.wrong, first.remedy, case.doubts, reasons, options
    )


def _keep(case: Case) -> Verdict | None:
    result, held_out = case.result, case.held_out
    if result.improvement.changed and not case.lost:
        return None
    terms, test = VERDICTS[Word.KEEP], result.selection
    options: tuple[str, ...] = ()
    command = "improve"
    said, reasons = terms.next_step, [result.certificate.claim]
    if test is not None and test.too_short:
        lead = "Too much of what counts lies beyond where the records stop."
        said = "Record for longer; or, if episodes end where the records do, say so "
        said += "(--ends terminated)."
        options = ("--ends", "terminated")
    elif test is not None:
        lead, found = _why_kept(test), plan(test)
        # more of the same is advised only where it would decide something
        said = found.why or f"{said} {found.said(test.episodes, result.pace)}"
        if found.size is not None:
            command, day = "samples", None
            if result.pace is not None:
                day = result.pace.day(max(0, found.size - test.episodes))
            options = ("--until", day.isoformat()) if day else ()
    elif result.improvement.changed == 0:
        lead = "The log gives no reason to change it."
    else:
        assert held_out is not None
        lead, reasons = f"{same_way(held_out)} So nothing is to be changed.", [same_way(held_out)]
    if result.estimated:
        said += " The policy in the output is only a copy of yours, guessed from the log."
    return Verdict(
        Word.KEEP, terms.headline, lead, said, case.doubts, tuple(reasons), options, command
    )  # fmt: skip


def _why_kept(test: Selection) -> str:
    if (back := test.held_back) is not None:
        failed = [shown(kept.signal) for kept in back.kept if not kept.passed]
        return f"What is better on {shown(test.objective)} is not proved to keep {listing(failed)}."
    said = "Nothing that was tried is better beyond doubt on episodes it was not learned from"
    if unkept := test.unkept:
        names = listing([shown(signal.signal) for signal, _ in unkept])
        said += f", and what came closest is not proved to keep {names}"
    return f"{said}."


def _lost(test: Selection) -> bool:
    """Did the same way of learning bring nothing on held-out episodes? By the scores that are bet
    on, or by those that are told: a trial is advised only where both say that it gains."""
    by_bets = sum(trial.gain for trial in test.trials)
    as_told = sum(trial.told.gain for trial in test.trials)
    return bool(test.trials) and min(by_bets, as_told) <= 0


def same_way(test: Selection) -> str:
    """What the held-out test says about policies that were learned in the same way."""
    if not test.trials:
        return "There is no held-out test: what is learned from half of the log changes nothing."
    if _lost(test):
        return (
            "Policies learned in this way from half of the log did no better than yours on the "
            "other half."
        )
    passed = sum(trial.passed for trial in test.trials)
    tested = f"{passed} of {len(test.trials)} policies learned in this way"
    return f"{tested} passed the test on the other half."


def _unproved(result: Result, check: Check) -> str:
    """Why a certificate proves nothing here, whatever its class; empty where it does."""
    best = result.certificate
    if result.estimated:
        return (
            "Your policy was guessed from this log. If what was done also depended on something "
            "that is not recorded, nothing of this remains."
        )
    if result.practice is not None and (why := unproved(result.selection, result.practice)):
        return why
    if best.zeta > 0:
        return "No certificate excludes a loss."
    if sentences.memory_contradicted(result, check):
        return "It is proved only if the memory suffices, and the log says that it does not."
    return ""


def _trial(case: Case) -> Verdict:
    result, gain, held_out = case.result, case.gain, case.held_out
    terms = VERDICTS[Word.TRIAL]
    why = case.unproved or case.weakest.validity.meaning
    said = terms.next_step.format(episodes=plural(gain.episode, 2)) + _trial_size(result, gain)
    options: tuple[str, ...] = ()
    if result.estimated:
        said += " Or write down the policy, as people know it, and run this again."
    elif result.selection is None:
        said += " Or let the change be tested on episodes that it was not learned from."
        options = ("--algorithm", "auto")
    elif result.selection.gate != "proved":
        said += " Or ask for a proof."
        options = ("--gate", "proved")
    named = None if result.selection or held_out is None else same_way(held_out)
    counted = sentences.counted_up_to_the_cut(result) if gain.shown is not None else ""
    lead = " ".join(filter(None, [sentences.looks(gain), counted, why, named]))
    return Verdict(
        Word.TRIAL, terms.headline, lead, said, case.lucky, (why,), options,
        about=gain.shown, interval=gain.interval,
    )  # fmt: skip


def _trial_size(result: Result, gain: Gain) -> str:
    """How long a trial takes, half of it under the new policy, if the gain is as estimated; or
    nothing. A mean that is seen at 5 %, one-sided, with a chance of 80 %."""
    if gain.shown is None or gain.shown <= 0:
        return ""
    spread = float(result.log.returns(result.improvement.mdp.discount).std())
    size = math.ceil(4 * ((normal(0.05) + normal(1 - LIKELY)) * spread / gain.shown) ** 2)
    if not LEAST_TRIAL <= size <= MOST_TIMES * result.episodes:
        return ""
    size, pace = two_digits(size), result.pace
    time = f" {pace.text(size)}" if pace else ""
    return (
        f" If it gains what is estimated, {counted(size, gain.episode)}, half of them under "
        f"the new policy, show that in 80 % of trials.{time}"
    )


_EARLY_ENDS = (
    "Find out whether that is all that can happen. To drop the proviso, declare what a step can "
    "pay (--rewards). The test then also allows for {episodes} that end early, as none here does. "
    "With these rewards that takes far more {episodes} than this log has."
)


def _adopt(word: Word, case: Case) -> Verdict | None:
    if case.unproved or case.weakest.validity is not _PROVED[word]:
        return None
    result, gain = case.result, case.gain
    terms, best = VERDICTS[word], result.certificate
    proviso, options = sentences.proviso(result) if word is Word.ADOPT_IF else ("", ())
    said = terms.next_step
    if options and sentences.early_ends(result):
        said, options = _EARLY_ENDS.format(episodes=plural(gain.episode, 2)), ()
    least = max(0.0, -best.zeta)
    about = gain.shown
    if about is not None and about < least:  # an estimate below what is proved says nothing
        about = None
    lead = sentences.expect(gain, least, about, result.delta)
    lead = f"{lead} {sentences.counted_up_to_the_cut(result)}".strip()
    if clauses := kept_clauses(result.selection):
        lead += f" It {', and it '.join(clauses)}."
    reasons = (best.claim, *(certificate.claim for certificate in result.kept))
    return Verdict(
        word, terms.headline.format(proviso=proviso), lead, said, case.lucky, reasons,
        options, at_least=least, about=about,
        interval=gain.interval if about is not None else None,
    )  # fmt: skip


_PROVED = {Word.ADOPT: Validity.PROVED, Word.ADOPT_IF: Validity.PROVED_IF_SEEN}

VERDICTS: Registry[Terms] = Registry(
    "verdict",
    {
        Word.DO_NOT_RELY: Terms(
            "Do not use these numbers.", Carried.NONE, False, "bad", 0, _do_not_rely, exit_code=1
        ),
        Word.KEEP: Terms(
            "Keep your policy.", Carried.NONE, False, "accent", 10, _keep, "Keep logging."
        ),
        Word.ADOPT: Terms(
            "Adopt the new policy.",
            Carried.AT_LEAST,
            True,
            "good",
            20,
            partial(_adopt, Word.ADOPT),
            "Put improved.json or improved.py into use. Keep logging, and check new logs "
            "(jumar check): things change.",
        ),
        Word.ADOPT_IF: Terms(
            "Adopt the new policy, if {proviso}.",
            Carried.AT_LEAST,
            True,
            "good",
            30,
            partial(_adopt, Word.ADOPT_IF),
            "Say whether that is all that can happen, or how much more: then no proviso is left.",
        ),
        Word.TRIAL: Terms(
            "Worth a trial, not proved.",
            Carried.ESTIMATE,
            True,
            "warn",
            40,
            _trial,
            "Try it on a share of the {episodes}, chosen by chance, and compare.",
        ),
    },
)


# ---- what JSON and certificates may say ---------------------------------------------------------

_LEAST = frozenset({"lower_bound", "passes_from_delta"})
_GAINS = frozenset({"gain", "kept_gain", "standard_error"})
_DROPPED = {
    Carried.AT_LEAST: frozenset[str](),
    Carried.ESTIMATE: _LEAST,
    Carried.NONE: _LEAST | _GAINS,
}


def carried(told: Any, numbers: Carried) -> Any:
    """Plain JSON types without what may not be shown.

    >>> carried({"changed": 2, "tested": [{"gain": 1.0, "lower_bound": 0.5}]}, Carried.ESTIMATE)
    {'changed': 2, 'tested': [{'gain': 1.0}]}
    """
    if isinstance(told, list):
        return [carried(item, numbers) for item in told]
    if not isinstance(told, dict):
        return told
    dropped = _DROPPED[numbers]
    return {key: carried(item, numbers) for key, item in told.items() if key not in dropped}


def claim(certificate: Certificate, numbers: Carried) -> str:
    """What may be said of a certificate; empty where nothing may. A least gain and a chance of
    error are said only where the verdict carries what is proved; a limit on losses is no gain."""
    if numbers is Carried.AT_LEAST or certificate.bound in ("unchanged", "none"):
        return certificate.claim
    if numbers is Carried.ESTIMATE and certificate.zeta > 0:
        return f"{certificate.verdict[0].upper()}{certificate.verdict[1:]}."
    return ""


def certificate_told(certificate: Certificate, numbers: Carried) -> dict[str, Any]:
    """A certificate in plain JSON types, as far as the verdict carries it."""
    said = claim(certificate, numbers)
    told = {**certificate.to_dict(), "claim": said}
    if said:
        chance = {"odds", "delta", "delta_meaning"} if numbers is Carried.ESTIMATE else set()
        return {key: value for key, value in told.items() if key not in chance}
    classes = () if numbers is Carried.NONE else ("title", "validity")  # both may say "proved"
    return {key: told[key] for key in ("bound", *classes, "about", "assumptions")}
