"""Loading a live server: the plan, whom it may be aimed at, and carrying it out.

Model: nothing of Python is on the timed path; the engine is the crate ``airperf-load``, which gets a plan as
JSON and answers with a result. Leaves out options and tables, which are the command line's.
"""

from airperf.testbed.load.engine import CARRIED, Listener, Result, run_load
from airperf.testbed.load.instant import monotonic_instant
from airperf.testbed.load.plan import (
    ONCE,
    PROCESSES,
    SCHEDULE_BOUND_NS,
    Arrivals,
    Burst,
    Client,
    Plan,
    Request,
    Session,
)
from airperf.testbed.load.scenario import SIZE, Workload, from_scenario
from airperf.testbed.load.sessions import parse_sessions
from airperf.testbed.load.target import Target, Url, address, checked_path, namespace_path, parse_url, resolve
from airperf.testbed.load.wsesslog import parse_wsesslog

__all__ = [
    "CARRIED",
    "ONCE",
    "PROCESSES",
    "SCHEDULE_BOUND_NS",
    "SIZE",
    "Arrivals",
    "Burst",
    "Client",
    "Listener",
    "Plan",
    "Request",
    "Result",
    "Session",
    "Target",
    "Url",
    "Workload",
    "address",
    "checked_path",
    "from_scenario",
    "monotonic_instant",
    "namespace_path",
    "parse_sessions",
    "parse_url",
    "parse_wsesslog",
    "resolve",
    "run_load",
]
