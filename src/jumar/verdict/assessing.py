"""Assessment: everything that is said about a result, computed once, before anything is shown.

The terminal, the page, `certificate.json`, `--json`, `decisions.csv`, the drawing and the exit
code render an assessment, and compute nothing. So they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumar.algorithms import trusted_from
from jumar.core.arrays import Frozen
from jumar.core.errors import TooLarge
from jumar.core.text import Shown, counted
from jumar.evidence.certificate import worth_showing
from jumar.evidence.checking import Check, check
from jumar.evidence.claims import Certificate
from jumar.evidence.noticing import Notice
from jumar.gate import Selection, held_out_test
from jumar.policy.controller import Controller
from jumar.verdict.decisions import Decisions, decide
from jumar.verdict.exceptions import Exceptions, exceptions
from jumar.verdict.gain import Gain, gain_of
from jumar.verdict.kept import KeptRow, drifting_signals, heeded, kept_signals
from jumar.verdict.noticing import Looked, notices
from jumar.verdict.result import Result
from jumar.verdict.tested import Trials, in_words
from jumar.verdict.verdicts import Case, Verdict, Word, carried, certificate_told, judge

MOST_NODES = 20_000  # beyond which nobody waits for the smallest memory


@dataclass(frozen=True, eq=False, repr=False)
class Smallest(Frozen, Shown):
    """A controller with fewer memory nodes that does exactly the same, whoever acts: a program that
    is made of it may be told what somebody else did."""

    controller: Controller
    before: int  # nodes of the memory of the controller that it was made of
    nodes: int  # that do the same

    @property
    def summary(self) -> str:
        if self.nodes == 1:
            return f"no memory is needed to do the same (its memory has {self.before:,} nodes)"
        return f"{counted(self.nodes, 'node')} do the same as the {self.before:,} of its memory"

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {"nodes": self.nodes, "nodes_before": self.before}


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
    def telling(self) -> tuple[Certificate, ...]:
        """The certificates that a person can learn something from."""
        return worth_showing(self.result.certificates)

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
    def states(self) -> list[str]:
        """How each check of the log went: passed, look or failed."""
        return [section.verdict.status for _, section in self.check.answers]

    @property
    def simplicity(self) -> str:
        """What was kept of the changes, in a sentence; nothing where all were to be made."""
        told = self.result.simplified
        if told is None:
            return ""
        half = "the half of the log that it was learned from"
        model = f"by the model of {half if self.result.selection else 'the log'}"
        if not told.gain > 0:
            return f"Not simplified: {model}, the changes gain nothing."
        if told.kept == told.changes:
            return f"Simplified: none of the {told.changes:,} changes can be spared."
        return f"Simplified: {told.summary}, {model}."

    @property
    def kept(self) -> tuple[str, list[KeptRow]] | None:
        """What is said of the signals that must not get worse, if there are any."""
        return kept_signals(self.result.selection)

    @property
    def threshold(self) -> int | float | None:
        """A pair is known if it has more visits than this; None where there is no such number."""
        return trusted_from(self.result.improvement)

    def to_dict(self) -> dict[str, Any]:
        """Verdict, numbers, checks and certificates, in plain JSON types. Numbers that the verdict
        does not carry are not in there."""
        numbers, test = self.verdict.terms.numbers, None
        if self.result.selection is None and self.held_out is not None:
            test = self.held_out.to_dict()
        told = {
            "notices": [notice.to_dict() for notice in self.notices],
            **self.result.to_dict(),
            "certificates": [certificate_told(c, numbers) for c in self.result.certificates],
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
        smallest=_smallest(result),
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


def _smallest(result: Result) -> Smallest | None:
    """The controller of a result with the fewest nodes; None where these are no fewer, or where
    they are too many to list."""
    controller = result.controller
    if result.improvement.changed == 0:
        return None
    try:
        before = len(controller.memory.enumerate(MOST_NODES))
    except TooLarge:
        return None
    found = controller.minimized(any_action=True)
    nodes = found.memory.count_nodes()
    return Smallest(found, before, nodes) if nodes < before else None
