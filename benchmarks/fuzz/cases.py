"""An input of the fuzzer: files, and a command line that reads them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

COMMAND = "command.sh"
VERDICT = "verdict.txt"
ARGUMENTS = "arguments.json"
THEN = "@then"  # among the arguments: here another command begins, in the same folder


@dataclass(frozen=True)
class Case:
    """What is tried. Files are named as seen from the folder that the command runs in."""

    kind: str
    arguments: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def commands(self) -> list[tuple[str, ...]]:
        """The command lines, one after the other; most inputs have one."""
        found: list[list[str]] = [[]]
        for word in self.arguments:
            if word == THEN:
                found.append([])
            else:
                found[-1].append(word)
        return [tuple(words) for words in found]

    def write(self, folder: Path) -> None:
        """Put the files into a folder."""
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            os.utime(folder / name, (0, 0))  # a run that is kept knows the times of its files

    def save(self, folder: Path, why: str) -> None:
        """Keep a failing input, with the command that shows the failure again."""
        folder.mkdir(parents=True, exist_ok=True)
        self.write(folder)
        lines = [shlex.join(("python", "-m", "jumar", *words)) for words in self.commands]
        line = "; ".join(lines)
        (folder / COMMAND).write_text(
            f"# {self.kind}; or: python benchmarks/fuzz --replay {folder}\n"
            f"cd {shlex.quote(str(folder.resolve()))} && {{ {line}; }}\n",
            errors="backslashreplace",
        )
        known = {"kind": self.kind, "arguments": self.arguments, "files": list(self.files)}
        (folder / ARGUMENTS).write_text(json.dumps(known, indent=1) + "\n")
        (folder / VERDICT).write_text(why, errors="backslashreplace")


def possible(words: Iterable[str]) -> tuple[str, ...]:
    """As a command line can hold them: without NUL. A word is never left out, or the option before
    it would take the next one for its value."""
    return tuple(word.replace("\0", "") for word in words)


def load(folder: Path) -> Case:
    """An input that was saved."""
    known = json.loads((folder / ARGUMENTS).read_text())
    files = {name: (folder / name).read_bytes() for name in known["files"]}
    return Case(known["kind"], tuple(known["arguments"]), files)


@dataclass(frozen=True)
class Verdict:
    """How it went. An empty `failure` is none."""

    failure: str = ""  # what kind of failure, in a word
    signature: str = ""  # failures with the same one have one cause, most likely
    text: str = ""  # all there is to tell
    code: int | None = None  # with which the command ended
    seconds: float = 0.0
