"""Addresses of object stores: ``s3://KEY:SECRET@bucket/folder?region=eu-central-1``.

What stands in an address is for the store alone. Messages, reports and records show it without its
secret (`shown_address`), and call files by their bucket and path (`Address.name_of`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, unquote

from jumar.core.errors import LogError
from jumar.core.text import shown

HIDDEN = "***"
PLAIN = "/:@=+,!~()'$&;*"  # in addresses all else is written as %20
AS_TYPED = PLAIN + "%"  # people have written it that way already
SHOWN = (  # of a query; what else stands there might be a secret
    "region", "scheme", "endpoint_override", "retry_limit_seconds", "project_id",
    "allow_bucket_creation", "allow_bucket_deletion", "allow_delayed_open",
    "force_virtual_addressing",
)  # fmt: skip
GOOGLE = ("gs", "gcs")
PATIENCE = "retry_limit_seconds=10"  # of Google's client, which by itself tries for 15 minutes

_SWALLOWED = re.compile(r"^([a-z][a-z0-9+]+):/+(?=[^/])")


def as_typed(log: str | os.PathLike[str]) -> str:
    """A path, or an address, of which a path has swallowed a stroke."""
    text = str(log)
    if text.startswith("file:/"):
        return f"file:///{text.removeprefix('file:').removeprefix('//localhost').lstrip('/')}"
    return _SWALLOWED.sub(r"\1://", text)


def without_scheme(text: str) -> str:
    """The path of a file on this machine, where it is given as an address; else as it is."""
    if not text.startswith("file://"):
        return text
    return unquote(text.removeprefix("file://").removeprefix("localhost"))


def is_address(text: str) -> bool:
    """Is it the address of a store, not of a file on this machine?"""
    return "://" in text and not text.startswith("file://")


@dataclass(frozen=True)
class Address:
    """An address, taken apart."""

    scheme: str
    user: str = field(repr=False)  # KEY or KEY:SECRET, or nothing
    where: str  # bucket and path, perhaps a pattern
    query: str = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Address:
        scheme, _, rest = text.partition("://")
        where, _, query = rest.partition("?")
        head, stroke, tail = where.partition("/")
        user = ""
        if "@" in head:
            user, _, head = head.rpartition("@")
            where = head + stroke + tail
        elif scheme == "s3" and ":" in head and "@" in where:  # a secret with a stroke in it
            user, _, where = where.partition("@")
        return cls(scheme, user, where, query)

    @property
    def secret(self) -> str:
        return self.user.partition(":")[2]

    @property
    def shown(self) -> str:
        """For messages and records: without its secret.

        >>> Address.of("s3://AKIA:wJal/rX@logs/2024?region=us-east-1&token=x").shown
        's3://AKIA:***@logs/2024?region=us-east-1&token=***'
        """
        key = self.user.partition(":")[0] + (f":{HIDDEN}" if self.secret else "")
        user = f"{key}@" if self.user else ""
        return f"{self.scheme}://{user}{self.where}{self._shown_query}"

    @property
    def called(self) -> str:
        """The same, in a message."""
        return shown(self.shown, most=200, cut="...")

    @property
    def _shown_query(self) -> str:
        if not self.query:
            return ""
        pairs = [pair.partition("=") for pair in self.query.split("&")]
        return "?" + "&".join(
            f"{key}{equals}{value if key in SHOWN or not equals else HIDDEN}"
            for key, equals, value in pairs
        )

    @property
    def folder(self) -> str:
        """All before the first part that is a pattern."""
        marks = [self.where.index(mark) for mark in "*[" if mark in self.where]
        return self.where[: min(marks)].rpartition("/")[0] if marks else self.where

    def fits(self, path: str) -> bool:
        """Does a path in the store fit the pattern, if it is one?"""
        return self.folder == self.where or fnmatchcase(path, unquote(self.where))

    def name_of(self, path: str) -> str:
        """How messages call a file of the same store."""
        return f"{self.scheme}://{quote(path, PLAIN)}{self._shown_query}"

    def opened(self) -> tuple[Any, str]:
        """The store, a file system of pyarrow, and the path of the folder in it."""
        from pyarrow import fs

        if self.secret == HIDDEN or f"={HIDDEN}" in self.query:
            raise LogError(
                f"{self.called}: its secret was not recorded. Give the address with its "
                "secret, or without any, and say it in the environment: AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY."
            )
        query = self.query
        if self.scheme in GOOGLE and "retry_limit_seconds" not in query:
            query = f"{query}&{PATIENCE}" if query else PATIENCE
        user = f"{quote(self.user, ':%')}@" if self.user else ""
        tail = f"?{query}" if query else ""
        text = f"{self.scheme}://{user}{quote(self.folder, AS_TYPED)}{tail}"
        remedy = "Give an address such as s3://bucket/folder or gs://bucket/folder"
        found: tuple[Any, str] = self._answer(
            "cannot be opened", remedy, fs.FileSystem.from_uri, text
        )
        return found

    def is_folder(self) -> bool:
        """Is it a pattern, or a folder in the store?"""
        from pyarrow import fs

        if self.folder != self.where:
            return True
        system, path = self.opened()
        return bool(self.asked(system.get_file_info, path).type == fs.FileType.Directory)

    def asked(self, question: Callable[..., Any], what: Any) -> Any:
        """What the store answers, or an error that says that it does not."""
        fact = "the store does not answer, or lets nobody in"
        remedy = "Check the address with its region or endpoint, the network, and your credentials"
        return self._answer(fact, remedy, question, what)

    def _answer(self, fact: str, remedy: str, question: Callable[..., Any], what: Any) -> Any:
        import pyarrow as pa

        try:
            return question(what)
        except (pa.ArrowException, OSError, ValueError) as error:
            told = self.without_secret(str(error).strip().partition("\n")[0].rstrip("."))
            told = shown(told, most=200, cut="...") or type(error).__name__
        # not chained to the error, which may show all of the address
        raise LogError(f"{self.called}: {fact}: {told}. {remedy}.")

    def without_secret(self, text: str) -> str:
        """What a library says, without what nobody shall read."""
        pairs = [pair.partition("=") for pair in self.query.split("&")]
        secrets = [self.secret, *(value for key, _, value in pairs if key not in SHOWN)]
        for secret in filter(None, secrets):
            for written in (secret, unquote(secret), quote(secret, "%"), quote(secret, "")):
                text = text.replace(written, HIDDEN)
        return text


def shown_address(text: str) -> str:
    """A path as it is; an address without its secret."""
    return Address.of(text).shown if is_address(text) else text
