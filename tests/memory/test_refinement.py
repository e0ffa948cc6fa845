"""When one memory determines another: against walking both by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import MemoryMismatch
from jumar.memory import Memory, NamedNodes, product, window
from jumar.memory.refinement import join, projection, refines
from strategies import memories

TOGGLE = NamedNodes(("even", "odd"), [[[1, 1], [1, 1]], [[0, 0], [0, 0]]])
LAST_SEEN = NamedNodes(
    ("none", "z0", "z1"),
    [[[1, 1], [2, 2]]] * 3,
)  # a window of 2, written by hand


def obvious_images(fine: Memory, coarse: Memory) -> dict[tuple[int, ...], tuple[int, ...]] | None:
    """Walk both memories over every word; None once a fine node meets two coarse ones."""
    O, A = fine.alphabet
    first = tuple(fine.initial().tolist()), tuple(coarse.initial().tolist())
    image, todo = dict([first]), [first]
    while todo:
        n, m = todo.pop()
        for z in range(O):
            for a in range(A):
                at = np.array([z]), np.array([a])
                n2 = tuple(fine.step(np.array([n], np.int64).reshape(1, -1), *at)[0].tolist())
                m2 = tuple(coarse.step(np.array([m], np.int64).reshape(1, -1), *at)[0].tolist())
                if n2 not in image:
                    image[n2] = m2
                    todo.append((n2, m2))
                elif image[n2] != m2:
                    return None
    return image


@settings(max_examples=120)
@given(st.data())
def test_one_memory_refines_another_exactly_if_walking_both_says_so(data):
    # with a single action an action window remembers no more than a plain one; see below
    O, A = data.draw(st.integers(1, 2)), 2
    fine, coarse = data.draw(memories(O, A)), data.draw(memories(O, A))
    image = obvious_images(fine, coarse)
    assert refines(fine, coarse) == (image is not None)
    if image is None:
        with refuses(MemoryMismatch, "refine", "join(coarse, fine)"):
            projection(fine, coarse)
        return
    nodes = np.array(sorted(image), np.int64).reshape(len(image), fine.width)
    expected = [list(image[tuple(n)]) for n in nodes.tolist()]
    assert projection(fine, coarse)(nodes).tolist() == expected


@given(st.data())
def test_the_join_refines_both(data):
    one, two = data.draw(memories(2, 2)), data.draw(memories(2, 2))
    both = join(one, two)
    assert refines(both, one)
    assert refines(both, two)


def test_windows_too_long_to_list_are_compared_by_their_shape():
    fine, coarse = window(60, actions=True).on(7, 4), window(40).on(7, 4)
    z = np.random.default_rng(0).integers(0, 7, 100)
    a = np.random.default_rng(1).integers(0, 4, 100)
    start = np.array([0, 100])
    images = projection(fine, coarse)(fine.replay(z, a, start))
    assert np.array_equal(images, coarse.replay(z, a, start))


def test_the_join_of_a_window_and_a_counter_is_their_product():
    both = join(TOGGLE.on(2, 2), window(2).on(2, 2))
    assert both == product(TOGGLE, window(2)).on(2, 2)
    assert join(both, window(2).on(2, 2)) == both


def test_the_join_of_different_alphabets_is_an_error():
    with pytest.raises(MemoryMismatch):
        join(window(2).on(2, 2), window(2).on(3, 2))


# remembers the last of 7 observations
LAST_OF_7 = NamedNodes(
    ("none", *(f"z{i}" for i in range(7))), np.tile(np.arange(1, 8)[None, :, None], (8, 1, 4))
)


@pytest.mark.parametrize(
    ("fine", "coarse"),
    [
        (LAST_SEEN.on(2, 2), window(2).on(2, 2)),
        (window(2).on(2, 2), LAST_SEEN.on(2, 2)),
        (window(900).on(2, 2), window(1, actions=True).on(2, 2)),
        (TOGGLE.on(2, 2), window(1).on(2, 2)),
        (window(2).on(2, 1), window(2, actions=True).on(2, 1)),  # there is but one action
        (window(8).on(7, 4), LAST_OF_7.on(7, 4)),  # too long to list, and window(3) does
    ],
    ids=str,
)
def test_it_refines(fine, coarse):
    assert refines(fine, coarse)
    assert join(fine, coarse) == (coarse if refines(coarse, fine) else fine)
    assert join(coarse, fine) == fine
    assert not refines(fine.on(*fine.alphabet), window(1).on(9, 9))


def test_a_node_that_cannot_be_reached_has_no_image():
    fine = NamedNodes(("p", "q", "dead"), [[[1]], [[0]], [[2]]]).on(1, 1)
    coarse = NamedNodes(("p", "q"), [[[1]], [[0]]]).on(1, 1)
    with refuses(MemoryMismatch, "no history"):
        projection(fine, coarse)(np.array([[2]]))
