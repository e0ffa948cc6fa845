"""Logs that are read in parts: which ones, and how a command does it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.cli import inputs
from jumar.cli.app import progress_bar
from jumar.core.errors import ParameterError
from jumar.io.addresses import as_typed

if TYPE_CHECKING:
    from jumar.assessment.result import Result
    from jumar.pipeline.by_counts import CountedResult

LARGE_ROWS = 10_000_000  # of a Parquet file
LARGE_BYTES = 1 << 30  # of any other
# what is not done with a log that is read in parts, by the option that asks for it
LIMIT = "That takes the one controller that made it, and the default algorithm."
LIMITS = {
    "--keep": "Then one reward is looked at, and no other column is kept.",
    "--keep-cost": "Then one reward is looked at, and no other column is kept.",
    "--learn-memory": "Then no memory is learned.",
}


def is_read_in_parts(
    log: Path,
    policies: Sequence[str] | None,
    others: Mapping[str, bool],
    file_format: str | None = None,
) -> bool:
    """Is a log too large, or in too many places, to be held in memory? `others` are options that
    need it there, and whether they are given: then a log in several files is, unless it is large,
    and a single file in any case."""
    several = is_several(log)
    if not several and not _is_large(Path(log)):
        return False
    asked = [option for option, given in others.items() if given]
    one = len(policies or ()) == 1 and not inputs.is_estimate(policies)
    if not asked and one and inputs.named((policies or ("",))[0])[0] is None:
        return True
    if several and are_large(log, file_format):
        named = asked[0] if asked else "--policy"
        option = f"{named} out" if asked else "it to one file: --policy FILE"
        raise ParameterError(
            f"{named}: a log in several files that is so large is read in parts. "
            f"{LIMITS.get(named, LIMIT)} Leave {option}; or read all at once in Python, if it fits "
            "into memory: jumar.read_logs(FOLDER)."
        )
    return False


def check_not_asked(others: Mapping[str, bool], workers: Mapping[str, Any]) -> None:
    """Options that only make sense where a log is read in parts."""
    for name, value in {**others, **workers}.items():
        if value:
            raise ParameterError(
                f"--{name.replace('_', '-')}: this log is read at once, by one process. Leave it "
                "out, or give a folder of logs."
            )


def improved(
    log: Path,
    policies: Sequence[str] | None,
    exploration: float | None,
    reading: Mapping[str, Any],
    workers: Mapping[str, Any],
    as_json: bool,
    asked: Mapping[str, Any],
) -> Result | None:
    """The main job on such a log; None where its rows lie in another order than can be read in
    parts, and are few enough to be sorted in memory."""
    from jumar.large.reading import Unordered
    from jumar.pipeline.in_parts import improve_logs

    behavior = inputs.load(policies, exploration)[0].controller
    engine = {**workers, "engine": workers["engine"] or "here"}
    try:
        with progress_bar("Reading rows", 0, as_json) as progress:
            return improve_logs(
                as_typed(log),
                behavior,
                progress=progress,
                **engine,
                **asked,
                **reading,
            )
    except Unordered:
        if any(workers.values()) or not is_several(log) or are_large(log, reading["file_format"]):
            raise
    return None


def by_counts(
    counts: Path,
    policies: Sequence[str] | None,
    exploration: float | None,
    algorithm: str | None,
    parameters: Mapping[str, Any],
    **asked: Any,
) -> CountedResult:
    """The main job on counts."""
    from jumar.pipeline.by_counts import improve_counts

    if len(policies or ()) != 1 or inputs.is_estimate(policies):
        raise ParameterError("--policy: give the one controller that the logs were counted with.")
    return improve_counts(
        counts,
        inputs.load(policies, exploration)[0].controller,
        algorithm=algorithm,
        **asked,
        **parameters,
    )


def saved(learned: CountedResult, folder: Path | None) -> list[str]:
    """Write the controller and what is promised of it into a folder."""
    if folder is None:
        return []
    from jumar.io.controllers import controller_text
    from jumar.io.files import write_folder

    said = json.dumps(learned.to_dict(), indent=2, allow_nan=False) + "\n"
    contents = {"improved.json": controller_text(learned.controller), "certificate.json": said}
    return [str(path) for path in write_folder(folder, contents)]


def view(learned: CountedResult, files: Sequence[str]) -> list[str]:
    """For people."""
    found, facts = learned.improvement, learned.facts
    lines = [
        f"{facts.steps:,} steps of {facts.episodes:,} episodes, over a {found.mdp.memory}: "
        f"{len(found.mdp):,} history states.",
        f"{found.algorithm} changes {found.changed:,} of them.",
        "What that brings is not known: counts tell nothing of single episodes. To have it tested "
        "on held-out ones, give the logs: jumar improve LOGS.",
    ]
    if learned.simplified:
        lines.append(f"Simplified: {learned.simplified.summary}, by the model.")
    told = [f"{c.title}: {c.claim} {c.verdict}" for c in learned.certificates[:1]]
    lines += told or ["No published bound applies."]
    return [*lines, *(f"Wrote {file}" for file in files)]


def is_several(log: Path) -> bool:
    """Is a log read as a folder, a pattern or an address?"""
    from jumar.io.several import is_several

    text = as_typed(log)
    return "://" in text or is_several(text)


def are_large(log: Path, file_format: str | None) -> bool:
    """Together, the files of a log?"""
    from jumar.io.log_files import files_of

    files = files_of(as_typed(log), file_format)
    return sum(_share(Path(file.name), file.size) for file in files) >= 1


def _is_large(path: Path) -> bool:
    return path.is_file() and _share(path, path.stat().st_size) >= 1


def _share(path: Path, size: int) -> float:
    """A file as a part of what is large."""
    if path.suffix == ".parquet" and path.is_file():
        from jumar.large.shards import rows_of_parquet

        return rows_of_parquet(path) / LARGE_ROWS
    return size / LARGE_BYTES
