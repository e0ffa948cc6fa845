"""What holds a table gives it to whoever works with tables: pyarrow, pandas, Polars, DuckDB.

A class says `to_arrow`, and has all the rest: `to_pandas`, `to_polars`, and the Arrow protocol, by
which others read it in place (``polars.DataFrame(log)``, ``duckdb.sql("from log")``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Ints
from jumar.core.errors import MissingExtra
from jumar.memory import Memory


class Framed(ABC):
    """A value that is a table, too."""

    @abstractmethod
    def to_arrow(self) -> Any:
        """It as a table of pyarrow."""

    def to_pandas(self) -> Any:
        """It as a DataFrame of pandas; names are categories."""
        try:
            import pandas  # noqa: F401 - pyarrow would say less
        except ImportError as error:
            raise MissingExtra("DataFrames of pandas", "pandas", "pandas") from error
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """It as a DataFrame of Polars; names are categories."""
        try:
            import polars
        except ImportError as error:
            raise MissingExtra("DataFrames of Polars", "polars", "polars") from error
        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """For libraries that read Arrow."""
        stream: object = self.to_arrow().__arrow_c_stream__(requested_schema)
        return stream


def named(codes: Array, names: Sequence[str], missing: Any = None) -> Any:
    """A column of names, given as numbers; nothing where `missing` is true."""
    import pyarrow as pa

    indices = pa.array(np.asarray(codes).astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


def history_state_columns(
    memory: Memory, states: Ints, observations: Sequence[str], actions: Sequence[str], each: int = 1
) -> dict[str, Any]:
    """The columns node and observation of some ⟨n, z⟩, each repeated. Where nothing is remembered,
    the node is nothing."""
    import pyarrow as pa

    nodes = pa.nulls(len(states) * each, pa.string())
    if memory.width:
        names = (memory.read_node(state, observations, actions) for state in states[:, :-1])
        words = [word for name in names for word in [memory.speak(name)] * each]
        nodes = pa.array(words, pa.string())
    return {"node": nodes, "observation": named(np.repeat(states[:, -1], each), observations)}
