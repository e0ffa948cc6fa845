"""The main job by counts alone: nothing is tested; the published bounds are what is promised."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from jumar import algorithms
from jumar.algorithms.certifying import published_of
from jumar.core.arrays import Frozen
from jumar.core.controller import Controller
from jumar.core.errors import CountsError, ParameterError
from jumar.core.improvement import Improvement
from jumar.core.memory import Memory
from jumar.core.memory.refinement import join
from jumar.core.names import other_names
from jumar.core.shown import Shown
from jumar.core.text import printable
from jumar.evidence.bounds import check_delta
from jumar.evidence.certificate import up_to_the_cut
from jumar.evidence.claims import Certificate
from jumar.evidence.consistency import check_counted
from jumar.evidence.rewards import RewardRange
from jumar.io.controllers import controller_of
from jumar.large.counted import Counted, CountedFacts
from jumar.pipeline import DELTA
from jumar.solve.simplifying import Simplified, share_of, simplified


@dataclass(frozen=True, eq=False, repr=False)
class CountedResult(Frozen, Shown):
    """What counts alone say: an improvement that was not tested."""

    improvement: Improvement
    facts: CountedFacts
    certificates: tuple[Certificate, ...]  # of the published bounds, the one to go by first
    simplified: Simplified | None = None  # what was kept of the changes, if that was asked for

    @property
    def summary(self) -> str:
        return f"{self.improvement.summary}; learned from counts, not tested"

    @property
    def controller(self) -> Controller:
        return self.improvement.controller

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        found = self.improvement
        return {
            "algorithm": found.algorithm,
            "parameters": dict(found.parameters),
            "memory": str(found.mdp.memory),
            "discount": found.mdp.discount,
            "episodes": self.facts.episodes,
            "steps": self.facts.steps,
            "history_states": len(found.mdp),
            "changed": found.changed,
            "simplified": self.simplified.to_dict() if self.simplified else None,
            "tested": False,
            "certificates": [certificate.to_dict() for certificate in self.certificates],
        }


def improve_counts(
    counts: Counted | str | os.PathLike[str],
    behavior: Controller | str | os.PathLike[str],
    *,
    discount: float,
    memory: Memory | None = None,
    algorithm: str | None = None,
    delta: float = DELTA,
    rewards: RewardRange | None = None,
    simplify: bool | float = False,
    **parameters: object,
) -> CountedResult:
    """Improve a behavior by counts alone, with a named algorithm.

    Counts tell nothing of single episodes. So nothing is tested on held-out ones and the log is not
    checked; what is promised are the published bounds.

    Parameters
    ----------
    counts
        What `count_logs` returns, or a file that `jumar count` wrote.
    behavior
        The controller that made the logs, or its file.
    discount
        Weight of the next step against this one, in [0, 1).
    memory
        What the new controller may remember, up to what was counted; without it, all of that.
    algorithm
        A name from `jumar algorithms` that needs no more than counts; "spibb" by default.
    delta
        Accepted chance that a certificate is wrong.
    rewards
        What a step can pay; without it, what the logs show.
    simplify
        Make as few changes as bring 95 % of the gain; a number asks for another share.
    **parameters
        Those of the algorithm, as ``n_wedge=20``.

    Returns
    -------
    CountedResult
        The improvement, and what the published bounds say of it.

    Examples
    --------
    >>> import os, tempfile
    >>> from jumar import Controller, count_logs, models, simulate, write_logs
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "log.parquet")
    ...     write_logs(simulate(tiger, behavior, episodes=500), path)
    ...     improve_counts(count_logs(path, behavior), behavior, discount=0.95).improvement.changed
    2
    """
    from jumar.large.files import load_counts

    check_delta(delta)
    found = load_counts(counts) if isinstance(counts, str | os.PathLike) else counts
    old = controller_of(behavior)
    entry = algorithms.meant(algorithm, parameters)
    if entry.improve is None or entry.needs:
        if algorithm is not None:
            raise ParameterError(
                f"algorithm: {entry.name} needs the episodes of a log, and counts have none. Use "
                "spibb, or give the log."
            )
        entry = algorithms.algorithm("spibb")
    entry.check(parameters)
    share = share_of(simplify)
    for kind in other_names(found, old):
        raise CountsError(
            f"The counts have other {kind} than {printable(old.name)}. Count with this controller."
        )
    whole = found.counts
    if not whole.starts.any():
        raise CountsError(
            "The counts are of no episode, so there is nothing to learn. Merge them with those of "
            "the other parts of the log."
        )
    if memory is not None:
        whole = whole.coarsen(join(old.memory, memory.on(*old.memory.alphabet)))
    seen = RewardRange(
        found.facts.rewards or found.facts.ending_rewards or (0.0, 0.0),
        found.facts.ending_rewards,
        declared=False,
    )
    check_counted(whole, old, seen, rewards)
    assert entry.improve is not None
    improvement = entry.improve(whole.mle(discount), old, **parameters)
    told = None
    if share is not None:
        improvement, told = simplified(improvement, share)
    paid = rewards or seen
    low, high = paid.returns(discount)
    certificates = published_of(improvement, whole, paid, delta=delta, most=high - low)
    facts = found.facts
    if facts.lengths_cut.shortest:
        certificates = up_to_the_cut(
            certificates,
            discount=discount,
            shortest=facts.lengths_cut.shortest,
            longest=None if facts.ended else facts.lengths_cut.longest,
        )
    return CountedResult(improvement, found.facts, certificates, told)
