"""How far a statement about an improvement can be trusted."""

from __future__ import annotations

from enum import StrEnum


class Validity(StrEnum):
    """How far a statement can be trusted.

    >>> max(Validity.CLAIMED, Validity.PUBLISHED, key=lambda v: v.strength).value
    'published'
    """

    PROVED = "proved"
    PROVED_IF_SEEN = "proved within the returns the log shows"
    PROVED_IF_SUFFICIENT = "proved under finite-history sufficiency"
    PROVED_IF_SUFFICIENT_AND_SEEN = (
        "proved under finite-history sufficiency, within the returns the log shows"
    )
    PUBLISHED = "published"
    ASYMPTOTIC = "asymptotic"
    CLAIMED = "claimed"
    NOTHING = "nothing claimed"

    @property
    def meaning(self) -> str:
        """The class in one plain sentence."""
        return _MEANING[self]

    @property
    def strength(self) -> int:
        """Larger for a stronger class, 0 for the weakest."""
        return len(_MEANING) - 1 - list(_MEANING).index(self)

    @property
    def if_seen(self) -> Validity:
        """The class of the same statement where the range of the returns was only read off the
        log: what was proved is then proved only if the log shows the whole range.

        >>> Validity.PROVED.if_seen.value
        'proved within the returns the log shows'
        """
        return _IF_SEEN.get(self, self)

    @property
    def proved(self) -> bool:
        """Was it proved here, whatever it assumes?

        >>> Validity.PROVED_IF_SUFFICIENT.proved, Validity.PUBLISHED.proved
        (True, False)
        """
        return self.strength > Validity.PUBLISHED.strength

    @property
    def states_odds(self) -> bool:
        """May a chance of error be printed with the statement? A chance that nobody has shown to
        hold is no number.

        >>> Validity.PROVED.states_odds, Validity.CLAIMED.states_odds
        (True, False)
        """
        return self.strength > Validity.CLAIMED.strength


_MEANING = {  # strongest first: the order is the strength
    Validity.PROVED: "It follows from how the data were collected, whatever the environment is.",
    Validity.PROVED_IF_SEEN: (
        "It is proved, provided that no return lies outside what the log shows: neither a loss "
        "nor a gain that the log does not happen to contain."
    ),
    Validity.PROVED_IF_SUFFICIENT: (
        "It is proved, provided that the memory node and the current observation "
        "tell all of the past that matters."
    ),
    Validity.PROVED_IF_SUFFICIENT_AND_SEEN: (
        "It is proved, provided that the memory node and the current observation tell all of the "
        "past that matters, and that no return lies outside what the log shows."
    ),
    Validity.PUBLISHED: "It is a theorem in print, taken over without checking its proof again.",
    Validity.ASYMPTOTIC: (
        "It becomes true as the data grow; how far it is off at this size is unknown."
    ),
    Validity.CLAIMED: "It was proposed, but a step of its proof is missing or was not checked.",
    Validity.NOTHING: "There is no statement that could be valid.",
}

_IF_SEEN = {
    Validity.PROVED: Validity.PROVED_IF_SEEN,
    Validity.PROVED_IF_SUFFICIENT: Validity.PROVED_IF_SUFFICIENT_AND_SEEN,
}
