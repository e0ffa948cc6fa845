"""How readings become observations, where no log shows it but somebody tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jumar.core.errors import ParameterError, not_one_of
from jumar.core.names import JOINT
from jumar.core.reading import LogReading, ReadColumn
from jumar.log.reading.asking import COMBINED, ask


def reading_told(
    columns: Mapping[str, str | Sequence[str]] | None = None,
    bins: Mapping[str, Sequence[str | float]] | None = None,
    *,
    missing: str = "error",
    gap: str | None = None,
    separator: str = ",",
    decimal: str | None = None,
) -> LogReading:
    """How a log with these options would be read.

    >>> told = reading_told({"observation": "vibration+noise"}, {"vibration": ("low", 2, "high")})
    >>> [column.name for column in told.observation], told.observation[0].bins.edges
    (['vibration', 'noise'], (2.0,))
    """
    asked = ask(
        columns=columns,
        ends=None,
        cost=None,
        bins=bins,
        gap=gap,
        missing=missing,
        repeated="error",
        prices=None,
        decimal=decimal,
    )
    parts: dict[str, tuple[str, ...]] = {}
    for part in COMBINED:
        names = asked.columns.get(part, (part,))
        if len(names) == 1 and isinstance((columns or {}).get(part), str):
            names = tuple(names[0].split(JOINT))  # as a command line writes several
        parts[part] = names
    known = [name for names in parts.values() for name in names]
    for column in asked.bins:
        if column not in known:
            raise ParameterError(
                f"bins: {not_one_of('column', column, known)} Only columns that are an observation "
                "or action are cut into bins."
            )
    observation, action = (
        tuple(ReadColumn(name, asked.bins.get(name)) for name in parts[part]) for part in COMBINED
    )
    return LogReading(
        observation,
        action,
        asked.columns.get("episode", ("episode",))[0],
        None if asked.gap is None else asked.gap.text,
        missing == "symbol",
        separator,
        decimal or ".",
    )
