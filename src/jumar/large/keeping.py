"""Finished shards, kept until all are: a run that was killed, or met a bad file, goes on there.

Each shard is a file of counts in the folder ``NAME.parts`` beside the result. A fingerprint of all
that determines the counts (files with their sizes and times, options, memory) tells whether they
are still good.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jumar.core.errors import CountsError
from jumar.io.files import make_folder, write_atomically
from jumar.large.counted import Counted
from jumar.large.files import load_counts, save_counts

MANIFEST = "job.json"
SHARD = re.compile(r"shard-([0-9]{1,9})-([0-9]{1,9})\.parquet")

Shard = tuple[int, int]


class KeptShards:
    """The finished shards of a job."""

    def __init__(self, result: str | os.PathLike[str], job: Mapping[str, Any]) -> None:
        self.folder = Path(f"{os.fspath(result)}.parts")
        text = json.dumps(job, sort_keys=True, default=str)
        self._fingerprint = hashlib.sha256(text.encode()).hexdigest()

    def begin(self, *, resume: bool) -> dict[Shard, Counted]:
        """The shards that are there already; without `resume` they are thrown away."""
        manifest = self.folder / MANIFEST
        found: dict[Shard, Counted] = {}
        if resume and manifest.is_file():
            if _job(manifest) != self._fingerprint:
                raise CountsError(
                    f"{self.folder}: what was counted there was counted in another way, or the "
                    "files have changed since. Leave out --resume to begin anew."
                )
            for path in sorted(self.folder.glob("shard-*.parquet")):
                name = SHARD.fullmatch(path.name)
                if name:  # other files are none of ours
                    found[int(name[1]), int(name[2])] = load_counts(path)
            return found
        self.forget()
        make_folder(self.folder)
        write_atomically(manifest, json.dumps({"job": self._fingerprint}))
        return found

    def keep(self, shard: Shard, counted: Counted) -> None:
        """A shard is finished."""
        save_counts(counted, self.folder / f"shard-{shard[0]}-{shard[1]}.parquet")

    def forget(self) -> None:
        """All is done."""
        with suppress(FileNotFoundError, NotADirectoryError):
            shutil.rmtree(self.folder)


def _job(manifest: Path) -> Any:
    """The fingerprint in a manifest; None if it is damaged."""
    try:
        return json.loads(manifest.read_text())["job"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
