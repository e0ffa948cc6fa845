"""Processes that broke the held-out gate of 0.1.0, or were built to break any gate: rare losses,
rare gains, missing weights, shifted rewards and ties.

All numbers are our own choice; none is taken from a field.
"""

from __future__ import annotations

from jumar.study.guarantees.base import Outcome, Process, declared, model, renamed, rule
from jumar.truth.pomdp import Pomdp

GAMMA = 0.95


def missing_weights() -> Process:
    """`push` pays 4 to somebody rested and costs 3 to somebody tired; whoever pushed is tired, one
    `hold` later rested. Nothing of it is seen, and `push` is explored in 4 % of the steps."""
    pomdp = _tiring("missing-weights", pays=4.0, costs=-3.0, hold=1.0)
    return Process(
        name="missing-weights",
        kind="M1",
        mechanism=(
            "Records of 8 steps hardly ever show an action twice in a row, so weights are missing "
            "and a model that is wrong speaks for them."
        ),
        pomdp=pomdp,
        behavior=rule(pomdp, {"nothing": (0.96, 0.04)}, "mostly holds"),
        target=rule(pomdp, {"nothing": (0.9, 0.1)}, "pushes more"),
        horizon=8,
        rewards=declared(pomdp),
        sizes=(200, 1000),
        more_sizes=(50, 5000, 20_000),
        longest=8,
    )


def missing_weights_read_off() -> Process:
    """The same with a discount of 0.8, so that little lies beyond the cut, and the range of the
    returns read off a log in which hardly anything differs."""
    pomdp = _tiring("missing-weights-read-off", pays=4.0, costs=-3.0, hold=1.0, discount=0.8)
    return Process(
        name="missing-weights-read-off",
        kind="M1",
        mechanism=(
            "As above, with little beyond the cut and a range of returns that was only read off a "
            "log of nearly equal ones."
        ),
        pomdp=pomdp,
        behavior=rule(pomdp, {"nothing": (0.96, 0.04)}, "mostly holds"),
        target=rule(pomdp, {"nothing": (0.9, 0.1)}, "pushes more"),
        horizon=8,
        rewards=None,
        sizes=(200, 1000),
        more_sizes=(50, 5000, 20_000),
        longest=8,
    )


def fatigue() -> Process:
    """As above, but `push` is explored in 2 % of the steps and episodes end by themselves, after
    ten steps on average."""
    pomdp = _tiring("fatigue", pays=3.0, costs=-2.0, hold=1.0, end=0.1)
    return Process(
        name="fatigue",
        mechanism=(
            "An action that is explored in 2 % of the steps pays more than the usual one, but not "
            "when it is repeated, which the log hardly shows."
        ),
        pomdp=pomdp,
        behavior=rule(pomdp, {"nothing": (0.98, 0.02)}, "hardly ever pushes"),
        target=rule(pomdp, {"nothing": (0.94, 0.06)}, "pushes more"),
        horizon=None,
        rewards=declared(pomdp),
        sizes=(100, 1000),
        more_sizes=(20, 300, 10_000),
    )


def _tiring(
    name: str,
    *,
    pays: float,
    costs: float,
    hold: float,
    end: float = 0.0,
    discount: float = GAMMA,
) -> Pomdp:
    def after(state: str, reward: float) -> list[Outcome]:
        goes_on: list[Outcome] = [(1 - end, state, "nothing", reward)]
        return goes_on + ([(end, None, None, reward)] if end else [])

    return model(
        name,
        observations=["nothing"],
        start={("rested", "nothing"): 1.0},
        outcomes={
            ("rested", "hold"): after("rested", hold),
            ("rested", "push"): after("tired", pays),
            ("tired", "hold"): after("rested", hold),
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
        observations=[*hues, "lit"],
        start={(f"c{s}", z): p / 4 for s in others for z, p in hues.items()},
        outcomes={
            (f"c{s}", action): step(s, move)
            for s in range(5)
            for action, move in (("go-left", -1), ("go-right", 1))
        },
        discount=0.75,
    )
    return Process(
        name="shifted-rewards",
        kind="M2",
        mechanism=(
            "All records have one length and every step pays 12 on top, which changes no "
            "comparison but swells every error of a model."
        ),
        pomdp=pomdp,
        behavior=rule(pomdp, dict.fromkeys(pomdp.observations, (0.5, 0.5)), "either way"),
        target=rule(pomdp, dict.fromkeys(pomdp.observations, (0.4, 0.6)), "rather to the right"),
        horizon=6,
        rewards=None,
        sizes=(300, 3000),
        more_sizes=(50, 1000, 20_000),
        longest=6,
    )


def rare_trap() -> Process:
    """In 3 % of the episodes an alarm shows; there `ignore` is explored in 4 % of the cases. It
    saves 4, and costs 60 in 8 % of the cases."""
    pomdp = model(
        "rare-trap",
        observations=["calm", "alarm"],
        start={("calm", "calm"): 0.97, ("alarm", "alarm"): 0.03},
        outcomes={
            ("calm", "react"): [(0.5, None, None, 0.0), (0.5, None, None, 1.0)],
            ("calm", "ignore"): [(0.5, None, None, 0.0), (0.5, None, None, 1.0)],
            ("alarm", "react"): [(1.0, None, None, 0.0)],
            ("alarm", "ignore"): [(0.92, None, None, 4.0), (0.08, None, None, -60.0)],
        },
        discount=GAMMA,
    )
    return Process(
        name="rare-trap",
        kind="M3",
        mechanism=(
            "A rare observation, a rarely explored action and a rare large loss: most logs hold a "
            "dozen episodes that matter and none that shows the loss."
        ),
        pomdp=pomdp,
        behavior=rule(pomdp, {"calm": (0.5, 0.5), "alarm": (0.96, 0.04)}, "reacts"),
        target=rule(pomdp, {"calm": (0.5, 0.5), "alarm": (0.8, 0.2)}, "ignores more"),
        horizon=None,
        rewards=declared(pomdp),
        sizes=(2000, 20_000),
        more_sizes=(200, 60_000),
        longest=1,
        sufficient=True,
    )


def break_downs() -> Process:
    """A machine is young, and old after ten periods on average. A noise comes in 0.6 % of a young
    one's periods and in 1.8 % of an old one's. On a noise the written controller overhauls it,
    which costs 3 and ends the episode. Whoever runs on earns 1 as ever, but in 6 % of the cases the
    machine breaks down, which costs 180. Any period is the last with a chance of 10 %."""
    over, fails = 0.1, 0.06
    noise = {"young": 0.006, "old": 0.018}
    ages = {"young": {"young": 0.9, "old": 0.1}, "old": {"old": 1.0}}

    def goes_on(age: str, p: float = 1.0) -> list[Outcome]:
        found: list[Outcome] = [(p * over, None, None, 1.0)]
        for to, q in ages[age].items():
            left = p * (1 - over) * q
            found.append((left * (1 - noise[to]), to, "quiet", 1.0))
            found.append((left * noise[to], f"{to}, noisy", "noise", 1.0))
        return found

    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    for age in ages:
        outcomes[age, "run"] = goes_on(age)
        outcomes[f"{age}, noisy", "run"] = [*goes_on(age, 1 - fails), (fails, None, None, -180.0)]
        for state in (age, f"{age}, noisy"):
            outcomes[state, "overhaul"] = [(1.0, None, None, -3.0)]
    pomdp = model(
        "break-downs",
        observations=["quiet", "noise"],
        start={("young", "quiet"): 1.0},
        outcomes=outcomes,
        discount=GAMMA,
    )
    return Process(
        name="break-downs",
        kind="M3",
        mechanism=(
            "Running on after a noise pays at once and leads to break-downs that are rare under "
            "the written controller."
        ),
        pomdp=pomdp,
        behavior=rule(pomdp, {"quiet": (1.0, 0.0), "noise": (0.05, 0.95)}, "overhauls on a noise"),
        target=rule(pomdp, {"quiet": (1.0, 0.0), "noise": (0.2, 0.8)}, "runs on more"),
        horizon=None,
        rewards=declared(pomdp),
        sizes=(1000, 10_000),
        more_sizes=(100, 60_000),
    )


def lottery() -> Process:
    """A ticket costs 1 and wins 400 once in 200 times; the behavior buys one every other time."""
    pomdp = model(
        "lottery",
        observations=["now"],
        start={("now", "now"): 1.0},
        outcomes={
            ("now", "play"): [(0.995, None, None, -1.0), (0.005, None, None, 399.0)],
            ("now", "pass"): [(1.0, None, None, 0.0)],
        },
        discount=GAMMA,
    )
    return Process(
        name="lottery",
        kind="M4",
        mechanism=(
            "What pays has often not happened in the log, and nobody declared that it can: a "
            "controller that stops playing looks better."
        ),
        pomdp=pomdp,
        behavior=rule(pomdp, {"now": (0.5, 0.5)}, "plays every other time"),
        target=rule(pomdp, {"now": (0.75, 0.25)}, "plays more"),
        horizon=None,
        rewards=None,
        sizes=(100, 500),
        more_sizes=(20, 2000, 10_000),
        longest=1,
        sufficient=True,
    )


def lottery_declared() -> Process:
    """The lottery of an owner who says what a ticket can win."""
    process = lottery()
    return renamed(
        process,
        "lottery-declared",
        "The same lottery, its prize declared.",
        declared(process.pomdp),
    )


def rare_loss() -> Process:
    """One decision: `safe` pays 1, `risky` pays 1.1 and costs 250 once in 1,200 times."""
    pomdp = model(
        "rare-loss",
        observations=["now"],
        start={("now", "now"): 1.0},
        outcomes={
            ("now", "safe"): [(1.0, None, None, 1.0)],
            ("now", "risky"): [(1 - 1 / 1200, None, None, 1.1), (1 / 1200, None, None, -250.0)],
        },
        discount=GAMMA,
    )
    return Process(
        name="rare-loss",
        kind="M4",
        mechanism="A loss that most logs do not show, and that nobody declared.",
        pomdp=pomdp,
        behavior=rule(pomdp, {"now": (0.7, 0.3)}, "mostly safe"),
        target=rule(pomdp, {"now": (0.4, 0.6)}, "mostly risky"),
        horizon=None,
        rewards=None,
        sizes=(500, 2000),
        more_sizes=(50, 10_000),
        longest=1,
        sufficient=True,
    )


def rare_loss_declared() -> Process:
    """The same, its owner knowing how bad it can be."""
    process = rare_loss()
    return renamed(
        process, "rare-loss-declared", "The same, the loss declared.", declared(process.pomdp)
    )


def all_equal() -> Process:
    """Every step pays 0.7 whatever is done; only what is seen next changes. Records have 12
    steps."""
    pomdp = model(
        "all-equal",
        observations=["red", "green", "blue"],
        start={("s", "red"): 0.2, ("s", "green"): 0.3, ("s", "blue"): 0.5},
        outcomes={
            ("s", action): [
                (p, "s", z, 0.7) for p, z in zip(law, ("red", "green", "blue"), strict=True)
            ]
            for action, law in (("left", (0.6, 0.3, 0.1)), ("right", (0.1, 0.2, 0.7)))
        },
        discount=0.85,
    )
    return Process(
        name="all-equal",
        mechanism="All returns are equal, so that any gain that is found is rounding.",
        pomdp=pomdp,
        behavior=rule(
            pomdp, {"red": (0.5, 0.5), "green": (0.8, 0.2), "blue": (0.3, 0.7)}, "by colour"
        ),
        target=rule(pomdp, {"red": (0.6, 0.4)}, "other"),
        horizon=12,
        rewards=None,
        sizes=(50, 500),
        more_sizes=(20, 5000),
        longest=12,
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
            (share * win, "second", z, pay)
            for share, z in ((0.5, "heads"), (0.5, "tails"))
            for win, pay in ((p, 1.0), (1 - p, 0.0))
        ]
        outcomes["second", action] = [(p, None, None, 1.0), (1 - p, None, None, 0.0)]
    pomdp = model(
        "near-ties",
        observations=["begin", "heads", "tails"],
        start={("first", "begin"): 1.0},
        outcomes=outcomes,
        discount=GAMMA,
    )
    third = (0.4, 0.3, 0.3)
    return Process(
        name="near-ties",
        mechanism=(
            "All policies are worth the same up to 1e-6, and half of the changes are for the "
            "worse: every claim of a gain is luck."
        ),
        pomdp=pomdp,
        behavior=rule(pomdp, dict.fromkeys(pomdp.observations, third), "anything"),
        target=rule(pomdp, dict.fromkeys(pomdp.observations, (0.2, 0.2, 0.6)), "mostly c"),
        horizon=None,
        rewards=declared(pomdp),
        sizes=(100, 1000),
        more_sizes=(20, 10_000, 60_000),
        longest=2,
        sufficient=True,
    )


def heavy_tails() -> Process:
    """One decision: `bold` pays 2^j with a chance in proportion to 2^(-1.3 j), j = 0 ... 12,
    `steady` pays 0.95 times its mean."""
    chance = [2.0 ** (-1.3 * j) for j in range(13)]
    chance = [c / sum(chance) for c in chance]
    mean = sum(c * 2.0**j for j, c in enumerate(chance))
    pomdp = model(
        "heavy-tails",
        observations=["now"],
        start={("now", "now"): 1.0},
        outcomes={
            ("now", "bold"): [(c, None, None, 2.0**j) for j, c in enumerate(chance)],
            ("now", "steady"): [(1.0, None, None, 0.95 * mean)],
        },
        discount=GAMMA,
    )
    return Process(
        name="heavy-tails",
        mechanism=(
            "Returns of up to 4,096 with a mean of 3: the mean of a log is mostly too low, and "
            "the better action looks worse."
        ),
        pomdp=pomdp,
        behavior=rule(pomdp, {"now": (0.5, 0.5)}, "half bold"),
        target=rule(pomdp, {"now": (0.8, 0.2)}, "bolder"),
        horizon=None,
        rewards=declared(pomdp),
        sizes=(100, 1000),
        more_sizes=(20, 10_000),
        longest=1,
        sufficient=True,
    )
