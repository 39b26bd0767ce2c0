"""From options to a plan: what they mean together, and what cannot be meant together.

Reference: docs/reference/load.md. Leaves out httperf's flags (``airperf.cli.load.flags``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from airperf.errors import InputError, Problem, ScenarioProblems
from airperf.quantities import SECOND_NS, duration_ns, rate_micro, size_bytes
from airperf.scenario import check, find_scenario
from airperf.testbed.load import (
    SCHEDULE_BOUND_NS,
    SIZE,
    Arrivals,
    Client,
    Plan,
    Session,
    Target,
    Url,
    Workload,
    address,
    checked_path,
    from_scenario,
    monotonic_instant,
    namespace_path,
    parse_sessions,
    parse_url,
    parse_wsesslog,
    resolve,
)

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\t]*)")
METHOD = re.compile(r"[A-Z]{1,20}")
_MAX_WEIGHT = 1000
_TIMEOUT_NS = 5 * SECOND_NS
_DRAIN_NS = 30 * SECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options as typed; None where an option was not given."""

    urls: tuple[str, ...]
    rate: str | None = None
    duration: str | None = None
    connections: int | None = None
    arrivals: str | None = None
    hurst: float | None = None
    on_time: str | None = None
    off_time: str | None = None
    concurrency: int | None = None
    requests_per_connection: int | None = None
    pipeline: int | None = None
    paths: tuple[str, ...] = ()
    paths_from: Path | None = None
    method: str | None = None
    body: str | None = None
    headers: tuple[str, ...] = ()
    http_version: str = "1.1"
    timeout: str | None = None
    close_with_reset: bool = False
    clients: int | None = None
    sources: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    offset: str | None = None
    session_file: Path | None = None
    wsesslog: Path | None = None
    scenario: str | None = None
    warmup: str | None = None
    drain: str | None = None
    spin: str | None = None
    schedule_bound: str | None = None
    start_at: str | None = None
    seed: int | None = None
    allowed: tuple[str, ...] = ()


def plan(asked: Asked) -> Plan:
    """The plan that the options make, or ``InputError`` with what they cannot mean."""
    workload = _workload(asked)
    urls = _urls(asked, workload)
    target = resolve(urls[0], asked.allowed, asked.namespaces)
    notes = list(workload.notes if workload else ())
    notes += vouched(target)
    body_bytes = _size("--body", asked.body)
    timeout_ns = _timeout(asked, workload)
    paths, weights = _paths(asked, urls)
    duration_ns = _time("--duration", asked.duration, workload.duration_ns if workload else None)
    return Plan(
        target=target,
        authority=urls[0].authority,
        arrivals=_arrivals(asked, workload),
        paths=paths,
        weights=weights,
        method=_method(asked, body_bytes),
        clients=_clients(asked, workload),
        duration_ns=duration_ns,
        until_ns=workload.until_ns if workload and asked.duration is None else None,
        connections=asked.connections,
        requests_per_connection=asked.requests_per_connection
        or (workload.requests_per_connection if workload else 1),
        pipeline=asked.pipeline or (workload.pipeline if workload else 1),
        users=workload.users if workload else None,
        sessions=_sessions(asked),
        headers=tuple(header(text) for text in asked.headers),
        http_version=asked.http_version,
        body_bytes=body_bytes,
        timeout_ns=timeout_ns,
        timeout_rule=workload.timeout_rule if workload else "progress",
        close_with_reset=asked.close_with_reset,
        concurrency=asked.concurrency,
        spin_ns=_time("--spin", asked.spin, None),
        schedule_bound_ns=_time("--schedule-bound", asked.schedule_bound, SCHEDULE_BOUND_NS) or 0,
        start_at_ns=monotonic_instant(asked.start_at) if asked.start_at else None,
        warmup_ns=_time("--warmup", asked.warmup, 0) or 0,
        drain_ns=_drain(asked, workload, timeout_ns),
        seed=(workload.seed if workload else 1) if asked.seed is None else asked.seed,
        notes=tuple(notes),
    )


def header(text: str) -> tuple[str, str]:
    """``Name: value`` as a pair, when it cannot break a request."""
    found = _HEADER.fullmatch(text)
    if not found:
        raise InputError(f"--header {text!r}: not NAME: VALUE on one line, such as 'Accept: text/html'")
    if found[1].lower() in {"content-length", "transfer-encoding"}:
        raise InputError(f"--header {text!r}: the length of a request is airperf's to say; see --body")
    return found[1], found[2].strip()


def vouched(target: Target) -> list[str]:
    """What to say of a target outside the lab."""
    if not target.vouched:
        return []
    return [f"{target.host} ({target.address}) is outside the lab: you vouch for it by --allow-target"]


def read_text(path: Path) -> str:
    """A file of the user's as text, or ``InputError``."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text in UTF-8 (octet {error.start})") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _workload(asked: Asked) -> Workload | None:
    if sum(map(bool, (asked.session_file, asked.wsesslog, asked.scenario))) > 1:
        raise InputError("--session-file, --wsesslog and --scenario each say the workload; give one of them")
    if asked.scenario is None:
        return None
    text, name = find_scenario(asked.scenario)
    return from_scenario(check(text, name), asked.seed)


def _urls(asked: Asked, workload: Workload | None) -> list[Url]:
    texts = asked.urls
    if workload and workload.size_bytes is not None:
        texts = tuple(text.replace(SIZE, str(workload.size_bytes)) for text in texts)
    urls = [parse_url(text) for text in texts]
    if len({(url.host, url.port) for url in urls}) > 1:
        raise InputError("all URLs must name one server; load several with one airperf load each")
    return urls


def _arrivals(asked: Asked, workload: Workload | None) -> Arrivals:
    base = workload.arrivals if workload else Arrivals()
    rate = _named("--rate", asked.rate, rate_micro) if asked.rate else base.rate_micro
    if asked.arrivals is None and base.process != "deterministic":
        hurst, on_ns, off_ns = base.hurst, base.on_ns, base.off_ns
    else:
        hurst = on_ns = off_ns = None
    return Arrivals(
        process=asked.arrivals or base.process,
        rate_micro=rate,
        hurst=hurst if asked.hurst is None else asked.hurst,
        on_ns=_time("--on-time", asked.on_time, on_ns),
        off_ns=_time("--off-time", asked.off_time, off_ns),
    )


def _paths(asked: Asked, urls: list[Url]) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
    if asked.paths and asked.paths_from:
        raise InputError("--path and --paths-from both say the paths; give one of them")
    if asked.paths:
        return tuple(checked_path(path) for path in asked.paths), None
    if asked.paths_from:
        return _paths_of(asked.paths_from)
    return tuple(url.path for url in urls), None


def _paths_of(file: Path) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
    """The paths of a file, and their weights if it has any."""
    problems, weighted = [], []
    for number, line in enumerate(read_text(file).splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        weight = words[1] if len(words) > 1 else "1"
        try:
            path = checked_path(words[0])
        except InputError as error:
            problems.append(Problem(str(error), line=number, column=line.index(words[0]) + 1))
            continue
        if len(words) > 2 or not weight.isdecimal() or not 1 <= int(weight) <= _MAX_WEIGHT:
            column = line.index(words[1], line.index(path) + len(path)) + 1
            hint = f"a path, and after a blank a weight from 1 to {_MAX_WEIGHT}"
            problems.append(Problem(f"{line.strip()!r}: no weight", hint=hint, line=number, column=column))
            continue
        weighted.append((path, int(weight)))
    if not weighted and not problems:
        problems.append(Problem("no path: every line is empty or a comment", line=1, column=1))
    if problems:
        raise ScenarioProblems(str(file), problems)
    paths, weights = zip(*weighted, strict=True)
    return tuple(paths), None if set(weights) == {1} else tuple(weights)


def _method(asked: Asked, body_bytes: int) -> str:
    if asked.method is None:
        return "POST" if body_bytes else "GET"
    if not METHOD.fullmatch(asked.method) or asked.method == "CONNECT":
        raise InputError(f"--method {asked.method!r}: a method in capitals, such as HEAD; not CONNECT")
    return asked.method


def _clients(asked: Asked, workload: Workload | None) -> tuple[Client, ...]:
    places: list[Client] = []
    if asked.sources and asked.namespaces and len(asked.sources) != len(asked.namespaces):
        raise InputError("--source and --netns: give as many of one as of the other, or only one of them")
    if asked.sources or asked.namespaces:
        if asked.clients is not None:
            raise InputError("--clients counts clients that are all here; --source and --netns list them")
        count = max(len(asked.sources), len(asked.namespaces))
        for number in range(count):
            source = asked.sources[number] if asked.sources else None
            netns = asked.namespaces[number] if asked.namespaces else None
            places.append(
                Client(source=source and address(source), netns=netns and str(namespace_path(netns)))
            )
    else:
        count = asked.clients or (len(workload.offsets_ns) if workload else 1)
        places = [Client()] * count
    offsets = _offsets(asked, len(places), workload)
    return tuple(replace(client, offset_ns=offset) for client, offset in zip(places, offsets, strict=True))


def _offsets(asked: Asked, count: int, workload: Workload | None) -> list[int]:
    if asked.offset is None:
        known = workload.offsets_ns if workload else ()
        return list(known) if len(known) == count else [0] * count
    texts = asked.offset.split(",")
    times = [_time("--offset", text, 0) or 0 for text in texts]
    if len(times) == 1:
        return [number * times[0] for number in range(count)]
    if len(times) != count:
        raise InputError(f"--offset {asked.offset}: {len(times)} offsets for {count} clients")
    return times


def _sessions(asked: Asked) -> tuple[Session, ...]:
    if asked.session_file:
        return parse_sessions(read_text(asked.session_file), str(asked.session_file))
    if asked.wsesslog:
        return parse_wsesslog(read_text(asked.wsesslog), str(asked.wsesslog), 0)
    return ()


def _timeout(asked: Asked, workload: Workload | None) -> int | None:
    if asked.timeout == "never":
        return None
    if asked.timeout is None:
        return workload.timeout_ns if workload else _TIMEOUT_NS
    if not (value := _time("--timeout", asked.timeout, None)):
        raise InputError(f"--timeout {asked.timeout}: must be positive, or never")
    return value


def _drain(asked: Asked, workload: Workload | None, timeout_ns: int | None) -> int:
    if asked.drain is None and workload:
        return workload.drain_ns
    return _time("--drain", asked.drain, _DRAIN_NS if timeout_ns is None else timeout_ns) or 0


def _time(option: str, text: str | None, default: int | None) -> int | None:
    return default if text is None else _named(option, text, seconds_ns)


def seconds_ns(text: str) -> int:
    """A time with its unit, or a bare number of seconds."""
    return duration_ns(text, bare="s")


def _size(option: str, text: str | None) -> int:
    return 0 if text is None else _named(option, text, size_bytes)


def _named(option: str, text: str, read: Callable[[str], int]) -> int:
    try:
        return read(text)
    except InputError as error:
        raise InputError(f"{option} {error}") from None
