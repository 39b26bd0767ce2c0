"""Files that are either whole or absent, and JSON that is the same bytes for the same content.

Model: temporary name, fsync, rename, fsync of the folder (house rule 11). Leaves out run directories, which
the Rust crate ``record`` writes in the same way.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


def finite(value: Any) -> Any:
    """``value`` with every NaN and infinity replaced by None: JSON has neither."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def canonical_json(value: Any) -> str:
    """Compact JSON with sorted keys: equal content gives equal text, fit for hashing."""
    return json.dumps(
        finite(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def pretty_json(value: Any) -> str:
    """JSON for people, in the order given, ending in a newline."""
    return json.dumps(finite(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def sha256_text(text: str) -> str:
    """SHA-256 of ``text`` in UTF-8, in hexadecimal."""
    import hashlib  # noqa: PLC0415 - loading OpenSSL would take every command some milliseconds

    return hashlib.sha256(text.encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    import hashlib  # noqa: PLC0415 - as above

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    """Makes a rename in ``folder`` survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_volume(folder: Path) -> None:
    """Puts everything that was written to the volume of ``folder`` on the disk (syncfs(2))."""
    import ctypes  # noqa: PLC0415 - as above

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
    finally:
        os.close(descriptor)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that replaces ``path`` at the end, or leaves it as it was when something is raised."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Replaces ``path`` by ``content`` so that a reader sees the old file or the new one, never a part."""
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def printable(text: str) -> str:
    """``text`` without control characters, which could drive a terminal (names come from files of others)."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
