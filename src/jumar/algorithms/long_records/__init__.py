"""Long records, judged under the assumption that a memory tells all that matters."""

from __future__ import annotations

from jumar.algorithms.long_records.contradictions import MemoryTest
from jumar.algorithms.long_records.judging import LongTrial, LongVerdict, judge_long
from jumar.algorithms.long_records.ladder import Rung
from jumar.algorithms.long_records.refusal import Refusal

__all__ = ["LongTrial", "LongVerdict", "MemoryTest", "Refusal", "Rung", "judge_long"]
