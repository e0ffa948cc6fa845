"""The main job: improve the controller that produced a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from jumar.cli import inputs, large, options
from jumar.cli.app import app, say, working
from jumar.cli.log_options import asks_for_options, reads_a_log
from jumar.cli.panels import Command
from jumar.cli.workers import has_workers
from jumar.core.errors import ParameterError
from jumar.project import Project


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
    counts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Learn from a file of counts (jumar count) in place of a log. Nothing is tested.",
        ),
    ] = None,
    policy: list[str] | None = None,
    exploration: float | None = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the report, the controller and the rest."),
    ] = None,
    pictures: str | None = None,
    algorithm: str | None = None,
    n_wedge: int | None = None,
    parameter: list[str] | None = None,
    window: int | None = None,
    with_actions: bool = False,
    learn_memory: bool = False,
    rewards: str | None = None,
    ending_rewards: str | None = None,
    candidates: str | None = None,
    simplify: bool = False,
    gain_share: float | None = None,
    objective: str | None = None,
    keep: list[str] | None = None,
    keep_cost: list[str] | None = None,
    keep_range: list[str] | None = None,
    sort: bool = False,
    as_json: bool = False,
) -> None:
    """Improve the controller that produced a log, and explain it in a report.

    LOG may be a folder, a pattern or an address (s3://...); large logs are read in parts.
    Exits with 1 if the verdict is "do not rely" (a check of the log failed), else with 0.
    """
    from jumar import improve as run
    from jumar.show.remedies import commands
    from jumar.show.terminal import result_parts

    parameters = options.parameters(algorithm, n_wedge, parameter or [])
    images = options.pictures(pictures, output)
    reward_range = options.reward_range(rewards, ending_rewards)
    memory = options.learned_or_given(window, with_actions, learn_memory)
    share = options.gain_share(simplify, gain_share)
    reading, keeps = options.with_kept(reading, keep or [], keep_cost or [], keep_range or [])
    options.check_candidates(candidates, algorithm, parameters)
    if counts is not None and objective is not None:
        raise ParameterError(
            "--objective: counts are of one reward. Leave it out, or give the log."
        )
    found = large.source_of(log, counts, policy, exploration, reading, sort, workers, as_json)
    with found as (source, behavior):
        result = run(
            source,
            behavior,
            discount=discount,
            memory=memory,
            algorithm=algorithm,
            rewards=reward_range,
            keep=keeps,
            candidates=candidates,
            simplify=share,
            **asked,
            **cast(Any, parameters),
        )
    if counts is not None:
        written = [str(file) for file in result.save(output)] if output else []
        told = [*result.untested(), *(f"Wrote {file}" for file in written)]
        say(as_json, {**result.to_dict(), "files": written}, *told)
        return
    with working("Assessing", as_json):
        assessment = result.assessment
    files: list[Path] = []
    if output is not None:
        from jumar.show.outputs import save
        from jumar.show.provenance import Run

        read: dict[str, str | Path] = inputs.files(policy)
        if not result.sampled and not large.is_several(log):  # else it takes long to read again
            read = {"log": log, **read}
        run_record = Run(typed, read, asked["seed"], options=used.to_dict())
        with working("Writing the report", as_json):
            files = save(assessment, output, run_record, images)
    data = {**assessment.to_dict(), **commands(assessment, typed), "files": [str(f) for f in files]}
    parts = result_parts(assessment, typed=typed)
    say(as_json, data, *parts, *(f"Wrote {f}" for f in files))
    if assessment.verdict.exit_code:
        raise typer.Exit(assessment.verdict.exit_code)
