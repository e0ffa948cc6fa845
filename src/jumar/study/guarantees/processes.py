"""The registry: every process on which promises are tried, in the order of the tables.

A new process is one function that returns a `Process`, and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from jumar.core.errors import ParameterError, not_one_of
from jumar.study.guarantees import memories, traps
from jumar.study.guarantees.base import Process

_BUILDERS: tuple[Callable[[], Process], ...] = (
    traps.missing_weights,
    traps.missing_weights_read_off,
    traps.shifted_rewards,
    traps.rare_trap,
    traps.break_downs,
    traps.lottery,
    traps.lottery_declared,
    traps.rare_loss,
    traps.rare_loss_declared,
    traps.all_equal,
    traps.near_ties,
    traps.heavy_tails,
    traps.fatigue,
    memories.hidden_mode,
    memories.hidden_wear,
    memories.inverted_memory,
    memories.wear_in_view,
    memories.plain_choice,
    memories.more_data_less,
    memories.tiger_memoryless,
    memories.voicemail_memoryless,
    memories.random_1,
    memories.random_2,
    memories.random_3,
    memories.one_long_record,
)

PROCESSES: Mapping[str, Callable[[], Process]] = MappingProxyType(
    {builder.__name__.replace("_", "-"): builder for builder in _BUILDERS}
)


def process(name: str) -> Process:
    """The process of that name.

    >>> process("lottery").kind
    'M4'
    """
    if name not in PROCESSES:
        raise ParameterError(not_one_of("process", name, PROCESSES))
    return PROCESSES[name]()
