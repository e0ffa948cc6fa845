"""Names for the nodes of an automaton: the shortest history that leads to each.

A step of a history is told by what matters: the observation where whatever is done on it leads to
the same node, the action where it does so whatever is seen, else both. "×3" is three times.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from jumar.core.arrays import Bools, Ints
from jumar.core.text import shown
from jumar.evidence.remembering.laws import RARE, Told

START = "start"
ANYTHING, SELDOM = "any step", "anything else"
LONGEST_NAME = 40  # letters: what a terminal shows of a name
LONGEST_WORD = 20


def names_of(
    told: Told, moves: Ints, observations: Sequence[str], actions: Sequence[str]
) -> tuple[str, ...]:
    """A name for every node."""
    used = told.used(moves)
    history: dict[int, tuple[str, ...]] = {0: ()}
    queue = [0]
    for n in queue:  # which grows: the nearest first, of these the one that most steps lead to
        order = np.argsort(-used[n], kind="stable")
        for s in order[used[n][order] > 0].tolist():
            end = int(moves[n, s])
            if end not in history:
                word = _word(told, moves[n], used[n] > 0, s, observations, actions)
                history[end] = (*history[n], word)
                queue.append(end)
    names: list[str] = []
    for n in range(len(moves)):
        names.append(_new(_told(history.get(n, ())), names))
    return tuple(names)


def _word(
    told: Told, ends: Ints, used: Bools, s: int, observations: Sequence[str], actions: Sequence[str]
) -> str:
    """One step from a node, in as few words as tell where it leads."""
    z, a = int(told.seen[s]), int(told.done[s])
    if z == RARE:
        return SELDOM
    same, used = ends == ends[s], used | (np.arange(len(ends)) == s)
    if same[used].all() and len(np.unique(ends)) == 1:
        return ANYTHING
    if same[used & (told.seen == z)].all():
        return shown(observations[z], LONGEST_WORD)
    if same[used & (told.done == a)].all():
        return shown(actions[a], LONGEST_WORD)
    return f"{shown(observations[z], LONGEST_WORD)}: {shown(actions[a], LONGEST_WORD)}"


def _told(history: Sequence[str]) -> str:
    """
    >>> _told(()), _told(("run", "run", "worn: wait"))
    ('start', 'run ×2 → worn: wait')
    """
    runs = [(word, len(list(same))) for word, same in groupby(history)]
    words = [word if times == 1 else f"{word} ×{times}" for word, times in runs]
    told = " → ".join(words) or START
    while len(told) > LONGEST_NAME and len(words) > 1:
        words = words[1:]
        told = " → ".join(["…", *words])
    return told


def _new(name: str, taken: Sequence[str]) -> str:
    """The name, or the name with a number where it is taken."""
    number, found = 2, name
    while found in taken or found == "*":
        found, number = f"{name} ({number})", number + 1
    return found
