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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumar.core.arrays import Floats, Ints
from jumar.core.exact import BITS, FRACTION, LOWEST, MASK
from jumar.core.jit import compiled, inlined
from jumar.large.numbering import number_of

Codes = NDArray[np.int32]
Bytes = NDArray[np.uint8]

# carry
NODE, PAIR, PAID, MARKED, EPISODE, CLOCK, LENGTH, CLOSED, BEGUN, PART, NTH = range(11)
CARRIED = 11
NONE = -1  # no pair waits for its outcome

# facts of the log, whole numbers and amounts
EPISODES, STEPS, UNFINISHED, ENDED, SHORT_ENDED, LONG_ENDED, SHORT_CUT, LONG_CUT = range(8)
FACTS = 8
LEAST, MOST, LEAST_END, MOST_END, LAST_PAID = range(5)
AMOUNTS = 5

# symbols that are no symbol
MISSING, STRANGE = -1, -2

# what the end of an episode means
AS_MARKED, ALL_END, ALL_CUT = range(3)

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


@compiled
def finish(
    carry: Ints,
    reward: float,
    mode: int,
    ends: Ints,
    limbs: Ints,
    L: int,
    low: int,
    facts: Ints,
    amounts: Floats,
) -> None:
    """The last episode is over: settle its last step."""
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
def count_dense(
    begin: int,
    z_code: Codes,  # (n,)
    z_of: Codes,  # the observation behind every code
    a_code: Codes,  # (n,)
    a_of: Codes,
    reward: Floats,  # (n,)
    bits: Ints,  # (n,) the same rewards, as bits
    episode: Ints,  # (n,) changes where an episode begins
    clock: Ints,  # (n,) rises within an episode; empty: there is none
    marks: Bytes,  # bitmap: the process ended with this row; empty: there is none
    offset: int,  # where it begins, in bits
    mode: int,  # what the end of an episode means
    parts: Ints,  # where counting goes for each episode that begins here; empty: to 0
    began: Ints,  # (n,) is filled with the rows in which episodes begin
    table: Ints,  # (M·O·A,) where each node goes, times O·A
    first: int,  # the first node, times O·A
    A: int,
    O: int,
    moves: Ints,  # (…·M·O·A·O,)
    ends: Ints,  # (…·M·O·A,)
    starts: Ints,  # (…·M·O,)
    limbs: Ints,  # (…·M·O·A·L,) sums of rewards
    L: int,
    low: int,
    carry: Ints,
    facts: Ints,
    amounts: Floats,
) -> tuple[int, int]:
    """Count rows into tables. Returns where it stopped and why."""
    n, size, why = len(z_code), len(table), DONE
    node, pair, length = carry[NODE], carry[PAIR], carry[LENGTH]
    marked, last, then, closed = carry[MARKED], carry[EPISODE], carry[CLOCK], carry[CLOSED]
    begun, paid = carry[BEGUN], carry[PAID]
    before = amounts[LAST_PAID]  # what the last step paid
    part, nth = carry[PART], carry[NTH]
    timed, flagged = len(clock) > 0, len(marks) > 0
    least, most = amounts[LEAST], amounts[MOST]
    top = np.uint64((L - 2) * BITS)
    steps, first_start = 0, first // A
    ended, shortest, longest = 0, n + carry[LENGTH] + 1, 0
    least_end, most_end = np.inf, -np.inf
    t = begin
    while t < n:
        z, a = np.int64(z_of[np.uint32(z_code[t])]), np.int64(a_of[np.uint32(a_code[t])])
        if z < 0:
            why = WRONG
            break
        b = bits[t]
        where = ((b >> 52) & 0x7FF) - 1 + LOWEST - low
        if np.uint64(where) >= top and (b << 1) != 0 and a >= 0:
            why = ROOM
            break
        if begun == 0 or episode[t] != last:
            if a < 0:
                why = WRONG
                break
            if begun and marked and mode == AS_MARKED:  # it ended: what `finish` does, at hand
                ends[np.uint64(pair)] += 1
                ended += 1
                least_end, most_end = min(least_end, before), max(most_end, before)
                shortest, longest = min(shortest, length), max(longest, length)
            elif begun:
                carry[PAIR], carry[LENGTH], carry[MARKED], carry[PAID] = pair, length, marked, paid
                carry[BEGUN] = 1
                amounts[LEAST], amounts[MOST] = least, most
                finish(carry, before, mode, ends, limbs, L, low, facts, amounts)
                least, most = amounts[LEAST], amounts[MOST]
            begun, last, length, closed = 1, episode[t], 0, 0
            if len(parts):
                part = parts[nth] * size
            began[np.uint64(nth)] = t
            nth += 1
            node = first
            starts[np.uint64(part // A + first_start + z)] += 1
        else:
            if marked or closed or a == STRANGE:  # it goes on after its end, or does what it cannot
                why = WRONG
                break
            if timed and clock[t] <= then:
                why = UNORDERED
                break
            moves[np.uint64(pair * O + z)] += 1
            if before < least:
                least = before
            if before > most:
                most = before
        if timed:
            then = clock[t]
        if a < 0:  # only what was seen in the end
            if _pays(reward[t]) or (flagged and _marked(marks, t + offset)):
                why = WRONG
                break
            pair, closed, marked = NONE, 1, 0
            t += 1
            continue
        pair = part + node + z * A + a
        if flagged:
            marked = _marked(marks, t + offset)
        if (b << 1) != 0:
            _add_reward(limbs, pair * L, where, b, 0)
        paid, before = b, reward[t]
        node = table[np.uint64(pair - part)]
        length += 1
        steps += 1
        t += 1
        # Most rows just go on with their episode. They have a loop of their own, which a processor
        # runs faster; any other row goes through the checks above.
        usual = t
        while t < n:
            u = np.uint64(t)
            z, a = np.int64(z_of[np.uint32(z_code[u])]), np.int64(a_of[np.uint32(a_code[u])])
            b = bits[u]
            where = ((b >> 52) & 0x7FF) - 1 + LOWEST - low
            if episode[u] != last or marked or (z | a) < 0:
                break
            if np.uint64(where) >= top and (b << 1) != 0:
                break
            if timed:
                if clock[u] <= then:
                    break
                then = clock[u]
            moves[np.uint64(pair * O + z)] += 1
            if before < least:
                least = before
            if before > most:
                most = before
            local = node + z * A + a
            pair = part + local
            if flagged:
                marked = _marked(marks, t + offset)
            if (b << 1) != 0:
                _add_reward(limbs, pair * L, where, b, 0)
            paid, before = b, reward[u]
            node = table[np.uint64(local)]
            t += 1
        length += t - usual
        steps += t - usual
    carry[NODE], carry[PAIR], carry[LENGTH], carry[PAID] = node, pair, length, paid
    carry[MARKED], carry[EPISODE], carry[CLOCK], carry[CLOSED] = marked, last, then, closed
    carry[BEGUN], carry[PART], carry[NTH] = begun, part, nth
    amounts[LAST_PAID], amounts[LEAST], amounts[MOST] = before, least, most
    facts[STEPS] += steps
    if ended:
        facts[EPISODES] += ended
        facts[ENDED] += ended
        _noted(amounts, LEAST_END, least_end)
        _noted(amounts, LEAST_END, most_end)
        _over(shortest, SHORT_ENDED, facts)
        _over(longest, SHORT_ENDED, facts)
    return t, why


@compiled
def count_sparse(
    begin: int,
    state: Ints,  # (n,) the number of the history state of every row
    z: Codes,  # (n,) observations
    a: Codes,  # (n,) actions, MISSING or STRANGE
    reward: Floats,
    bits: Ints,
    episode: Ints,
    clock: Ints,
    marks: Bytes,
    offset: int,
    mode: int,
    began: Ints,
    A: int,
    O: int,
    pair_key: Ints,  # state·A + action
    pair_slot: Codes,
    move_key: Ints,  # pair·O + observation
    move_slot: Codes,
    times: Ints,  # per move
    ends: Ints,  # per pair
    starts: Ints,  # per state
    limbs: Ints,  # per pair, L each
    L: int,
    low: int,
    sizes: Ints,  # how many pairs and moves there are
    carry: Ints,
    facts: Ints,
    amounts: Floats,
) -> tuple[int, int]:
    """Count rows whose history states are numbered, pairs and moves into hash tables. As
    `count_dense` does; there is room for as many new ones as there are rows."""
    n, why = len(state), DONE
    timed, flagged = len(clock) > 0, len(marks) > 0
    top = np.uint64((L - 2) * BITS)
    t = begin
    while t < n:
        b = bits[t]
        where = ((b >> 52) & 0x7FF) - 1 + LOWEST - low
        if z[t] < 0:
            why = WRONG
            break
        if np.uint64(where) >= top and (b << 1) != 0 and a[t] >= 0:
            why = ROOM
            break
        if carry[BEGUN] == 0 or episode[t] != carry[EPISODE]:
            if a[t] < 0:
                why = WRONG
                break
            finish(carry, amounts[LAST_PAID], mode, ends, limbs, L, low, facts, amounts)
            carry[BEGUN], carry[EPISODE], carry[LENGTH], carry[CLOSED] = 1, episode[t], 0, 0
            starts[state[t]] += 1
            began[carry[NTH]] = t
            carry[NTH] += 1
        else:
            if carry[MARKED] or carry[CLOSED] or a[t] == STRANGE:
                why = WRONG
                break
            if timed and clock[t] <= carry[CLOCK]:
                why = UNORDERED
                break
            times[number_of(carry[PAIR] * O + z[t], move_key, move_slot, sizes, 1)] += 1
            _noted(amounts, LEAST, amounts[LAST_PAID])
        if timed:
            carry[CLOCK] = clock[t]
        if a[t] < 0:
            if _pays(reward[t]) or (flagged and _marked(marks, t + offset)):
                why = WRONG
                break
            carry[PAIR], carry[CLOSED], carry[MARKED] = NONE, 1, 0
            t += 1
            continue
        pair = number_of(state[t] * A + a[t], pair_key, pair_slot, sizes, 0)
        carry[PAIR] = pair
        if flagged:
            carry[MARKED] = _marked(marks, t + offset)
        if (b << 1) != 0:
            _add_reward(limbs, pair * L, where, b, 0)
        carry[PAID], amounts[LAST_PAID] = b, reward[t]
        carry[LENGTH] += 1
        facts[STEPS] += 1
        t += 1
    return t, why
