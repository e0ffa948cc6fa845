"""Were the actions chosen as it is said? By the policy, or by the logged propensities.

*The policy.* Whatever the process does, at every visit of a history x
the policy π draws a from π(· | x). With n(x, a) actions counted,

    G = 2 Σ n(x, a) log( n(x, a) / (n(x) π(a | x)) )

is how much better the log is explained by its own frequencies. Its law under π is drawn, not looked
up: the n(x) actions of every history are drawn anew from π(· | x). This takes the numbers of visits
as given. They depend on earlier actions, so the p-value is exact only where they do not; it is
close everywhere, since each step is one draw from π(· | x) in the log as well.

Where it does not fit is told by exact binomial tests of each action in each history: twice the
smaller tail, times the actions that a history can have, times the histories (Holm).

*Propensities.* Next to a controller they are compared with it, step by step, up to the digits they
are written with (`jumar.evidence.practice`).

Alone they can still be wrong in ways that a log shows. With two actions the propensity of one tells
that of the other, so it is known how often the second action should have been taken among steps
where it had a similar probability. With q the probability of the second action, O_g and E_g = Σ q
how often it was and should have been taken in group g, and V_g = Σ q (1 - q),

    X² = Σ_g (O_g - E_g)² / V_g

is compared with logs in which every action is drawn anew from its q.

With more actions only a sum is known: the mean of 1/propensity is the mean number of actions that
were possible. It can be less than the number of all actions, but not more, except by chance:
z = (mean - |A|) / standard error, one-sided. This one is right only for many steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Ints, number_rows
from jumar.core.errors import LogError
from jumar.core.text import counted, percent, shown
from jumar.evidence.chance import Settings, p_value
from jumar.evidence.checking.base import (
    NAMED,
    Columns,
    Finding,
    Question,
    Rows,
    Section,
    failed,
    history_words,
    look,
    passed,
    table,
    where,
    worst,
)
from jumar.evidence.doubts import inverses, p_of_possible
from jumar.evidence.practice import Practice
from jumar.evidence.steps import x_log_x

_ONE = 1 - 1e-12  # what rounding took from 1 does not count
EDGES = (0.05, 0.2, 0.5, 0.8, 0.95)  # between groups of probabilities

# ---- the policy ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PolicyReplay:
    """A replay with the rows of a policy. H histories in which something was done, N steps."""

    practice: Practice
    made_by: Ints  # (H,) the behavior whose history it is
    states: Ints  # (H, W+1) sorted, those of each behavior
    at: Ints  # (N,) the history at every step
    taken: Ints  # (H, A) how often each action was done there
    policy: Floats  # (H, A) how likely the behavior makes it

    def words(self, h: int, a: int) -> dict[str, str]:
        """History h and an action as people read them."""
        log, practice = self.practice.log, self.practice
        who = f"{shown(practice.names[self.made_by[h]])}: " if practice.several else ""
        situation = who + history_words(log, practice.memory, self.states[h])
        return {"situation": situation, "action": shown(log.actions[a])}


def with_policy(practice: Practice) -> PolicyReplay:
    """The replay of a log; of several behaviors the histories of each one are apart."""
    log, memory, A = practice.log, practice.memory, len(practice.log.actions)
    replay = practice.replays.over(memory)
    apart, at = number_rows(np.column_stack([np.repeat(practice.made_by, log.lengths), replay.at]))
    H, of, states = len(apart), apart[:, 0], replay.states[apart[:, 1]]
    policy = np.empty((H, A))
    for k, controller in enumerate(practice.controllers):
        policy[of == k] = controller.lift(memory).rows_at(states[of == k])
    taken = np.bincount(at * A + log.action, minlength=H * A).reshape(H, A)
    return PolicyReplay(practice, of, states, at, taken, policy)


def check_fit(replay: PolicyReplay, settings: Settings, rng: np.random.Generator) -> Section:
    """Test a written policy against the actions of a log."""
    G, p, B = _likelihood_ratio(replay, settings, rng)
    log, at = replay.practice.log, replay.at
    rows = np.flatnonzero(replay.policy[at, log.action] <= 0)
    examples = [
        {"where": log.where(row), **replay.words(at[row], log.action[row])}
        for row in rows[:NAMED].tolist()
    ]
    misfits, n_misfits = _misfits(replay, settings.level)
    facts = {
        "policy": replay.practice.pooled.name,
        "steps": log.n_steps,
        "impossible": len(rows),  # steps with an action of probability 0
        "examples": examples,
        "statistic": G if math.isfinite(G) else None,
        "p": p,
        "resamples": B,
        "misfits": misfits,  # histories that do not fit even among so many, worst first
        "n_misfits": n_misfits,
    }
    situation: Columns = {"situation": "situation", "action": "action"}
    shares: Columns = {
        "policy": lambda row: percent(row["expected"]),
        "log": lambda row: percent(row["seen"]),
        "visits": lambda row: f"{row['visits']:,}",
    }
    never = f"Actions this policy never takes: the first {len(examples)} of {len(rows):,}"
    wrong = f"Where it does not fit: the worst {len(misfits)} of {n_misfits:,} situations"
    tables = table(examples, {"where": where, **situation}, never)
    tables += table(misfits, {**situation, **shares}, wrong, right=3)
    return Section(_fit_verdict(len(rows), p, n_misfits, settings.level), facts, tables)


def _likelihood_ratio(
    replay: PolicyReplay, settings: Settings, rng: np.random.Generator
) -> tuple[float, float, int]:
    """G, p, and from how many draws."""
    visits = replay.taken.sum(1)
    policy = replay.policy / replay.policy.sum(1, keepdims=True)  # multinomial is strict about 1
    log_policy = np.log(policy, out=np.zeros_like(policy), where=policy > 0)
    constant = x_log_x(visits).sum()

    def statistic(counts: Ints) -> float:
        return float(2 * (x_log_x(counts).sum() - constant - (counts * log_policy).sum()))

    B = settings.draws(4 * policy.size)
    if (replay.taken[policy <= 0] > 0).any():
        return math.inf, 1 / (B + 1), B
    G = statistic(replay.taken)
    drawn = np.array([statistic(rng.multinomial(visits, policy)) for _ in range(B)])
    return G, p_value(G, drawn), B


def _misfits(replay: PolicyReplay, level: float) -> tuple[Rows, int]:
    """The histories that Holm's correction leaves below the level: the worst first, and how many
    there are."""
    visits = replay.taken.sum(1)
    tails = binomial_p(replay.taken, visits[:, None], replay.policy)
    choices = ((replay.policy > 0) & (replay.policy < _ONE)).sum(1)
    # of two actions that are equally far off, the one that was done too often
    least = tails.min(1, keepdims=True)
    excess = replay.taken - visits[:, None] * replay.policy
    furthest = np.where(tails <= least * (1 + 1e-9), excess, -np.inf).argmax(1)
    corrected = holm(np.minimum(1, least[:, 0] * np.maximum(choices, 1)))
    # equally certain ones: where it happened most often comes first
    wrong = int((corrected <= level).sum())
    order = np.lexsort([-visits, corrected])[: min(wrong, NAMED)]
    found = [
        {
            **replay.words(h, a),
            "visits": int(visits[h]),
            "expected": float(replay.policy[h, a]),
            "seen": float(replay.taken[h, a] / visits[h]),
            "p": float(corrected[h]),  # for looking at all histories
        }
        for h, a in zip(order.tolist(), furthest[order].tolist(), strict=True)
    ]
    return found, wrong


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


def _fit_verdict(impossible: int, p: float, misfits: int, level: float) -> Finding:
    if impossible:
        return failed(
            f"An action that this policy never takes was taken in {counted(impossible, 'step')}. "
            "It is not the one that made the log, or it explores and its file does not say so."
        )
    if p <= level:
        return failed(
            "This policy did not choose these actions: it produces shares like these with "
            f"probability {p:.2g} or less. See where it does not fit.",
        )
    if misfits:
        return look("The policy fits on the whole, but not in every situation; see which ones.")
    return passed(f"The policy could have chosen these actions (p = {p:.2g}).")


# ---- propensities -------------------------------------------------------------------------------


def check_propensities(
    practice: Practice, settings: Settings, rng: np.random.Generator
) -> Section | None:
    """Compare or test the propensities of a log; None if it has none."""
    log = practice.log
    logged, A = log.propensity, len(log.actions)
    if logged is None:
        return None
    p, B, compared = None, 0, bool(practice.controllers)
    if compared:
        verdict = passed("All propensities are those of the policy, up to their digits.")
        try:
            practice.compare()
        except LogError as error:
            verdict = failed(str(error))
    else:
        if A == 2 and practice.rows is not None:
            p, B = _drawn_anew(practice.rows[:, 1], log.action == 1, settings, rng)
        elif (logged < 1).any():
            p = p_of_possible(logged, A)
        verdict = _tested(p, A, settings.level)
    if practice.draws is not None:
        drawn = _frequencies(practice.draws, said=log.propensity_draws is not None)
        told = "" if verdict.status == "passed" else f"{verdict.sentence} "
        verdict = Finding(worst([drawn.status, verdict.status]), told + drawn.sentence)
    facts = {
        "steps": log.n_steps,
        "least": float(logged.min()),
        "mean_inverse": float(inverses(logged).mean()),  # about how many actions are possible
        "actions": A,
        "differing": len(practice.disagreement) if compared else None,  # steps
        "draws": practice.draws,  # in which they are, or look like, mere frequencies
        "p": p,  # None where they were compared, or where nothing was left to chance
        "resamples": B,
    }
    return Section(verdict, facts)


def _drawn_anew(
    q: Floats, taken: object, settings: Settings, rng: np.random.Generator
) -> tuple[float | None, int]:
    """p of X², and from how many draws."""
    group = np.searchsorted(EDGES, q)
    size = len(EDGES) + 1
    expected = np.bincount(group, q, size)
    variance = np.bincount(group, q * (1 - q), size)
    used = variance > 0
    if not used.any():
        return None, 0

    def statistic(done: object) -> float:
        off = (np.bincount(group, np.asarray(done, np.float64), size) - expected)[used]
        return float((off**2 / variance[used]).sum())

    B = settings.draws(10 * len(q))
    drawn = np.array([statistic(rng.random(len(q)) < q) for _ in range(B)])
    return p_value(statistic(taken), drawn), B


def _tested(p: float | None, actions: int, level: float) -> Finding:
    if p is None:
        return look(
            "Every propensity is 1: nothing was left to chance, so the log tells nothing of what "
            "any other action would have done.",
        )
    if p > level:
        return passed(f"The actions are as likely as these propensities say (p = {p:.2g}).")
    if actions == 2:
        return failed(
            "Actions were not taken as often as their propensities say: shares like these come up "
            f"with probability {p:.2g} or less. Estimates that use them are off.",
        )
    return failed(
        "Propensities are too small: by them more actions were possible at a step than there are "
        f"(p = {p:.2g}). Are they those of the actions that were taken?",
    )


def _frequencies(draws: int, said: bool) -> Finding:
    """What frequencies cost, and what to do about it."""
    why = "Then 1 over a propensity is too large on average, so no gain is proved."
    if said:
        return look(
            f"They are frequencies of {draws:,} draws. {why} Log the probabilities themselves."
        )
    return look(
        f"They look like frequencies of {draws:,} draws, and differ where nothing else in the log "
        f"does. {why} If they are exact, say so: --propensity-draws 0 (propensity_draws=0). Else "
        "log the probabilities themselves."
    )


FIT = Question(
    "Did this policy produce this log?",
    lambda subject, rng: (
        None  # it fits by construction
        if subject.estimated
        else check_fit(with_policy(subject.practice), subject.settings, rng)
    ),
    stream="actions",
)
PROPENSITIES = Question(
    "Are the logged propensities what they should be?",
    lambda subject, rng: check_propensities(subject.practice, subject.settings, rng),
)
