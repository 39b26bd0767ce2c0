"""Why each segment was sent again: after duplicate acknowledgements, or because a timer ran out.

Model: what the sender must have seen, judged from the capture alone. The retransmission timer starts when
an octet is sent or something new is acknowledged (RFC 6298 §5); fast retransmission needs three duplicate
acknowledgements or SACK above the hole (RFC 5681 §3.2, 6675); until all that was outstanding is
acknowledged the sender goes on repairing (RFC 6582; after a timeout RFC 5681 §3.1); a tail loss probe
repeats the last segment without either (RFC 8985 §7). Leaves out which packets were lost, which only the
ends know: the segment that was sent before is named.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from airperf.analysis.capture.segments import SYN, Segment

LEAST_RTO_NS = 190_000_000
"""Shorter than a usual sender's least timeout: RFC 6298 asks for 1 s, Linux waits 200 ms; clocks err."""

DUPLICATES = 3
"""Duplicate acknowledgements that begin fast retransmission (RFC 5681 §3.2)."""

CAUSES = {
    "fast": "fast retransmission: three duplicate acknowledgements or SACK above the hole",
    "recovery": "further repairs before all that was outstanding then is acknowledged",
    "timeout": "retransmission timer ran out",
    "after_timeout": "sent again after a timeout, as acknowledgements came in",
    "probe": "tail loss probe: the last segment again, sooner than a timeout",
    "unknown": "none of these is visible in the capture",
}
"""Each cause and what it means."""


@dataclass(frozen=True, slots=True)
class Retransmission:
    """A segment that was sent again: the place in the list, why, and what was sent before.

    ``before`` is the place of the last segment that carried its first octet, None when that was not captured;
    ``waited_ns`` is the time since then.
    """

    place: int
    cause: str
    before: int | None
    waited_ns: int | None
    spurious: bool


def retransmissions(segments: Sequence[Segment]) -> list[Retransmission]:
    """Every retransmission of one connection, both ways, in order of capture."""
    ways = {True: _Way(), False: _Way()}
    found = []
    for place, segment in enumerate(segments):
        way = ways[segment.up]
        ways[not segment.up].acknowledged(segment)
        if segment.probing or segment.end == segment.seq:
            continue
        if segment.again:
            found.append(way.repeated(place, segment))
        way.sent(place, segment)
    return found


def causes(connections: Iterable[Sequence[Segment]]) -> Counter[str]:
    """How many retransmissions have each cause."""
    return Counter(found.cause for segments in connections for found in retransmissions(segments))


@dataclass(slots=True)
class _Way:
    """What is known of one sender: what it sent, and what it was told."""

    starts: list[int] = field(default_factory=list)
    places: list[tuple[int, int, int]] = field(default_factory=list)  # place, end, time
    again: dict[int, tuple[int, int]] = field(default_factory=dict)  # first octet: place, time
    high: int = 0
    acked: int = 0
    advanced_ns: int = 0
    told_ns: int = 0
    duplicates: int = 0
    crossed: int = 0
    sacked: int = 0
    recover: int = 0
    restart: int = 0

    def acknowledged(self, segment: Segment) -> None:
        """The other side said something."""
        if segment.ack is None:
            return
        if segment.ack > self.acked:
            self.acked, self.advanced_ns = segment.ack, segment.time_ns
            self.crossed, self.duplicates = self.duplicates, 0
        elif segment.duplicate_ack:
            self.duplicates += 1
            self.told_ns = segment.time_ns
        if segment.sack_to is not None and segment.sack_to > max(self.sacked, segment.ack):
            self.sacked, self.told_ns = segment.sack_to, segment.time_ns

    def sent(self, place: int, segment: Segment) -> None:
        """Something was sent, for the first time or again."""
        if segment.seq >= self.high or not self.starts:
            self.starts.append(segment.seq)
            self.places.append((place, segment.end, segment.time_ns))
        else:
            self.again[segment.seq] = (place, segment.time_ns)
        self.high = max(self.high, segment.end)

    def repeated(self, place: int, segment: Segment) -> Retransmission:
        """Something was sent again: why?"""
        before = self._before(segment.seq)
        waited = segment.time_ns - before[1] if before else None
        cause = self._cause(segment, waited)
        if cause == "timeout":
            self.restart = self.high
        elif cause == "fast":
            self.recover = self.high
        return Retransmission(place, cause, before[0] if before else None, waited, segment.spurious)

    def _before(self, seq: int) -> tuple[int, int] | None:
        """Place and time of the last segment that carried this octet."""
        found: list[tuple[int, int]] = []
        index = bisect_right(self.starts, seq) - 1
        if index >= 0 and self.places[index][1] > seq:
            place, _, time = self.places[index]
            found.append((place, time))
        if seq in self.again:
            found.append(self.again[seq])
        return max(found, default=None)

    def _cause(self, segment: Segment, waited: int | None) -> str:
        if segment.flags & SYN:
            return "timeout"
        timer = waited if waited is None else min(waited, segment.time_ns - self.advanced_ns)
        ran_out = timer is not None and timer >= LEAST_RTO_NS
        # What the sender knew when it decided: an acknowledgement may have crossed the segment since.
        duplicates = self.duplicates if segment.seq >= self.acked else self.crossed
        told = duplicates >= DUPLICATES or self.sacked > segment.seq
        if ran_out and not (told and segment.time_ns - self.told_ns < LEAST_RTO_NS):
            return "timeout"
        if self.acked < self.restart and segment.seq < self.restart:
            return "after_timeout"
        if self.acked < self.recover and segment.seq < self.recover:
            return "recovery"
        if told:
            return "fast"
        if waited is None:
            return "unknown"
        if waited >= LEAST_RTO_NS:
            return "timeout"  # its acknowledgement and the timer crossed
        return "probe" if segment.end == self.high else "unknown"
