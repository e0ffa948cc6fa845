"""The controller, step by step."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from jumar.show.program.python.data import (
    ACTION_COLUMNS,
    ACTIONS,
    DEFAULT,
    LAYERS,
    OBSERVATION_COLUMNS,
    OBSERVATIONS,
)
from jumar.show.program.python.names import _unknown
from jumar.show.program.python.readings import UnknownName, _joined, observation

# How the data above are written.
#
# A column is (name, ranges): ("low", 2.0, "high") calls numbers below 2 low, and 2 and above high.
# Without ranges its text is the name. Several columns are joined: "low+quiet". A missing value is
# called MISSING, if that is a name, and else refused. Text files have SEPARATOR between columns
# and DECIMAL in numbers.
#
# From here on observations and actions are numbers, in the order of their lists.
#
# A layer is (memory, rows). The first layer with a row for the history state (what is remembered
# and what is seen) decides; if none has one, DEFAULT does. Every layer always updates its memory.
#
# A memory is a tuple of parts (next, first, data): what it holds before the first step is `first`,
# and after z was seen and a was done at a node it holds next(data, node, z, a).
# The rows are {(part, part, ..., z): (probability of every action, ...)}.


def start(seed: int | None = None, most_likely: bool = False) -> Controller:
    """A controller at the beginning of an episode."""
    return Controller(seed, most_likely)


class Controller:
    """Runs the controller step by step.

    Call `reset` at the beginning of every episode, and `act` with what is seen at every step: the
    name of an observation, or a reading, which is a dict of columns and their values.
    The same seed gives the same actions; without a seed they differ from run to run. With
    `most_likely` nothing is drawn: the likeliest action is taken, of equal ones the first.
    """

    def __init__(self, seed: int | None = None, most_likely: bool = False) -> None:
        self._dice = random.Random(seed)
        self._most_likely = most_likely
        self._z = {name: number for number, name in enumerate(OBSERVATIONS)}
        self._a = {name: number for number, name in enumerate(ACTIONS)}
        self.reset()

    def reset(self) -> None:
        """Forget everything: a new episode begins. The dice go on where they are."""
        self._nodes = [tuple(first for _, first, _ in memory) for memory, _ in LAYERS]

    def probabilities(self, seen: object) -> dict[str, float]:
        """How likely every action is on seeing this now. Nothing is drawn or remembered."""
        row = self._row(self._seen(seen))
        return {name: row[a] for a, name in enumerate(ACTIONS)}

    def act(self, seen: object) -> str:
        """Choose an action on seeing this, and remember both."""
        z = self._seen(seen)
        a = self._choose(self._row(z))
        self._remember(z, a)
        return ACTIONS[a]

    def tell(self, seen: object, done: object) -> None:
        """Remember that this was seen and that somebody else did that."""
        z = self._seen(seen)
        self._remember(z, self._done(done))

    def _seen(self, seen: object) -> int:
        """The number of an observation, or of what a reading is called."""
        name = seen
        if isinstance(seen, Mapping):
            name = observation(seen)
        elif len(OBSERVATION_COLUMNS) == 1 and not (isinstance(seen, str) and seen in self._z):
            # the value of the only column; text without a number can only be a name
            column, ranges = OBSERVATION_COLUMNS[0]
            if not isinstance(seen, str) or (ranges and re.search("[0-9]", seen)):
                name = observation({column: seen})
        return self._number("observation", name, self._z)

    def _done(self, done: object) -> int:
        name = _joined("action", ACTION_COLUMNS, done) if isinstance(done, Mapping) else done
        return self._number("action", name, self._a)

    def _number(self, kind: str, name: object, numbers: dict[str, int]) -> int:
        if not isinstance(name, str) or name not in numbers:
            raise UnknownName(_unknown(kind, name, list(numbers)))
        return numbers[name]

    def _row(self, z: int) -> Sequence[float]:
        for layer, (_, rows) in enumerate(LAYERS):
            row: Sequence[float] | None = rows.get((*self._nodes[layer], z))
            if row is not None:
                return row
        return DEFAULT

    def _choose(self, row: Sequence[float]) -> int:
        if self._most_likely:
            return max(range(len(row)), key=lambda a: row[a])  # the first of equal ones
        left = self._dice.random()
        last = 0
        for a, probability in enumerate(row):
            if probability > 0:
                last = a  # when rounding leaves a little over, the last possible action takes it
                left -= probability
                if left < 0:
                    break
        return last

    def _remember(self, z: int, a: int) -> None:
        for layer, (memory, _) in enumerate(LAYERS):
            nodes = self._nodes[layer]
            self._nodes[layer] = tuple(
                move(data, nodes[i], z, a) for i, (move, _, data) in enumerate(memory)
            )
