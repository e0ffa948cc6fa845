"""What a message must tell, whatever its sentence: a place, a value, a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


def says(said: object, *facts: object) -> None:
    """Every fact stands in the text, as whole words; upper and lower case are one."""
    text = " ".join(str(said).split())
    missing = [fact for fact in facts if not _stands_in(str(fact), text)]
    assert not missing, f"{text!r} does not say {missing}"


@contextmanager
def refuses(error: type[BaseException], *facts: object) -> Iterator[None]:
    """The block raises this error, and its message has these facts."""
    with pytest.raises(error) as raised:
        yield
    says(raised.value, *facts)


def _stands_in(fact: str, text: str) -> bool:
    """1 does not stand in 10, in 0.1 or in 1.5."""
    return re.search(rf"(?<![\w.]){re.escape(fact)}(?!\w|\.\d)", text, re.IGNORECASE) is not None
