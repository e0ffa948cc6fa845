"""A log as seen by its signals: which one must get better, and which must not get worse."""

from __future__ import annotations

from collections.abc import Sequence

from jumar.core.errors import ParameterError
from jumar.gate.objectives import Keep
from jumar.log.episodes import SIGNAL, Episodes
from jumar.tally.replay import LogLike, Replays, log_of


def seen_by(log: LogLike, objective: str | None, keeps: Sequence[Keep]) -> LogLike:
    """The log with the objective as its reward. Of a file or table, the columns of these names are
    read as signals."""
    if objective is None and not keeps:
        return log
    if objective is not None and (not isinstance(objective, str) or not objective):
        raise ParameterError(f"objective: {objective!r} is not the name of a signal.")
    if isinstance(log, Replays):
        log = log.log
    if isinstance(log, Episodes):
        return log if objective is None else log.with_reward(objective)
    columns = {SIGNAL + keep.signal: keep.signal for keep in keeps}
    if objective is not None:
        columns["reward"] = objective
    return log_of(log, columns=columns)
