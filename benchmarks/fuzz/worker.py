"""Runs inputs, one after the other, in a process of its own: `python worker.py` and a pipe.

The process may have 2 GB of memory more than it starts with. Who started it watches the clock.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import frames
import written
from cases import Case, Verdict

import jumar

MEMORY = 2 * 10**9
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x9b]")
ROOM = "/dev/shm" if os.path.isdir("/dev/shm") else None


def serve(connection: Connection, out: str) -> None:
    """Run what comes through the pipe until it is closed."""
    sys.stdout = sys.stderr = open(out, "a")  # noqa: SIM115 - what escapes the capture below
    build_once()
    warm_up()
    limit_memory()
    connection.send("ready")
    while True:
        try:
            case = connection.recv()
        except EOFError:
            return
        connection.send(judge(case))


def build_once() -> None:
    """Typer makes the commands out of their functions in every call: half of the time."""
    import typer.main

    typer.main.get_command = functools.cache(typer.main.get_command)


def warm_up() -> None:
    """Load and compile what commands use: that is no fault of the first input."""
    import make
    import seeds

    files = {**seeds.files(), **seeds.counts()}
    for command, words in make.BASES.items():
        for base in (words, *make.OTHER_BASES.get(command, ())):
            judge(Case("warm-up", (command, *base), files))
    judge(Case("warm-up", ("study", "study.toml", "-o", "out", "--jobs", "1"), files))
    log = ("log.csv", "--policy", "estimate", "--discount", "0.9")
    judge(Case("warm-up", ("improve", *log, "-o", "out"), files))
    judge(Case("warm-up", ("estimate", *log, "--controller", "coin.toml"), files))


def limit_memory() -> None:
    from jumar.core import resources

    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    _, most = resource.getrlimit(resource.RLIMIT_AS)  # compilers may have all of it
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, most))
    resources.memory.cache_clear()  # what was there before the limit


def judge(case: Case) -> Verdict:
    """Run one input and say how it went."""
    home = os.getcwd()
    folder = Path(tempfile.mkdtemp(prefix="jumar-fuzz-", dir=ROOM))
    began = time.monotonic()
    try:
        case.write(folder)
        os.chdir(folder)
        os.environ["MINARI_DATASETS_PATH"] = str(folder / "datasets")
        verdict = _run_all(case, folder)
    finally:
        os.chdir(home)
        shutil.rmtree(folder, ignore_errors=True)
    return Verdict(*verdict, seconds=time.monotonic() - began)


def _run_all(case: Case, folder: Path) -> tuple[str, str, str, int | None]:
    """Run the commands until one fails as none should; the last exit code counts."""
    verdict: tuple[str, str, str, int | None] = ("", "", "", None)
    for words in case.commands:
        verdict = _run(words, folder)
        if verdict[0]:
            break
    return verdict


def _run(words: tuple[str, ...], folder: Path) -> tuple[str, str, str, int | None]:
    from jumar.cli import main

    out, err = io.StringIO(), io.StringIO()
    code: int | None = None
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        try:
            if words[:1] == ("@frames",):
                frames.run(*words[1:])
            else:
                main(list(words))
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else (0 if left.code is None else 1)
        except BaseException as error:  # whatever it is, it should not have come so far
            return "exception", _signature(error), traceback.format_exc(), None
    said, told = out.getvalue(), err.getvalue()
    for failure, text in _complaints(words, code, said, told, folder):
        return (
            failure,
            f"{failure}: {text[:80]}",
            f"exit {code}\n{text}\n--\n{told}\n--\n{said}",
            code,
        )
    for warning in warned:
        place = f"{warning.filename}:{warning.lineno}"
        text = f"{warning.category.__name__}: {warning.message} at {place}"
        return "warning", f"{warning.category.__name__} {place}", text, code
    return "", "", "", code


def _complaints(
    words: tuple[str, ...], code: int | None, said: str, told: str, folder: Path
) -> Iterator[tuple[str, str]]:
    if code not in (0, 1, 2):
        yield "exit code", f"exit code {code}"
    for text in (said, told):
        if "Traceback (most recent call last)" in text:
            yield "traceback", text[-300:]
        if "MemoryError" in text:
            yield "memory", text
        if "ImpossibleClaim" in text:
            yield "impossible claim", text
        found = CONTROL.search(text)
        if found:
            yield (
                "control character",
                f"{found[0]!r} in {text[max(0, found.start() - 80) :][:160]!r}",
            )
    if "--json" in words and code is not None:
        for text in (said, told[told.find("{") :] if not said and told.strip() else ""):
            if text.strip() and not _is_json(text) and "--help" not in words:
                yield "no JSON", text[:300]
    if code == 0 and "Error" in told:
        yield "error and success", told
    if re.search("^Note: .*encountered", told, re.MULTILINE):
        yield "swallowed warning", told
    if code == 0:
        yield from written.complaints(words, folder)
    left = [path.name for path in folder.rglob(".jumar-*")]
    if left:
        yield "left behind", ", ".join(left)


def _is_json(text: str) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def _signature(error: BaseException) -> str:
    """The error, and where in jumar it came from."""
    package = Path(jumar.__file__).parent  # the checkout may be called jumar, too
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(package)]
    where = ours[-1] if ours else frames[-1]
    return f"{type(error).__name__} {Path(where.filename).name}:{where.name}:{where.lineno}"
