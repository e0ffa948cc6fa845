"""From what a `.POMDP` file says to a `Pomdp`.

Rows must sum to 1. pomdp-solve accepts 1e-5 of error, and so do we: such rows are divided by their
sum. Up to 1e-4 the same is done with a warning, and beyond only on request (`normalize`).
"""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import ModelError, ModelWarning, ParameterError, not_one_of
from jumar.core.resources import check_room
from jumar.core.text import counted, printable, visible
from jumar.lab.truth.cassandra.given import GivenRows, Laws
from jumar.lab.truth.cassandra.parsing import MOST_MISTAKES, Parsed
from jumar.lab.truth.cassandra.words import MOST_DIGITS, Mistake
from jumar.lab.truth.chain import entries_of
from jumar.lab.truth.pomdp import Factors, Pomdp

AS_GIVEN = 1e-10  # of a sum: below, numbers are left as they stand
SILENT, TOLERATED = 1e-5, 1e-4  # what pomdp-solve accepts, and what is put right with a warning
NULL = "null"
AFTER = "after:"
NEGLIGIBLE = 0.001  # a simulation is cut off where the discount has come down to this
_OUTCOME_BYTES = 150  # of an outcome while a model is made
_MOST_BYTES = 1_000_000_000  # of a file
_PIECE = 1 << 20  # bytes read at once


def read_pomdp(path: str | os.PathLike[str], **options: Any) -> Pomdp:
    """A model from a `.POMDP` file; `load_model` tells what the options mean."""
    source = str(os.fspath(path))
    return pomdp_from_text(_text(source), source, name=Path(source).stem, **options)


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
    parsed = Parsed(text, needs_discount=discount is None)
    if not parsed.syntax or "state" not in parsed.names or "action" not in parsed.names:
        raise _error(source, parsed)
    S, A = len(parsed.names["state"]), len(parsed.names["action"])
    T = _checked("T", parsed.transition, parsed, source, normalize)
    if parsed.observation is None:
        O = Laws(np.arange(A * S + 1), np.tile(np.arange(S), A), np.ones(A * S))
    else:
        O = _checked("O", parsed.observation, parsed, source, normalize)
    law = _start(parsed, source, start, normalize)
    if parsed.mistakes:
        raise _error(source, parsed)
    γ = parsed.discount if discount is None else float(discount)
    assert γ is not None
    seen = parsed.names.get("observation", parsed.names["state"])
    observations, first = _first(first_observation, parsed, seen, O)
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


def _text(source: str) -> str:
    data, fits = bytearray(), True
    try:
        with open(source, "rb") as file:  # a device has no size, and may have no end
            while fits and (piece := file.read(_PIECE)):
                data += piece
                fits = b"\0" not in piece and len(data) <= _MOST_BYTES
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise ModelError(f"{visible(source)}: cannot be read ({said}). Check the path.") from error
    if not fits:
        raise ModelError(f"{source}: this is not a text file below 1 GB. Expected a .POMDP file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:  # old files have accents in their comments
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


# ---- checks -------------------------------------------------------------------------------


def _error(source: str, parsed: Parsed) -> ModelError:
    mistakes = sorted(parsed.mistakes, key=lambda mistake: mistake.token)
    said = [f"{source}, {parsed.tokens.place(m.token)}: {m.said}" for m in mistakes[:MOST_MISTAKES]]
    if len(mistakes) >= MOST_MISTAKES:
        said.append(f"{source}: there may be more like these. Correct these first.")
    return ModelError("\n".join(said))


def _warn(message: str) -> None:
    warnings.warn(message, ModelWarning, stacklevel=2)


def _checked(word: str, rows: GivenRows, parsed: Parsed, source: str, normalize: bool) -> Laws:
    """The rows as laws; what does not sum to 1 is put right, or a mistake."""
    laws, touched = rows.laws(f"{source}: the numbers of {word}")
    sums, S = laws.sums, len(parsed.names["state"])
    off = np.abs(sums - 1)
    most = math.inf if normalize else TOLERATED
    for r in np.flatnonzero((off > most) | (sums == 0)).tolist():
        action, state = parsed.names["action"][r // S], parsed.names["state"][r % S]
        which = f"{word} of action '{printable(action)}' and state '{printable(state)}'"
        token, fact = int(touched[r]), f"{which} sums to {sums[r]:.10g}."
        fact += f" Expected 1{_remedy(sums[r], normalize)}."
        if token < 0:
            token, fact = len(parsed.tokens), f"{which} was never given."
            fact += f" Expected '{word}: {action} : {state}' with probabilities that sum to 1."
        parsed.mistakes.append(Mistake(token, fact))
    fixed = off > AS_GIVEN
    if (worst := float(off[sums > 0].max(initial=0.0))) > SILENT and not parsed.mistakes:
        r = int(np.where(sums > 0, off, 0).argmax())
        _warn(
            f"{source}, {parsed.tokens.place(int(touched[r]))}: "
            f"{counted(int((off > SILENT).sum()), 'row')} of {word} do not sum to 1 (off by "
            f"{worst:.2g} at most, here) and were divided by their sum."
        )
    if not fixed.any():
        return laws
    return laws.scaled(np.where(fixed & (sums > 0), sums, 1.0))


def _remedy(total: float, normalize: bool) -> str:
    return "" if total == 0 or normalize else " (normalize divides by the sum)"


def _start(parsed: Parsed, source: str, asked: str | None, normalize: bool) -> Floats:
    """(S,) the law of the first state."""
    states = parsed.names["state"]
    if asked is not None:
        if asked == "uniform":
            return np.full(len(states), 1 / len(states))
        one: Floats = np.eye(1, len(states), _number("state", asked, states, "start"))[0]
        return one
    law: Floats = parsed.start
    total = float(law.sum())
    off = abs(total - 1)
    if total == 0 or (off > TOLERATED and not normalize):
        fact = f"the probabilities of the first state sum to {total:.10g}."
        fact += f" Expected 1{_remedy(total, normalize)}."
        parsed.mistakes.append(Mistake(parsed.start_token, fact))
        return law
    if off > SILENT:
        place = parsed.tokens.place(parsed.start_token)
        _warn(f"{source}, {place}: 'start:' sums to {total:.10g} and was divided by its sum.")
    scaled: Floats = law if off <= AS_GIVEN else law / total
    return scaled


def _number(kind: str, asked: str, names: tuple[str, ...], option: str) -> int:
    if asked in names:
        return names.index(asked)
    few = asked.isascii() and asked.isdigit() and len(asked) <= MOST_DIGITS
    if few and int(asked) < len(names):
        return int(asked)
    raise ParameterError(f"{option}: {not_one_of(kind, asked, names)}")


def _first(
    asked: str | None, parsed: Parsed, seen: tuple[str, ...], O: Laws
) -> tuple[tuple[str, ...], Floats]:
    """The names of all observations, and (S, O) the law of the first one."""
    S, states = len(parsed.names["state"]), parsed.observation is None
    if asked is None:
        if states:
            return seen, np.eye(S)
        asked = NULL
    if asked == NULL:
        observations = (*seen, new_name(NULL, seen))
        law = np.zeros((S, len(observations)))
        law[:, -1] = 1.0
        return observations, law
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
