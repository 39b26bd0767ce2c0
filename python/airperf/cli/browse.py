"""``airperf browse``: load a page with a real browser, cold, several times; times, waterfall, HAR.

Model: docs/guide/browse-a-page.md; the network is that of ``airperf host`` and ``airperf shell``. Leaves out
comparing pages.
"""

from __future__ import annotations

import ipaddress
import os
import shlex
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from rich.table import Table

from airperf import __version__
from airperf.analysis import browsing
from airperf.analysis.intervals import Interval
from airperf.cli.address import address
from airperf.cli.options import FolderPath, json_flag, seed_option
from airperf.cli.output import ERR, add_row, number, print_json, say, show
from airperf.cli.shell import check_layers, described
from airperf.errors import InputError
from airperf.files import pretty_json, write_atomic
from airperf.report.browse import browse_report, median
from airperf.scenario import parse_overrides
from airperf.sites import site_of
from airperf.testbed import Browsed, Hosting, Over, Told, Wanted, browse, browser_version

PARTLY = 3
PAUSE_S = 3.0
"""Longer than GPRS keeps a block flow, and than the last packets of a connection are on their way."""
LINKS = ipaddress.ip_network("100.64.0.0/10")
"""Addresses of the ends of links."""


@click.command("browse")
@click.argument("url")
@click.option(
    "--site", type=click.Path(exists=True, path_type=Path), help="Load it beside this recorded site."
)
@click.option("-n", "--repetitions", type=click.IntRange(1, 1_000), default=5, show_default=True)
@click.option(
    "--out", type=FolderPath, default=None, help="Folder for HARs, pictures, tables and the report."
)
@click.option("--filmstrip", is_flag=True, help="Take pictures while the page comes.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(1, 3_600), default=120.0, show_default=True)
@click.option("--strict", is_flag=True, help="Of the site: answer recorded URLs alone.")
@click.option("--no-think", is_flag=True, help="Of the site: answer at once.")
@click.option("--http1", is_flag=True, help="Of the site: offer no HTTP/2.")
@click.option(
    "--no-sandbox", is_flag=True, help="Run Chromium without its sandbox, as root must; it is reported."
)
@click.option("--allow-target", is_flag=True, help="You may load this page, which is not in the lab.")
@click.option(
    "--net", "nets", multiple=True, metavar="LAYER", help="A link in between, as airperf shell has them."
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a key of the link.")
@seed_option
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(0, 3_600),
    default=0.0,
    help="Loads begin at multiples of so many seconds of the link's time: of a trace, its length.",
)
@click.option(
    "--pause",
    "pause_s",
    type=click.FloatRange(0, 3_600),
    default=None,
    help="Seconds between two loads (default: 3 with --net, else none).",
)
@click.option("--proxy", default=None, metavar="ADDRESS:PORT", help="Ask a proxy for everything.")
@json_flag
def command(
    url: str,
    site: Path | None,
    repetitions: int,
    out: Path | None,
    filmstrip: bool,
    timeout_s: float,
    strict: bool,
    no_think: bool,
    http1: bool,
    no_sandbox: bool,
    allow_target: bool,
    nets: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int | None,
    every_s: float,
    pause_s: float | None,
    proxy: str | None,
    as_json: bool,
) -> int:
    """Load URL with Chromium in a fresh profile each time, and say how long it takes.

    With --site the page comes from a recorded site (see airperf host) in a network namespace without a way
    out. Otherwise URL must be on this machine, or inside airperf host, unless --allow-target. With --net
    there are emulated links between the browser and the servers (see airperf shell).
    """
    if proxy is not None and (site is not None or nets):
        raise InputError(
            "--proxy is in the network that is here: without --site and --net, inside airperf host or shell"
        )
    _may_load(url, hosted=site is not None, allowed=allow_target, over=bool(nets))
    over = Over(nets, parse_overrides(settings), seed)
    links = check_layers(nets, over.overrides)
    sandbox = not no_sandbox
    if sandbox and os.geteuid() == 0:
        raise InputError("as root Chromium needs --no-sandbox; better run this as yourself")
    pause = pause_s if pause_s is not None else PAUSE_S if nets else 0.0
    via = "" if proxy is None else address(proxy, "--proxy")[0]
    wanted = Wanted(
        url, repetitions, timeout_s, filmstrip, sandbox, proxy=via, every_s=every_s, pause_s=pause
    )
    hosting = Hosting(strict, not no_think, not http1)
    version = browser_version()
    with tempfile.TemporaryDirectory(prefix="airperf-site-") as name, ERR.status("loading") as status:
        folder = None if site is None else site_of(site, Path(name) / "site").folder
        found, told = browse(
            wanted, folder, hosting, over, lambda count: status.update(f"{count} of {repetitions} loads done")
        )
    pages = [browsing.page(one.events, one.timing, complete=one.complete) for one in found]
    sums = browsing.loads(pages)
    notes = _notes(told, sandbox=sandbox) + _failed(pages)
    if not every_s and any(one.resolved["link"]["kind"] == "trace" for one in links):
        notes.append(
            "The link follows a trace, and each load met another part of it; --every has them alike."
        )
    layers = told.link["layers"] if told.link else []
    if not as_json:
        _print(url, sums)
        for line in (line for one in layers for line in described(one)):
            say(line)
    for note in notes:
        say(f"note: {note}")
    summary = _summary(url, pages, sums) | {"link": told.link}
    if out is not None:
        about = {
            "airperf": __version__,
            "browser": version,
            "site": site.name if site else "",
            "notes": notes,
            "links": [described(one) for one in layers],
        }
        _write(out, url, found, pages, sums, about, summary)
        say(f"report: {out / 'report.html'}")
    if as_json:
        print_json(summary | {"site": told.site and told.site["counts"], "notes": notes})
    return PARTLY if sums.incomplete or (told.link and told.link["why_invalid"]) else 0


def _may_load(url: str, *, hosted: bool, allowed: bool, over: bool) -> None:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise InputError(f"{url!r} is no URL") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise InputError(f"{url!r}: write http://… or https://…")
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
        here = address.is_loopback or (over and address in LINKS)
    except ValueError:
        address, here = None, False
    if over and address is not None and address.is_loopback:
        raise InputError(
            f"{host} over a link is the browser's own side; write the address that airperf shell gives as "
            "AIRPERF_OUTSIDE, or host the page with --site"
        )
    if not (hosted or allowed or here or "AIRPERF_CA" in os.environ):
        raise InputError(
            f"{host} is outside the lab: load it from a recording with --site, or, if you may, --allow-target"
        )


def _notes(told: Told, *, sandbox: bool) -> list[str]:
    notes = [] if sandbox else ["Chromium ran without its sandbox (--no-sandbox)."]
    # Names that were looked up in vain are left to --json: most of them are the browser's own.
    missed = [miss for miss in (told.site or {"misses": []})["misses"] if not miss.startswith("DNS ")]
    if missed:
        notes.append(f"Asked for and not recorded: {', '.join(missed[:5])}{' …' if len(missed) > 5 else ''}.")
    return notes + [f"Not valid: {why}." for why in (told.link or {"why_invalid": []})["why_invalid"]]


def _failed(pages: list[browsing.Page]) -> list[str]:
    """A note on requests that came to nothing, if any did."""
    errors = Counter(error for page in pages for error in page.requests["error"].drop_nulls().to_list())
    said = ", ".join(f"{error} ({count})" for error, count in sorted(errors.items()))
    share = f"{sum(page.failed > 0 for page in pages)} of {len(pages)} loads"
    return [f"Requests failed in {share}, which look shorter than they are: {said}."] if said else []


def _print(url: str, sums: browsing.Loads) -> None:
    table = Table("", "mean", "95% interval", "n", box=None, title=url, title_justify="left")
    rows: list[tuple[str, Interval]] = [
        ("page load time (ms)", sums.load_ms),
        ("parsed (ms)", sums.dom_ms),
        ("first paint with content (ms)", sums.paint_ms),
        ("requests", sums.requests),
        ("received (KiB)", sums.kib),
    ]
    for what, value in rows:
        between = "—" if value.low is None else f"{number(value.low)} … {number(value.high)}"
        add_row(table, what, number(value.mean), between, str(value.n))
    show(table)
    if sums.variation is not None:
        say(f"coefficient of variation of the load time: {sums.variation:.1%}")


def _summary(url: str, pages: list[browsing.Page], sums: browsing.Loads) -> dict[str, Any]:
    def shown(value: Interval) -> dict[str, Any]:
        return {"mean": value.mean, "low": value.low, "high": value.high, "n": value.n}

    names = ("load_ms", "dom_ms", "paint_ms", "requests", "kib")
    return {
        "schema": 1,
        "url": url,
        "loads": [
            {
                "load_ms": p.load_ms,
                "dom_ms": p.dom_ms,
                "paint_ms": p.paint_ms,
                "bytes": p.bytes,
                "failed": p.failed,
            }
            for p in pages
        ],
        **{name: shown(getattr(sums, name)) for name in names},
        "variation": sums.variation,
        "incomplete": sums.incomplete,
    }


def _write(
    out: Path,
    url: str,
    found: list[Browsed],
    pages: list[browsing.Page],
    sums: browsing.Loads,
    about: dict[str, Any],
    summary: dict[str, Any],
) -> None:
    for place, (one, page) in enumerate(zip(found, pages, strict=True), 1):
        write_atomic(out / f"load-{place}.har", pretty_json(browsing.har(page, __version__)))
        write_atomic(out / f"load-{place}.png", one.screenshot)
        for at, picture in one.frames:
            after_ms = max(0, round((at - page.began) * 1e3))
            write_atomic(out / f"load-{place}-{after_ms:06d}ms.jpg", picture)
    page = median(pages)
    drawn = found[next(place for place, one in enumerate(pages) if one is page)]
    frames = [(max(0.0, (at - page.began) * 1e3), picture) for at, picture in drawn.frames]
    pictures = {"The page when it was done": drawn.screenshot}
    said = shlex.join(["airperf", *sys.argv[1:]])
    browse_report(out / "report.html", url, said, pages, sums, pictures, frames, about)
    write_atomic(out / "pages.json", pretty_json(summary))
