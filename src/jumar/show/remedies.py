"""The remedy of a notice as a command that can be pasted: what was typed, with other options.

Only options that a notice brings are touched; all others stay as they were typed. An option that
is given once is replaced, `--bins` is replaced for its column only, and naming an algorithm takes
away what was said to another one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jumar.evidence.noticing import Notice
    from jumar.verdict.assessing import Assessment
    from jumar.verdict.verdicts import Verdict

# options without a value, and what says the contrary
FLAGS = {"--cost": "--no-cost", "--thorough": None, "--simplify": None}
SAME = {"-o": "--output"}
OUT = "out"
IMPROVE = "improve"
# what `jumar samples` does not have: that says nothing of the plan, and that would change it
ONLY_IMPROVE = ("--output", "--pictures", "--unit", "--engine", "--scheduler", "--jobs")
ONLY_FLAGS = ("--thorough", "--sort", "--excel")
OTHER_PLAN = {
    *("--again", "--algorithm", "--candidates", "--gate", "--keep", "--keep-cost"),
    *("--learn-memory", "--objective", "--simplify"),
}
# what no longer holds with another value of the first
FALLS = {"--algorithm": ("--n-wedge", "--set"), "--policy": ("--exploration",)}


def remedies(notices: Sequence[Notice], typed: Sequence[str]) -> list[dict[str, Any]]:
    """The notices in plain JSON types, each with its command; None where nothing was typed."""
    return [notice.to_dict(command_of(notice, typed, notices)) for notice in notices]


def commands(assessment: Assessment, typed: Sequence[str]) -> dict[str, Any]:
    """What JSON says of an assessment beside itself: commands to paste, made of the one typed."""
    return {
        "notices": remedies(assessment.notices, typed),
        "next_command": next_command(assessment.verdict, typed),
    }


def command_of(notice: Notice, typed: Sequence[str], all_: Sequence[Notice] = ()) -> str | None:
    """The command that remedies what was noticed, and with it what is loud among `all_` notices:
    nobody wants to paste one after the other. `typed` has the program's name first."""
    if not typed:
        return None
    for other in all_:
        if other.loud:
            typed = repaired(typed, other.options)
    if notice.file:
        folder = value_of("--output", typed)
        if folder is not None:
            return shlex.join(["jumar", "show", str(Path(folder, notice.file))])
        return shlex.join([*typed, "-o", OUT])
    return shlex.join(repaired(typed, notice.options)) if notice.options else None


def next_command(verdict: Verdict, typed: Sequence[str]) -> str | None:
    """The command that is the next step, if it is one: what was typed with other options, or
    another command on the same log."""
    if not typed:
        return None
    if verdict.command != IMPROVE:
        given = {word.partition("=")[0] for word in typed}
        if IMPROVE not in typed or given & OTHER_PLAN:
            return None  # it would plan for something else
        words = list(typed)
        words[words.index(IMPROVE)] = verdict.command
        for name in ONLY_IMPROVE:
            words = without(name, words)
        typed = [word for word in words if word not in ONLY_FLAGS]
    elif not verdict.options:
        return None
    return shlex.join(repaired(typed, verdict.options))


def repaired(typed: Sequence[str], options: Sequence[str]) -> list[str]:
    """The words of a command with other options.

    >>> repaired(["jumar", "check", "a.csv", "--no-cost"], ["--cost"])
    ['jumar', 'check', 'a.csv', '--cost']
    >>> repaired(["jumar", "improve", "--n-wedge=5", "-o", "out"], ["--algorithm", "auto"])
    ['jumar', 'improve', '-o', 'out', '--algorithm', 'auto']
    """
    words, at = list(typed), 0
    while at < len(options):
        name = options[at]
        if name in FLAGS:
            words = [word for word in words if word not in (name, FLAGS[name])] + [name]
            at += 1
            continue
        value = options[at + 1]
        column = value.partition("=")[0] + "=" if name == "--bins" else ""
        for gone in (name, *FALLS.get(name, ())):
            words = without(gone, words, column if gone == name else "")
        words += [name, value]
        at += 2
    return words


def without(name: str, words: Sequence[str], start: str = "") -> list[str]:
    """The words without an option and its value, if that begins with `start`."""
    return [
        word
        for value, span in _spans(name, words)
        if value is None or not value.startswith(start)
        for word in span
    ]


def value_of(name: str, words: Sequence[str]) -> str | None:
    """The value of an option, if it was typed."""
    return next((value for value, _ in _spans(name, words) if value is not None), None)


def _spans(name: str, words: Sequence[str]) -> Iterator[tuple[str | None, Sequence[str]]]:
    """The words one by one, without a value; those of the option together, with its value."""
    at = 0
    while at < len(words):
        given, equals, value = words[at].partition("=")
        mine = SAME.get(given, given) == name
        span = words[at : at + (2 if mine and not equals else 1)]
        yield (value if equals else "".join(span[1:])) if mine else None, span
        at += len(span)
