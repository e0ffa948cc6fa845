"""Writing a file so that it is there whole or not at all.

The text goes to a temporary file in the same directory, is flushed to the disk, and then takes
the place of the old file in one step (`os.replace`). A reader, a full disk or a power cut in
between finds the old file or the new one, never half of one.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from jumar.core.errors import ParameterError, WriteError
from jumar.core.resources import journal
from jumar.core.temporary import clear_left_behind, temporary_name
from jumar.core.text import counted

# what no other path on the same disk would change
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Put `content` (text is written as UTF-8) into the file, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder, "note.txt"), "inspect in May")
    ...     Path(folder, "note.txt").read_text(), len(os.listdir(folder))
    ('inspect in May', 1)
    """
    data = _encoded(path, content)
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def _encoded(path: str | os.PathLike[str], content: str | bytes) -> bytes:
    try:
        return content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        raise ParameterError(
            f"{path}: the text has half a character (a lone surrogate) at position "
            f"{error.start + 1}, which no file can hold. Correct the text."
        ) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file that replaces `path` if the block succeeds, and is removed if not.

    A symbolic link is followed, and a file that is replaced keeps its permissions. What goes wrong
    with the temporary file is told of `path`.
    """
    with _naming(path):
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise ParameterError(f"{path}: this is a directory. Add the name of a file to it.")
        if target.exists() and not target.is_file():
            raise ParameterError(f"{path}: this is not a regular file. Choose another path.")
        # not tempfile: its files are private (0600), while a new file should obey the umask
        temporary = target.parent / temporary_name()
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    clear_left_behind(target.parent, temporary)
    try:
        with _telling(path):
            yield temporary
            _sync(temporary)
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.replace(temporary, target)
    except BaseException:  # also when interrupted: leave nothing half written behind
        with suppress(OSError):
            os.unlink(temporary)
        raise
    with suppress(OSError):  # make the new name survive a power cut, where the system can
        _sync(target.parent)


@contextmanager
def _telling(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the system as errors that name the path and the remedy."""
    try:
        yield
    except OSError as error:
        kind = WriteError if error.errno in _NO_ROOM else ParameterError
        raise kind(f"{path}: {_reason(Path(path), error)}") from error


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """The same, also where the path itself is impossible."""
    try:
        with _telling(path):
            yield
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(f"{path!r}: {error}. Choose another path.") from error


def write_folder(folder: str | os.PathLike[str], contents: Mapping[str, str | bytes]) -> list[Path]:
    """Put files into a folder, all of them or none.

    They are written beside the folder first. If it is new, it then appears in one step; if it is
    there already, each file takes its place in one step, and what else is in it stays. If one
    of these steps fails or is interrupted, the old files are restored.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     paths = write_folder(Path(place, "out"), {"a.txt": "one", "b.txt": "two"})
    ...     [path.name for path in paths], sorted(os.listdir(place))
    (['a.txt', 'b.txt'], ['out'])
    """
    target = Path(os.path.realpath(folder))
    if target.exists() and not target.is_dir():
        raise ParameterError(
            f"{folder}: cannot be made a folder (this is a file). Choose another path."
        )
    for name in contents:  # check before any file is replaced, or some would be new and some old
        if (target / name).is_dir():
            raise ParameterError(
                f"{Path(folder, name)}: this is a directory. Remove it, or choose another folder."
            )
    make_folder(target.parent)
    with _naming(folder):
        staging = target.parent / temporary_name()
        staging.mkdir()
    clear_left_behind(target.parent, staging)
    try:
        for name, content in contents.items():
            data = _encoded(Path(folder, name), content)
            with _naming(Path(folder, name)):  # not the hidden name it has for now
                (staging / name).write_bytes(data)
                _sync(staging / name)
        with _naming(folder):
            if target.exists():
                _replace_all(staging, target, list(contents))
            else:
                os.replace(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    journal.info("Wrote %s: %s", folder, counted(len(contents), "file"))
    written = [Path(folder, name) for name in contents]
    for path in written:
        journal.debug("Wrote %s", path)
    return written


def _replace_all(staging: Path, target: Path, names: Sequence[str]) -> None:
    """Move files from one folder to another: all of them, or none."""
    kept = staging / ".kept"
    kept.mkdir()
    for name in names:
        if os.path.lexists(target / name):
            shutil.copy2(target / name, kept / name, follow_symlinks=False)
    moved: list[str] = []
    try:
        for name in names:
            moved.append(name)  # first: an interrupt may come right after the step
            os.replace(staging / name, target / name)
    except BaseException:
        for name in moved:
            with suppress(OSError):
                if os.path.lexists(kept / name):
                    os.replace(kept / name, target / name)
                elif not os.path.lexists(staging / name):
                    os.unlink(target / name)
        raise


def make_folder(path: str | os.PathLike[str]) -> Path:
    """The folder, made if it is not there."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(
            f"{path}: cannot be made a folder ({error.strerror}). Choose another path."
        ) from error
    return folder


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cause(error: OSError) -> str:
    """What the system calls it: pyarrow adds where in the temporary file it was."""
    return os.strerror(error.errno) if error.errno in _NO_ROOM else str(error.strerror or error)


def _reason(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return (
            f"there is no directory '{path.parent}'. Create it first, or choose another path. "
            "Nothing was written."
        )
    if isinstance(error, PermissionError):
        return (
            f"no permission to write in '{path.parent}'. Choose another path, or ask for the "
            "right to write there. Nothing was written."
        )
    return (
        f"cannot be written ({_cause(error)}). Make room or choose another path. "
        "The file is as it was before."
    )
