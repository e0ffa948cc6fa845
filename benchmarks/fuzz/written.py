"""What a command has written must be whole: programs compile, models and controllers read back."""

from __future__ import annotations

import json
import re
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

EVERY = 10  # one in so many programs is given to a compiler, which takes long
CC, NODE = shutil.which("cc"), shutil.which("node")


def complaints(arguments: tuple[str, ...], folder: Path) -> Iterator[tuple[str, str]]:
    """What is wrong with the file that was asked for, after a success."""
    if "-o" not in arguments or arguments[0] not in ("export", "convert"):
        return
    path = folder / arguments[len(arguments) - 1 - arguments[::-1].index("-o") + 1]
    if str(path).startswith(f"{folder}/minari:"):
        return
    if not path.is_file():
        yield "nothing written", str(path)
        return
    try:
        if arguments[0] == "convert":
            import jumar as jm

            jm.read_logs(path)
        else:
            check(path)
    except Exception as error:
        yield "broken file", f"{path.name[-20:]}: {type(error).__name__}: {str(error)[:300]}"


def check(path: Path) -> None:
    """Raise whatever a reader of the file would raise."""
    text, ending = path.read_text("utf-8"), path.suffix.lower()
    if ending == ".py":
        compile(text, path.name, "exec")
    elif ending == ".json":
        json.loads(text)
    elif ending == ".sql":
        _sql(text)
    elif ending == ".pomdp":
        import jumar as jm

        jm.load_model(path)
    elif ending in (".drn", ".prism"):
        _ascii_words(text)
    elif ending == ".c" and CC and not _number() % EVERY:
        _run([CC, "-std=c99", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-"], text)
    elif ending in (".js", ".mjs") and NODE and not _number() % EVERY:
        kind = "module" if ending == ".mjs" else "commonjs"
        _run([NODE, f"--input-type={kind}", "--check", "-"], text)


_tried = 0


def _number() -> int:
    global _tried
    _tried += 1
    return _tried


def _sql(text: str) -> None:
    """Run it in a database, with the columns that it names."""
    names = re.findall(r'(?:CAST\(|WHEN )"((?:[^"]|"")*)"', text)
    names += re.findall(r'PARTITION BY "((?:[^"]|"")*)"', text)
    columns = {name.lower(): name for name in [*names, "step"]}.values()
    base = sqlite3.connect(":memory:")
    try:
        listed = ", ".join(f'"{name}"' for name in columns)
        base.execute(f"CREATE TABLE readings ({listed})")
        base.executescript(text)
        base.execute("SELECT count(*) FROM readings")
        views = base.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()
        for (view,) in views:
            base.execute(f'SELECT * FROM "{view}"').fetchall()
    finally:
        base.close()


def _ascii_words(text: str) -> None:
    """Model checkers read plain ASCII, and no line may begin a comment that is not ours."""
    text.encode("ascii")


def _run(command: list[str], text: str) -> None:
    done = subprocess.run(
        command, input=text.encode(), capture_output=True, timeout=60, preexec_fn=_all_memory
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace")[:400])


def _all_memory() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
