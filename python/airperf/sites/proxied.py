"""Reading what the proxy of ``airperf record`` wrote: ``exchanges.jsonl``, and bodies in files beside it.

Model: the crate ``host``, module ``record``. A server's think time is the wait for its response less the
round trip, which is the handshake of TCP just before. Leaves out the proxy.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from airperf.sites.form import MOST_BODY_BYTES, Recording

GZIP = 31
"""Window bits of zlib for a body in gzip (RFC 1952)."""


def read_proxied(folder: Path, recording: Recording) -> None:
    """Adds the exchanges in the order in which they ended; a last line that is not whole is left out."""
    text = (folder / "exchanges.jsonl").read_text(encoding="utf-8")
    for line in text.splitlines():
        try:
            told = json.loads(line)
        except json.JSONDecodeError:
            recording.notes["exchanges without a whole response"] += 1
            continue
        fields = [(str(name), str(value)) for name, value in told["headers"]]
        body = b"" if told["body"] is None else (folder / str(told["body"])).read_bytes()
        codings = {value.strip().lower() for name, value in fields if name.lower() == "content-encoding"}
        think = max(0, int(told["wait_ns"]) - int(told["connect_ns"]))
        body = _plain(body, codings, recording)
        recording.add(str(told["method"]), str(told["url"]), int(told["status"]), fields, body, think)


def _plain(body: bytes, codings: set[str], recording: Recording) -> bytes:
    """A body as a user saw it."""
    if not body or not codings - {"identity"}:
        return body
    if codings <= {"gzip", "x-gzip"}:
        unpacking = zlib.decompressobj(wbits=GZIP)
        try:
            plain = unpacking.decompress(body, MOST_BODY_BYTES + 1)
        except zlib.error:
            plain = None
        if plain is not None and unpacking.eof:
            return plain
        if plain is not None and len(plain) > MOST_BODY_BYTES:
            recording.notes[f"bodies over {MOST_BODY_BYTES} octets"] += 1
            return b""
    recording.notes["bodies whose coding could not be undone"] += 1
    return b""
