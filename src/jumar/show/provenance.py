"""Where a result comes from: versions, files with their fingerprints, settings, the command."""

from __future__ import annotations

import hashlib
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from jumar import __version__

FORMAT = "jumar-run/1"
_PACKAGES = ("numpy", "scipy", "numba", "pyarrow")


@dataclass(frozen=True)
class Run:
    """One run of jumar; what is unknown is left out."""

    command: Sequence[str] = ()  # as typed, the program's name first
    files: Mapping[str, str | Path] = field(default_factory=dict)  # part -> file read
    seed: int = 1
    options: Mapping[str, Any] | None = None  # as they would stand in a project file
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def to_dict(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Everything needed to do it again, in plain JSON types."""
        return {
            "format": FORMAT,
            "jumar": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": {name: metadata.version(name) for name in _PACKAGES},
            "time": self.started,
            "command": shlex.join(self.command) if self.command else None,
            "seed": self.seed,
            "files": {
                part: {"name": str(path), **fingerprint(Path(path))}
                for part, path in self.files.items()
            },
            "settings": dict(settings),
            "options": None if self.options is None else dict(self.options),
        }


def fingerprint(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file; of a folder, those of all its files with their names.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a").write_bytes(b"abc")
    ...     fingerprint(Path(folder, "a"))["sha256"][:8]
    'ba7816bf'
    """
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.is_file())
        parts = {str(each.relative_to(path)): fingerprint(each) for each in files}
        text = "".join(f"{name}\0{part['sha256']}\n" for name, part in parts.items())
        size = sum(part["bytes"] for part in parts.values())
        return {"bytes": size, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}
