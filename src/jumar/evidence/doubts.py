"""Two reasons to doubt logged propensities: they are frequencies, or they follow what was paid.
Both compare histories by *marks*, 64-bit numbers that tell them apart.

*Frequencies.* A router that samples (Thompson) often does not know how likely its choice was, so it
draws K times and logs the share of draws that came out the same. Weights need 1/p, and a share has
E[1/p̂] > 1/p: it makes what was rarely done look better than it was, however long the log is. So
nothing that is computed from such propensities is proved. A log can say so itself
(`propensity_draws=K`; 0 says that they are exact); where it does not, it is looked for.

All propensities are then multiples of one 1/K, up to the digits they are written with. So are those
of many exact designs (one half; .9 and .1; the rows of a policy file that has two decimals), but
there the same history has the same propensity, and draws scatter. So multiples of 1/K, K at most
`MOST_DRAWS`, are taken for frequencies, and so are values that lie on other steps of one length, as
those of a router that also explores, and fractions with a K each,

- where some action, after the same history, has `SCATTERED` different propensities or more;
- where hardly any history comes twice, or those that do mostly disagree: with more than `FEW`
  different propensities in all.

Frequencies of other kinds, such as those mixed with an exploration that changes, are noticed only
by their sum: the mean of 1/p is the mean number of actions that were possible, which cannot be more
than there are.

Whatever is written with four decimals is a multiple of 1/10,000. Rounding biases weights too, and
where it cannot be told from draws the log is not believed until somebody says that it is exact.

*Learning.* If whoever made the log learned while it was made, an episode depends on those before
it, held out or not, and a test on held-out episodes proves nothing, however exact the propensities
are. Where an action was taken again after the same history, with p_t and the mean b_t of what it
had paid there before, both counted from their means there,

    S = Σ_t b_t ln p_t

is large if what has paid more is done more often. It is compared with the same sum after what was
paid was shuffled among the steps of each such cell. So nothing has to be known of how it was
learned; but the log must stand in the order of time. Versions of a policy that take turns for other
reasons are no learner.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from jumar.core.arrays import Array, Floats, Ints, number_rows
from jumar.core.randomness import generator
from jumar.evidence.chance import p_value
from jumar.log.episodes import Episodes

MOST_DRAWS = 10_000  # more are not told from exact numbers; their bias is small
SCATTERED = 4  # propensities of one action after one history: more than two or three policies make
FEW = 8  # propensities in all that a policy may have; K draws give more, unless hardly any are rare
PAIRS = 20  # steps that repeat a history, with which it can be told whether propensities scatter
AGREEING = 1 / 3  # the share of them that agrees where two policies took turns, and more
LOOKED_AT = 64  # values that exclude most K
FEWEST_DIGITS = 3  # that a rounded propensity is taken to have
DIGITS_OF = 10_000  # different propensities that tell how many digits the column writes
MOST_PARTS = 4  # of the least distance between two propensities, of which one is a step
MISSED = 0.05  # of a step, by which a propensity may miss it
MOST_VARIED = 1000  # draws, where their number varies
LAST_DIGIT = 1e-15
LEAST = 1e-140  # smaller propensities count as this
FLOAT32 = 1e-7  # relative: numbers that were once stored with 32 bits
EARLY = 5000  # steps: who learns does it early
SHUFFLES = 199


def draws_of(log: Episodes) -> int | None:
    """The K draws in which propensities are frequencies, as said or as they look; None: exact.

    >>> said = {"start": range(4), "final_observation": [-1] * 3, "terminated": [True] * 3}
    >>> log = Episodes(("z",), ("a", "b"), [0] * 3, [0, 0, 1], [0] * 3, **said,
    ...                propensity=[0.5, 0.25, 0.75], propensity_draws=64)
    >>> draws_of(log)
    64
    """
    if log.propensity is None or log.propensity_draws == 0:
        return None
    return log.propensity_draws or draws_noticed(log)


def draws_noticed(log: Episodes) -> int | None:
    """The K whose frequencies the propensities look like, whatever is said of them."""
    assert log.propensity is not None
    different, value = np.unique(log.propensity, return_inverse=True)
    if len(different) < SCATTERED:
        return None
    # what is cut off at both ends need be no multiple
    inner = different[1:-1] if len(different) > FEW else different
    draws = lattice_of(inner) or steps_of(inner) or fractions_of(inner)
    return draws if draws and _scatter(log, value, len(different)) else None


def lattice_of(values: Floats) -> int | None:
    """The smallest K <= `MOST_DRAWS` of which all values are multiples of 1/K, up to their digits.

    >>> lattice_of(np.array([0.25, 0.5, 0.375])), lattice_of(np.sqrt([0.5, 0.3, 0.2]))
    (8, None)
    """
    # four decimals are multiples of 1/10,000 as they stand; more leave no room for another K
    off = np.minimum(rounding_of(values), 0.5e-5) + FLOAT32 * values
    draws = np.arange(1, MOST_DRAWS + 1)
    some = np.linspace(0, len(values) - 1, min(len(values), LOOKED_AT)).astype(int)
    for chosen in (some, np.arange(len(values))):
        for v, room in zip(values[chosen], off[chosen], strict=True):
            times = v * draws
            draws = draws[np.abs(times - np.round(times)) <= room * draws]
            if not len(draws):
                return None
    return int(draws[0])


def steps_of(values: Floats) -> int | None:
    """About how many steps lie between 0 and 1, if all of the values, in order, lie on steps of one
    length: frequencies that were mixed with uniform exploration, as .97·k/64 + .03/7.

    >>> steps_of(0.97 * np.array([1, 2, 4, 5, 9, 12, 13, 30, 40]) / 64 + 0.03 / 7)
    66
    >>> steps_of(np.sort(np.random.default_rng(1).random(9)))
    """
    if len(values) < FEW:
        return None
    away, off = values[1:] - values[0], 2 * (rounding_of(values) + FLOAT32 * values).max()
    for parts in range(1, MOST_PARTS + 1):
        length = float(np.diff(values).min()) / parts
        if length * MOST_DRAWS < 1:
            return None
        for d in away.tolist():
            times = round(d / length)
            # the length is known the better, the further away a value lies
            if times == 0 or abs(d - times * length) > min(
                MISSED * length, off * (1 + parts * times)
            ):
                break
            length = d / times
        else:
            return round(1 / length)
    return None


def fractions_of(values: Floats) -> int | None:
    """The largest K where all values, to their last digit, are multiples of 1/K with a K at most
    `MOST_VARIED` of their own: of a number that is none, one in ten billion looks like that.

    >>> fractions_of(np.array([1 / 64, 7 / 81, 0.99])), fractions_of(np.sqrt([0.25, 0.1]))
    (100, None)
    """
    largest = 1
    for v in values.tolist():
        near = Fraction(v).limit_denominator(MOST_VARIED)
        if abs(float(near) - v) > LAST_DIGIT:
            return None
        largest = max(largest, near.denominator)
    return largest


def inverses(propensity: Floats) -> Floats:
    """1 over each; of the smallest, a number whose square can still be summed up."""
    found: Floats = 1 / np.maximum(propensity, LEAST)
    return found


def p_of_possible(propensity: Floats, actions: int) -> float:
    """p of more possible actions than there are, right only for many steps. Of what was rounded the
    largest that it can have been counts: three times 0.333 is no fourth action.

    >>> p_of_possible(np.full(9, 0.333), 3), p_of_possible(np.full(9, 0.25), 3)
    (1.0, 0.0)
    """
    from scipy.special import ndtr

    inverse = inverses(propensity + rounding_of(propensity))
    error = float(inverse.std()) / math.sqrt(len(inverse))
    off = float(inverse.mean()) - actions
    if error <= 1e-12 * actions:
        return 1.0 if off <= 1e-9 * actions else 0.0
    return float(ndtr(-off / error))


def _scatter(log: Episodes, value: Ints, different: int) -> bool:
    """Do propensities differ after the same history, as they do when they are drawn? `value` (N,)
    numbers them."""
    cell = number_rows(np.column_stack([marks_of_histories(log), log.action]))[1]
    kinds = number_rows(np.column_stack([cell, value]))[0]
    per_cell = np.bincount(kinds[:, 0])
    if per_cell.max() >= SCATTERED:
        return True
    order = np.lexsort((np.arange(len(cell)), cell))
    again = cell[order[1:]] == cell[order[:-1]]
    agree = (value[order[1:]] == value[order[:-1]])[again]
    told = len(agree) >= PAIRS and agree.mean() >= AGREEING
    return different > FEW and not told


def rounding_of(propensity: Floats) -> Floats:
    """(N,) how far each propensity may lie from the number that was rounded to it: half a unit of
    the last digit that the column writes, in decimals or in significant digits.

    >>> rounding_of(np.array([0.3333, 0.5])).round(8).tolist()
    [5e-05, 5e-05]
    >>> rounding_of(np.array([0.3333, 0.0001234])).round(12).tolist()
    [5e-05, 5e-08]
    """
    different = np.unique(propensity)
    step = max(1, len(different) // DIGITS_OF)
    written = [Decimal(repr(p)).normalize().as_tuple() for p in different[::step].tolist()]
    decimals = max(FEWEST_DIGITS, *(-int(w.exponent) for w in written))
    digits = max(FEWEST_DIGITS, *(len(w.digits) for w in written))
    leading = np.floor(np.log10(propensity)) + 1  # 0.3 has its first digit at 10⁻¹
    half: Floats = 0.5 * np.maximum(10.0**-decimals, 10.0 ** (leading - digits))
    return half


def p_of_learning(log: Episodes) -> float:
    """p of propensities that follow what was paid before as closely."""
    assert log.propensity is not None
    n = min(log.n_steps, EARLY)
    cell = number_rows(np.column_stack([marks_of_histories(log), log.action])[:n])[1]
    value = np.unique(log.propensity[:n], return_inverse=True)[1]
    if len(number_rows(np.column_stack([cell, value]))[0]) == cell.max() + 1:  # a fixed policy
        return 1.0
    order = np.argsort(cell, kind="stable")
    cell, paid = cell[order], log.reward[:n][order]
    first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    size = np.diff(np.append(first, n))
    group = np.repeat(np.arange(len(first)), size)
    turn = np.arange(n) - first[group]

    def centred(x: Floats) -> Floats:
        found: Floats = x - (np.add.reduceat(x, first) / size)[group]
        return found

    done, again = centred(np.log(log.propensity[:n][order])), turn > 0

    def statistic(paid: Floats) -> float:
        gone = np.cumsum(paid) - paid
        before = (gone - gone[first][group]) / np.maximum(turn, 1)
        return float((done * before)[again].sum())

    paid = centred(paid)  # so that what is paid before is counted from the mean, too
    rng = generator(1, "learners")
    shuffled = [paid[np.lexsort((rng.random(n), group))] for _ in range(SHUFFLES)]
    return p_value(statistic(paid), np.array([statistic(some) for some in shuffled]))


# ---- marks --------------------------------------------------------------------------------------


def marks_of_steps(log: Episodes) -> Array:
    """(N,) uint64, one for what was seen, done and paid at a step, and at which."""
    turn = np.arange(log.n_steps) - np.repeat(log.start[:-1], log.lengths)
    code = log.observation * len(log.actions) + log.action
    mixed = mix(code.astype(np.uint64) + mix(turn.astype(np.uint64)))
    return mix(mixed ^ (log.reward + 0.0).view(np.uint64))  # -0.0 is 0.0


def marks_of_histories(log: Episodes) -> Ints:
    """(N,) a non-negative number for what is known when a step is taken: all before it in the
    episode, what is seen now, and whom the log names as acting.

    >>> log = Episodes(("y", "z"), ("a",), [0, 1, 0, 1, 0, 0], [0] * 6, [0] * 6, [0, 2, 4, 6],
    ...                [-1] * 3, [True] * 3)
    >>> first, seen_z, same, again, *_, seen_y = marks_of_histories(log).tolist()
    >>> first == same, seen_z == again, seen_z == seen_y
    (True, True, False)
    """
    steps = marks_of_steps(log)
    before = np.cumsum(steps) - steps  # it may wrap around
    before -= np.repeat(before[log.start[:-1]], log.lengths)
    who = np.zeros(len(log), np.int64) if log.behavior is None else log.behavior.code
    now = np.repeat(who.astype(np.uint64), log.lengths) * np.uint64(len(log.observations))
    mark = mix(before ^ mix(now + log.observation.astype(np.uint64)))
    return (mark >> np.uint64(1)).astype(np.int64)


def mix(x: Array) -> Array:
    """Scramble 64 bits (splitmix64); what wraps around is meant to."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
