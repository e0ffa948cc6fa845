"""What a selection amounts to: an improvement in the model of the whole log, and a certificate."""

from __future__ import annotations

from dataclasses import replace

from jumar.algorithms.auto.dealing import HALVES, LEAST
from jumar.algorithms.auto.samples import decided_first, needs
from jumar.algorithms.auto.trials import PROVED, Selection, Trial
from jumar.core.controller import Controller
from jumar.core.history import HistoryMdp
from jumar.core.improvement import Improvement
from jumar.core.text import counted, number, rounded
from jumar.evidence.certificate import NOT_CONFOUNDED, unchanged
from jumar.evidence.claims import Certificate
from jumar.evidence.practice import Practice
from jumar.evidence.validity import Validity
from jumar.solve.improvement import improvement

NAME = "auto"
_ALIKE = "Episodes are independent, and those to come are like those in the log."
_ALIKE_CLUSTERS = (
    "Clusters are independent of each other, and those to come are like those in the log; each "
    "counts the same, however many episodes it has."
)
_LARGE = (
    "The held-out episodes are many enough for their mean to be nearly normal. On processes built "
    "to break this test its bound was wrong in about a third of logs of 200 episodes, and far more "
    "often where the log does not show the range."
)
_KNOWN = "The behavior given is the one that produced the log."
_SEVERAL = (
    "Each episode was made by the behavior that the log names for it. What is compared with is "
    "their mix, as in the log."
)
_PROPENSITIES = "Actions were taken with the probabilities that the log gives for them."
_LENGTH = "Every episode has {steps:,} steps, as all in the log have."
_LONGEST = "No recording goes on for more than {steps:,} steps, as none in the log does."
_REACHED = "A recording of an episode that does not end goes on for {steps:,} steps, as in the log."
_STOPS = (
    "Where a recording stopped had nothing to do with what would have come next. The claim is "
    "about the return up to there; {beyond} of the discounted weight lies beyond."
)
_SEED = (
    "The episodes were dealt into halves by a hash of their labels with seed {seed}, before "
    "anything was looked at. Trying several seeds until one passes would void the promise."
)


def improvement_of(selection: Selection, behavior: Controller, mdp: HistoryMdp) -> Improvement:
    """The chosen controller as seen by the model of the whole log."""
    parameters = selection.chosen.setting.record if selection.chosen else {}
    policy = mdp.policy_of(selection.controller)
    found = improvement(mdp, behavior, policy, algorithm=NAME, parameters=parameters)
    # what was tested is handed over, also where the log shows nothing
    return replace(found, controller=selection.controller) if selection.chosen else found


def certificate_of(
    selection: Selection,
    *,
    practice: Practice,
    value_range: float,
    seed: int,
    estimated: bool = False,
) -> Certificate:
    """What may be said of the chosen controller, or of keeping the behavior. `estimated` says that
    the behavior was not known."""
    chosen = selection.chosen
    if chosen is None:
        kept = unchanged(selection.delta, value_range)
        return replace(kept, reason=_why_kept(selection))
    return Certificate(
        bound="held-out",
        title=(
            "Proved on episodes it was not learned from"
            if selection.gate == PROVED and not estimated
            else "Tested on episodes it was not learned from"
        ),
        delta=selection.delta,
        zeta=-chosen.lower + 0.0,  # no minus zero
        value_range=max(value_range, selection.range),
        validity=_validity(selection, estimated),
        assumptions=tuple(_assumptions(selection, practice, seed, estimated)),
        estimated_gain=min(chosen.gain, selection.most),
        reason=_sentence(selection, chosen, estimated),
        most=selection.most,
    )


def _validity(selection: Selection, estimated: bool) -> Validity:
    if estimated:
        return Validity.CLAIMED  # what no number of episodes makes true is not asymptotic
    if selection.gate != PROVED:
        return Validity.ASYMPTOTIC
    return Validity.PROVED_IF_SEEN if _proviso(selection) else Validity.PROVED


def _assumptions(selection: Selection, practice: Practice, seed: int, estimated: bool) -> list[str]:
    limits = selection.limits
    known = _SEVERAL if practice.several else _KNOWN
    found = [
        _ALIKE if selection.units == selection.episodes else _ALIKE_CLUSTERS,
        NOT_CONFOUNDED if estimated else known if practice.controllers else _PROPENSITIES,
    ]
    if selection.gate != PROVED:
        found.append(_LARGE)
    if not limits.rewards.declared:
        found.append(f"{_what_steps_pay(selection)}, as the log shows.")
    if selection.beyond > 0:
        found.append(_STOPS.format(beyond=share(selection.beyond)))
        if limits.steps is not None and not limits.declared_steps:
            found.append(_LONGEST.format(steps=limits.steps))
    if limits.fixed:
        found.append(_LENGTH.format(steps=limits.steps))
    elif limits.reached:
        found.append(_REACHED.format(steps=limits.steps))
    return [*found, _SEED.format(seed=seed)]


def _what_steps_pay(selection: Selection) -> str:
    rewards = selection.limits.rewards
    low, high = rewards.continuing
    said = f"No step pays less than {low:.6g} or more than {high:.6g}"
    if rewards.ending is not None and rewards.ending != rewards.continuing:
        low, high = rewards.ending
        said += f" (one that ends an episode: {low:.6g} to {high:.6g})"
    return said


def share(x: float) -> str:
    """A share in percent.

    >>> share(0.7351), share(0.0004), share(1e-7)
    ('74 %', '0.04 %', 'less than 0.01 %')
    """
    return f"{100 * x:.2g} %" if x >= 1e-4 else "less than 0.01 %"


def _sentence(selection: Selection, chosen: Trial, estimated: bool) -> str:
    """The claim for somebody who has to decide."""
    kind = "episode" if selection.units == selection.episodes else "cluster"
    where = f"On {counted(chosen.units, f'held-out {kind}')}"
    if estimated:
        where += " (though the behavior was estimated from all of them)"
    parts = [f"{where}, the new controller did better than the old one"]
    if chosen.lower > 0:
        alike = ", each cluster counting the same" if kind == "cluster" else ""
        parts.append(f", by at least {chosen.lower:.4g} per episode{alike}")
    else:
        parts.append("; by how much is not proved")
    if selection.beyond > 0:
        parts.append(
            f", counting up to where recordings stop ({share(selection.beyond)} of the discounted "
            "weight lies beyond)"
        )
    parts.append(".")
    if estimated:
        return "".join(parts)
    parts.append(f" The chance that this is wrong is at most {100 * selection.delta:g} %")
    if selection.gate != PROVED:
        parts.append(", if there are enough episodes")
    parts.append(f"{_proviso(selection)}.")
    if selection.gate == PROVED and chosen.second is not None:
        also = "would also pass" if chosen.second else "would not pass"
        parts.append(f" It {also} the approximate test.")
    return "".join(parts)


def _proviso(selection: Selection) -> str:
    """What the log must have shown for the promise to hold; nothing, where all was declared."""
    limits = selection.limits
    if not limits.rewards.declared:
        return (
            ", provided no return lies outside what the log shows: neither a hidden loss nor a "
            "hidden gain"
        )
    if limits.steps is not None and not limits.declared_steps:
        return f", provided no recording goes on for more than {limits.steps:,} steps"
    return ""


def _why_kept(selection: Selection) -> str:
    """Why the behavior stays, and how much longer the log would have to be."""
    if selection.too_short:
        return (
            "A change did better up to where recordings stop, but "
            f"{share(selection.beyond)} of the discounted weight lies beyond, and of that the log "
            "shows nothing. So the behavior stays. Record for longer; or, if episodes end where "
            "the recordings do, say so (--ends end); or let a memory be assumed to tell all that "
            "matters (--assume-memory)."
        )
    said = "No change passed the test, so the behavior stays."
    if selection.only_approximate:
        said = "Only the approximate test passes: promising, not proved. So the behavior stays."
    return f"{said} {_more(selection)}"


def _more(selection: Selection) -> str:
    """How much longer the log would have to be."""
    first = decided_first(selection)
    if first is None and selection.units < HALVES * LEAST:
        kind = "episode" if selection.units == selection.episodes else "cluster"
        return (
            f"{counted(selection.units, kind)} are too few to learn from some and test on others."
        )
    if first is None:
        return "The log shows no alternative that could be tested."
    if first.gain <= 0:
        return (
            "What was tried did not do better on held-out episodes, so more of the same log would "
            "probably not help; more memory, or other actions in the log, might."
        )
    promise = (
        f"The most promising candidate is estimated to gain {number(first.gain)} per episode "
        f"(standard error {rounded(first.error, first.error)}); "
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
