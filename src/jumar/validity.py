"""How far a statement about an improvement can be trusted."""

from __future__ import annotations

from enum import StrEnum


class Validity(StrEnum):
    """How far a statement can be trusted.

    >>> max(Validity.CLAIMED, Validity.PUBLISHED, key=lambda v: v.strength).value
    'published'
    """

    PROVED = "proved"
    PROVED_IF_SUFFICIENT = "proved under finite-history sufficiency"
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


_MEANING = {  # strongest first: the order is the strength
    Validity.PROVED: "It follows from how the data were collected, whatever the environment is.",
    Validity.PROVED_IF_SUFFICIENT: (
        "It is proved, provided that the memory node and the current observation "
        "tell all of the past that matters."
    ),
    Validity.PUBLISHED: "It is a theorem in print, taken over without checking its proof again.",
    Validity.ASYMPTOTIC: (
        "It becomes true as the data grow; how far it is off at this size is unknown."
    ),
    Validity.CLAIMED: "It was proposed, but a step of its proof is missing or was not checked.",
    Validity.NOTHING: "There is no statement that could be valid.",
}
