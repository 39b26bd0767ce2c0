"""The manifest of a run: what was run, by what, and what must be in the folder.

Model: schema version 1, written by the crate ``record``. Leaves out the tables themselves (``run.py``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airperf.errors import RecordError, VersionMismatch

SCHEMA = 1
"""Version of the tables that this airperf reads and writes."""

MANIFEST_LIMIT_BYTES = 64 << 20
"""A manifest larger than this is refused unread."""


@dataclass(frozen=True, slots=True)
class Station:
    """One station of the link: its id in the tables, its name, and ``client`` or ``server``."""

    id: int
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parts of ``manifest.json`` that analysis uses; ``raw`` has all of it."""

    testbed: str
    name: str
    scenario_sha256: str
    scenario: Mapping[str, Any]
    seed: int
    point: int
    repetition: int
    duration_s: float
    elapsed_s: float
    level: str
    stations: tuple[Station, ...]
    totals: Mapping[str, Any]
    lag: Mapping[str, Any] | None
    valid: bool
    why_invalid: tuple[str, ...]
    version: str
    tables: Mapping[str, Mapping[str, Any]]
    files: Mapping[str, Mapping[str, Any]]
    raw: Mapping[str, Any]

    def station(self, name_or_role: str) -> Station:
        """The station of that name, or else the first with that role."""
        for station in self.stations:
            if station.name == name_or_role:
                return station
        for station in self.stations:
            if station.role == name_or_role:
                return station
        known = ", ".join(station.name for station in self.stations)
        raise RecordError(f"no station {name_or_role!r} in this run; it has {known}")


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest of a run; clear errors for no run, an unreadable one and another version."""
    raw = read_raw(folder, "run")
    try:
        return _from_raw(raw)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(
            f"{folder / 'manifest.json'}: not a complete manifest ({type(error).__name__}: {error})"
        ) from None


def read_raw(folder: Path, kind: str) -> dict[str, Any]:
    """``folder/manifest.json`` as it is, of a directory of that kind: ``run`` or ``capture``."""
    path = folder / "manifest.json"
    try:
        if path.stat().st_size > MANIFEST_LIMIT_BYTES:
            raise RecordError(f"{path}: larger than {MANIFEST_LIMIT_BYTES >> 20} MiB, so not a manifest")
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(f"{folder}: no manifest.json, so not a {kind} directory") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise RecordError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(raw, dict):
        raise RecordError(f"{path}: holds {type(raw).__name__}, not an object")
    schema = raw.get("schema")
    if schema != SCHEMA:
        raise VersionMismatch(
            f"{path}: schema version {schema!r}, this airperf reads {SCHEMA}; "
            f"make the {kind} directory again, or use the airperf that wrote it"
        )
    if raw.get("kind", "run") != kind:
        raise RecordError(f"{path}: kind {raw.get('kind')!r}, not a {kind}")
    return raw


def _from_raw(raw: dict[str, Any]) -> Manifest:
    scenario = raw["scenario"]
    resolved: Mapping[str, Any] = scenario["resolved"]
    return Manifest(
        testbed=str(raw["testbed"]),
        name=str(scenario["name"]),
        scenario_sha256=str(scenario["sha256"]),
        scenario=resolved,
        seed=int(raw["seed"]),
        point=int(raw["point"]),
        repetition=int(raw["repetition"]),
        duration_s=float(raw["duration_s"]),
        elapsed_s=float(raw["elapsed_s"]),
        level=str(raw["level"]),
        stations=tuple(Station(int(s["id"]), str(s["name"]), str(s["role"])) for s in raw["stations"]),
        totals=dict(raw["totals"]),
        lag=dict(raw["lag"]) if raw.get("lag") else None,
        valid=bool(raw["valid"]),
        why_invalid=tuple(str(reason) for reason in raw["why_invalid"]),
        version=str(raw["airperf"]),
        tables={str(name): dict(entry) for name, entry in raw["tables"].items()},
        files={str(name): dict(entry) for name, entry in raw["files"].items()},
        raw=raw,
    )
