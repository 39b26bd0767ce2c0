"""The summary of a capture as sections of lines for people: terminal, Jupyter.

Reference: docs/reference/captures.md has the definitions. A key that a summary lacks gives no line. Leaves
out the JSON object, which is the summary itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CLASSES = (
    ("syn_fin", "SYN, SYN-ACK and FIN", "whole"),
    ("syn_rst", "SYN, SYN-ACK and RST", "whole: RST is a normal close"),
    ("syn_no_synack", "SYN without SYN-ACK", "refused or lost: counted only"),
    ("syn_unfinished", "SYN, SYN-ACK, no FIN or RST", "open at the end: durations are lower bounds"),
    ("no_syn", "no SYN seen", "begun before: handshake and losses unknown"),
)
"""The five classes of connections, what was seen of each, and the decision taken for it."""

MAC_NAMES = {
    "frames": "frames",
    "data": "data",
    "management": "management",
    "beacons": "beacons",
    "control": "control",
    "acks": "acknowledgements",
    "block_acks": "block acknowledgements",
    "asked_for_ack": "frames that ask for one",
    "acknowledged": "of them seen acknowledged",
    "retries": "retry bit set",
    "duplicates": "of them duplicates",
    "missed_originals": "of them with the original missed",
    "protected": "encrypted",
    "bad_fcs": "bad frame check sequence",
}
"""Counts of the MAC in the order in which one reads them."""

MAC_USUAL = ("frames", "retries", "bad_fcs", "beacons", "acks")
"""Shown when they are zero too."""

PARTS = ("full", "dup_syn", "dup_fin")
"""What makes a retransmission; ``part`` and ``late`` are counted beside."""


@dataclass(slots=True)
class Section:
    """A title and rows of cells; numbers stand in the second cell."""

    title: str
    rows: list[tuple[str, ...]] = field(default_factory=list)


def sections(summary: Mapping[str, Any]) -> list[Section]:
    """The summary in the order in which one reads a capture: container, TCP, HTTP, MAC, oddities."""
    found = [_whole(summary)]
    tcp = summary.get("tcp") or {}
    if tcp:
        found += [_classes(tcp), _segments(tcp)]
    if http := summary.get("http"):
        found.append(Section("HTTP/1", [(key, count(http.get(key))) for key in ("requests", "responses")]))
    if mac := summary.get("mac"):
        found.append(_mac(mac))
    if airtime := summary.get("airtime"):
        found.append(_airtime(airtime))
    if checks := summary.get("checks"):
        found.append(_checks(checks))
    if anomalies := {name: n for name, n in (summary.get("anomalies") or {}).items() if n}:
        found.append(Section("anomalies", [(name, count(n)) for name, n in anomalies.items()]))
    return found


def _whole(summary: Mapping[str, Any]) -> Section:
    duration = float(summary.get("duration_s") or 0.0)
    packets, octets = int(summary.get("packets") or 0), int(summary.get("bytes") or 0)
    section = Section("capture")
    section.rows += [
        ("packets", count(packets), f"{packets / duration:,.1f}/s" if duration else ""),
        (
            "bytes on the wire",
            count(octets),
            f"{8 * octets / duration / 1e6:,.3f} Mbit/s" if duration else "",
        ),
        ("duration", f"{duration:,.6f} s"),
    ]
    for name, number in (summary.get("link_types") or {}).items():
        section.rows.append((f"link type {name}", count(number)))
    if (end := summary.get("truncated_at")) is not None:
        section.rows.append(("truncated at byte", count(end)))
    return section


def _classes(tcp: Mapping[str, Any]) -> Section:
    total = int(tcp.get("connections") or 0)
    section = Section("TCP connections")
    for key, what, decision in CLASSES:
        number = int(tcp.get(key) or 0)
        section.rows.append((what, count(number), share(number, total), decision))
    section.rows.append(("all", count(total), "", ""))
    return section


def _segments(tcp: Mapping[str, Any]) -> Section:
    total = int(tcp.get("segments") or 0)
    again = int(tcp.get("retransmitted") or 0)
    parts = tcp.get("retransmission_parts") or {}
    made_of = ", ".join(f"{name} {count(parts.get(name))}" for name in PARTS)
    section = Section("TCP segments")
    section.rows += [
        ("all", count(total), "", ""),
        ("retransmitted", count(again), share(again, total), made_of),
        ("partly retransmitted", count(parts.get("part")), share(int(parts.get("part") or 0), total), ""),
        ("late (out of order)", count(parts.get("late")), share(int(parts.get("late") or 0), total), ""),
        ("duplicate ACKs", count(tcp.get("duplicate_acks")), "", ""),
        ("RST", count(tcp.get("resets")), "", ""),
    ]
    return section


def _mac(mac: Mapping[str, Any]) -> Section:
    total = int(mac.get("frames") or 0)
    section = Section("802.11 MAC")
    for key in (*MAC_NAMES, *(key for key in mac if key not in MAC_NAMES)):
        number = mac.get(key)
        # What was not counted, and what did not happen beside the usual, gives no line.
        if isinstance(number, int) and (number or key in MAC_USUAL):
            name = MAC_NAMES.get(key, key.replace("_", " "))
            section.rows.append((name, count(number), share(number, total) if key != "frames" else ""))
    return section


def _airtime(airtime: Mapping[str, Any]) -> Section:
    section = Section("airtime (estimated from captured frames)")
    numbers = {name: float(value) for name, value in airtime.items() if isinstance(value, int | float)}
    whole = sum(numbers.values())
    for name, seconds in sorted(numbers.items(), key=lambda item: -item[1]):
        if seconds:
            section.rows.append((name, f"{seconds:,.6f} s", share(seconds, whole)))
    return section


def _checks(checks: Mapping[str, Any]) -> Section:
    total = int(checks.get("connections") or 0)
    section = Section("sniffer's view against the run's own")
    section.rows.append(("connections of the run", count(total)))
    for key in ("matched", "missed", "unknown", "differing"):
        section.rows.append((key, count(checks.get(key)), share(int(checks.get(key) or 0), total)))
    affected = int(checks.get("missed") or 0) + int(checks.get("differing") or 0)
    section.rows.append(("missed or seen otherwise", count(affected), share(affected, total)))
    for name, number in (checks.get("differences") or {}).items():
        if number:
            section.rows.append((f"in {name.replace('_', ' ')}", count(number), share(number, total)))
    if schedule := checks.get("schedule"):
        section.rows.append(("SYNs due by the schedule", count(schedule.get("due"))))
        section.rows.append(("of them seen", count(schedule.get("seen"))))
        for name, value in (schedule.get("delay_ms") or {}).items():
            section.rows.append((f"late, {name}", "—" if value is None else f"{value:,.3f} ms"))
    return section


def count(number: int | None) -> str:
    """A count with its thousands marked."""
    return "—" if number is None else f"{number:,}"


def share(part: float, whole: float) -> str:
    """A part of a whole as percent."""
    return f"{part / whole:.1%}" if whole else "—"
