"""The texts: Storm's explicit format, every state with its choices and edges; and the language of
PRISM, one module with the number of the state, and of what is seen."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.lab.truth.checkers.graph import GraphChoice, StateGraph, plain


def drn(graph: StateGraph) -> str:
    """The text of a DRN file."""
    return "\n".join(_drn_lines(graph)) + "\n"


def _drn_lines(graph: StateGraph) -> Iterator[str]:
    yield from (f"// {line}" for line in graph.title)
    yield f"@type: {'POMDP' if graph.partially_observed else 'DTMC'}"
    yield from ("@parameters", "", "@reward_models", "reward")
    yield from ("@nr_states", str(len(graph)))
    yield from ("@nr_choices", str(sum(map(len, graph.choices))), "@model")
    labels: list[list[str]] = [[] for _ in graph.choices]
    labels[0].append("init")
    for label, states in graph.labels.items():
        for state in states:
            labels[state].append(label)
    for state, choices in enumerate(graph.choices):
        seen, paid = "", plain(choices[0].reward)
        if graph.partially_observed:
            seen, paid = f" {{{graph.observations[state]}}}", "0"  # rewards belong to actions
        yield " ".join([f"state {state}{seen} [{paid}]", *labels[state]])
        for number, choice in enumerate(choices):
            reward = plain(choice.reward) if graph.partially_observed else "0"
            yield f"\taction {choice.action or number} [{reward}]"
            yield from (f"\t\t{to} : {plain(p)}" for to, p in sorted(choice.row.items()))


def prism(graph: StateGraph) -> str:
    """The text of a PRISM file."""
    return "\n".join(_prism_lines(graph)) + "\n"


def _prism_lines(graph: StateGraph) -> Iterator[str]:
    partial = graph.partially_observed
    yield from (f"// {line}" for line in graph.title)
    yield "pomdp" if partial else "dtmc"
    yield ""
    if partial:
        yield "observables o endobservables"
        yield ""
    yield "module process"
    yield f"  s : [0..{len(graph) - 1}] init 0;"
    if partial:
        yield f"  o : [0..{max(graph.observations)}] init {graph.observations[0]};"
    for state, choices in enumerate(graph.choices):
        for choice in choices:
            yield f"  [{choice.action}] s={state} -> {_updates(graph, choice)};"
    yield from ("endmodule", "")
    for label, states in graph.labels.items():
        yield f'label "{label}" = {"|".join(f"s={state}" for state in states)};'
    yield from ("", 'rewards "reward"')
    for state, choices in enumerate(graph.choices):
        for choice in choices:
            if choice.reward:
                action = f"[{choice.action}] " if partial else ""
                yield f"  {action}s={state} : {plain(choice.reward)};"
    yield "endrewards"


def _updates(graph: StateGraph, choice: GraphChoice) -> str:
    def moved(to: int) -> str:
        seen = f"&(o'={graph.observations[to]})" if graph.partially_observed else ""
        return f"(s'={to}){seen}"

    return " + ".join(f"{plain(p)}:{moved(to)}" for to, p in sorted(choice.row.items()))
