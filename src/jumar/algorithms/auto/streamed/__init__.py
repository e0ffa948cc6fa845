"""The proved gate for a log that is read in parts, and never held.

The log is read once, or twice. The first pass leaves what adds up (`FirstPass`): counts of every
fold of every half, facts of the whole log, and whole episodes whose hashes come first
(`FirstUnits`). From these the shortlists of both halves are drawn up (`shortlists`), and tested on
the episodes that were kept (`Shortlists.score_first`). Where these leave the choice open
(`Shortlists.undecided`), a second pass scores all held-out episodes (`Scoring.score`) and leaves
sums again (`HeldOut`), from which the choice follows (`Shortlists.conclude`). It goes on with the
same bets, which count with the most that they ever grew to: so the test may stop anywhere.

Every sum is exact, or a sum of whole numbers. So the choice is the same, to the last bit, however
the log was cut into parts and in whatever order they were read.

What differs from a log in memory: sums are rounded once instead of many times; the lower bound is
computed from scores in narrow ranges, and is never larger for it (`tallied`); the approximate test
is not asked for a second opinion; and the behavior must be one controller that is known.
"""

from __future__ import annotations

from jumar.algorithms.auto.streamed.first_pass import FirstPass, LogTally
from jumar.algorithms.auto.streamed.gate import Shortlists, longest_memory, shortlists
from jumar.algorithms.auto.streamed.keeping import FirstUnits
from jumar.algorithms.auto.streamed.second_pass import HeldOut, Scoring

__all__ = [
    "FirstPass",
    "FirstUnits",
    "HeldOut",
    "LogTally",
    "Scoring",
    "Shortlists",
    "longest_memory",
    "shortlists",
]
