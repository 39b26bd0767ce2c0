"""The form of a recorded site: ``site.json``, and bodies in files named after their SHA-256.

Model: docs/reference/site.md; the Rust crate ``host`` serves it and checks it again. What comes from outside
is capped and cleaned here, and everything left out is counted in ``notes``: nothing is lost silently. Leaves
out reading HAR and WARC files (``har``, ``warc``, ``folder``).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from airperf.errors import InputError
from airperf.files import pretty_json, write_atomic

SCHEMA = 1
MOST_BODY_BYTES = 64 << 20
"""One body; a longer one is cut out and counted."""
MOST_SITE_BYTES = 1 << 30
"""All bodies: the host keeps them in memory."""
MOST_ENTRIES = 1_000_000
MOST_ORIGINS = 4_096
MOST_FIELDS = 200
MOST_FIELD_BYTES = 16 << 10
MOST_TARGET_BYTES = 64 << 10
DEFAULT_PORTS = {"http": 80, "https": 443}
ONE_HOP = frozenset(
    "connection keep-alive proxy-connection transfer-encoding te trailer upgrade content-length "
    "proxy-authenticate alt-svc".split()
)
"""Fields of one hop (RFC 9110 §7.6.1), the length, which the host counts anew, and the offer of QUIC."""
SECRET = frozenset({"set-cookie", "set-cookie2", "authorization", "www-authenticate", "proxy-authorization"})
CODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd", "compress"})
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?|\[[0-9a-f:.]+\]")


@dataclass(frozen=True, slots=True)
class Kept:
    """What an import keeps that it would leave out."""

    cookies: bool = False
    """Fields that hold sessions and passwords: whoever has the site could use them."""


@dataclass(slots=True)
class Recording:
    """A site being read: exchanges in the order of their recording, and what was left out."""

    title: str
    kept: Kept = field(default_factory=Kept)
    origins: dict[tuple[str, str, int], int] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    bodies: dict[str, bytes] = field(default_factory=dict)
    ttls: dict[str, int] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    body_bytes: int = 0
    filled_bytes: int = 0

    def fill(self, size: int, why: str) -> bytes:
        """Zeros in place of a body that is not there, as far as a site has room; noted."""
        self.notes[why] += 1
        if size > MOST_BODY_BYTES or self.filled_bytes + size > MOST_SITE_BYTES:
            self.notes["of these too long to fill, left empty"] += 1
            return b""
        self.filled_bytes += size
        return bytes(size)

    def add(
        self,
        method: str,
        url: str,
        status: int,
        fields: list[tuple[str, str]],
        body: bytes,
        think_ns: int = 0,
    ) -> bool:
        """One exchange with its body as a user saw it, not compressed; whether it was taken."""
        if (place := self._origin(url)) is None:
            return False
        origin, target = place
        if not _NAME.fullmatch(method) or not 200 <= status <= 599:
            return self._leave("exchanges without a whole response")
        if len(self.entries) >= MOST_ENTRIES:
            return self._leave(f"exchanges beyond {MOST_ENTRIES}")
        if len(body) > MOST_BODY_BYTES:
            self._leave(f"bodies over {MOST_BODY_BYTES} octets")
            body = b""
        headers, coded = self._fields(fields)
        if coded and body:
            body = gzip.compress(body, 6, mtime=0)
            headers.append(("content-encoding", "gzip"))
        digest = hashlib.sha256(body).hexdigest() if body else None
        if digest is not None and digest not in self.bodies:
            if self.body_bytes + len(body) > MOST_SITE_BYTES:
                self._leave(f"bodies beyond {MOST_SITE_BYTES} octets in all")
                body, digest = b"", None
            else:
                self.bodies[digest] = body
                self.body_bytes += len(body)
        self.entries.append(
            {
                "origin": origin,
                "method": method,
                "target": target,
                "status": status,
                "headers": headers,
                "body": digest,
                "body_bytes": len(body),
                "think_ns": min(max(0, think_ns), 60_000_000_000),
            }
        )
        return True

    def _leave(self, what: str) -> bool:
        self.notes[what] += 1
        return False

    def _origin(self, url: str) -> tuple[int, str] | None:
        try:
            parts = urlsplit(url)
            port = parts.port
            host = (parts.hostname or "").encode("idna").decode() if "%" not in (parts.hostname or "") else ""
        except (ValueError, UnicodeError):
            self._leave("URLs that are none")
            return None
        host = f"[{host}]" if ":" in host else host
        if parts.scheme not in DEFAULT_PORTS:
            self._leave("exchanges that are not HTTP (data:, blob:, WebSocket)")
            return None
        if not _HOST.fullmatch(host) or port == 0:
            self._leave("URLs that are none")
            return None
        path = quote(parts.path or "/", safe="/%!$&'()*+,;=:@~-._")
        target = path + (
            "?" + quote(parts.query, safe="%!$&'()*+,;=:@/?~-._[]{}|^`\\\"<>") if parts.query else ""
        )
        if len(target) > MOST_TARGET_BYTES:
            self._leave(f"URLs over {MOST_TARGET_BYTES} octets")
            return None
        key = (parts.scheme, host, port or DEFAULT_PORTS[parts.scheme])
        if key not in self.origins and len(self.origins) >= MOST_ORIGINS:
            self._leave(f"origins beyond {MOST_ORIGINS}")
            return None
        return self.origins.setdefault(key, len(self.origins)), target

    def _fields(self, fields: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], bool]:
        """What is served of a response's fields, and whether the response was compressed."""
        kept: list[tuple[str, str]] = []
        coded = False
        for name, value in fields:
            low = name.lower()
            if low == "content-encoding":
                coded = bool({item.strip().lower() for item in value.split(",")} & CODINGS)
            elif low in ONE_HOP or low.startswith(":"):
                continue
            elif low in SECRET and not self.kept.cookies:
                self._leave("fields with cookies and passwords")
            elif (
                not _NAME.fullmatch(name)
                or not _VALUE.fullmatch(value)
                or len(value) > MOST_FIELD_BYTES
                or len(kept) >= MOST_FIELDS
            ):
                self._leave("header fields that are too many, too long or malformed")
            else:
                kept.append((low, value))
        return kept, coded


@dataclass(frozen=True, slots=True)
class Site:
    """A site on disk, as far as people ask about it; the host reads the rest."""

    folder: Path
    title: str
    origins: tuple[str, ...]
    exchanges: int
    body_bytes: int
    notes: dict[str, int]


def write_site(recording: Recording, folder: Path, source: dict[str, Any]) -> Site:
    """Writes a recording as a site into a new folder; ``site.json`` comes last: half a site is none."""
    if not recording.entries:
        seen = "; ".join(f"{count} {what}" for what, count in recording.notes.items())
        raise InputError(f"{recording.title}: no exchange that could be hosted{f' ({seen})' if seen else ''}")
    if (folder / "site.json").exists():
        raise InputError(f"{folder}: there is a site already; name another folder")
    (folder / "bodies").mkdir(parents=True, exist_ok=True)
    for digest, body in recording.bodies.items():
        (folder / "bodies" / digest).write_bytes(body)
    form = {
        "schema": SCHEMA,
        "title": recording.title,
        "source": source,
        "names": {host: {"ttl_s": ttl} for host, ttl in sorted(recording.ttls.items())},
        "origins": [
            {"scheme": scheme, "host": host, "port": port} for scheme, host, port in recording.origins
        ],
        "entries": recording.entries,
        "notes": dict(sorted(recording.notes.items())),
    }
    write_atomic(folder / "site.json", pretty_json(form))
    return open_site(folder)


def is_site(path: Path) -> bool:
    """Whether a path is the folder of a site that was written before."""
    return (path / "site.json").is_file()


def open_site(folder: Path) -> Site:
    """What a site's folder holds; ``InputError`` says what is wrong with it."""
    path = folder / "site.json"
    try:
        form = json.loads(path.read_text(encoding="utf-8"))
        if form["schema"] != SCHEMA:
            raise InputError(f"{path}: schema version {form['schema']!r}, this airperf reads {SCHEMA}")
        sizes = {entry["body"]: int(entry["body_bytes"]) for entry in form["entries"] if entry["body"]}
        return Site(
            folder=folder,
            title=str(form["title"]),
            origins=tuple(_shown(origin) for origin in form["origins"]),
            exchanges=len(form["entries"]),
            body_bytes=sum(sizes.values()),
            notes={str(what): int(count) for what, count in form["notes"].items()},
        )
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; a site is made by airperf host --keep") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not the form of a site ({type(error).__name__}: {error})") from None


def _shown(origin: dict[str, Any]) -> str:
    port = "" if DEFAULT_PORTS.get(origin["scheme"]) == origin["port"] else f":{origin['port']}"
    return f"{origin['scheme']}://{origin['host']}{port}"
