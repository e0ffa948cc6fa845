"""Processes that broke the held-out gate of 0.1.0, or were built to break any gate: rare losses,
rare gains, missing weights, shifted rewards and ties.

All numbers are our own choice; none is taken from a field.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jumar.lab.study.guarantees.base import Outcome, Process, decision, ends, make_process, model
from jumar.lab.truth.pomdp import Pomdp
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller
from jumar.tally.history import HistoryMdp


def missing_weights() -> Process:
    """`push` pays 4 to somebody rested and costs 3 to somebody tired; whoever pushed is tired, one
    `hold` later rested. Nothing of it is seen, and `push` is explored in 4 % of the steps."""
    return make_process(
        "Records of 8 steps hardly ever show an action twice in a row, so weights are missing and "
        "a model that is wrong speaks for them.",
        _tiring("missing-weights", pays=4.0, costs=-3.0),
        behavior=("mostly holds", (0.96, 0.04)),
        target=("pushes more", (0.9, 0.1)),
        sizes=(200, 1000),
        horizon=8,
    )


def missing_weights_read_off() -> Process:
    """The same with a discount of 0.8, so that little lies beyond the cut, and the range of the
    returns read off a log in which hardly anything differs."""
    name = "missing-weights-read-off"
    return replace(
        missing_weights(),
        name=name,
        mechanism="As above, with little beyond the cut and a range of returns that was only read "
        "off a log of nearly equal ones.",
        pomdp=_tiring(name, pays=4.0, costs=-3.0, discount=0.8),
        declared=False,
    )


def fatigue() -> Process:
    """As above, but `push` is explored in 2 % of the steps and episodes end by themselves, after
    ten steps on average."""
    return make_process(
        "An action that is explored in 2 % of the steps pays more than the usual one, but not when "
        "it is repeated, which the log hardly shows.",
        _tiring("fatigue", pays=3.0, costs=-2.0, end=0.1),
        behavior=("hardly ever pushes", (0.98, 0.02)),
        target=("pushes more", (0.94, 0.06)),
    )


def _tiring(
    name: str, *, pays: float, costs: float, end: float = 0.0, discount: float = 0.95
) -> Pomdp:
    def after(state: str, reward: float) -> list[Outcome]:
        goes_on: list[Outcome] = [(1 - end, state, "nothing", reward)]
        return goes_on + (ends((end, reward)) if end else [])

    return model(
        name,
        start={("rested", "nothing"): 1.0},
        outcomes={
            ("rested", "hold"): after("rested", 1.0),
            ("rested", "push"): after("tired", pays),
            ("tired", "hold"): after("rested", 1.0),
            ("tired", "push"): after("tired", costs),
        },
        discount=discount,
    )


def shifted_rewards() -> Process:
    """Five cells in a row. The middle one is lit, pays 1 and sends to any of the others, which show
    a hue that means nothing, some hues rarely. Every step pays 12 on top; records have 6 steps."""
    shift, goal, others = 12.0, 2, (0, 1, 3, 4)
    weights = [0.3**i for i in range(4)]
    hues = {f"hue-{i}": w / sum(weights) for i, w in enumerate(weights)}

    def step(s: int, move: int) -> list[Outcome]:
        if s == goal:
            return [(p / 4, f"c{to}", z, shift) for to in others for z, p in hues.items()]
        to = min(max(s + move, 0), 4)
        if to == goal:
            return [(1.0, "c2", "lit", shift + 1)]
        return [(p, f"c{to}", z, shift) for z, p in hues.items()]

    pomdp = model(
        "shifted-rewards",
        start={(f"c{s}", z): p / 4 for s in others for z, p in hues.items()},
        outcomes={
            (f"c{s}", action): step(s, move)
            for s in range(5)
            for action, move in (("go-left", -1), ("go-right", 1))
        },
        discount=0.75,
    )
    return make_process(
        "All records have one length and every step pays 12 on top, which changes no comparison "
        "but swells every error of a model.",
        pomdp,
        behavior=("either way", (0.5, 0.5)),
        target=("rather to the right", (0.4, 0.6)),
        sizes=(300, 3000),
        horizon=6,
        declared=False,
    )


def rare_trap() -> Process:
    """In 3 % of the episodes an alarm shows; there `ignore` is explored in 4 % of the cases. It
    saves 4, and costs 60 in 8 % of the cases."""
    calm = ends((0.5, 0.0), (0.5, 1.0))
    pays = {
        ("calm", "react"): calm,
        ("calm", "ignore"): calm,
        ("alarm", "react"): ends((1.0, 0.0)),
        ("alarm", "ignore"): ends((0.92, 4.0), (0.08, -60.0)),
    }
    return make_process(
        "A rare observation, a rarely explored action and a rare large loss: most logs hold a "
        "dozen episodes that matter and none that shows the loss.",
        decision("rare-trap", {"calm": 0.97, "alarm": 0.03}, pays),
        behavior=("reacts", {"calm": (0.5, 0.5), "alarm": (0.96, 0.04)}),
        target=("ignores more", {"calm": (0.5, 0.5), "alarm": (0.8, 0.2)}),
        sizes=(2000, 20_000),
        steps=1,
        sufficient=True,
    )


def lottery() -> Process:
    """A ticket costs 1 and wins 400 once in 200 times; the behavior buys one every other time."""
    pays = {
        ("now", "play"): ends((0.995, -1.0), (0.005, 399.0)),
        ("now", "pass"): ends((1.0, 0.0)),
    }
    return make_process(
        "What pays has often not happened in the log, and nobody declared that it can: a "
        "controller that stops playing looks better.",
        decision("lottery", {"now": 1.0}, pays),
        behavior=("plays every other time", (0.5, 0.5)),
        target=("plays more", (0.75, 0.25)),
        sizes=(100, 500),
        steps=1,
        declared=False,
        sufficient=True,
    )


def lottery_declared() -> Process:
    """The lottery of an owner who says what a ticket can win."""
    told = "The same lottery, its prize declared."
    return replace(lottery(), name="lottery-declared", mechanism=told, declared=True)


def rare_loss() -> Process:
    """One decision: `safe` pays 1, `risky` pays 1.1 and costs 250 once in 1,200 times."""
    pays = {
        ("now", "safe"): ends((1.0, 1.0)),
        ("now", "risky"): ends((1 - 1 / 1200, 1.1), (1 / 1200, -250.0)),
    }
    return make_process(
        "A loss that most logs do not show, and that nobody declared.",
        decision("rare-loss", {"now": 1.0}, pays),
        behavior=("mostly safe", (0.7, 0.3)),
        target=("mostly risky", (0.4, 0.6)),
        sizes=(500, 2000),
        steps=1,
        declared=False,
        sufficient=True,
    )


def rare_loss_declared() -> Process:
    """The same, its owner knowing how bad it can be."""
    told = "The same, the loss declared."
    return replace(rare_loss(), name="rare-loss-declared", mechanism=told, declared=True)


def all_equal() -> Process:
    """Every step pays 0.7 whatever is done; only what is seen next changes. Records have 12
    steps."""
    looks = {"red": 0.2, "green": 0.3, "blue": 0.5}
    pomdp = model(
        "all-equal",
        start={("s", z): p for z, p in looks.items()},
        outcomes={
            ("s", action): [(p, "s", z, 0.7) for p, z in zip(law, looks, strict=True)]
            for action, law in (("left", (0.6, 0.3, 0.1)), ("right", (0.1, 0.2, 0.7)))
        },
        discount=0.85,
    )
    rows = {"red": (0.5, 0.5), "green": (0.8, 0.2), "blue": (0.3, 0.7)}
    return make_process(
        "All returns are equal, so that any gain that is found is rounding.",
        pomdp,
        behavior=("by colour", rows),
        target=("other", {"red": (0.6, 0.4)}),
        sizes=(50, 500),
        horizon=12,
        declared=False,
        sufficient=True,
    )


def near_ties() -> Process:
    """Two steps with three actions each that pay 0 or 1; what the second pays differs by 1e-6 with
    what was done, and nothing else does."""
    tiny = 1e-6
    chances = {"a": 0.5, "b": 0.5 + tiny, "c": 0.5 - tiny}
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    for action, p in chances.items():
        outcomes["first", action] = [
            (0.5 * win, "second", z, pay)
            for z in ("heads", "tails")
            for win, pay in ((p, 1.0), (1 - p, 0.0))
        ]
        outcomes["second", action] = ends((p, 1.0), (1 - p, 0.0))
    return make_process(
        "All policies are worth the same up to 1e-6, and half of the changes are for the worse: "
        "every claim of a gain is luck.",
        model("near-ties", start={("first", "begin"): 1.0}, outcomes=outcomes),
        behavior=("anything", (0.4, 0.3, 0.3)),
        target=("mostly c", (0.2, 0.2, 0.6)),
        steps=2,
        sufficient=True,
    )


def heavy_tails() -> Process:
    """One decision: `bold` pays 2^j with a chance in proportion to 2^(-1.3 j), j = 0 ... 12,
    `steady` pays 0.95 times its mean."""
    chance = [2.0 ** (-1.3 * j) for j in range(13)]
    chance = [c / sum(chance) for c in chance]
    mean = sum(c * 2.0**j for j, c in enumerate(chance))
    pays = {
        ("now", "bold"): ends(*((c, 2.0**j) for j, c in enumerate(chance))),
        ("now", "steady"): ends((1.0, 0.95 * mean)),
    }
    return make_process(
        "Returns of up to 4,096 with a mean of 3: the mean of a log is mostly too low, and the "
        "better action looks worse.",
        decision("heavy-tails", {"now": 1.0}, pays),
        behavior=("half bold", (0.5, 0.5)),
        target=("bolder", (0.8, 0.2)),
        steps=1,
        sufficient=True,
    )


def declared_time_out() -> Process:
    """One step: `answer` pays 5, `wait` pays 10, but in 5 % of the cases the time is out: the
    record stops there, with a loss of 100."""
    pays = {
        ("open", "answer"): ends((1.0, 5.0)),
        ("open", "wait"): [*ends((0.95, 10.0)), (0.05, "late", "nobody", -100.0)],
        **{("late", action): ends((1.0, 0.0)) for action in ("answer", "wait")},
    }
    return make_process(
        "What it costs to be cut off was declared, but many logs show no record that was.",
        model("declared-time-out", start={("open", "now"): 1.0}, outcomes=pays),
        behavior=("either", (0.5, 0.5)),
        target=("waits more", (0.3, 0.7)),
        sizes=(100, 1000),
        horizon=1,
    )


def coordination() -> Process:
    """Two steps: the same key twice pays 1, different keys cost 1. One of 300 screens is seen at
    every step and means nothing. The owner's function proposes one key for all of them."""
    screens = [f"screen-{i}" for i in range(300)]
    share = 1 / len(screens)
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    for first in ("x", "y"):
        outcomes["begin", first] = [(share, first, z, 0.0) for z in screens]
        for second in ("x", "y"):
            outcomes[first, second] = ends((1.0, 1.0 if first == second else -1.0))
    return make_process(
        "A function brings a controller that is better everywhere, and worse where only some of "
        "the histories that can occur follow it.",
        model("coordination", start={("begin", z): share for z in screens}, outcomes=outcomes),
        behavior=("rather y", (0.4, 0.6)),
        target=("more y", (0.3, 0.7)),
        sizes=(400, 4000),
        steps=2,
        candidates=_one_key,
    )


def _one_key(mdp: HistoryMdp, behavior: Controller) -> Controller:
    return Controller.constant(mdp.observations, mdp.actions, (0.9, 0.1))


def drawn_propensities() -> Process:
    """Five offers that all pay 1 with a chance of one half. The router does not write down how
    likely its choice was, but how often 64 draws of it came out the same, and at least once."""
    offers, draws = ("a", "b", "c", "d", "e"), 64
    chances = (0.86, 0.05, 0.04, 0.03, 0.02)

    def counted_in_draws(log: Episodes, rng: np.random.Generator) -> Episodes:
        times = rng.binomial(draws, np.array(chances)[log.action])
        return replace(log, propensity=np.maximum(times, 1) / draws)

    return make_process(
        "The probabilities in the log are frequencies of 64 draws: one over a frequency is too "
        "large on average, so that rare offers look better than they are.",
        decision(
            "drawn-propensities",
            {"now": 1.0},
            {("now", offer): ends((0.5, 1.0), (0.5, 0.0)) for offer in offers},
        ),
        behavior=("mostly a", chances),
        target=("more of the others", (0.6, 0.1, 0.1, 0.1, 0.1)),
        sizes=(2000, 20_000),
        steps=1,
        sufficient=False,
        annotate=counted_in_draws,
    )
