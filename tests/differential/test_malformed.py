"""Captures with something wrong: never a crash, tshark's packets up to the damage, tshark's connections.

More than two hundred variants, each from its seed. Segments that only tshark has are explained one by one:
their TCP header is not whole, or they are copies. Leaves out what the packets mean
where headers were changed.
"""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import malformed
import pytest
from explained import Tshark, is_copy
from network import need
from taken import Taken, read

SEEDS = 8
ORDERLY = ("as_they_are", "sliced", "reordered", "repeated", "gaps", "in_vlans", "padded", "captured_twice")
"""What leaves every header right, so that verdicts are compared, too."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all variants are, so that each is read once."""
    need("tshark")
    return tmp_path_factory.mktemp("malformed")


def variants(folder: Path, name: str) -> list[Taken]:
    """The variants of one kind, by seed, as airperf and tshark read them."""
    spoil, file = (name, "pcap") if name in malformed.PACKETS else ("as_they_are", name)
    files = [folder / f"{name}-{seed}.capture" for seed in range(SEEDS)]
    for seed, path in enumerate(files):
        if not path.exists():
            path.write_bytes(malformed.make(spoil, file, seed))
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(read, files))


def octets(name: str, seed: int) -> list[bytes]:
    """The packets of a variant."""
    return [record.octets for record in malformed.packets(name, "pcap", seed)]


def is_whole(packet: bytes) -> bool:
    """Whether a packet has a TCP header within its own lengths, behind whatever tags."""
    at = 12
    while packet[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    ip = packet[at + 2 :]
    if len(ip) < 20 or ip[0] >> 4 != 4:
        return False
    begin, total = (ip[0] & 15) * 4, struct.unpack("!H", ip[2:4])[0]
    tcp = ip[begin:]
    header = (tcp[12] >> 4) * 4 if len(tcp) >= 20 else 0
    return begin >= 20 and header >= 20 and total >= begin + header


def only_tshark(taken: Taken) -> set[int]:
    """Frames in which only tshark sees a segment."""
    ours = {row["frame"] for row in taken.ours.segments}
    theirs = {frame for frame, packet in taken.tshark.items() if packet.stream is not None}
    assert ours <= theirs
    return theirs - ours


@pytest.mark.parametrize("name", malformed.PACKETS)
def test_spoilt_packets_are_told_as_tshark_tells_them(name: str, folder: Path) -> None:
    for seed, taken in enumerate(variants(folder, name)):
        assert taken.ours.summary["packets"] == len(taken.tshark), seed
        packets = octets(name, seed)
        for frame in only_tshark(taken):
            packet, earlier = taken.tshark[frame], list(taken.tshark.values())[: frame - 1]
            copy = any(is_copy(packet, other) for other in earlier)
            assert copy or not is_whole(packets[frame - 1]), (seed, frame)
        assert taken.same_connections(), seed


@pytest.mark.parametrize("name", ORDERLY)
def test_verdicts_on_orderly_packets_are_tsharks(name: str, folder: Path) -> None:
    for seed, taken in enumerate(variants(folder, name)):
        for segments in taken.segments().values():
            packets = [taken.tshark[row["frame"]] for row in segments]
            rtt = next((p.initial_rtt_s for p in packets if p.initial_rtt_s is not None), None)
            model = Tshark(taken.ours, None if rtt is None else round(rtt * 1e9))
            for row, packet in zip(segments, packets, strict=True):
                assert model.verdicts(row) == packet.verdicts, (seed, row)


@pytest.mark.parametrize("name", malformed.FILES)
def test_spoilt_files_are_read_as_far_as_tshark_reads_them(name: str, folder: Path) -> None:
    for seed, taken in enumerate(variants(folder, name)):
        anomalies = taken.ours.summary["anomalies"]
        # tshark shows a record that claims more than was sent; one of more than 256 KiB ends its reading.
        left_out = anomalies.get("captured_above_original", 0)
        assert taken.ours.summary["packets"] + left_out == len(taken.tshark), seed
        assert "spoilt" in name or not left_out
        assert left_out or not only_tshark(taken), seed
        assert left_out or taken.same_connections(), seed
        assert "cut" in name or "spoilt" in name or taken.ours.summary["truncated_at"] is None, seed


def test_every_form_of_file_tells_the_same(tmp_path: Path) -> None:
    need("tshark")
    told = {}
    for name in ("pcap", "pcap_big_endian", "pcapng", "pcapng_big_endian", "gzip", "pcap_nanoseconds"):
        path = tmp_path / name
        path.write_bytes(
            malformed.FILES[name](malformed.packets("as_they_are", "pcap", 1), malformed.seeded("", 1))
        )
        ours = read(path).ours
        whole = name.startswith("pcapng") or name == "pcap_nanoseconds"
        times = [row["time_ns"] if whole else None for row in ours.segments]
        told[name] = (ours.summary["tcp"], ours.summary["http"], [row["seq"] for row in ours.segments])
        records = malformed.packets("as_they_are", "pcap", 1)
        assert not whole or times == [record.time_ns for record in records], name
    assert all(one == told["pcap"] for one in told.values())


def test_a_syn_ack_that_answers_a_repeated_syn_is_sent_again(tmp_path: Path) -> None:
    """The SYN between them shows that the second SYN-ACK, though the same, is an answer of its own."""
    records = malformed.repeated_handshake()
    path = tmp_path / "handshake.pcap"
    path.write_bytes(malformed.pcap(records))
    taken = read(path)
    assert sum("retransmission" in packet.verdicts for packet in taken.tshark.values()) == 2
    assert taken.ours.summary["tcp"]["retransmission_parts"]["dup_syn"] == 2
