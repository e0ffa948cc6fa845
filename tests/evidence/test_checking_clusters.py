"""Are episodes of one cluster alike? The test keeps its level and finds what is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jumar import models, simulate
from jumar.core.randomness import random_stream
from jumar.evidence.chance import Settings
from jumar.evidence.checking import check
from jumar.evidence.checking.independence import check_clusters, correlation_of
from jumar.log.episodes import Episodes, Labels, Origin
from jumar.policy.controller import Controller

NAMES = ("z",), ("a",)


def log_of(reward, who=None, labels=None) -> Episodes:
    n = len(reward)
    return Episodes(
        *NAMES, [0] * n, [0] * n, reward, np.arange(n + 1), [-1] * n, [True] * n,
        origin=None if labels is None else Origin("log.csv", np.arange(n), labels),
        cluster=None if who is None else Labels.of([f"{w:03}" for w in who]),
    )  # fmt: skip


def found(log: Episodes, **settings):
    return check_clusters(log, 1.0, Settings(**settings), np.random.default_rng(1))


def alike(rng, clusters=40, each=5, spread=1.0) -> tuple[np.ndarray, np.ndarray]:
    who = np.repeat(np.arange(clusters), each)
    return spread * rng.normal(size=clusters)[who] + rng.normal(size=len(who)), who


def test_the_correlation_by_hand():
    """Means 2 and 6 of two clusters of two: MSB = 16, MSW = 2, ICC = 14/18."""
    assert correlation_of(np.array([1.0, 3, 5, 7]), np.array([0, 0, 1, 1])) == pytest.approx(
        14 / 18
    )


@pytest.mark.parametrize("unit", [1e-58, 1e-9, 1, 1e58])
def test_the_unit_of_the_reward_does_not_matter(unit):
    reward, who = alike(np.random.default_rng(2))
    one, other = found(log_of(reward, who)), found(log_of(unit * reward, who))
    assert other["correlation"] == pytest.approx(one["correlation"])
    assert other["p"] == one["p"]


def test_alike_is_found_and_told_with_its_design_effect():
    reward, who = alike(np.random.default_rng(3))
    said = found(log_of(reward, who))
    assert said.verdict.status == "look"
    assert 0.3 < said["correlation"] < 0.7  # truth 1/2
    assert said["design_effect"] == pytest.approx(1 + 4 * said["correlation"])
    worth = f"as much as about {200 / said['design_effect']:,.0f} independent ones"
    assert worth in said.verdict.sentence
    assert (said["clusters"], said["episodes"], said["largest"], said["p"]) == (40, 200, 5, 0.001)


def test_a_sound_log_is_rejected_as_often_as_the_level_says():
    """200 logs without any likeness at level 0.05: over 22 rejections have a chance below 0.1 %."""
    rng = np.random.default_rng(4)
    rejected = 0
    for _ in range(200):
        reward, who = alike(rng, clusters=25, each=4, spread=0.0)
        rejected += found(log_of(reward, who), level=0.05, resamples=99)["p"] <= 0.05
    assert 1 <= rejected <= 22


@pytest.mark.parametrize(
    ("reward", "who", "status", "words"),
    [
        ([1.0, 2, 3], [0, 0, 0], "look", "All episodes belong to one cluster"),
        ([1.0, 2, 3], [0, 1, 2], "passed", "every cluster has one episode"),
        ([1.0, 1, 1, 1], [0, 0, 1, 1], "passed", "all returns are equal"),
        ([0.0, 0, 0, 0], [0, 0, 1, 1], "passed", "all returns are equal"),
        ([1.0, 2, 1, 2], [0, 0, 1, 1], "look", "There are only 2 clusters"),
        ([5.0], [0], "look", "one cluster"),
    ],
)
def test_where_little_can_be_said(reward, who, status, words):
    said = found(log_of(reward, who)).verdict
    assert said.status == status
    assert words in said.sentence


def test_without_clusters_nothing_is_asked():
    assert found(log_of([1.0, 2.0])) is None
    assert found(log_of([1.0, 2.0, 3.0], labels=["1", "2", "3"])) is None
    reward, _ = alike(np.random.default_rng(5))
    assert found(log_of(reward, labels=[f"episode_{i}" for i in range(200)])) is None


@pytest.mark.parametrize("label", ["bus {}/{}", "{}-{}", "{} ({})", "Ünïcode {}.{}"])
def test_labels_that_begin_alike_hint_at_clusters(label):
    reward, who = alike(np.random.default_rng(5))
    labels = [label.format(w, i) for i, w in enumerate(who)]
    said = found(log_of(reward, labels=labels))
    assert (said["named"], said["clusters"], said.verdict.status) == (False, 40, "look")
    assert "--columns cluster=" in said.verdict.sentence
    assert repr(labels[0]) in said.verdict.sentence
    noise = np.random.default_rng(6).normal(size=len(who))
    assert found(log_of(noise, labels=labels)) is None


def test_tests_that_take_episodes_for_independent_say_so_where_there_are_clusters():
    tiger = models.tiger()
    fair = Controller.uniform(tiger.observations, tiger.actions)
    log = simulate(tiger, fair, episodes=200, seed=random_stream(1, "data"))

    def findings(cluster: list[str] | None) -> dict[str, str]:
        labelled = log if cluster is None else replace(log, cluster=Labels.of(cluster))
        found = check(labelled, replace(fair, estimated=True), resamples=99)
        return {name: s.verdict.sentence for name, s in found.sections.items()}

    plain = findings(None)
    alone = findings([f"{e}" for e in range(200)])
    grouped = findings([f"{e // 5}" for e in range(200)])
    assert plain == {name: alone[name] for name in plain}
    more = {name: grouped[name].removeprefix(said) for name, said in plain.items()}
    assert {name for name, said in more.items() if said} == {"longer", "order", "drift"}
    assert all("independent" in said and "cluster" in said for said in more.values() if said)
