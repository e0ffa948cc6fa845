"""The model and both bounds as arrays, for compiled loops; how they are made, and how they grow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, sum_by
from jumar.lab.truth.pomdp import END, Pomdp

UNIT = 2.0**-53  # rounding of one operation, relative
LEVELS = 2000  # of a trial: 0.99^2000 is 2e-9
CARE_AT_FIRST = 0.2
MOST_POINTS = 4  # behind one bound
FEW = 64  # plans or points to make room for at first


class Dynamics(NamedTuple):
    """S states, A actions, O observations, K outcomes that go on, J triples (a, s, z)."""

    first: Ints  # (A*S + 1,) where the triples of a and s begin
    seen: Ints  # (J,) the observation of a triple
    pointer: Ints  # (J + 1,) where the outcomes of a triple begin
    next_state: Ints  # (K,)
    probability: Floats  # (K,)
    reward: Floats  # (A, S) expected
    observations: int
    discount: float
    slack: float  # more than rounding can do to one backup


class Late(NamedTuple):
    """What is still to come, at most, for one who is told states late. See `bounds`."""

    once: Floats  # (A, S) for s and a, if s is told after a
    twice: Floats  # (J, A) for (a, s, z) and the action after it, if s is told after that


class Plans(NamedTuple):
    """Room for N plans that are compared, and M that are remembered."""

    size: Ints  # (2,) how many are compared, remembered
    value: Floats  # (S, N) one column for each
    number: Ints  # (N,) of the plan, among those that are remembered
    action: Ints  # (M,) what it does first
    then: Ints  # (O, M) the plan it goes on with
    usual: Ints  # (A, O) the column to go on with after an observation that cannot come
    usual_worth: Floats  # (A, O) what speaks for it
    weight: Floats  # (A, O, S) total probability of s' and z after a


class Points(NamedTuple):
    """Room for N points with P entries in all. Corners are the beliefs that are sure of a state."""

    size: Ints  # (2,) points, entries
    corner: Floats  # (A, S) at most the value of a in s
    begin: Ints  # (N + 1,) where the entries of a point begin
    state: Ints  # (P,) those with probability, in any order
    mass: Floats  # (P,) their probability
    inverse: Floats  # (P,) 1 by that
    value: Floats  # (A, N) at most the value of a there
    drop: Floats  # (A, N) how far below the corners' mean that is
    rest: Floats  # (S,) zero between calls


class Roots(NamedTuple):
    """What may be believed before the first action; R observations can come first."""

    seen: Ints  # (R,) the first observation
    begin: Ints  # (R + 1,) where the states begin that are possible then
    state: Ints
    mass: Floats  # probability of state and observation


class Room(NamedTuple):
    """What a trial counts and aims at, and space to compute in. D levels."""

    backups: Ints  # (1,)
    work: Ints  # (1,) numbers looked at
    changes: Ints  # (1,) of bounds, in this trial
    worth: Floats  # (1,) least change that is kept
    span: Floats  # (1,) between the values of states
    care: Floats  # (1,) share of what is left in doubt that may be given away to be quick
    stack_size: Ints  # (D,)
    stack_state: Ints  # (D, S)
    stack_mass: Floats  # (D, S)
    size: Ints  # (O,) what follows an action: states by observation
    state: Ints  # (O, S)
    mass: Floats  # (O, S) by state
    late: Floats  # (O, A) bound for each next action
    limit: Floats  # (A,)
    q: Floats  # (A,) bounds of the actions in the belief at hand
    known: Bools  # (A,) were they backed up, rather than read off the points?
    total: Floats  # (O,) probability of each observation
    high: Floats  # (O,) bounds of what follows it, from above
    low: Floats  # (O,) and from below
    score: Floats  # (N,) of every plan
    then: Ints  # (O,) columns
    best_then: Ints  # (O,)
    dense: Floats  # (S,) zero between calls


def tables(pomdp: Pomdp, scale: float) -> Dynamics:
    """The model; `scale` is more than any value can be."""
    S, A, O = len(pomdp.states), len(pomdp.actions), len(pomdp.observations)
    go = (pomdp.next_state != END) & (pomdp.probability > 0)
    s, a = np.divmod(pomdp.pair_of_outcome[go], A)
    keys = ((a * S + s) * O + pomdp.next_observation[go]) * S + pomdp.next_state[go]
    kept, which = np.unique(keys, return_inverse=True)
    triple, of_outcome = np.unique(kept // S, return_inverse=True)
    pairs = np.bincount(triple // O, minlength=A * S)
    outcomes = np.bincount(of_outcome, minlength=len(triple))
    most = int(np.bincount(kept // (S * O), minlength=1).max(initial=0))
    # S states are summed three times, O observations and the outcomes of a pair once; what is left
    # of a belief without a point is rounded a few times
    operations = 3 * S + O + most + 2 * len(pomdp.actions) + 16 + 8 * MOST_POINTS
    return Dynamics(
        first=_from_zero(pairs),
        seen=triple % O,
        pointer=_from_zero(outcomes),
        next_state=kept % S,
        probability=sum_by(which, pomdp.probability[go], len(kept)),
        reward=np.ascontiguousarray(pomdp.expected_reward.T),
        observations=O,
        discount=pomdp.discount,
        slack=4 * operations * UNIT * scale,
    )


def roots_of(pomdp: Pomdp) -> Roots:
    joint = (pomdp.start[:, None] * pomdp.first_observation).T
    z, s = np.nonzero(joint)
    seen, sizes = np.unique(z, return_counts=True)
    return Roots(seen, _from_zero(sizes), s.copy(), joint[z, s])  # s is a view with gaps


def no_plans(model: Dynamics) -> Plans:
    A, S = model.reward.shape
    O = model.observations
    weight = np.zeros((A, O, S))
    pair = np.repeat(np.arange(A * S), np.diff(model.first))
    per = np.diff(model.pointer)
    at = np.repeat(pair // S, per), np.repeat(model.seen, per), model.next_state
    np.add.at(weight, at, model.probability)
    return with_zeros(
        Plans,
        ((2,), "size"),
        ((S, FEW + A), "value"),
        ((FEW + A,), "number action"),
        ((O, FEW + A), "then"),
        ((A, O), "usual"),
        usual_worth=np.full((A, O), -np.inf),
        weight=weight,
    )


def no_points(corner: Floats) -> Points:
    A, S = corner.shape
    return with_zeros(
        Points,
        ((2,), "size"),
        ((FEW + 1,), "begin"),
        ((FEW * S,), "state mass inverse"),
        ((A, FEW), "value drop"),
        ((S,), "rest"),
        corner=corner.copy(),
    )


def room_for(model: Dynamics) -> Room:
    A, S = model.reward.shape
    O = model.observations
    return with_zeros(
        Room,
        ((1,), "backups work worth span"),
        ((LEVELS,), "stack_size"),
        ((LEVELS, S), "stack_state stack_mass"),
        ((O,), "size total high low then best_then"),
        ((O, S), "state mass"),
        ((O, A), "late"),
        ((A,), "limit q known"),
        ((FEW + A,), "score"),
        ((S,), "dense"),
        changes=np.array([1]),
        care=np.array([CARE_AT_FIRST]),
    )


Table = TypeVar("Table", bound=NamedTuple)


def with_zeros(kind: type[Table], *shapes: tuple[tuple[int, ...], str], **given: Any) -> Table:
    """A table whose other fields are zero, of the shape they are named with and of their type."""
    types = {name: hint.__args__[1].__args__[0] for name, hint in get_type_hints(kind).items()}
    empty = {n: np.zeros(shape, types[n]) for shape, names in shapes for n in names.split()}
    made: Callable[..., Table] = kind
    return made(**empty, **given)


def with_room(table: Table, used: int, *names: str) -> Table:
    """Twice the room for these fields, along the last axis, where less than a third is left."""
    if 3 * used <= 2 * getattr(table, names[0]).shape[-1]:
        return table
    arrays = {name: getattr(table, name) for name in names}
    return table._replace(
        **{n: np.concatenate([x, np.zeros_like(x)], -1) for n, x in arrays.items()}
    )


def relative_gap(lower: float, upper: float) -> float:
    """Of a bracket; infinite as long as there is none."""
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return math.inf
    scale = max(abs(lower), abs(upper))
    return (upper - lower) / scale if scale > 0 else 0.0


def _from_zero(sizes: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
