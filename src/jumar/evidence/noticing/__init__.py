"""What is noticed about a log before anything is learned from it.

A check asks a question and answers it always. A notice speaks only if there is something to say,
and brings its remedy as words of the command line. From elsewhere,

    LOOKS.add("zeros", look)

is all that a new one takes. Notices about results are in `jumar.verdict.noticing`.
"""

from __future__ import annotations

from jumar.core.registry import Registry
from jumar.evidence.noticing.notice import Look, Notice

__all__ = ["LOOKS", "Look", "Notice"]

LOOKS: Registry[Look] = Registry(
    "notice",
    {
        "cost": "jumar.evidence.noticing.cost:look",
        "readings": "jumar.evidence.noticing.readings:look",
        "exploration": "jumar.evidence.noticing.exploration:look",
        "last rows": "jumar.evidence.noticing.last_rows:look",
        "remembers": "jumar.evidence.noticing.remembering:look",
    },
)
