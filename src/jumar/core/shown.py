"""How Python shows our data types: one short line, in notebooks too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape


class Shown(ABC):
    """A value with a short `repr`. The class says its `summary`; dataclasses say ``repr=False``."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What it holds, in a few words."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary}>"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"
