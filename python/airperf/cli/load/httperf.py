"""``airperf load httperf …``: httperf's flags and report over airperf's engine.

Reference: httperf(1), version 0.9.0. Where we differ on purpose: Poisson times are exact and not rounded to
1 ms; descriptors are not limited to 1,024; ports are always the kernel's choice, with or without ``--hog``;
a burst length that does not divide the calls does not hang. Leaves out TLS, cookies, retries and printing of
messages, which are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import click

from airperf.cli.load.asking import METHOD, header, read_text, vouched
from airperf.cli.load.echo import PERIOD, RECEIVE_BUFFER, SEND_BUFFER, echo
from airperf.cli.load.flags import FLAGS, OUR_HELP, Takes, count, parse_flags, real, unescaped
from airperf.cli.load.perform import WORDS, Wanted, perform
from airperf.errors import InputError
from airperf.quantities import SECOND_NS
from airperf.testbed.load import (
    Arrivals,
    Burst,
    Plan,
    Request,
    Session,
    Target,
    checked_path,
    parse_url,
    parse_wsesslog,
    resolve,
)
from airperf.testbed.load.plan import MAX_PIPELINE

_ENDLESS_NS = 3600 * SECOND_NS
_MAX_URIS = 1_000_000

Found = Mapping[str, str]


@click.command(
    "httperf",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...]) -> int:
    """Take httperf's flags, do what httperf would do, print what httperf would print."""
    found = parse_flags(words)
    if "help" in found:
        _help()
        return 0
    if "version" in found:
        click.echo("airperf load httperf: flags and report of httperf 0.9.0, engine of airperf")
    made = plan(found)
    line = echo(found)
    verbose = "verbose" in found
    wanted = Wanted(
        title=line,
        out=Path(found["out"]) if "out" in found else None,
        as_json="json" in found,
        dry_run="dry-run" in found,
        report=lambda _, result: import_module(WORDS).httperf_text(line, result, verbose=verbose),
    )
    return perform(made, wanted)


def plan(found: Found) -> Plan:
    """The plan that httperf's flags make."""
    server, port = found.get("server", "localhost"), count(found, "port", 80)
    host = f"[{server}]" if ":" in server else server
    uri = checked_path(found.get("uri", "/"))
    allowed = [found["allow-target"]] if "allow-target" in found else []
    target = resolve(parse_url(f"http://{host}:{port}"), allowed)
    arrivals = _arrivals(found)
    calls, burst = count(found, "num-calls", 1), count(found, "burst-length", 1)
    client = _client(found)
    sessions, connections = _sessions(found, uri, burst)
    paths = _uris(found, uri, calls * connections, client)
    if found.get("wlog", "y").startswith("n"):
        calls = min(calls, len(paths))
        connections = min(connections, len(paths) // calls)
    piped = min(count(found, "max-piped-calls", MAX_PIPELINE), MAX_PIPELINE)
    return Plan(
        target=target,
        authority=None if "no-host-hdr" in found else found.get("server-name", server),
        arrivals=arrivals,
        paths=paths,
        method=_method(found),
        connections=connections,
        requests_per_connection=1 if sessions else calls,
        pipeline=piped if sessions else min(burst, piped),
        whole_bursts=not sessions and burst > 1,
        sessions=sessions,
        headers=_headers(found),
        http_version=_version(found),
        timeout_ns=round(real("timeout", found["timeout"]) * SECOND_NS) or None
        if "timeout" in found
        else None,
        timeout_rule="httperf",
        close_with_reset="close-with-reset" in found,
        concurrency=1 if arrivals.rate_micro is None else None,
        drain_ns=_ENDLESS_NS,
        seed=1 + client,
        send_buffer_bytes=count(found, "send-buffer", SEND_BUFFER),
        receive_buffer_bytes=count(found, "recv-buffer", RECEIVE_BUFFER),
        notes=tuple(_notes(found, target)),
    )


def _arrivals(found: Found) -> Arrivals:
    """``--rate`` and ``--period`` say the same thing; the later one counts, and 0 is one after the other."""
    last = next((name for name in reversed(list(found)) if name in {"rate", "period"}), None)
    if last is None:
        return Arrivals()
    if last == "rate":
        rate = real("rate", found["rate"])
        return Arrivals(rate_micro=round(rate * 1e6) or None)
    parts = PERIOD.fullmatch(found["period"].strip())
    if not parts:
        raise InputError(f"--period {found['period']!r}: must be a time in seconds, after d or e")
    if parts[1] == "u":
        raise InputError(
            f"--period {found['period']}: uniform times between connections are not supported; "
            "e (exponential) and d (equal) are"
        )
    period = real("period", parts[2])
    process = "poisson" if parts[1] == "e" and period else "deterministic"
    return Arrivals(process, rate_micro=round(1e6 / period) if period else None)


def _sessions(found: Found, uri: str, burst: int) -> tuple[tuple[Session, ...], int]:
    """The sessions, if any, and how many of them, or how many connections."""
    if "wsess" in found and "wsesslog" in found:
        raise InputError("--wsess and --wsesslog both say the sessions; give one of them")
    if "wsess" in found:
        parts = found["wsess"].split(",")
        if len(parts) != 3:
            raise InputError(f"--wsess {found['wsess']!r}: must be SESSIONS,CALLS,THINK_SECONDS")
        number, calls = (count({"wsess": part}, "wsess", 1) for part in parts[:2])
        think_ns = round(real("wsess", parts[2]) * SECOND_NS)
        sizes = [min(burst, calls - begun) for begun in range(0, calls, burst)]
        request = Request(uri, _method(found))
        return (tuple(Burst((request,) * size, think_ns) for size in sizes),), number
    if "wsesslog" in found:
        parts = found["wsesslog"].split(",", 2)
        if len(parts) != 3:
            raise InputError(f"--wsesslog {found['wsesslog']!r}: must be SESSIONS,THINK_SECONDS,FILE")
        number = count({"wsesslog": parts[0]}, "wsesslog", 1)
        think_ns = round(real("wsesslog", parts[1]) * SECOND_NS)
        return parse_wsesslog(read_text(Path(parts[2])), parts[2], think_ns), number
    return (), count(found, "num-conns", 1)


def _uris(found: Found, uri: str, requests: int, client: int) -> tuple[str, ...]:
    """The URIs in the order in which they are asked for."""
    if "wlog" in found:
        wrap, _, name = found["wlog"].partition(",")
        if wrap not in {"y", "n"} or not name:
            raise InputError(f"--wlog {found['wlog']!r}: must be y,FILE or n,FILE")
        uris = [text for text in read_text(Path(name)).split("\0") if text.strip()]
        if not uris:
            raise InputError(f"--wlog {found['wlog']}: {name} has no URI; they are separated by NUL")
        return tuple(checked_path(text) for text in uris)
    if "wset" in found:
        size, _, pace = found["wset"].partition(",")
        files, step = count({"wset": size}, "wset", 1), real("wset", pace)
        width = len(str(files - 1))
        numbers = [int(client + turn * step) % files for turn in range(min(requests, _MAX_URIS))]
        prefix = "" if uri == "/" else uri
        return tuple(checked_path(f"{prefix}/{'/'.join(f'{i:0{width}}')}.html") for i in numbers)
    return (uri,)


def _headers(found: Found) -> tuple[tuple[str, str], ...]:
    if "add-header" not in found:
        return ()
    text = unescaped(found["add-header"])
    if not text.endswith("\n"):
        raise InputError(rf"--add-header {found['add-header']!r}: must end in \n, as httperf needs it too")
    return tuple(header(line) for line in text.replace("\r\n", "\n").removesuffix("\n").split("\n"))


def _method(found: Found) -> str:
    method = found.get("method", "GET")
    if not METHOD.fullmatch(method) or method == "CONNECT":
        raise InputError(f"--method {method!r}: must be a method in capitals, such as HEAD; not CONNECT")
    return method


def _version(found: Found) -> str:
    version = found.get("http-version", "1.1")
    if version not in {"1.0", "1.1"}:
        raise InputError(f"--http-version {version!r}: must be 1.0 or 1.1")
    return version


def _client(found: Found) -> int:
    parts = re.fullmatch(r"(\d{1,9})/(\d{1,9})", found.get("client", "0/1"))
    if not parts or int(parts[1]) >= int(parts[2]):
        raise InputError(f"--client {found['client']!r}: must be I/N with I below N")
    return int(parts[1])


def _notes(found: Found, target: Target) -> list[str]:
    if "think-timeout" in found and real("think-timeout", found["think-timeout"]):
        raise InputError("--think-timeout: not supported: one time-out holds for all phases; raise --timeout")
    notes = vouched(target)
    if "max-connections" in found:
        notes.append("--max-connections: a session never has more than one connection at a time")
    if "hog" in found:
        notes.append("--hog: needs nothing; ports are always the kernel's choice, of all it has")
    return notes


def _help() -> None:
    click.echo("Usage: airperf load httperf [FLAG]...\n\nFlags of httperf 0.9.0, with its abbreviations:")
    for flag in FLAGS:
        if not flag.refused:
            click.echo(f"  --{flag.name}{'=…' if flag.takes is Takes.VALUE else ''}")
    click.echo("\nRefused:")
    for flag in FLAGS:
        if flag.refused:
            click.echo(f"  --{flag.name}: {flag.refused}")
    click.echo("\nOurs:")
    for name, what in OUR_HELP.items():
        click.echo(f"  --{name}: {what}")
