"""The main job on large logs, and on counts alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.cli import inputs
from jumar.cli.app import progress_bar, tell, working
from jumar.core.errors import ParameterError
from jumar.log.addresses import as_typed

if TYPE_CHECKING:
    from jumar.evidence.practice import BehaviorLike
    from jumar.tally.counted import Counted
    from jumar.tally.replay import LogLike


@contextmanager
def source_of(
    log: Path,
    counts: Path | None,
    policies: Sequence[str] | None,
    exploration: float | None,
    reading: Mapping[str, Any],
    sort: bool,
    workers: Mapping[str, Any],
    as_json: bool,
) -> Iterator[tuple[LogLike | Counted, BehaviorLike]]:
    """What to learn from, and who made it: counts, or a log. That is read, unless it is so large
    that the main job may have to read it in parts."""
    if counts is not None:
        from jumar.tally.files import load_counts

        if len(policies or ()) != 1 or inputs.is_estimate(policies):
            raise ParameterError(
                "--policy: give the one controller that the logs were counted with."
            )
        yield load_counts(counts), inputs.load(policies, exploration)[0].controller
        return
    from jumar.log.reading import LogFiles
    from jumar.pipeline import is_large

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


def is_several(log: Path) -> bool:
    """Is a log read as a folder, a pattern or an address?"""
    from jumar.log.files import is_several

    text = as_typed(log)
    return "://" in text or is_several(text)
