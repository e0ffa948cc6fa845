"""The format of a file whose name does not tell: standard input, a pipe."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from jumar.log.formats.text import GZIP, UTF_16_MARKS, starts

HEAD = 1 << 12  # bytes looked at
_MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow",  # a stream
    b"PK\x03\x04": "Excel",
}


def format_by_content(path: Path) -> str | None:
    """The format, by the first bytes of a file; nothing if they look like no log.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "log")
    ...     for text in (b'{"episode": 1}', b"[{}]", b"episode;action", b"PAR1...", bytes(5)):
    ...         _ = file.write_bytes(text)
    ...         print(format_by_content(file), end=" ")
    NDJSON JSON CSV Parquet None
    """
    head = starts(path, HEAD)
    if head.startswith(GZIP):
        head = _decompressed(path)
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if head.startswith(UTF_16_MARKS):
        head = head[2:].replace(b"\0", b"")
    if b"\0" in head:
        return None
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return "NDJSON"
    return "JSON" if text.startswith(b"[") else "CSV"


def _decompressed(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(HEAD)
    except (OSError, EOFError, zlib.error):
        return b""
