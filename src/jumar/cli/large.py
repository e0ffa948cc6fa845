"""The main job on large logs, and on counts alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.cli import inputs
from jumar.cli.app import progress_bar, tell, working
from jumar.core.errors import ParameterError
from jumar.io.addresses import as_typed

if TYPE_CHECKING:
    from jumar.evidence.given import BehaviorLike
    from jumar.io.logs import LogLike
    from jumar.pipeline.by_counts import CountedResult


@contextmanager
def source_of(
    log: Path,
    policies: Sequence[str] | None,
    exploration: float | None,
    reading: Mapping[str, Any],
    sort: bool,
    workers: Mapping[str, Any],
    as_json: bool,
) -> Iterator[tuple[LogLike, BehaviorLike]]:
    """The log and who made it: read, unless it is so large that the main job may have to read it
    in parts."""
    from jumar.io.logs import LogFiles
    from jumar.pipeline.large_logs import is_large

    engine = {**workers, "engine": workers["engine"] or "here"}
    files = LogFiles(as_typed(log), reading, sort, **engine)
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
