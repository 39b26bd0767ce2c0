"""What else a sequence plot shows: slow start and delayed acknowledgements, inferred from the capture.

Model: slow start (RFC 5681 §3.1) grows what is sent per round trip by at least half, with delayed
acknowledgements too; a round ends when its first segment is acknowledged. An acknowledgement is called
delayed when it covers at most one segment, nothing else was outstanding, and it came later than the fastest
by what only a timer explains (RFC 9293 §3.8.6.3 allows 500 ms). Leaves out the windows themselves, which a
capture does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airperf.analysis.capture.recovery import Retransmission
from airperf.analysis.capture.segments import Segment

GROWTH = 1.4
"""Growth per round that counts as slow start: 1.5 with delayed acknowledgements, less what rounding takes."""

LEAST_ROUNDS = 3
DELAY_NS = 30_000_000
"""No timer for delayed acknowledgements in use is shorter: Linux's is 40 ms."""

MOST_DELAY_NS = 500_000_000


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of slow start of one sender, and in how many rounds it grew."""

    up: bool
    from_ns: int
    to_ns: int
    rounds: int


@dataclass(slots=True)
class _Growth:
    """Rounds of one sender since it began, or began anew."""

    from_ns: int
    mark: int | None = None
    octets: int = 0
    rounds: int = 0
    last: int = 0
    to_ns: int = 0

    def sent(self, segment: Segment) -> None:
        if self.mark is None:
            self.mark = segment.end
        self.octets += segment.payload_bytes

    def acknowledged(self, segment: Segment) -> bool:
        """Whether the growth goes on."""
        if self.mark is None or segment.ack is None or segment.ack < self.mark:
            return True
        grown = self.octets >= GROWTH * self.last
        if grown:
            self.rounds, self.last, self.to_ns = self.rounds + 1, self.octets, segment.time_ns
        self.mark, self.octets = None, 0
        return grown

    def phase(self, *, up: bool) -> list[Phase]:
        enough = self.rounds >= LEAST_ROUNDS
        return [Phase(up, self.from_ns, self.to_ns, self.rounds)] if enough else []


def slow_starts(segments: Sequence[Segment], again: Sequence[Retransmission]) -> list[Phase]:
    """Stretches of slow start, from first data or a timeout to the round that grew no more, or a loss."""
    causes = {found.place: found.cause for found in again}
    found: list[Phase] = []
    for up in (True, False):
        growth: _Growth | None = None
        begun = False
        for place, segment in enumerate(segments):
            if segment.up != up:
                if growth and not growth.acknowledged(segment):
                    found += growth.phase(up=up)
                    growth = None
                continue
            if not segment.payload_bytes or segment.probing:
                continue
            cause = causes.get(place)
            if growth and cause and cause != "after_timeout":
                found += growth.phase(up=up)
                growth = None
            if cause == "timeout" or not begun:
                growth, begun = _Growth(segment.time_ns), True
            if growth:
                growth.sent(segment)
        if growth:
            found += growth.phase(up=up)
    return sorted(found, key=lambda phase: phase.from_ns)


def delayed_acks(segments: Sequence[Segment]) -> list[int]:
    """Places of acknowledgements that a timer sent."""
    found = []
    for up in (True, False):
        samples = [s.rtt_ns for s in segments if s.up == up and s.rtt_ns is not None]
        if not samples:
            continue
        least, largest = min(samples), max(s.payload_bytes for s in segments if s.up != up)
        acked: int | None = None
        high = 0
        for place, segment in enumerate(segments):
            if segment.up != up:
                high = max(high, segment.end)
            if segment.up != up or segment.ack is None:
                continue
            covers = segment.ack - acked if acked is not None else None
            acked = max(acked or 0, segment.ack)
            if segment.rtt_ns is None or segment.payload_bytes or segment.ack < high:
                continue
            if covers is None or covers > largest:
                continue
            if DELAY_NS <= segment.rtt_ns - least <= MOST_DELAY_NS:
                found.append(place)
    return sorted(found)
