"""The main job, on logs of any size and on counts alone: improve, count, merge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from jumar.cli import inputs, options
from jumar.cli.app import app, progress_bar, say, tell, working
from jumar.cli.log_options import asks_for_options, has_workers, log_options, reads_a_log
from jumar.cli.panels import Command, worded
from jumar.core.errors import JumarError, ParameterError
from jumar.core.plain import picked
from jumar.core.text import shown
from jumar.project import Project

if TYPE_CHECKING:
    from jumar.evidence.practice import BehaviorLike
    from jumar.tally.counted import Counted
    from jumar.tally.replay import LogLike
    from jumar.verdict.result import Result

MOST_DIGITS = 16  # of a number of shards

CountsFile = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The file of counts (.parquet).")
]


@app.command(cls=Command)
@reads_a_log(repeatable=True)
@has_workers
@asks_for_options
def improve(
    log: Path,
    discount: float,
    reading: dict[str, Any],
    used: Project,
    typed: list[str],
    workers: dict[str, Any],
    asked: dict[str, Any],
    counts: Path | None = None,
    policy: list[str] | None = None,
    exploration: float | None = None,
    output: Path | None = None,
    pictures: str | None = None,
    excel: bool = False,
    n_wedge: int | None = None,
    parameter: list[str] | None = None,
    window: int | None = None,
    with_actions: bool = False,
    learn_memory: bool = False,
    rewards: str | None = None,
    ending_rewards: str | None = None,
    simplify: bool = False,
    gain_share: float | None = None,
    keep: list[str] | None = None,
    keep_cost: list[str] | None = None,
    keep_range: list[str] | None = None,
    sort: bool = False,
    as_json: bool = False,
) -> None:
    """Improve the policy that made a log, and explain it in a report.

    LOG may be a folder, a pattern or an address (s3://...); large logs are read in parts.
    Exits with 1 if the verdict is "do not rely" (a check of the log failed), else with 0.
    """
    from jumar import improve as run
    from jumar.show.remedies import commands
    from jumar.show.terminal import result_parts

    parameters = options.parameters(asked["algorithm"], n_wedge, parameter or [])
    images = options.pictures(pictures, output)
    options.check_excel(excel, output)
    reading, keeps = options.with_kept(reading, keep or [], keep_cost or [], keep_range or [])
    options.check_candidates(asked["candidates"], asked["algorithm"], parameters)
    if counts is not None and asked["objective"] is not None:
        raise ParameterError(
            "--objective: counts are of one reward. Leave it out, or give the log."
        )
    del asked["objective"]  # as which the log is read
    asked |= {
        "memory": options.learned_or_given(window, with_actions, learn_memory),
        "rewards": options.reward_range(rewards, ending_rewards),
        "simplify": options.gain_share(simplify, gain_share),
        "keep": keeps,
    }
    if counts is not None:
        found = _counted(counts, policy, exploration)
    else:
        found = _logged(log, policy, exploration, reading, sort, workers, as_json)
    with found as (source, behavior):
        result = run(source, behavior, discount=discount, **asked, **cast(Any, parameters))
    if counts is not None:
        _say_untested(result, output, as_json)
        return
    with working("Assessing", as_json):
        assessment = result.assessment
    files: list[Path] = []
    if output is not None:
        from jumar.show.outputs import save
        from jumar.show.provenance import Run

        read: dict[str, str | Path] = inputs.files(policy)
        if not result.sampled and not inputs.is_several(log):  # else it takes long to read again
            read = {"log": log, **read}
        run_record = Run(typed, read, asked["seed"], options=used.to_dict())
        with working("Writing the report", as_json):
            files = save(assessment, output, run_record, images, excel=excel)
    data = {**assessment.to_dict(), **commands(assessment, typed), "files": [str(f) for f in files]}
    parts = result_parts(assessment, typed=typed)
    say(as_json, data, *parts, *(f"Wrote {f}" for f in files))
    if assessment.verdict.exit_code:
        raise typer.Exit(assessment.verdict.exit_code)


def _say_untested(result: Result, output: Path | None, as_json: bool) -> None:
    """What was learned from counts."""
    written = [str(file) for file in result.save(output)] if output else []
    told = [*result.untested(), *(f"Wrote {file}" for file in written)]
    say(as_json, {**result.to_dict(), "files": written}, *told)


@contextmanager
def _counted(
    counts: Path, policies: Sequence[str] | None, exploration: float | None
) -> Iterator[tuple[LogLike | Counted, BehaviorLike]]:
    """Counts to learn from, and who made the log."""
    from jumar.tally.files import load_counts

    if len(policies or ()) != 1 or inputs.is_estimate(policies):
        raise ParameterError("--policy: give the one policy that the logs were counted with.")
    yield load_counts(counts), inputs.load(policies, exploration)[0].controller


@contextmanager
def _logged(
    log: Path,
    policies: Sequence[str] | None,
    exploration: float | None,
    reading: Mapping[str, Any],
    sort: bool,
    workers: Mapping[str, Any],
    as_json: bool,
) -> Iterator[tuple[LogLike | Counted, BehaviorLike]]:
    """The log to learn from, and who made it. It is read, unless it is so large that the main job
    may have to read it in parts."""
    from jumar.log.addresses import as_typed
    from jumar.log.reading import LogFiles
    from jumar.pipeline import is_large

    files = LogFiles(as_typed(log), reading, sort, **_engine(workers))
    one = len(policies or ()) == 1 and not inputs.is_estimate(policies)
    if one and inputs.named((policies or ("",))[0])[0] is None and is_large(files):
        with progress_bar("Reading rows", 0, as_json) as progress:
            behavior = inputs.load(policies, exploration)[0].controller
            yield replace(files, progress=progress), behavior
        return
    if any(workers.values()):
        said = ", ".join(f"--{name}" for name, value in workers.items() if value)
        tell(f"This log is small enough to be read at once, by one process: {said} has no effect.")
    with working("Reading", as_json):
        found = inputs.read(log, policies, dict(reading), exploration=exploration)
    with working("Improving", as_json):
        yield found


def _engine(workers: Mapping[str, Any]) -> dict[str, Any]:
    return {**workers, "engine": workers["engine"] or "here"}


# ---- counting -----------------------------------------------------------------------------------


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
    policy: Annotated[Path, typer.Option(metavar="FILE", help="The policy that made the logs.")],
    output: CountsFile,
    window: int | None = None,
    with_actions: bool = False,
    shard: str | None = None,
    sort: bool = False,
    resume: bool = False,
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
                tell(f"What is counted so far is kept in {kept.folder}; continue with --resume.")
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


def _share(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    i, bar, n = text.partition("/")
    if not bar or not all(part.isdecimal() and len(part) < MOST_DIGITS for part in (i, n)):
        raise ParameterError(f"--shard {shown(text)}: expected I/N, such as 3/10.")
    return int(i), int(n)


def _data(found: Counted, output: Path) -> dict[str, Any]:
    return {
        "memory": str(found.memory),
        **picked(found.facts, "episodes steps unfinished ended rewards ending_rewards"),
        "history_states": len(found.states),
        "pairs": len(found.state),
        "moves": len(found.pair),
        "files": [str(output)],
    }


def _view(found: Counted) -> list[str]:
    facts = found.facts
    ended = f"{facts.ended:,} ended by themselves, {facts.episodes - facts.ended:,} were cut off"
    return [
        f"{facts.steps:,} steps of {facts.episodes:,} episodes ({ended}).",
        f"Over a {found.memory}: {len(found.states):,} situations, {len(found.state):,} with "
        f"their actions, {len(found.pair):,} moves.",
    ]
