"""Logs of any size, counted where they lie: count and merge."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import options
from jumar.cli.app import app, progress_bar, say, tell, working
from jumar.cli.log_options import log_options
from jumar.cli.panels import Command, worded
from jumar.cli.workers import has_workers
from jumar.core.errors import JumarError, ParameterError
from jumar.core.text import shown

if TYPE_CHECKING:
    from jumar.tally.counted import Counted

MOST_DIGITS = 16  # of a number of shards

CountsFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The file of counts (.parquet).")
]


@app.command(cls=Command)
@log_options
@has_workers
def count(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOGS...",
            help="Files, folders, patterns such as 'logs/*.parquet', or addresses such as "
            "s3://bucket/logs. Sorted by episode, then by step; else see --sort.",
            show_default=False,
        ),
    ],
    reading: dict[str, Any],
    workers: dict[str, Any],
    policy: Annotated[
        Path, typer.Option(metavar="FILE", help="The controller that produced the logs.")
    ],
    output: CountsFile,
    window: int | None = None,
    with_actions: bool = False,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N", help="Count the I-th of N parts only, as in a job array; then merge."
        ),
    ] = None,
    sort: bool = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run stopped that was to make this file.")
    ] = False,
    as_json: bool = False,
) -> None:
    """Count logs of any size, in one pass and with little memory.

    What is counted is all that an algorithm needs to know: `jumar improve --counts` learns from it.
    Files of counts add up (`jumar merge`).
    """
    from jumar import load_controller
    from jumar.tally.counting import SHARD_ROWS, prepared, run
    from jumar.tally.files import save_counts
    from jumar.tally.keeping import KeptShards

    memory = options.memory(window, with_actions)
    share, jobs = _share(shard), workers["jobs"]
    if sort and shard is not None:
        raise ParameterError(
            "--shard: every job would sort the whole log. Sort it beforehand, or leave --shard out."
        )
    like = load_controller(policy)
    with ExitStack() as stack:
        with working("Sorting" if sort else "Looking through the files", as_json):
            job = stack.enter_context(prepared(logs, like, memory=memory, sort=sort, **reading))
        kept = KeptShards(output, job.plan, job.described)
        finished = kept.begin(resume=resume)
        shards = job.plan.shards(SHARD_ROWS, jobs, share, finished)
        rows = sum(job.rows(each) for each in shards)
        try:
            with progress_bar("Counting rows", rows, as_json) as progress:
                found = run(
                    job, shards, progress=progress, kept=kept, finished=finished, **_engine(workers)
                )
        except JumarError:
            if any(kept.folder.glob("shard-*")):
                tell(
                    f"What is counted so far is kept in {kept.folder}; --resume goes on from there."
                )
            else:
                kept.forget()
            raise
    save_counts(found, output)
    kept.forget()
    say(as_json, _data(found, output), *_view(found), f"Wrote {output}")


@app.command(cls=Command)
@worded
def merge(
    counts: Annotated[
        list[Path],
        typer.Argument(metavar="COUNTS...", help="Files of counts.", show_default=False),
    ],
    output: CountsFile,
    as_json: bool = False,
) -> None:
    """Add files of counts up: the result is that of counting all logs at once."""
    from jumar.log.shards.order import check_apart
    from jumar.tally.files import load_counts, save_counts

    total = load_counts(counts[0])
    for path in counts[1:]:
        try:
            total += load_counts(path)
        except JumarError as error:
            raise type(error)(f"{path}: {error}".replace(f"{path}: {path}", str(path))) from error
    unsure = check_apart(total.files)
    save_counts(total, output)
    if unsure:
        tell(unsure)
    say(as_json, _data(total, output), *_view(total), f"Wrote {output}")


def _engine(workers: dict[str, Any]) -> dict[str, Any]:
    return {**workers, "engine": workers["engine"] or "here"}


def _share(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    i, bar, n = text.partition("/")
    if not bar or not all(part.isdecimal() and len(part) < MOST_DIGITS for part in (i, n)):
        raise ParameterError(f"--shard {shown(text)}: expected I/N, such as 3/10.")
    return int(i), int(n)


def _data(found: Counted, output: Path) -> dict[str, Any]:
    from jumar.core.plain import plain

    facts = found.facts
    return {
        "memory": str(found.memory),
        "episodes": facts.episodes,
        "steps": facts.steps,
        "unfinished": facts.unfinished,
        "ended": facts.ended,
        "history_states": len(found.states),
        "pairs": len(found.state),
        "moves": len(found.pair),
        "rewards": plain(facts.rewards),
        "ending_rewards": plain(facts.ending_rewards),
        "files": [str(output)],
    }


def _view(found: Counted) -> list[str]:
    facts = found.facts
    ended = f"{facts.ended:,} ended by themselves, {facts.episodes - facts.ended:,} were cut off"
    return [
        f"{facts.steps:,} steps of {facts.episodes:,} episodes ({ended}).",
        f"Over a {found.memory}: {len(found.states):,} history states, {len(found.state):,} with "
        f"their actions, {len(found.pair):,} moves.",
    ]
