"""Reading a folder of files as a site.

Model: folders named like hosts at the top, as ``wget --span-hosts --recursive`` leaves them, are one host
each; any other folder is one host, ``site.test`` (RFC 6761 §6.2). ``index.html`` also answers for its folder.
Types by name. Symbolic links are not followed. Leaves out recorded headers and times: there are none.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from airperf.errors import InputError
from airperf.sites.form import MOST_BODY_BYTES, Recording

HOST = "site.test"
_HOST_FOLDER = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?")


def read_folder(folder: Path, recording: Recording) -> None:
    """Adds every file below a folder."""
    try:
        top = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from None
    hosts = [
        path for path in top if path.is_dir() and not path.is_symlink() and _HOST_FOLDER.fullmatch(path.name)
    ]
    roots = [(path, path.name) for path in hosts] if hosts and len(hosts) == len(top) else [(folder, HOST)]
    for root, host in roots:
        for path in _files(root, recording):
            inner = path.relative_to(root).as_posix()
            # wget writes a query into the name, after a question mark.
            place, _, query = inner.partition("?")
            target = "/" + quote(unquote(place), safe="/") + (f"?{query}" if query else "")
            _add(recording, f"http://{host}{target}", path)
            if place.rpartition("/")[2] == "index.html" and not query:
                _add(recording, f"http://{host}{target.removesuffix('index.html')}", path)


def _files(root: Path, recording: Recording) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            recording.notes["symbolic links"] += 1
        elif path.is_file() and not any(
            part.is_symlink() for part in path.parents if part.is_relative_to(root)
        ):
            yield path


def _add(recording: Recording, url: str, path: Path) -> None:
    if path.stat().st_size > MOST_BODY_BYTES:
        recording.notes[f"files over {MOST_BODY_BYTES} octets"] += 1
        return
    kind, coding = mimetypes.guess_type(path.name.partition("?")[0])
    plain = kind if kind and not coding else "application/octet-stream"
    shown = f"{plain}; charset=utf-8" if plain.startswith("text/") else plain
    recording.add("GET", url, 200, [("content-type", shown)], path.read_bytes())
