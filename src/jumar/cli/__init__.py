"""The command line: the only place that prints and exits.

Exit codes: 0 done, 1 failed (bad data, bad file), 2 wrong usage. With --json a command prints one
JSON object; errors go to standard error either way.

Free to change: all of it. What can be asked stands in `options`.
"""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import Any, cast

import typer

# they register themselves
from jumar.cli import (  # noqa: F401
    commands,
    comparing,
    drafting,
    improving,
    judging,
    showing,
    studies,
)
from jumar.cli.app import app, telling_last
from jumar.cli.panels import arrange_commands
from jumar.core.errors import JumarError, LogError, ParameterError
from jumar.core.text import visible

# what click raises for wrong usage, wherever this version of typer keeps click
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

arrange_commands(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and exit."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    as_json = "--json" in arguments
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):  # a name or ζ must not crash a narrow terminal
            output.reconfigure(errors="backslashreplace")
    problems: tuple[str, ...] = ()
    # where there is no home it says where it keeps its fonts: nothing that people must know
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        # commands are told what was typed (`obj`): what they propose is a change of it
        with telling_last() if as_json else nullcontext():
            code = app(arguments, prog_name="jumar", standalone_mode=not as_json, obj=arguments)
        sys.exit(code)
    except JumarError as error:
        kind = "LogError" if isinstance(error, LogError) else type(error).__name__
        message = str(error)
        code = 2 if isinstance(error, ParameterError) else 1
        problems = error.problems if isinstance(error, LogError) else ()
    except MemoryError:
        kind, code = "MemoryError", 1
        message = "there is not enough memory. Use a machine with more, or less data at a time."
    except _UsageError as error:  # only with --json: else typer has printed it and left
        kind, code = "UsageError", 2
        message = cast(Any, error).format_message()
    except OSError as error:  # nowhere to print to
        kind, message, code = "OSError", str(error), 1
        with suppress(OSError, ValueError):  # or Python tries again on its way out, and complains
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if as_json:
        several = {"problems": problems} if len(problems) > 1 else {}
        told = {"error": {"kind": kind, "message": message, **several}}
        print(json.dumps(told), file=sys.stderr)
    else:
        # names of files, and what other libraries say of them, can hold anything
        print(visible(f"jumar: {kind}: {message}"), file=sys.stderr)
    sys.exit(code)
