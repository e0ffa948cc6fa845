"""Is this log what it is taken for? What can be asked of a log and of the behavior that is said to
have made it, before anything is learned from them.

Each section ends in a verdict: *passed*; *look*, when a person should look at it and go on
knowingly; or *failed*, when what is learned from the log cannot be trusted. Every test is made at
the same level, 0.01 unless told otherwise: a log with nothing wrong fails a given test about once
in a hundred times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumar.core.errors import ParameterError
from jumar.core.memory import Memory
from jumar.core.randomness import Seed, generator
from jumar.core.shown import Shown
from jumar.evidence.checking.base import STATUSES, Finding, Settings, worst
from jumar.evidence.checking.clusters import Clusters, clusters_of
from jumar.evidence.checking.cuts import Cuts, cuts_of
from jumar.evidence.checking.drift import Drift, drift_of
from jumar.evidence.checking.fit import Fit, fit_policy, with_policies, with_policy
from jumar.evidence.checking.longer import Longer, longer_memory
from jumar.evidence.checking.nodes import Agreement, nodes_of
from jumar.evidence.checking.order import Order, order_of
from jumar.evidence.checking.propensities import Propensities, propensities_of
from jumar.evidence.checking.repeats import Repeats, repeats_of
from jumar.evidence.checking.rows import Rows, rows_of
from jumar.evidence.checking.spread import Spread, spread_of
from jumar.evidence.estimation import CURRENT
from jumar.evidence.given import BehaviorLike
from jumar.evidence.practice import Practice, practice_of
from jumar.io.logs import LogLike
from jumar.io.plain import plain

LEVEL = 0.01
QUESTIONS = {
    "fit": "Did this policy produce this log?",
    "propensities": "Are the logged propensities what they should be?",
    "longer": "Does the estimated policy remember enough?",
    "nodes": "Does the logged memory agree with the policy's?",
    "spread": "Is there enough data, where it matters?",
    "cuts": "How much lies beyond where recordings stop?",
    "order": "How much memory does what follows ask for?",
    "drift": "Is the process the same over the whole log?",
    "clusters": "Are episodes of one cluster alike?",
    "repeats": "Are there episodes twice?",
    "rows": "What did reading the file change?",
}


@dataclass(frozen=True, repr=False)
class Check(Shown):
    """All answers about a log. Sections that do not apply are None."""

    episodes: int
    steps: int
    behavior: str
    level: float  # of every test
    fit: Fit | None  # for a policy that was written down
    longer: Longer | None  # for one that was estimated
    nodes: Agreement | None  # when the log names the memory nodes
    spread: Spread
    cuts: Cuts | None  # when recordings were cut off and returns are discounted
    order: Order
    drift: Drift
    repeats: Repeats
    rows: Rows | None  # when the log was read from somewhere
    clusters: Clusters | None = None  # when the log has clusters, or hints at some
    propensities: Propensities | None = None  # when the log has some

    @property
    def summary(self) -> str:
        return f"{self.verdict.status}. {self.verdict.sentence}"

    @property
    def sections(self) -> dict[str, Any]:
        """The sections that apply, by name, in the order of `QUESTIONS`."""
        return {name: part for name in QUESTIONS if (part := getattr(self, name)) is not None}

    @property
    def verdict(self) -> Finding:
        """All verdicts in one."""
        status = worst([part.verdict.status for part in self.sections.values()])
        by_status = {
            s: [name for name, part in self.sections.items() if part.verdict.status == s]
            for s in STATUSES
        }
        if status == "passed":
            return Finding("passed", "Nothing speaks against learning from this log.")
        named = ", ".join(by_status[status])
        if status == "look":
            return Finding("look", f"Usable, but look at: {named}.")
        return Finding("failed", f"Do not rely on what is learned from this log: {named} failed.")

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain JSON types."""
        answers = {name: plain(part) for name, part in self.sections.items()}
        head = {name: getattr(self, name) for name in ("episodes", "steps", "behavior", "level")}
        return {**head, "verdict": plain(self.verdict), "sections": answers}


def check(
    log: LogLike,
    behavior: BehaviorLike | Practice,
    *,
    memory: Memory = CURRENT,
    discount: float | None = None,
    level: float = LEVEL,
    resamples: int | None = None,
    seed: Seed = 1,
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
    settings = Settings(level, resamples)
    if discount is not None and not 0 <= discount <= 1:
        raise ParameterError(f"discount: {discount!r} must lie in [0, 1].")
    practice = behavior
    if not isinstance(practice, Practice):
        practice = practice_of(log, practice, memory=memory, checked=False)
    replays, episodes, pooled = practice.replays, practice.log, practice.pooled
    estimated = practice.estimated or not practice.controllers
    # a stream for each test: none depends on how much another one drew
    for_actions, for_drift, for_order, for_clusters, for_chances = generator(seed, "check").spawn(5)
    apart = practice.several and practice.controllers
    replay = replays.over(pooled.memory)
    acting = with_policies(practice) if apart else with_policy(replay, pooled)
    γ = 1.0 if discount is None else discount
    return Check(
        episodes=len(episodes),
        steps=episodes.n_steps,
        behavior=pooled.name,
        level=level,
        fit=None if estimated else fit_policy(acting, settings, for_actions),
        longer=longer_memory(replays, pooled.memory, settings, for_actions) if estimated else None,
        nodes=nodes_of(practice),
        spread=spread_of(replay),
        cuts=cuts_of(episodes, discount),
        order=order_of(replays, pooled, settings, for_order),
        drift=drift_of(replay, γ, settings, for_drift),
        repeats=repeats_of(replay, level),
        rows=rows_of(episodes),
        clusters=clusters_of(episodes, γ, settings, for_clusters),
        propensities=propensities_of(practice, settings, for_chances),
    )
