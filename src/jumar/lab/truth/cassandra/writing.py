"""A model as a `.POMDP` file.

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
from dataclasses import replace

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.errors import ModelError
from jumar.core.text import printable
from jumar.lab.truth.cassandra.laws import Laws
from jumar.lab.truth.cassandra.reading import AFTER, NULL, null_name, outcomes, steps_that_count
from jumar.lab.truth.cassandra.tokens import is_valid_name
from jumar.lab.truth.pomdp import END, Factors, Pomdp

ENDED = "ended"
SMALL = 12  # up to so many numbers in a row, rows and matrices are written whole
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
    <BLANKLINE>
    start: 1.0 0.0
    <BLANKLINE>
    <BLANKLINE>
    """
    model, first = _without_null(_without_endings(pomdp))
    factors = model.factors
    if factors is None or not _same(factors, model):
        model = _distinct(model)
        factors = _factored(model)
    seen = first == NULL or not _state_is_seen(model, factors)
    first = first or (_first_option(model, factors) if seen else "")
    names = _Names(model)
    return "\n".join(
        [
            *_header(pomdp, model, names, first),
            f"discount: {_number(model.discount)}",
            f"values: {'cost' if factors.cost else 'reward'}",
            f"states: {names.listed('state')}",
            f"actions: {names.listed('action')}",
            *([f"observations: {names.listed('observation')}"] if seen else []),
            "",
            f"start: {_row(model.start)}",
            "",
            *_laws("T", factors.transition, names, "state"),
            "",
            *([*_laws("O", factors.observation, names, "observation"), ""] if seen else []),
            *_Rewards(model, names, factors.cost, seen).lines(),
            "",
        ]
    )


def _number(x: float) -> str:
    """All digits, and one on each side of the point.

    >>> _number(1.0), _number(1e-05), _number(-1e22)
    ('1.0', '1.0e-05', '-1.0e+22')
    """
    text = repr(float(x) + 0.0)
    return text if "." in text else text.replace("e", ".0e")


def _row(values: Floats) -> str:
    return " ".join(map(_number, values.tolist()))


# ---- what the format has no words for ------------------------------------------------------


def _without_endings(pomdp: Pomdp) -> Pomdp:
    """The same with one more state, in which nothing is left to happen."""
    if not pomdp.episodic:
        return pomdp
    ends = pomdp.next_state == END
    S, A, O = len(pomdp.states), len(pomdp.actions), len(pomdp.observations)
    K = len(pomdp.probability)
    first = np.zeros((S + 1, O + 1))
    first[:S, :O] = pomdp.first_observation
    return Pomdp(
        name=pomdp.name,
        states=(*pomdp.states, _new(pomdp.states)),
        actions=pomdp.actions,
        observations=(*pomdp.observations, _new(pomdp.observations)),
        start=np.append(pomdp.start, 0.0),
        first_observation=first,
        pointer=np.append(pomdp.pointer, K + 1 + np.arange(A)),
        probability=np.append(pomdp.probability, np.ones(A)),
        next_state=np.append(np.where(ends, S, pomdp.next_state), np.full(A, S)),
        next_observation=np.append(np.where(ends, O, pomdp.next_observation), np.full(A, O)),
        reward=np.append(pomdp.reward, np.zeros(A)),
        discount=pomdp.discount,
        max_steps=pomdp.max_steps,
    )


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


def _state_is_seen(pomdp: Pomdp, factors: Factors) -> bool:
    """Is every state shown by its own name, first as well? Then no observations are written."""
    if pomdp.observations != pomdp.states:
        return False
    S, O = len(pomdp.states), factors.observation
    starts = np.flatnonzero(pomdp.start > 0)
    return bool(
        np.array_equal(O.column, np.tile(np.arange(S), len(pomdp.actions)))
        and (O.value == 1).all()
        and (pomdp.first_observation[starts, starts] == 1).all()
    )


def _new(names: tuple[str, ...]) -> str:
    choices = (ENDED, *(f"{ENDED}-{i}" for i in range(len(names))))
    return next(name for name in choices if name not in names)


def _without_null(pomdp: Pomdp) -> tuple[Pomdp, str]:
    """Without a last observation that is only seen first, which is what reading adds again."""
    last = len(pomdp.observations) - 1
    starts = pomdp.start > 0
    only_first = (pomdp.first_observation[starts, last] == 1).all() and last > 0
    if not only_first or (pomdp.next_observation == last).any():
        return pomdp, ""
    # the first observation is not written: any one does to keep this a model
    first = np.zeros((len(pomdp.states), last))
    first[:, 0] = 1.0
    seen = pomdp.observations[:last]
    return replace(pomdp, observations=seen, first_observation=first), NULL


def _first_option(pomdp: Pomdp, factors: Factors) -> str:
    """How to read the file so that the first observation is this model's."""
    S, O = len(pomdp.states), len(pomdp.observations)
    starts = np.flatnonzero(pomdp.start > 0)
    law = pomdp.first_observation[starts]
    if (law == law[0]).all() and law[0].max() == 1:
        return pomdp.observations[int(law[0].argmax())]
    for a, action in enumerate(pomdp.actions):
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
    if len(factors.transition) != S * A or factors.n_observations != len(pomdp.observations):
        return False
    return _difference(factors, pomdp) == 0


def _factored(pomdp: Pomdp) -> Factors:
    """T and O with T·O as near to the outcomes as can be: their decimals, where these do."""
    S, A, O = len(pomdp.states), len(pomdp.actions), len(pomdp.observations)
    s, a = np.divmod(pomdp.pair_of_outcome, A)
    p, to, seen = pomdp.probability, pomdp.next_state, pomdp.next_observation
    T = _summed((a * S + s) * S + to, p, A * S, S)
    joint = _summed((a * S + to) * O + seen, p, A * S, O)
    known = joint.sums > 0
    O_rows = joint.scaled(np.where(known, joint.sums, 1.0))
    O_rows = _with_rows(O_rows, np.flatnonzero(~known), pomdp, O)
    found = Factors(T, O_rows, O, pomdp.factors.cost if pomdp.factors else False)
    tidy = replace(found, transition=_rounded(T), observation=_rounded(O_rows))
    for factors in (tidy, found):
        off = _difference(factors, pomdp)
        if off <= (0.0 if factors is tidy else NEARLY):
            return factors
    raise ModelError(
        f"Model {pomdp.name!r}: what is seen depends on more than the action and the state that "
        "is reached, which a .POMDP file cannot tell. Save the model as .json."
    )


def _summed(key: Ints, p: Floats, rows: int, width: int) -> Laws:
    keys, which = np.unique(key, return_inverse=True)
    value = sum_by(which, p, len(keys))
    keys, value = keys[value > 0], value[value > 0]
    return Laws(np.searchsorted(keys, np.arange(rows + 1) * width), keys % width, value)


def _with_rows(laws: Laws, missing: Ints, pomdp: Pomdp, O: int) -> Laws:
    """Rows for states that an action never leads to: the law of the first observation, if there is
    one, else all alike. Nobody sees them, but the format asks for them."""
    S = len(pomdp.states)
    parts = [laws.row(r, O) for r in range(len(laws))]
    for r in missing.tolist():
        first = pomdp.first_observation[r % S]
        parts[r] = first if first.any() else np.full(O, 1 / O)
    dense = np.array(parts)
    row, column = np.nonzero(dense)
    return Laws(np.searchsorted(row, np.arange(len(laws) + 1)), column, dense[row, column])


def _rounded(laws: Laws) -> Laws:
    value = np.array([float(f"{x:.{_DIGITS}g}") for x in laws.value.tolist()])
    return Laws(laws.pointer, laws.column, value)


def _difference(factors: Factors, pomdp: Pomdp) -> float:
    """The largest difference between a product and the outcome it stands for."""
    pair, to, seen, p = outcomes(factors, len(pomdp.states), len(pomdp.actions))
    same = (
        np.array_equal(pair, pomdp.pair_of_outcome)
        and np.array_equal(to, pomdp.next_state)
        and np.array_equal(seen, pomdp.next_observation)
    )
    return float(np.abs(p - pomdp.probability).max(initial=0.0)) if same else np.inf


def _laws(word: str, laws: Laws, names: _Names, columns: str) -> list[str]:
    """Lines of T or O: for every action a matrix, or only what is not zero."""
    S, width = len(names.spelled["state"]), len(names.spelled[columns])
    actions = names.spelled["action"]
    lines = []
    whole = S <= SMALL and width <= SMALL
    for a, action in enumerate(actions):
        if whole:
            lines.append(f"{word}: {action}")
            lines += [_row(laws.row(a * S + s, width)) for s in range(S)]
            continue
        for s, state in enumerate(names.spelled["state"]):
            part = slice(laws.pointer[a * S + s], laws.pointer[a * S + s + 1])
            lines += [
                f"{word}: {action} : {state} : {names.spelled[columns][c]} {_number(p)}"
                for c, p in zip(laws.column[part].tolist(), laws.value[part].tolist(), strict=True)
            ]
    return lines


# ---- R --------------------------------------------------------------------------------------


class _Rewards:
    """Lines of R: as few parts named as the rewards allow, nothing where they are zero."""

    def __init__(self, pomdp: Pomdp, names: _Names, cost: bool, seen: bool) -> None:
        self.pomdp, self.names, self.cost = pomdp, names, cost
        self.any = " : *" if seen else ""  # without observations R has one part less

    def lines(self) -> list[str]:
        model = self.pomdp
        A = len(model.actions)
        lines = []
        for a, action in enumerate(self.names.spelled["action"]):
            pairs = range(a, len(model.states) * A, A)
            parts = [slice(model.pointer[p], model.pointer[p + 1]) for p in pairs]
            usual = self._usual(np.concatenate([model.reward[part] for part in parts]))
            if usual != 0:
                lines.append(f"R: {action} : * : *{self.any} {self._amount(usual)}")
            for s, part in enumerate(parts):
                lines += self._of_state(action, self.names.spelled["state"][s], part, usual)
        return lines

    @staticmethod
    def _usual(rewards: Floats) -> float:
        """What most outcomes pay."""
        values, counts = np.unique(rewards, return_counts=True)
        return float(values[counts.argmax()])

    def _of_state(self, action: str, state: str, part: slice, usual: float) -> list[str]:
        model = self.pomdp
        paid, to = model.reward[part], model.next_state[part]
        seen = model.next_observation[part]
        if (paid == usual).all():
            return []
        if (paid == paid[0]).all():
            return [f"R: {action} : {state} : *{self.any} {self._amount(paid[0])}"]
        lines = []
        for t in np.unique(to):
            here = paid[to == t]
            head = f"R: {action} : {state} : {self.names.spelled['state'][t]}"
            if (here == usual).all():
                continue
            if (here == here[0]).all():
                lines.append(f"{head}{self.any} {self._amount(here[0])}")
                continue
            lines += [
                f"{head} : {self.names.spelled['observation'][z]} {self._amount(r)}"
                for z, r in zip(seen[to == t].tolist(), here.tolist(), strict=True)
                if r != usual
            ]
        return lines

    def _amount(self, reward: float) -> str:
        return _number(0.0 - reward if self.cost else reward)


# ---- names ----------------------------------------------------------------------------------


class _Names:
    """The names of a model as identifiers of the format."""

    def __init__(self, pomdp: Pomdp) -> None:
        self.own = {
            "state": pomdp.states,
            "action": pomdp.actions,
            "observation": pomdp.observations,
        }
        self.spelled = {kind: _spelled(names, kind[0]) for kind, names in self.own.items()}

    def listed(self, kind: str) -> str:
        """How the preamble names them; names that are the numbers from 0 on are only counted."""
        names = self.spelled[kind]
        return str(len(names)) if names[0] == "0" else " ".join(names)

    def comments(self) -> list[str]:
        return [
            f"# {kind} {ours}: {printable(theirs)}"
            for kind, names in self.own.items()
            for ours, theirs in zip(self.spelled[kind], names, strict=True)
            if ours != theirs
        ]


def _spelled(names: tuple[str, ...], letter: str) -> tuple[str, ...]:
    """Names as identifiers.

    >>> _spelled(("below 5 %", "failed"), "s"), _spelled(("0", "1"), "s"), _spelled(("T", "a"), "s")
    (('below-5', 'failed'), ('0', '1'), ('s-T', 'a'))
    """
    if names == tuple(map(str, range(len(names)))):
        return names
    taken = {name for name in names if is_valid_name(name)}
    last: dict[str, int] = {}  # by name: the number that its last double got
    spelled = []
    for name in names:
        new = name
        if not is_valid_name(name):
            base = re.sub("[^A-Za-z0-9_]+", "-", name).strip("-") or letter
            base = base if is_valid_name(base) else f"{letter}-{base}"
            new, i = base, last.get(base, 1)
            while new in taken:
                i += 1
                new = f"{base}-{i}"
            taken.add(new)
            last[base] = i
        spelled.append(new)
    return tuple(spelled)


def _header(pomdp: Pomdp, model: Pomdp, names: _Names, first: str) -> list[str]:
    lines = [f"# {printable(pomdp.name)}, written by jumar"]
    if first == NULL:
        extra = null_name(model.observations)
        lines.append(f"# Nothing is seen before the first action (jumar: the symbol '{extra}').")
    elif first:
        kind, said = ("observation", first)
        if first.startswith(AFTER) and first not in model.observations:
            kind, said = "action", first[len(AFTER) :]
        own, spelled = names.own[kind], names.spelled[kind]
        word = (AFTER if kind == "action" else "") + spelled[own.index(said)]
        lines.append(f'# The first observation: read this with first_observation="{word}".')
    if len(model.states) > len(pomdp.states):
        lines.append(f"# An episode that ends goes to the state '{names.spelled['state'][-1]}'.")
    if model.max_steps != steps_that_count(model.discount):
        lines.append(f"# Simulations are cut off: read this with max_steps={model.max_steps}.")
    return [*lines, *names.comments(), ""]
