"""Controller: a memory and action probabilities ψ(a | n, z) - a finite-state controller (FSC).

At every step the controller is in memory node n, sees z, draws a from ψ(· | n, z) and moves to
n' = step(n, z, a). A controller lists exceptions: history states ⟨n, z⟩ with a row of their own.
All others have one default row, or the row of a coarser controller, found by projecting the node.
So a behavior *lifted* to more memory is only that projection, and an improved controller is "the
behavior, except here". A long window takes no more room than its exceptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jumar.core.arrays import Floats, Frozen, Ints, RowIndex, freeze, same_content
from jumar.core.errors import ControllerError
from jumar.core.names import check_names, other_names, position_of
from jumar.core.randomness import Seed
from jumar.core.reading import LogReading
from jumar.core.text import Shown, printable
from jumar.memory import Memory, window
from jumar.memory.base import Projection
from jumar.memory.frames import Framed
from jumar.memory.refinement import projection
from jumar.policy.acting import Agent
from jumar.policy.chances import check_row, check_rows, without_exploration


@dataclass(frozen=True, eq=False, repr=False)
class Controller(Frozen, Shown, Framed):
    """A finite-state controller. K rows of its own, W words per memory node.

    As a table (`to_pandas`, `to_polars`, `to_arrow`) it has one row for each action in each history
    state that has a row of its own, layer by layer, and the default in the end.

    >>> c = Controller.uniform(("good", "worn"), ("keep", "repair"))
    >>> c.row([], "worn").tolist()
    [0.5, 0.5]
    """

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    memory: Memory
    states: Ints  # (K, W+1) int64, the ⟨n, z⟩ with a row of their own, sorted
    rows: Floats  # (K, A) float64, ψ(· | n, z) there
    otherwise: Controller | Floats  # everywhere else: a coarser controller, or one (A,) row
    name: str = "controller"
    # was it estimated from a log, so that who made the log is not known for certain?
    estimated: bool = False
    # the share of the time any action is taken, as its file says; rows and default contain it
    exploration: float = 0.0
    # how the log that it was learned from was read, so that it can act on raw readings
    reading: LogReading | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        self._put(
            observations=check_names("observation", self.observations, ControllerError),
            actions=check_names("action", self.actions, ControllerError),
        )
        O, A = len(self.observations), len(self.actions)
        self._put(memory=self.memory.on(O, A))
        states, rows = np.asarray(self.states), np.asarray(self.rows, np.float64)
        check_rows(self, states, rows)
        order = np.lexsort(states.T[::-1])
        self._put(states=freeze(states[order], np.int64), rows=freeze(rows[order], np.float64))
        if not isinstance(self.otherwise, Controller):
            self._freeze(np.float64, "otherwise")
            check_row(f"{self.name}: the default row", self.otherwise, A)
            return
        for kind in other_names(self, self.otherwise):
            raise ControllerError(
                f"{self.name}: its {kind} differ from those of {self.otherwise.name}, which it "
                "falls back on."
            )
        self._projection  # noqa: B018 - found now, so that a mismatch is told at once

    @property
    def summary(self) -> str:
        below = self.otherwise
        rest = f"as {printable(below.name)!r}" if isinstance(below, Controller) else "one row"
        return (
            f"{printable(self.name)!r}, {self.memory}, {len(self.observations)} observations, "
            f"{len(self.actions)} actions, own rows: {len(self.rows):,}, otherwise {rest}"
        )

    # ---- reading the rows -----------------------------------------------------------------

    @property
    def layers(self) -> list[Controller]:
        """This controller, the one it falls back on, and so on."""
        found = [self]
        while isinstance(below := found[-1].otherwise, Controller):
            found.append(below)
        return found

    @property
    def default(self) -> Floats:
        """(A,) the row where no layer has one."""
        row = self.layers[-1].otherwise
        assert not isinstance(row, Controller)
        return row

    @cached_property
    def _lifted(self) -> dict[Memory, Controller]:
        """By memory: a log is looked at many times over the same few."""
        return {}

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self.states)

    @cached_property
    def _projection(self) -> Projection:
        assert isinstance(self.otherwise, Controller)
        return projection(self.memory, self.otherwise.memory)

    def rows_at(self, states: Ints) -> Floats:
        """(N, A) ψ(· | n, z) for every ⟨n, z⟩ given as a row of W+1 integers."""
        own = self._index.find(states)
        rows = np.empty((len(states), len(self.actions)))
        if len(self.rows):
            rows[own >= 0] = self.rows[own[own >= 0]]
        rest = np.flatnonzero(own < 0)
        if len(rest) == 0:
            return rows
        if isinstance(self.otherwise, Controller):
            projected = np.column_stack([self._projection(states[rest, :-1]), states[rest, -1]])
            rows[rest] = self.otherwise.rows_at(projected)
        else:
            rows[rest] = self.otherwise
        return rows

    def state(self, node: Any, observation: str) -> Ints:
        """(W+1,) the numbers of ⟨n, z⟩ given in names, as files write them."""
        words = self.memory.write_node(node, self.observations, self.actions)
        z = position_of("observation", observation, self.observations, ControllerError)
        return np.array([*words, z], np.int64)

    def row(self, node: Any, observation: str) -> Floats:
        """ψ(· | n, z) for a node and an observation given in names.

        Parameters
        ----------
        node
            As files write it: ``[]`` where nothing is remembered.
        observation
            What is seen.

        Returns
        -------
        array
            (A,) the probability of every action.

        Examples
        --------
        >>> Controller.uniform(("good", "worn"), ("keep", "repair")).row([], "worn").tolist()
        [0.5, 0.5]
        """
        row: Floats = self.rows_at(self.state(node, observation)[None, :])[0]
        return row

    def describe(self, state: Ints) -> str:
        """⟨n, z⟩ in names."""
        node = self.name_node(state[:-1])
        return f"node {node!r}, observation {self.observations[int(state[-1])]!r}"

    def name_node(self, words: Ints) -> Any:
        """A memory node in names, as files write it."""
        return self.memory.read_node(words, self.observations, self.actions)

    # ---- acting ---------------------------------------------------------------------------

    def start(self, seed: Seed | None = None, *, most_likely: bool = False) -> Agent:
        """An agent that runs this controller, at the beginning of an episode.

        Parameters
        ----------
        seed
            What actions are drawn with: a whole number or a generator, for the same actions every
            time. Without it, they differ from agent to agent.
        most_likely
            Draw nothing; take the likeliest action, of equal ones the first.

        Returns
        -------
        Agent
            Its `act` takes an observation and gives an action. The policy of a result also takes
            raw readings, as its log had them: a dict of columns, or the value of the only one.

        Examples
        --------
        >>> c = Controller.constant(("good", "worn"), ("keep", "repair"), [0, 1], window(2))
        >>> agent = c.start(1)
        >>> agent.act("worn"), agent.node, agent.probabilities("good")
        ('repair', ['worn'], {'keep': 0.0, 'repair': 1.0})
        """
        return Agent(self, seed, most_likely)

    # ---- making new ones ------------------------------------------------------------------

    def lift(self, memory: Memory) -> Controller:
        """The same policy over a memory that refines this one's; its value is exactly the same.

        Parameters
        ----------
        memory
            The longer memory.

        Returns
        -------
        Controller
            The same policy.

        Examples
        --------
        >>> c = Controller.uniform(("good", "worn"), ("keep", "repair"))
        >>> str(c.lift(window(3)).memory)
        'window of 3'
        """
        memory = memory.on(len(self.observations), len(self.actions))
        if memory == self.memory:
            return self
        if memory not in self._lifted:
            none = np.zeros((0, memory.width + 1), np.int64), np.zeros((0, len(self.actions)))
            self._lifted[memory] = replace(
                self, memory=memory, states=none[0], rows=none[1], otherwise=self
            )
        return self._lifted[memory]

    def except_at(self, states: Ints, rows: Floats, name: str | None = None) -> Controller:
        """This controller, except for the given rows; rows that change nothing are dropped. It is
        a new rule, known exactly, whatever this one was estimated from."""
        changed = (self.rows_at(states) != rows).any(1)
        if not changed.any():
            return replace(self, name=name or self.name, estimated=False)
        base: Controller | Floats = self
        if len(self.rows) == 0:
            base = self.otherwise  # no exceptions of its own: skip the empty layer
        return Controller(
            self.observations,
            self.actions,
            self.memory,
            states[changed],
            rows[changed],
            base,
            name=name or self.name,
        )

    def minimized(self, *, any_action: bool = False) -> Controller:
        """The controller with the fewest memory nodes that does exactly the same.

        It acts the same on every history that can occur: whatever is seen, logged or not, and
        whatever this controller itself may do. Its nodes are named after the histories they stand
        for; one that needs no memory has none. Controllers that do the same have the same smallest
        one, up to these names.

        Parameters
        ----------
        any_action
            Do the same also after actions that this controller never takes, which somebody else
            did (`Agent.tell`). It may take more nodes.

        Returns
        -------
        Controller
            Over named nodes. TooLarge where too many nodes are in reach to list them.

        Examples
        --------
        >>> keep = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0], window(3))
        >>> once = keep.except_at(np.array([keep.state(["good", "worn"], "worn")]),
        ...                       np.array([[0.0, 1.0]]))
        >>> small = once.minimized()
        >>> keep.memory.count_nodes(), small.memory.nodes
        (7, ('(start) or (start) → worn or worn → worn', 'good', 'good → worn'))
        >>> small.row("good → worn", "worn").tolist()
        [0.0, 1.0]
        """
        from jumar.policy.minimizing import minimized

        return minimized(self, any_action)

    @property
    def intended(self) -> Controller:
        """The same controller without its exploration: what it means to do. Itself, where nothing
        says that it explores.

        >>> slips = Controller.constant(("z",), ("keep", "repair"), [0.99, 0.01])
        >>> replace(slips, exploration=0.02).intended.row([], "z").tolist()
        [1.0, 0.0]
        """
        below = self.otherwise
        if isinstance(below, Controller):
            rest: Controller | Floats = below.intended
        else:
            rest = without_exploration(below, self.exploration)
        if rest is below and not self.exploration:
            return self
        rows = without_exploration(self.rows, self.exploration)
        return replace(self, rows=rows, otherwise=rest, exploration=0.0)

    @classmethod
    def uniform(
        cls,
        observations: Sequence[str],
        actions: Sequence[str],
        memory: Memory | None = None,
        name: str = "uniform",
    ) -> Controller:
        """Every action equally likely, always.

        Parameters
        ----------
        observations
            Their names.
        actions
            Their names.
        memory
            What it remembers; without it, nothing but the current observation.
        name
            What it is called.

        Returns
        -------
        Controller
            The controller.
        """
        row = np.full(len(actions), 1 / len(actions))
        return cls.constant(observations, actions, row, memory, name)

    @classmethod
    def constant(
        cls,
        observations: Sequence[str],
        actions: Sequence[str],
        row: ArrayLike,
        memory: Memory | None = None,
        name: str = "constant",
    ) -> Controller:
        """The same row, always.

        Parameters
        ----------
        observations
            Their names.
        actions
            Their names.
        row
            The probability of every action.
        memory
            What it remembers; without it, nothing but the current observation.
        name
            What it is called.

        Returns
        -------
        Controller
            The controller.
        """
        memory = (memory or window(1)).on(len(observations), len(actions))
        none = np.zeros((0, memory.width + 1), np.int64), np.zeros((0, len(actions)))
        names = tuple(observations), tuple(actions)
        return cls(*names, memory, *none, np.asarray(row, np.float64), name)

    def to_arrow(self) -> Any:
        """The probability of every action, as a table of pyarrow: layer 0 are its own rows, 1 those
        of the controller it falls back on. The last rows, without an observation, are the
        default."""
        from jumar.policy.words import table_of

        return table_of(self)

    # ---- comparing and keeping ------------------------------------------------------------

    def same_as(self, other: Controller) -> bool:
        """Equal observations, actions, memory and rows, bit for bit; the name does not count."""
        return same_content(self._law, other._law)

    @property
    def _law(self) -> tuple[Any, ...]:
        """All that decides what it does."""
        layers = [(layer.memory, layer.states, layer.rows) for layer in self.layers]
        return self.observations, self.actions, layers, self.default

    def save(self, path: str | Path) -> None:
        """Write a JSON file that `load_controller` reads back exactly.

        Parameters
        ----------
        path
            The file, which ends in .json.
        """
        from jumar.policy.files import save_controller

        save_controller(self, path)
