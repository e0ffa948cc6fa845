"""What a message tells people to type exists: commands, options on the commands, choices, keywords.

All strings of src/jumar are looked through, docstrings excepted, with \\0 in place of what an
f-string puts in; and the commands that stand in the docs.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import typer

import jumar
from jumar.algorithms import ALGORITHMS
from jumar.cli import app, main
from jumar.engines import ENGINES
from jumar.gate.trials import GATES
from jumar.log.formats import FORMATS
from jumar.log.reading import read_logs
from jumar.log.reading.options import Ends, Missing, Repeated

PACKAGE = Path(jumar.__file__).parent
ROOT = PACKAGE.parents[1]
COMMANDS = {
    name: {word for p in command.params for word in (*p.opts, *p.secondary_opts)}
    for name, command in typer.main.get_command(app).commands.items()
}
EVERYWHERE = {"-h", "--help", "--help-all", "--version", "--verbose", "--install-completion"}
ANYWHERE = EVERYWHERE.union(*COMMANDS.values())
READ_LOGS = [name for name, known in COMMANDS.items() if "--columns" in known and name != "export"]
# of other programs: Dask's workers, improved.py, a style sheet
FOREIGN = {"--nthreads", "--nworkers", "--most-likely", "--jumar-changed"}
CHOICES = {
    "--ends": get_args(Ends),
    "--missing": get_args(Missing),
    "--repeated": [*get_args(Repeated), "report"],
    "--gate": [*GATES],
    "--format": [*FORMATS],
    "--engine": [*ENGINES],
    "--algorithm": ["auto", *ALGORITHMS],
    "--decimal": [".", ","],
}
OPTION = re.compile(r"(?<![\w\"'-])--[a-z][\w-]*")
VALUED = re.compile(r"(?<![\w-])(--[a-z][\w-]*)[ =]([^\s`)\"']+)")
# a command: in backticks, behind a colon or a dollar, or at the beginning of a line
CALL = re.compile(r"(?:^|[`$(]|: |run )\s*jumar ((?!as |import )[a-z][\w-]*)([^`\n;|]*)", re.M)
WORDED = re.compile(r"\b([a-z_]+)=(?=['\"{\[(]|True|\d)")


def strings(source: str) -> Iterator[str]:
    """All texts but docstrings, each once."""
    tree = ast.parse(source)
    skipped = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            skipped.add(body[0].value)
        if isinstance(node, ast.JoinedStr):
            skipped.update(part for part in ast.walk(node) if part is not node)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(p.value if isinstance(p, ast.Constant) else "\0" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


TEXTS = {
    path.relative_to(PACKAGE): [*strings(path.read_text(encoding="utf-8"))]
    for path in sorted(PACKAGE.rglob("*.py"))
}
ALL = [(path, text) for path, texts in TEXTS.items() for text in texts]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "examples").rglob("README.md"))


def wrong_calls(text: str) -> Iterator[str]:
    for name, rest in CALL.findall(text.replace("\\\n", " ")):
        if name == "version":  # a label
            continue
        if name not in COMMANDS:
            yield f"jumar {name}"
            continue
        words = OPTION.findall(rest.partition("#")[0])
        yield from (f"jumar {name} {o}" for o in words if o not in COMMANDS[name] | EVERYWHERE)


def test_the_scan_finds_what_it_looks_for():
    assert [*strings('"""no"""\nx = f"--a {b} c"\ndef f():\n    "no"\n    return "d"')] == [
        "--a \0 c",
        "d",
    ]
    assert [*wrong_calls("Use `jumar nix a` or `jumar show --nix`.")] == [
        "jumar nix",
        "jumar show --nix",
    ]
    assert len(READ_LOGS) >= 7
    assert sum(len(OPTION.findall(text)) for _, text in ALL) > 200


def test_every_option_in_a_message_exists():
    wrong = [
        (str(path), option)
        for path, text in ALL
        for option in OPTION.findall(text)
        if option not in ANYWHERE | FOREIGN
    ]
    assert wrong == []


def test_every_command_in_a_message_exists_with_its_options():
    assert [(str(path), call) for path, text in ALL for call in wrong_calls(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_exists_with_its_options(page):
    text = page.read_text(encoding="utf-8")
    parts = re.split(r"^```.*$", text, flags=re.M)  # every second one is a block of code
    code = [*parts[1::2], *re.findall(r"`[^`\n]+`", "\n".join(parts[::2]))]
    assert [*wrong_calls(re.sub(r"#.*", "", "\n".join(code)))] == []


def test_every_choice_in_a_message_is_one():
    """--ends end was none."""
    found = [
        (str(path), option, value.rstrip(".,:"))
        for path, text in ALL
        for option, value in VALUED.findall(text)
        if option in CHOICES and "\0" not in value
    ]
    assert len(found) > 10
    prose = {"and", "is", "if", "or"}  # --cost if, --missing and --smallest
    assert [f for f in found if f[2] not in {*CHOICES[f[1]], "", *prose}] == []


def test_what_a_log_is_refused_for_can_be_said_to_every_command_that_reads_logs():
    """Sorting is for logs that are counted where they lie, which two commands do."""
    only = {"--sort": ["improve", "count"]}
    wrong = [
        (str(path), option, name)
        for path, text in ALL
        if path.parts[0] == "log"
        for option in OPTION.findall(text)
        for name in only.get(option, READ_LOGS)
        if option not in COMMANDS[name]
    ]
    assert wrong == []


def test_every_keyword_beside_an_option_exists():
    """turns='turns' (--turns turns) is one of `read_logs` or of `improve`."""
    known = {*inspect.signature(read_logs).parameters, *inspect.signature(jumar.improve).parameters}
    for kind in (jumar.Options, jumar.LogFiles):
        known |= {*inspect.signature(kind).parameters}
    found = [
        (str(path), word)
        for path, text in ALL
        if path.parts[0] != "lab" and ". " in text
        for keyword in re.finditer(r"\b([a-z_]+)=[^()]{1,40}\(--[a-z]", text)
        for word in [keyword[1]]
    ]
    assert len(found) >= 5
    assert [each for each in found if each[1] not in known] == []


# ---- notices and verdicts: options that commands are made of ------------------------------------


def option_tuples(path: Path) -> Iterator[list[str]]:
    """The tuples in a module that begin with an option."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Tuple | ast.List) and node.elts:
            texts = [e.value if isinstance(e, ast.Constant) else "\0" for e in node.elts]
            if str(texts[0]).startswith("--"):
                yield [str(text) for text in texts]


@pytest.mark.parametrize(
    ("module", "commands"),
    [
        ("evidence/noticing.py", ["check", "improve"]),
        ("verdict/noticing.py", ["improve"]),
        ("verdict/verdicts.py", ["improve"]),
    ],
)
def test_commands_that_notices_propose_take_their_options(module, commands):
    tuples = [*option_tuples(PACKAGE / module)]
    assert tuples
    for words in tuples:
        for option, value in zip(words, [*words[1:], ""], strict=True):
            if option.startswith("--"):
                # a plan is made by another command (`Verdict.command`)
                takes = ["samples"] if option == "--until" else commands
                assert all(option in COMMANDS[name] for name in takes), option
                assert "\0" in value or value in CHOICES.get(option, [value]), (option, value)


# ---- those that can be run ----------------------------------------------------------------------

ROWS = "bus,day,seen,did,paid\n1,1,good,keep,1\n1,2,worn,repair,-2\n2,1,good,keep,1\n"
BASE = ["episode=bus", "step=day", "observation=seen", "action=did", "reward=paid"]


READS = "--bins --columns --prices --gap --dates --missing --missing-reward --repeated --encoding"
READS += " --ends --decimal --separator --format --propensity-draws"


def concrete() -> list[tuple[str, str]]:
    """Options with values that messages give as examples, of those that say how a log is read."""
    return sorted(
        {
            (option, value.rstrip(".:;"))
            for _, text in ALL
            for option, value in VALUED.findall(text)
            if option in READS.split()
            and not re.search(r"[\0A-Z]|\.\.\.", value)
            and not {value.strip(".:,")} & {"and", "tell", "if", ""}
        }
    )


def test_there_are_examples_to_type():
    assert {"--ends", "--prices", "--missing", "--repeated"} <= {name for name, _ in concrete()}


@pytest.mark.parametrize(("option", "value"), concrete())
def test_an_example_in_a_message_can_be_typed(tmp_path, capsys, option, value):
    """It is read as it is meant: a log that lacks what it is about is refused for that alone."""
    path = tmp_path / "log.csv"
    path.write_text(ROWS)
    part = value.partition("=")[0] + "="  # what was said of it before is replaced
    base = [word for word in BASE if option != "--columns" or not word.startswith(part)]
    told = ["--columns", ",".join(base), option, value, "-o", str(tmp_path / "out.csv")]
    with pytest.raises(SystemExit) as left:
        main(["convert", str(path), *told])
    assert left.value.code != 2, capsys.readouterr().err
