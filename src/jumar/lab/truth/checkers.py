"""Models for model checkers: a model, or a model run by a controller, as DRN or PRISM.

A model alone becomes a POMDP: states are pairs (s, z) of a hidden state and what is seen in it,
after one more state at the start, in which nothing is seen yet, and before one at the end. A model
with a controller becomes a Markov chain (DTMC) over the triples (s, n, z) that can be reached.

The discount γ is written as an ending: every step goes on with probability γ and ends with 1-γ.
So the expected total reward, ``R{"reward"}=? [C]``, is the discounted value. Numbers are written
as exact decimals and every row sums to exactly 1, so that an exact engine can be used: floats stand
for the shortest decimal that gives them, and are multiplied and added as decimals. What is missing
to 1 in a row is the ending; where rounding in the model made a row larger than 1, the largest
weight takes what is too much.

A new format is one function of a `StateGraph`, and one line in `WRITERS`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from itertools import pairwise
from operator import mul
from pathlib import Path

import numpy as np

from jumar.core.arrays import Floats, Ints, number_rows
from jumar.core.errors import ParameterError
from jumar.core.files import write_atomically
from jumar.core.registry import Registry
from jumar.core.resources import check_room
from jumar.core.text import printable
from jumar.lab.truth.chain import unroll
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.policy.controller import Controller

_EXACT = Context(prec=2000)  # two doubles multiplied have digits from 10^308 to 10^-650 at most

_EDGE_BYTES = 150  # of an edge while the text is made

Row = dict[int, Decimal]  # the weight of every next state


@dataclass(frozen=True)
class GraphChoice:
    """What can be done in a state, and what may happen then."""

    action: str
    reward: Decimal
    row: Row


@dataclass(frozen=True)
class StateGraph:
    """What a model checker works on. State 0 is the start, the last one is the end."""

    title: tuple[str, ...]  # lines about it, in plain ASCII
    partially_observed: bool  # a POMDP, else a Markov chain
    observations: Sequence[int]  # per state; for a chain, nothing
    choices: Sequence[tuple[GraphChoice, ...]]  # per state
    labels: dict[str, list[int]]  # the states that bear each

    def __len__(self) -> int:
        return len(self.choices)


# ---- words --------------------------------------------------------------------------------------

# of PRISM and of DRN; no word of ours may be one of them
_WORDS = (
    "A bool clock const ctmc C double dtmc E endinit endinvariant endmodule endobservables "
    "endrewards endsystem false formula filter func F global G init invariant I int label max mdp "
    "min module X nondeterministic observable observables of Pmax Pmin P pomdp popta "
    "probabilistic prob pta rate rewards Rmax Rmin R S stochastic system true U W start end s o "
    "reward action state deadlock process"
)
_TAKEN = frozenset(_WORDS.split())


def words_for(names: Sequence[str], before: str = "", taken: Collection[str] = _TAKEN) -> list[str]:
    """Names as words, all different, none of those that are taken.

    >>> words_for(["open left", "open-left", "2", "true"])
    ['open_left', 'open_left_2', 'a_2', 'a_true']
    """
    words: dict[str, None] = {}
    last: dict[str, int] = {}  # by word: the number that its last double got
    for name in names:
        word = before + re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
        if not word[:1].isalpha() or word in taken:
            word = f"a_{word}"
        wanted, n = word, last.get(word, 1)
        while word in words:
            n += 1
            word = f"{wanted}_{n}"
        words[word], last[wanted] = None, n
    return list(words)


# ---- graphs -------------------------------------------------------------------------------------


def model_graph(model: Pomdp, discounted: bool = True) -> StateGraph:
    """A POMDP whose states are pairs of a hidden state and what is seen there."""
    A = len(model.actions)
    s0, z0 = np.nonzero(model.start[:, None] * model.first_observation > 0)
    goes = (model.next_state != END) & (model.probability > 0)
    after = np.column_stack([model.next_state[goes], model.next_observation[goes]])
    pairs, number = number_rows(np.concatenate([np.column_stack([s0, z0]), after]))
    edges = int(np.diff(model.pointer[::A])[pairs[:, 0]].sum())
    check_room(
        f"Model {printable(model.name)!r}: {edges:,} edges between pairs of a state and what is "
        "seen",
        edges * _EDGE_BYTES,
        "Use a smaller model, or write a .POMDP file.",
    )
    target = np.full(len(model.probability), len(pairs) + 1)
    target[goes] = number[len(s0) :] + 1
    with localcontext(_EXACT):
        drawn = map(mul, _exact(model.start[s0]), _exact(model.first_observation[s0, z0]))
        start = _row(drawn, number[: len(s0)] + 1)
        steps = model.pointer, model.probability, target, model.reward
        # states that look different in the same s share what can be done there
        by_pair = _choices(model, *steps, discounted, len(pairs) + 1, words_for(model.actions))
        inner = [tuple(by_pair[s * A : s * A + A]) for s in pairs[:, 0].tolist()]
        return _graph(model, None, discounted, pairs, start, inner)


def chain_graph(model: Pomdp, controller: Controller, discounted: bool = True) -> StateGraph:
    """The Markov chain of a model run by a controller."""
    chain = unroll(model, controller)
    end = len(chain) + 1
    target = np.where(chain.target == END, end, chain.target + 1)
    pointer = np.searchsorted(chain.source, np.arange(end))
    starts = np.flatnonzero(chain.start > 0)
    with localcontext(_EXACT):
        start = _row(_exact(chain.start[starts]), starts + 1)
        steps = pointer, chain.probability, target, chain.reward
        inner = [(choice,) for choice in _choices(model, *steps, discounted, end, [""])]
        pairs = np.column_stack([chain.hidden, chain.states[chain.history, -1]])
        return _graph(model, controller, discounted, pairs, start, inner)


def _graph(
    model: Pomdp,
    controller: Controller | None,
    discounted: bool,
    pairs: Ints,  # (N, 2) hidden state and observation of every state but the first and the last
    start: Row,
    inner: Sequence[tuple[GraphChoice, ...]],
) -> StateGraph:
    """With a state at the start and one at the end; every state in between bears the words of the
    hidden state and of what is seen."""
    O, end, partial = len(model.observations), len(pairs) + 1, controller is None
    hidden, seen = words_for(model.states, "is_"), words_for(model.observations, "sees_")
    labels: dict[str, list[int]] = {}
    for i, (s, z) in enumerate(pairs.tolist(), 1):
        for word in (hidden[s], seen[z]):
            labels.setdefault(word, []).append(i)
    first = GraphChoice("start" * partial, Decimal(0), _whole(start, None))
    last = GraphChoice("end" * partial, Decimal(0), {end: Decimal(1)})
    how = f"Without its discount, {model.discount!r}."
    if discounted:
        how = f'R{{"reward"}}=? [C] is its value: the discount {model.discount!r} is an ending.'
    title = f"Model {model.name!a}", how, f"Actions: {', '.join(words_for(model.actions))}"
    if controller is not None:
        title = f"{title[0]}, run by {controller.name!a}", how, "A Markov chain."
    observations = [O, *pairs[:, 1].tolist(), O + 1] if partial else []
    choices = [(first,), *inner, (last,)]
    return StateGraph(title, partial, observations, choices, {**labels, "end": [end]})


# ---- exact numbers ------------------------------------------------------------------------------


def _exact(values: Floats) -> list[Decimal]:
    return [Decimal(repr(value)) for value in values.tolist()]


def _choices(
    model: Pomdp,
    pointer: Ints,
    probability: Floats,
    target: Ints,
    reward: Floats,
    discounted: bool,
    end: int,
    words: Sequence[str],
) -> list[GraphChoice]:
    """One for every group of steps that the pointer cuts out, named by the words in turn."""
    γ = Decimal(repr(float(model.discount))) if discounted else Decimal(1)
    found = []
    for i, (first, last) in enumerate(pairwise(pointer.tolist())):
        p = _exact(probability[first:last])
        paid = sum(map(mul, p, _exact(reward[first:last])), Decimal(0))
        row = {to: γ * weight for to, weight in _row(p, target[first:last]).items() if γ * weight}
        whole = _whole(row, end if γ < 1 else None)
        found.append(GraphChoice(words[i % len(words)], paid, whole))
    return found


def _row(weights: Iterable[Decimal], targets: Ints) -> Row:
    """The weight of every target, added up."""
    row: Row = {}
    for p, to in zip(weights, targets.tolist(), strict=True):
        if p:
            row[to] = row.get(to, Decimal(0)) + p
    return row


def _whole(row: Row, rest: int | None) -> Row:
    """The row with the rest to 1 at a state; without one, or where there is too much, the largest
    weight is changed by a rounding error."""
    missing = 1 - sum(row.values(), Decimal(0))
    if not missing:
        return row
    if rest is None or missing < 0:
        rest = max(row, key=lambda to: row[to])
    return {**row, rest: row.get(rest, Decimal(0)) + missing}


def plain(number: Decimal) -> str:
    """A decimal without an exponent: 0.001, -0.5, 100."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


# ---- formats ------------------------------------------------------------------------------------


def drn(graph: StateGraph) -> str:
    """The text of a DRN file."""
    partial = graph.partially_observed
    lines = [f"// {line}" for line in graph.title]
    lines += [f"@type: {'POMDP' if partial else 'DTMC'}"]
    lines += ["@parameters", "", "@reward_models", "reward", "@nr_states", str(len(graph))]
    lines += ["@nr_choices", str(sum(map(len, graph.choices))), "@model"]
    labels: list[list[str]] = [[] for _ in graph.choices]
    labels[0].append("init")
    for label, states in graph.labels.items():
        for state in states:
            labels[state].append(label)
    for state, choices in enumerate(graph.choices):
        seen, paid = "", plain(choices[0].reward)
        if partial:
            seen, paid = f" {{{graph.observations[state]}}}", "0"  # rewards belong to actions
        lines.append(" ".join([f"state {state}{seen} [{paid}]", *labels[state]]))
        for number, choice in enumerate(choices):
            reward = plain(choice.reward) if partial else "0"
            lines.append(f"\taction {choice.action or number} [{reward}]")
            lines += (f"\t\t{to} : {plain(p)}" for to, p in sorted(choice.row.items()))
    return "\n".join(lines) + "\n"


def prism(graph: StateGraph) -> str:
    """The text of a PRISM file."""
    partial = graph.partially_observed
    lines = [f"// {line}" for line in graph.title]
    lines += ["pomdp", "", "observables o endobservables", ""] if partial else ["dtmc", ""]
    lines += ["module process", f"  s : [0..{len(graph) - 1}] init 0;"]
    if partial:
        lines.append(f"  o : [0..{max(graph.observations)}] init {graph.observations[0]};")
    paid = []
    for state, choices in enumerate(graph.choices):
        for choice in choices:
            lines.append(f"  [{choice.action}] s={state} -> {_updates(graph, choice)};")
            if choice.reward:
                action = f"[{choice.action}] " if partial else ""
                paid.append(f"  {action}s={state} : {plain(choice.reward)};")
    lines += ["endmodule", ""]
    for label, states in graph.labels.items():
        lines.append(f'label "{label}" = {"|".join(f"s={state}" for state in states)};')
    lines += ["", 'rewards "reward"', *paid, "endrewards"]
    return "\n".join(lines) + "\n"


def _updates(graph: StateGraph, choice: GraphChoice) -> str:
    def moved(to: int) -> str:
        seen = f"&(o'={graph.observations[to]})" if graph.partially_observed else ""
        return f"(s'={to}){seen}"

    return " + ".join(f"{plain(p)}:{moved(to)}" for to, p in sorted(choice.row.items()))


WRITERS: Registry[Callable[[StateGraph], str]] = Registry(
    "model format", {".drn": drn, ".prism": prism}
)


def model_text(
    model: Pomdp, kind: str, controller: Controller | None = None, *, discounted: bool = True
) -> str:
    """The text of a model, or of a model run by a controller, in a format given by the ending of
    its files.

    >>> from jumar import models
    >>> print(model_text(models.tiger(), ".drn").splitlines()[3])
    @type: POMDP
    """
    if controller is None:
        graph = model_graph(model, discounted)
    else:
        graph = chain_graph(model, controller, discounted)
    return WRITERS.find(kind)(graph)


def export_model(
    model: Pomdp,
    path: str | os.PathLike[str],
    controller: Controller | None = None,
    *,
    discounted: bool = True,
) -> None:
    """Write a model, or a model run by a controller, for a model checker.

    Parameters
    ----------
    model
        The model.
    path
        The file; .drn is Storm's explicit format, .prism the language of PRISM.
    controller
        Without it the file holds a POMDP, with it the Markov chain of both.
    discounted
        Write the discount as an ending, so that the expected total reward is the discounted value.

    Examples
    --------
    >>> import tempfile
    >>> from jumar import models
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_model(models.tiger(), Path(folder, "tiger.prism"))
    ...     Path(folder, "tiger.prism").read_text().splitlines()[3]
    'pomdp'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise ParameterError(
            f"{path}: a model is written as {' or '.join(WRITERS)}, but the name ends in none of "
            f"these. Use '{Path(path).stem or 'model'}.drn'."
        )
    write_atomically(path, model_text(model, suffix, controller, discounted=discounted))
