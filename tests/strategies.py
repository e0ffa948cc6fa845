"""Random small worlds for hypothesis: alphabets, memories, controllers, logs, models.

Probabilities are ratios of small integers, so zeros, ties and certain events are common, and a
failing example shrinks to one that can be read. Rewards are multiples of 1/4: sums of them are
exact, whatever the order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from hypothesis import strategies as st

from jumar.evidence.first_visits import FirstVisits, ReturnBounds
from jumar.lab.truth.pomdp import Pomdp, from_arrays
from jumar.log.episodes import Episodes
from jumar.memory import Memory, NamedNodes, product, window
from jumar.policy.controller import Controller
from jumar.solve.solver import action_values, policy_value
from jumar.tally.history import HistoryMdp


def names(letter: str, size: int) -> tuple[str, ...]:
    return tuple(f"{letter}{i}" for i in range(size))


rewards = st.integers(-40, 40).map(lambda quarter: quarter / 4)


@st.composite
def distributions(draw, size: int) -> list[float]:
    weights = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any))
    return [w / sum(weights) for w in weights]


@st.composite
def rows_of_distributions(draw, count: int, size: int) -> np.ndarray:
    rows = [draw(distributions(size)) for _ in range(count)]
    return np.array(rows, float).reshape(count, size)


@st.composite
def tables(draw, n_observations: int, n_actions: int) -> NamedNodes:
    M = draw(st.integers(1, 3))
    size = M * n_observations * n_actions
    moves = draw(st.lists(st.integers(0, M - 1), min_size=size, max_size=size))
    shape = (M, n_observations, n_actions)
    return NamedNodes(names("n", M), np.reshape(moves, shape), start=draw(st.integers(0, M - 1)))


@st.composite
def single_memories(draw, n_observations: int, n_actions: int) -> Memory:
    if draw(st.booleans()):
        return draw(tables(n_observations, n_actions))
    with_actions = draw(st.booleans())
    return window(draw(st.integers(1, 2 if with_actions else 3)), actions=with_actions)


@st.composite
def memories(draw, n_observations: int, n_actions: int) -> Memory:
    """A window, an action window, a table, or a product of two of them; bound to the alphabet."""
    parts = [
        draw(single_memories(n_observations, n_actions)) for _ in range(draw(st.integers(1, 2)))
    ]
    return product(*parts).on(n_observations, n_actions)


@st.composite
def controllers(
    draw, observations: tuple[str, ...], actions: tuple[str, ...], memory: Memory | None = None
) -> Controller:
    O, A = len(observations), len(actions)
    memory = draw(memories(O, A)) if memory is None else memory.on(O, A)
    nodes = memory.enumerate()
    everywhere = [[*node, z] for node in nodes.tolist() for z in range(O)]
    some = draw(st.lists(st.sampled_from(everywhere), max_size=8, unique_by=tuple))
    return Controller(
        observations,
        actions,
        memory,
        np.array(some, np.int64).reshape(-1, memory.width + 1),
        draw(rows_of_distributions(len(some), A)),
        draw(distributions(A)),
        name="random",
    )


@st.composite
def logs(
    draw,
    observations: tuple[str, ...],
    actions: tuple[str, ...],
    most_episodes: int = 5,
    most_steps: int = 6,
) -> Episodes:
    """Episodes that ended, that were cut off, and that were cut off without a last observation."""
    z = st.integers(0, len(observations) - 1)
    step = st.tuples(z, st.integers(0, len(actions) - 1), rewards)
    steps, start, final, ended = [], [0], [], []
    for _ in range(draw(st.integers(1, most_episodes))):
        steps += draw(st.lists(step, min_size=1, max_size=most_steps))
        start.append(len(steps))
        ended.append(draw(st.booleans()))
        final.append(-1 if ended[-1] else draw(st.one_of(st.just(-1), z)))
    seen, done, paid = zip(*steps, strict=True)
    return Episodes(observations, actions, seen, done, paid, start, final, ended)


@st.composite
def pomdps(draw, most: int = 3, discounts: tuple[float, ...] = (0.0, 0.5, 0.95)) -> Pomdp:
    S, A, O = (draw(st.integers(1, most)) for _ in range(3))
    moves = draw(rows_of_distributions(A * S, S + 1)).reshape(A, S, S + 1)
    return from_arrays(
        name="random",
        states=names("s", S),
        actions=names("a", A),
        observations=names("z", O),
        transition=moves[:, :, :S],
        ending=moves[:, :, S],
        observation=draw(rows_of_distributions(A * S, O)).reshape(A, S, O),
        reward=np.reshape(draw(st.lists(rewards, min_size=A * S, max_size=A * S)), (A, S)),
        start=draw(distributions(S)),
        first_observation=draw(rows_of_distributions(S, O)),
        discount=draw(st.sampled_from(discounts)),
    )


def random_pomdp(rng: np.random.Generator, S: int, A: int, O: int, discount: float) -> Pomdp:
    """A dense random model in which every action may end the episode."""
    moves = rng.dirichlet(np.ones(S + 1), (A, S))
    return from_arrays(
        name="random",
        states=names("s", S),
        actions=names("a", A),
        observations=names("z", O),
        transition=moves[:, :, :S],
        ending=moves[:, :, S],
        observation=rng.dirichlet(np.ones(O), (A, S)),
        reward=rng.normal(size=(A, S)),
        start=rng.dirichlet(np.ones(S)),
        first_observation=rng.dirichlet(np.ones(O), S),
        discount=discount,
    )


def random_controller(rng: np.random.Generator, pomdp: Pomdp, memory: Memory) -> Controller:
    """A row of its own for every node and observation, every action possible."""
    O, A = len(pomdp.observations), len(pomdp.actions)
    nodes = memory.on(O, A).enumerate()
    states = np.array([[*node, z] for node in nodes.tolist() for z in range(O)])
    rows = rng.dirichlet(np.ones(A), len(states))
    return Controller(
        pomdp.observations, pomdp.actions, memory, states, rows, np.full(A, 1 / A), name="random"
    )


def random_mdp(
    rng: np.random.Generator, H: int, A: int, discount: float = 0.9, visits: float = 1e9
) -> HistoryMdp:
    """A history model over window(1): state h is observation h. Every pair was tried."""
    outcomes = rng.dirichlet(np.ones(H + 1), (H, A))
    h, a, to = np.nonzero(outcomes[:, :, :H])
    return HistoryMdp(
        names("z", H),
        names("a", A),
        window(1).on(H, A),
        states=np.arange(H)[:, None],
        visits=np.full((H, A), visits),
        reward=rng.normal(size=(H, A)),
        ending=outcomes[:, :, H],
        start=rng.dirichlet(np.ones(H)),
        pair=h * A + a,
        successor=to,
        probability=outcomes[h, a, to],
        discount=discount,
    )


def memoryless(rng: np.random.Generator, mdp: HistoryMdp) -> Controller:
    """A controller with random rows in every history state of a model over window(1)."""
    H, A = mdp.shape
    rows = rng.dirichlet(np.ones(A), H)
    return Controller(
        mdp.observations,
        mdp.actions,
        window(1),
        np.arange(H)[:, None],
        rows,
        rows[0],
        name="random",
    )


def seen_whole(rng: np.random.Generator, S: int, A: int, discount: float = 0.8) -> Pomdp:
    """A random model whose observations are its states, so that ⟨n, z⟩ is sufficient."""
    eye, moves = np.eye(S), rng.dirichlet(np.ones(S + 1), (A, S))
    return from_arrays(
        name="seen", states=names("s", S), actions=names("a", A), observations=names("z", S),
        transition=moves[:, :, :S], ending=moves[:, :, S], observation=[eye] * A,
        reward=rng.choice([-1.0, 1.0], (A, S)), start=np.full(S, 1 / S), first_observation=eye,
        discount=discount,
    )  # fmt: skip


def long_log_returns(mdp: HistoryMdp, behavior: Controller, delta: float = 0.05) -> ReturnBounds:
    """First-visit returns as a log a million times as long would have them, if it agreed with the
    model: the model's own values, hardly uncertain. What was never tried stays unknown."""
    H, A = mdp.shape
    q = action_values(mdp, policy_value(mdp, mdp.policy_of(behavior)))
    low, high = float(min(0, q.min())) - 1, float(max(0, q.max())) + 1
    nothing = np.zeros((H, A))
    count = mdp.visits * 1e6
    visits = FirstVisits(mdp.states, count, q, nothing, nothing, low, high, H * A, mdp.discount)
    return visits.bounds(delta)


def first_visits(mdp: HistoryMdp, behavior: Controller, *, of_states: bool = False) -> FirstVisits:
    """First-visit returns as a log has them whose every visit is a first one and whose mean returns
    are the model's own values."""
    v = policy_value(mdp, mdp.policy_of(behavior))
    q = action_values(mdp, v)
    low, high = float(min(0, q.min())) - 1, float(max(0, q.max())) + 1
    count, mean = (mdp.visits.sum(1)[:, None], v[:, None]) if of_states else (mdp.visits, q)
    nothing, pairs = np.zeros(count.shape), count.size
    return FirstVisits(mdp.states, count, mean, nothing, nothing, low, high, pairs, mdp.discount)


def needed(
    needs: Collection[str], mdp: HistoryMdp, behavior: Controller
) -> dict[str, ReturnBounds | FirstVisits]:
    """What an algorithm needs of a log beside the model, as a log has it that agrees with the
    model. What is not here has a default."""
    makers: dict[str, Callable[[], ReturnBounds | FirstVisits]] = {
        "returns": lambda: long_log_returns(mdp, behavior),
        "visits": lambda: first_visits(mdp, behavior),
        "state_visits": lambda: first_visits(mdp, behavior, of_states=True),
    }
    return {name: make() for name, make in makers.items() if name in needs}


def dense(mdp: HistoryMdp) -> np.ndarray:
    """(H, A, H) the continuing probabilities, written out."""
    H, A = mdp.shape
    P = np.zeros((H * A, H))
    np.add.at(P, (mdp.pair, mdp.successor), mdp.probability)
    return P.reshape(H, A, H)


def arrays_of(thing: object) -> dict[str, bytes]:
    """Every array of a dataclass and of those inside it, as bytes: to see that none changed."""
    found = {}
    for field, value in vars(thing).items():
        if isinstance(value, np.ndarray):
            found[field] = value.tobytes()
        elif isinstance(value, Controller | Memory):
            found |= {f"{field}.{name}": content for name, content in arrays_of(value).items()}
    return found
