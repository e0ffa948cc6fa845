"""Policy graphs (.pg) of pomdp-solve: lines ``node action next next ...``, a next node for every
observation.

A node of such a graph says what to do; what is seen *after* it leads to the next. There are no
names, and nothing says where to start. So reading needs names, those of a model, and a start:

- a node: it acts first, whatever is seen at first (the format knows no first observation);
- "observed": the node with the number of the first observation acts first. Files written by jumar
  are meant so: their first nodes are those for each first observation.

A dash or X in place of a next node says that this is never seen there; such a node stays.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.documents import show
from jumar.core.errors import ControllerError, ParameterError
from jumar.core.text import counted, printable
from jumar.policy.controller import Controller
from jumar.policy.files.machines import Named, check_machine, from_machine, listed

OBSERVED = "observed"
NEVER = ("-", "x", "X")


def policy_graph(controller: Controller) -> str:
    """The text of a policy graph. Its nodes are the history states ⟨n, z⟩ that can be reached, each
    with the one action that is taken there; first those at the beginning, for every observation.

    >>> keep = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0])
    >>> print(policy_graph(keep), end="")
    0 0  0 1
    1 0  0 1
    """
    nodes = listed(controller, "policy graph")
    O = len(controller.observations)
    graph = {(0, z): z for z in range(O)}
    todo, lines = list(graph), []
    for n, z in todo:  # grows
        may = np.flatnonzero(nodes.possible[n, z])
        if len(may) > 1:
            raise ControllerError(
                f"{controller.name}: on seeing {controller.observations[z]!r} at node {n}, several "
                "actions are possible. A policy graph has one action per node. Save it as .json, "
                "or as .paynt.json."
            )
        after = int(nodes.moves[n, z, may[0]])
        for seen in range(O):
            if (after, seen) not in graph:
                graph[after, seen] = len(graph)
                todo.append((after, seen))
        moves = " ".join(str(graph[after, seen]) for seen in range(O))
        lines.append(f"{graph[n, z]} {may[0]}  {moves}\n")
    return "".join(lines)


def from_policy_graph(
    text: str, place: str, name: str, names: Named | None, start: int | str = 0
) -> Controller:
    """The controller of a policy graph."""
    if names is None:
        raise ControllerError(
            f"{place}: a policy graph has no names. Give the model it is for, whose names it takes."
        )
    O, A = len(names.observations), len(names.actions)
    does, goes = _read(text, place, O, A)
    M = len(does)
    check_machine(place, M + 1, O, A)
    if start != OBSERVED and (isinstance(start, bool) or start not in range(M)):
        raise ParameterError(
            f"start {printable(str(start))!r}: there are nodes 0 to {M - 1}. Give one of them, or "
            f"{OBSERVED!r}: the node with the number of the first observation."
        )
    if start == OBSERVED and M < O:
        raise ControllerError(
            f"{place}: there are {counted(M, 'node')} for {counted(O, 'observation')}, so the "
            "first one cannot say where to start. Give the node."
        )
    # one more node, in which nothing was seen yet; being at a node means that it acted last
    first = np.arange(O) if start == OBSERVED else np.full(O, int(start))
    update = np.concatenate([goes, first[None, :]])
    rows = np.zeros((M + 1, O, A))
    n, z = np.indices(update.shape)
    rows[n, z, does[update]] = 1
    return from_machine(names, rows, update, M, [*(f"node {n}" for n in range(M)), "start"], name)


def _read(text: str, place: str, O: int, A: int) -> tuple[Ints, Ints]:
    """(M,) the action of every node, (M, O) where it goes."""
    lines = [
        (number, words)
        for number, line in enumerate(text.splitlines(), 1)
        if (words := line.split("#")[0].split())
    ]
    if not lines:
        raise ControllerError(f"{place}: there is no node. Write lines: node action next next ...")
    M = len(lines)
    does, goes = np.zeros(M, np.int64), np.zeros((M, O), np.int64)
    for n, (number, words) in enumerate(lines):
        where = f"{place}, line {number}"
        if len(words) != 2 + O:
            raise ControllerError(
                f"{where}: has {counted(len(words), 'word')}, but a node, an action and the next "
                f"node for each of {counted(O, 'observation')} are {2 + O}."
            )
        if _number(words[0], where, "node", M) != n:
            raise ControllerError(
                f"{where}: node {words[0]} stands where node {n} is expected. Number nodes from 0."
            )
        does[n] = _number(words[1], where, "action", A)
        for z, word in enumerate(words[2:]):
            goes[n, z] = n if word in NEVER else _number(word, where, "node", M)
    return does, goes


def _number(word: str, where: str, kind: str, most: int) -> int:
    if not (word.isascii() and word.isdigit()) or len(word) > 18 or int(word) >= most:
        raise ControllerError(f"{where}: {show(word)} is no {kind} from 0 to {most - 1}.")
    return int(word)
