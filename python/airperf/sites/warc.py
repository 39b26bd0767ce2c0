"""Reading WARC files, the Web archives' recordings.

Model: ISO 28500:2017, through warcio. Responses with the methods of their requests; revisits of what the same
file holds; names with their times to live from ``dns:`` records, as Heritrix writes them. Leaves out
WARC's other records, and think times, which it does not have.
"""

from __future__ import annotations

import io
import zlib
from typing import Any

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from airperf.errors import InputError
from airperf.sites.form import MOST_BODY_BYTES, Recording

DAMAGED = "places where the file is damaged; what follows is left out"
DNS_FIELDS = 5
"""Name, time to live, class, type, address (RFC 4027)."""


def read_warc(data: bytes, name: str, recording: Recording) -> None:
    """Adds the exchanges of a WARC file, compressed or not; what follows damage is left out and noted."""
    pending: dict[str, tuple[str, int, list[tuple[str, str]], bytes]] = {}
    methods: dict[str, str] = {}
    bodies: dict[str, bytes] = {}
    try:
        for record in ArchiveIterator(io.BytesIO(data)):
            _take(record, recording, pending, methods, bodies)
        if not _whole(data):
            recording.notes[DAMAGED] += 1
    except (ArchiveLoadFailed, EOFError, OSError, ValueError, UnicodeError, zlib.error) as error:
        if not pending:
            raise InputError(f"{name}: no WARC file ({str(error).strip() or type(error).__name__})") from None
        recording.notes[DAMAGED] += 1
    for identity, (url, status, fields, body) in pending.items():
        recording.add(methods.get(identity, "GET"), url, status, fields, body)


def _whole(data: bytes) -> bool:
    """Whether the file ends where a record does: the library takes a file that is cut for one that ends."""
    if not data.startswith(b"\x1f\x8b"):
        return data.endswith(b"\r\n\r\n")
    view, at = memoryview(data), 0
    while at < len(data):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            piece = view[at : at + (1 << 16)]
            if not piece:
                return False
            member.decompress(piece)
            at += len(piece)
        at -= len(member.unused_data)
    return True


def _take(
    record: Any,
    recording: Recording,
    pending: dict[str, tuple[str, int, list[tuple[str, str]], bytes]],
    methods: dict[str, str],
    bodies: dict[str, bytes],
) -> None:
    field = record.rec_headers.get_header
    url, kind = str(field("WARC-Target-URI") or "").strip("<>"), record.rec_type
    if kind in {"response", "resource"} and url.startswith("dns:"):
        _names(record.content_stream().read(1 << 16), recording)
    elif kind == "request" and record.http_headers is not None:
        # The request line comes apart at the first blank: the protocol of a request is its method.
        methods[str(field("WARC-Concurrent-To"))] = str(record.http_headers.protocol).upper()
    elif kind in {"response", "revisit"} and record.http_headers is not None:
        status = str(record.http_headers.get_statuscode())
        fields = [(str(n), str(v)) for n, v in record.http_headers.headers]
        if kind == "revisit":
            body = bodies.get(str(field("WARC-Payload-Digest")), b"")
            if not body:
                recording.notes["revisits of what the file does not hold"] += 1
        else:
            body = record.content_stream().read(MOST_BODY_BYTES + 1)
            bodies.setdefault(str(field("WARC-Payload-Digest")), body)
        identity = str(field("WARC-Record-ID"))
        pending[identity] = (url, int(status) if status.isdigit() else 0, fields, body)


def _names(text: bytes, recording: Recording) -> None:
    for line in text.decode("ascii", "replace").splitlines():
        parts = line.split()
        if len(parts) == DNS_FIELDS and parts[1].isdigit() and parts[3].upper() == "A":
            recording.ttls[parts[0].rstrip(".").lower()] = min(int(parts[1]), 604_800)
