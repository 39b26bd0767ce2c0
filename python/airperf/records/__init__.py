"""Reading what was seen: run directories and the folder of a study."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airperf.records.campaign import Campaign, PointEntry, open_campaign
    from airperf.records.manifest import Manifest, Station
    from airperf.records.run import SCHEMA, Run, open_run

__all__ = ["SCHEMA", "Campaign", "Manifest", "PointEntry", "Run", "Station", "open_campaign", "open_run"]

_PLACES = {
    "campaign": ("Campaign", "PointEntry", "open_campaign"),
    "manifest": ("Manifest", "Station"),
    "run": ("SCHEMA", "Run", "open_run"),
}


def __getattr__(name: str) -> Any:
    """Loads what needs the table library only when it is used: captures are told of without."""
    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
