"""Reading what was seen: run directories and the folder of a study."""

from airperf.records.campaign import Campaign, PointEntry, open_campaign
from airperf.records.manifest import Manifest, Station
from airperf.records.run import SCHEMA, Run, open_run

__all__ = ["SCHEMA", "Campaign", "Manifest", "PointEntry", "Run", "Station", "open_campaign", "open_run"]
