"""What a verdict on long records amounts to: an improvement in the model of the whole log, and a
certificate that names its assumption."""

from __future__ import annotations

from dataclasses import replace

from jumar.algorithms.long_records.judging import LongTrial, LongVerdict
from jumar.algorithms.long_records.ladder import they_tell
from jumar.core.controller import Controller
from jumar.core.history import HistoryMdp
from jumar.core.improvement import Improvement
from jumar.core.text import percent
from jumar.evidence.assumptions import ESTIMATED, NOT_CONFOUNDED
from jumar.evidence.certificate import unchanged
from jumar.evidence.claims import Certificate
from jumar.evidence.validity import Validity
from jumar.solve.improvement import improvement

NAME = "assume-memory"
_ALIKE = "Records are independent, and those to come are like those in the log."
_KNOWN = "The behavior given is the one that produced the log."
_LARGE = "The held-out records are many enough for their mean to be nearly normal."
_WORST = "What they did not show is no worse than the returns in the log."
_STRETCH = (
    "Nothing new happens under the new controller after more steps than the log shows it followed"
)


def improvement_of_long(verdict: LongVerdict, behavior: Controller, mdp: HistoryMdp) -> Improvement:
    """The chosen controller as seen by the model of the whole log."""
    parameters = verdict.chosen.setting.record if verdict.chosen else {}
    policy = mdp.policy_of(verdict.controller)
    return improvement(mdp, behavior, policy, algorithm=NAME, parameters=parameters)


def certificate_of_long(
    verdict: LongVerdict, *, value_range: float, declared: bool = False, estimated: bool = False
) -> Certificate:
    """What may be said of the chosen controller, or of keeping the behavior. `declared` says that
    the rewards were, `estimated` that the behavior was not known."""
    chosen = verdict.chosen
    if chosen is None or verdict.memory is None:
        kept = unchanged(verdict.delta, value_range)
        return replace(kept, reason=f"The behavior stays. {why_not(verdict)}")
    steps = max((r.steps for r in verdict.ladder if r.steps is not None), default=1)
    return Certificate(
        bound="assumed-memory",
        title=f"Tested on held-out records, given that {they_tell(verdict.memory)} enough",
        delta=verdict.delta,
        zeta=-chosen.lower,
        value_range=value_range,
        validity=Validity.CLAIMED if estimated else Validity.ASYMPTOTIC_IF_SUFFICIENT,
        assumptions=(
            f"{they_tell(verdict.memory).capitalize()} all of the past that matters. The log does "
            "not contradict this, and cannot prove it.",
            f"{_STRETCH}: {steps} steps on end.",
            _ALIKE,
            ESTIMATED if estimated else _KNOWN,
            NOT_CONFOUNDED,
            _LARGE,
            *(() if declared else (_WORST,)),
        ),
        estimated_gain=chosen.gain,
        reason=_sentence(verdict, chosen, estimated),
    )


def _sentence(verdict: LongVerdict, chosen: LongTrial, estimated: bool) -> str:
    """The claim for somebody who has to decide."""
    assert verdict.memory is not None
    parts = [
        f"Given that {they_tell(verdict.memory)} all of the past that matters (the log does not "
        f"contradict this), the new controller is better than the old one by at least "
        f"{chosen.lower:.4g} in the long run; the estimate is {chosen.gain:.4g}, from records it "
        "had not learned from"
    ]
    if estimated:
        parts.append(" (though the behavior was estimated from all of them)")
    if verdict.beyond > 0:
        parts.append(f". {percent(verdict.beyond)} of what it counts lies beyond the records' end")
    if not estimated:
        parts.append(
            f". If the assumption holds, the chance that this is wrong tends to at most "
            f"{100 * verdict.delta:g} % as records become many"
        )
    return "".join([*parts, "."])


def why_not(verdict: LongVerdict) -> str:
    """Why nothing was chosen, and what would help."""
    told = " ".join(refusal.text for refusal in verdict.refusals)
    if verdict.needed is not None:
        told += (
            f" About {verdict.needed:,} records like these (the log has {verdict.records:,}) would "
            "probably decide it."
        )
    elif verdict.memory is None:
        told += (
            " Longer logs will not change that; recording what is hidden might, or trying the "
            "change on purpose."
        )
    return told
