"""What a selection amounts to: an improvement in the model of the whole log, and a certificate."""

from __future__ import annotations

from dataclasses import replace

from jumar.certificate import NOT_CONFOUNDED, Certificate, unchanged
from jumar.controller import Controller
from jumar.history import HistoryMdp
from jumar.improvement import Improvement, improvement
from jumar.memory import Memory
from jumar.selection import Selection, Trial
from jumar.selection.samples import decided_first, needs
from jumar.validity import Validity

NAME = "auto"
SUMMARY = "choose memory and threshold from the data, and test on held-out episodes (the default)"
_ALIKE = "Episodes are independent, and those to come are like those in the log."
_LARGE = "The held-out episodes are many enough for their mean to be nearly normal."
_WORST = "What they did not show is no worse than the returns in the log."
_KNOWN = "The behavior given is the one that produced the log."
_CUT = (
    "Recordings that were cut off are scored as if the behavior took over there, with the value "
    "that a model of the other half gives it: right only if the memory suffices."
)


def memory_of(selection: Selection, behavior: Controller) -> Memory:
    """What the chosen controller remembers."""
    return selection.chosen.setting.memory if selection.chosen else behavior.memory


def improvement_of(selection: Selection, behavior: Controller, mdp: HistoryMdp) -> Improvement:
    """The chosen controller as seen by the model of the whole log."""
    parameters: dict[str, object] = {}
    if selection.chosen:
        setting = selection.chosen.setting
        parameters = {
            "base": setting.algorithm,
            "n_wedge": setting.n_wedge,
            "mixture": setting.mixture,
        }
    policy = mdp.policy_of(selection.controller)
    return improvement(mdp, behavior, policy, algorithm=NAME, parameters=parameters)


def certificate_of(
    selection: Selection, *, value_range: float, declared: bool = False, estimated: bool = False
) -> Certificate:
    """What may be said of the chosen controller, or of keeping the behavior. `declared` says that
    the rewards were, `estimated` that the behavior was not known."""
    chosen = selection.chosen
    if chosen is None:
        kept = unchanged(selection.delta, value_range)
        return replace(
            kept, reason=f"No change passed the test, so the behavior stays. {_more(selection)}"
        )
    held_out = max(gate.episodes for gate in selection.gates)
    model_matters = estimated or selection.cut
    return Certificate(
        bound="held-out",
        title="Tested on episodes it was not learned from",
        delta=selection.delta,
        zeta=-chosen.lower,
        value_range=value_range,
        # what no number of episodes makes true is not asymptotic
        validity=Validity.CLAIMED if model_matters else Validity.ASYMPTOTIC,
        assumptions=(
            _ALIKE,
            NOT_CONFOUNDED if estimated else _KNOWN,
            _LARGE,
            *(() if declared else (_WORST,)),
            *((_CUT,) if selection.cut else ()),
        ),
        estimated_gain=chosen.gain,
        reason=_sentence(selection, chosen, held_out, declared, estimated),
    )


def _sentence(
    selection: Selection, chosen: Trial, held_out: int, declared: bool, estimated: bool
) -> str:
    """The claim for somebody who has to decide."""
    where = f"On {held_out:,} episodes it had not learned from"
    if estimated:
        where += " (though the old rule was estimated from all of them)"
    parts = [
        f"{where}, the new controller did better than the old one, by at least "
        f"{chosen.lower:.4g} per episode"
    ]
    if selection.cut:
        parts.append(", counting up to where recordings stop and the old one taking over there")
    parts.append(f". The chance that this is wrong is at most {100 * selection.delta:g} %")
    if not declared:
        parts.append(", provided that nothing far worse can happen than the log shows")
    return "".join([*parts, "."])


def _more(selection: Selection) -> str:
    """How much longer the log would have to be."""
    first = decided_first(selection)
    if first is None:
        return "The log shows no alternative that could be tested."
    if first.gain <= 0:
        return (
            "What was tried did not do better on held-out episodes, so more of the same log would "
            "probably not help; more memory, or other actions in the log, might."
        )
    promise = (
        f"The most promising candidate is estimated to gain {first.gain:.4g} per episode (standard "
        f"error {first.error:.3g}); "
    )
    (need,) = needs(selection, powers=(0.8,))
    if need.episodes is None:
        return promise + (
            "but it does what the log hardly shows, and how many episodes would decide it cannot "
            "be told. Let the behavior try such things more often."
        )
    return promise + (
        f"about {need.episodes:,} episodes like these (the log has {selection.episodes:,}) would "
        "probably decide it."
    )
