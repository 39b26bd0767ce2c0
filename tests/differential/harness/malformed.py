"""Captures with something wrong, each made from a seed: the same seed, the same octets.

The conversations are built here, so that nothing is needed to make them. `PACKETS` spoils packets, `FILES`
spoils the file around them. Leaves out 802.11, whose damage crate ``wire`` tests.
"""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

BEGIN_NS = 1_700_000_000_000_000_000
ETHERNET = bytes.fromhex("020000000002020000000001")
SYN, ACK, FIN, RST, PUSH = 2, 16, 1, 4, 8


@dataclass(frozen=True)
class Record:
    """A packet and how it stands in the file."""

    time_ns: int
    octets: bytes
    original: int


def _sum(octets: bytes) -> int:
    total: int = sum(struct.unpack(f"!{(len(octets) + 1) // 2}H", octets + bytes(len(octets) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _segment(client: int, up: bool, seq: int, ack: int, flags: int, payload: bytes, number: int) -> bytes:
    ends = [(bytes((10, 0, 0, 1)), 40000 + client), (bytes((10, 0, 0, 2)), 80)]
    (source, sport), (target, dport) = ends if up else ends[::-1]
    options = struct.pack("!BBHBBBB", 2, 4, 1460, 1, 3, 3, 7) if flags & SYN else b""
    offset = (20 + len(options)) // 4 << 4
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq % 2**32, ack % 2**32, offset, flags, 500, 0, 0)
    tcp += options + payload
    pseudo = source + target + struct.pack("!BBH", 0, 6, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", _sum(pseudo + tcp)) + tcp[18:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), (number + 1) % 65535, 0x4000, 64, 6, 0)
    ip += source + target
    ip = ip[:10] + struct.pack("!H", _sum(ip)) + ip[12:]
    return ETHERNET + b"\x08\x00" + ip + tcp


def conversation(random_: random.Random) -> list[Record]:
    """Some connections with HTTP on them: whole, reset, unanswered; one near the wrap of sequence numbers."""
    packets: list[tuple[int, bytes]] = []
    for client in range(4):
        time_ns = BEGIN_NS + client * 3_000_000
        up, down = (2**32 - 300 if client == 1 else random_.randrange(2**32)), random_.randrange(2**32)
        script: list[tuple[bool, int, bytes]] = [(True, SYN, b""), (False, SYN | ACK, b""), (True, ACK, b"")]
        for _ in range(1 + client):
            script.append((True, ACK | PUSH, b"GET /x HTTP/1.1\r\nHost: test\r\n\r\n"))
            script.append((False, ACK, b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + b"x" * 1400))
            script += [(False, ACK, b"x" * 1000), (True, ACK, b""), (False, ACK | PUSH, b"x" * 600)]
            script.append((True, ACK, b""))
        closing = [(False, FIN | ACK, b""), (True, FIN | ACK, b""), (False, ACK, b"")]
        script += closing if client % 2 == 0 else [(True, RST | ACK, b"")]
        if client == 3:
            script = script[:1]
        for from_client, flags, payload in script:
            time_ns += random_.randrange(20_000, 900_000)
            seq, ack = (up, down) if from_client else (down, up)
            ack = ack if flags & ACK else 0
            octets = _segment(client, from_client, seq, ack, flags, payload, len(packets) * 4 + client)
            packets.append((time_ns, octets))
            length = len(payload) + bool(flags & (SYN | FIN))
            up, down = (up + length, down) if from_client else (up, down + length)
    packets.sort()
    return [Record(time_ns, octets, len(octets)) for time_ns, octets in packets]


def repeated_handshake() -> list[Record]:
    """A SYN-ACK that comes late, and its repeat, which answers a repeated SYN; neither is identified."""
    script = [(0, True, SYN), (1_000_000, False, SYN | ACK), (1_000_010, True, SYN)]
    script += [(1_000_070, False, SYN | ACK), (1_000_100, True, ACK)]
    records = []
    for number, (time_us, up, flags) in enumerate(script):
        seq, ack = (100 + (flags == ACK), 501) if up else (500, 101)
        octets = _segment(0, up, seq, ack if flags & ACK else 0, flags, b"", 65534 if not up else number)
        records.append(Record(BEGIN_NS + time_us * 1000, octets, len(octets)))
    return records


Spoil = Callable[[list[Record], random.Random], list[Record]]


def _sliced(records: list[Record], random_: random.Random) -> list[Record]:
    snap = random_.choice((54, 58, 60, 68, 96, 200))
    return [replace(record, octets=record.octets[:snap]) for record in records]


def _cut_within_headers(records: list[Record], random_: random.Random) -> list[Record]:
    chosen = {random_.randrange(len(records)) for _ in range(4)}
    return [
        replace(record, octets=record.octets[: random_.randrange(54)]) if place in chosen else record
        for place, record in enumerate(records)
    ]


def _flipped(low: int, high: int) -> Spoil:
    def spoil(records: list[Record], random_: random.Random) -> list[Record]:
        spoilt = list(records)
        long = [place for place, record in enumerate(records) if len(record.octets) > low]
        for place in random_.sample(long, 4):
            octets = bytearray(spoilt[place].octets)
            octets[random_.randrange(low, min(high, len(octets)))] ^= 1 << random_.randrange(8)
            spoilt[place] = replace(spoilt[place], octets=bytes(octets))
        return spoilt

    return spoil


def _lying(records: list[Record], random_: random.Random) -> list[Record]:
    spoilt = list(records)
    for place in random_.sample(range(len(records)), 3):
        octets = bytearray(spoilt[place].octets)
        at, value = random_.choice(
            (
                (14, 0x40),
                (14, 0x4F),
                (14, 0x65),
                (16, 0),
                (16, 255),
                (17, 19),
                (46, 0x00),
                (46, 0x40),
                (46, 0xF0),
            )
        )
        octets[at] = value
        spoilt[place] = replace(spoilt[place], octets=bytes(octets))
    return spoilt


def _reordered(records: list[Record], random_: random.Random) -> list[Record]:
    spoilt = list(records)
    for place in random_.sample(range(len(records) - 1), 5):
        a, b = spoilt[place], spoilt[place + 1]
        spoilt[place], spoilt[place + 1] = replace(b, time_ns=a.time_ns), replace(a, time_ns=b.time_ns)
    return spoilt


def _swapped_times(records: list[Record], random_: random.Random) -> list[Record]:
    spoilt = list(records)
    for place in random_.sample(range(len(records) - 1), 5):
        a, b = spoilt[place], spoilt[place + 1]
        spoilt[place], spoilt[place + 1] = replace(a, time_ns=b.time_ns), replace(b, time_ns=a.time_ns)
    return spoilt


def _repeated(records: list[Record], random_: random.Random) -> list[Record]:
    """Sent again with another identification, a quarter of a second later."""
    spoilt = list(records)
    for place in random_.sample(range(len(records)), 5):
        octets = bytearray(records[place].octets)
        octets[18:20] = struct.pack("!H", 60000 + place)
        octets[24:26] = b"\0\0"
        octets[24:26] = struct.pack("!H", _sum(bytes(octets[14:34])))
        spoilt.append(Record(records[-1].time_ns + 250_000_000 + place, bytes(octets), len(octets)))
    return spoilt


def _captured_twice(records: list[Record], random_: random.Random) -> list[Record]:
    spoilt = []
    for record in records:
        spoilt.append(record)
        if random_.random() < 0.2:
            spoilt.append(replace(record, time_ns=record.time_ns + 5_000))
    return spoilt


def _gaps(records: list[Record], random_: random.Random) -> list[Record]:
    return [record for record in records if random_.random() > 0.15]


def _in_vlans(records: list[Record], random_: random.Random) -> list[Record]:
    tags = b"".join(
        struct.pack("!HH", random_.choice((0x8100, 0x88A8)), 7) for _ in range(random_.randint(1, 2))
    )
    return [
        replace(
            record,
            octets=record.octets[:12] + tags + record.octets[12:],
            original=record.original + len(tags),
        )
        for record in records
    ]


def _padded(records: list[Record], random_: random.Random) -> list[Record]:
    rest = random_.randbytes(6)
    wide = [record.octets.ljust(60, rest[:1]) for record in records]
    return [replace(r, octets=octets, original=len(octets)) for r, octets in zip(records, wide, strict=True)]


PACKETS: dict[str, Spoil] = {
    "as_they_are": lambda records, _: records,
    "sliced": _sliced,
    "cut_within_headers": _cut_within_headers,
    "flipped_ethernet": _flipped(12, 14),
    "flipped_ip": _flipped(14, 34),
    "flipped_tcp": _flipped(34, 54),
    "flipped_payload": _flipped(54, 1500),
    "lying_lengths": _lying,
    "reordered": _reordered,
    "swapped_times": _swapped_times,
    "repeated": _repeated,
    "captured_twice": _captured_twice,
    "gaps": _gaps,
    "in_vlans": _in_vlans,
    "padded": _padded,
}


def pcap(records: list[Record], *, order: str = "<", nanoseconds: bool = False) -> bytes:
    """A pcap file."""
    magic, unit = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, 1)]
    for record in records:
        seconds, rest = divmod(record.time_ns, 10**9)
        head = struct.pack(f"{order}IIII", seconds, rest // unit, len(record.octets), record.original)
        parts += [head, record.octets]
    return b"".join(parts)


def pcapng(records: list[Record], *, order: str = "<") -> bytes:
    """A pcapng file with nanoseconds."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack(f"{order}I", 12 + len(body))
        return struct.pack(f"{order}I", kind) + length + body + length

    resolution = struct.pack(f"{order}HHB3xHH", 9, 1, 9, 0, 0)
    parts = [block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts.append(block(1, struct.pack(f"{order}HHI", 1, 0, 65535) + resolution))
    for record in records:
        stamp = (record.time_ns >> 32, record.time_ns & 0xFFFFFFFF)
        head = struct.pack(f"{order}IIIII", 0, *stamp, len(record.octets), record.original)
        parts.append(block(6, head + record.octets))
    return b"".join(parts)


File = Callable[[list[Record], random.Random], bytes]


def _cut(write: Callable[[list[Record]], bytes]) -> File:
    def make(records: list[Record], random_: random.Random) -> bytes:
        octets = write(records)
        return octets[: random_.randrange(200, len(octets))]

    return make


def _spoilt_record_head(records: list[Record], random_: random.Random) -> bytes:
    octets = bytearray(pcap(records))
    place = 24 + sum(16 + len(record.octets) for record in records[: random_.randrange(1, len(records))])
    octets[place + random_.randrange(8, 16)] ^= 1 << random_.randrange(8)
    return bytes(octets)


def _spoilt_block_head(records: list[Record], random_: random.Random) -> bytes:
    octets = bytearray(pcapng(records))
    last = len(pcapng(records[: random_.randrange(1, len(records))]))
    octets[last + random_.choice((4, 5, 20, 21, 24, 25))] ^= 1 << random_.randrange(8)
    return bytes(octets)


FILES: dict[str, File] = {
    "pcap": lambda records, _: pcap(records),
    "pcap_nanoseconds": lambda records, _: pcap(records, nanoseconds=True),
    "pcap_big_endian": lambda records, _: pcap(records, order=">"),
    "pcapng": lambda records, _: pcapng(records),
    "pcapng_big_endian": lambda records, _: pcapng(records, order=">"),
    "gzip": lambda records, _: gzip.compress(pcap(records), mtime=0),
    "pcap_cut": _cut(pcap),
    "pcapng_cut": _cut(pcapng),
    "gzip_cut": _cut(lambda records: gzip.compress(pcap(records), mtime=0)),
    "pcap_spoilt_head": _spoilt_record_head,
    "pcapng_spoilt_head": _spoilt_block_head,
}


def seeded(name: str, seed: int) -> random.Random:
    """The random numbers of a variant."""
    return random.Random(f"{name} {seed}")  # noqa: S311 (no secret)


def packets(spoil: str, file: str, seed: int) -> list[Record]:
    """The records of a variant."""
    random_ = seeded(f"{spoil} {file}", seed)
    return PACKETS[spoil](conversation(random_), random_)


def make(spoil: str, file: str, seed: int) -> bytes:
    """The octets of a variant."""
    return FILES[file](packets(spoil, file, seed), seeded(file, seed))
