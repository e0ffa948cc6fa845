"""Memory learned from a log: as much of the past as the log shows to matter, in few nodes.

The memory that is learned is an automaton beside that of the behavior. It begins with one node, and
then, as long as the evidence grows (`coded`),

    nodes after which different things follow, depending on how they were come to, are split,
    moves are redirected to where what follows fits best,
    nodes after which the same follows are merged,

where "what follows" is the outcome of every action in every history state of the behavior: the next
observation or the end, and the reward. A log in which the behavior's memory is enough teaches one
node, which is no memory at all. Nothing here is a test with a level: what is learned is a proposal,
and what is learned *with* it must be tested on episodes that had no part in it.

*Redirecting.* A new node goes where the one goes that it was split from, and a move that is rarely
made may then go to the wrong place. So every move is tried with every node as its end, and keeps
the best: the one with which the log has the largest evidence (`coded`). What a trial costs follows
the steps that it changes: from where the move is made to where both automata are in the same node
again.

*Merging.* Two nodes can be merged only with the nodes that they lead to by the same (z, a), and so
on: else the automaton would not know where to go. What that costs or gains is the log evidence of
the automaton (`coded`) with and without. The pair that gains most is merged first; when no pair
gains any more, it is done, unless there are still too many nodes: then the pair that costs least.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, groupby

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.documents import whole
from jumar.core.errors import ParameterError
from jumar.core.randomness import Seed, generator
from jumar.core.resources import Watch, check_room, journal
from jumar.core.text import counted, shown
from jumar.evidence.order import some_episodes, with_behavior
from jumar.evidence.remembering.coded import PRIOR, RARE, CodedLog
from jumar.evidence.remembering.splitting import split_nodes
from jumar.memory import Memory, NamedNodes
from jumar.memory.refinement import join
from jumar.policy.files import ControllerLike
from jumar.tally.replay import LogLike, Replays

MOST_NODES = 16
LARGEST = 1000  # that may be asked for
MOST_STEPS = 200_000  # of a longer log, as many episodes as have about so many steps are used
ROUNDS = 6
MORE = 2  # times as many nodes may be split before they are merged
SWEEPS = 5
MOST_MOVES = 400  # that are tried, the most frequent ones
LEAST_GAIN = 1e-6  # in log evidence; less is rounding
START = "start"
ANYTHING, SELDOM = "any step", "anything else"
LONGEST_NAME = 40  # letters: what a terminal shows of a name
LONGEST_WORD = 20


def learn_memory(
    log: LogLike,
    behavior: ControllerLike,
    *,
    most_nodes: int = MOST_NODES,
    seed: Seed = 1,
) -> Memory:
    """Learn from a log what is worth remembering.

    What is learned with this memory *from the same log* must not be tested on it. ``improve(...,
    memory="learn")`` learns the memory anew from each half, and tests on the other.

    Parameters
    ----------
    log
        What `read_logs` returns, a file, or a table of pandas, polars or pyarrow.
    behavior
        The controller that made the log, or its file.
    most_nodes
        Of the automaton that is learned.
    seed
        A whole number or a generator. Draws the episodes that are used, where a log is very long.

    Returns
    -------
    Memory
        What the behavior remembers, and a table of nodes beside it (`NamedNodes`); the table alone
        where the behavior remembers nothing, and the behavior's memory where that is enough. A
        node of the table is called after the shortest history that leads there.

    Examples
    --------
    >>> from jumar import Controller, models, simulate
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=4000, seed=1)
    >>> learn_memory(log, behavior).nodes
    ('start', 'hear-left ×2', 'hear-right', 'hear-left')
    """
    made_by, replays = with_behavior(log, behavior)
    return memory_of(replays, made_by.memory, most_nodes=most_nodes, seed=seed)


def memory_of(
    replays: Replays, known: Memory, *, most_nodes: int = MOST_NODES, seed: Seed = 1
) -> Memory:
    """What is worth remembering beside a memory."""
    most_nodes, watch = whole(most_nodes, "most_nodes", ParameterError, 1, LARGEST), Watch()
    replays = some_episodes(replays, generator(seed, "memory"), MOST_STEPS)
    coded, log = CodedLog.of(replays.over(known)), replays.log
    O, A = len(log.observations), len(log.actions)
    moves = learn_moves(coded, most_nodes)
    if len(moves) == 1:
        nothing = "Learned from %s: nothing to remember (%s)"
        journal.info(nothing, counted(log.n_steps, "step"), watch)
        return known.on(O, A)
    check_room(
        f"{len(moves)} nodes with {O:,} observations and {A:,} actions",
        16 * len(moves) * O * A,
        "Cut readings into ranges (--bins), or ask for fewer nodes.",
    )
    names = name_nodes(coded, moves, log.observations, log.actions)
    table = NamedNodes(names, moves[:, coded.symbols]).on(O, A)
    found = join(known.on(O, A), table)
    journal.info("Learned from %s: %s (%s)", counted(log.n_steps, "step"), found, watch)
    return found


def learn_moves(log: CodedLog, most: int) -> Ints:
    """(K, S) the moves of the automaton; 0 is the first node."""
    best: Ints = np.zeros((1, len(log.seen)), np.int64)
    if not len(log.pair):
        return best
    evidence = _evidence(log, best)
    for _ in range(ROUNDS):
        moves = split_nodes(log, best, MORE * most)
        for _ in range(2):
            moves = merge_nodes(log, redirect_moves(log, moves), most)
        found = _evidence(log, moves)
        if found <= evidence:
            break
        best, evidence = moves, found
    return drop_unvisited(log, best)


def _evidence(log: CodedLog, moves: Ints) -> float:
    """log p of the log, given that the automaton tells all that matters."""
    from jumar.evidence.loops import log_evidence

    counts, steps = log.counts(log.nodes(moves), len(moves)), np.zeros(len(log.outcomes))
    return sum(log_evidence(own, log.pair, log.outcomes, steps, PRIOR) for own in counts)


def redirect_moves(log: CodedLog, moves: Ints) -> Ints:
    """(K, S) the moves with better ends, and without nodes that are not visited any more."""
    from jumar.evidence.loops import sweep

    moves = moves.copy()
    end = np.repeat(log.start[1:], np.diff(log.start))
    for _ in range(SWEEPS):
        nodes, used = log.nodes(moves), log.used(moves).reshape(-1)
        order = np.argsort(-used, kind="stable")[:MOST_MOVES]
        order = order[used[order] > 0]
        counts = log.counts(nodes, len(moves))
        fixed = (log.symbol, log.cell, end, log.pair, log.outcomes)
        if not sweep(moves, nodes, counts, order, *fixed, PRIOR, LEAST_GAIN):
            break
    return drop_unvisited(log, moves)


def drop_unvisited(log: CodedLog, moves: Ints) -> Ints:
    """Without the nodes that the log never comes to. A move that the log never makes goes where
    that (z, a) goes most often, or back to the first node."""
    K, S = moves.shape
    used = log.used(moves)
    ends = np.zeros((S, K))
    np.add.at(ends, (np.broadcast_to(np.arange(S), (K, S)), moves), used)
    moves = np.where(used > 0, moves, ends.argmax(1))
    kept = np.zeros(K, np.bool_)
    kept[0] = True
    kept[moves[used > 0]] = True
    number = np.cumsum(kept) - 1
    found: Ints = number[moves[kept]]
    return found


def merge_nodes(log: CodedLog, moves: Ints, most: int) -> Ints:
    """(K, S) the moves with fewer nodes; 0 stays the first."""
    from jumar.evidence.loops import best_merge

    while len(moves) > 1:
        counts = log.counts(log.nodes(moves), len(moves))
        gain, group = best_merge(moves, counts, log.pair, log.outcomes, PRIOR)
        if gain <= 0 and len(moves) <= most:
            break
        first, number = np.unique(group, return_inverse=True)
        moves = number[moves[first]]  # nodes are numbered by the first one of each group
    return moves


# ---- names --------------------------------------------------------------------------------------


def name_nodes(
    log: CodedLog, moves: Ints, observations: Sequence[str], actions: Sequence[str]
) -> tuple[str, ...]:
    """A name for every node."""
    used = log.used(moves)

    def word(n: int, s: int) -> str:
        """One step from a node, in as few words as tell where it leads."""
        z, a = int(log.seen[s]), int(log.done[s])
        if z == RARE:
            return SELDOM
        same, known = moves[n] == moves[n, s], used[n] > 0
        if same.all():
            return ANYTHING
        seen, done = shown(observations[z], LONGEST_WORD), shown(actions[a], LONGEST_WORD)
        if same[known & (log.seen == z)].all():
            return seen
        return done if same[known & (log.done == a)].all() else f"{seen}: {done}"

    history: dict[int, tuple[str, ...]] = {0: ()}
    queue = [0]
    for n in queue:  # which grows: the nearest first, of these the one that most steps lead to
        order = np.argsort(-used[n], kind="stable")
        for s in order[used[n][order] > 0].tolist():
            end = int(moves[n, s])
            if end not in history:
                history[end] = (*history[n], word(n, s))
                queue.append(end)
    names: list[str] = []
    for n in range(len(moves)):
        name = found = _history_name(history.get(n, ()))
        numbers = count(2)
        while found in names or found == "*":
            found = f"{name} ({next(numbers)})"
        names.append(found)
    return tuple(names)


def _history_name(history: Sequence[str]) -> str:
    """
    >>> _history_name(()), _history_name(("run", "run", "worn: wait"))
    ('start', 'run ×2 → worn: wait')
    """
    runs = [(word, len(list(same))) for word, same in groupby(history)]
    words = [word if times == 1 else f"{word} ×{times}" for word, times in runs]
    name = " → ".join(words) or START
    while len(name) > LONGEST_NAME and len(words) > 1:
        words = words[1:]
        name = " → ".join(["…", *words])
    return name
