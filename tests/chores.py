"""Work that engines are tried with; a module that workers can import."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from jumar.core.errors import LogError


def power_of(base: int) -> Callable[[int], int]:
    return lambda exponent: base**exponent


def counted(folder: str) -> Callable[[int], tuple[int, str]]:
    """Writes a file when it is built and one for every item it works on."""
    built = uuid.uuid4().hex
    Path(folder, f"built-{built}").touch()

    def work(item: int) -> tuple[int, str]:
        Path(folder, f"item-{item}-{uuid.uuid4().hex}").write_text(str(os.getpid()))
        time.sleep(0.02)
        return item * item, built

    return work


def slow(folder: str, seconds: float) -> Callable[[int], int]:
    """Says who is at which item before it takes its time."""

    def work(item: int) -> int:
        Path(folder, f"item-{item}-{uuid.uuid4().hex}").write_text(str(os.getpid()))
        time.sleep(seconds)
        return item * item

    return work


def deadly(killers: tuple[int, ...]) -> Callable[[int], int]:
    def work(item: int) -> int:
        if item in killers:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    return work


def refusing(bad: int) -> Callable[[int], int]:
    """An error of ours, with what belongs to it, at one item."""

    def work(item: int) -> int:
        if item == bad:
            raise LogError(f"part-{item}.parquet, row 3: no reward.", ["one", "two"])
        return item

    return work


def large(size: int) -> Callable[[int], bytes]:
    return lambda item: bytes([item]) * size
