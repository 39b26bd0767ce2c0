"""``airperf proxy``: before a Web server, or for a browser behind a slow link.

With UPSTREAM, a reverse proxy that admits to the server what the path to its users can carry; without, a
proxy that makes a slow link feel faster.

Models: docs/models/http.md, docs/models/proxy.md. Leaves out TLS; the reverse proxy is no open one: requests
go to UPSTREAM or nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from airperf.cli import optimise
from airperf.cli.address import address
from airperf.cli.options import json_flag
from airperf.cli.output import ERR, print_json, say
from airperf.errors import InputError
from airperf.quantities import duration_ns
from airperf.testbed import Admission, run_proxy


@click.command("proxy")
@click.argument("upstream", metavar="[UPSTREAM]", required=False)
@click.option("--listen", default=None, help="ADDRESS:PORT (127.0.0.1:8080; without UPSTREAM 3128).")
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
@optimise.switches
@click.pass_context
def command(
    context: click.Context,
    /,
    upstream: str | None,
    listen: str | None,
    anyone: bool,
    admit: str,
    limit: int,
    target: str,
    wait: str,
    refuse: str,
    max_connections: int,
    duration: str | None,
    as_json: bool,
    **switches: Any,
) -> int:
    """Pass requests on to the Web server at UPSTREAM (ADDRESS:PORT), as many at once as is good for it.

    Without UPSTREAM: a proxy for a browser behind a slow link, or with --half one of two around it.

    Stops at Ctrl-C or after --duration: nobody new is let in, and replies under way have five seconds to end.
    """
    listen = listen or ("127.0.0.1:3128" if upstream is None else "127.0.0.1:8080")
    own, is_loopback = address(listen, "--listen")
    if not is_loopback and not anyone:
        raise InputError(f"--listen {listen}: others could reach this address; add --anyone if they may")
    seconds = optimise.seconds(duration)
    if upstream is None:
        if admit != "none":
            raise InputError("--admit is for a Web server: name it as UPSTREAM")
        return optimise.serve(optimise.optimiser(own, max_connections, switches), seconds, as_json)
    if given := optimise.used(context):
        raise InputError(f"{', '.join(given)}: for a proxy without UPSTREAM")
    server, _ = address(upstream, "UPSTREAM", 80)
    if server == own:
        raise InputError(f"UPSTREAM {upstream} is the proxy's own address: it would pass requests to itself")
    admission = None
    if admit != "none":
        admission = Admission(admit, limit, max(1, duration_ns(target)), duration_ns(wait), refuse)
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
