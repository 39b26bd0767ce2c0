"""What a browser's events say of the objects of a page, on the clock of the link.

Model: the DevTools protocol's Network domain, whose instants are seconds of CLOCK_MONOTONIC on Linux;
columns of ``pages`` and ``objects`` (docs/reference/records.md). Octets of a request are those of its line
and its header fields as HTTP/1.1 writes them. Leaves out requests that are no objects of the page.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from airperf.testbed.beside import counts_file
from airperf.testbed.browser import origins

Event = Mapping[str, Any]
INSTANTS = ("looked_up_ns", "found_ns", "sent_ns", "first_byte_ns", "done_ns")


def visited(folder: Path, order: Mapping[str, Any]) -> dict[str, Any]:
    """All loads that are in ``folder``, for ``_core.run_visits``."""
    loads: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    browsers: list[dict[str, Any]] = []
    for number in range(1, int(order["loads"]) + 1):
        path = folder / f"load-{number}.json"
        if not path.exists():
            break  # its time had come only after the run's duration
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = objects_of(content["events"], order["urls"], int(content["zero_ns"]))
        ask_once(rows, order["urls"], str(order["look_ups"]))
        loads.append(load_of(rows, complete=bool(content["complete"])))
        objects += [row | {"load": number - 1} for row in rows if row["found_ns"] is not None]
        browsers.append({"timing_ms": content["timing"], "failed": failures(content["events"])})
    sent = [row["request_bytes"] for row in objects if row["request_bytes"]]
    return {
        "loads": loads,
        "objects": objects,
        "browser": {
            "version": order["browser"],
            "sandbox": order["sandbox"],
            "request_bytes": sum(sent) / len(sent) if sent else None,
            "loads": browsers,
            "differences": order["differences"],
            "client_half": _counts(folder, "client"),
        },
        "server": {"program": "airperf host", "hosts": origins()},
        "why_invalid": [],
    }


def _counts(folder: Path, half: str) -> dict[str, Any] | None:
    path = counts_file(folder, half)
    if not path.exists():
        return None
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    counts: dict[str, Any] = told.get("counts", told)
    return counts


def failures(events: Iterable[Event]) -> dict[str, int]:
    """Requests that failed, by the browser's word for why."""
    failed = (event["params"] for event in events if event.get("method") == "Network.loadingFailed")
    return dict(Counter(str(told.get("errorText") or "canceled") for told in failed))


def load_of(rows: Iterable[Mapping[str, Any]], *, complete: bool) -> dict[str, Any]:
    """A load from the rows of its objects, the page itself first."""
    rows = list(rows)
    done = [row["done_ns"] for row in rows]
    whole = [at for at in done if at is not None]
    return {
        "due_ns": rows[0]["found_ns"] or 0,
        "first_byte_ns": rows[0]["first_byte_ns"],
        "done_ns": max(whole) if complete and len(whole) == len(rows) else None,
        "given_up": not complete,
    }


def objects_of(events: Iterable[Event], urls: list[str], zero_ns: int) -> list[dict[str, Any]]:
    """A row for each of the page's URLs; instants are None where something did not happen."""
    nothing = {**dict.fromkeys(INSTANTS), "request_bytes": 0, "response_bytes": 0}
    rows = [{**nothing, "object": place} for place in range(len(urls))]
    places = {url: place for place, url in enumerate(urls)}
    row_of: dict[str, dict[str, Any]] = {}
    lines: dict[str, tuple[str, str]] = {}
    fields: dict[str, Mapping[str, str]] = {}

    def ns(seconds: float) -> int:
        return max(0, round(seconds * 1e9) - zero_ns)

    for event in events:
        told = event.get("params", {})
        identity = str(told.get("requestId"))
        match event.get("method"):
            case "Network.requestWillBeSent":
                request = told["request"]
                place = places.get(str(request["url"]))
                if place is not None and rows[place]["found_ns"] is None:
                    row_of[identity] = rows[place]
                    lines[identity] = (str(request["method"]), str(request["url"]))
                    rows[place]["found_ns"] = ns(told["timestamp"])
            case "Network.requestWillBeSentExtraInfo":  # may come before the request itself is told
                fields[identity] = told["headers"]
            case "Network.responseReceived" if identity in row_of:
                row_of[identity] |= _answered(told["response"].get("timing"), ns)
            case "Network.loadingFinished" if identity in row_of:
                row_of[identity]["done_ns"] = ns(told["timestamp"])
                row_of[identity]["response_bytes"] = int(told["encodedDataLength"])
    for identity in row_of.keys() & fields.keys():
        row_of[identity]["request_bytes"] = _octets(*lines[identity], fields[identity])
    return rows


def ask_once(rows: Iterable[dict[str, Any]], urls: list[str], look_ups: str) -> None:
    """Leaves each host's look-up with the object for which it was made, and none of those known beforehand.

    A browser tells of a look-up with every object that waits for it, or that has its answer in an instant.
    """
    own = urlsplit(urls[0]).hostname
    asked: set[str | None] = set()
    waiting = [row for row in rows if row["looked_up_ns"] is not None]
    for row in sorted(waiting, key=lambda row: int(row["looked_up_ns"])):
        host = urlsplit(urls[row["object"]]).hostname
        known = look_ups == "none" or (look_ups == "first" and host != own)
        if known or host in asked:
            row["looked_up_ns"] = None
        asked.add(host)


def _octets(method: str, url: str, fields: Mapping[str, str]) -> int:
    """Octets of a request to a server itself (RFC 9112 §2.1, §3.2.1); to a proxy its line is longer."""
    path = "/" + url.split("/", 3)[3]
    return len(f"{method} {path} HTTP/1.1\r\n\r\n") + sum(len(f"{k}: {v}\r\n") for k, v in fields.items())


def _answered(timing: Mapping[str, float] | None, ns: Any) -> dict[str, Any]:
    if not timing:
        return {}

    def at(name: str) -> int | None:
        after_ms = timing.get(name, -1)
        return ns(timing["requestTime"] + after_ms / 1e3) if after_ms >= 0 else None

    first = "receiveHeadersStart" if "receiveHeadersStart" in timing else "receiveHeadersEnd"
    return {"looked_up_ns": at("dnsStart"), "sent_ns": at("sendStart"), "first_byte_ns": at(first)}
