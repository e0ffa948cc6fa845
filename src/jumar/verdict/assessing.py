"""Assessment: everything that is said about a result, computed once, before anything is shown.

The terminal, the page, `certificate.json`, `--json`, `decisions.csv`, the drawing and the exit
code render an assessment, and compute nothing. So they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumar.algorithms import trusted_from
from jumar.core.arrays import Frozen
from jumar.core.text import Shown
from jumar.evidence.certificate import worth_showing
from jumar.evidence.checking import Check, check
from jumar.evidence.claims import Certificate
from jumar.evidence.noticing import Notice
from jumar.gate import Selection, held_out_test
from jumar.verdict import sentences
from jumar.verdict.decisions import Decisions, decide
from jumar.verdict.exceptions import Exceptions, exceptions
from jumar.verdict.gain import Gain, gain_of
from jumar.verdict.heeded import heeded
from jumar.verdict.kept import KeptSignals, drifting_signals, kept_signals
from jumar.verdict.noticing import Looked, notices
from jumar.verdict.result import Result
from jumar.verdict.sentences import Fact
from jumar.verdict.simplicity import Smallest, simplicity, smallest
from jumar.verdict.tested import Trials, in_words
from jumar.verdict.verdicts import (
    Case,
    Verdict,
    Word,
    carried,
    certificate_told,
    judge,
)


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Frozen, Shown):
    """What is said about a result."""

    result: Result
    verdict: Verdict
    check: Check  # of the log
    held_out: Selection | None  # the test on held-out episodes, whatever the algorithm
    decisions: Decisions  # history state by history state, with reasons
    gain: Gain  # the one number to go by, per episode and per year
    trials: Trials | None  # the test in words
    exceptions: Exceptions | None = None  # what those of the old policy cost
    smallest: Smallest | None = None  # fewer memory nodes that do the same, if there are
    notices: tuple[Notice, ...] = ()  # what a colleague would say, of the log and of the result

    @property
    def summary(self) -> str:
        return f"{self.verdict.headline} {self.verdict.lead}"

    @property
    def certificate(self) -> Certificate:
        """The one to go by."""
        return self.result.certificate

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """All there are."""
        return self.result.certificates

    @property
    def telling(self) -> tuple[Certificate, ...]:
        """The certificates that a person can learn something from."""
        return worth_showing(self.certificates)

    @property
    def also(self) -> tuple[str, ...]:
        """What else is wrong with the log, and no notice says."""
        noticed = {notice.fact for notice in self.notices}
        found = self.verdict.reasons[1:] if self.verdict.exit_code else ()
        return tuple(reason for reason in found if reason not in noticed)

    @property
    def today(self) -> str:
        """What the old policy brings, which is known; nothing where the log is in doubt."""
        gain = self.gain
        verb, old = ("costs", 0.0 - gain.old) if gain.costs else ("brings", gain.old)
        said = f"Your policy {verb} {gain.money(old)} per {gain.episode}, on average in the log."
        return "" if self.verdict.exit_code else said

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What was asked of the log, and what was found."""
        return sentences.facts(self.check)

    @property
    def simplicity(self) -> str:
        """What was kept of the changes, in a sentence; nothing where all were to be made."""
        return simplicity(self.result)

    @property
    def kept(self) -> KeptSignals | None:
        """What is said of the signals that must not get worse, if there are any."""
        return kept_signals(self.result.selection)

    @property
    def threshold(self) -> int | float | None:
        """A pair is known if it has more visits than this; None where there is no such number."""
        return trusted_from(self.result.improvement)

    @property
    def costs(self) -> bool:
        """Are rewards costs, so that values are shown with the sign turned?"""
        return sentences.costs(self.result)

    def to_dict(self) -> dict[str, Any]:
        """Verdict, numbers, checks and certificates, in plain JSON types. Numbers that the verdict
        does not carry are not in there."""
        numbers, test = self.verdict.terms.numbers, None
        if self.result.selection is None and self.held_out is not None:
            test = self.held_out.to_dict()
        told = {
            "notices": [notice.to_dict() for notice in self.notices],
            **self.result.to_dict(),
            "certificates": [certificate_told(c, numbers) for c in self.certificates],
            "kept": [certificate_told(c, numbers) for c in self.result.kept],
            "exceptions": self.exceptions.to_dict() if self.exceptions else None,
            "smallest": self.smallest.to_dict() if self.smallest else None,
            "checks": {
                name: {"status": part.verdict.status, "finding": part.verdict.sentence}
                for name, part in self.check.sections.items()
            },
            "held_out": test,
        }
        if self.verdict.exit_code:  # what passed a test, and what is proved, holds only for a log
            # that is what it is taken for; the page shows none of it either
            told = {**told, "certificates": [], "kept": [], "selection": None, "held_out": None}
        gain = {} if self.verdict.about is None else {"gain": self.gain.to_dict()}
        return {"verdict": self.verdict.to_dict(), **gain, **carried(told, numbers)}


def assess(result: Result) -> Assessment:
    """Check the log, test and compare: everything that is said about a result.

    >>> from jumar import Controller, improve, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=500, seed=1)
    >>> improve(log, behavior, discount=0.95).assessment.verdict.word.value
    'adopt-if'
    """
    checked = check(
        result.replays,
        result.behavior if result.practice is None else result.practice,
        discount=result.improvement.mdp.discount,
        seed=result.seed,
    )
    held_out = result.selection or _held_out(result)
    gain = gain_of(result, held_out)
    rare = exceptions(result)
    replays = None if result.sampled else result.replays
    made = decide(
        result.improvement,
        replays,
        rare.policy if rare else None,
        result.simplified.left_out if result.simplified else None,
        heeded(result),
        result.stopping,
    )
    failed = checked.verdict.status == "failed"
    looked = Looked(result, made, gain, rare, failed)
    noticed = (*checked.notices, *drifting_signals(result), *notices(looked))
    verdict = judge(Case(result, checked, held_out, gain, noticed))
    numbers = verdict.terms.numbers
    if verdict.word is Word.DO_NOT_RELY:  # nothing else that is said of the result would hold
        noticed = tuple(n for n in noticed if n.loud or n in checked.notices)
    return Assessment(
        result=result,
        verdict=verdict,
        check=checked,
        held_out=held_out,
        decisions=made,
        gain=gain,
        trials=in_words(held_out, numbers) if held_out and not verdict.exit_code else None,
        exceptions=None if verdict.exit_code else rare,
        smallest=smallest(result),
        notices=noticed,
    )


def _held_out(result: Result) -> Selection | None:
    """Controllers learned by the same algorithm from half of the log, tested on the other half."""
    if result.improvement.changed == 0:
        return None
    return held_out_test(
        result.replays,
        result.behavior if result.practice is None else result.practice,
        algorithm=result.improvement.algorithm,
        parameters=result.improvement.parameters,
        discount=result.improvement.mdp.discount,
        seed=result.seed,
        memory=result.improvement.mdp.memory,
        delta=result.delta,
        rewards=result.rewards if result.rewards.declared else None,
        simplify=result.simplified.share if result.simplified else False,
    )
