"""Which packets of which files to look at, and how: what every look at a capture has in common.

Reference: docs/reference/cli.md, options of ``airperf trace``. Leaves out the looking, which Rust does.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from airperf.errors import InputError
from airperf.quantities import DURATION, SECOND_NS, duration_ns

SORT_WINDOW_NS = SECOND_NS
"""How far a packet may be out of place for ``--sort`` to put it back."""

_INSTANT = r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|z|[+-]\d\d:\d\d)"
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a capture, in nanoseconds: since 1970, or since its first packet."""

    ns: int
    absolute: bool

    @classmethod
    def parse(cls, text: str) -> Moment:
        """Reads an offset such as ``10s`` or an instant such as ``2026-11-21T10:00:00Z`` (RFC 3339)."""
        if DURATION.fullmatch(text.strip()):
            return cls(duration_ns(text), absolute=False)
        if found := re.fullmatch(_INSTANT, text.strip()):
            day, time, fraction, zone = found.groups()
            try:
                instant = datetime.fromisoformat(f"{day}T{time}{zone.upper()}")
            except ValueError as error:
                raise InputError(f"{text!r}: {error}") from None
            seconds = (instant - _EPOCH) // timedelta(seconds=1)
            return cls(seconds * SECOND_NS + int((fraction or "0").ljust(9, "0")), absolute=True)
        raise InputError(
            f"{text!r}: neither an offset from the first packet, such as 10s or 1.5min, "
            "nor an instant with its time zone, such as 2026-11-21T10:00:00Z"
        )

    def core(self) -> dict[str, int]:
        """The moment as the engine reads it."""
        return {"time_ns" if self.absolute else "offset_ns": self.ns}


@dataclass(frozen=True, slots=True)
class Selection:
    """Options of an analysis; the defaults look at everything."""

    clients: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    begin: Moment | None = None
    end: Moment | None = None
    strict_checksum: bool = False
    sort_window_ns: int | None = None
    threads: int | None = None
    interval_ns: int = SECOND_NS

    def core(self) -> dict[str, Any]:
        """The options as the engine reads them (JSON of ``_core.analyze_capture``)."""
        options: dict[str, Any] = {
            "strict_checksum": self.strict_checksum,
            "sort_window_ns": self.sort_window_ns,
            "series_interval_ns": self.interval_ns,
            "filter": {
                "clients": list(self.clients),
                "servers": list(self.servers),
                "ports": list(self.ports),
                "from": self.begin.core() if self.begin else None,
                "to": self.end.core() if self.end else None,
            },
        }
        if self.threads is not None:
            options["threads"] = self.threads
        return options


def address(text: str) -> str:
    """An IP address in its usual spelling."""
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        raise InputError(f"{text!r}: not an IP address, such as 192.0.2.1 or 2001:db8::1") from None


def capture_files(paths: Iterable[str | Path]) -> list[str]:
    """The capture files meant: patterns expanded, run directories replaced by their capture."""
    files: list[str] = []
    for path in map(str, paths):
        if path == "-":
            files.append(path)
        elif Path(path).is_dir():
            files.append(_capture_of(Path(path)))
        elif has_magic(path) and not Path(path).exists():
            found = sorted(name for name in glob(path, recursive=True) if Path(name).is_file())  # noqa: PTH207 - may be absolute
            if not found:
                raise InputError(f"{path}: no file matches")
            files.extend(found)
        elif Path(path).exists():
            files.append(path)
        else:
            raise InputError(f"{path}: no such file")
    if files.count("-") > 1:
        raise InputError("-: standard input can be read once only")
    return files


def _capture_of(folder: Path) -> str:
    capture = folder / "air.pcapng"
    if not capture.is_file():
        hint = " (runs at level analysis have none)" if (folder / "manifest.json").is_file() else ""
        raise InputError(f"{folder}: a directory without air.pcapng{hint}; give capture files")
    return str(capture)
