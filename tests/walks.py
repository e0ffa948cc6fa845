"""A page walked from top to bottom: files are written, commands run, answers compared.

What a reader does, in one folder: fetch the files of `examples/` that the page links, write every
block that begins with a comment that names its file, run every command of an `sh` block, compare
its answer with the `text` block that follows, run the `>>>` examples.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import jumar
from jumar.cli import main

DOCS = Path(jumar.__file__).parents[2] / "docs"
WALKED = [
    DOCS / "start.md",
    DOCS / "project.md",
    DOCS / "cookbook.md",
    DOCS / "exports.md",
    *sorted((DOCS / "tutorials").glob("*.md")),
]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FETCHED = re.compile(r"\]\(((?:\.\./)+examples/[\w/.-]+\.(?:csv|toml))\)")
INSTALLS = "pip install "  # what `make wheel-test` tries
NAMED = re.compile(r"(?:#|//|--|/\*) ([\w-]+\.(?:toml|c|js|sql))(?: \*/)?\n")
PROGRAMS = ("cc", "node", "sqlite3")  # that a page may use besides; without them it is skipped


@dataclass
class Walk:
    """Someone who follows a page."""

    page: Path
    folder: Path  # where we are; commands run here
    said: str | None = None  # by the last command
    variables: dict[str, str] = field(default_factory=dict)
    names: dict[str, object] = field(default_factory=dict)  # of the Python examples
    done: list[str] = field(default_factory=list)

    def to_the_end(self) -> list[str]:
        """Do all that the page says; a list of what was done, by kind."""
        text = self.page.read_text()
        fetch(text, self.page.parent, self.folder)
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start(2))
            with contextlib.chdir(self.folder):
                getattr(self, f"_{block[1]}")(block[2], line)
        return self.done

    def _toml(self, block: str, line: int) -> None:
        if name := NAMED.match(block):
            Path(name[1]).write_text(block)
            self.done.append("toml")

    _c = _js = _sql = _toml

    def _sh(self, block: str, line: int) -> None:
        for command in block.replace("\\\n", "").splitlines():
            if command.startswith(INSTALLS):
                continue
            if assigned := re.fullmatch(r'(\w+)="(.*)"', command):
                self.variables[assigned[1]] = assigned[2]
                continue
            for name, value in self.variables.items():
                command = command.replace(f"${name}", value)
            program, *words = shlex.split(command, comments=True)
            if program in PROGRAMS or program.startswith("./"):
                self.said = other_said(program, words)
            else:
                assert program == "jumar", f"{self.page.name}, line {line}: what is {program}?"
                self.said = said_by(words)
            self.done.append("sh")

    def _text(self, block: str, line: int) -> None:
        """The answer of the command before it, or the beginning of a file that was fetched."""
        said = self.said if self.said is not None else Path("log.csv").read_text()
        if not doctest.OutputChecker().check_output(block, said, OPTIONS):
            raise AssertionError(
                f"{self.page.name}, line {line}: shown\n{block}\nbut said\n{said[:5000]}"
            )
        self.said = None
        self.done.append("text")

    def _python(self, block: str, line: int) -> None:
        test = doctest.DocTestParser().get_doctest(block, self.names, "", self.page.name, line)
        test.globs = self.names  # later blocks know the names of earlier ones
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
        assert runner.run(test, out=report.append, clear_globs=False).failed == 0, "".join(report)
        self.done.append("python")


def fetch(text: str, place: Path, folder: Path) -> None:
    """Put the files of `examples/` that a text links into a folder."""
    for path in FETCHED.findall(text):
        shutil.copy(place / path, folder)


def said_by(words: list[str]) -> str:
    """What a jumar command prints; it must end well."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            main(words)
            code: object = 0
        except SystemExit as left:
            code = left.code
    assert not code, f"jumar {shlex.join(words)} ended with {code}"
    return out.getvalue()


def other_said(program: str, words: list[str]) -> str:
    """What another program prints; it must end well."""
    if not shutil.which(program):
        pytest.skip(f"there is no {program}: apt install gcc nodejs sqlite3")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
