"""A model as a `.POMDP` file: the numbers that are not zero, one to a line.

What was read from such a file is written with the same T and O, and read back bit for bit. For
other models T and O are worked out from the outcomes: P(s', z | s, a) = T(s' | s, a) O(z | a, s'),
which asks that what is seen depends on the state that is reached and not on the one before.

What the format has no words for is written so that the value of every policy stays the same:

- endings lead to one more state, `ended`, which is never left, shows `ended` and pays nothing;
- names that are no identifiers are spelled as such, with the old ones in a comment;
- the first observation is named in a comment, as the option with which to read the file;
- the cut of a simulation (`max_steps`) is named in a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.errors import ModelError
from jumar.core.text import printable
from jumar.lab.truth.cassandra.given import Laws
from jumar.lab.truth.cassandra.parsing import RESERVED
from jumar.lab.truth.cassandra.reading import AFTER, NULL, new_name, outcomes, steps_that_count
from jumar.lab.truth.checkers import words_for
from jumar.lab.truth.pomdp import END, Factors, Pomdp

ENDED = "ended"
NEARLY = 1e-12  # relative: how well T times O must give the outcomes
_DIGITS = 15  # that a decimal number keeps


def pomdp_to_text(pomdp: Pomdp) -> str:
    """The text of a `.POMDP` file.

    >>> from jumar import models
    >>> text = pomdp_to_text(models.sumatran_tiger())
    >>> print(text[text.index("discount"):text.index("T:")])
    discount: 0.95
    values: reward
    states: extant extinct
    actions: manage survey stop
    observations: present absent
    start: 1.0 0.0
    <BLANKLINE>
    """
    model, first = _without_null(_without_endings(pomdp))
    factors = model.factors
    if factors is None or not _same(factors, model):
        model = _distinct(model)
        factors = _factored(model)
    own = {"state": model.states, "action": model.actions, "observation": model.observations}
    names = {kind: _spelled(those) for kind, those in own.items()}
    lines = [f"# {printable(pomdp.name)}, written by jumar"]
    if first != NULL:
        option = _first_option(model, factors, names)
        lines.append(f'# The first observation: read this with first_observation="{option}".')
    if model.max_steps != steps_that_count(model.discount):
        lines.append(f"# Simulations are cut off: read this with max_steps={model.max_steps}.")
    for kind, those in own.items():
        pairs = zip(names[kind], those, strict=True)
        lines += [f"# {kind} {ours}: {printable(name)}" for ours, name in pairs if ours != name]
    lines += [
        f"discount: {_number(model.discount)}",
        f"values: {'cost' if factors.cost else 'reward'}",
        # names that are the numbers from 0 on are only counted
        *(f"{k}s: {len(n) if n[0] == '0' else ' '.join(n)}" for k, n in names.items()),
        f"start: {' '.join(map(_number, model.start.tolist()))}",
        *_law_lines("T", factors.transition, names, "state"),
        *_law_lines("O", factors.observation, names, "observation"),
        *_reward_lines(model, names, factors.cost),
    ]
    return "\n".join(lines) + "\n"


def _number(x: float) -> str:
    """All digits, and one on each side of the point, as in 1.0e-05."""
    text = repr(float(x) + 0.0)
    return text if "." in text else text.replace("e", ".0e")


def _law_lines(
    word: str, laws: Laws, names: dict[str, tuple[str, ...]], kind: str
) -> Iterator[str]:
    """Every number of T or O that is not zero."""
    actions, states = names["action"], names["state"]
    places = laws.row_of_entry.tolist(), laws.column.tolist()
    for row, column, p in zip(*places, laws.value.tolist(), strict=True):
        a, s = divmod(row, len(states))
        yield f"{word}: {actions[a]} : {states[s]} : {names[kind][column]} {_number(p)}"


def _reward_lines(model: Pomdp, names: dict[str, tuple[str, ...]], cost: bool) -> Iterator[str]:
    """What every outcome pays that does not pay nothing; one line where all of a pair pay alike."""
    states, actions, seen = names["state"], names["action"], names["observation"]
    A, reward = len(actions), 0.0 - model.reward if cost else model.reward
    for pair, (first, last) in enumerate(zip(model.pointer, model.pointer[1:], strict=False)):
        head = f"R: {actions[pair % A]} : {states[pair // A]}"
        paid = reward[first:last].tolist()
        if len(set(paid)) == 1:
            if paid[0] != 0:
                yield f"{head} : * : * {_number(paid[0])}"
            continue
        after = model.next_state[first:last].tolist(), model.next_observation[first:last].tolist()
        for to, z, r in zip(*after, paid, strict=True):
            if r != 0:
                yield f"{head} : {states[to]} : {seen[z]} {_number(r)}"


def _spelled(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names as identifiers that every program reads; all anew if some of them are none."""
    usable = (re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", n) and n not in RESERVED for n in names)
    if names == tuple(map(str, range(len(names)))) or all(usable):
        return names
    return tuple(words_for(names, taken=RESERVED))


# ---- what the format has no words for ------------------------------------------------------


def _without_endings(pomdp: Pomdp) -> Pomdp:
    """The same with one more state, in which nothing is left to happen."""
    if not pomdp.episodic:
        return pomdp
    ends = pomdp.next_state == END
    S, A, O = len(pomdp.states), len(pomdp.actions), len(pomdp.observations)
    return replace(
        pomdp,
        states=(*pomdp.states, new_name(ENDED, pomdp.states)),
        observations=(*pomdp.observations, new_name(ENDED, pomdp.observations)),
        start=np.append(pomdp.start, 0.0),
        first_observation=np.pad(pomdp.first_observation, (0, 1)),
        pointer=np.append(pomdp.pointer, len(ends) + 1 + np.arange(A)),
        probability=np.append(pomdp.probability, np.ones(A)),
        next_state=np.append(np.where(ends, S, pomdp.next_state), np.full(A, S)),
        next_observation=np.append(np.where(ends, O, pomdp.next_observation), np.full(A, O)),
        reward=np.append(pomdp.reward, np.zeros(A)),
        factors=None,
    )


def _without_null(pomdp: Pomdp) -> tuple[Pomdp, str]:
    """Without a last observation that is only seen first, which is what reading adds again."""
    last = len(pomdp.observations) - 1
    starts = pomdp.start > 0
    only_first = (pomdp.first_observation[starts, last] == 1).all() and last > 0
    if not only_first or (pomdp.next_observation == last).any():
        return pomdp, ""
    # the first observation is not written: any one does to keep this a model
    first = np.eye(1, last).repeat(len(pomdp.states), 0)
    seen = pomdp.observations[:last]
    return replace(pomdp, observations=seen, first_observation=first), NULL


def _first_option(pomdp: Pomdp, factors: Factors, names: dict[str, tuple[str, ...]]) -> str:
    """How to read the file so that the first observation is this model's."""
    S, O = len(pomdp.states), len(pomdp.observations)
    starts = np.flatnonzero(pomdp.start > 0)
    law = pomdp.first_observation[starts]
    if (law == law[0]).all() and law[0].max() == 1:
        return names["observation"][int(law[0].argmax())]
    for a, action in enumerate(names["action"]):
        rows = np.array([factors.observation.row(a * S + s, O) for s in starts.tolist()])
        if np.abs(rows - law).max() <= NEARLY:
            return AFTER + action
    raise ModelError(
        f"Model {pomdp.name!r}: its first observation cannot be told in a .POMDP file: it is "
        "neither always the same nor that of an action. Save the model as .json."
    )


# ---- T and O --------------------------------------------------------------------------------


def _same(factors: Factors, pomdp: Pomdp) -> bool:
    """Are these still the factors of the model's outcomes?"""
    S, A = len(pomdp.states), len(pomdp.actions)
    fits = len(factors.transition) == S * A
    fits = fits and factors.n_observations == len(pomdp.observations)
    return fits and _difference(factors.transition, factors.observation, pomdp) == 0


def _distinct(pomdp: Pomdp) -> Pomdp:
    """The same with each (s, a, s', z) at most once, in order."""
    S, O = len(pomdp.states), len(pomdp.observations)
    possible = pomdp.probability > 0
    pair, to = pomdp.pair_of_outcome[possible], pomdp.next_state[possible]
    key = (pair * S + to) * O + pomdp.next_observation[possible]
    keys, first, which = np.unique(key, return_index=True, return_inverse=True)
    reward = pomdp.reward[possible]
    if (reward != reward[first][which]).any():
        raise ModelError(
            f"Model {pomdp.name!r}: the reward is drawn by chance even where state, action, next "
            "state and observation are the same, which a .POMDP file cannot tell. Save the model "
            "as .json."
        )
    return replace(
        pomdp,
        pointer=np.searchsorted(keys // (S * O), np.arange(S * len(pomdp.actions) + 1)),
        probability=sum_by(which, pomdp.probability[possible], len(keys)),
        next_state=keys // O % S,
        next_observation=keys % O,
        reward=reward[first],
    )


def _factored(pomdp: Pomdp) -> Factors:
    """T and O with T·O as near to the outcomes as can be: their decimals, where these do."""
    S, A, O = len(pomdp.states), len(pomdp.actions), len(pomdp.observations)
    s, a = np.divmod(pomdp.pair_of_outcome, A)
    p, to, seen = pomdp.probability, pomdp.next_state, pomdp.next_observation
    T = _summed((a * S + s) * S + to, p, A * S, S)
    # an action may never lead to a state: nobody sees what is shown there, but the format asks for
    # it, so it is the law of the first observation, or any
    joint = sum_by((a * S + to) * O + seen, p, A * S * O).reshape(A * S, O)
    never = pomdp.first_observation + (pomdp.first_observation.sum(1) == 0)[:, None]
    joint = np.where((joint.sum(1) > 0)[:, None], joint, np.tile(never, (A, 1)))
    shown = joint / joint.sum(1)[:, None]
    row, column = np.nonzero(shown)
    Z = Laws(np.searchsorted(row, np.arange(A * S + 1)), column, shown[row, column])
    cost = pomdp.factors.cost if pomdp.factors else False
    if _difference(_rounded(T), _rounded(Z), pomdp) == 0:
        return Factors(_rounded(T), _rounded(Z), O, cost)
    if _difference(T, Z, pomdp) <= NEARLY:
        return Factors(T, Z, O, cost)
    raise ModelError(
        f"Model {pomdp.name!r}: what is seen depends on more than the action and the state that "
        "is reached, which a .POMDP file cannot tell. Save the model as .json."
    )


def _summed(key: Ints, p: Floats, rows: int, width: int) -> Laws:
    keys, which = np.unique(key, return_inverse=True)
    value = sum_by(which, p, len(keys))
    return Laws(np.searchsorted(keys, np.arange(rows + 1) * width), keys % width, value)


def _rounded(laws: Laws) -> Laws:
    value = np.array([float(f"{x:.{_DIGITS}g}") for x in laws.value.tolist()])
    return Laws(laws.pointer, laws.column, value)


def _difference(T: Laws, O: Laws, pomdp: Pomdp) -> float:
    """The largest difference between a product and the outcome it stands for."""
    pair, to, seen, p = outcomes(T, O, len(pomdp.states), len(pomdp.actions))
    same = (
        np.array_equal(pair, pomdp.pair_of_outcome)
        and np.array_equal(to, pomdp.next_state)
        and np.array_equal(seen, pomdp.next_observation)
    )
    return float(np.abs(p - pomdp.probability).max(initial=0.0)) if same else np.inf
