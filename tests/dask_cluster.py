"""A real Dask cluster on this machine: `dask scheduler` and `dask worker`, as people start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import jumar

PATHS = [str(Path(jumar.__file__).parents[1]), str(Path(__file__).parent)]


class Cluster:
    """A scheduler and its workers; all are gone when the test is."""

    def __init__(self, folder: Path, path: Sequence[object] | None = None) -> None:
        self._folder, self.processes = folder, []
        folder.mkdir(parents=True, exist_ok=True)
        self._known = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", self._known, path=path,
        )  # fmt: skip
        self.address = self._told_address()

    def _told_address(self, patience: float = 60.0) -> str:
        """Where the scheduler listens. Its file is there, and empty, before it says so."""
        end = time.monotonic() + patience
        while time.monotonic() < end and self.scheduler.poll() is None:
            with suppress(FileNotFoundError, json.JSONDecodeError):
                return json.loads(self._known.read_text())["address"]
            time.sleep(0.1)
        said = (self._folder / "0-scheduler.log").read_text()
        self.stop()
        raise TimeoutError(f"the scheduler of Dask did not begin:\n{said}")

    def add_worker(self, path: Sequence[object] | None = None) -> subprocess.Popen[bytes]:
        return self._start(
            "worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard",
            "--local-directory", self._folder, path=path,
        )  # fmt: skip

    def _start(
        self, *words: object, path: Sequence[object] | None = None
    ) -> subprocess.Popen[bytes]:
        """`path`: where it finds modules, if not where we do."""
        where = os.pathsep.join(map(str, path or [*PATHS, os.environ.get("PYTHONPATH", "")]))
        log = (self._folder / f"{len(self.processes)}-{words[0]}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *map(str, words)],
            env={**os.environ, "PYTHONPATH": where},
            stdout=log,
            stderr=log,
            start_new_session=True,  # so that it can be ended with all it has started
        )
        log.close()
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def cluster(
    folder: Path, workers: int = 2, path: Sequence[object] | None = None
) -> Iterator[Cluster]:
    made = Cluster(folder, path)
    try:
        for _ in range(workers):
            made.add_worker()
        yield made
    finally:
        made.stop()
