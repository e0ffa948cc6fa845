"""`auto`: choose memory and controller from the log, and test the choice on held-out episodes."""

from __future__ import annotations

from jumar.algorithms.auto.selecting import held_out_test, select
from jumar.algorithms.auto.trials import GATES, Selection, Setting, Trial

__all__ = ["GATES", "Selection", "Setting", "Trial", "held_out_test", "select"]
