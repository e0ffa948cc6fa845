"""Dealing: by label and seed, by nothing else."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

import jumar as jm
from jumar.core.randomness import random_stream
from jumar.gate.dealing import BLOCKS, Dealt, codes_of, salt_of
from jumar.gate.trials import GATES
from jumar.log.episodes import Episodes, Origin
from jumar.log.reading import read_logs
from jumar.policy.controller import Controller
from selection_logs import one_step

NAMES = ("good", "worn"), ("keep", "repair")
HALF = Controller.uniform(*NAMES)


def labelled(labels: list[object]) -> Episodes:
    n = len(labels)
    origin = Origin("log.csv", np.arange(n), labels)
    return one_step(NAMES, 0, [0] * n, [0.0] * n, origin=origin)


def deal(log: Episodes, seed: int = 1) -> Dealt:
    """Not in the order of hashes."""
    return Dealt(codes_of(log, salt_of(random_stream(seed, "selection"))))


def dealt_as(log: Episodes, seed: int = 1) -> dict[str, tuple[int, int]]:
    dealt = deal(log, seed)
    return {
        str(label): (half, block)
        for label, half, block in zip(
            log.origin.label, dealt.half.tolist(), dealt.block.tolist(), strict=True
        )
    }


LABELS = [f"machine {i}" for i in range(4000)]


def test_a_label_is_dealt_alike_wherever_it_stands_and_whatever_else_is_there():
    whole = dealt_as(labelled(LABELS))
    order = np.random.default_rng(1).permutation(4000).tolist()
    assert dealt_as(labelled([LABELS[i] for i in order])) == whole
    part = LABELS[100:103]
    assert dealt_as(labelled(part)) == {label: whole[label] for label in part}
    numbers = dealt_as(labelled([1, 2, 3]))
    assert numbers == dealt_as(labelled(["1", "2", "3"]))


def test_halves_and_blocks_are_even():
    """4,000 fair coins lie within five standard deviations of 2,000 but once in a million; 256
    blocks of 15.6 each: chi-squared of 255 beyond 370 once in 300,000."""
    for log in (labelled(LABELS), labelled(LABELS).select(np.arange(4000))):
        dealt = deal(log)
        assert abs((dealt.half == 0).sum() - 2000) < 5 * math.sqrt(1000)
        counts = np.bincount(dealt.block, minlength=BLOCKS)
        assert len(counts) == BLOCKS == 256
        expected = 4000 / BLOCKS
        assert ((counts - expected) ** 2 / expected).sum() < 370
        assert abs(np.corrcoef(dealt.half, dealt.block)[0, 1]) < 5 / math.sqrt(4000)


def test_episodes_without_labels_are_dealt_evenly_too():
    n = 4000
    log = one_step(NAMES, 0, [0] * n, [0.0] * n)
    for seed in range(5):
        dealt = deal(log, seed)
        assert abs((dealt.half == 0).sum() - 2000) < 5 * math.sqrt(1000)
        # neighbours are not dealt alike: 4,000 pairs, as many alike as not
        alike = (dealt.half[1:] == dealt.half[:-1]).sum()
        assert abs(alike - 2000) < 5 * math.sqrt(1000)
    assert dealt.unit.tolist() == list(range(n))


def test_another_seed_deals_otherwise():
    one, two = (np.array([*dealt_as(labelled(LABELS), seed).values()]) for seed in (1, 2))
    same = (one[:, 0] == two[:, 0]).sum()
    assert abs(same - 2000) < 5 * math.sqrt(1000)


def test_one_label_is_one_unit():
    labels = [f"person {i % 7}" for i in range(50)]
    code = codes_of(labelled(labels), 1)
    order = np.argsort(code, kind="stable")
    dealt = Dealt(code[order])
    assert len(np.unique(dealt.unit)) == 7
    for person in range(7):
        own = order % 7 == person
        assert len({*dealt.half[own].tolist()}) == len({*dealt.block[own].tolist()}) == 1
        assert len({*dealt.unit[own].tolist()}) == 1


def test_a_unit_counts_once_with_its_mean():
    """a scored 1 and 3, b scored 5."""
    dealt = Dealt(np.array([7, 7, 1 << 60], np.uint64))
    scores, block = dealt.by_unit(np.arange(3), np.array([1.0, 3.0, 5.0]))
    assert scores.tolist() == [2, 5]
    assert block.tolist() == [0, 32]
    for episodes in ([0, 2], [1, 2]):
        alone, _ = dealt.by_unit(np.array(episodes), np.array([1.0, 5.0]))
        assert alone.tolist() == [1, 5]


def test_episodes_in_the_order_of_their_hashes_are_one_log():
    """Units stay together, and halves and blocks rise."""
    labels = [f"person {i % 40}" for i in range(100)]
    log = labelled(labels)
    code = codes_of(log, 7)
    order = np.argsort(code, kind="stable")
    dealt, moved = Dealt(code[order]), log.select(order)
    assert (np.diff(dealt.half) >= 0).all()
    assert all((np.diff(dealt.block[dealt.half == h]) >= 0).all() for h in (0, 1))
    assert len(np.unique(dealt.unit)) == 40
    by_label = {str(x): u for x, u in zip(moved.origin.label, dealt.unit.tolist(), strict=True)}
    assert [by_label[str(x)] for x in moved.origin.label] == dealt.unit.tolist()


# ---- the whole job ------------------------------------------------------------------------------


def rows_of(episodes: int, seed: int) -> list[list[list[str]]]:
    """Episodes of one to three steps; repairing what is worn pays, and noise."""
    rng = np.random.default_rng(seed)
    found = []
    for e in range(episodes):
        T = int(rng.integers(1, 4))
        z, a = rng.integers(0, 2, T), rng.integers(0, 2, T)
        r = np.where(z == a, 1.0, 0.0) + rng.random(T)
        steps = enumerate(zip(z, a, r.tolist(), strict=True))
        found.append(
            [
                [f"e{e}", str(t), NAMES[0][z], NAMES[1][a], repr(paid), str(t == T - 1)]
                for t, (z, a, paid) in steps
            ]
        )
    return found


def written(path, episodes) -> Episodes:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["episode", "step", "observation", "action", "reward", "terminated"])
        table.writerows(row for episode in episodes for row in episode)
    return read_logs(path)


@pytest.mark.parametrize("gate", GATES)
def test_a_shuffled_file_gives_the_same_choice_and_certificate(tmp_path, gate):
    whole = rows_of(400, 3)
    rng = np.random.default_rng(1)
    first = jm.improve(written(tmp_path / "a.csv", whole), HALF, discount=0.9, gate=gate)
    assert first.selection.chosen is not None
    for i in range(2):
        shuffled = [whole[e] for e in rng.permutation(400)]
        other = jm.improve(written(tmp_path / f"{i}.csv", shuffled), HALF, discount=0.9, gate=gate)
        assert other.selection.trials == first.selection.trials  # to the last bit
        assert other.selection.chosen == first.selection.chosen
        assert other.controller.same_as(first.controller)
        assert other.certificate == first.certificate


def test_a_long_log_is_judged_by_the_same_episodes_in_any_order():
    """More episodes than are scored to choose a shortlist: which of them must not depend on the
    file either."""
    n = 6000
    rng = np.random.default_rng(1)
    z, a = rng.integers(0, 2, (2, n))
    reward = np.where(z == a, 0.1, 0.0) + rng.standard_normal(n)
    origin = Origin("log.csv", np.arange(n), [f"e{i}" for i in range(n)])
    log = one_step(NAMES, z, a, reward, origin=origin)
    one, two = (
        jm.pipeline.select(x, HALF, discount=0.9) for x in (log, log.select(rng.permutation(n)))
    )  # fmt: skip
    assert one.trials == two.trials
    assert len(one.trials) > 0


def test_clusters_are_bet_on_as_one():
    """Twenty people, each with twenty copies of one episode: the log has 20 units, not 400, and 10
    held-out people decide nothing that 200 independent episodes would."""
    rng = np.random.default_rng(2)
    action = np.repeat(rng.integers(0, 2, 20), 20)
    reward = action + 0.1 * np.repeat(rng.random(20), 20)
    n = 400
    origin = Origin("log.csv", np.arange(n), [f"p{i // 20}" for i in range(n)])
    log = one_step(NAMES, 0, action, reward, origin=origin)
    found = jm.pipeline.select(log, HALF, discount=0.9)
    assert (found.units, found.episodes) == (20, 400)
    assert found.best.units < 20
    assert found.chosen is None
    alone = one_step(NAMES, 0, action, reward)
    assert jm.pipeline.select(alone, HALF, discount=0.9).chosen is not None
