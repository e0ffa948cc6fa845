"""jumar convert: the same log in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import inputs
from jumar.cli.app import app, say, working
from jumar.cli.log_options import reads_a_log
from jumar.cli.panels import Command

if TYPE_CHECKING:
    from jumar.log.episodes import Episodes
    from jumar.policy.controller import Controller


@app.command(cls=Command)
@reads_a_log(needs_discount=False)
def convert(
    log: Path,
    discount: float | None,
    reading: dict[str, Any],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Log to write (.parquet, .csv, .tsv, .arrow, .ndjson), or minari:NAME, which also "
            "keeps the discount and the policy.",
        ),
    ],
    policy: list[str] | None = None,
    exploration: float | None = None,
    as_json: bool = False,
) -> None:
    """Write a log in another format, with everything that was said about reading it done."""
    from jumar import read_logs
    from jumar.core.text import counted

    written = inputs.load(policy, exploration)
    controller = written[0].controller if len(written) == 1 else None
    with working("Reading", as_json):
        found = read_logs(log, **inputs.named_like(controller), **reading)
    with working("Writing", as_json):
        file = write_log(found, output, discount=discount, controller=controller)
    data = {"episodes": len(found), "steps": found.n_steps, "file": file}
    size = f"{counted(len(found), 'episode')}, {counted(found.n_steps, 'step')}"
    say(as_json, data, f"{file}: {size}")


def write_log(
    log: Episodes, output: Path, *, discount: float | None, controller: Controller | None
) -> str:
    """Write a log into a file or a dataset, and say where it is."""
    from jumar import write_logs, write_minari
    from jumar.log.formats.minari import PREFIX

    if not str(output).startswith(PREFIX):
        write_logs(log, output)
        return str(output)
    return str(write_minari(log, str(output), discount=discount, controller=controller))
