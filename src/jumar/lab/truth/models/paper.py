"""The three benchmarks of the paper, with explicit endings and first-observation laws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jumar.lab.truth.pomdp import Pomdp, from_arrays

GOAL = 10
LOOKS = (0, 1, 2, 1, 3, 4, 4, 4, 5, 5)  # observation of each cell
SIGHTS = "corner-nw", "corridor", "junction", "corner-ne", "shaft", "dead-end", "cheese"
MOVES = (
    {5: 0, 6: 2, 7: 4, 8: 5, 9: 7},  # north
    {0: 5, 2: 6, 4: 7, 5: 8, 6: GOAL, 7: 9},  # south
    {0: 1, 1: 2, 2: 3, 3: 4},  # east
    {4: 3, 3: 2, 2: 1, 1: 0},  # west
)


HEAR = ((0.85, 0.15), (0.15, 0.85))  # what is heard, by where the tiger is


def tiger(hear: Sequence[Sequence[float]] = HEAR) -> Pomdp:
    """Tiger (Kaelbling, Littman, Cassandra 1998), episodic.

    The tiger is behind the left or the right door. Listening costs 1 and tells the side with
    probability 0.85; opening ends the episode, with -100 for the tiger and +10 for the other door.
    One thing is heard before the first decision, so the first observation is already informative.
    """
    stay, gone = [[1, 0], [0, 1]], [[0, 0], [0, 0]]
    return from_arrays(
        name="tiger",
        states=["tiger-left", "tiger-right"],
        actions=["open-left", "open-right", "listen"],
        observations=["hear-left", "hear-right"],
        transition=[gone, gone, stay],
        ending=[[1, 1], [1, 1], [0, 0]],
        observation=[hear, hear, hear],
        reward=[[-100, 10], [10, -100], [-1, -1]],
        start=[0.5, 0.5],
        first_observation=hear,
        discount=0.95,
        max_steps=300,
    )


def voicemail() -> Pomdp:
    """Voicemail (Williams and Young 2007), episodic.

    A user wants a message saved (0.65) or deleted (0.35). Asking costs 1 and is understood with
    probability 0.8 when the user wants it saved, 0.7 when deleted. Saving and deleting end the
    dialog: +5 when right, -10 for saving what should go, -20 for deleting what should stay. The
    first utterance is heard before the first decision.
    """
    hear = [[0.8, 0.2], [0.3, 0.7]]
    stay, gone = [[1, 0], [0, 1]], [[0, 0], [0, 0]]
    return from_arrays(
        name="voicemail",
        states=["wants-save", "wants-delete"],
        actions=["ask", "save", "delete"],
        observations=["hear-save", "hear-delete"],
        transition=[stay, gone, gone],
        ending=[[0, 0], [1, 1], [1, 1]],
        observation=[hear, hear, hear],
        reward=[[-1, -1], [5, -10], [-20, 5]],
        start=[0.65, 0.35],
        first_observation=hear,
        discount=0.95,
        max_steps=300,
    )


def cheese_maze(step_reward: float = -0.01) -> Pomdp:
    """CheeseMaze (McCallum 1993), episodic.

    ::

        c0  c1  c2  c3  c4        the number is the cell; cells that look alike share an observation
        c5      c6      c7
        c8     cheese   c9

    Moves are certain, bumping into a wall means staying. An episode starts in any cell but the
    goal, all equally likely, and ends with +1 on reaching the cheese; every other step pays
    `step_reward`; 0 gives the variant behind the published curves.
    """
    A, S = len(MOVES), len(LOOKS)
    transition, ending = np.zeros((A, S, S)), np.zeros((A, S))
    reward = np.full((A, S), float(step_reward))
    for a, moves in enumerate(MOVES):
        for s in range(S):
            to = moves.get(s, s)
            if to == GOAL:
                ending[a, s], reward[a, s] = 1.0, 1.0
            else:
                transition[a, s, to] = 1.0
    look = np.eye(len(SIGHTS))[list(LOOKS)]
    return from_arrays(
        name="cheese_maze",
        states=[f"c{s}" for s in range(S)],
        actions=["north", "south", "east", "west"],
        observations=list(SIGHTS),
        transition=transition,
        ending=ending,
        observation=[look] * A,
        reward=reward,
        start=np.full(S, 1 / S),
        first_observation=look,
        discount=0.95,
        max_steps=300,
    )
