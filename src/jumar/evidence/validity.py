"""How far a statement can be trusted; and what no log can show, each said in one sentence."""

from __future__ import annotations

from enum import StrEnum

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


class Validity(StrEnum):
    """How far a statement can be trusted: a word and its meaning, the strongest first.

    >>> max(Validity.CLAIMED, Validity.PUBLISHED, key=lambda v: v.strength).value
    'published'
    """

    meaning: str  # the class in one plain sentence

    PROVED = "proved", "It follows from how the data were collected, whatever the environment is."
    PROVED_IF_SEEN = (
        "proved within the returns the log shows",
        "It is proved, provided that no return lies outside what the log shows: neither a loss "
        "nor a gain that the log does not happen to contain.",
    )
    PROVED_IF_SUFFICIENT = (
        "proved under finite-history sufficiency",
        "It is proved, provided that the memory node and the current observation "
        "tell all of the past that matters.",
    )
    PROVED_IF_SUFFICIENT_AND_SEEN = (
        "proved under finite-history sufficiency, within the returns the log shows",
        "It is proved, provided that the memory node and the current observation tell all of the "
        "past that matters, and that no return lies outside what the log shows.",
    )
    PUBLISHED = (
        "published",
        "It is a theorem in print, taken over without checking its proof again.",
    )
    ASYMPTOTIC = (
        "asymptotic",
        "It becomes true as the data grow; how far it is off at this size is unknown.",
    )
    CLAIMED = (
        "claimed",
        "It was proposed, but a step of its proof is missing or was not checked.",
    )
    NOTHING = "nothing claimed", "There is no statement that could be valid."

    def __new__(cls, word: str, meaning: str) -> Validity:
        found = str.__new__(cls, word)
        found._value_, found.meaning = word, meaning
        return found

    @property
    def strength(self) -> int:
        """Larger for a stronger class, 0 for the weakest."""
        return len(Validity) - 1 - list(Validity).index(self)

    @property
    def if_seen(self) -> Validity:
        """The class of the same statement where the range of the returns was only read off the
        log: what was proved is then proved only if the log shows the whole range."""
        only_if_seen = {
            Validity.PROVED: Validity.PROVED_IF_SEEN,
            Validity.PROVED_IF_SUFFICIENT: Validity.PROVED_IF_SUFFICIENT_AND_SEEN,
        }
        return only_if_seen.get(self, self)

    @property
    def proved(self) -> bool:
        """Was it proved here, whatever it assumes?"""
        return self.strength > Validity.PUBLISHED.strength

    @property
    def states_odds(self) -> bool:
        """May a chance of error be printed with the statement? A chance that nobody has shown to
        hold is no number."""
        return self.strength > Validity.CLAIMED.strength


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
