"""DataFrames, which no command takes: read as logs, and asked for again."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def run(file: str, kind: str, option: str) -> None:
    """Read the table of a file as a frame of this kind; what is given back must be the same log."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import jumar as jm
    from jumar.core.errors import JumarError

    try:
        data = Path(file).read_bytes()
        reader = pa.BufferReader(data)
        if file.endswith(".parquet"):
            table = pq.read_table(reader)
        else:
            try:
                table = pa.ipc.open_file(reader).read_all()
            except pa.ArrowException:
                table = pa.ipc.open_stream(pa.BufferReader(data)).read_all()
        frame = _frame(table, kind)
    except Exception:  # what no library can hold is no frame
        raise SystemExit(2) from None
    options = dict([option.split("=")]) if option else {}
    try:
        log = jm.read_logs(frame, **options)
        for again in (log.to_arrow(), log.to_pandas(), log.to_polars()):
            assert len(again) >= log.n_steps, "rows are missing"
            same = jm.read_logs(again)
            assert same.reward.tolist() == log.reward.tolist(), "other rewards"
            assert same.n_steps == log.n_steps, "other steps"
        jm.Controller.uniform(log.observations, log.actions, jm.window(1)).to_polars()
    except JumarError as error:
        print(error)
        raise SystemExit(1) from error
    raise SystemExit(0)


def _frame(table: Any, kind: str) -> Any:
    import polars

    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        return polars.from_arrow(table)
    if kind == "lazy":
        return polars.from_arrow(table).lazy()
    if kind == "batches":
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(3))
    return table
