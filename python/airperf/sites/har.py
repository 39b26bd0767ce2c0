"""Reading HAR files, the browsers' own recordings.

Model: HAR 1.2 (W3C Web Performance group's archived draft), with what Chromium and Firefox add. A server's
think time is ``timings.wait`` less the round trip, which is the shortest TCP handshake to the same origin, or
else the shortest wait there. A body that the file does not hold is filled with zeros of its length, so that
it takes its time on the link. Leaves out WebSockets.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from airperf.errors import InputError
from airperf.sites.form import MOST_BODY_BYTES, Recording

NOT_MODIFIED = 304
OK = 200


def read_har(data: bytes, name: str, recording: Recording) -> None:
    """Adds the exchanges of a HAR file; ``InputError`` names the line where it is no JSON."""
    try:
        raw = json.loads(data.decode("utf-8-sig"))
        entries = raw["log"]["entries"]
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: octet {error.start} is not UTF-8: this is no HAR file") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name}:{error.lineno}:{error.colno}: {error.msg}: this is no whole HAR file"
        ) from None
    except RecursionError:
        raise InputError(f"{name}: nested too deeply to be a HAR file") from None
    except (KeyError, TypeError):
        raise InputError(f"{name}: there is no log.entries: this is no HAR file") from None
    if not isinstance(entries, list):
        raise InputError(f"{name}: log.entries is no list: this is no HAR file")
    entries = [entry for entry in entries if isinstance(entry, dict)]
    entries.sort(key=lambda entry: str(entry.get("startedDateTime", "")))
    trips = _round_trips(entries)
    for entry in entries:
        request, response = _map(entry, "request"), _map(entry, "response")
        url, status = str(request.get("url", "")), _whole(response.get("status"))
        body = _body(_map(response, "content"), recording)
        if status == NOT_MODIFIED:
            # The browser had it; whoever loads the page afresh has not.
            recording.notes["answers 304 served as 200"] += 1
            status = OK
        wait = _milliseconds(_map(entry, "timings").get("wait"))
        think = max(0.0, wait - trips.get(_site(url), 0.0)) if wait is not None else 0.0
        method = str(request.get("method", "GET")).upper()
        recording.add(method, url, status, list(_fields(response)), body, round(think * 1e6))


def _map(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _milliseconds(value: Any) -> float | None:
    """A timing; HAR has −1 for what does not apply."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e9 else None


def _site(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


def _round_trips(entries: list[dict[str, Any]]) -> dict[str, float]:
    """The shortest TCP handshake, or else the shortest wait, by site, in ms."""
    shakes: dict[str, float] = {}
    waits: dict[str, float] = {}
    for entry in entries:
        site, timings = _site(str(_map(entry, "request").get("url", ""))), _map(entry, "timings")
        wait, connect = _milliseconds(timings.get("wait")), _milliseconds(timings.get("connect"))
        if wait is not None:
            waits[site] = min(wait, waits.get(site, wait))
        if connect:
            # HAR counts TLS into the time to connect.
            shake = max(0.0, connect - (_milliseconds(timings.get("ssl")) or 0.0))
            shakes[site] = min(shake, shakes.get(site, shake))
    return waits | shakes


def _fields(response: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    headers = response.get("headers")
    for item in headers if isinstance(headers, list) else ():
        if isinstance(item, dict):
            yield str(item.get("name", "")), str(item.get("value", "")).replace("\n", ", ")


def _body(content: Mapping[str, Any], recording: Recording) -> bytes:
    text, size = content.get("text"), max(0, _whole(content.get("size")))
    if not isinstance(text, str):
        return recording.fill(size, "bodies that the file does not hold, filled with zeros") if size else b""
    if len(text) > 2 * MOST_BODY_BYTES:
        recording.notes[f"bodies over {MOST_BODY_BYTES} octets"] += 1
        return b""
    if content.get("encoding") != "base64":
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return recording.fill(size, "bodies that are not base 64, filled with zeros")
