"""Memory learned from a log: as much of the past as the log shows to matter, in few nodes.

The memory that is learned is an automaton beside that of the behavior. It begins with one node, and
then, as long as the evidence grows (`laws`),

    nodes after which different things follow, depending on how they were come to, are split,
    moves are redirected to where what follows fits best,
    nodes after which the same follows are merged,

where "what follows" is the outcome of every action in every history state of the behavior: the next
observation or the end, and the reward. A log in which the behavior's memory is enough teaches one
node, which is no memory at all. Nothing here is a test with a level: what is learned is a proposal,
and what is learned *with* it must be tested on episodes that had no part in it.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.errors import ParameterError
from jumar.core.randomness import Seed, generator
from jumar.core.resources import Watch, check_room, journal
from jumar.core.text import counted
from jumar.evidence.order.testing import some_episodes
from jumar.evidence.remembering.laws import PRIOR, Told
from jumar.evidence.remembering.merging import merged
from jumar.evidence.remembering.naming import names_of
from jumar.evidence.remembering.redirecting import redirected, visited
from jumar.evidence.remembering.splitting import split_up
from jumar.memory import Memory, NamedNodes
from jumar.memory.refinement import join
from jumar.policy.files import ControllerLike, controller_of
from jumar.tally.replay import LogLike, Replays, log_of

MOST_NODES = 16
LARGEST = 1000  # that may be asked for
MOST_STEPS = 200_000  # of a longer log, as many episodes as have about so many steps are used
ROUNDS = 6
MORE = 2  # times as many nodes may be split before they are merged


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
    made_by = controller_of(behavior)
    replays = Replays.of(log_of(log, made_by)).align(made_by.observations, made_by.actions)
    return memory_of(replays, made_by.memory, most_nodes=most_nodes, seed=seed)


def memory_of(
    replays: Replays, known: Memory, *, most_nodes: int = MOST_NODES, seed: Seed = 1
) -> Memory:
    """What is worth remembering beside a memory."""
    whole = isinstance(most_nodes, int | np.integer) and not isinstance(most_nodes, bool)
    if not whole or not 1 <= most_nodes <= LARGEST:
        raise ParameterError(
            f"most_nodes: {most_nodes!r} must be a whole number from 1 to {LARGEST}."
        )
    watch = Watch()
    replays = some_episodes(replays, generator(seed, "memory"), MOST_STEPS)
    told, log = Told.of(replays.over(known)), replays.log
    O, A = len(log.observations), len(log.actions)
    moves = learned(told, int(most_nodes))
    if len(moves) == 1:
        journal.info(
            "Learned from %s: nothing to remember (%s)", counted(log.n_steps, "step"), watch
        )
        return known.on(O, A)
    check_room(
        f"{len(moves)} nodes with {O:,} observations and {A:,} actions",
        16 * len(moves) * O * A,
        "Cut readings into ranges (--bins), or ask for fewer nodes.",
    )
    names = names_of(told, moves, log.observations, log.actions)
    table = NamedNodes(names, moves[:, told.symbols]).on(O, A)
    found = join(known.on(O, A), table)
    journal.info("Learned from %s: %s (%s)", counted(log.n_steps, "step"), found, watch)
    return found


def learned(told: Told, most: int) -> Ints:
    """(K, S) the moves of the automaton; 0 is the first node."""
    best: Ints = np.zeros((1, len(told.seen)), np.int64)
    if not len(told.pair):
        return best
    evidence = _evidence(told, best)
    for _ in range(ROUNDS):
        moves = split_up(told, best, MORE * most)
        for _ in range(2):
            moves = merged(told, redirected(told, moves), most)
        found = _evidence(told, moves)
        if found <= evidence:
            break
        best, evidence = moves, found
    return visited(told, best)


def _evidence(told: Told, moves: Ints) -> float:
    """log p of the log, given that the automaton tells all that matters."""
    from jumar.evidence.remembering.kernels import log_evidence

    counts, steps = told.counts(told.nodes(moves), len(moves)), np.zeros(len(told.outcomes))
    return sum(log_evidence(own, told.pair, told.outcomes, steps, PRIOR) for own in counts)
