"""What a selection amounts to: an improvement in the model of the whole log, and a certificate."""

from __future__ import annotations

from dataclasses import replace

from jumar.core.text import counted, listing, rounded, shown
from jumar.evidence.certificate import unchanged
from jumar.evidence.claims import Certificate
from jumar.evidence.practice import Practice
from jumar.evidence.validity import (
    AS_IF_RIGHT,
    ESTIMATED,
    NOT_CONFOUNDED,
    RIGHT,
    UNPROVED_WEIGHTS,
    Validity,
)
from jumar.gate.samples import plan
from jumar.gate.trials import PROVED, KeptSignal, KeptTrial, Selection, Trial
from jumar.policy.controller import Controller
from jumar.solve.nouns import Improvement
from jumar.solve.solver import improvement
from jumar.tally.history import HistoryMdp

NAME = "auto"
_HELD_OUT = "on episodes it was not learned from"
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
_KNOWN = "The policy given is the one that produced the log."
_SEVERAL = (
    "Each episode was made by the policy that the log names for it. What is compared with is "
    "their mix, as in the log."
)
_LENGTH = "Every episode has {steps} and ends as those in the log do."
_LONGEST = "No recording goes on for more than {steps}, as {how}."
_STOPS = (
    "Where a recording stopped had nothing to do with what would have come next. The claim is "
    "about the return up to there; {beyond} of the discounted weight lies beyond."
)
_BY_DEFAULT = (
    "Nobody said how much of {signal} may be lost. So {loss} per episode was taken: a tenth of the "
    "mean distance of its returns from their median, in the half that was learned from."
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


def certificate_of(selection: Selection, *, practice: Practice, seed: int) -> Certificate:
    """What may be said of the chosen controller, or of keeping the behavior."""
    chosen = selection.chosen
    if chosen is None:
        kept = unchanged(selection.delta, selection.range)
        return replace(kept, reason=_why_kept(selection))
    why = unproved(selection, practice)
    found = _certificate(selection, chosen.lower, practice, seed)
    proved = selection.gate == PROVED and not why
    return replace(
        found,
        title=f"{'Proved' if proved else 'Tested'} {_HELD_OUT}",
        reason=_sentence(selection, chosen, why),
        signal=selection.objective,
    )


def _certificate(
    seen: Selection, lower: float, practice: Practice, seed: int, *more: str
) -> Certificate:
    """What the claims on the objective and on signals to keep have in common."""
    return Certificate(
        bound="held-out",
        title="",
        delta=seen.delta,
        zeta=-lower + 0.0,  # no minus zero
        value_range=seen.range,
        validity=validity_of(seen, practice),
        assumptions=(*_assumptions(seen, practice, seed), *more),
        reason="",
        most=seen.most,
    )


def kept_certificates(
    selection: Selection, *, practice: Practice, seed: int
) -> tuple[Certificate, ...]:
    """One for every signal that must not get worse, in the order they were asked for."""
    found = []
    for number, signal in enumerate(selection.kept):
        # the same test with other returns: what it assumes is told in the same words
        seen = replace(selection, limits=signal.limits, most=signal.most)
        if selection.chosen is None:
            kept = unchanged(selection.delta, seen.range)
            reason = _kept_back(selection, number)
            found.append(replace(kept, signal=signal.signal, reason=reason))
            continue
        trial, why = selection.chosen.kept[number], unproved(selection, practice)
        default = _BY_DEFAULT.format(signal=shown(signal.signal), loss=f"{trial.loss:.4g}")
        more = [default] if signal.loss is None else []
        made = replace(
            _certificate(seen, trial.lower, practice, seed, *more),
            title=f"{'Tested' if why else 'Kept'} {_HELD_OUT}",
            validity=validity_of(selection, practice),
            reason=_kept_sentence(selection, signal, trial, why),
            declared=signal.limits.rewards.declared,
            signal=signal.signal,
        )
        found.append(made)
    return tuple(found)


def _kept_sentence(
    selection: Selection, signal: KeptSignal, trial: KeptTrial, unproved: str
) -> str:
    """The claim on a signal that must not get worse."""
    assert selection.chosen is not None
    if unproved:
        name = shown(signal.signal)
        return f"In the test, {name} lost no more than is allowed, which is not proved either."
    size = f"{trial.loss:.4g}"
    allowed = f"{size} more is allowed" if signal.costs else f"a loss of {size} is allowed"
    units = counted(selection.chosen.units, f"held-out {_kind(selection)}")
    said = f"On {units}, {kept_words(signal, trial)} ({allowed})"
    if selection.beyond > 0:
        said += ", counting up to where recordings stop"
    return f"{said}. {_odds(selection)}{_proviso(selection)}."


def kept_words(signal: KeptSignal, trial: KeptTrial) -> str:
    """What is proved of a signal, as a clause."""
    name, size = shown(signal.signal), f"{abs(trial.lower):.4g}"
    if trial.lower > 0:
        better = f"at least {size} less" if signal.costs else f"at least {size} more"
        return f"the new policy brings {better} {name} per episode"
    if trial.lower == 0:
        return f"the new policy is not worse in {name}"
    if signal.costs:
        return f"the new policy brings at most {size} more {name} per episode"
    return f"the new policy loses at most {size} of {name} per episode"


def _kind(selection: Selection) -> str:
    """What is independent of each other."""
    return "episode" if selection.units == selection.episodes else "cluster"


def _kept_back(selection: Selection, number: int) -> str:
    """Of a signal, where the behavior stays: what the test said."""
    said, of = "Nothing changes, so nothing can be lost.", selection.kept[number]
    unkept = [trial for signal, trial in selection.unkept if signal is of]
    if selection.held_back is not None:
        unkept = [t for t in [selection.held_back.kept[number]] if not t.passed]
    return f"{said} {_not_kept(of, unkept[0])}" if unkept else said


def _not_kept(signal: KeptSignal, trial: KeptTrial) -> str:
    """Why a change that is better on the objective was held back."""
    name, sign = shown(signal.signal), -1 if signal.costs else 1
    size, possible = f"{trial.loss:.4g}", f"{-trial.lower:.4g}"
    proved = f"it loses no more than {size} was not proved: a loss of {possible} is not excluded"
    if signal.costs:
        proved = f"it adds no more than {size} was not proved: {possible} more is not excluded"
    return (
        f"In the test, the change moved {name} by {rounded(sign * trial.gain, trial.error)} per "
        f"episode (standard error {rounded(trial.error, trial.error)}). That {proved}."
    )


def unproved(selection: Selection | None, practice: Practice) -> str:
    """Why nothing is proved, in a sentence; or nothing. Propensities that are too small on average,
    as those that were simulated, would be paid for: 1 over them weighs too much. One candidate that
    shows it does so for all."""
    return practice.unproved or (UNPROVED_WEIGHTS if selection and selection.overweight else "")


def validity_of(selection: Selection, practice: Practice) -> Validity:
    """How far a claim of the test can be trusted, be one made or not."""
    if unproved(selection, practice):
        return Validity.CLAIMED  # what no number of episodes makes true is not asymptotic
    if selection.gate != PROVED:
        return Validity.ASYMPTOTIC
    return Validity.PROVED_IF_SEEN if _proviso(selection) else Validity.PROVED


def _assumptions(selection: Selection, practice: Practice, seed: int) -> list[str]:
    limits = selection.limits
    known = _SEVERAL if practice.several else _KNOWN
    if not practice.controllers:
        known = RIGHT if practice.draws is None else AS_IF_RIGHT
    found = [
        _ALIKE if _kind(selection) == "episode" else _ALIKE_CLUSTERS,
        ESTIMATED if practice.estimated else known,
        NOT_CONFOUNDED,
    ]
    if selection.gate != PROVED:
        found.append(_LARGE)
    how = "as was declared" if limits.rewards.declared else "as the log shows"
    pays = f"Every step pays {_span(*limits.rewards.continuing)}"
    if limits.rewards.ending not in (None, limits.rewards.continuing):
        pays += f"; one that ends an episode pays {_span(*limits.rewards.ending)}"
    found.append(f"{pays}, {how}.")
    if selection.beyond > 0:
        found.append(_STOPS.format(beyond=share(selection.beyond)))
    if limits.fixed and limits.steps is not None:
        found.append(_LENGTH.format(steps=counted(limits.steps, "step")))
    elif limits.steps is not None:
        how = "was declared" if limits.declared_steps else "none in the log does"
        found.append(_LONGEST.format(steps=counted(limits.steps, "step"), how=how))
    return [*found, _SEED.format(seed=seed)]


def _span(low: float, high: float) -> str:
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"


def share(x: float) -> str:
    """A share in percent.

    >>> share(0.7351), share(0.0004), share(1e-7)
    ('74 %', '0.04 %', 'less than 0.01 %')
    """
    return f"{100 * x:.2g} %" if x >= 1e-4 else "less than 0.01 %"


def _sentence(selection: Selection, chosen: Trial, unproved: str) -> str:
    """The claim for somebody who has to decide."""
    kind = _kind(selection)
    where = f"On {counted(chosen.units, f'held-out {kind}')}"
    on = f" on {shown(selection.objective)}" if selection.objective else ""
    parts = [f"{where}, the new policy did better{on} than yours"]
    proved = selection.gate == PROVED and not unproved
    if chosen.lower > 0 and proved:  # without a proof there is no least gain
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
    if not proved:
        return " ".join(filter(None, [unproved, "".join(parts)]))
    parts.append(f" {_odds(selection)}{_proviso(selection)}.")
    if chosen.second:  # where it would not, that takes nothing from a proof
        parts.append(" It would also pass the approximate test.")
    return "".join(parts)


def _odds(selection: Selection) -> str:
    """How likely a claim is wrong; of several signals, any of their claims."""
    if selection.kept:
        every = f"{100 * selection.delta:g} % in all"
        return f"The chance that this or the claim on another signal is wrong is at most {every}"
    return f"The chance that this is wrong is at most {100 * selection.delta:g} %"


def _proviso(selection: Selection) -> str:
    """What the log must have shown for the promise to hold; nothing, where all was declared. Of
    several signals one chance is stated for all, so it is the proviso of all."""
    limits = selection.limits
    every = [limits, *(signal.limits for signal in selection.kept)]
    said = []
    if not all(each.rewards.declared for each in every):
        # returns alone would not do: what one step pays may be made up for by another one, which
        # the weights of a candidate count for less
        said.append(
            "no step and no return lies outside what the log shows, neither a hidden loss nor a "
            "hidden gain"
        )
    lengths = [each.steps for each in every if each.fixed and each.steps is not None]
    if lengths:
        said.append(f"every episode has {counted(lengths[0], 'step')}")
    elif limits.steps is not None and not limits.declared_steps:
        said.append(f"no recording goes on for more than {limits.steps:,} steps")
    return f", provided {', and '.join(said)}" if said else ""


def _why_kept(selection: Selection) -> str:
    """Why the behavior stays, and how much longer the log would have to be."""
    if selection.too_short:
        return (
            "A change did better up to where recordings stop, but "
            f"{share(selection.beyond)} of the discounted weight lies beyond, and of that the log "
            "shows nothing. So your policy stays. Record for longer; or, if episodes end where "
            "the recordings do, say so (--ends terminated)."
        )
    if selection.held_back is not None:
        return _why_held_back(selection, selection.held_back)
    said = "No change passed the test, so your policy stays."
    if selection.only_approximate:
        said = "Only the approximate test passes: promising, not proved. So your policy stays."
    unkept = [_not_kept(signal, trial) for signal, trial in selection.unkept]
    return " ".join([said, *unkept, plan(selection).said(selection.episodes)])


def _why_held_back(selection: Selection, best: Trial) -> str:
    failed = [
        (signal, trial)
        for signal, trial in zip(selection.kept, best.kept, strict=True)
        if not trial.passed
    ]
    said = [
        f"A change did better on {shown(selection.objective)}, but is not proved to keep "
        f"{listing([shown(signal.signal) for signal, _ in failed])}. So your policy stays.",
        *(_not_kept(signal, trial) for signal, trial in failed),
    ]
    said += [plan(selection).said(selection.episodes), "Or allow a larger loss (--keep NAME=LOSS)."]
    return " ".join(said)
