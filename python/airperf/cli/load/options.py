"""The options of ``airperf load URL…``.

Leaves out what they mean together (``airperf.cli.load.asking``) and carrying it out.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from airperf.cli.load.asking import Asked, plan, seconds_ns
from airperf.cli.load.perform import WORDS, Wanted, perform
from airperf.cli.options import FilePath, FolderPath, dry_run_flag, json_flag
from airperf.errors import InputError
from airperf.testbed.load import PROCESSES, Plan, Result

_OPTIONS = (
    click.option("--rate", metavar="N/s", help="Connections (or sessions) begun per second by each client."),
    click.option("--duration", metavar="TIME", help="How long connections begin, such as 30s."),
    click.option("--connections", type=click.IntRange(1), help="How many connections each client begins."),
    click.option(
        "--arrivals",
        type=click.Choice(PROCESSES),
        default=None,
        help="How connections become due (default: deterministic).",
    ),
    click.option("--hurst", type=float, help="Hurst exponent of self-similar arrivals, 0.5 to below 1."),
    click.option("--on-time", metavar="TIME", help="Mean time on, of on-off arrivals."),
    click.option("--off-time", metavar="TIME", help="Mean time off, of on-off arrivals."),
    click.option(
        "--concurrency",
        type=click.IntRange(1),
        help="Without --rate: keep so many connections busy (closed loop). With it: never more than that.",
    ),
    click.option("--requests-per-connection", type=click.IntRange(1), default=None, help="Default: 1."),
    click.option(
        "--pipeline",
        type=click.IntRange(1),
        default=None,
        help="Requests sent without waiting for responses (default: 1).",
    ),
    click.option("--path", "paths", multiple=True, help="Instead of the URL's; several are asked in turn."),
    click.option(
        "--paths-from", type=FilePath, help="File of paths, one a line, with a weight after a blank."
    ),
    click.option("--method", default=None, help="GET, HEAD, POST … (default: GET; POST with --body)."),
    click.option("--body", metavar="SIZE", help="Upload so much with every request."),
    click.option("--header", "headers", metavar="'NAME: VALUE'", multiple=True, help="Repeatable."),
    click.option("--http-version", type=click.Choice(["1.0", "1.1"]), default="1.1", show_default=True),
    click.option(
        "--timeout",
        metavar="TIME",
        default=None,
        help="Longest time without progress in each phase, or never (default: 5s).",
    ),
    click.option("--close-with-reset", is_flag=True, help="End connections by RST instead of FIN."),
    click.option("--clients", type=click.IntRange(1, 1000), default=None, help="How many clients, all here."),
    click.option("--source", "sources", metavar="IP", multiple=True, help="A client with this address."),
    click.option("--netns", "namespaces", metavar="NAME", multiple=True, help="A client in this namespace."),
    click.option(
        "--offset",
        metavar="TIME[,TIME…]",
        help="Client i begins i times this later; or the offset of each, with commas.",
    ),
    click.option(
        "--session-file",
        type=FilePath,
        help="Sessions of pages with think times, TOML; --rate is sessions/s.",
    ),
    click.option("--wsesslog", type=FilePath, help="Sessions in httperf's format."),
    click.option(
        "--scenario", help="Take the [[client]] workload of a scenario, the same that sim simulates."
    ),
    click.option("--sweep", metavar="RANGE", help='One run for each rate, such as "10..160 step 10 /s".'),
    click.option("--until-knee", is_flag=True, help="Find the highest rate that the server carries."),
    click.option(
        "--pause", metavar="TIME", default="1s", help="Between the runs of a sweep.", show_default=True
    ),
    click.option("--warmup", metavar="TIME", help="Leave out of every figure what is due earlier."),
    click.option(
        "--drain",
        metavar="TIME",
        help="Wait so long for what is under way at the end (default: the timeout).",
    ),
    click.option(
        "--spin",
        metavar="TIME",
        help="Spin so long before each instant (default: as needed here, at most 0.5ms and half the time).",
    ),
    click.option(
        "--schedule-bound",
        metavar="TIME",
        help="99% of the connections must be opened within this of being due (default: 10ms).",
    ),
    click.option(
        "--start-at", metavar="WHEN", help="+2s, an instant (RFC 3339), or @N ns of CLOCK_MONOTONIC."
    ),
    click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=None, help="Of all random draws."),
    click.option(
        "--allow-target",
        "allowed",
        metavar="HOST",
        multiple=True,
        help="You may load this host, which is neither this machine nor in the lab.",
    ),
    click.option(
        "--out", type=FolderPath, help="Folder for every exchange (Parquet) and the histograms (HDR)."
    ),
    click.option(
        "--format", "form", type=click.Choice(["table", "httperf"]), default="table", show_default=True
    ),
    json_flag,
    dry_run_flag,
)


def _with_options(function: Callable[..., int]) -> Any:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command("load", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@_with_options
def command(urls: tuple[str, ...], **options: Any) -> int:
    """Load the HTTP server at URL... on a schedule that does not wait for it (open loop).

    "airperf load httperf ..." takes httperf's flags instead and prints httperf's report. Response time counts
    from when a request was due, service time from when it was sent. Only loopback and the lab's namespaces
    are loaded, unless --allow-target names the host.

    Exit code 3: the figures are not those of an open loop (generator-limited), or otherwise invalid.
    """
    wanted = Wanted(
        out=options.pop("out"),
        report=_as_httperf if options.pop("form") == "httperf" else None,
        as_json=options.pop("as_json"),
        dry_run=options.pop("dry_run"),
        sweep=options.pop("sweep"),
        until_knee=options.pop("until_knee"),
        pause_ns=seconds_ns(options.pop("pause")),
        title=urls[0],
    )
    if wanted.sweep and options["rate"]:
        raise InputError("--rate and --sweep both say the rate; give one of them")
    if wanted.sweep:
        options["rate"] = wanted.rates[0]
    return perform(plan(Asked(urls=urls, **options)), wanted)


def _as_httperf(plan: Plan, result: Result) -> str:
    text: str = import_module(WORDS).native_text(plan, result)
    return text
