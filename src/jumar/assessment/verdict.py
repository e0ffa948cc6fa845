"""The verdict on a result: one word, one sentence for people, and the reasons.

The word is the first in this list whose condition holds:

unreliable  a check of the log failed, or something as bad was noticed: what was learned from it
            cannot be trusted; where the process drifts, a forecast is told beside it
keep        nothing changes
safe        a certificate that is proved or published says "not worse", and the log does not
            contradict what the certificate assumes of the memory
tested      the same, by a held-out test that becomes exact as episodes grow in number
doubtful    the same way of learning lost in the held-out test, and no proof says otherwise
test        everything else: worth a trial on a small scale

Every renderer shows this verdict: in words, in JSON, as a colour or as an exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jumar.algorithms.auto import Selection
from jumar.assessment.gain import Gain
from jumar.assessment.kept import kept_clauses
from jumar.assessment.outlook import Outlook
from jumar.assessment.result import Result
from jumar.assessment.sentences import memory_contradicted
from jumar.core.text import counted, listing, rounded, shown
from jumar.evidence.checking import Check
from jumar.evidence.claims import Certificate
from jumar.evidence.noticing import Notice
from jumar.evidence.validity import Validity
from jumar.io.plain import picked


class Word(StrEnum):
    """The verdict in one word."""

    SAFE = "safe"
    TESTED = "tested"
    TEST = "test"
    DOUBTFUL = "doubtful"
    KEEP = "keep"
    UNRELIABLE = "unreliable"


BADGES = {
    Word.SAFE: "safe to change",
    Word.TESTED: "passed its test",
    Word.TEST: "promising, not proved",
    Word.DOUBTFUL: "not confirmed",
    Word.KEEP: "keep as it is",
    Word.UNRELIABLE: "do not rely on this",
}


@dataclass(frozen=True)
class Verdict:
    """What to make of a result."""

    word: Word
    headline: str  # what to do, in one or two sentences
    reasons: tuple[str, ...]  # what the word rests on, the strongest first

    @property
    def badge(self) -> str:
        """The word as people read it."""
        return BADGES[self.word]

    @property
    def exit_code(self) -> int:
        """Of the command: 1 if a check failed, as `jumar check` does."""
        return 1 if self.word is Word.UNRELIABLE else 0

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {"word": self.word.value, **picked(self, "badge headline reasons")}


def judge(
    result: Result,
    check: Check,
    held_out: Selection | None,
    gain: Gain,
    notices: Sequence[Notice] = (),
    outlook: Outlook | None = None,
) -> Verdict:
    """The verdict. `held_out` is the held-out test, if one was made; `notices` are those of the log
    and of the result; `outlook` is a forecast, where the log drifts. However good that is, what was
    learned and certified are averages over a log that changed, and the word stays."""
    word, reasons = _word(result, check, held_out, notices)
    headline = _headline(result, word, held_out, gain)
    if outlook and outlook.headline:
        headline, reasons = f"{headline} {outlook.headline}", [*reasons, outlook.headline]
    if loud := [notice for notice in notices if notice.loud]:
        headline = f"Do not use this yet. {loud[0].fact} {loud[0].remedy}"
    return Verdict(word, headline, tuple(reasons))


def failed(check: Check, notices: Sequence[Notice] | None = None) -> list[str]:
    """Every check that failed, as question and finding, after what was noticed and is as bad."""
    noticed = check.notices if notices is None else notices
    return [notice.fact for notice in noticed if notice.loud] + [
        f"{question} {section.verdict.sentence}"
        for question, section in check.answers
        if section.verdict.status == "failed"
    ]


def _word(
    result: Result, check: Check, held_out: Selection | None, notices: Sequence[Notice]
) -> tuple[Word, list[str]]:
    best = result.certificate
    if broken := failed(check, notices):
        return Word.UNRELIABLE, broken
    if result.improvement.changed == 0:
        return Word.KEEP, [best.claim]
    reasons = [best.claim, f"This is {best.verdict}."]
    reasons += [certificate.claim for certificate in result.kept]
    if result.selection is None and held_out is not None:
        reasons.append(same_way(held_out))
    named = None if result.selection else held_out
    if named and _lost(named) and not _proved_anyway(best):
        return Word.DOUBTFUL, [same_way(named), best.claim]
    if best.zeta > 0 or best.vacuous:
        return Word.TEST, reasons
    if memory_contradicted(result, check):
        reasons.append("This assumes that the memory suffices, and the log says that it does not.")
        return Word.TEST, reasons
    # a chain of claims is as strong as the weakest
    weakest = min((best, *result.kept), key=lambda c: c.validity.strength).validity
    if weakest.strength >= Validity.PUBLISHED.strength:
        return Word.SAFE, reasons
    return (Word.TESTED if weakest is Validity.ASYMPTOTIC else Word.TEST), reasons


def _proved_anyway(best: Certificate) -> bool:
    """Not worse by a proof that does not assume that the memory suffices."""
    proved = (Validity.PROVED, Validity.PROVED_IF_SEEN)
    return best.zeta <= 0 and not best.vacuous and best.validity in proved


def _lost(test: Selection) -> bool:
    """Did the same way of learning bring nothing on held-out episodes?"""
    return bool(test.trials) and _mean(test)[0] <= 0


def _mean(test: Selection) -> tuple[float, float]:
    """Held-out gain over the halves, and its standard error."""
    n = len(test.trials)
    gain = sum(trial.gain for trial in test.trials) / n
    return gain, sum(trial.error**2 for trial in test.trials) ** 0.5 / n


def same_way(test: Selection) -> str:
    """What the held-out test says about controllers that were learned in the same way."""
    if not test.trials:
        return "There is no held-out test: what is learned from half of the log changes nothing."
    gain, error = _mean(test)
    passed = sum(trial.passed for trial in test.trials)
    result = "passed" if passed == len(test.trials) else f"passed {passed} of {len(test.trials)}"
    result = result if passed else "did not pass"
    size = rounded(abs(gain), error)
    what = f"lost {size}" if gain < 0 else f"brought {size} more"
    refused = [trial.refused for trial in test.trials if trial.refused]
    return (
        "In the held-out test, controllers learned in this way from half of the log "
        f"{what} per episode (standard error {rounded(error, error)}) and {result}"
        + (f": {refused[0]}." if refused else ".")
    )


def _held_back(test: Selection) -> str:
    """Why a change is not handed over that is better on the objective."""
    trial = test.held_back
    assert trial is not None
    failed = [shown(kept.signal) for kept in trial.kept if not kept.passed]
    return f"what is better on {shown(test.objective)} is not proved to keep {listing(failed)}"


def _headline(result: Result, word: Word, held_out: Selection | None, gain: Gain) -> str:
    """What to do, in one sentence; where an algorithm was named, a second one says how controllers
    learned in the same way did in the held-out test."""
    changed, states = result.improvement.changed, len(result.improvement.mdp)
    kept = "no change passed the held-out test"
    if not result.selection:
        kept = "the log gives no reason to change it"
    elif result.selection.held_back is not None:
        kept = _held_back(result.selection)
    elif unkept := result.selection.unkept:
        names = listing([shown(signal.signal) for signal, _ in unkept])
        kept += f", and what came closest is not proved to keep {names}"
    if word is Word.UNRELIABLE:
        return (
            "Do not rely on this: the log failed a check. Find out why before you change anything."
        )
    if word is Word.KEEP:
        return f"Keep the controller as it is: {kept}."
    what = f"{changed:,} of {counted(states, 'history state')}"
    brings = gain.sentence.removesuffix(".")
    brings = brings[0].lower() + brings[1:]
    if word is Word.SAFE:
        said = f"Change {what}: {brings}, and its certificate says that it is not worse."
        if clauses := kept_clauses(result.selection):
            said += f" It {', and it '.join(clauses)}."
    elif word is Word.TESTED:
        said = f"Change {what}: {brings}, and it did better in the held-out test."
    elif word is Word.DOUBTFUL:
        said = (
            f"Do not change anything yet: with other actions in {what}, {brings}, but the held-out "
            "test does not confirm it."
        )
    else:
        said = (
            f"Try it on a small scale first: with other actions in {what}, {brings}, but no "
            "certificate covers this yet."
        )
    named = None if result.selection else held_out
    return f"{said} {same_way(named)}" if named else said
