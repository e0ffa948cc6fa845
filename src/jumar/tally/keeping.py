"""Finished shards, kept until all are: a run that was killed, or met a bad file, goes on there.

Each shard is a file of counts in the folder ``NAME.parts`` beside the result, with a note of all
units that were looked at for it: its own, the one before, in which an episode may have begun, and
those after in which its last episode goes on. If one of their files has changed since, the shard is
counted again. A fingerprint of everything else (options, names, memory) must be the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jumar.core.errors import CountsError
from jumar.core.files import make_folder, write_atomically
from jumar.log.shards.plan import FilePlan, Unit
from jumar.tally.counted import Counted
from jumar.tally.files import load_counts, save_counts

MANIFEST = "job.json"

Shard = tuple[int, int]


class KeptShards:
    """The finished shards of a job."""

    def __init__(
        self, result: str | os.PathLike[str], plan: FilePlan, job: Mapping[str, Any]
    ) -> None:
        self.folder = Path(f"{os.fspath(result)}.parts")
        text = json.dumps(job, sort_keys=True, default=str)
        self._fingerprint = hashlib.sha256(text.encode()).hexdigest()
        # what stands before the first unit and after the last is noted too
        self._units = ["begin", *map(_noted, plan.units), "end"]

    def begin(self, *, resume: bool) -> dict[Shard, Counted]:
        """The shards that are there already; without `resume` they are thrown away."""
        manifest = self.folder / MANIFEST
        found: dict[Shard, Counted] = {}
        if resume and manifest.is_file():
            told = _read(manifest)
            if not isinstance(told, dict) or told.get("job") != self._fingerprint:
                raise CountsError(
                    f"{self.folder}: what was counted there was counted in another way, or the "
                    "files that were sorted have changed. Leave out --resume to begin anew."
                )
            for note in sorted(self.folder.glob("shard-*.json")):
                shard, counts = self._shard(_read(note)), note.with_suffix(".parquet")
                if shard is not None and counts.is_file():
                    found[shard] = load_counts(counts)
                    continue
                for file in (note, counts):
                    file.unlink(missing_ok=True)
            return found
        self.forget()
        make_folder(self.folder)
        write_atomically(manifest, json.dumps({"job": self._fingerprint}))
        return found

    def _shard(self, note: Any) -> Shard | None:
        """Where a shard is now, if all that was looked at is as it was."""
        try:
            looked_at, size = list(note["units"]), int(note["size"])
            first = self._units.index(looked_at[0])
        except (TypeError, KeyError, ValueError, IndexError):  # damaged, or of other files
            return None
        if self._units[first : first + len(looked_at)] != looked_at:
            return None
        return first, first + size  # the first one looked at stands before the shard

    def keep(self, shard: Shard, counted: Counted, reach: int) -> None:
        """A shard is finished; the last of its rows lie in unit `reach`."""
        first, last = shard
        looked_at = self._units[first : max(last, reach + 1) + 2]
        name = hashlib.sha256(json.dumps(looked_at).encode()).hexdigest()[:16]
        path = self.folder / f"shard-{name}.parquet"
        save_counts(counted, path)
        note = {"units": looked_at, "size": last - first}
        write_atomically(path.with_suffix(".json"), json.dumps(note))  # last: now it counts

    def forget(self) -> None:
        """All is done. The manifest goes first: what a kill then leaves is not resumed."""
        with suppress(FileNotFoundError, NotADirectoryError):
            (self.folder / MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(self.folder)


def _read(path: Path) -> Any:
    """What a file says; None if it is damaged."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None


def _noted(unit: Unit) -> str:
    file = unit.file
    return json.dumps([file.name, file.size, file.changed, unit.group])
