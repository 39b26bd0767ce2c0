"""Telling what a recording is, by its content, and reading it.

Leaves out hosting. The whole file is read at once: recordings are small beside memory, and a cap says so.
"""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import Any

from airperf.errors import InputError
from airperf.sites.folder import read_folder
from airperf.sites.form import Kept, Recording, Site, is_site, open_site, write_site
from airperf.sites.har import read_har
from airperf.sites.page import read_page
from airperf.sites.warc import read_warc

MOST_FILE_BYTES = 2 << 30
GZIP = b"\x1f\x8b"  # RFC 1952 §2.3.1


def site_of(source: Path, folder: Path, kept: Kept | None = None) -> Site:
    """The site at ``source``, or the one in ``folder`` that the recording there is read into."""
    if is_site(source):
        return open_site(source)
    recording, origin = read_recording(source, kept)
    return write_site(recording, folder, origin)


def read_recording(path: Path, kept: Kept | None = None) -> tuple[Recording, dict[str, Any]]:
    """The recording in a HAR or WARC file (gzip or not), a folder or a page file, and where it is from.

    Raises ``InputError`` where nothing can be made of it.
    """
    recording = Recording(title=path.name, kept=kept or Kept())
    if path.is_dir():
        read_folder(path, recording)
        return recording, {"kind": "folder"}
    try:
        if path.stat().st_size > MOST_FILE_BYTES:
            raise InputError(f"{path}: over {MOST_FILE_BYTES} octets; split the recording")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    source: dict[str, Any] = {"sha256": hashlib.sha256(data).hexdigest()}
    if path.suffix == ".toml":
        read_page(data, path.name, recording)
        return recording, {"kind": "page", **source}
    if data.startswith(b"WARC/") or (data.startswith(GZIP) and _begins_with_warc(data)):
        read_warc(data, path.name, recording)
        return recording, {"kind": "warc", **source}
    read_har(_unpacked(data, path.name) if data.startswith(GZIP) else data, path.name, recording)
    return recording, {"kind": "har", **source}


def _begins_with_warc(data: bytes) -> bool:
    try:
        return zlib.decompressobj(wbits=31).decompress(data[: 1 << 16], 16).startswith(b"WARC/")
    except zlib.error:
        return False


def _unpacked(data: bytes, name: str) -> bytes:
    decompressor = zlib.decompressobj(wbits=31)
    try:
        text = decompressor.decompress(data, MOST_FILE_BYTES)
    except zlib.error as error:
        raise InputError(f"{name}: gzip that is damaged ({error})") from None
    if decompressor.unconsumed_tail:
        raise InputError(f"{name}: unpacks to over {MOST_FILE_BYTES} octets")
    if not decompressor.eof:
        raise InputError(f"{name}: gzip that is damaged (it ends too early)")
    return text
