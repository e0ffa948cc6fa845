"""Beliefs: what a history says about the hidden state of a known model.

The belief b(s) = P(s | z₀ a₀ z₁ … z_t) is all that a history knows about the future. Rewards are
not observed: a belief depends on what was seen and done, never on what was paid.

`limit_mdp` is what counting converges to, as a `HistoryMdp`, so that everything that works on
counts of a log works on it. With d the behavior's expected visits in an episode and
b(s | n, z) ∝ d(s, n, z), the pair (⟨n, z⟩, a) gets the average of what a does in s. Where histories
with different beliefs share ⟨n, z⟩, that average depends on the behavior, and no amount of data
makes it the truth.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, number_rows, sum_by
from jumar.core.errors import ModelError
from jumar.lab.truth.chain import Chain, unroll
from jumar.lab.truth.evaluation import occupancy
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.memory import Memory
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.tally.history import HistoryMdp


def first_beliefs(pomdp: Pomdp) -> tuple[Floats, Floats]:
    """(O,) the law of the first observation and (O, S) the belief after it.

    The row of an observation that cannot come first is zero.

    >>> from jumar import models
    >>> law, beliefs = first_beliefs(models.tiger())
    >>> law.round(9).tolist(), beliefs.round(9).tolist()
    ([0.5, 0.5], [[0.85, 0.15], [0.15, 0.85]])
    """
    joint = (pomdp.start[:, None] * pomdp.first_observation).T
    law = joint.sum(1)
    return law, np.divide(joint, law[:, None], out=np.zeros_like(joint), where=law[:, None] > 0)


def limit_mdp(
    pomdp: Pomdp, behavior: Controller, memory: Memory, horizon: int | None = None
) -> HistoryMdp:
    """What the maximum-likelihood model of infinitely many episodes of the behavior converges to.

    The model's memory is `memory` where that refines the behavior's, else the join of both. Pairs
    the behavior tries count as visited infinitely often, all others never. Episodes run until they
    end, or for `horizon` steps, the last of which still shows its observation. For a behavior that
    may go on for ever, the model's `max_steps` takes the place of a missing horizon.

    >>> from jumar import models, window
    >>> voicemail = models.voicemail()
    >>> anything = Controller.uniform(voicemail.observations, voicemail.actions)
    >>> limit = limit_mdp(voicemail, anything, window(1))
    >>> limit.states.tolist(), limit.reward[:, 1].round(4).tolist()  # of saving
    ([[0], [1]], [2.48, -4.8])
    """
    O, A = len(pomdp.observations), len(pomdp.actions)
    memory = join(behavior.memory, memory.on(O, A))
    chain = unroll(pomdp, behavior.lift(memory))
    visits = _visits(pomdp, chain, horizon)
    times = visits[chain.source] * chain.probability  # (L,) how often each step is taken
    taken = times > 0
    source, target, times = chain.source[taken], chain.target[taken], times[taken]
    goes_on = target != END
    seen = np.unique(chain.history[np.concatenate([np.flatnonzero(visits > 0), target[goes_on]])])
    X = len(seen)
    at = np.searchsorted(seen, chain.history)  # only read at triples that were seen
    pair = at[source] * A + chain.action[taken]
    total = sum_by(pair, times, X * A)
    share = times / total[pair]
    moves, which = number_rows(np.column_stack([pair[goes_on], at[target[goes_on]]]))
    return HistoryMdp(
        pomdp.observations,
        pomdp.actions,
        memory,
        chain.states[seen],
        visits=np.where(total > 0, np.inf, 0.0).reshape(X, A),
        reward=sum_by(pair, share * chain.reward[taken], X * A).reshape(X, A),
        ending=sum_by(pair[~goes_on], share[~goes_on], X * A).reshape(X, A),
        start=sum_by(chain.history, chain.start, len(chain.states))[seen],
        pair=moves[:, 0],
        successor=moves[:, 1],
        probability=sum_by(which, share[goes_on], len(moves)),
        discount=pomdp.discount,
    )


def _visits(pomdp: Pomdp, chain: Chain, horizon: int | None) -> Floats:
    """(K,) expected visits to every triple in an episode."""
    try:
        return occupancy(chain, 1.0, horizon)
    except ModelError as error:  # it may never end
        if pomdp.max_steps is None:
            raise ModelError(
                f"Model {pomdp.name!r}: the behavior may never end an episode, so its log never "
                "ends either. Give a horizon."
            ) from error
        return occupancy(chain, 1.0, pomdp.max_steps)
