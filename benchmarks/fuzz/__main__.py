"""`make fuzz`: damaged logs, controllers, models, datasets, studies, project files and options.

    python benchmarks/fuzz --inputs 100000            # goes on where the last run stopped
    python benchmarks/fuzz --seed 2 --minutes 40
    python benchmarks/fuzz --replay out/fuzz/failures/0001-log-table

Every input runs in a worker process. It fails if it ends in an exception that nobody expects, in a
warning, with another exit code than 0, 1 or 2, with control characters or broken JSON on the
screen, with temporary files left behind, with an exported file that cannot be read or compiled
(`written.py`), after more than 20 s, or with more than 2 GB of memory.
Failing inputs are kept as folders with the command that shows them; inputs that fail in the same
place are kept three times and counted.

Two sources: mutations of valid files (`make.py` has the list of kinds; an input is named by its
seed and number), and hypothesis, which builds documents and tables from nothing and shrinks what
fails (`invent.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import worker
from cases import Case, Verdict, load
from invent import inventions
from make import KINDS, make

SECONDS = 20.0  # of one core; a machine may be busy with other things
PATIENCE = 6  # so many times as long may it wait for something that is no core
KEPT = 3  # folders per signature
BATCH, INVENTED = 2000, 100  # mutations, and then inventions


class Crew:
    """One worker at a time, replaced when it fails."""

    def __init__(self, folder: Path, seconds: float = SECONDS) -> None:
        self.log, self.seconds = folder / "worker.log", seconds
        self.process: Any = None
        self.pipe: Any = None

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=worker.serve, args=(theirs, str(self.log)), daemon=True
        )
        self.process.start()
        theirs.close()
        if not self.pipe.poll(600) or self.pipe.recv() != "ready":
            raise SystemExit("The worker did not start; see worker.log.")

    def try_out(self, case: Case) -> Verdict:
        """Run an input; what takes too long is stopped.

        Memory is limited by addresses, and a worker that has been at it for long holds many that
        it does not use (arenas of allocators and threads). So what needs too much of it in an old
        worker is tried again in a new one, as a command is a process of its own, too.
        """
        found = self._try_once(case)
        if found.failure == "memory":
            found = self._try_once(case)
        return found

    def _try_once(self, case: Case) -> Verdict:
        if self.process is None:
            self.start()
        spent, waited, pause = _seconds_of(self.process.pid), 0.0, min(0.2, self.seconds)
        self.pipe.send(case)
        while not self.pipe.poll(pause):
            busy = _seconds_of(self.process.pid) - spent
            waited += 0.0 if _wants_a_core(self.process.pid) else pause
            if busy >= self.seconds or waited > PATIENCE * self.seconds:
                self.stop()
                return Verdict(
                    "hang",
                    f"hang: {' '.join(case.arguments)[:60]}",
                    f"{busy:.0f} s of CPU, {waited:.0f} s of waiting",
                )
        try:
            found: Verdict = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            self.stop()
            return Verdict("died", f"died with {code}", f"The process ended with {code}.")
        if found.failure in ("memory", "exception"):
            self.stop()  # who knows what it left in there
        return found

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = None


def _seconds_of(process: int) -> float:
    """CPU time of a process and its children, as far as the system tells."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def _wants_a_core(process: int) -> bool:
    """Does a thread of it run, or would it if there were a free core? Then it does not hang."""
    states = []
    for place in Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # a thread that has ended by now
            states.append(place.read_text().rpartition(")")[2].split()[0])
    return any(state in "RD" for state in states)


class Tally:
    """What was tried and how it went, kept on disk after every input that matters."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.path = folder, folder / "state.json"
        self.data: dict[str, Any] = {
            "seed": seed,
            "next": 0,
            "batch": 0,
            "clean": 0,
            "failed": 0,
            "seconds": 0.0,
            "kinds": {},
            "codes": {},
            "signatures": {},
        }
        if self.path.exists():
            known = json.loads(self.path.read_text())
            if known.get("seed") == seed:
                self.data = known
        self.began = time.monotonic() - self.data["seconds"]

    @property
    def tried(self) -> int:
        return int(self.data["clean"] + self.data["failed"])

    def note(self, case: Case, verdict: Verdict, origin: str) -> None:
        for key, value in (("kinds", case.kind), ("codes", str(verdict.code))):
            self.data[key][value] = self.data[key].get(value, 0) + 1
        if not verdict.failure:
            self.data["clean"] += 1
            return
        self.data["failed"] += 1
        times = self.data["signatures"].get(verdict.signature, 0) + 1
        self.data["signatures"][verdict.signature] = times
        if times <= KEPT:
            self.keep(case, verdict, origin)

    def keep(self, case: Case, verdict: Verdict, origin: str) -> None:
        name = re.sub(r"[^a-z0-9]+", "-", f"{verdict.failure}-{case.kind}".lower())
        place = self.folder / "failures" / f"{self.data['failed']:04d}-{name}"
        case.save(place, f"{origin}\n{verdict.failure}: {verdict.signature}\n\n{verdict.text}\n")
        print(f"\n{place}: {verdict.signature}", flush=True)

    def save(self) -> None:
        self.data["seconds"] = time.monotonic() - self.began
        self.path.write_text(json.dumps(self.data, indent=1) + "\n")

    def line(self) -> str:
        seconds = max(time.monotonic() - self.began, 1e-9)
        rate = self.tried / seconds
        return f"{self.tried:,} inputs, {self.data['failed']} failed, {rate:.1f} per second"


def main() -> None:
    """Run the fuzzer."""
    options = _options()
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    crew = Crew(folder, options.seconds)
    if options.replay:
        verdict = crew.try_out(load(Path(options.replay)))
        crew.stop()
        print(verdict.text or f"It ends with {verdict.code}, as it should.")
        sys.exit(bool(verdict.failure))
    if options.restart:
        (folder / "state.json").unlink(missing_ok=True)
    tally = Tally(folder, options.seed)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _work(crew, tally, options)
    except KeyboardInterrupt:
        print("\nStopped; the same command goes on from here.")
    finally:
        crew.stop()
        tally.save()
    print(f"\n{tally.line()}")
    print(f"by kind: {_counted(tally.data['kinds'])}")
    print(f"by exit code: {_counted(tally.data['codes'])}")
    for signature, times in Counter(tally.data["signatures"]).most_common():
        print(f"{times:>6}  {signature}")
    sys.exit(bool(tally.data["failed"]))


def _work(crew: Crew, tally: Tally, options: argparse.Namespace) -> None:
    kinds = tuple(options.kinds or ())
    until = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    told = time.monotonic()
    while tally.tried < options.inputs and time.monotonic() < until:
        number = tally.data["next"]
        case = make(options.seed, number, kinds)
        tally.note(case, crew.try_out(case), f"seed {options.seed}, number {number}")
        tally.data["next"] = number + 1
        if (number + 1) % BATCH == 0 and not kinds:
            _invent(crew, tally, options.seed)
        if time.monotonic() - told > 10:
            told = time.monotonic()
            tally.save()
            print(f"{tally.line()}", end="\r" if sys.stdout.isatty() else "\n", flush=True)


def _invent(crew: Crew, tally: Tally, seed: int) -> None:
    batch = tally.data["batch"]

    def attempt(case: Case, last: bool) -> bool:
        verdict = crew.try_out(case)
        if last or not verdict.failure:
            tally.note(case, verdict, f"hypothesis, seed {seed}, batch {batch}")
        return not verdict.failure

    inventions(attempt, f"{seed}-{batch}", INVENTED)
    tally.data["batch"] = batch + 1


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {times:,}" for name, times in sorted(counts.items()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="in all, with earlier runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that an input may take")
    parser.add_argument("--folder", default="out/fuzz", help="for failing inputs and the state")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), help="only these")
    parser.add_argument("--restart", action="store_true", help="forget earlier runs")
    parser.add_argument("--replay", metavar="FOLDER", help="run one kept input again")
    return parser.parse_args()


if __name__ == "__main__":
    main()
