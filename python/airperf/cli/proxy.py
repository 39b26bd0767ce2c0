"""``airperf proxy``: a reverse proxy that admits to a Web server what the path to its users can carry.

Model: docs/models/http.md. Leaves out TLS and more than one server; it is no open proxy: requests go to
UPSTREAM or nowhere.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

import click

from airperf.cli.options import json_flag
from airperf.cli.output import ERR, print_json, say
from airperf.errors import InputError
from airperf.quantities import SECOND_NS, duration_ns
from airperf.testbed import Admission, run_proxy

MOST_PORT = 65_535


def address(text: str, what: str, port: int | None = None) -> tuple[str, bool]:
    """An address as the engine wants it, and whether only this machine can reach it."""
    match = re.fullmatch(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?", text)
    host = (match[1] or match[2]) if match else ""
    digits = (match[3] if match else None) or port
    try:
        parsed = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        parsed = None
    if parsed is None or digits is None:
        raise InputError(f"{what} {text!r}: write ADDRESS:PORT, a numeric address, 127.0.0.1:8080 say")
    if int(digits) > MOST_PORT:
        raise InputError(f"{what} {text!r}: a port is a number from 0 to {MOST_PORT}")
    shown = f"[{parsed}]" if parsed.version == 6 else str(parsed)
    return f"{shown}:{int(digits)}", parsed.is_loopback


@click.command("proxy")
@click.argument("upstream", metavar="UPSTREAM")
@click.option("--listen", default="127.0.0.1:8080", show_default=True, help="ADDRESS:PORT to serve on.")
@click.option(
    "--anyone",
    is_flag=True,
    help="Serve others than this machine: needed with an address that is not a loopback one.",
)
@click.option(
    "--admit",
    type=click.Choice(["none", "concurrent", "adaptive"]),
    default="none",
    show_default=True,
    help="At most --limit transfers at once, or as many as keep nine of ten within --target.",
)
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=8, show_default=True)
@click.option("--target", default="1s", show_default=True)
@click.option("--wait", default="1s", show_default=True, help="Longest wait for admission.")
@click.option(
    "--refuse",
    type=click.Choice(["503", "reset"]),
    default="503",
    show_default=True,
    help="What a refused request gets.",
)
@click.option("--max-connections", type=click.IntRange(1, 100_000), default=1_000, show_default=True)
@click.option("--duration", default=None, help="Stop after this long (default: at Ctrl-C).")
@json_flag
def command(
    upstream: str,
    listen: str,
    anyone: bool,
    admit: str,
    limit: int,
    target: str,
    wait: str,
    refuse: str,
    max_connections: int,
    duration: str | None,
    as_json: bool,
) -> int:
    """Pass requests on to the Web server at UPSTREAM (ADDRESS:PORT), as many at once as is good for it.

    Stops at Ctrl-C or after --duration: nobody new is let in, and replies under way have five seconds to end.
    """
    server, _ = address(upstream, "UPSTREAM", 80)
    own, is_loopback = address(listen, "--listen")
    if not is_loopback and not anyone:
        raise InputError(f"--listen {listen}: others could reach this address; add --anyone if they may")
    if server == own:
        raise InputError(f"UPSTREAM {upstream} is the proxy's own address: it would pass requests to itself")
    admission = None
    if admit != "none":
        admission = Admission(admit, limit, max(1, duration_ns(target)), duration_ns(wait), refuse)
    seconds = None if duration is None else duration_ns(duration) / SECOND_NS
    began = False
    with ERR.status("starting") as status:

        def show(now: Mapping[str, Any]) -> None:
            nonlocal began
            if not began:
                began = True
                say(f"serving on http://{now['listen']}/ for http://{server}/, admission: {admit}")
            status.update(line(now))

        served = run_proxy(own, server, admission, max_connections, seconds, show)
    if as_json:
        print_json({"schema": 1, "upstream": server, "admission": admit, **served})
    say(line(served))
    return 0


def line(now: Mapping[str, Any]) -> str:
    """How it goes, in one line."""
    counts = now["counts"]
    places = f"/{now['places']}" if now["places"] else ""
    return (
        f"{counts['replies']} replies, {counts['refused']} refused, {counts['cut_short']} cut short; now "
        f"{now['active']}{places} at work, {now['waiting']} waiting, {now['open']} connections"
    )
