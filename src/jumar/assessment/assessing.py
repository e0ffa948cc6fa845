"""Assessment: everything that is said about a result, computed once, before anything is shown.

The terminal, the page, `certificate.json`, `--json`, `decisions.csv`, the drawing and the exit
code render an assessment, and compute nothing. So they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumar.algorithms import trusted_from
from jumar.algorithms.auto import Selection, held_out_test
from jumar.assessment import sentences
from jumar.assessment.decisions import Decisions, decide
from jumar.assessment.gain import Gain, gain_of
from jumar.assessment.heeded import heeded
from jumar.assessment.kept import KeptSignals, drifting_signals, kept_signals
from jumar.assessment.noticing import Looked, notices
from jumar.assessment.outlook import Outlook, outlook
from jumar.assessment.result import Result
from jumar.assessment.sentences import Fact, Warning
from jumar.assessment.simplicity import Smallest, simplicity, smallest
from jumar.assessment.split import Split, split
from jumar.assessment.tested import Trials, in_words
from jumar.assessment.verdict import Verdict, judge
from jumar.core.arrays import Frozen
from jumar.core.shown import Shown
from jumar.evidence.certificate import worth_showing
from jumar.evidence.checking import Check, check
from jumar.evidence.claims import Certificate
from jumar.evidence.noticing import Notice
from jumar.evidence.resampling import Resampled, resample

RESAMPLES = 99  # draws of a test: enough for its level, and nobody should wait long


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Frozen, Shown):
    """What is said about a result."""

    result: Result
    verdict: Verdict
    check: Check  # of the log
    held_out: Selection | None  # the test on held-out episodes, whatever the algorithm
    decisions: Decisions  # history state by history state, with reasons
    resampled: Resampled  # the gain in redrawn logs
    gain: Gain  # the one number to go by, per episode and per year
    trials: Trials | None  # the test in words
    split: Split | None = None  # of the gain: fewer slips, new decisions
    smallest: Smallest | None = None  # fewer memory nodes that do the same, if there are
    notices: tuple[Notice, ...] = ()  # what a colleague would say, of the log and of the result
    outlook: Outlook | None = None  # what comes next, where the process drifts

    @property
    def summary(self) -> str:
        return f"{self.verdict.badge}. {self.verdict.headline}"

    @property
    def certificate(self) -> Certificate:
        """The one to go by."""
        return self.result.certificate

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """All there are; that of a forecast comes last."""
        ahead = self.outlook.certificate if self.outlook else None
        return self.result.certificates if ahead is None else (*self.result.certificates, ahead)

    @property
    def telling(self) -> tuple[Certificate, ...]:
        """The certificates that a person can learn something from."""
        return worth_showing(self.certificates)

    @property
    def interval(self) -> tuple[float, float]:
        """Of the gain, in 90 % of redrawn logs."""
        return self.resampled.interval()

    @property
    def gain_text(self) -> str:
        """What the change brings, in sentences, with what else is known about it."""
        return sentences.gain(self.result, self.gain, self.interval)

    @property
    def safety(self) -> str:
        """What can be lost, in sentences."""
        return sentences.safety(self.result, self.check, self.outlook)

    @property
    def next_step(self) -> str:
        """What to do now, in sentences."""
        return sentences.next_step(self.verdict.word, self.held_out)

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What the reader must know before the numbers, the worst first."""
        return tuple(sentences.warnings(self.result, self.check, self.outlook))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What was asked of the log, and what was found."""
        return tuple(sentences.facts(self.check))

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
        """Verdict, numbers, checks and certificates, in plain JSON types."""
        test = None if self.result.selection else self.held_out
        return {
            "verdict": self.verdict.to_dict(),
            "warnings": [f"{w.title} {w.text}" for w in self.warnings],
            "gain": self.gain.to_dict(),
            "notices": [notice.to_dict() for notice in self.notices],
            **self.result.to_dict(),
            "certificates": [c.to_dict() for c in self.certificates],
            "forecast": self.outlook.to_dict() if self.outlook else None,
            "split": self.split.to_dict() if self.split else None,
            "smallest": self.smallest.to_dict() if self.smallest else None,
            "interval": list(self.interval),
            "checks": {
                name: {"status": part.verdict.status, "finding": part.verdict.sentence}
                for name, part in self.check.sections.items()
            },
            "held_out": test.to_dict() if test else None,
        }


def assess(result: Result) -> Assessment:
    """Check the log, test, redraw and compare: everything that is said about a result.

    >>> from jumar import Controller, improve, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=500, seed=1)
    >>> improve(log, behavior, discount=0.95).assessment.verdict.word.value
    'safe'
    """
    checked = check(
        result.replays,
        result.behavior if result.practice is None else result.practice,
        discount=result.improvement.mdp.discount,
        seed=result.seed,
        resamples=RESAMPLES,
    )
    held_out = result.selection or _held_out(result)
    seen = result.sampled() if result.sampled else result.improvement
    resampled = resample(result.replays, seen, seed=result.seed)
    gain = gain_of(result, resampled)
    parts = split(result)
    replays = None if result.sampled else result.replays
    made = decide(
        result.improvement,
        replays,
        parts.policy if parts else None,
        result.simplified.left_out if result.simplified else None,
        heeded(result),
    )
    failed = checked.verdict.status == "failed"
    noticed = (
        *checked.notices, *drifting_signals(result), *notices(Looked(result, made, parts, failed)),
    )  # fmt: skip
    ahead = outlook(result, checked)
    return Assessment(
        result=result,
        verdict=judge(result, checked, held_out, gain, noticed, ahead),
        check=checked,
        held_out=held_out,
        decisions=made,
        resampled=resampled,
        gain=gain,
        trials=in_words(held_out) if held_out else None,
        split=parts,
        smallest=smallest(result),
        notices=noticed,
        outlook=ahead,
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
