"""How far a long solve is, for whoever wants to know.

    with solving_tells(lambda stage: print(stage)):
        jm.spibb(mdp, behavior)

Only large models tell anything: small ones are solved before anybody could look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Stage(NamedTuple):
    """Where a solve stands: the value of the policy at hand is within `gap` of the best."""

    states: int
    rounds: int  # of policy iteration, the present one included
    passes: int  # over the model so far
    gap: float  # proved; infinite before the first round
    asked: float  # the gap at which it ends

    def __str__(self) -> str:
        return (
            f"{self.states:,} history states: round {self.rounds}, {self.passes:,} passes, "
            f"gap {self.gap:.2g} of {self.asked:.2g}"
        )


Tell = Callable[[Stage], None]

_listener: ContextVar[Tell | None] = ContextVar("listener", default=None)


@contextmanager
def solving_tells(tell: Tell) -> Iterator[None]:
    """Every large solve inside calls `tell` after each round, and now and then within one."""
    token = _listener.set(tell)
    try:
        yield
    finally:
        _listener.reset(token)


def listener() -> Tell | None:
    """Who listens at present."""
    return _listener.get()
