"""Storm's explicit format: every state with its choices and edges."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.truth.checkers.graph import StateGraph, plain


def drn(graph: StateGraph) -> str:
    """The text of a DRN file."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: StateGraph) -> Iterator[str]:
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
