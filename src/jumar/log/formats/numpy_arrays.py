"""Arrow columns as numpy arrays, without pandas.

Where pandas is installed, much in Arrow loads it, which takes a third of a second: `to_numpy`,
`pa.scalar`, and functions that are called with a value of Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools


def to_numpy(column: Any, missing: float = np.nan) -> Array:
    """A column of numbers, with `missing` where there is none."""
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if column.null_count == 0:
        return np.from_dlpack(column)
    values = np.full(len(column), missing, column.type.to_pandas_dtype())
    values[~nulls(column)] = np.from_dlpack(column.drop_null())
    return values


def flags(column: Any) -> Bools:
    """A column of true and false; nothing is false."""
    import pyarrow as pa

    return np.asarray(to_numpy(column.cast(pa.int8()), 0).astype(np.bool_))


def nulls(column: Any) -> Bools:
    """(N,) where a column has nothing."""
    return flags(column.is_null())


def nothing(column: Any) -> Any:
    """A missing value of the column's type."""
    import pyarrow as pa

    return pa.nulls(1, column.type)[0]


def without_blanks(column: Any) -> Any:
    """A column of text with nothing where the text is empty."""
    import pyarrow.compute as pc

    return pc.if_else(pc.cast(pc.binary_length(column), "bool"), column, nothing(column))
