"""The statements of a `.POMDP` file: preamble, start, then lines of T, O and R in any order.

All that is wrong is collected: after a statement that cannot be read, reading goes on with the
next one. Newlines mean nothing; a statement ends where its numbers do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import not_one_of
from jumar.core.resources import check_room
from jumar.core.text import counted, printable
from jumar.lab.truth.cassandra.laws import NOTHING, GivenRows, whole
from jumar.lab.truth.cassandra.rewards import ANY, RewardLines
from jumar.lab.truth.cassandra.tokens import RESERVED, Mistake, Tokens, all_probabilities

PREAMBLE = ("discount", "values", "states", "actions", "observations")
STATEMENTS = ("T", "O", "R")
MOST_MISTAKES = 20  # that are told; others are only counted
_KINDS = {"state": "states", "action": "actions", "observation": "observations"}
_ROW_BYTES = 200  # of a row of T or O while it is read
_FIRST_BYTES = 16  # of a number in the law of the first observation, which models hold in full
_MOST_WORDS = 9  # of the head of a statement: T, O or R, and up to four parts with their colons
_EXPECTED = {
    "T": "T: ACTION, T: ACTION : STATE or T: ACTION : STATE : NEXT-STATE",
    "O": "O: ACTION, O: ACTION : NEXT-STATE or O: ACTION : NEXT-STATE : OBSERVATION",
    "R": "R: ACTION : STATE : NEXT-STATE : OBSERVATION",
}


@dataclass
class Parsed:
    """What a file says, not yet checked as a whole."""

    tokens: Tokens
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by kind
    discount: float | None = None
    cost: bool = False
    start: Floats = field(default_factory=lambda: np.zeros(0))
    start_token: int = 0
    transition: GivenRows = field(default_factory=lambda: GivenRows(0))
    observation: GivenRows | None = None  # None: the state is seen
    rewards: RewardLines = field(default_factory=lambda: RewardLines((1, 1, 1, 1)))
    mistakes: list[Mistake] = field(default_factory=list)
    more: int = 0  # statements that cannot be read either
    notes: list[Mistake] = field(default_factory=list)
    syntax: bool = True  # can every statement be read?


def parse(text: str, needs_discount: bool = True) -> Parsed:
    """Read all statements. Without `needs_discount` the file may leave its discount out."""
    parser = _Parser(Tokens(text), needs_discount)
    parser.run()
    return parser.parsed


class _Parser:
    def __init__(self, tokens: Tokens, needs_discount: bool) -> None:
        self.tokens, self.words = tokens, tokens.words
        self.needs_discount = needs_discount
        self.parsed = Parsed(tokens)
        self.numbers: dict[str, dict[str, int]] = {}  # by kind: the number of a name
        self.given: dict[str, int] = {}  # word of the preamble -> where it stood

    # ---- from statement to statement ------------------------------------------------------

    def run(self) -> None:
        k = 0
        while k < len(self.tokens) and self.words[k] not in ("start", *STATEMENTS):
            k = self._trying(k, self._preamble)
        if not self._complete(k):
            return
        self._allocate()
        self.parsed.start_token = k
        if self.words[k] == "start":
            k = self._trying(k, self._start)
        while k < len(self.tokens):
            k = self._trying(k, self._statement)

    def _trying(self, k: int, read: object) -> int:
        """Read a statement; one that cannot be read is kept as a mistake, and skipped."""
        try:
            return read(k)  # type: ignore[operator, no-any-return]
        except Mistake as mistake:
            self.parsed.syntax = False
            if len(self.parsed.mistakes) < MOST_MISTAKES:
                self.parsed.mistakes.append(self._within(mistake, k))
            else:
                self.parsed.more += 1
        k += 1
        while k < len(self.tokens) and not self._begins(k):
            k += 1
        return k

    def _begins(self, k: int) -> bool:
        word, after = self.words[k], self.words[k + 1]
        if word == "start":
            return after in (":", "include", "exclude")
        return word in (*PREAMBLE, *STATEMENTS) and after == ":"

    def _within(self, mistake: Mistake, begin: int) -> Mistake:
        """A mistake further down in a statement also names where the statement stands."""
        line = self.tokens.line(begin)
        if mistake.token == begin or self.tokens.line(mistake.token) == line:
            return mistake
        end = begin + 2
        last = begin + _MOST_WORDS if self.words[begin] in STATEMENTS else end
        while end < last and ":" in self.words[end - 1 : end + 1]:
            end += 1
        head = " ".join(self.words[begin:end]).replace(" :", ":", 1)
        return Mistake(mistake.token, f"in '{printable(head)}' of line {line}: {mistake.said}")

    def _unknown(self, k: int, expected: str) -> Mistake:
        near = get_close_matches(self.words[k].lower(), (*PREAMBLE, "start"), n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        return Mistake(k, f"found {self.tokens.found(k)}. Expected {expected}.{hint}")

    def _colon(self, k: int) -> int:
        if self.words[k] != ":":
            raise Mistake(
                k,
                f"found {self.tokens.found(k)} after '{self.words[k - 1]}'. Expected a colon.",
            )
        return k + 1

    # ---- preamble -------------------------------------------------------------------------

    def _preamble(self, k: int) -> int:
        word, begin = self.words[k], k
        if word not in PREAMBLE:
            raise self._unknown(k, "discount:, values:, states:, actions: or observations:")
        if word in self.given:
            line = self.tokens.line(self.given[word])
            if word not in ("discount", "values"):
                raise Mistake(k, f"'{word}:' also stands on line {line}. Expected it once.")
            self._note(k, f"'{word}:' also stands on line {line}; this one counts.")
        self.given[word] = begin
        k = self._colon(k + 1)
        if word == "discount":
            γ = self.tokens.number(k)
            if not 0 <= γ <= 1:
                raise Mistake(k, f"discount {γ:g} is outside its range. Expected 0 to 1.")
            self.parsed.discount = γ
            return self._end_of_preamble(k + 1, word)
        if word == "values":
            if self.words[k] not in ("reward", "cost", "rewards", "costs"):
                raise Mistake(k, f"found {self.tokens.found(k)}. Expected reward or cost.")
            self.parsed.cost = self.words[k].startswith("cost")
            return self._end_of_preamble(k + 1, word)
        return self._names(k, next(kind for kind, name in _KINDS.items() if name == word))

    def _end_of_preamble(self, k: int, word: str) -> int:
        if self.tokens.is_number(k) or self.tokens.is_name(k):
            raise Mistake(k, f"found {self.tokens.found(k)} after '{word}:'. Expected one word.")
        return k

    def _names(self, k: int, kind: str) -> int:
        first = k
        if self.tokens.is_integer(k):
            while self.tokens.is_integer(k):
                k += 1
            count, listed = k - first, [self.tokens.integer(i) for i in range(first, k)]
            size = listed[0] if count == 1 else count
            if count > 1 and listed != list(range(count)):
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
            raise Mistake(
                k,
                f"'{self.words[k]}' is a word of the format. Expected a name of another "
                f"{kind}, or a colon after the word.",
            )
        after = self.words[k]
        if not names or not (after in RESERVED or after == ""):
            raise Mistake(
                k,
                f"found {self.tokens.found(k)}. Expected the number of {kind}s or their names, of "
                "letters, digits, '-' and '_' and beginning with a letter.",
            )
        numbers: dict[str, int] = {}
        for i, name in enumerate(names):
            if name in numbers:
                named = f"{kind} '{printable(name)}'"
                raise Mistake(first + i, f"{named} is named twice. Expected another name.")
            numbers[name] = i
        self.parsed.names[kind], self.numbers[kind] = names, numbers
        return k

    def _complete(self, k: int) -> bool:
        """Is the preamble there? What is missing was expected where it ends."""
        optional = ("observations",) if self.needs_discount else ("observations", "discount")
        for word in PREAMBLE:
            # after other mistakes a missing word may be one that could not be read
            if word not in self.given and word not in optional and self.parsed.syntax:
                what = "reward or cost" if word == "values" else "one"
                self.parsed.mistakes.append(
                    Mistake(
                        k,
                        f"found {self.tokens.found(k)}, and no '{word}:' before it. Expected "
                        f"{what} among the first lines.",
                    )
                )
        broken = "observations" in self.given and "observation" not in self.names
        return "state" in self.names and "action" in self.names and not broken

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        return self.parsed.names

    def _allocate(self) -> None:
        self.S, self.A = len(self.names["state"]), len(self.names["action"])
        check_room(
            f"{self.S:,} states and {self.A:,} actions",
            2 * self.S * self.A * _ROW_BYTES,
            "Use a smaller model.",
        )
        self.O = len(self.names.get("observation", self.names["state"]))
        check_room(
            f"{self.S:,} states and {self.O:,} observations",
            self.S * (self.O + 1) * _FIRST_BYTES,
            "Use a smaller model.",
        )
        self.parsed.transition = GivenRows(self.A * self.S)
        if "observation" in self.names:
            self.parsed.observation = GivenRows(self.A * self.S)
        self.parsed.rewards = RewardLines((self.A, self.S, self.S, self.O))
        self.parsed.start = np.full(self.S, 1 / self.S)

    # ---- start ----------------------------------------------------------------------------

    def _start(self, k: int) -> int:
        if self.words[k + 1] in ("include", "exclude"):
            return self._list(self._colon(k + 2), include=self.words[k + 1] == "include")
        k = self._colon(k + 1)
        self.parsed.start_token = k
        if self.words[k] == "uniform":
            return k + 1
        if self.words[k] == "reset":
            raise Mistake(k, "'reset' is for rows of T. Expected the law of the first state.")
        if self.tokens.is_name(k):
            if self.tokens.is_name(k + 1):
                self._note(k, "names after 'start:' are taken as a list, all equally likely.")
            return self._list(k, include=True)
        lone = self.tokens.is_integer(k) and not self.tokens.is_number(k + 1)
        if lone and (self.S > 1 or self.words[k].strip("0") == ""):
            state = self._index(k, "state")
            self.parsed.start = np.eye(1, self.S, state)[0]
            if self.S > 1:
                self._note(k, f"one number after 'start:' is taken as state {state}.")
            return k + 1
        self.parsed.start = np.array(self._probabilities(k, self.S))
        return k + self.S

    def _note(self, k: int, said: str) -> None:
        self.parsed.notes.append(Mistake(k, said))

    def _list(self, first: int, include: bool) -> int:
        """States, all equally likely; or all others."""
        k = self.parsed.start_token = first
        listed = np.zeros(self.S, np.bool_)
        while self.words[k] == "*" or self.tokens.is_integer(k) or self.tokens.is_name(k):
            listed[self._index(k, "state")] = True
            k += 1
        if k == first:
            raise Mistake(k, f"found {self.tokens.found(k)}. Expected a list of states.")
        chosen = listed if include else ~listed
        if not chosen.any():
            raise Mistake(first, "all states are excluded. Expected one to be left to start in.")
        self.parsed.start = chosen / chosen.sum()
        return k

    # ---- T, O and R -----------------------------------------------------------------------

    def _statement(self, k: int) -> int:
        word = self.words[k]
        if word in PREAMBLE:
            raise Mistake(k, f"'{word}:' stands after the preamble. Expected it before 'start:'.")
        if word == "start":
            raise Mistake(k, "'start' stands too late. Expected it once, before T, O and R.")
        if word not in STATEMENTS:
            raise self._unknown(k, "T:, O: or R:")
        if word == "T":
            return self._transition(self._colon(k + 1))
        if word == "O":
            if self.parsed.observation is None:
                raise Mistake(k, "there is no 'observations:'. Expected it before, or no O.")
            return self._observation(self._colon(k + 1))
        return self._reward(self._colon(k + 1))

    def _transition(self, k: int) -> int:
        parts, k = self._parts(k, ("action", "state", "state"))
        rows, word = self.parsed.transition, self.words[k]
        if word == "identity" and len(parts) == 1:
            for s in range(self.S):
                one = np.array([s]), np.ones(1)
                rows.put(self._rows(parts[0], s), one, k)
            return k + 1
        if word == "reset" and len(parts) == 2:
            rows.put(self._rows(*parts), whole(self.parsed.start), k)
            return k + 1
        return self._law(k, "T", parts, rows, self.S)

    def _observation(self, k: int) -> int:
        parts, k = self._parts(k, ("action", "state", "observation"))
        assert self.parsed.observation is not None
        return self._law(k, "O", parts, self.parsed.observation, self.O)

    def _law(self, k: int, word: str, parts: list[int], rows: GivenRows, width: int) -> int:
        """The numbers of T or O: one cell, a row, a matrix; or a word for a row or matrix."""
        if len(parts) == 3:
            (p,) = self._probabilities(k, 1)
            if parts[2] == ANY:
                all_of_it = whole([p] * width) if p else NOTHING
                rows.put(self._rows(*parts[:2]), all_of_it, k)
            else:
                rows.put_cell(self._rows(*parts[:2]), parts[2], p, k)
            return k + 1
        if self.words[k] == "uniform":
            given = whole([1 / width] * width)
            rows.put(self._rows(parts[0], parts[1] if len(parts) == 2 else ANY), given, k)
            return k + 1
        if self.words[k] in ("identity", "reset"):
            raise Mistake(
                k,
                f"'{self.words[k]}' cannot stand here: 'identity' is for T: ACTION and 'reset' for "
                "T: ACTION : STATE. Expected numbers or 'uniform'.",
            )
        if not self.tokens.is_number(k):
            raise Mistake(k, f"found {self.tokens.found(k)}. Expected {_EXPECTED[word]}.")
        if len(parts) == 2:
            rows.put(self._rows(*parts), whole(self._probabilities(k, width)), k)
            return k + width
        matrix = np.array(self._probabilities(k, self.S * width)).reshape(self.S, width)
        for s in range(self.S):
            rows.put(self._rows(parts[0], s), whole(matrix[s]), k + s * width)
        return k + self.S * width

    def _reward(self, k: int) -> int:
        parts, k = self._parts(k, ("action", "state", "state", "observation"))
        counts, strides = self._reward_shapes()[len(parts)]
        if counts == 0:
            raise Mistake(k, f"found {self.tokens.found(k)}. Expected {_EXPECTED['R']}.")
        if not self.tokens.is_number(k):
            raise Mistake(k, f"found {self.tokens.found(k)}. Expected {counted(counts, 'number')}.")
        a, s, t, z = (*parts, ANY, ANY, ANY)[:4]
        if self.parsed.observation is None and z != ANY:
            raise Mistake(k - 1, "there are no observations. Expected '*' for the observation.")
        self.parsed.rewards.put((a, s, t, z), self.tokens.numbers(k, counts), strides)
        return k + counts

    def _reward_shapes(self) -> dict[int, tuple[int, tuple[int, int, int]]]:
        """How many numbers follow so many parts, and the strides of s, s' and z in them."""
        S, O = self.S, self.O
        if self.parsed.observation is None:
            return {4: (1, (0, 0, 0)), 3: (1, (0, 0, 0)), 2: (S, (0, 1, 0)), 1: (S * S, (S, 1, 0))}
        return {4: (1, (0, 0, 0)), 3: (O, (0, 0, 1)), 2: (S * O, (0, O, 1)), 1: (0, (0, 0, 0))}

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
            raise Mistake(
                k,
                f"{kind} {printable(word)}: there are {len(names)}. Expected 0 to "
                f"{len(names) - 1}, or a name.",
            )
        if self.tokens.is_name(k):
            raise Mistake(k, lambda: not_one_of(kind, word, names))
        also = " or '*'" if wildcard else ""
        raise Mistake(
            k, f"found {self.tokens.found(k)}. Expected the {kind}'s name or number{also}."
        )

    def _rows(self, action: int, state: int) -> range:
        """The rows of T or O that action and state name."""
        S = self.S
        if action != ANY:
            first, last = (0, S) if state == ANY else (state, state + 1)
            return range(action * S + first, action * S + last)
        return range(self.A * S) if state == ANY else range(state, self.A * S, S)

    def _probabilities(self, k: int, count: int) -> list[float]:
        values = self.tokens.numbers(k, count)
        if not all_probabilities(values):
            wrong = next(i for i, p in enumerate(values) if not 0 <= p <= 1)
            raise Mistake(
                k + wrong, f"{values[wrong]:g} is no probability. Expected a number from 0 to 1."
            )
        return values
