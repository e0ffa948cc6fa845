"""The proved gate for a log that is read in parts, and never held.

The log is read twice. The first pass leaves what adds up (`FirstPass`): counts of every fold of
every half, facts of the whole log, and a sample of whole episodes to choose shortlists by. From
these the shortlists of both halves are drawn up (`shortlists`). The second pass scores the held-out
episodes (`Scoring.score`) and leaves sums again (`HeldOut`), from which the choice follows
(`Shortlists.conclude`).

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
