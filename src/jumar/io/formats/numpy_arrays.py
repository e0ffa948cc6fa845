"""Arrow columns as numpy arrays.

Arrow's own `to_numpy` loads pandas where that is installed, which costs half a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools


def to_numpy(column: Any, missing: float = np.nan) -> Array:
    """A column of numbers, with `missing` where there is none.

    >>> import pyarrow as pa
    >>> to_numpy(pa.array([1.5, None]))
    array([1.5, nan])
    """
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if column.null_count == 0:
        return np.from_dlpack(column)
    values = np.full(len(column), missing, column.type.to_pandas_dtype())
    values[~nulls(column)] = np.from_dlpack(column.drop_null())
    return values


def flags(column: Any) -> Bools:
    """A column of true and false; nothing is false.

    >>> import pyarrow as pa
    >>> flags(pa.array([True, None]))
    array([ True, False])
    """
    import pyarrow as pa

    return to_numpy(column.fill_null(False).cast(pa.int8())).astype(np.bool_)


def nulls(column: Any) -> Bools:
    """(N,) where a column has nothing."""
    return flags(column.is_null())
