"""Workers leave with the one who waits for them: how that is tried."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

from dask_cluster import PATHS

SCRIPT = """
    import functools, signal, sys, time
    from jumar.engines import Recipe, run
    if __name__ == "__main__":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
        try:
            task = Recipe(functools.partial, time.sleep)
            for _ in run(task, [0, 0, 600, 600], engine=sys.argv[1], jobs=2):
                print("one", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


def descendants(pid: int) -> set[str]:
    """All processes that a process has started, from any of its threads, and theirs."""
    found: set[str] = set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found.update(children.read_text().split())
    return found.union(*(descendants(int(child)) for child in found))


def is_alive(pid: str) -> bool:
    """Neither gone nor only waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def check_nobody_stays(engine: str, number: signal.Signals) -> None:
    """Start work on an engine, end the one who waits for it, and look for workers."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), engine],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)},
    )
    try:
        assert [process.stdout.readline() for _ in range(2)] == ["one\n", "one\n"]
        workers = descendants(process.pid)
        assert len(workers) >= 2
        begin = time.monotonic()
        if number is signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does: to everybody
        else:
            process.kill()
        out, error = process.communicate(timeout=60)
        if number is signal.SIGINT:  # who is killed cannot tidy up: semaphores are told as leaked
            assert error == ""
        assert out == ("interrupted\n" if number is signal.SIGINT else "")
        while time.monotonic() < begin + 30 and any(map(is_alive, workers)):
            time.sleep(0.05)
        assert [pid for pid in workers if is_alive(pid)] == []
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
