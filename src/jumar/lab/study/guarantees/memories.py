"""Processes in which the past matters, and ordinary ones beside them: hidden modes, hidden wear,
memory of the wrong kind, the paper's dialogs without memory, and random models.

All numbers are our own choice; Tiger hears less well here than in the paper.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from jumar import models
from jumar.core.arrays import Floats
from jumar.core.randomness import random_stream
from jumar.lab.study.guarantees.base import Outcome, Process, decision, ends, make_process, model
from jumar.lab.truth.pomdp import from_arrays


def hidden_mode() -> Process:
    """A market is good or bad and changes in 4 % of the steps; a sign tells which with a chance of
    65 %. Buying pays 2 in a good one and costs 3 in a bad one; waiting pays nothing."""
    stays, right, over = 0.96, 0.65, 0.08
    modes = {"good": ("up", "down", 2.0), "bad": ("down", "up", -3.0)}

    def after(mode: str, reward: float) -> list[Outcome]:
        found = ends((over, reward))
        for to, (sign, wrong, _) in modes.items():
            p = (1 - over) * (stays if to == mode else 1 - stays)
            found += [(p * right, to, sign, reward), (p * (1 - right), to, wrong, reward)]
        return found

    pomdp = model(
        "hidden-mode",
        start={
            (mode, look): 0.5 * p
            for mode, (sign, wrong, _) in modes.items()
            for look, p in ((sign, right), (wrong, 1 - right))
        },
        outcomes={
            (mode, action): after(mode, pays if action == "buy" else 0.0)
            for mode, (_, _, pays) in modes.items()
            for action in ("buy", "wait")
        },
    )
    return make_process(
        "A mode that lasts decides what pays, and one sign of it says little.",
        pomdp,
        behavior=("rather buys on up", {"up": (0.4, 0.6), "down": (0.1, 0.9)}),
        target=("by the sign", {"up": (0.6, 0.4), "down": (0.05, 0.95)}),
        sizes=(200, 2000),
    )


def inverted_memory() -> Process:
    """Signs are fair coins. `same` pays 1 if the sign of three steps ago is the present one, and
    costs 1 if not; `other` the reverse. An episode has seven steps, the first three pay nothing."""
    signs, length = ("x", "y"), 7
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    pasts = ["".join(letters) for letters in itertools.product(signs, repeat=4)]
    for t, past, action in itertools.product(range(length), pasts, ("same", "other")):
        agrees = (past[0] == past[-1]) == (action == "same")
        pays = 0.0 if t < 3 else 1.0 if agrees else -1.0
        outcomes[f"{t}{past}", action] = (
            ends((1.0, pays))
            if t == length - 1
            else [(0.5, f"{t + 1}{past[1:]}{z}", z, pays) for z in signs]
        )
    start = {("0xxxx", "x"): 0.5, ("0xxxy", "y"): 0.5}
    return make_process(
        "What pays depends on the observation of three steps ago, so that every memory that is "
        "tried sees pure luck and may take it for gain.",
        model("inverted-memory", start=start, outcomes=outcomes),
        behavior=("by the last sign", {"x": (0.6, 0.4), "y": (0.4, 0.6)}),
        target=("by the last sign, too", {"x": (0.7, 0.3), "y": (0.5, 0.5)}),
        steps=length,
    )


def hidden_wear() -> Process:
    """Running `hard` pays 3 and wears by one, running `soft` pays 2; at a wear of five every step
    costs 4 for ever. Nothing of it is seen, and records have 5 steps."""
    most = 5
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    for wear in range(most + 1):
        for action, pays, by in (("soft", 2.0, 0.05), ("hard", 3.0, 0.8)):
            outcomes[f"wear-{wear}", action] = (
                [(1.0, f"wear-{most}", "running", -4.0)]
                if wear == most
                else [
                    (by, f"wear-{wear + 1}", "running", pays),
                    (1 - by, f"wear-{wear}", "running", pays),
                ]
            )
    return make_process(
        "The harm comes after all records have stopped: up to the cut a gain is real, for ever it "
        "is a loss.",
        model("hidden-wear", start={("wear-0", "running"): 1.0}, outcomes=outcomes),
        behavior=("mostly soft", (0.8, 0.2)),
        target=("harder", (0.6, 0.4)),
        horizon=5,
    )


def wear_in_view() -> Process:
    """A machine shows how worn it is, from 0 to 3: running pays 3 less the wear and adds to it in
    half of the steps, renewing costs 2. Records have 15 steps."""
    most = 3
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    for wear in range(most + 1):
        outcomes[f"w{wear}", "run"] = [
            (0.5, f"w{to}", f"wear-{to}", 3.0 - wear) for to in (wear, min(wear + 1, most))
        ]
        outcomes[f"w{wear}", "renew"] = [(1.0, "w0", "wear-0", -2.0)]
    rows = {"wear-0": (0.95, 0.05), "wear-1": (0.9, 0.1), "wear-2": (0.5, 0.5)}
    return make_process(
        "Nothing is hidden; records of 15 steps leave few whole episodes that another controller "
        "could have made.",
        model("wear-in-view", start={("w0", "wear-0"): 1.0}, outcomes=outcomes, discount=0.9),
        behavior=("renews late", rows | {"wear-3": (0.3, 0.7)}),
        target=("renews at the end", rows | {"wear-3": (0.1, 0.9)}),
        horizon=15,
        sufficient=True,
    )


def plain_choice() -> Process:
    """One decision after one of two observations: the right action pays 1 with a chance of 70 %,
    the wrong one with 30 %."""
    good, bad = ends((0.7, 1.0), (1 - 0.7, 0.0)), ends((0.3, 1.0), (1 - 0.3, 0.0))
    pays = {("high", "up"): good, ("high", "down"): bad, ("low", "up"): bad, ("low", "down"): good}
    return make_process(
        "A control: nothing is hidden, nothing is rare, and there is a lot to gain.",
        decision("plain-choice", {"high": 0.5, "low": 0.5}, pays),
        behavior=("either", (0.5, 0.5)),
        target=("rather right", {"high": (0.7, 0.3), "low": (0.3, 0.7)}),
        sizes=(100, 1000, 10_000),
        steps=1,
        sufficient=True,
    )


def more_data_less() -> Process:
    """A machine with up to two failed parts is run, examined, inspected or replaced at random; an
    episode ends in one of 20 periods, and records stop after 8."""
    over = 0.05
    wears = np.array([[0.8, 0.18, 0.02], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]])
    renew = np.tile([1.0, 0.0, 0.0], (3, 1))
    good = np.ones((3, 2)) * [1.0, 0.0]
    tells = np.array([[0.95, 0.05], [0.5, 0.5], [0.2, 0.8]])
    pomdp = from_arrays(
        name="more-data-less",
        states=["whole", "one-failed", "two-failed"],
        actions=["make", "examine", "inspect", "replace"],
        observations=["good", "defective"],
        transition=(1 - over) * np.array([wears, wears, renew, renew]),
        ending=over,
        observation=[good, tells, good, good],
        reward=[[0.9, 0.5, 0.25], [0.65, 0.25, 0.0], [-0.5, -1.5, -2.5], [-2.0, -2.0, -2.0]],
        start=[1.0, 0.0, 0.0],
        first_observation=good,
        discount=0.8,
    )
    return make_process(
        "With more data the gate of 0.1.0 found bolder candidates, whose weights no test passes, "
        "and deployed less.",
        pomdp,
        behavior=("at random", (0.25, 0.25, 0.25, 0.25)),
        target=("replaces less", (0.4, 0.25, 0.25, 0.1)),
        sizes=(60, 300, 3000),
        horizon=8,
        declared=False,
    )


def tiger_memoryless() -> Process:
    """Tiger, heard correctly in 80 % of the cases, with a controller that knows the last sound."""
    tiger = models.tiger(hear=((0.8, 0.2), (0.2, 0.8)))
    half = {"hear-left": (0.05, 0.35, 0.6), "hear-right": (0.35, 0.05, 0.6)}
    patient = {"hear-left": (0.02, 0.3, 0.68), "hear-right": (0.3, 0.02, 0.68)}
    return make_process(
        "A controller without memory takes what follows a sound to be the same however often it "
        "listened, so that its model is wrong.",
        replace(tiger, name="tiger-memoryless", max_steps=None),
        behavior=("half patient", half),
        target=("patient", patient),
        sizes=(200, 2000),
    )


def voicemail_memoryless() -> Process:
    """Voicemail with the best controller of all that know the last word only. Its rows were found
    by climbing the exact value from eight starts (benchmarks/hard_cases.py)."""
    best = {"hear-save": (0.0, 1.0, 0.0), "hear-delete": (0.4953, 0.0, 0.5047)}
    found = make_process(
        "The behavior is the best of its kind and draws its actions: every candidate without "
        "memory is worse, and looks better in a model that is wrong.",
        models.voicemail(),
        behavior=("best memoryless", best),
        target=("asks more", best | {"hear-delete": (0.6, 0.0, 0.4)}),
        sizes=(200, 2000),
    )
    return replace(found, name="voicemail-memoryless")


def random_model(number: int) -> Process:
    """A random model with four states, three actions and three observations."""
    rng = random_stream(number, "guarantees", "random model")
    S, A, O = 4, 3, 3
    over = 0.12

    def laws(concentration: float, *shape: int) -> Floats:
        found: Floats = rng.dirichlet(np.full(shape[-1], concentration), shape[:-1])
        return found

    pomdp = from_arrays(
        name=f"random-{number}",
        states=[f"s{s}" for s in range(S)],
        actions=[f"a{a}" for a in range(A)],
        observations=[f"z{z}" for z in range(O)],
        transition=(1 - over) * laws(0.5, A, S, S),
        ending=over,
        observation=laws(0.5, A, S, O),
        reward=np.round(rng.normal(0, 2, (A, S)), 2),
        start=laws(1.0, S),
        first_observation=laws(1.0, S, O),
        discount=0.95,
    )
    behaves, differs = (laws(1.0, O, A) for _ in range(2))
    half = (behaves + differs) / 2
    return make_process(
        "A model drawn at random, with a random memoryless behavior: nothing special.",
        pomdp,
        behavior=("drawn", dict(zip(pomdp.observations, behaves.tolist(), strict=True))),
        target=("halfway", dict(zip(pomdp.observations, half.tolist(), strict=True))),
        sizes=(200, 2000),
    )


def one_long_record() -> Process:
    """Two states in plain view that change in one of ten steps; `take` pays 1 in the rich one,
    everything else nothing. A log is one record of 400,000 steps, or two: it tells all of how the
    process moves and next to nothing of where it begins."""
    other = {"rich": "poor", "poor": "rich"}
    pomdp = model(
        "one-long-record",
        start={("rich", "rich"): 0.5, ("poor", "poor"): 0.5},
        outcomes={
            (state, action): [(0.9, state, state, pays), (0.1, other[state], other[state], pays)]
            for state in other
            for action, pays in (("take", float(state == "rich")), ("leave", 0.0))
        },
        discount=0.5,
    )
    return make_process(
        "One long record tells how the process moves, but not how episodes begin, on which a gain "
        "depends.",
        pomdp,
        behavior=("either", (0.5, 0.5)),
        target=("rather takes", {"rich": (0.8, 0.2), "poor": (0.5, 0.5)}),
        sizes=(1, 2),
        horizon=400_000,
        sufficient=True,
    )
