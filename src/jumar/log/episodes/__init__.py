"""Episodes: a log of observations, actions and rewards, in columns.

Step t of episode e stands in row start[e] + t. An episode is over for one of two reasons,
and they must not be confused: the process *ended* (``terminated``), or the recording was cut off. A
cut-off episode may carry the observation that would have been acted on next; without it the
successor of the last step is unknown.
"""

from __future__ import annotations

from jumar.log.episodes.labels import UNKNOWN, Labels
from jumar.log.episodes.log import (
    LARGEST_REWARD,
    SMALLEST_REWARD,
    Episodes,
    check_draws,
    not_a_chance,
)
from jumar.log.episodes.origin import Origin, Remarks
from jumar.log.episodes.table import METADATA, SIGNAL

__all__ = [
    "LARGEST_REWARD",
    "METADATA",
    "SIGNAL",
    "SMALLEST_REWARD",
    "UNKNOWN",
    "Episodes",
    "Labels",
    "Origin",
    "Remarks",
    "check_draws",
    "not_a_chance",
]
