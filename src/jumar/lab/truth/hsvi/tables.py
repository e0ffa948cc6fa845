"""The model and both bounds as arrays, for compiled loops; how they are made, and how they grow."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

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
    """What is still to come, at most, for one who is told states late. See `informed`."""

    once: Floats  # (A, S) for s and a, if s is told after a
    twice: Floats  # (J, A) for (a, s, z) and the action after it, if s is told after that


class Plans(NamedTuple):
    """Room for N plans that are compared, and M that are remembered."""

    size: Ints  # (2,) how many are compared, remembered
    value: Floats  # (S, N) one column for each
    number: Ints  # (N,) of the plan, among those that are remembered
    action: Ints  # (M,) what it does first
    then: Ints  # (M, O) the plan it goes on with
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
    mask: Ints  # (N,) bit s mod 64 of each of its states
    key: Ints  # (N,) the entry that ruled it out last
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
    return Plans(
        size=np.zeros(2, np.int64),
        value=np.zeros((S, FEW + A)),
        number=np.zeros(FEW + A, np.int64),
        action=np.zeros(FEW + A, np.int64),
        then=np.zeros((FEW + A, O), np.int64),
        usual=np.zeros((A, O), np.int64),
        usual_worth=np.full((A, O), -np.inf),
        weight=weight,
    )


def no_points(corner: Floats) -> Points:
    A, S = corner.shape
    return Points(
        size=np.zeros(2, np.int64),
        corner=corner.copy(),
        begin=np.zeros(FEW + 1, np.int64),
        state=np.zeros(FEW * S, np.int64),
        mass=np.zeros(FEW * S),
        inverse=np.zeros(FEW * S),
        value=np.zeros((A, FEW)),
        drop=np.zeros((A, FEW)),
        mask=np.zeros(FEW, np.int64),
        key=np.zeros(FEW, np.int64),
        rest=np.zeros(S),
    )


def room_for(model: Dynamics) -> Room:
    A, S = model.reward.shape
    O = model.observations
    return Room(
        backups=np.array([0]),
        work=np.array([0]),
        changes=np.array([1]),
        worth=np.zeros(1),
        span=np.zeros(1),
        care=np.array([CARE_AT_FIRST]),
        stack_size=np.zeros(LEVELS, np.int64),
        stack_state=np.zeros((LEVELS, S), np.int64),
        stack_mass=np.zeros((LEVELS, S)),
        size=np.zeros(O, np.int64),
        state=np.zeros((O, S), np.int64),
        mass=np.zeros((O, S)),
        late=np.zeros((O, A)),
        limit=np.zeros(A),
        q=np.zeros(A),
        known=np.zeros(A, np.bool_),
        total=np.zeros(O),
        high=np.zeros(O),
        low=np.zeros(O),
        score=np.zeros(FEW + A),
        then=np.zeros(O, np.int64),
        best_then=np.zeros(O, np.int64),
        dense=np.zeros(S),
    )


def more_plans(plans: Plans, room: Room) -> tuple[Plans, Room]:
    """Twice the room where less than a third is left."""
    if _crowded(plans.size[0], len(plans.number)):
        plans = plans._replace(value=_doubled(plans.value), number=_doubled(plans.number))
        room = room._replace(score=np.zeros(len(plans.number)))
    if _crowded(plans.size[1], len(plans.action)):
        then = np.vstack([plans.then, np.zeros_like(plans.then)])
        plans = plans._replace(action=_doubled(plans.action), then=then)
    return plans, room


def more_points(points: Points) -> Points:
    """Twice the room where less than a third is left."""
    if _crowded(points.size[0], len(points.mask)):
        points = _with_room(points, "begin", "value", "drop", "mask", "key")
    if _crowded(points.size[1] + points.corner.shape[1], len(points.state)):
        points = _with_room(points, "state", "mass", "inverse")
    return points


def _with_room(points: Points, *names: str) -> Points:
    return points._replace(**{name: _doubled(getattr(points, name)) for name in names})


def _crowded(used: int, room: int) -> bool:
    return 3 * used > 2 * room


def _doubled(array: Any) -> Any:
    """Along the last axis."""
    return np.concatenate([array, np.zeros_like(array)], axis=-1)


def relative_gap(lower: float, upper: float) -> float:
    """Of a bracket; infinite as long as there is none."""
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return math.inf
    scale = max(abs(lower), abs(upper))
    return (upper - lower) / scale if scale > 0 else 0.0


def _from_zero(sizes: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
