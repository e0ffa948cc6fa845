"""From what a `.POMDP` file says to a `Pomdp`.

Rows must sum to 1. pomdp-solve accepts 1e-5 of error, and so do we: such rows are divided by their
sum. Up to 1e-4 the same is done with a warning, and beyond only on request (`normalize`).
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.errors import ModelError, ModelWarning, ParameterError, TooLarge, not_one_of
from jumar.core.resources import check_room
from jumar.core.text import counted, printable, visible
from jumar.lab.truth.cassandra.given import Laws
from jumar.lab.truth.cassandra.parsing import INTEGER, Mistake, Parsed
from jumar.lab.truth.chain import entries_of
from jumar.lab.truth.pomdp import Factors, Pomdp

AS_GIVEN = 1e-10  # of a sum: below, numbers are left as they stand
SILENT, TOLERATED = 1e-5, 1e-4  # what pomdp-solve accepts, and what is put right with a warning
NULL = "null"
AFTER = "after:"
NEGLIGIBLE = 0.001  # a simulation is cut off where the discount has come down to this
_OUTCOME_BYTES = 150  # of an outcome while a model is made
_PIECE, _PIECES = 1_000_000, 300  # bytes of a file that are read at once, and how often at most


def read_pomdp(path: str | os.PathLike[str], **options: Any) -> Pomdp:
    """A model from a `.POMDP` file; `load_model` tells what the options mean."""
    source = str(os.fspath(path))
    try:
        with open(source, "rb") as file:  # a device has no size, and may have no end
            data = b"".join(islice(iter(partial(file.read, _PIECE), b""), _PIECES + 1))
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise ModelError(f"{visible(source)}: cannot be read ({said}). Check the path.") from error
    if b"\0" in data or len(data) > _PIECE * _PIECES:
        raise ModelError(f"{source}: this is not a text file below 300 MB. Expected a .POMDP file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:  # old files have accents in their comments
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return pomdp_from_text(text, source, name=Path(source).stem, **options)


def pomdp_from_text(
    text: str,
    source: str = "model",
    *,
    name: str | None = None,
    first_observation: str | None = None,
    start: str | None = None,
    discount: float | None = None,
    max_steps: int | None = None,
    normalize: bool = False,
) -> Pomdp:
    """A model from the text of a `.POMDP` file.

    >>> coin = pomdp_from_text('''
    ... discount: 0.9  values: reward
    ... states: heads tails   actions: toss   observations: h t
    ... T: toss uniform
    ... O: toss : heads : h 1  O: toss : tails : t 1
    ... R: toss : * : heads : * 1
    ... ''')
    >>> coin.observations, coin.expected_reward.ravel().tolist()
    (('h', 't', 'null'), [0.5, 0.5])
    """
    parsed = Parsed(text)
    try:
        parsed.run(needs_discount=discount is None)
        T, O = (_law(word, parsed, source, normalize) for word in "TO")
        law = _start(parsed, source, start, normalize)
    except Mistake as mistake:
        place = parsed.place(mistake.token)
        raise ModelError(f"{source}, {place}: {mistake.said}") from None
    except TooLarge as error:
        raise TooLarge(f"{source}: {error}") from None
    S, A, seen = parsed.S, parsed.A, parsed.names["observation"]
    γ = parsed.discount if discount is None else float(discount)
    assert γ is not None
    observations, first = _first(first_observation, parsed, O)
    model = name if name is not None else source
    size = int(np.diff(O.pointer)[(T.row_of_entry // S) * S + T.column].sum())
    what = f"{model}: {size:,} outcomes of {S:,} states and {A:,} actions"
    check_room(what, size * _OUTCOME_BYTES, "Use a smaller model.")
    pair, to, seen_then, p = outcomes(T, O, S, A)
    paid = parsed.rewards.of(pair % A, pair // A, to, seen_then)
    return Pomdp(
        name=model,
        states=parsed.names["state"],
        actions=parsed.names["action"],
        observations=observations,
        start=law,
        first_observation=first,
        pointer=np.searchsorted(pair, np.arange(S * A + 1)),
        probability=p,
        next_state=to,
        next_observation=seen_then,
        reward=0.0 - paid if parsed.cost else paid + 0.0,
        discount=γ,
        max_steps=max_steps if max_steps is not None else steps_that_count(γ),
        factors=Factors(T, O, len(seen), parsed.cost),
    )


def steps_that_count(discount: float) -> int | None:
    """The first number of steps with discount^steps < 0.001; with discount 1 there is none.

    >>> steps_that_count(0.95), steps_that_count(0.0), steps_that_count(1.0)
    (135, 1, None)
    """
    if not discount < 1:  # nor if it is no number: the model refuses that
        return None
    if discount < NEGLIGIBLE:
        return 1
    steps = math.ceil(math.log(NEGLIGIBLE) / math.log(discount))
    return min(steps + (discount**steps >= NEGLIGIBLE), 10_000)


# ---- checks -------------------------------------------------------------------------------


def _warn(message: str) -> None:
    warnings.warn(message, ModelWarning, stacklevel=2)


def _law(word: str, parsed: Parsed, source: str, normalize: bool) -> Laws:
    """The rows of T or O; what does not sum to 1 is put right, or a mistake."""
    S, rows = parsed.S, parsed.rows.get(word)
    if rows is None:  # the state is seen
        n = parsed.A * S
        return Laws(np.arange(n + 1), np.tile(np.arange(S), parsed.A), np.ones(n))
    laws = rows.laws()
    sums = sum_by(laws.row_of_entry, laws.value, len(laws))
    off = np.abs(sums - 1)
    most = math.inf if normalize else TOLERATED
    for r in np.flatnonzero((off > most) | (sums == 0)).tolist():
        action, state = parsed.names["action"][r // S], parsed.names["state"][r % S]
        which = f"{word} of action '{printable(action)}' and state '{printable(state)}'"
        if rows.last[r] >= 0:
            raise Mistake(rows.last[r], f"{which} {_not_one(sums[r], normalize)}")
        expected = f"Expected '{word}: {action} : {state}' with probabilities that sum to 1."
        raise Mistake(parsed.end, f"{which} was never given. {expected}")
    if (worst := float(off.max())) > SILENT:
        _warn(
            f"{source}, {parsed.place(rows.last[int(off.argmax())])}: "
            f"{counted(int((off > SILENT).sum()), 'row')} of {word} do not sum to 1 (off by "
            f"{worst:.2g} at most, here) and were divided by their sum."
        )
    divisor = np.where(off > AS_GIVEN, sums, 1.0)[laws.row_of_entry]
    return replace(laws, value=laws.value / divisor)


def _not_one(total: float, normalize: bool) -> str:
    remedy = "" if total == 0 or normalize else " (normalize divides by the sum)"
    return f"sums to {total:.10g}. Expected 1{remedy}."


def _start(parsed: Parsed, source: str, asked: str | None, normalize: bool) -> Floats:
    """(S,) the law of the first state."""
    S, law, token = parsed.S, parsed.start, parsed.start_token
    if asked == "uniform":
        return np.full(S, 1 / S)
    if asked is not None:
        one: Floats = np.eye(1, S, _number("state", asked, parsed.names["state"], "start"))[0]
        return one
    total = float(law.sum())
    off = abs(total - 1)
    if total == 0 or (off > TOLERATED and not normalize):
        raise Mistake(token, f"'start:' {_not_one(total, normalize)}")
    if off > SILENT:
        place = parsed.place(token)
        _warn(f"{source}, {place}: 'start:' sums to {total:.10g} and was divided by its sum.")
    return law if off <= AS_GIVEN else law / total


def _number(kind: str, asked: str, names: tuple[str, ...], option: str) -> int:
    if asked in names:
        return names.index(asked)
    if INTEGER.fullmatch(asked) and int(asked) < len(names):
        return int(asked)
    raise ParameterError(f"{option}: {not_one_of(kind, asked, names)}")


def _first(asked: str | None, parsed: Parsed, O: Laws) -> tuple[tuple[str, ...], Floats]:
    """The names of all observations, and (S, O) the law of the first one."""
    S, seen = parsed.S, parsed.names["observation"]
    if asked is None and parsed.sees_states:
        return seen, np.eye(S)
    if asked in (None, NULL):
        law = np.zeros((S, len(seen) + 1))
        law[:, -1] = 1.0
        return (*seen, new_name(NULL, seen)), law
    assert asked is not None
    if asked.startswith(AFTER):
        a = _number("action", asked[len(AFTER) :], parsed.names["action"], "first_observation")
        return seen, np.array([O.row(a * S + s, len(seen)) for s in range(S)])
    try:
        z = _number("observation", asked, seen, "first_observation")
    except ParameterError as error:
        raise ParameterError(
            f"{error} Give 'null', an observation, or 'after:' and an action."
        ) from error
    return seen, np.tile(np.eye(1, len(seen), z), (S, 1))


def new_name(wanted: str, taken: tuple[str, ...]) -> str:
    """A name that is not taken.

    >>> new_name("null", ("ok", "noise")), new_name("null", ("ok", "null"))
    ('null', 'null-1')
    """
    names = (wanted, *(f"{wanted}-{i}" for i in range(1, len(taken) + 1)))
    return next(name for name in names if name not in taken)


# ---- outcomes -----------------------------------------------------------------------------


def outcomes(T: Laws, O: Laws, S: int, A: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Every (s, a, s', z) with positive probability, in the order of a `Pomdp`: s*A + a,
    s', z, p."""
    pairs = np.arange(S * A)
    s, a = np.divmod(pairs, A)
    pair, entry = entries_of(T.pointer, a * S + s)
    to = T.column[entry]
    step, seen = entries_of(O.pointer, (pair % A) * S + to)
    return pair[step], to[step], O.column[seen], T.value[entry][step] * O.value[seen]
