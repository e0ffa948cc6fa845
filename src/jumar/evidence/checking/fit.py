"""Did this policy produce this log?

Nothing is needed for it but the actions: whatever the process does, at every visit of a history x
the policy π draws a from π(· | x). With n(x, a) actions counted,

    G = 2 Σ n(x, a) log( n(x, a) / (n(x) π(a | x)) )

is how much better the log is explained by its own frequencies. Its law under π is drawn, not looked
up: the n(x) actions of every history are drawn anew from π(· | x). This takes the numbers of visits
as given. They depend on earlier actions, so the p-value is exact only where they do not; it is
close everywhere, since each step is one draw from π(· | x) in the log as well.

Where it does not fit is told by exact binomial tests of each action in each history: twice the
smaller tail, times the actions that a history can have, times the histories (Holm).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from jumar.core.arrays import Floats, Ints, number_rows
from jumar.core.text import Detail, Facts, TextTable, percent, shown
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking.base import (
    NAMED,
    PLACE,
    Finding,
    Question,
    Section,
    Subject,
    failed,
    look,
    passed,
)
from jumar.evidence.order.gaps import history_words
from jumar.evidence.order.steps import x_log_x
from jumar.evidence.practice import Practice
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller
from jumar.tally.replay import Replay

# predicted probabilities that share a line: exactly 0, (0, 0.05], ..., (0.95, 1), exactly 1
EDGES = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95)
GROUPS = ("0", "up to 5%", "5 to 20%", "20 to 50%", "50 to 80%", "80 to 95%", "above 95%", "1")
_ONE = 1 - 1e-12  # what rounding took from 1 does not count


@dataclass(frozen=True)
class Impossible:
    """A logged action to which the policy gives probability 0."""

    where: str
    history_state: str = field(metadata={"key": "situation"})
    action: str


@dataclass(frozen=True)
class Misfit:
    """A history in which something else was done than the policy says."""

    history_state: str = field(metadata={"key": "situation"})
    visits: int
    action: str  # the one that is furthest off
    expected: float  # its probability
    seen: float  # its share of the visits
    p: float  # corrected for looking at all histories


@dataclass(frozen=True)
class Calibrated:
    """All actions that had a similar probability, together."""

    group: str
    chances: int  # times such an action could have been taken
    expected: float  # times it should have been
    seen: int  # times it was
    low: float  # 95 of 100 logs of this policy have at least so many
    high: float  # ... and at most so many


@dataclass(frozen=True)
class Fit(Section):
    """Whether a policy fits the actions of a log."""

    policy: str
    steps: int
    impossible: int
    examples: tuple[Impossible, ...]  # the first of them
    statistic: float | None  # G; None when something impossible happened, as it is infinite then
    p: float
    resamples: int
    misfits: tuple[Misfit, ...]  # histories that do not fit even among so many, worst first
    n_misfits: int
    calibration: tuple[Calibrated, ...]
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        likelihood = "infinite, as something impossible happened"
        if self.statistic is not None:
            likelihood = (
                f"G = {self.statistic:.4g}, p = {self.p:.3g} from {self.resamples:,} drawn logs"
            )
        yield Facts([("likelihood", likelihood)])
        if self.impossible:
            yield TextTable(
                ["where", "situation", "action"],
                [[shown(e.where, PLACE), e.history_state, e.action] for e in self.examples],
                f"Actions this policy never takes: the first {len(self.examples)} of "
                f"{self.impossible:,}",
            )
        if self.misfits:
            heads = ["situation", "action", "policy", "log", "visits"]
            rows = [
                [m.history_state, m.action, percent(m.expected), percent(m.seen), f"{m.visits:,}"]
                for m in self.misfits
            ]
            title = f"Where it does not fit: the worst {len(rows)} of {self.n_misfits:,} situations"
            yield TextTable(heads, rows, title, right=heads[2:])
        heads = ["probability", "chances", "expected", "95% of logs", "taken"]
        rows = [
            [c.group, f"{c.chances:,}", f"{c.expected:,.1f}", f"{c.low:,.0f} to {c.high:,.0f}",
             f"{c.seen:,}"]
            for c in self.calibration
        ]  # fmt: skip
        title = "Actions by the probability the policy gives them"
        yield TextTable(heads, rows, title, right=heads[1:])


@dataclass(frozen=True, eq=False)
class PolicyReplay:
    """A replay with the rows of a policy. H histories in which something was done, N steps."""

    log: Episodes
    controller: Controller
    states: Ints  # (H, W+1) sorted; by behavior, where several made the log
    at: Ints  # (N,) the history at every step
    taken: Ints  # (H, A) how often each action was done there
    policy: Floats  # (H, A) how likely the controller makes it
    made_by: tuple[str, ...] = ()  # (H,) whose history it is, where several made the log

    def words(self, h: int) -> str:
        """History h as people read it."""
        who = f"{shown(self.made_by[h])}: " if self.made_by else ""
        return who + history_words(self.log, self.controller.memory, self.states[h])

    def action(self, a: int) -> str:
        """The name of an action, safe to show."""
        return shown(self.log.actions[a])


def with_policy(replay: Replay, controller: Controller) -> PolicyReplay:
    """A replay over the memory of a controller, with the rows of that controller."""
    states, at = replay.acted
    taken = replay.taken[replay.taken.any(1)]
    return PolicyReplay(replay.log, controller, states, at, taken, controller.rows_at(states))


def with_policies(practice: Practice) -> PolicyReplay:
    """The replay of a log that several behaviors made, the histories of each one by themselves."""
    log, memory, A = practice.log, practice.memory, len(practice.log.actions)
    replay = practice.replays.over(memory)
    apart, at = number_rows(np.column_stack([np.repeat(practice.made_by, log.lengths), replay.at]))
    H, of, states = len(apart), apart[:, 0], replay.states[apart[:, 1]]
    policy = np.empty((H, A))
    for k, controller in enumerate(practice.controllers):
        policy[of == k] = controller.lift(memory).rows_at(states[of == k])
    taken = np.bincount(at * A + log.action, minlength=H * A).reshape(H, A)
    names = tuple(practice.names[k] for k in of.tolist())
    return PolicyReplay(log, practice.pooled, states, at, taken, policy, names)


def fit_policy(replay: PolicyReplay, settings: Settings, rng: np.random.Generator) -> Fit:
    """Test a written policy against the actions of a log."""
    visits = replay.taken.sum(1)
    B, G, p, drawn = _likelihood_ratio(replay, visits, settings, rng)
    log, at = replay.log, replay.at
    impossible = np.flatnonzero(replay.policy[at, log.action] <= 0)
    misfits = _misfits(replay, visits, settings.level)
    return Fit(
        policy=replay.controller.name,
        steps=log.n_steps,
        impossible=len(impossible),
        examples=tuple(
            Impossible(log.where(row), replay.words(at[row]), replay.action(log.action[row]))
            for row in impossible[:NAMED].tolist()
        ),
        statistic=G if math.isfinite(G) else None,
        p=p,
        resamples=B,
        misfits=tuple(misfits[:NAMED]),
        n_misfits=len(misfits),
        calibration=_calibration(replay, visits, drawn),
        verdict=_verdict(len(impossible), p, len(misfits), settings.level),
    )


def _likelihood_ratio(
    replay: PolicyReplay, visits: Ints, settings: Settings, rng: np.random.Generator
) -> tuple[int, float, float, Floats]:
    """B, G, p, and (B, groups) how many actions of each group of probabilities were drawn."""
    policy = replay.policy / replay.policy.sum(1, keepdims=True)  # multinomial is strict about 1
    log_policy = np.log(policy, out=np.zeros_like(policy), where=policy > 0)
    constant = x_log_x(visits).sum()
    group = _groups(replay.policy).ravel()

    def statistic(counts: Ints) -> float:
        return float(2 * (x_log_x(counts).sum() - constant - (counts * log_policy).sum()))

    G = math.inf if (replay.taken[policy <= 0] > 0).any() else statistic(replay.taken)
    B = settings.draws(4 * policy.size)
    drawn, by_group = np.empty(B), np.empty((B, len(GROUPS)))
    for b in range(B):
        counts = rng.multinomial(visits, policy)
        drawn[b] = statistic(counts)
        by_group[b] = np.bincount(group, counts.ravel(), len(GROUPS))
    return B, G, p_value(G, drawn) if math.isfinite(G) else 1 / (B + 1), by_group


def _groups(policy: Floats) -> Ints:
    """The group of each probability."""
    found: Ints = np.searchsorted(EDGES, policy)
    found[policy >= _ONE] = len(GROUPS) - 1
    return found


def _calibration(replay: PolicyReplay, visits: Ints, drawn: Floats) -> tuple[Calibrated, ...]:
    group = _groups(replay.policy)
    lines = []
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    for g, name in enumerate(GROUPS):
        inside = group == g
        chances = int((visits[:, None] * inside).sum())
        if chances == 0:
            continue
        expected = float((visits[:, None] * replay.policy)[inside].sum())
        seen = int(replay.taken[inside].sum())
        lines.append(Calibrated(name, chances, expected, seen, float(low[g]), float(high[g])))
    return tuple(lines)


def _misfits(replay: PolicyReplay, visits: Ints, level: float) -> list[Misfit]:
    """The histories that Holm's correction leaves below the level, worst first."""
    tails = binomial_p(replay.taken, visits[:, None], replay.policy)
    choices = ((replay.policy > 0) & (replay.policy < _ONE)).sum(1)
    # of two actions that are equally far off, the one that was done too often
    least = tails.min(1, keepdims=True)
    excess = replay.taken - visits[:, None] * replay.policy
    furthest = np.where(tails <= least * (1 + 1e-9), excess, -np.inf).argmax(1)
    per_history = np.minimum(1, least[:, 0] * np.maximum(choices, 1))
    corrected = holm(per_history)
    # equally certain ones: where it happened most often comes first
    order = np.lexsort([-visits, corrected])
    found = []
    for h in order[: int((corrected <= level).sum())].tolist():
        a, n = int(furthest[h]), int(visits[h])
        expected, seen = float(replay.policy[h, a]), float(replay.taken[h, a] / n)
        p = float(corrected[h])
        found.append(Misfit(replay.words(h), n, replay.action(a), expected, seen, p))
    return found


def binomial_p(seen: Ints, trials: Ints, probability: Floats) -> Floats:
    """Two-sided exact p-values: twice the smaller tail of the binomial law.

    >>> binomial_p(np.array([0, 2]), np.array([4, 4]), np.array([0.5, 0.5])).tolist()
    [0.125, 1.0]
    """
    from scipy.special import bdtr, bdtrc

    p = np.clip(probability, 0, 1)
    lower = bdtr(seen.astype(float), trials, p)
    upper = np.where(seen > 0, bdtrc(np.maximum(seen - 1, 0).astype(float), trials, p), 1.0)
    both: Floats = np.minimum(1, 2 * np.minimum(lower, upper))
    return both


def holm(p: Floats) -> Floats:
    """Holm's p-values: valid together, however many there are and however they depend.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    rising = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1, rising)
    return corrected


def _verdict(impossible: int, p: float, misfits: int, level: float) -> Finding:
    if impossible:
        steps = "1 step shows" if impossible == 1 else f"{impossible:,} steps show"
        return failed(
            f"{steps} an action that this policy never takes. It is not the one that made the "
            "log, or it explores and its file does not say so.",
        )
    if p <= level:
        return failed(
            f"This policy did not choose these actions: shares like these come up with "
            f"probability {p:.2g} or less. See where it does not fit.",
        )
    if misfits:
        return look("The policy fits on the whole, but not in every situation; see which ones.")
    return passed(f"The actions are such as this policy takes (p = {p:.2g}).")


def _answer(subject: Subject, rng: np.random.Generator) -> Fit | None:
    """Only for a policy that was written down; an estimated one fits by construction."""
    if subject.estimated:
        return None
    if subject.practice.several:
        acting = with_policies(subject.practice)
    else:
        acting = with_policy(subject.replay, subject.behavior)
    return fit_policy(acting, subject.settings, rng)


ENTRY = Question("Did this policy produce this log?", _answer, stream="actions")
