"""A model, or a model run by a controller, as states and weighted edges with exact numbers.

Floats stand for the shortest decimal that gives them, and are multiplied and added as decimals, so
that nothing is rounded. What is missing to 1 in a row is the ending; where rounding in the model
made a row larger than 1, the largest weight takes what is too much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np

from jumar.core.arrays import Ints, number_rows
from jumar.core.names import words_for
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


def model_graph(model: Pomdp, discounted: bool = True) -> StateGraph:
    """A POMDP whose states are pairs of a hidden state and what is seen there."""
    A, O = len(model.actions), len(model.observations)
    s0, z0 = np.nonzero(model.start[:, None] * model.first_observation > 0)
    goes = (model.next_state != END) & (model.probability > 0)
    pairs, number = number_rows(
        np.concatenate(
            [
                np.column_stack([s0, z0]),
                np.column_stack([model.next_state[goes], model.next_observation[goes]]),
            ]
        )
    )
    edges = int(np.diff(model.pointer[::A])[pairs[:, 0]].sum())
    check_room(
        f"Model {printable(model.name)!r}: {edges:,} edges between pairs of a state and what is "
        "seen",
        edges * _EDGE_BYTES,
        "Use a smaller model, or write a .POMDP file.",
    )
    end = len(pairs) + 1
    target = np.full(len(model.probability), end)
    target[goes] = number[len(s0) :] + 1
    words = words_for(model.actions)
    with localcontext(_EXACT):
        start = _weights((model.start[s0], model.first_observation[s0, z0]), number[: len(s0)] + 1)
        by_pair = _choices_of(model, target, words, end, discounted)
        inner = [tuple(by_pair[s * A : s * A + A]) for s in pairs[:, 0].tolist()]
        choices = [
            (GraphChoice("start", Decimal(0), _whole(start, None)),),
            *inner,
            (GraphChoice("end", Decimal(0), {end: Decimal(1)}),),
        ]
    return StateGraph(
        _title(model, None, discounted, words),
        True,
        [O, *pairs[:, 1].tolist(), O + 1],
        choices,
        _labels(model, pairs, end),
    )


def _choices_of(
    model: Pomdp, target: Ints, words: Sequence[str], end: int, discounted: bool
) -> list[GraphChoice]:
    """Per pair (s, a); states that look different in the same s share it."""
    found = []
    A, pointer = len(model.actions), model.pointer.tolist()
    for pair in range(len(model.states) * A):
        at = slice(pointer[pair], pointer[pair + 1])
        row = _weights((model.probability[at],), target[at])
        reward = _mean((model.probability[at],), model.reward[at])
        found.append(GraphChoice(words[pair % A], reward, _ended(row, model, end, discounted)))
    return found


def chain_graph(model: Pomdp, controller: Controller, discounted: bool = True) -> StateGraph:
    """The Markov chain of a model run by a controller."""
    chain = unroll(model, controller)
    end = len(chain) + 1
    target = np.where(chain.target == END, end, chain.target + 1)
    pointer = np.searchsorted(chain.source, np.arange(len(chain) + 1)).tolist()
    first = np.flatnonzero(chain.start > 0)
    words = words_for(model.actions)
    with localcontext(_EXACT):
        start = _weights((chain.start[first],), first + 1)
        choices = [(GraphChoice("", Decimal(0), _whole(start, None)),)]
        for i in range(len(chain)):
            steps = slice(pointer[i], pointer[i + 1])
            row = _weights((chain.probability[steps],), target[steps])
            reward = _mean((chain.probability[steps],), chain.reward[steps])
            choices.append((GraphChoice("", reward, _ended(row, model, end, discounted)),))
        choices.append((GraphChoice("", Decimal(0), {end: Decimal(1)}),))
    pairs = np.column_stack([chain.hidden, chain.states[chain.history, -1]])
    return StateGraph(
        _title(model, controller, discounted, words),
        False,
        (),
        choices,
        _labels(model, pairs, end),
    )


# ---- exact numbers ------------------------------------------------------------------------------


def _weights(factors: Sequence[Any], targets: Iterable[int]) -> Row:
    """The weight of every target: the products of the factors, added up."""
    row: Row = {}
    for p, to in zip(_products(factors), np.asarray(targets).tolist(), strict=True):
        if p:
            row[to] = row.get(to, Decimal(0)) + p
    return row


def _mean(factors: Sequence[Any], rewards: Any) -> Decimal:
    pairs = zip(_products(factors), map(_decimal, rewards.tolist()), strict=True)
    return sum((p * r for p, r in pairs), Decimal(0))


def _products(factors: Sequence[Any]) -> Iterator[Decimal]:
    for values in zip(*(factor.tolist() for factor in factors), strict=True):
        product = Decimal(1)
        for value in values:
            product *= _decimal(value)
        yield product


def _decimal(value: float) -> Decimal:
    return Decimal(repr(value))


def _ended(row: Row, model: Pomdp, end: int, discounted: bool) -> Row:
    if not discounted:
        return _whole(row, None)
    γ = _decimal(float(model.discount))
    return _whole({to: γ * p for to, p in row.items() if γ * p}, end if γ < 1 else None)


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
    """A decimal without an exponent.

    >>> plain(Decimal("1E-3")), plain(Decimal("-0.50")), plain(Decimal("1E+2"))
    ('0.001', '-0.5', '100')
    """
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


# ---- words --------------------------------------------------------------------------------------


def _labels(model: Pomdp, pairs: Ints, end: int) -> dict[str, list[int]]:
    """Every state bears the words of the hidden state and of what is seen."""
    hidden, seen = words_for(model.states, "is_"), words_for(model.observations, "sees_")
    labels: dict[str, list[int]] = {}
    for i, (s, z) in enumerate(pairs.tolist(), 1):
        labels.setdefault(hidden[s], []).append(i)
        labels.setdefault(seen[z], []).append(i)
    return {**labels, "end": [end]}


def _title(
    model: Pomdp, controller: Controller | None, discounted: bool, words: Sequence[str]
) -> tuple[str, ...]:
    run = "" if controller is None else f", run by {controller.name!a}"
    how = (
        f'R{{"reward"}}=? [C] is its value: the discount {model.discount!r} is an ending.'
        if discounted
        else f"Without its discount, {model.discount!r}."
    )
    kept = f"Actions: {', '.join(words)}" if controller is None else "A Markov chain."
    return f"Model {model.name!a}{run}", how, kept
