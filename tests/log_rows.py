"""What tests of logs share: columns, formats, remedies, and a log without its numbering."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumar.core.errors import LogError
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.log.reading import read_logs

HEADER = "episode,observation,action,reward,terminated"
FORMATS = ("csv", "tsv", "csv.gz", "parquet", "arrow", "ndjson")
SYMBOL = "missing='symbol' (--missing symbol) to call it 'missing'"
DROP = "missing='drop' (--missing drop) to leave out its episode"
FILL_IN = f" Fill it in, or say {DROP}."
ZERO = "missing_reward=0 (--missing-reward 0) if such a step pays nothing, or "
FILL_IN_REWARD = f" Fill it in, or say {ZERO}{DROP}."
SAVE = " Save the file as UTF-8, or say how it is encoded"
AS_CP1252 = f"{SAVE}: encoding='cp1252' (--encoding cp1252) is what Excel often writes."
AS_UTF_16 = f"{SAVE}; it begins like encoding='utf-16' (--encoding utf-16)."
ITS_FORMAT = " Or give the file the ending of its format, such as .parquet."
WHICH_EPISODE = " Write in every row which episode it belongs to."
PLAIN_DIGITS = " Write plain digits, such as -12.5; leave the cell empty if nobody knows."
THE_AMOUNT = " Write the amount itself; leave the cell empty if nobody knows."
WRITE_TRUE = " Write true or false, yes or no, 1 or 0; an empty cell is false."
FILL_IN_OBSERVATION = f" Fill it in, or say {SYMBOL} or {DROP}."


def refused(path: Path, message: str, **options: object) -> None:
    """The file is refused with exactly this message after its path."""
    with pytest.raises(LogError) as caught:
        read_logs(path, **options)
    assert str(caught.value) == f"{path}{message}"


def in_names(log: Episodes) -> list[tuple[list[tuple[str, str, float]], str | None, bool]]:
    """A log without its numbering: steps by name, final observation, terminated."""
    episodes = []
    for e in range(len(log)):
        rows = range(log.start[e], log.start[e + 1])
        steps = [
            (log.observations[log.observation[i]], log.actions[log.action[i]], float(log.reward[i]))
            for i in rows
        ]
        final = int(log.final_observation[e])
        seen = None if final == UNKNOWN else log.observations[final]
        episodes.append((steps, seen, bool(log.terminated[e])))
    return episodes


def three_endings(observations: tuple[str, ...], actions: tuple[str, ...]) -> Episodes:
    """One episode that ended, one cut off with what was seen last, one cut off without."""
    return Episodes(
        observations=observations,
        actions=actions,
        observation=[0, 1, 1, 0, 0],
        action=[0, 1, 1, 0, 1],
        reward=[0.1, -1e-300, 1e59, 1 / 3, -0.0],
        start=[0, 2, 4, 5],
        final_observation=[UNKNOWN, 1, UNKNOWN],
        terminated=[True, False, False],
    )


ONE_OF_EACH = {
    "episode": [3, 3, 4],
    "observation": ["z", "y", "z"],
    "action": ["a", "b", "a"],
    "reward": [1.0, 2.0, 3.0],
    "terminated": [False, True, True],
}
