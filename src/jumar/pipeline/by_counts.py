"""The main job by counts alone: nothing is tested; the published bounds are what is promised."""

from __future__ import annotations

from typing import Any

from jumar import algorithms
from jumar.algorithms.certifying import published_of
from jumar.core.errors import CountsError, ParameterError
from jumar.core.names import other_names
from jumar.core.text import printable
from jumar.evidence.bounds import check_delta
from jumar.evidence.certificate import up_to_the_cut
from jumar.evidence.consistency import check_counted
from jumar.evidence.rewards import RewardRange
from jumar.memory import Memory
from jumar.memory.refinement import join
from jumar.options import Options
from jumar.policy.files import controller_of
from jumar.solve.simplifying import share_of, simplified
from jumar.tally.counted import Counted
from jumar.verdict.result import Result

# what takes episodes, as a keyword and as it is typed
NEED_EPISODES = {
    "objective": "--objective",
    "keep": "--keep",
    "candidates": "--candidates",
    "horizon": "--horizon",
    "thorough": "--thorough",
}


def of_counts(
    counted: Counted, behavior: Any, given: Options, parameters: dict[str, Any]
) -> Result:
    """Improve a behavior by counts alone, with a named algorithm: "spibb" where none is named."""
    check_delta(given.delta)
    old, memory = controller_of(behavior), given.memory
    entry = algorithms.meant(given.algorithm, parameters)
    if entry.improve is None or entry.needs:
        if given.algorithm is not None:
            raise ParameterError(
                f"algorithm: {entry.name} needs the episodes of a log, and counts have none. Use "
                "spibb, or give the log."
            )
        entry = algorithms.algorithm("spibb")
    entry.check(parameters)
    asked = [typed for name, typed in NEED_EPISODES.items() if getattr(given, name)]
    if asked or isinstance(memory, str):
        option = asked[0] if asked else "--learn-memory"
        raise ParameterError(
            f"{option}: that takes the episodes of a log, and counts have none: nothing is tested "
            "on them. Leave it out, or give the log."
        )
    share = share_of(given.simplify)
    for kind in other_names(counted, old):
        raise CountsError(
            f"The counts have other {kind} than {printable(old.name)}. Count with this controller."
        )
    whole, facts = counted.counts, counted.facts
    if not whole.starts.any():
        raise CountsError(
            "The counts are of no episode, so there is nothing to learn. Merge them with those of "
            "the other parts of the log."
        )
    if isinstance(memory, Memory):
        whole = counted.over(join(old.memory, memory.on(*old.memory.alphabet)))
    seen = RewardRange(
        facts.rewards or facts.ending_rewards or (0.0, 0.0), facts.ending_rewards, declared=False
    )
    check_counted(whole, old, seen, given.rewards)
    assert entry.improve is not None
    improvement, told = entry.improve(whole.mle(given.discount), old, **parameters), None
    if share is not None:
        improvement, told = simplified(improvement, share)
    paid = given.rewards or seen
    low, high = paid.returns(given.discount)
    certificates = published_of(improvement, whole, paid, delta=given.delta, most=high - low)
    if facts.lengths_cut.shortest:
        certificates = up_to_the_cut(
            certificates,
            discount=given.discount,
            shortest=facts.lengths_cut.shortest,
            longest=None if facts.ended else facts.lengths_cut.longest,
        )
    return Result(
        improvement, whole, certificates, None, paid, given.delta, unit=given.unit, simplified=told
    )
