"""The main job: improve the controller that produced a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from jumar.cli import inputs, large, options
from jumar.cli.app import WINDOW, Json, Seed, WithActions, app, say, working
from jumar.cli.log_options import reads_a_log
from jumar.cli.panels import Command
from jumar.cli.workers import has_workers
from jumar.core.errors import ParameterError
from jumar.io.project import Project


@app.command(cls=Command)
@reads_a_log(repeatable=True)
@has_workers
def improve(
    log: Path,
    discount: float,
    reading: dict[str, Any],
    used: Project,
    typed: list[str],
    workers: dict[str, Any],
    step_length: str | None = None,
    unit: Annotated[
        str, typer.Option(help="What rewards are counted in, as EUR; for the report.")
    ] = "",
    counts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Learn from a file of counts (jumar count) in place of a log. Nothing is tested.",
        ),
    ] = None,
    policy: inputs.Policy = None,
    exploration: inputs.Exploration = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the report, the controller and the rest."),
    ] = None,
    pictures: Annotated[
        str | None,
        typer.Option(metavar="png,pdf", help="Draw the controller as PNG or PDF, too."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="See `jumar algorithms`. Default: auto, or spibb where --n-wedge is given."
        ),
    ] = None,
    n_wedge: Annotated[
        int | None,
        typer.Option(help="N∧: trust only what was seen more often than this."),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any parameter of the algorithm."),
    ] = None,
    window: Annotated[int | None, typer.Option(help=WINDOW)] = None,
    with_actions: WithActions = False,
    learn_memory: Annotated[
        bool,
        typer.Option(
            "--learn-memory",
            help="Learn from the log what is worth remembering, and try that as well: on each half "
            "anew, tested on the other.",
        ),
    ] = False,
    delta: Annotated[
        float, typer.Option(help="Accepted chance that the certificate is wrong.")
    ] = 0.05,
    rewards: inputs.Rewards = None,
    ending_rewards: inputs.EndingRewards = None,
    horizon: inputs.Horizon = None,
    gate: inputs.GateName = "proved",
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Whose controllers auto tests, as soft,robust; any of `jumar algorithms`. auto "
            "among them stands for those it asks by itself.",
        ),
    ] = None,
    simplify: Annotated[
        bool,
        typer.Option(
            "--simplify",
            help="Make as few changes as bring 95 % of the gain, so that people can read the rule. "
            "The simpler controller is what is tested.",
        ),
    ] = False,
    gain_share: Annotated[
        float | None,
        typer.Option(help="With --simplify: another share of the gain, as 0.8."),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column that must get better, in place of the reward. With --cost: it holds "
            "costs.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[=LOSS]",
            help="A column that must not get worse, by more than LOSS per episode. May be "
            "repeated; all are tested on held-out episodes.",
        ),
    ] = None,
    keep_cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[=LOSS]", help="The same for a column of costs: less is better."
        ),
    ] = None,
    keep_range: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=LO:HI",
            help="What a step can count in a column that is kept (default: as the log shows).",
        ),
    ] = None,
    sort: options.SortFirst = False,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="In a folder of logs, or a large one: test on all held-out episodes, even where "
            "the first ones decide; how much is surely gained is then told better.",
        ),
    ] = False,
    seed: Seed = 1,
    as_json: Json = False,
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
    options.check_candidates(candidates, algorithm, parameters, counts)
    if counts is not None:
        if keeps or objective is not None:
            raise ParameterError(
                "--counts: counts are of one reward, and nothing is tested on them. Leave out "
                "--objective and --keep, or give the log."
            )
        if learn_memory:
            raise ParameterError("--learn-memory: counts have one memory. Give the log instead.")
        learned = large.by_counts(
            counts,
            policy,
            exploration,
            algorithm,
            parameters,
            discount=discount,
            memory=memory,
            delta=delta,
            rewards=reward_range,
            simplify=share,
        )
        written = large.saved(learned, output)
        say(as_json, {**learned.to_dict(), "files": written}, *large.view(learned, written))
        return
    with large.source_of(log, policy, exploration, reading, sort, workers, as_json) as source:
        result = run(
            *source,
            algorithm=algorithm,
            gate=gate,
            keep=keeps,
            discount=discount,
            memory=memory,
            delta=delta,
            rewards=reward_range,
            horizon=horizon,
            seed=seed,
            unit=unit,
            step_length=step_length,
            simplify=share,
            candidates=candidates,
            thorough=thorough,
            **cast(Any, parameters),
        )
    with working("Assessing", as_json):
        assessment = result.assessment
    files: list[Path] = []
    if output is not None:
        from jumar.show.outputs import save
        from jumar.show.provenance import Run

        read: dict[str, str | Path] = inputs.files(policy)
        if not result.sampled and not large.is_several(log):  # else it takes long to read again
            read = {"log": log, **read}
        run_record = Run(typed, read, seed, options=used.to_dict())
        with working("Writing the report", as_json):
            files = save(assessment, output, run_record, images)
    data = {**assessment.to_dict(), **commands(assessment, typed), "files": [str(f) for f in files]}
    parts = result_parts(assessment, typed=typed)
    say(as_json, data, *parts, *(f"Wrote {f}" for f in files))
    if assessment.verdict.exit_code:
        raise typer.Exit(assessment.verdict.exit_code)
