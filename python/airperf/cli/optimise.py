"""The switches of ``airperf proxy`` that make a slow link feel faster, and what they came to in one table.

Model: docs/models/proxy.md. Leaves out admission control, which has an UPSTREAM; see ``cli/proxy.py``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from airperf.cli.address import address
from airperf.cli.output import ERR, add_row, print_json, say, show
from airperf.errors import InputError
from airperf.quantities import SECOND_NS, duration_ns, link_rate_bps
from airperf.testbed import Optimiser, in_own_namespace, run_optimiser, spki

MOST_REPAIR = 16
"""Repair datagrams for 16 pieces: each doubled."""

_OPTIONS: list[Callable[[Any], Any]] = [
    click.option("--mode", type=click.Choice(["explicit", "transparent"]), default="explicit"),
    click.option("--half", type=click.Choice(["client", "server"]), default=None),
    click.option("--peer", default=None, help="ADDRESS:PORT of the server half."),
    click.option(
        "--compress",
        type=click.Choice(["gzip", "brotli", "zstd"]),
        default=None,
        help="Compress bodies; without halves as the browser takes them, this way if it has no preference.",
    ),
    click.option("--cache", is_flag=True, help="Send no body that the client half, or the browser, has."),
    click.option("--delta", is_flag=True, help="Send bodies as differences from earlier versions."),
    click.option("--push", is_flag=True, help="Send a page's objects before they are asked for."),
    click.option("--dns", is_flag=True, help="Look names up at the server half."),
    click.option("--connections", type=click.IntRange(1, 64), default=None),
    click.option("--tcp", type=click.Choice(["plain", "adapted"]), default="plain"),
    click.option("--rate", default=None, help="Rate of the slow link, 36kbit/s say."),
    click.option("--rtt", default=None, help="Its round trip, 1s say."),
    click.option("--udp", is_flag=True, help="Datagrams with repair between the halves."),
    click.option("--fec", default=None, metavar="adaptive|N", help="Repairs per 16 datagrams."),
    click.option("--allow", multiple=True, metavar="NAME|NETWORK", help="May be reached, too."),
    click.option("--connect-to", multiple=True, metavar="HOST:PORT=ADDRESS:PORT"),
    click.option(
        "--intercept",
        type=click.Path(path_type=Path),
        default=None,
        metavar="FILE",
        help="READ https: answer TLS in the servers' place. Whoever trusts the certificate written to FILE "
        "(made for this run) shows this proxy all that it sends and gets. For browsers of the lab only.",
    ),
    click.option("--machine", is_flag=True, help="Redirect in the machine's own namespace."),
]
NAMES = (
    "mode half peer compress cache delta push dns connections tcp rate rtt udp fec allow connect_to "
    "intercept machine"
).split()
_OF_CLIENT = ("compress", "cache", "delta", "push", "dns", "udp")
_OF_SINGLE = ("compress", "cache")


def switches(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the switches to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def used(context: click.Context) -> list[str]:
    """The switches that were given."""
    default = click.core.ParameterSource.DEFAULT
    given = [name for name in NAMES if context.get_parameter_source(name) is not default]
    return ["--" + name.replace("_", "-") for name in given]


def optimiser(listen: str, max_connections: int, wanted: Mapping[str, Any]) -> Optimiser:
    """The proxy that was asked for, or what is wrong with the wish."""
    half, peer, path = wanted["half"], wanted["peer"], _path(wanted)
    if (half == "client") != (peer is not None):
        raise InputError("--half client and --peer ADDRESS:PORT, where the server half is, belong together")
    known = {"client": _OF_CLIENT, None: _OF_SINGLE}.get(half, ())
    lonely = [f"--{name}" for name in _OF_CLIENT if wanted[name] and name not in known]
    if lonely:
        raise InputError(f"{', '.join(lonely)}: said to the client half, which tells the server half")
    if half == "server" and (wanted["mode"] != "explicit" or wanted["tcp"] != "plain"):
        raise InputError("--mode and --tcp: said to the client half, which tells the server half")
    if wanted["fec"] is not None and not wanted["udp"]:
        raise InputError("--fec belongs to --udp")
    if (wanted["udp"] or wanted["tcp"] == "adapted") and path is None:
        raise InputError("--udp and --tcp adapted need --rate and --rtt of the slow link")
    transparent = wanted["mode"] == "transparent"
    if wanted["intercept"] is not None and (half == "server" or transparent):
        raise InputError("--intercept is for the proxy that browsers know of: they ask it for tunnels")
    if wanted["intercept"] is not None and wanted["intercept"].exists():
        raise InputError(f"--intercept {wanted['intercept']}: there is such a file already")
    if transparent and not wanted["machine"] and not in_own_namespace():
        raise InputError(
            "--mode transparent would redirect this machine's own connections; run it in a network namespace "
            "(airperf host SOURCE -- COMMAND, or ip netns exec), or add --machine"
        )
    networks, hosts = _allowed(wanted["allow"])
    return Optimiser(
        listen=listen,
        half=half,
        peer=None if peer is None else address(peer, "--peer")[0],
        transparent=transparent,
        connections=wanted["connections"] or (1 if half == "client" else 6),
        max_connections=max_connections,
        **{name: wanted[name] for name in ("compress", "cache", "delta", "push", "dns")},
        rate_bps=path and path[0],
        rtt_ms=path and path[1],
        adapt_tcp=wanted["tcp"] == "adapted",
        datagrams=wanted["udp"],
        repair=_repair(wanted["fec"]),
        networks=networks,
        hosts=hosts,
        instead=[_instead(text) for text in wanted["connect_to"]],
        intercept=wanted["intercept"],
    )


def _path(wanted: Mapping[str, Any]) -> tuple[int, int] | None:
    rate, rtt = wanted["rate"], wanted["rtt"]
    if (rate is None) != (rtt is None):
        raise InputError("--rate and --rtt belong together")
    if rate is None:
        return None
    return link_rate_bps(rate), max(1, duration_ns(rtt) // 1_000_000)


def _repair(text: str | None) -> int | None:
    if text in {None, "adaptive"}:
        return None
    if not re.fullmatch(r"\d{1,2}", str(text)) or int(str(text)) > MOST_REPAIR:
        raise InputError(f"--fec {text!r}: write adaptive, or how many for each 16, 0 to {MOST_REPAIR}")
    return int(str(text))


def _allowed(texts: tuple[str, ...]) -> tuple[list[tuple[str, int]], list[str]]:
    networks: list[tuple[str, int]] = []
    hosts: list[str] = []
    for text in texts:
        try:
            network = ipaddress.ip_network(text, strict=False)
            networks.append((str(network.network_address), network.prefixlen))
        except ValueError:
            if not re.fullmatch(r"[A-Za-z0-9._-]{1,253}", text):
                raise InputError(f"--allow {text!r}: write a host's name, an address or a network") from None
            hosts.append(text.lower().rstrip("."))
    return networks, hosts


def _instead(text: str) -> tuple[str, int, str]:
    found = re.fullmatch(r"([A-Za-z0-9._-]{1,253}):(\d{1,5})=(.+)", text)
    if not found or not 0 < int(found[2]) <= 65_535:
        raise InputError(f"--connect-to {text!r}: write HOST:PORT=ADDRESS:PORT")
    return found[1].lower(), int(found[2]), address(found[3], "--connect-to")[0]


def serve(wanted: Optimiser, duration_s: float | None, as_json: bool) -> int:
    """Serves and says what it came to."""
    began = False
    with ERR.status("starting") as status:

        def tell(now: Mapping[str, Any]) -> None:
            nonlocal began
            if not began:
                began = True
                say(f"serving on {now['listen']}: {_kind(wanted)}")
                if wanted.intercept is not None:
                    key = spki(now["key_hash"])
                    say(f"READING https of whoever trusts {wanted.intercept}, or in Chromium the key {key}")
            counts = now["counts"]
            status.update(f"{counts['requests']} requests, {now['open']} connections")

        done = run_optimiser(wanted, duration_s, tell)
    if as_json:
        print_json({"schema": 1, "kind": _kind(wanted), **done})
    else:
        show(table(done))
    return 0


def _kind(wanted: Optimiser) -> str:
    if wanted.half == "server":
        return "server half"
    mode = "transparent" if wanted.transparent else "explicit"
    return f"{mode} proxy" if wanted.half is None else f"{mode} client half of {wanted.peer}"


def table(done: Mapping[str, Any]) -> Table:
    """What each optimisation did, in octets."""
    counts = done["counts"]
    result = Table("what", "how often", "octets", "on the link", "saved")

    def octets(what: str, often: str, plain: int, on_link: int) -> None:
        if counts[often]:
            saved = f"{1 - on_link / plain:.0%}" if plain else "—"
            add_row(result, what, str(counts[often]), str(plain), str(on_link), saved)

    def plain(what: str, *names: str) -> None:
        if any(counts[name] for name in names):
            add_row(result, what, " / ".join(str(counts[name]) for name in names), "", "", "")

    plain("requests / refused / failed", "requests", "refused", "failed")
    plain("connections of browsers / to origins / of the link", *_CONNECTIONS)
    link = counts["link_sent_bytes"] + counts["link_received_bytes"]
    octets("over the link, all, both ways", "link_connections", counts["body_bytes"], link)
    octets("compressed", "compressed", counts["compressed_plain_bytes"], counts["compressed_link_bytes"])
    octets("same as before", "same", counts["same_plain_bytes"], 0)
    octets("still good in the shared cache", "validated", counts["validated_bytes"], 0)
    octets("differences", "deltas", counts["delta_plain_bytes"], counts["delta_link_bytes"])
    plain("pushed / used / wasted / withdrawn", "pushes", "pushes_used", "pushes_wasted", "pushes_withdrawn")
    plain("names looked up / answered on the spot", "look_ups", "names_answered")
    plain("tunnels / read", "tunnels", "intercepted")
    plain("datagrams / sent again / repairs / repaired", *_DATAGRAMS)
    if done["tcp"]:
        kept = "kept" if done["tcp"]["keeps_window_when_idle"] else "not kept when idle"
        add_row(result, f"TCP window, {kept}", str(done["tcp"]["window_bytes"]), "", "", "")
    return result


_CONNECTIONS = ("connections", "origin_connections", "link_connections")
_DATAGRAMS = ("datagrams_sent", "pieces_resent", "repairs_sent", "pieces_repaired")


def seconds(duration: str | None) -> float | None:
    """A length of time in seconds, if one was given."""
    return None if duration is None else duration_ns(duration) / SECOND_NS
