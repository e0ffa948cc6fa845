"""Compiled loops over rows of a log: no objects, no checks but of the rows themselves.

A loop reads rows in order and keeps in `carry` all that it must know of the rows before: the node,
the pair of the last step, what it paid. So a log may be handed over in pieces, cut anywhere. It
stops before a row that it cannot count, and says why; whoever called it makes room and goes on, or
tells a person.

What follows a step is known when the next row is read, so each row settles the one before it:

    the next row is of the same episode     its observation followed
    a row without an action                 its observation followed, and there the record was cut
    the next row is of another episode      the process ended, or the record was cut (`ends`)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.exact import BITS, FRACTION, LOWEST, MASK
from jumar.core.jit import compiled, inlined
from jumar.log.shards.rows import ALL_END, AS_MARKED, STRANGE, Bytes, Codes
from jumar.tally.numbering import number_of

# carry
PAIR, PAID, MARKED, CLOCK, LENGTH, CLOSED, BEGUN, NODE, PART = range(9)
CARRIED = 9
NONE = -1  # no pair waits for its outcome

# facts of the log, whole numbers and amounts
EPISODES, STEPS, UNFINISHED, ENDED, SHORT_ENDED, LONG_ENDED, SHORT_CUT, LONG_CUT = range(8)
FACTS = 8
LEAST, MOST, LEAST_END, MOST_END, LAST_PAID = range(5)
AMOUNTS = 5

# why a loop stopped: all is counted, sums need room for this reward, or the row is wrong
DONE, ROOM, WRONG, UNORDERED = range(4)


@inlined
def _noted(amounts: Floats, least: int, reward: float) -> None:
    """A reward, among those of its kind."""
    if reward < amounts[least]:
        amounts[least] = reward
    if reward > amounts[least + 1]:
        amounts[least + 1] = reward


@inlined
def _add_reward(limbs: Ints, at: int, where: int, bits: int, sign: int) -> None:
    """Add a reward to (or, with sign -1, take it from) the sum whose limbs begin at `at`."""
    m = (bits & FRACTION) | (1 << 52)
    shift = where & (BITS - 1)
    lower, upper = (m & MASK) << shift, (m >> BITS) << shift
    s = (bits >> 63) ^ sign  # all ones for a negative number
    k = np.uint64(at + (where >> 5))
    limbs[k] += ((lower & MASK) ^ s) - s
    limbs[k + np.uint64(1)] += (((lower >> BITS) + (upper & MASK)) ^ s) - s
    limbs[k + np.uint64(2)] += ((upper >> BITS) ^ s) - s


@inlined
def _marked(marks: Bytes, bit: int) -> Any:
    return np.int64((marks[np.uint64(bit >> 3)] >> (bit & 7)) & 1)


@inlined
def _pays(reward: float) -> bool:
    return reward == reward and reward != 0.0


@inlined
def _over(length: int, shortest: int, facts: Ints) -> None:
    """An episode is over: how long it was, among those that ended or were cut."""
    if facts[shortest] == 0 or length < facts[shortest]:
        facts[shortest] = length
    if length > facts[shortest + 1]:
        facts[shortest + 1] = length


class Rows(NamedTuple):
    """Some rows of a log, in columns."""

    z: Codes  # (n,)
    z_of: Codes  # the observation behind every code
    a: Codes  # (n,)
    a_of: Codes  # the action behind every code, MISSING or STRANGE
    begins: Bools  # (n,) does an episode begin here?
    reward: Floats  # (n,)
    bits: Ints  # (n,) the same rewards, as bits
    clock: Ints  # (n,) rises within an episode; empty: there is none
    marks: Bytes  # bitmap: the process ended with this row; empty: there is none
    offset: int  # where it begins, in bits


class Places(NamedTuple):
    """Where things are counted: either all history states, pairs and moves have a place, or the
    table is empty, and they are numbered as they come up."""

    parts: Ints  # where counting goes for each episode that begins here; empty: to 0
    table: Ints  # (M·O·A,) where each node goes, times O·A
    first: int  # the first node, times O·A
    state: Ints  # (n,) the number of the history state of every row
    pair_key: Ints  # state·A + action
    pair_slot: Codes
    move_key: Ints  # pair·O + observation
    move_slot: Codes
    sizes: Ints  # how many pairs and moves there are; there is room for one more of each per row


class Sums(NamedTuple):
    """What was counted so far."""

    times: Ints  # per move
    ends: Ints  # per pair
    starts: Ints  # per state
    limbs: Ints  # per pair, L each: sums of rewards
    L: int
    low: int


class Told(NamedTuple):
    """What is known of the rows before, and of the log."""

    carry: Ints
    facts: Ints
    amounts: Floats


@compiled
def finish(told: Told, reward: float, mode: int, sums: Sums) -> None:
    """The last episode is over: settle its last step."""
    carry, facts, amounts = told
    _times, ends, _starts, limbs, L, low = sums
    pair, length = carry[PAIR], carry[LENGTH]
    if carry[BEGUN] == 0:
        return
    carry[BEGUN] = 0
    facts[EPISODES] += 1
    if pair >= 0 and (mode == ALL_END or (mode == AS_MARKED and carry[MARKED] != 0)):
        ends[pair] += 1
        facts[ENDED] += 1
        _noted(amounts, LEAST_END, reward)
        _over(length, SHORT_ENDED, facts)
    else:
        if pair >= 0:  # nobody knows what followed: the step does not count
            facts[UNFINISHED] += 1
            _noted(amounts, LEAST, reward)
            bits = carry[PAID]
            if (bits << 1) != 0:
                where = ((bits >> 52) & 0x7FF) - 1 + LOWEST - low
                _add_reward(limbs, pair * L, where, bits, -1)
        _over(length, SHORT_CUT, facts)
    carry[PAIR] = NONE


@compiled
def count(
    begin: int, rows: Rows, places: Places, sums: Sums, told: Told, mode: int, A: int, O: int
) -> tuple[int, int]:
    """Count rows; `mode` says what the end of an episode means. Returns where it stopped and
    why."""
    z_code, z_of, a_code, a_of, begins, reward, bits, clock, marks, offset = rows
    parts, table, first, state, pair_key, pair_slot, move_key, move_slot, sizes = places
    times, _ends, starts, limbs, L, low = sums
    carry, facts, amounts = told
    n, size, why = len(z_code), len(table), DONE
    timed, flagged, direct = len(clock) > 0, len(marks) > 0, size > 0
    top = np.uint64((L - 2) * BITS)
    node, part, nth = carry[NODE], carry[PART], 0
    pair, paid, marked, then = carry[PAIR], carry[PAID], carry[MARKED], carry[CLOCK]
    length, closed = carry[LENGTH], carry[CLOSED]
    before, least, most = amounts[LAST_PAID], amounts[LEAST], amounts[MOST]
    steps, t = 0, begin
    for i in range(begin if len(parts) else 0):  # counted already
        nth += begins[i]
    while t < n:
        u = np.uint64(t)
        z, a = np.int64(z_of[np.uint32(z_code[u])]), np.int64(a_of[np.uint32(a_code[u])])
        b = bits[u]
        where = ((b >> 52) & 0x7FF) - 1 + LOWEST - low
        if z < 0:
            why = WRONG
            break
        if np.uint64(where) >= top and (b << 1) != 0 and a >= 0:
            why = ROOM
            break
        if begins[u]:
            if a < 0:
                why = WRONG
                break
            carry[PAIR], carry[PAID], carry[MARKED], carry[LENGTH] = pair, paid, marked, length
            amounts[LEAST], amounts[MOST] = least, most
            finish(told, before, mode, sums)
            least, most = amounts[LEAST], amounts[MOST]
            carry[BEGUN], length, closed = 1, 0, 0
            if len(parts):
                part = parts[nth] * size
                nth += 1
            node = first
            starts[np.uint64((part + first) // A + z if direct else state[u])] += 1
        else:
            if marked or closed or a == STRANGE:  # it goes on after its end, or does what it cannot
                why = WRONG
                break
            if timed and clock[u] <= then:
                why = UNORDERED
                break
            move = pair * O + z
            if not direct:
                move = number_of(move, move_key, move_slot, sizes, 1)
            times[np.uint64(move)] += 1
            least, most = min(least, before), max(most, before)
        if timed:
            then = clock[u]
        if a < 0:  # only what was seen in the end
            if _pays(reward[u]) or (flagged and _marked(marks, t + offset)):
                why = WRONG
                break
            pair, closed, marked = NONE, 1, 0
            t += 1
            continue
        if direct:
            pair = part + node + z * A + a
            node = table[np.uint64(pair - part)]
        else:
            pair = number_of(state[u] * A + a, pair_key, pair_slot, sizes, 0)
        if flagged:
            marked = _marked(marks, t + offset)
        if (b << 1) != 0:
            _add_reward(limbs, pair * L, where, b, 0)
        paid, before = b, reward[u]
        length += 1
        steps += 1
        t += 1
    carry[NODE], carry[PART] = node, part
    carry[PAIR], carry[PAID], carry[MARKED], carry[CLOCK] = pair, paid, marked, then
    carry[LENGTH], carry[CLOSED] = length, closed
    amounts[LAST_PAID], amounts[LEAST], amounts[MOST] = before, least, most
    facts[STEPS] += steps
    return t, why
