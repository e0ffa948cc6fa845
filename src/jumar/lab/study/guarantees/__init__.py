"""Is what jumar promises true? Measured on processes whose truth is known.

`traps` and `memories` hold the processes, `measuring` what is claimed about one log and the study
of many, `report` what it found. Processes may be added freely; those that are here keep their
numbers, because the documentation quotes what was measured on them.

A new process is one function that returns a `Process`, and one line here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from jumar.core.registry import Registry
from jumar.lab.study.guarantees import memories, traps
from jumar.lab.study.guarantees.base import Process

PROCESSES: Registry[Callable[[], Process]] = Registry(
    "process",
    {
        "missing-weights": traps.missing_weights,
        "missing-weights-read-off": traps.missing_weights_read_off,
        "shifted-rewards": traps.shifted_rewards,
        "rare-trap": traps.rare_trap,
        "lottery": traps.lottery,
        "lottery-declared": traps.lottery_declared,
        "rare-loss": traps.rare_loss,
        "rare-loss-declared": traps.rare_loss_declared,
        "all-equal": traps.all_equal,
        "near-ties": traps.near_ties,
        "heavy-tails": traps.heavy_tails,
        "declared-time-out": traps.declared_time_out,
        "coordination": traps.coordination,
        "fatigue": traps.fatigue,
        "drawn-propensities": traps.drawn_propensities,
        "hidden-mode": memories.hidden_mode,
        "hidden-wear": memories.hidden_wear,
        "inverted-memory": memories.inverted_memory,
        "wear-in-view": memories.wear_in_view,
        "plain-choice": memories.plain_choice,
        "more-data-less": memories.more_data_less,
        "tiger-memoryless": memories.tiger_memoryless,
        "voicemail-memoryless": memories.voicemail_memoryless,
        **{f"random-{number}": partial(memories.random_model, number) for number in (1, 2, 3)},
        "one-long-record": memories.one_long_record,
    },
)


def process(name: str) -> Process:
    """The process of that name.

    >>> process("lottery").sufficient
    True
    """
    return PROCESSES.find(name)()
