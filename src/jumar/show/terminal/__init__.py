"""What people look at in a terminal: controllers, improvements and certificates as tables.

Functions here return rich renderables; only the command line prints them.
"""

from __future__ import annotations

from jumar.show.terminal.checks import check_parts
from jumar.show.terminal.controllers import controller_view, difference_view
from jumar.show.terminal.look import as_text, assumed, facts, notices_view, plain_table
from jumar.show.terminal.results import result_parts, result_view

__all__ = [
    "as_text",
    "assumed",
    "check_parts",
    "controller_view",
    "difference_view",
    "facts",
    "notices_view",
    "plain_table",
    "result_parts",
    "result_view",
]
