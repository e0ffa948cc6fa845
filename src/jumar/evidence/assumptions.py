"""What no log can show, and what looking again costs: each said in one place, in one sentence."""

from __future__ import annotations

NOT_CONFOUNDED = "What your policy did depended on nothing but what is in the log."
ESTIMATED = (
    "What your policy does was estimated from the log, as the share of each action in each "
    "situation."
)
RIGHT = "Actions were taken with the probabilities that the log gives for them."
AS_IF_RIGHT = (
    "Actions were taken with the probabilities that the log gives for them. These are or look like "
    "frequencies of draws, so this is not quite so."
)
# k tests at level δ are wrong together with a chance of up to k·δ
EACH_LOOK = (
    "Each run on a longer log has a chance of error of its own: running again and again until one "
    "passes voids the promise. If you plan five runs, give each a fifth: --delta 0.01, not 0.05."
)
UNPROVED_ESTIMATE = (
    "We could not prove this: your policy was estimated from the log, and no log can show whether "
    "it acted on something else."
)
UNPROVED_WEIGHTS = (
    "We could not prove this: the probabilities in the log are too small, for by them held-out "
    "episodes weigh more than 1 on average."
)

UNPROVED_SUM = (
    "We could not prove this: the probabilities in the log are too small, for by them more actions "
    "were possible at a step than there are."
)

UNPROVED_LEARNER = (
    "We could not prove this: the probabilities in the log follow what was paid before, so its "
    "episodes are not independent."
)


def unproved_draws(draws: int, said: bool) -> str:
    """Why nothing is proved where propensities are frequencies, as was `said`, or as they look.

    >>> unproved_draws(64, said=True)
    'We could not prove this: the probabilities in the log are frequencies of 64 draws, and 1 over \
a frequency is too large on average.'
    """
    look = "are" if said else "look like"
    return (
        f"We could not prove this: the probabilities in the log {look} frequencies of {draws:,} "
        "draws, and 1 over a frequency is too large on average."
    )
