"""A folder of ours and the checksums that its manifest promises.

Model: house rule 11 and fault 7: a file whose SHA-256 differs from the manifest is never used. Leaves out
what is in the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airperf.errors import DamagedRecord
from airperf.files import sha256_file


def verify_file(folder: Path, name: str, promises: Mapping[str, Mapping[str, Any]]) -> Path:
    """The path of file ``name`` in ``folder``, once it is what ``promises`` says; else `DamagedRecord`."""
    if "/" in name or name in {"", ".", ".."}:
        raise DamagedRecord(f"{folder}: the manifest names a file {name!r} outside the run directory")
    path = folder / name
    promised = str(promises[name].get("sha256", ""))
    try:
        found = sha256_file(path)
    except OSError as error:
        raise DamagedRecord(f"{path}: cannot be read: {error.strerror or error}") from None
    if found != promised:
        raise DamagedRecord(
            f"{path}: checksum {found[:12]}… but the manifest says {promised[:12]}…; "
            "the file is damaged or was changed: make it again"
        )
    return path
