"""The behavior estimated from its own log, when nobody wrote it down.

For a history state x = ⟨n, z⟩ the estimate is what was done there:

    π̂_b(a | x) = n(x, a) / n(x),

over *all* logged steps: whether it is known what followed an action does not matter for the action.
A history that was never seen falls back on a shorter memory, down to the current observation and at
last to the overall frequencies. The estimate is the likeliest policy *of this memory*. If the real
one remembered more, actions and hidden state may be confounded; `checking.longer` tests for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jumar.memory import Memory, window
from jumar.policy.controller import Controller
from jumar.tally.replay import LogLike, Replays, log_of, told_log

CURRENT = window(1)  # nothing but the current observation
_EVERY_LENGTH = 16  # longer windows fall back on half their length, not on one less


def estimate_behavior(log: LogLike, memory: Memory = CURRENT, **reading: Any) -> Controller:
    """The behavior that makes a log likeliest, among those with this memory.

    The controller is marked as `estimated`, which weakens every claim that rests on it.

    Parameters
    ----------
    log
        What `read_logs` returns, a file, or a table of pandas, polars or pyarrow.
    memory
        What the behavior may remember; without it, nothing but the current observation.
    **reading
        How a file or table is read, as for `read_logs`: ``episode="call", ends="cut"``.

    Returns
    -------
    Controller
        What was done in every history state, as shares.

    Examples
    --------
    >>> from jumar import Episodes
    >>> log = Episodes(("good", "worn"), ("keep", "repair"), [0, 0, 0, 0, 1], [0, 0, 0, 1, 1],
    ...                [0.0] * 5, start=[0, 5], final_observation=[-1], terminated=[True])
    >>> behavior = estimate_behavior(log)
    >>> behavior.row([], "good").tolist(), behavior.row([], "worn").tolist()
    ([0.75, 0.25], [0.0, 1.0])
    >>> behavior.name
    'estimated from the log (window of 1)'
    """
    whole = Replays.of(log_of(told_log(log, reading))).over(memory)
    seen, A = whole.log, len(whole.log.actions)
    below: Controller | np.ndarray = np.bincount(seen.action, minlength=A) / seen.n_steps
    for coarser in reversed(list(_fallbacks(whole.memory))):
        replay = whole.onto(coarser)
        acted = replay.taken.any(1)
        taken = replay.taken[acted]
        below = Controller(
            seen.observations,
            seen.actions,
            coarser,
            replay.states[acted],
            taken / taken.sum(1, keepdims=True),
            below,
            name=f"estimated from the log ({coarser})",
            estimated=True,
        )
    assert isinstance(below, Controller)  # there is one fallback at least
    return below


def _fallbacks(memory: Memory) -> Iterator[Memory]:
    """The memory, and what an unseen history falls back on, longest first."""
    yield memory
    while memory.width:
        k = memory.span or 2
        # a thousand controllers nested in each other would help nobody
        k = k - 1 if k <= _EVERY_LENGTH else k // 2
        shorter = memory.resized(k) if k > 1 else None
        memory = shorter or CURRENT.on(*memory.alphabet)
        yield memory
