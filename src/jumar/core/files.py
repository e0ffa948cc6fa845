"""Writing a file so that it is there whole or not at all; and one run at a time in a folder.

The text goes to a temporary file in the same directory, is flushed to the disk, and then takes
the place of the old file in one step (`os.replace`). A reader, a full disk or a power cut in
between finds the old file or the new one, never half of one.

A process that is killed (`kill -9`, a power cut) cannot remove its temporary files. The next run
that writes into the folder does, if nobody can still be writing them: the writer was a process of
this machine, in the same boot and the same container, and is gone. What came from elsewhere is
given a day. Nothing is written for that long.

    .jumar-<where>-<process>-<random>.tmp
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from jumar.core.errors import ParameterError, WriteError
from jumar.core.resources import journal
from jumar.core.text import counted, shown

DAY = 24 * 3600.0
LOCK = ".jumar-lock"
_TEMPORARY = re.compile(r"\.jumar-([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{16}\.tmp")
_cleared: set[Path] = set()  # folders that this process has looked through
_held: set[Path] = set()  # locks of this process: whoever holds a folder may lock it again

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
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a null character, half a character
        raise ParameterError(f"{path!r}: {error}. Choose another path.") from error
    with _naming(path):
        if target.is_dir():
            raise ParameterError(f"{path}: this is a directory. Add the name of a file to it.")
        if target.exists() and not target.is_file():
            raise ParameterError(f"{path}: this is not a regular file. Choose another path.")
        # not tempfile: its files are private (0600), while a new file should obey the umask
        temporary = target.parent / temporary_name()
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    clear_left_behind(target.parent, temporary)
    try:
        with _naming(path):
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
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the system as errors that name the path and the remedy."""
    try:
        yield
    except OSError as error:
        kind = WriteError if error.errno in _NO_ROOM else ParameterError
        raise kind(f"{path}: {_reason(Path(path), error)}") from error


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
            f"{folder}: cannot be made a folder (it is a file). Choose another path."
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
    return [Path(folder, name) for name in contents]


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


def _reason(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"there is no directory '{path.parent}'. Create it first, or choose another path."
    if isinstance(error, PermissionError):
        return (
            f"no permission to write in '{path.parent}'. Choose another path, or ask for the "
            "right to write there."
        )
    # pyarrow adds to a full disk where in the temporary file it was
    full = error.errno in _NO_ROOM
    fact = os.strerror(error.errno or 0) if full else str(error.strerror or error)
    return (
        f"cannot be written ({fact}). Make room or choose another path. "
        "The file is as it was before."
    )


# ---- temporary names ----------------------------------------------------------------------------


def temporary_name() -> str:
    """A name that nobody else uses, and that tells whose it is.

    >>> bool(_TEMPORARY.fullmatch(temporary_name()))
    True
    """
    return f".jumar-{_where()}-{os.getpid()}-{secrets.token_hex(8)}.tmp"


def clear_left_behind(folder: Path, fresh: Path) -> None:
    """Remove from a folder what writers left that are gone; once in a process. `fresh` was made
    there just now: its age is compared, because the clock of a file server may be wrong."""
    if folder in _cleared:
        return
    _cleared.add(folder)
    with suppress(OSError):
        now = fresh.lstat().st_mtime
        for entry in list(os.scandir(folder)):
            found = _TEMPORARY.fullmatch(entry.name)
            if found is None or entry.name == fresh.name:
                continue
            if found[1] == _where() and os.name == "posix":
                left = not _is_running(int(found[2]))
            else:
                left = now - entry.stat(follow_symlinks=False).st_mtime > DAY
            if left and entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif left:
                with suppress(OSError):
                    os.unlink(entry.path)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)  # no signal: only asks
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # there is one, but of another user
    return True


@cache
def _where() -> str:
    """Where the numbers of processes mean the same: this boot of this machine or container."""
    told = [socket.gethostname()]
    for source in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        with suppress(OSError):
            told.append(os.readlink(source) if "/ns/" in source else Path(source).read_text())
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:8]


# ---- one run at a time --------------------------------------------------------------------------


class Busy(Exception):
    """Somebody else works in the folder; the message says who."""


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Nobody else gets this lock while the block runs. Raises Busy if somebody has it.

    The lock is one of the operating system on an open file, so it ends with the process that holds
    it, however that ends. Where the file system knows no locks, the block runs without one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with locked(folder):
    ...         held = os.listdir(folder)
    ...     held, os.listdir(folder)
    (['.jumar-lock'], [])
    """
    path = Path(os.path.realpath(folder), LOCK)
    if path in _held:
        yield
        return
    before = [parent for parent in path.parents if not parent.exists()]
    make_folder(path.parent)
    handle = _take(path)
    _held.add(path)
    try:
        yield
    finally:
        _held.discard(path)
        if handle is not None:
            with suppress(OSError):
                os.unlink(path)  # while it is held: whoever waits for it looks again
            os.close(handle)
        with suppress(OSError):  # a run that failed at once leaves no empty folders
            for parent in before:
                parent.rmdir()


def _take(path: Path) -> int | None:
    """The open and locked file, which says who holds it; None where it cannot be made."""
    for _ in range(100):
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # what cannot be written there will be told when results are written
            return None
        if not _lock(handle):
            os.close(handle)
            raise Busy(_who(path))
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                now = time.strftime("%Y-%m-%d %H:%M")
                who = f"process {os.getpid()} on {socket.gethostname()}, since {now}"
                os.truncate(handle, 0)
                os.write(handle, who.encode())
                return handle
        os.close(handle)  # its last holder removed it just now
    return None


def _lock(handle: int) -> bool:
    """Did we get the lock? Yes, too, where nobody can."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows; a file system without locks
        pass
    return True


def _who(path: Path) -> str:
    with suppress(OSError, ValueError):
        return shown(path.read_text("utf-8"), 200) or "another process"
    return "another process"
