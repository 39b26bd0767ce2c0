"""Scenarios: found, read and checked before anything starts; the rules are in the crate ``scenario``."""

from airperf.scenario.check import Checked, Overrides, check, expand_sweep, parse_overrides, positions
from airperf.scenario.layers import layer
from airperf.scenario.library import find_scenario, installed
from airperf.scenario.traces import describe_trace, export_trace

__all__ = [
    "Checked",
    "Overrides",
    "check",
    "describe_trace",
    "expand_sweep",
    "export_trace",
    "find_scenario",
    "installed",
    "layer",
    "parse_overrides",
    "positions",
]
