"""Where the results of a study are stored. A run can be killed at any moment and resumed.

A run works through *blocks*: some data sets of one cell, such as a behavior. A finished block is
one file, renamed into place whole; so a block is either done or not, and never done twice. When all
are there they become one table, `results.parquet`. A manifest with a fingerprint of everything that
determines the numbers refuses to mix two studies in one folder.

    folder/
      study.json           what is studied, and its fingerprint
      behaviors/*.json     the controllers that collect the data
      blocks/*.parquet     finished blocks, while the run goes on
      results.parquet      the whole table
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from jumar import __version__
from jumar.core.errors import ParameterError, StudyError
from jumar.core.files import Busy, locked, make_folder, replacing, write_atomically
from jumar.core.text import printable

FORMAT = "jumar-study-run/1"


def slug(name: str) -> str:
    """A name as part of a file's name: safe anywhere, and different names stay different.

    >>> slug("tiger:2")
    'tiger-2-8f0b'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:4]}"


class Block(NamedTuple):
    """Some data sets of one cell: what is lost at most when a run is killed."""

    cell: str
    number: int
    members: range  # the numbers of the data sets


def blocks_of(cell: str, datasets: int, size: int) -> list[Block]:
    """All data sets of a cell, so many in a block.

    >>> blocks_of("tiger:2", 30, 25)[-1]
    Block(cell='tiger:2', number=1, members=range(25, 30))
    """
    firsts = range(0, datasets, size)
    return [Block(cell, i, range(n, min(n + size, datasets))) for i, n in enumerate(firsts)]


class Store:
    """The folder of one run."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @property
    def results(self) -> Path:
        return self.folder / "results.parquet"

    @property
    def manifest(self) -> Path:
        return self.folder / "study.json"

    def block(self, block: Block) -> Path:
        return self.folder / "blocks" / f"{slug(block.cell)}-{block.number:04d}.parquet"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else runs a study in this folder while the block does."""
        try:
            with locked(self.folder):
                yield
        except Busy as who:
            raise StudyError(
                f"{self.folder}: another run works in this folder ({who}). Wait until it is done, "
                "stop it, or choose another folder."
            ) from None

    def open(self, identity: dict[str, Any]) -> None:
        """Begin, or go on with, the study of that identity in this version."""
        identity = {"jumar": __version__, **identity}
        fingerprint = _fingerprint(identity)
        if self.manifest.exists():
            theirs = self.read_manifest()
            if theirs.get("fingerprint") != fingerprint:
                other = [key for key, value in identity.items() if theirs.get(key) != value]
                raise ParameterError(
                    f"{self.folder}: holds the results of another study: {', '.join(other)} "
                    "differ. Choose another folder, or delete this one."
                )
        else:
            make_folder(self.folder)
            body = {"format": FORMAT, "fingerprint": fingerprint, **identity}
            write_atomically(self.manifest, json.dumps(body, indent=2) + "\n")
        make_folder(self.folder / "behaviors")
        for behavior in identity["behaviors"]:
            path = self.folder / "behaviors" / f"{slug(behavior['name'])}.json"
            write_atomically(path, json.dumps(behavior["controller"], indent=1) + "\n")
        if not self.results.exists():
            make_folder(self.folder / "blocks")

    def read_manifest(self) -> dict[str, Any]:
        """What the folder says of itself."""
        another = "Choose another folder, or delete this one."
        try:
            found = json.loads(self.manifest.read_text("utf-8"))
        except FileNotFoundError as error:
            raise ParameterError(
                f"{self.folder}: no study has been run here (no {self.manifest.name})."
            ) from error
        except (OSError, ValueError, RecursionError) as error:
            raise StudyError(f"{self.manifest}: cannot be read ({error}). {another}") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise StudyError(f"{self.manifest}: is not a {FORMAT} file. {another}")
        identity = {k: v for k, v in found.items() if k not in ("format", "fingerprint")}
        if found.get("fingerprint") != _fingerprint(identity):
            raise StudyError(f"{self.manifest}: was changed since it was written. {another}")
        return found

    def run(
        self,
        blocks: list[Block],
        work: Callable[[list[Block]], Iterator[tuple[Block, Any]]],
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Work on the blocks that are missing, keep each as its table comes, and make one table of
        all, in the given order.

        `progress` is called with data sets done and data sets in all.
        """
        import pyarrow as pa

        missing = not self.results.exists()
        todo = [block for block in blocks if missing and not self.block(block).exists()]
        total, left = (sum(len(block.members) for block in some) for some in (blocks, todo))
        tell = progress or (lambda done, total: None)
        tell(total - left, total)
        for block, table in work(todo):
            _write(self.block(block), table)
            left -= len(block.members)
            tell(total - left, total)
        if missing:
            tables = [_read(self.block(block)) for block in blocks]
            _write(self.results, pa.concat_tables(tables).unify_dictionaries())
        shutil.rmtree(self.folder / "blocks", ignore_errors=True)

    def read(self) -> Any:
        """The table, also of a run that is not finished."""
        import pyarrow as pa

        if self.results.exists():
            return _read(self.results)
        self.read_manifest()
        parts = sorted((self.folder / "blocks").glob("*.parquet"))
        if not parts:
            raise ParameterError(f"{self.folder}: there are no results yet.")
        return pa.concat_tables([_read(part) for part in parts])


def _fingerprint(identity: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _write(path: Path, table: Any) -> None:
    import pyarrow.parquet as pq

    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def _read(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise StudyError(
            f"{path}: cannot be read ({printable(str(error))}). Delete it and run the same command "
            "again: what is missing is computed anew."
        ) from error
