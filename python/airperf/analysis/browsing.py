"""Page loads by a browser: from the events of its protocol to rows, times and a HAR.

Model: the DevTools protocol's Network domain, whose times are seconds of one monotonic clock; here ms after
the navigation's first request. Page load time is the load event. HAR 1.2 without bodies. Leaves out driving
the browser.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import stdev
from typing import Any

import polars as pl

from airperf.analysis.intervals import Interval, t_interval

Event = Mapping[str, Any]

SCHEMA = {
    "url": pl.String,
    "kind": pl.String,
    "method": pl.String,
    "status": pl.Int64,
    "protocol": pl.String,
    "remote": pl.String,
    "start_ms": pl.Float64,
    "dns_ms": pl.Float64,
    "connect_ms": pl.Float64,
    "tls_ms": pl.Float64,
    "sent_ms": pl.Float64,
    "first_byte_ms": pl.Float64,
    "end_ms": pl.Float64,
    "bytes": pl.Int64,
    "error": pl.String,
}
"""One row per request. ``dns_ms``, ``connect_ms``, ``tls_ms`` are durations, null where there was none;
``sent_ms`` and ``first_byte_ms`` are instants, null where it came to none. ``bytes`` as on the wire."""


@dataclass(frozen=True, slots=True)
class Page:
    """One load of a page."""

    requests: pl.DataFrame
    load_ms: float | None
    """The load event; None when it did not come in time."""
    dom_ms: float | None
    """The end of parsing (DOMContentLoaded)."""
    paint_ms: float | None
    """The first paint with content."""
    began: float
    """When the first request was sent: seconds of the wall clock."""

    @property
    def bytes(self) -> int:
        """Octets received, headers included."""
        return int(self.requests["bytes"].sum())

    @property
    def failed(self) -> int:
        """Requests that came to nothing; with such a load looks shorter than it is."""
        return self.requests["error"].count()


def page(events: Iterable[Event], timing: Mapping[str, float], *, complete: bool) -> Page:
    """One load from what the browser told."""
    rows: dict[str, dict[str, Any]] = {}
    origin = began = None
    load = None
    for event in events:
        method, told = str(event.get("method", "")), event.get("params", {})
        if method == "Page.loadEventFired":
            load = float(told["timestamp"])
        if not method.startswith("Network.") or "requestId" not in told:
            continue
        identity = str(told["requestId"])
        if method == "Network.requestWillBeSent":
            if not str(told["request"]["url"]).startswith("http"):
                continue
            if origin is None:
                origin, began = float(told["timestamp"]), float(told["wallTime"])
            if "redirectResponse" in told and identity in rows:
                rows[f"{identity} {len(rows)}"] = _answered(
                    rows.pop(identity), told["redirectResponse"], origin
                ) | {"end_ms": _after(told["timestamp"], origin)}
            rows[identity] = _asked(told, origin)
        elif identity in rows and origin is not None:
            row = rows[identity]
            if method == "Network.responseReceived":
                rows[identity] = _answered(row, told["response"], origin)
            elif method == "Network.loadingFinished":
                row |= {"end_ms": _after(told["timestamp"], origin), "bytes": int(told["encodedDataLength"])}
            elif method == "Network.loadingFailed":
                row |= {
                    "end_ms": _after(told["timestamp"], origin),
                    "error": str(told.get("errorText", "failed")),
                }
    table = pl.DataFrame(list(rows.values()), schema=SCHEMA, orient="row").sort("start_ms")
    # What a browser shows when the page itself does not come has a load event, too.
    complete = complete and not table.is_empty() and table["error"][0] is None
    return Page(
        requests=table,
        load_ms=_after(load, origin) if complete and load is not None and origin is not None else None,
        dom_ms=timing.get("domContentLoaded") or None,
        paint_ms=timing.get("first-contentful-paint"),
        began=began or 0.0,
    )


def _after(at: float, origin: float) -> float:
    return (float(at) - origin) * 1e3


def _asked(told: Mapping[str, Any], origin: float) -> dict[str, Any]:
    request = told["request"]
    nothing = dict.fromkeys(SCHEMA)
    return nothing | {
        "url": str(request["url"]),
        "kind": str(told.get("type", "Other")),
        "method": str(request["method"]),
        "start_ms": _after(told["timestamp"], origin),
        "bytes": 0,
    }


def _answered(row: dict[str, Any], response: Mapping[str, Any], origin: float) -> dict[str, Any]:
    found = row | {
        "status": int(response["status"]),
        "protocol": str(response.get("protocol", "")),
        "remote": str(response.get("remoteIPAddress", "")),
    }
    timing = response.get("timing")
    if not timing:
        return found
    base = _after(timing["requestTime"], origin)

    def spent(start: str, end: str) -> float | None:
        return float(timing[end] - timing[start]) if timing.get(start, -1) >= 0 else None

    tls = spent("sslStart", "sslEnd")
    connect = spent("connectStart", "connectEnd")
    return found | {
        "dns_ms": spent("dnsStart", "dnsEnd"),
        "connect_ms": None if connect is None else connect - (tls or 0.0),
        "tls_ms": tls,
        "sent_ms": base + float(timing["sendEnd"]),
        "first_byte_ms": base + float(timing["receiveHeadersEnd"]),
    }


@dataclass(frozen=True, slots=True)
class Loads:
    """Several loads of one page: means with 95% intervals."""

    load_ms: Interval
    dom_ms: Interval
    paint_ms: Interval
    requests: Interval
    kib: Interval
    variation: float | None
    """Coefficient of variation of the load time."""
    incomplete: int
    """Loads whose load event did not come in time."""


def loads(pages: list[Page]) -> Loads:
    """What several loads came to."""
    times = [one.load_ms for one in pages if one.load_ms is not None]
    mean = t_interval(times)
    return Loads(
        load_ms=mean,
        dom_ms=t_interval(one.dom_ms for one in pages),
        paint_ms=t_interval(one.paint_ms for one in pages),
        requests=t_interval(float(one.requests.height) for one in pages),
        kib=t_interval(one.bytes / 1024 for one in pages),
        variation=stdev(times) / mean.mean if len(times) > 1 and mean.mean else None,
        incomplete=sum(one.load_ms is None for one in pages),
    )


def har(one: Page, version: str) -> dict[str, Any]:
    """A load as HAR 1.2, without bodies."""
    name = "page_1"
    creator = {"name": "airperf", "version": version}
    timings = {"onContentLoad": one.dom_ms or -1, "onLoad": one.load_ms or -1}
    first = one.requests["url"][0] if one.requests.height else ""
    began = _instant(one.began)
    pages = [{"startedDateTime": began, "id": name, "title": first, "pageTimings": timings}]
    entries = [_har_entry(row, one.began, name) for row in one.requests.iter_rows(named=True)]
    return {"log": {"version": "1.2", "creator": creator, "pages": pages, "entries": entries}}


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _har_entry(row: Mapping[str, Any], began: float, name: str) -> dict[str, Any]:
    end, sent, first = row["end_ms"], row["sent_ms"], row["first_byte_ms"]
    dns, connect, tls = (-1 if row[key] is None else row[key] for key in ("dns_ms", "connect_ms", "tls_ms"))
    known = sum(max(0, part) for part in (dns, connect, tls))
    protocol = row["protocol"] or ""
    nothing: dict[str, Any] = {
        "headers": [],
        "cookies": [],
        "httpVersion": protocol,
        "headersSize": -1,
        "bodySize": -1,
    }
    return {
        "pageref": name,
        "startedDateTime": _instant(began + row["start_ms"] / 1e3),
        "time": 0 if end is None else end - row["start_ms"],
        "request": {**nothing, "method": row["method"], "url": row["url"], "queryString": []},
        "response": {
            **nothing,
            "status": row["status"] or 0,
            "statusText": "",
            "redirectURL": "",
            "content": {"size": row["bytes"], "mimeType": ""},
        },
        "cache": {},
        "timings": {
            "blocked": -1 if sent is None else max(0.0, sent - row["start_ms"] - known),
            "dns": dns,
            # HAR counts TLS into the time to connect.
            "connect": -1 if row["connect_ms"] is None else connect + max(0, tls),
            "ssl": tls,
            "send": 0,
            "wait": 0 if sent is None or first is None else first - sent,
            "receive": 0 if end is None or first is None else max(0.0, end - first),
        },
        "serverIPAddress": row["remote"] or "",
    }
