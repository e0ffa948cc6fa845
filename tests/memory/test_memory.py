"""Memories as rules: windows, tables and products against lists one can read."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import ControllerError, MemoryMismatch, ParameterError, TooLarge
from jumar.memory import Memory, NamedNodes, Product, Window, product, window
from strategies import memories, names

Z, A = names("z", 2), names("a", 2)
TOGGLE = NamedNodes(("even", "odd"), [[[1, 1], [1, 1]], [[0, 0], [0, 0]]])  # counts steps modulo 2


def walk(memory: Memory, seen: list[int], done: list[int]) -> np.ndarray:
    """(N, W) the node before every step, one step at a time."""
    nodes = [memory.initial()[None, :]]
    for z, a in zip(seen, done, strict=True):
        nodes.append(memory.step(nodes[-1], np.array([z]), np.array([a])))
    return np.concatenate(nodes[:-1])


# ---- windows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "nodes"),
    [
        (window(1), [[], [], [], []]),
        (window(2), [[0], [2], [1], [1]]),  # nothing yet is 0, z0 is 1, z1 is 2
        (window(3), [[0], [2], [7], [4]]),  # the older one counts 3
        (window(2, actions=True), [[0], [3], [2], [1]]),  # 1 + 2 z + a
        (product(window(2), TOGGLE, window(1)), [[0, 0], [2, 1], [1, 0], [1, 1]]),
    ],
    ids=str,
)
def test_nodes_by_hand_after_z1_z0_z0(memory, nodes):
    memory = memory.on(2, 2)
    assert memory.width == len(nodes[0])
    assert walk(memory, [1, 0, 0, 0], [0, 1, 0, 0]).tolist() == nodes


@pytest.mark.parametrize(
    ("memory", "n"),
    [
        (window(1), 1),
        (window(3), 1 + 2 + 4),
        (window(3, actions=True), 1 + 4 + 16),
        (TOGGLE, 2),
        (NamedNodes(("here", "never"), [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]), 1),
    ],
)
def test_nodes_are_counted_without_listing_them(memory, n):
    bound = memory.on(2, 2)
    assert bound.count_nodes() == n == len(bound.enumerate())
    assert bound.enumerate().tolist() == Memory.enumerate(bound).tolist()


def test_an_astronomical_window_is_counted_but_not_listed():
    memory = window(1000).on(7, 4)
    assert memory.count_nodes() == sum(7**j for j in range(1000))
    with refuses(TooLarge, "window of 1000"):
        memory.enumerate(limit=1000)


@pytest.mark.parametrize("length", [2, 20, 21, 22, 41, 42, 43, 100])
def test_windows_longer_than_a_word_forget_exactly_the_oldest(length):
    """Base 8 holds 20 digits in 63 bits (8^20 = 2^60), so 21 observations take one word."""
    memory = window(length).on(7, 1)
    assert isinstance(memory, Window)
    assert memory.width == -(-(length - 1) // 20)
    seen = np.random.default_rng(length).integers(0, 7, 150)
    nodes = memory.replay(seen, np.zeros(150, np.int64), np.array([0, 150]))
    for t in (0, 1, 19, 20, 21, 99, 100, 149):
        newest_first = [int(z) + 1 for z in seen[:t][::-1][: length - 1]]
        nothing_yet = [0] * (length - 1 - len(newest_first))
        assert memory.digits(nodes[t : t + 1])[0].tolist() == newest_first + nothing_yet


@pytest.mark.parametrize("n_observations", [1, 2, 3, 7, 54, 55, 1000, 3_037_000_498])
def test_the_largest_digits_fill_a_word_without_overflow(n_observations):
    """Digits of the largest value, d = |Z|: a full word is (|Z|+1)^k - 1 < 2^63."""
    O = n_observations
    digits = 0
    while (O + 1) ** (digits + 1) < 2**63:
        digits += 1
    memory = window(digits + 2).on(O, 1)  # one digit more than a word holds
    assert memory.width == 2
    n = digits + 3
    z, a = np.full(n, O - 1), np.zeros(n, np.int64)
    nodes = memory.replay(z, a, np.array([0, n]))
    assert nodes[-1].tolist() == [(O + 1) ** digits - 1, O]
    assert np.array_equal(nodes, walk(memory, z.tolist(), a.tolist()))


@given(st.data())
def test_replaying_is_stepping(data):
    O, n_actions = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    memory = data.draw(memories(O, n_actions))
    steps = data.draw(
        st.lists(
            st.tuples(st.integers(0, O - 1), st.integers(0, n_actions - 1)), min_size=1, max_size=8
        )
    )
    cut = data.draw(st.integers(0, len(steps) - 1))
    start = sorted({0, cut, len(steps)})
    z, a = np.array(steps, np.int64).T
    by_hand = np.concatenate(
        [walk(memory, z[i:j].tolist(), a[i:j].tolist()) for i, j in itertools.pairwise(start)]
    )
    assert np.array_equal(memory.replay(z, a, np.array(start)), by_hand)


@given(st.data())
def test_every_node_is_read_and_written_back_in_names(data):
    O, n_actions = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    memory = data.draw(memories(O, n_actions))
    zs, as_ = names("z", O), names("a", n_actions)
    for words in memory.enumerate(limit=10_000)[:50].tolist():
        assert memory.write_node(memory.read_node(words, zs, as_), zs, as_) == words


@pytest.mark.parametrize(
    ("actions", "read"), [(False, ["", "z1"]), (True, [["", ""], ["z1", "a1"]])]
)
def test_a_window_node_reads_oldest_first_with_gaps_before_the_start(actions, read):
    memory = window(3, actions).on(2, 2)
    assert memory.read_node(walk(memory, [1, 0], [1, 0])[-1].tolist(), Z, A) == read


@pytest.mark.parametrize(
    ("memory", "value", "fact"),
    [
        (window(3), ["z0"], "needs a list of the 2 earlier observations"),
        (window(3), "z0", "needs a list"),
        (window(3), ["z0", ""], "can only stand before the first"),
        (window(2), ["zero"], "observation 'zero' is not one of z0, z1"),
        (window(2, actions=True), ["z0"], r"'z0' is not a list of 2: \[observation, action\]"),
        (window(2, actions=True), [["z0", "b"]], "action 'b' is not one of a0, a1"),
        (window(2, actions=True), [["", "a0"]], "does not exist in a window of 2 with actions"),
        (TOGGLE, "evn", "node 'evn' is not one of even, odd. Did you mean 'even'?"),
        (product(window(2), TOGGLE), ["even"], "is not a list of 2"),
    ],
)
def test_a_node_that_is_none_is_told(memory, value, fact):
    with pytest.raises(ControllerError, match=fact):
        memory.on(2, 2).write_node(value, Z, A)


@pytest.mark.parametrize("length", [0, -1, 1001, 2.0, True, "2", None])
def test_a_window_needs_a_whole_number_from_one(length):
    with refuses(ParameterError, "whole number", "1"):
        window(length)


# ---- tables and products ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: NamedNodes(("x", "x"), TOGGLE.next), "'x' is also name 1"),
        (
            lambda: NamedNodes(("x",), TOGGLE.next),
            "must be .nodes, observations, actions. with 1 nodes",
        ),
        (lambda: NamedNodes(("x", "y"), [[0], [1]]), "has shape"),
        (lambda: NamedNodes(("x", "y"), [[[2]], [[0]]]), "outside 0 to 1"),
        (lambda: NamedNodes(("x", "y"), [[[-1]], [[0]]]), "outside 0 to 1"),
        (lambda: NamedNodes(("x", "y"), [[[1]], [[0]]], start=2), "outside 0 to 1"),
        (lambda: NamedNodes((), np.zeros((0, 1, 1))), "at least one is needed"),
        (lambda: NamedNodes(("x", "y"), [[[0.9]], [[0]]]), "expected whole numbers"),
        (lambda: NamedNodes(("x", "y"), [[[1]], [[0]]], start=0.5), "is not a node number"),
    ],
)
def test_a_table_that_leads_nowhere_is_refused(make, fact):
    with pytest.raises(ControllerError, match=fact):
        make()


def test_a_table_fits_one_alphabet_only():
    with refuses(MemoryMismatch, "2 observations", "2 actions"):
        TOGGLE.on(3, 2)


def test_tables_are_equal_by_what_they_do():
    same = NamedNodes(["even", "odd"], np.array(TOGGLE.next))
    assert same == TOGGLE
    assert hash(same) == hash(TOGGLE)
    assert NamedNodes(("even", "odd"), TOGGLE.next, start=1) != TOGGLE
    assert NamedNodes(("odd", "even"), TOGGLE.next) != TOGGLE


def test_a_table_keeps_its_own_copy_of_the_moves():
    moves = np.array([[[1]], [[0]]])
    memory = NamedNodes(("x", "y"), moves)
    moves[:] = 0
    assert memory.next.ravel().tolist() == [1, 0]
    assert not memory.next.flags.writeable


def test_a_table_writes_one_move_where_all_go_the_same_way():
    by_look = NamedNodes(("x", "y"), [[[0, 0], [1, 0]], [[1, 1], [1, 1]]]).on(2, 2)
    assert by_look.to_document(Z, A)["moves"] == [
        {"node": "x", "observation": "z0", "to": "x"},
        {"node": "x", "observation": "z1", "action": "a0", "to": "y"},
        {"node": "x", "observation": "z1", "action": "a1", "to": "x"},
        {"node": "y", "to": "y"},
    ]


def test_products_are_flat_and_a_product_of_one_is_that_one():
    nested = product(window(2), product(TOGGLE, window(3)))
    assert isinstance(nested, Product)
    assert [str(part) for part in nested.parts] == [
        "window of 2",
        "table of 2 nodes",
        "window of 3",
    ]
    assert product(window(2)) == window(2)
    with pytest.raises(ParameterError, match="at least one"):
        product()


def test_a_product_counts_at_least_the_nodes_that_can_be_reached():
    memory = product(window(2), window(2)).on(2, 2)
    assert memory.count_nodes() == 9  # an upper bound: both parts always agree
    assert len(memory.enumerate()) == 3


# ---- alphabets ----------------------------------------------------------------------------------


def test_a_memory_without_an_alphabet_says_so():
    with refuses(MemoryMismatch, "alphabet"):
        _ = window(2).width


@pytest.mark.parametrize("memory", [window(2), product(window(2), window(3))])
def test_a_bound_memory_refuses_another_alphabet(memory):
    with refuses(MemoryMismatch, "2 observations", "2 actions"):
        memory.on(2, 2).on(3, 2)


def test_a_product_of_a_bound_and_an_unbound_memory_binds_both_or_says_why_not():
    mixed = product(window(2).on(2, 2), window(3))
    assert [part.alphabet for part in mixed.on(2, 2).parts] == [(2, 2), (2, 2)]
    with pytest.raises(MemoryMismatch):
        mixed.on(3, 2)


def test_equal_memories_are_equal_and_hash_alike():
    assert window(3).on(2, 2) == window(3).on(2, 2)
    assert hash(product(window(3), TOGGLE)) == hash(product(window(3), TOGGLE))
    assert window(3) != window(3, actions=True)
    assert window(3).on(2, 2) != window(3).on(2, 3)


# ---- what is a node -----------------------------------------------------------------------------


@given(st.data())
def test_a_memory_has_the_nodes_it_reaches_and_all_it_has_can_be_named(data):
    O, n_actions = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    memory = data.draw(memories(O, n_actions))
    zs, as_ = names("z", O), names("a", n_actions)
    assert memory.has(memory.enumerate()).all()
    words = st.lists(st.integers(-1, 30), min_size=memory.width, max_size=memory.width)
    rows = data.draw(st.lists(words, min_size=1, max_size=30))
    nodes = np.array(rows, np.int64).reshape(len(rows), memory.width)
    for node, exists in zip(rows, memory.has(nodes), strict=True):
        if exists:
            assert memory.write_node(memory.read_node(node, zs, as_), zs, as_) == node


def test_a_window_has_exactly_the_nodes_it_reaches():
    memory = window(3).on(2, 1)
    everything = np.arange(-2, 30)[:, None]
    assert everything[memory.has(everything)].tolist() == memory.enumerate().tolist()
