"""`auto` as an algorithm: memory and policy from the data, tested on held-out episodes."""

from __future__ import annotations

from jumar.algorithms.entry import Algorithm, Choice, Look, Looks, Parameters, Words
from jumar.algorithms.problem import Outcome, Problem
from jumar.core.documents import checked, number, whole
from jumar.core.errors import ParameterError, not_one_of
from jumar.evidence.bounds import check_delta
from jumar.gate.makers import makers_of
from jumar.gate.outcome import NAME, certificate_of, improvement_of, kept_certificates
from jumar.gate.selecting import LEARN, MORE_MEMORY, select
from jumar.gate.trials import GATES, PROVED, Selection

MOST_MORE_MEMORY = 8


def run(problem: Problem) -> Outcome:
    """Choose and test."""
    old = problem.practice.pooled
    selection = choose(problem)
    chosen = selection.chosen
    memory = chosen.setting.memory if chosen else old.memory
    material = problem.material(memory)
    test = certificate_of(
        selection,
        practice=problem.practice,
        seed=problem.seed,
    )
    improvement = improvement_of(selection, old, material.mdp)
    told = chosen.simplified if chosen else None
    kept = kept_certificates(selection, practice=problem.practice, seed=problem.seed)
    return Outcome(material, improvement, test, selection, told, kept)


def choose(problem: Problem) -> Selection:
    """What is tried and chosen."""
    # a log without outcomes is told before anything is tried
    _ = problem.material(problem.practice.memory).counts
    return select(
        problem.dealt or problem.practice.replays,
        problem.practice,
        discount=problem.discount,
        seed=problem.seed,
        memory=LEARN if problem.learn_memory else problem.memory,
        delta=problem.delta,
        rewards=problem.rewards,
        horizon=problem.horizon,
        gate=problem.gate,
        simplify=problem.simplify or False,
        keep=problem.keeps,
        objective=problem.objective,
        candidates=problem.makers,
        thorough=problem.thorough,
    )


# ---- what is known of it ------------------------------------------------------------------------

# its parameters in a study: those of `select`
DEFAULTS = {"delta": 0.05, "gate": PROVED, "more_memory": MORE_MEMORY}
CANDIDATES = "candidates"  # in a study: names in one text, with commas between


def _read(parameter: str, value: object) -> object:
    """A parameter as a study file has it."""
    if parameter == "more_memory":
        return whole(value, parameter, ParameterError, most=MOST_MORE_MEMORY)
    if parameter == "gate":
        if checked(value, str, parameter, ParameterError) not in GATES:
            raise ParameterError(not_one_of("gate", value, GATES))
        return value
    if parameter == CANDIDATES:
        names = checked(value, str, parameter, ParameterError)
        makers_of(names)
        return names
    return check_delta(number(value, parameter, ParameterError))


def _label(parameters: Parameters) -> str:
    unusual = [f"{k}={v}" for k, v in parameters.items() if DEFAULTS.get(k, v) != v]
    makers = parameters.get(CANDIDATES)
    return " ".join([f"{NAME}: {makers}" if makers else NAME, *unusual])


def _look(parameters: Parameters) -> Look:
    makers = parameters.get(CANDIDATES)
    return Look(f"auto: {makers} (own k′)" if makers else "auto (own k′)", "#111111", "*")


def _safety_look(parameters: Parameters, *_: object) -> Look | None:
    if CANDIDATES in parameters:
        return None  # the figure compares settings, not who makes candidates
    return Look("auto", "#0a2f5f", "o", 2.2, tail=True, size=3.6, order=4)


def _kept(others_changed: bool) -> str:
    if others_changed:
        return "the change that was tested leaves this situation as it is"
    return "no change passed the test on held-out episodes"


ENTRY = Algorithm(
    name=NAME,
    summary="choose memory and policy from the data, and test on held-out episodes (the default)",
    on_problem=run,
    least_visits=5,  # no candidate trusts an action that was tried less often
    choice=Choice(select, DEFAULTS, _read, optional=(CANDIDATES,)),
    words=Words(label=_label, kept=_kept),
    looks=Looks(_look, _safety_look),
)
