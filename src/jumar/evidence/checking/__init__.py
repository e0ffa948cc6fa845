"""Is this log what it is taken for? What can be asked of a log and of the behavior that is said to
have made it, before anything is learned from them.

Each section ends in a verdict: *passed*; *look*, when a person should look at it and go on
knowingly; or *failed*, when what is learned from the log cannot be trusted. Every test is made at
the same level, 0.01 unless told otherwise: a log with nothing wrong fails a given test about once
in a hundred times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from jumar.core.arrays import Frozen
from jumar.core.errors import ParameterError
from jumar.core.plain import plain
from jumar.core.randomness import Seed, branch, generator
from jumar.core.registry import Registry
from jumar.core.resources import Watch, journal
from jumar.core.text import Shown, counted
from jumar.evidence.chance import Settings
from jumar.evidence.checking.base import (
    Finding,
    Question,
    Section,
    Subject,
    failed,
    look,
    passed,
    worst,
)
from jumar.evidence.estimation import CURRENT
from jumar.evidence.noticing import LOOKS, Notice
from jumar.evidence.practice import BehaviorLike, Practice, practice_of
from jumar.memory import Memory
from jumar.tally.replay import LogLike, told_log

LEVEL = 0.01
QUESTIONS: Registry[Question] = Registry(
    "check",
    {
        "fit": "jumar.evidence.checking.actions:FIT",
        "propensities": "jumar.evidence.checking.actions:PROPENSITIES",
        "longer": "jumar.evidence.checking.memory:LONGER",
        "nodes": "jumar.evidence.checking.memory:NODES",
        "spread": "jumar.evidence.checking.amount:SPREAD",
        "cuts": "jumar.evidence.checking.amount:CUTS",
        "order": "jumar.evidence.checking.memory:ORDER",
        "drift": "jumar.evidence.checking.drift:ENTRY",
        "clusters": "jumar.evidence.checking.independence:CLUSTERS",
        "repeats": "jumar.evidence.checking.independence:REPEATS",
        "rows": "jumar.evidence.checking.amount:ROWS",
    },
)
# Streams that are told by their place here; all others have names, and move none of these.
STREAMS = ("actions", "drift", "order", "clusters", "propensities")


@dataclass(frozen=True, eq=False, repr=False)
class Check(Frozen, Shown):
    """All answers about a log."""

    episodes: int
    steps: int
    behavior: str
    level: float  # of every test
    sections: Mapping[str, Section]  # those that apply, in the order of `QUESTIONS`
    notices: tuple[Notice, ...] = ()  # what a colleague would say of the log

    def __post_init__(self) -> None:
        self._put(sections=MappingProxyType(dict(self.sections)))

    @property
    def summary(self) -> str:
        return f"{self.verdict.status}. {self.verdict.sentence}"

    @property
    def answers(self) -> list[tuple[str, Section]]:
        """Every question that applies, in words, and its section."""
        return [(QUESTIONS[name].text, part) for name, part in self.sections.items()]

    @property
    def verdict(self) -> Finding:
        """All verdicts in one."""
        statuses = {name: part.verdict.status for name, part in self.sections.items()}
        status = worst(list(statuses.values()))
        named = [name for name, own in statuses.items() if own == status]
        if loud := [notice.fact for notice in self.notices if notice.loud]:
            more = [f"{name} failed." for name in named if status == "failed"]
            return failed(" ".join(["Do not rely on what is learned from this log.", *loud, *more]))
        if status == "passed":
            return passed("Nothing speaks against learning from this log.")
        if status == "look":
            return look(f"Usable, but look at: {', '.join(named)}.")
        return failed(f"Do not rely on what is learned from this log: {', '.join(named)} failed.")

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain JSON types."""
        answers = {name: part.to_dict() for name, part in self.sections.items()}
        head = {name: getattr(self, name) for name in ("episodes", "steps", "behavior", "level")}
        notices = [notice.to_dict() for notice in self.notices]
        return {**head, "verdict": plain(self.verdict), "notices": notices, "sections": answers}


def check(
    log: LogLike,
    behavior: BehaviorLike | Practice,
    *,
    memory: Memory = CURRENT,
    discount: float | None = None,
    level: float = LEVEL,
    resamples: int | None = None,
    seed: Seed = 1,
    **reading: Any,
) -> Check:
    """Ask everything that can be asked of a log and its behavior.

    Of several behaviors each is asked about the episodes that it made.

    Parameters
    ----------
    log
        What `read_logs` returns, a file, or a table of pandas, polars or pyarrow.
    behavior
        Who made the log, as for `improve`: a controller or its file, several, "estimate", or None
        where the log has propensities. One that was estimated fits its own log by construction, so
        it is asked instead whether it remembers enough.
    memory
        What a behavior that is estimated here remembers.
    discount
        Of the returns. Without it they are not discounted.
    level
        A test fails when its p-value is at most this.
    resamples
        Draws that a test compares the log with. Without it, as many as the size of the log allows.
    seed
        A whole number or a generator, for these draws.
    **reading
        How a file or table is read, as for `read_logs`: ``episode="call", ends="cut"``.

    Returns
    -------
    Check
        One section for every question, and a verdict.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=500, seed=1)
    >>> found = check(log, behavior, seed=1)
    >>> {name: part.verdict.status for name, part in found.sections.items()}
    {'fit': 'passed', 'spread': 'passed', 'order': 'look', 'drift': 'passed', 'repeats': 'passed'}
    >>> listener = Controller.constant(tiger.observations, tiger.actions, [0.5, 0.25, 0.25])
    >>> check(log, listener, seed=1).verdict.sentence
    'Do not rely on what is learned from this log: fit failed.'
    """
    whole = Watch()
    settings = Settings(level, resamples)
    if discount is not None and not 0 <= discount <= 1:
        raise ParameterError(f"discount: {discount!r} must lie in [0, 1].")
    practice = behavior
    if not isinstance(practice, Practice):
        practice = practice_of(told_log(log, reading), practice, memory=memory, checked=False)
    subject = Subject(practice, discount, settings)
    rng = generator(seed, "check")
    streams = dict(zip(STREAMS, rng.spawn(len(STREAMS)), strict=True))
    first, sections = streams[STREAMS[0]], {}
    for name, question in QUESTIONS.items():
        stream, watch = question.stream or name, Watch()
        section = question.answer(subject, streams.get(stream) or branch(first, stream))
        if section is not None:
            sections[name] = section
            journal.debug("Check %s: %s (%s)", name, section.verdict.status, watch)
    notices = tuple(
        notice
        for name, look in LOOKS.items()
        for notice in look(subject, sections, branch(first, "notices", name))
    )
    log = subject.log
    journal.info("Checked the log: %s (%s)", counted(len(sections), "question"), whole)
    return Check(len(log), log.n_steps, subject.behavior.name, level, sections, notices)
