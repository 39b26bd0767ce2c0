"""What tshark and tcptrace must say of a capture, computed from our tables and the packets' raw numbers.

This is docs/reference/retransmissions.md as a program. Where a peer classes a segment otherwise than we do,
the rule that it follows is applied to our columns; a test then demands equality, so that no tolerance is
needed. Reference: Wireshark's user's guide on TCP analysis, tcptrace's manual. Leaves out their round-trip
times: those are compared nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ours import ACK, FIN, RST, SYN, Analysis, Row
from peers import Direction, Packet

FAST_NS = 20_000_000
"""tshark: a fast retransmission comes so soon after the duplicate acknowledgements."""
OUT_OF_ORDER_NS = 3_000_000
"""tshark: out of order is what comes so soon after the highest segment, where no handshake was timed."""


TWICE_S = 0.1
"""airperf: the same packet again within this time was captured twice."""
TWICE_UNNAMED_S = 0.001
"""airperf: the same without an IP identification."""


def with_copies(analysis: Analysis, packets: Mapping[int, Packet]) -> dict[int, list[Row]]:
    """Segments of each connection, and those that airperf leaves out as captured twice.

    Peers take these for repeats. What is left out must be the copy of a packet of the
    same connection, and be counted there.
    """
    found = analysis.by_connection()
    ours = {row["frame"] for row in analysis.segments}
    missing = [packet for frame, packet in packets.items() if packet.stream is not None and frame not in ours]
    for connection, segments in found.items():
        rows = {row["frame"]: row for row in segments}
        streams = {packets[frame].stream for frame in rows}
        copies = [packet for packet in missing if packet.stream in streams]
        assert len(copies) == analysis.connections[connection]["duplicates"], (
            "not all are counted as captured twice"
        )
        for copy in copies:
            originals = [frame for frame in rows if is_copy(copy, packets[frame])]
            if not copy.identification:
                originals = [frame for frame in originals if not answered(frame, copy.frame, rows)]
            assert originals, "an answer of its own was taken for a copy"
            original = originals[0]
            novelty = "dup_syn" if copy.flags and copy.flags & SYN else "full" if copy.payload else "new"
            fin = novelty == "new" and bool(copy.flags and copy.flags & FIN)
            time_ns = rows[original]["time_ns"] + round((copy.time_s - packets[original].time_s) * 1e9)
            row = {**rows[original], "frame": copy.frame, "novelty": "dup_fin" if fin else novelty}
            segments.append({**row, "time_ns": time_ns})
        segments.sort(key=lambda row: int(row["frame"]))
        missing = [packet for packet in missing if packet not in copies]
    assert not missing, "segments that only tshark has"
    return found


def answered(original: int, copy: int, rows: Mapping[int, Row]) -> bool:
    """Whether the peer sent something between two frames of one side of a connection."""
    up = rows[original]["up"]
    return any(original < frame < copy and row["up"] != up for frame, row in rows.items())


def is_copy(packet: Packet, other: Packet) -> bool:
    """Whether a packet is another one, seen again a moment later."""
    window = TWICE_S if packet.identification else TWICE_UNNAMED_S
    names = ("stream", "flags", "payload", "window", "seq", "ack", "identification", "checksum")
    same = all(getattr(packet, name) == getattr(other, name) for name in names)
    return same and other.frame < packet.frame and abs(packet.time_s - other.time_s) <= window


@dataclass
class _Side:
    """What tshark remembers of one direction."""

    next: int | None = None
    next_ns: int = 0
    ack: int | None = None
    ack_ns: int = 0
    window: int | None = None
    duplicates: int = 0
    kept_alive: bool = False
    beyond: int = 0
    """Highest number of an acknowledgement without payload, which has no octets ``late`` asks for."""


@dataclass
class Tshark:
    """tshark's verdicts on the segments of one connection."""

    analysis: Analysis
    initial_rtt_ns: int | None
    sides: dict[bool, _Side] = field(default_factory=lambda: {True: _Side(), False: _Side()})

    def verdicts(self, segment: Row) -> frozenset[str]:
        """What tshark says of the connection's next segment."""
        mine, peer = self.sides[segment["up"]], self.sides[not segment["up"]]
        flags, seq, length = segment["flags"], segment["seq"], segment["payload_bytes"]
        window, plain = self.analysis.raw_window(segment), not flags & (SYN | FIN | RST)
        found: set[str] = set()
        probe = length == 1 and seq == mine.next and peer.window == 0
        if probe:
            found.add("zero_window_probe")
        else:
            if window == 0 and plain:
                found.add("zero_window")
            if plain and length <= 1 and mine.next is not None and seq == mine.next - 1:
                found.add("keep_alive")
            same = plain and length == 0 and window == mine.window
            same = same and seq == mine.next and segment["ack"] == mine.ack
            if same and window and not peer.kept_alive:
                mine.duplicates += 1
                found.add("duplicate_ack")
        if segment["ack"] != mine.ack:
            mine.duplicates = 0
        if "keep_alive" not in found and (length or flags & (SYN | FIN)):
            found |= self._repeat(segment, mine, peer)
        self._remember(segment, mine, window, found)
        return frozenset(found)

    def _repeat(self, segment: Row, mine: _Side, peer: _Side) -> set[str]:
        """What tshark calls a segment that we call a repeat or late.

        Whether it does not advance is told from ``novelty``; which of the four names it gets depends on time.
        """
        seq, length, now = segment["seq"], segment["payload_bytes"], segment["time_ns"]
        behind = segment["novelty"] != "new" or seq < mine.beyond
        # What begins with the last octet again is taken for the answer to a window probe.
        behind = behind and not (length > 1 and mine.next is not None and seq == mine.next - 1)
        acked = peer.ack or 0
        threshold = OUT_OF_ORDER_NS if self.initial_rtt_ns is None else self.initial_rtt_ns
        if behind and peer.duplicates >= 2 and acked == seq and _since(peer.ack_ns, now) < FAST_NS:
            return {"fast_retransmission", "retransmission"}
        if length and seq + length <= acked:
            return {"spurious_retransmission", "retransmission"}
        end = seq + length + bool(segment["flags"] & (SYN | FIN))
        if behind and _since(mine.next_ns, now) < threshold and end != mine.next:
            return {"out_of_order"}
        return {"retransmission"} if behind else set()

    @staticmethod
    def _remember(segment: Row, mine: _Side, window: int, found: set[str]) -> None:
        end = segment["seq"] + segment["payload_bytes"] + bool(segment["flags"] & (SYN | FIN))
        if "zero_window_probe" not in found and (mine.next is None or end > mine.next):
            mine.next, mine.next_ns = end, segment["time_ns"]
        mine.window, mine.ack, mine.ack_ns = window, segment["ack"], segment["time_ns"]
        mine.kept_alive = "keep_alive" in found
        if not segment["payload_bytes"]:
            mine.beyond = max(mine.beyond, segment["seq"] + bool(segment["flags"] & SYN))


def _since(then_ns: int, now_ns: int) -> float:
    """Time passed as tshark counts it: without a sign, so that time that goes back is very long."""
    return now_ns - then_ns if now_ns >= then_ns else float("inf")


@dataclass
class _Traced:
    """What tcptrace remembers of one direction."""

    packets: int = 0
    resets: int = 0
    pure_acks: int = 0
    unique_bytes: int = 0
    data_packets: int = 0
    data_bytes: int = 0
    repeated_packets: int = 0
    repeated_bytes: int = 0
    out_of_order: int = 0
    syns: int = 0
    fins: int = 0
    window: int | None = None
    """Last one offered; RSTs offer none."""
    seen: list[tuple[int, int]] = field(default_factory=list)

    def segment(self, row: Row, peer: _Traced, base: int) -> None:
        """Counts a segment; ``base`` keeps connections apart that tcptrace takes for one."""
        flags, payload = row["flags"], row["payload_bytes"]
        self.packets += 1
        self.syns += bool(flags & SYN)
        self.fins += bool(flags & FIN)
        self.resets += bool(flags & RST)
        self.data_packets += payload > 0
        self.data_bytes += payload
        if flags & RST:
            return
        length = payload + bool(flags & SYN) + bool(flags & FIN)
        self.pure_acks += bool(flags & ACK) and length == 0
        # Whatever is sent into a closed window is a probe.
        if length and peer.window != 0:
            self._octets(row, base + row["seq"], length)
        self.window = row["window"]

    def _octets(self, row: Row, first: int, length: int) -> None:
        last = first + length
        known = sum(max(0, min(last, end) - max(first, begin)) for begin, end in self.seen)
        self.repeated_packets += known > 0
        self.repeated_bytes += known
        # Out of order: it begins before a segment and does not reach the end of that.
        after = next(((begin, end) for begin, end in self.seen if end > first), None)
        self.out_of_order += after is not None and first < after[0] and last < after[1]
        again = known - (row["flags"] & SYN and self.syns > 1) - (bool(row["flags"] & FIN) and self.fins > 1)
        self.unique_bytes += max(0, row["payload_bytes"] - again)
        self.seen = _joined([*self.seen, (first, last)])

    def result(self) -> Direction:
        """The counts."""
        return Direction(**{name: getattr(self, name) for name in Direction.__dataclass_fields__})


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


APART = 1 << 40
"""More than any connection's sequence numbers."""


def tcptrace(segments: Iterable[Row], *, first_up: bool) -> tuple[Direction, Direction]:
    """What tcptrace counts over what it takes for one connection: of the first sender, and of the other."""
    sides = {True: _Traced(), False: _Traced()}
    for row in segments:
        sides[row["up"]].segment(row, sides[not row["up"]], row["connection"] * APART)
    return sides[first_up].result(), sides[not first_up].result()


def _after(number: int, other: int) -> bool:
    return 0 < (number - other) % 2**32 < 2**31


@dataclass
class _Ends:
    """What tcptrace remembers of two ends, by direction, to tell a connection from the next; raw numbers."""

    rows: list[Row] = field(default_factory=list)
    closed: bool = False
    syn: dict[bool, int] = field(default_factory=dict)
    syns: Counter[bool] = field(default_factory=Counter)
    window_end: dict[bool, int] = field(default_factory=dict)

    def begins_anew(self, row: Row, seq: int) -> bool:
        """Whether a SYN is another connection's: it is outside the peer's last window, or the third."""
        up = row["up"]
        end = self.window_end.get(not up)
        outside = end is None or _after(seq, end) or _after(self.syn.get(up, 0), seq)
        third = self.syns[up] > 1 and self.syn[up] != seq
        return bool(row["flags"] & SYN) and ((self.closed and outside) or third)

    def add(self, row: Row, packet: Packet) -> None:
        """Takes a segment."""
        up, flags = row["up"], row["flags"]
        self.rows.append(row)
        self.closed |= bool(flags & (FIN | RST))
        if flags & SYN:
            self.syn[up] = packet.seq or 0
            self.syns[up] += 1
        if flags & ACK:
            self.window_end[up] = (packet.ack or 0) + row["window"]


def tcptrace_connections(analysis: Analysis, packets: Mapping[int, Packet]) -> list[list[Row]]:
    """Our segments as tcptrace shares them out to connections, in order of their first frames.

    It goes by ends: when their ports are used again it may take two connections for one, and a SYN that
    is repeated after a RST may begin another.
    """
    found: list[_Ends] = []
    current: dict[tuple[Any, ...], _Ends] = {}
    rows = [row for segments in with_copies(analysis, packets).values() for row in segments]
    for row in sorted(rows, key=lambda row: int(row["frame"])):
        connection, packet = analysis.connections[row["connection"]], packets[row["frame"]]
        key = tuple(connection[name] for name in ("client", "client_port", "server", "server_port"))
        ends = current.get(key)
        if ends is None or ends.begins_anew(row, packet.seq or 0):
            ends = current[key] = _Ends()
            found.append(ends)
        ends.add(row, packet)
    return [ends.rows for ends in found]


def http_of_tshark(analysis: Analysis) -> tuple[Counter[str], Counter[int]]:
    """Methods and statuses that tshark counts: requests with a whole head, responses that are complete."""
    whole = [row for row in analysis.exchanges if row["method"] is not None and row["asked_ns"] is not None]
    answered = [row for row in analysis.exchanges if row["status"] is not None and row["complete"]]
    return Counter(row["method"] for row in whole), Counter(row["status"] for row in answered)
