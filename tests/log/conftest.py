"""Small logs in files: rows of text, and columns of Parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def log_file(tmp_path, request):
    """Writes rows below the module's HEADER, or another one, into log.csv or another file."""

    def write(*rows: str, header: str | None = None, name: str = "log.csv") -> Path:
        path = tmp_path / name
        head = header or request.module.HEADER
        path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8", newline="")
        return path

    return write


@pytest.fixture
def parquet_file(tmp_path):
    def write(**columns: object) -> Path:
        path = tmp_path / "log.parquet"
        pq.write_table(pa.table(columns), path)
        return path

    return write
