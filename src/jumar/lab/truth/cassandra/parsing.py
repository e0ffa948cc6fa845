"""The statements of a `.POMDP` file: preamble, start, then lines of T, O and R in any order.

All that is wrong is collected: after a statement that cannot be read, reading goes on with the
next one. Newlines mean nothing; a statement ends where its numbers do.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import not_one_of
from jumar.core.resources import check_room
from jumar.core.text import counted, printable
from jumar.lab.truth.cassandra.given import ANY, GivenRows, RewardLines
from jumar.lab.truth.cassandra.words import PREAMBLE, RESERVED, STATEMENTS, Mistake, Tokens

MOST_MISTAKES = 20  # after which reading stops
_KINDS = {"states": "state", "actions": "action", "observations": "observation"}
_ROW_BYTES = 200  # of a row of T or O while it is read
_FIRST_BYTES = 16  # of a number in the law of the first observation, which models hold in full
_EXPECTED = {
    "T": "T: ACTION, T: ACTION : STATE or T: ACTION : STATE : NEXT-STATE",
    "O": "O: ACTION, O: ACTION : NEXT-STATE or O: ACTION : NEXT-STATE : OBSERVATION",
    "R": "R: ACTION : STATE : NEXT-STATE : OBSERVATION",
}


class Parsed:
    """What a file says, not yet checked as a whole. Without `needs_discount` it may leave its
    discount out."""

    def __init__(self, text: str, needs_discount: bool = True) -> None:
        self.tokens = Tokens(text)
        self.words = self.tokens.words
        self.needs_discount = needs_discount
        self.names: dict[str, tuple[str, ...]] = {}  # by kind
        self.numbers: dict[str, dict[str, int]] = {}  # by kind: the number of a name
        self.given: dict[str, int] = {}  # word of the preamble -> where it stood
        self.discount: float | None = None
        self.cost = False
        self.start: Floats = np.zeros(0)
        self.start_token = 0
        self.transition = GivenRows(0, 0)
        self.observation: GivenRows | None = None  # None: the state is seen
        self.rewards = RewardLines((1, 1, 1, 1))
        self.mistakes: list[Mistake] = []
        self.syntax = True  # can every statement be read?
        self._run()

    # ---- from statement to statement ------------------------------------------------------

    def _run(self) -> None:
        k = 0
        while k < len(self.tokens) and self.words[k] not in ("start", *STATEMENTS):
            k = self._try(k, self._preamble)
        if not self._complete(k):
            return
        self._allocate()
        self.start_token = k
        if self.words[k] == "start":
            k = self._try(k, self._start)
        while k < len(self.tokens):
            k = self._try(k, self._statement)

    def _try(self, k: int, read: Callable[[int], int]) -> int:
        """Read a statement; one that cannot be read is kept as a mistake, and skipped."""
        try:
            return read(k)
        except Mistake as mistake:
            self.syntax = False
            line, token = self.tokens.line(k), mistake.token
            if self.tokens.line(token) != line:
                head = f"{self.words[k]}{self.words[k + 1]} {self.words[k + 2]}"
                mistake = Mistake(token, f"in '{printable(head)}' of line {line}: {mistake.said}")
            self.mistakes.append(mistake)
        if len(self.mistakes) == MOST_MISTAKES:
            return len(self.tokens)
        k += 1
        while k < len(self.tokens) and not self._begins(k):
            k += 1
        return k

    def _begins(self, k: int) -> bool:
        word, after = self.words[k], self.words[k + 1]
        if word == "start":
            return after in (":", "include", "exclude")
        return word in (*PREAMBLE, *STATEMENTS) and after == ":"

    def _unknown(self, k: int, expected: str) -> Mistake:
        near = get_close_matches(self.words[k].lower(), (*PREAMBLE, "start"), n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        return Mistake(k, f"found {self.tokens.found(k)}. Expected {expected}.{hint}")

    def _colon(self, k: int) -> int:
        if self.words[k] != ":":
            fact = f"found {self.tokens.found(k)} after '{self.words[k - 1]}'. Expected a colon."
            raise Mistake(k, fact)
        return k + 1

    # ---- preamble -------------------------------------------------------------------------

    def _preamble(self, k: int) -> int:
        word = self.words[k]
        if word not in PREAMBLE:
            raise self._unknown(k, "discount:, values:, states:, actions: or observations:")
        if word in self.given and word in _KINDS:
            line = self.tokens.line(self.given[word])
            raise Mistake(k, f"'{word}:' also stands on line {line}. Expected it once.")
        self.given[word] = k
        k = self._colon(k + 1)
        if word in _KINDS:
            return self._names(k, _KINDS[word])
        if word == "discount":
            γ = self.discount = self.tokens.number(k)
            if not 0 <= γ <= 1:
                raise Mistake(k, f"discount {γ:g} is outside its range. Expected 0 to 1.")
        elif self.words[k] not in ("reward", "cost", "rewards", "costs"):
            raise Mistake(k, f"found {self.tokens.found(k)}. Expected reward or cost.")
        else:
            self.cost = self.words[k].startswith("cost")
        k += 1
        if self.tokens.is_number(k) or self.tokens.is_name(k):
            raise Mistake(k, f"found {self.tokens.found(k)} after '{word}:'. Expected one word.")
        return k

    def _names(self, k: int, kind: str) -> int:
        first = k
        if self.tokens.is_integer(k):
            while self.tokens.is_integer(k):
                k += 1
            listed = [self.tokens.integer(i) for i in range(first, k)]
            size = listed[0] if len(listed) == 1 else len(listed)
            if len(listed) > 1 and listed != list(range(size)):
                raise Mistake(first, f"found numbers. Expected how many {kind}s, or their names.")
            if size < 1:
                raise Mistake(first, f"{size} {kind}s. Expected at least 1.")
            check_room(counted(size, kind), size * _ROW_BYTES, "Is the number right?")
            names = tuple(map(str, range(size)))
        else:
            while self.tokens.is_name(k):
                k += 1
            names = tuple(self.words[first:k])
        if self.words[k] in RESERVED and self.words[k + 1] not in (":", "include", "exclude"):
            fact = f"'{self.words[k]}' is a word of the format."
            raise Mistake(
                k, f"{fact} Expected a name of another {kind}, or a colon after the word."
            )
        if not names or self.words[k] not in (*RESERVED, ""):
            raise Mistake(
                k,
                f"found {self.tokens.found(k)}. Expected the number of {kind}s or their names, of "
                "letters, digits, '-' and '_' and beginning with a letter.",
            )
        numbers: dict[str, int] = {}
        for i, name in enumerate(names):
            if numbers.setdefault(name, i) != i:
                fact = f"{kind} '{printable(name)}' is named twice. Expected another name."
                raise Mistake(first + i, fact)
        self.names[kind], self.numbers[kind] = names, numbers
        return k

    def _complete(self, k: int) -> bool:
        """Is the preamble there? What is missing was expected where it ends."""
        optional = ("observations",) if self.needs_discount else ("observations", "discount")
        for word in PREAMBLE:
            # after other mistakes a missing word may be one that could not be read
            if word not in self.given and word not in optional and self.syntax:
                what = "reward or cost" if word == "values" else "one"
                missing = f"found {self.tokens.found(k)}, and no '{word}:' before it."
                expected = f"Expected {what} among the first lines."
                self.mistakes.append(Mistake(k, f"{missing} {expected}"))
        broken = "observations" in self.given and "observation" not in self.names
        return "state" in self.names and "action" in self.names and not broken

    def _allocate(self) -> None:
        self.S, self.A = len(self.names["state"]), len(self.names["action"])
        self.O = len(self.names.get("observation", self.names["state"]))
        for other, kind, size in (
            (self.A, "actions", 2 * self.S * self.A * _ROW_BYTES),
            (self.O, "observations", self.S * (self.O + 1) * _FIRST_BYTES),
        ):
            check_room(f"{self.S:,} states and {other:,} {kind}", size, "Use a smaller model.")
        self.transition = GivenRows(self.A * self.S, self.S)
        if "observation" in self.names:
            self.observation = GivenRows(self.A * self.S, self.O)
        self.rewards = RewardLines((self.A, self.S, self.S, self.O))
        self.start = np.full(self.S, 1 / self.S)

    # ---- start ----------------------------------------------------------------------------

    def _start(self, k: int) -> int:
        if self.words[k + 1] in ("include", "exclude"):
            return self._list(self._colon(k + 2), include=self.words[k + 1] == "include")
        k = self.start_token = self._colon(k + 1)
        if self.words[k] == "uniform":
            return k + 1
        if self.words[k] == "reset":
            raise Mistake(k, "'reset' is for rows of T. Expected the law of the first state.")
        if self.tokens.is_name(k):
            return self._list(k, include=True)
        # one number is a state, but where there is one state, it is its probability
        lone = self.tokens.is_integer(k) and not self.tokens.is_number(k + 1)
        if lone and (self.S > 1 or self.words[k].strip("0") == ""):
            return self._list(k, include=True)
        self.start = np.array(self._probabilities(k, self.S))
        return k + self.S

    def _list(self, first: int, include: bool) -> int:
        """States, all equally likely; or all others."""
        k = self.start_token = first
        listed = np.zeros(self.S, np.bool_)
        while self.words[k] == "*" or self.tokens.is_integer(k) or self.tokens.is_name(k):
            listed[self._index(k, "state")] = True
            k += 1
        if k == first:
            raise Mistake(k, f"found {self.tokens.found(k)}. Expected a list of states.")
        chosen = listed if include else ~listed
        if not chosen.any():
            raise Mistake(first, "all states are excluded. Expected one to be left to start in.")
        self.start = chosen / chosen.sum()
        return k

    # ---- T, O and R -----------------------------------------------------------------------

    def _statement(self, k: int) -> int:
        word, rows = self.words[k], self.observation
        if word in PREAMBLE:
            raise Mistake(k, f"'{word}:' stands after the preamble. Expected it before 'start:'.")
        if word == "start":
            raise Mistake(k, "'start' stands too late. Expected it once, before T, O and R.")
        if word not in STATEMENTS:
            raise self._unknown(k, "T:, O: or R:")
        if word == "O" and rows is None:
            raise Mistake(k, "there is no 'observations:'. Expected it before, or no O.")
        k = self._colon(k + 1)
        if word == "R":
            return self._reward(k)
        if word == "T" or rows is None:
            parts, k = self._parts(k, ("action", "state", "state"))
            return self._law(k, word, parts, self.transition, self.S)
        parts, k = self._parts(k, ("action", "state", "observation"))
        return self._law(k, word, parts, rows, self.O)

    def _law(self, k: int, word: str, parts: list[int], rows: GivenRows, width: int) -> int:
        """The numbers of T or O: one cell, a row, a matrix; or a word for a row or matrix."""
        said, named = self.words[k], self._rows(*[*parts, ANY][:2])
        if len(parts) == 3:
            (p,) = self._probabilities(k, 1)
            if parts[2] == ANY:
                rows.put(named, [p] * width if p else [], k)
            else:
                rows.put_cell(named, parts[2], p, k)
            return k + 1
        if said == "uniform":
            rows.put(named, [1 / width] * width, k)
            return k + 1
        if word == "T" and said == "reset" and len(parts) == 2:
            rows.put(named, self.start.tolist(), k)
            return k + 1
        if word == "T" and said == "identity" and len(parts) == 1:
            rows.put(named, [], k)
            for s in range(self.S):
                rows.put_cell(self._rows(parts[0], s), s, 1.0, k)
            return k + 1
        if said in ("identity", "reset"):
            raise Mistake(
                k,
                f"'{said}' cannot stand here: 'identity' is for T: ACTION and 'reset' for "
                "T: ACTION : STATE. Expected numbers or 'uniform'.",
            )
        if not self.tokens.is_number(k):
            raise Mistake(k, f"found {self.tokens.found(k)}. Expected {_EXPECTED[word]}.")
        if len(parts) == 2:
            rows.put(named, self._probabilities(k, width), k)
            return k + width
        matrix = self._probabilities(k, self.S * width)
        for s in range(self.S):
            row = matrix[s * width : (s + 1) * width]
            rows.put(self._rows(parts[0], s), row, k + s * width)
        return k + self.S * width

    def _reward(self, k: int) -> int:
        parts, k = self._parts(k, ("action", "state", "state", "observation"))
        # how many numbers follow so many parts, and the strides of s, s' and z in them
        S, O = self.S, self.O
        shapes = {4: (1, (0, 0, 0)), 3: (O, (0, 0, 1)), 2: (S * O, (0, O, 1)), 1: (0, (0, 0, 0))}
        if self.observation is None:
            shapes |= {3: (1, (0, 0, 0)), 2: (S, (0, 1, 0)), 1: (S * S, (S, 1, 0))}
        count, strides = shapes[len(parts)]
        if count == 0:
            raise Mistake(k, f"found {self.tokens.found(k)}. Expected {_EXPECTED['R']}.")
        if not self.tokens.is_number(k):
            raise Mistake(k, f"found {self.tokens.found(k)}. Expected {counted(count, 'number')}.")
        a, s, t, z = (*parts, ANY, ANY, ANY)[:4]
        if self.observation is None and z != ANY:
            raise Mistake(k - 1, "there are no observations. Expected '*' for the observation.")
        self.rewards.put((a, s, t, z), self.tokens.numbers(k, count), strides)
        return k + count

    # ---- words ----------------------------------------------------------------------------

    def _parts(self, k: int, kinds: tuple[str, ...]) -> tuple[list[int], int]:
        """Names, numbers or wildcards with colons between, and the word after them."""
        parts = [self._index(k, kinds[0], wildcard=True)]
        k += 1
        while self.words[k] == ":":
            if len(parts) == len(kinds):
                raise Mistake(k, f"found ':' after {len(parts)} parts. Expected numbers.")
            parts.append(self._index(k + 1, kinds[len(parts)], wildcard=True))
            k += 2
        return parts, k

    def _index(self, k: int, kind: str, wildcard: bool = False) -> int:
        word, names = self.words[k], self.names.get(kind, self.names["state"])
        if word == "*" and wildcard:
            return ANY
        numbers = self.numbers.get(kind, self.numbers["state"])
        if word in numbers:
            return numbers[word]
        if self.tokens.is_integer(k):
            if (number := self.tokens.integer(k)) < len(names):
                return number
            fact = f"{kind} {printable(word)}: there are {len(names)}."
            raise Mistake(k, f"{fact} Expected 0 to {len(names) - 1}, or a name.")
        if self.tokens.is_name(k):
            raise Mistake(k, not_one_of(kind, word, names))
        also = " or '*'" if wildcard else ""
        fact = f"found {self.tokens.found(k)}. Expected the {kind}'s name or number{also}."
        raise Mistake(k, fact)

    def _rows(self, action: int, state: int) -> range:
        """The rows of T or O that action and state name."""
        S = self.S
        if action != ANY:
            first, last = (0, S) if state == ANY else (state, state + 1)
            return range(action * S + first, action * S + last)
        return range(self.A * S) if state == ANY else range(state, self.A * S, S)

    def _probabilities(self, k: int, count: int) -> list[float]:
        values = self.tokens.numbers(k, count)
        if min(values) < 0 or max(values) > 1:
            wrong = next(i for i, p in enumerate(values) if not 0 <= p <= 1)
            fact = f"{values[wrong]:g} is no probability. Expected a number from 0 to 1."
            raise Mistake(k + wrong, fact)
        return values
