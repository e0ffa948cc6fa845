"""The statements of a `.POMDP` file: preamble, start, then lines of T, O and R in any order.

Newlines mean nothing; a statement ends where its numbers do.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import takewhile
from typing import NoReturn

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import not_one_of
from jumar.core.resources import check_room
from jumar.core.text import counted, printable
from jumar.lab.truth.cassandra.given import ANY, GivenRows, RewardLines

PREAMBLE = ("discount", "values", "states", "actions", "observations")
STATEMENTS = {  # the parts of each
    "T": ("action", "state", "state"),
    "O": ("action", "state", "observation"),
    "R": ("action", "state", "state", "observation"),
}
OTHERS = ("uniform", "identity", "reward", "cost", "start", "include", "exclude", "reset")
RESERVED = frozenset((*PREAMBLE, *STATEMENTS, *OTHERS))
_COMMENT = re.compile("#[^\n]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
INTEGER = re.compile(r"0*[0-9]{1,18}")  # more digits count and name nothing
# A minus belongs to a name that has begun, and is a sign before a number, also with space between.
# pomdp-solve refuses ".5" and a leading underscore; files in the wild have both.
_NUMBER = re.compile(r"(?:[+-]\s*)?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TOKEN = re.compile(rf"{_NAME.pattern}|{_NUMBER.pattern}|\S")
_KINDS = {"states": "state", "actions": "action", "observations": "observation"}
_NAME_BYTES = 200  # of a state that has a number as its name
_FIRST_BYTES = 16  # of a number in the law of the first observation, which models hold in full
_MOST = 1e308


class Mistake(Exception):
    """What is wrong in the file, and at which word."""

    def __init__(self, token: int, said: str) -> None:
        super().__init__(token)
        self.token, self.said = token, said


class Parsed:
    """What a file says, not yet checked as a whole; `run` raises a `Mistake` where it cannot be
    read."""

    def __init__(self, text: str) -> None:
        # a comment reaches to the end of its line: without it all columns stay as they are
        self._text = _COMMENT.sub("", text).rstrip("\n")
        words = _TOKEN.findall(self._text)
        self.end = len(words)
        self.words = [*words, "", ""]  # what is looked at beyond the last one is empty
        self._k = self._begun = 0  # the word at hand, and the first one of its statement
        self.names: dict[str, tuple[str, ...]] = {}  # by kind
        self._numbers: dict[str, dict[str, int]] = {}  # by kind: the number of a name
        self._given: dict[str, int] = {}  # word of the preamble -> where it stood
        self.discount: float | None = None
        self.cost = False

    # ---- words ----------------------------------------------------------------------------

    def _where(self, token: int) -> tuple[int, int]:
        """Line and column of a word; what is missing at the end stands after the last one."""
        begins = [match.start() for match in _TOKEN.finditer(self._text)]
        at = [*begins, len(self._text)][token]
        return self._text.count("\n", 0, at) + 1, at - self._text.rfind("\n", 0, at)

    def place(self, token: int) -> str:
        """Where a word stands."""
        return "line {}, column {}".format(*self._where(token))

    def _found(self, token: int) -> str:
        word = self.words[token]
        return f"'{printable(word)}'" if word else "the end of the file"

    def _refuse(self, expected: str, fact: str = "", at: int | None = None) -> NoReturn:
        """Say what is wrong at the word at hand, or another; first of all, what stands there."""
        at = self._k if at is None else at
        (begun, _), (line, _) = self._where(self._begun), self._where(at)
        where = f" The statement begins on line {begun}." if begun != line else ""
        raise Mistake(at, f"{fact or f'found {self._found(at)}'}. Expected {expected}.{where}")

    def _is(self, pattern: re.Pattern[str], ahead: int = 0) -> bool:
        return bool(pattern.fullmatch(self.words[self._k + ahead]))

    def _is_name(self) -> bool:
        """Is this a name that is no word of the format?"""
        return self._is(_NAME) and self.words[self._k] not in RESERVED

    def _many(self, count: int, least: float = -_MOST, most: float = _MOST) -> list[float]:
        """So many numbers within these bounds, which end there."""
        first = self._k
        given = takewhile(_NUMBER.fullmatch, self.words[first : first + count + 1])
        values = [float("".join(word.split())) for word in given]
        self._k += min(len(values), count)
        if len(values) < count:
            fact = f"{len(values)} of {counted(count, 'number')}, then {self._found(self._k)}"
            self._refuse(counted(count - len(values), "more number"), fact)
        if len(values) > count:
            self._refuse(f"only {count}", f"{len(values)} numbers or more")
        if not (least <= min(values) and max(values) <= most):
            wrong = first + next(i for i, x in enumerate(values) if not least <= x <= most)
            fact = f"{self._found(wrong)} is out of range"
            self._refuse(f"a number from {least:g} to {most:g}", fact, wrong)
        return values

    def _colon(self) -> None:
        """Go past the word at hand and the colon after it."""
        self._k += 1
        if self.words[self._k] != ":":
            self._refuse(f"a colon after '{self.words[self._k - 1]}'")
        self._k += 1

    # ---- from statement to statement ------------------------------------------------------

    def run(self, needs_discount: bool) -> None:
        """Read all of it. Without `needs_discount` the file may leave its discount out."""
        while self.words[self._k] not in ("", "start", *STATEMENTS):
            self._begun = self._k
            self._preamble()
        self._begun = self._k
        optional = ("observations",) if needs_discount else ("observations", "discount")
        if missing := [word for word in PREAMBLE if word not in (*self._given, *optional)]:
            listed = ", ".join(f"'{word}:'" for word in missing)
            self._refuse(f"{listed} among the first lines, before T, O and R")
        self._allocate()
        if self.words[self._k] == "start":
            self._start()
        while self._k < self.end:
            self._begun = self._k
            self._statement()

    def _unknown(self, expected: str) -> NoReturn:
        near = get_close_matches(self.words[self._k].lower(), (*PREAMBLE, "start"), n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        self._refuse(expected, f"found {self._found(self._k)}{hint}")

    def _preamble(self) -> None:
        word = self.words[self._k]
        if word not in PREAMBLE:
            self._unknown("discount:, values:, states:, actions: or observations:")
        if word in self._given and word in _KINDS:
            place = self.place(self._given[word])
            self._refuse("it once", f"'{word}:' also stands in {place}")
        self._given[word] = self._k
        self._colon()
        if word in _KINDS:
            self._names(_KINDS[word])
        elif word == "discount":
            (self.discount,) = self._many(1, 0, 1)
        elif self.words[self._k] in ("reward", "cost", "rewards", "costs"):
            self.cost = self.words[self._k].startswith("cost")
            self._k += 1
        else:
            self._refuse("reward or cost")

    def _names(self, kind: str) -> None:
        first = self._k
        if self._is(INTEGER):
            size = int(self.words[first])
            check_room(counted(size, kind), size * _NAME_BYTES, "Is the number right?")
            names = tuple(map(str, range(size)))
            self._k += 1
        else:
            while self._is_name():
                self._k += 1
            names = tuple(self.words[first : self._k])
        # a word of the format begins the next statement, with a colon; else it should be a name
        stop, after = self.words[self._k : self._k + 2]
        ends = stop in RESERVED and after in (":", "include", "exclude")
        if not names or not (ends or stop == ""):
            self._refuse(
                f"how many {kind}s, at least 1, or their names: letters, digits, '-' and '_', "
                "beginning with a letter, no word of the format but with a colon after it",
                at=self._k if names else first,
            )
        numbers: dict[str, int] = {}
        for i, name in enumerate(names):
            if numbers.setdefault(name, i) != i:
                fact = f"{kind} '{printable(name)}' is named twice"
                self._refuse("another name", fact, first + i)
        self.names[kind], self._numbers[kind] = names, numbers

    def _allocate(self) -> None:
        self.sees_states = "observation" not in self.names
        if self.sees_states:
            self.names["observation"] = self.names["state"]
            self._numbers["observation"] = self._numbers["state"]
        S, A, O = (len(self.names[kind]) for kind in ("state", "action", "observation"))
        what = f"{S:,} states and {O:,} observations"
        check_room(what, S * (O + 1) * _FIRST_BYTES, "Use a smaller model.")
        self.S, self.A, self.O = S, A, O
        self.start: Floats = np.full(S, 1 / S)
        self.start_token = self._k
        self.rows = {"T": GivenRows(A * S, S, "the numbers of T")}
        if not self.sees_states:
            self.rows["O"] = GivenRows(A * S, O, "the numbers of O")
        self.rewards = RewardLines((A, S, S, O))

    # ---- start ----------------------------------------------------------------------------

    def _start(self) -> None:
        which = self.words[self._k + 1]
        if which in ("include", "exclude"):
            self._k += 1
        self._colon()
        self.start_token = self._k
        # one number is a state, but where there is one state, it is its probability
        lone = self._is(INTEGER) and not self._is(_NUMBER, ahead=1)
        lone = lone and (self.S > 1 or self.words[self._k].strip("0") == "")
        if which in ("include", "exclude") or self._is_name() or lone:
            self._list(include=which != "exclude")
        elif self.words[self._k] == "uniform":
            self._k += 1
        else:
            self.start = np.array(self._many(self.S, 0, 1))

    def _list(self, include: bool) -> None:
        """States, all equally likely; or all others."""
        listed = np.zeros(self.S, np.bool_)
        while self._is(INTEGER) or self._is_name():
            listed[self._index("state")] = True
        if self._k == self.start_token:
            self._refuse("a list of states")
        chosen = listed if include else ~listed
        if not chosen.any():
            remedy = "one to be left to start in"
            self._refuse(remedy, "all states are excluded", self.start_token)
        self.start = chosen / chosen.sum()

    # ---- T, O and R -----------------------------------------------------------------------

    def _statement(self) -> None:
        word = self.words[self._k]
        if word in (*PREAMBLE, "start"):
            self._refuse("it once, before T, O and R", f"'{word}' stands too late")
        if word not in STATEMENTS:
            self._unknown("T:, O: or R:")
        if word == "O" and self.sees_states:
            self._refuse("it before, or no O", "there is no 'observations:'")
        self._colon()
        kinds = STATEMENTS[word]
        parts = [self._index(kinds[0], wildcard=True)]
        while self.words[self._k] == ":":
            if len(parts) == len(kinds):
                self._refuse("numbers", f"found ':' after {len(parts)} parts")
            self._k += 1
            parts.append(self._index(kinds[len(parts)], wildcard=True))
        if word == "R":
            self._reward(parts)
        else:
            self._law(word, parts)

    def _law(self, word: str, parts: list[int]) -> None:
        """The numbers of T or O: one cell, a row, a matrix; or a word for a row or matrix."""
        rows, width = self.rows[word], self.S if word == "T" else self.O
        said, token, named = self.words[self._k], self._k, self._named(*[*parts, ANY][:2])
        if len(parts) == 3:
            (p,) = self._many(1, 0, 1)
            if parts[2] == ANY:
                rows.put(named, [p] * width, token)
            else:
                rows.put_cell(named, parts[2], p, token)
        elif said == "uniform":
            rows.put(named, [1 / width] * width, token)
            self._k += 1
        elif word == "T" and said == "reset" and len(parts) == 2:
            rows.put(named, self.start.tolist(), token)
            self._k += 1
        elif word == "T" and said == "identity" and len(parts) == 1:
            rows.put(named, [], token)
            for s in range(self.S):
                rows.put_cell(self._named(parts[0], s), s, 1.0, token)
            self._k += 1
        elif not self._is(_NUMBER):
            self._refuse(
                f"numbers or 'uniform', after {word}: ACTION, or ACTION : STATE; for T also "
                "'identity' after the first and 'reset' after the second"
            )
        elif len(parts) == 2:
            rows.put(named, self._many(width, 0, 1), token)
        else:
            matrix = self._many(self.S * width, 0, 1)
            for s in range(self.S):
                row = matrix[s * width : (s + 1) * width]
                rows.put(self._named(parts[0], s), row, token + s * width)

    def _reward(self, parts: list[int]) -> None:
        # how many numbers follow so many parts, and the strides of s, s' and z in them
        S, O = self.S, self.O
        shapes = {4: (1, (0, 0, 0)), 3: (O, (0, 0, 1)), 2: (S * O, (0, O, 1))}
        if self.sees_states:
            shapes |= {3: (1, (0, 0, 0)), 2: (S, (0, 1, 0)), 1: (S * S, (S, 1, 0))}
        if len(parts) not in shapes:
            self._refuse("R: ACTION : STATE : NEXT-STATE : OBSERVATION")
        count, strides = shapes[len(parts)]
        if not self._is(_NUMBER):
            self._refuse(counted(count, "number"))
        a, s, t, z = (*parts, ANY, ANY, ANY)[:4]
        if self.sees_states and z != ANY:
            remedy = "'*' for the observation"
            self._refuse(remedy, "there are no observations", self._k - 1)
        self.rewards.put((a, s, t, z), self._many(count), strides)

    def _index(self, kind: str, wildcard: bool = False) -> int:
        """The number of the name, number or wildcard at hand."""
        word, names = self.words[self._k], self.names[kind]
        if word in self._numbers[kind]:
            number = self._numbers[kind][word]
        elif self._is(INTEGER) and int(word) < len(names):
            number = int(word)
        elif word == "*" and wildcard:
            number = ANY
        elif self._is_name():
            raise Mistake(self._k, not_one_of(kind, word, names))
        else:
            also = " or '*'" if wildcard else ""
            self._refuse(f"the {kind}'s name, its number from 0 to {len(names) - 1}{also}")
        self._k += 1
        return number

    def _named(self, action: int, state: int) -> range:
        """The rows of T or O that action and state name."""
        S = self.S
        if action != ANY:
            first, last = (0, S) if state == ANY else (state, state + 1)
            return range(action * S + first, action * S + last)
        return range(self.A * S) if state == ANY else range(state, self.A * S, S)
