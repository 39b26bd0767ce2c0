"""802.11 with losses: once MAC duplicates are taken out, tshark sees what airperf sees above the MAC.

The capture is the simulator's own. Duplicates and noise are told from tshark's fields by the definition in
docs/reference/captures.md, not by our code. tcptrace reads no 802.11. Leaves out airtime.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from explained import Tshark
from network import need
from ours import analyse
from peers import tshark
from taken import Taken

from airperf.cli.program import outcome

SETTINGS = (
    "link.frame_error=0.25",
    "link.retry_limit=3",
    'duration="3s"',
    'drain="2s"',
)


@pytest.fixture(scope="module")
def air(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture over a link that garbles every fourth frame and gives up early."""
    need("tshark", "editcap")
    folder = tmp_path_factory.mktemp("air")
    changes = [part for setting in SETTINGS for part in ("--set", setting)]
    code = outcome(["run", "bai2006-e1", *changes, "--seed", "5", "--out", str(folder / "run")])
    assert code == 0
    return folder / "run" / "air.pcapng"


def not_for_tcp(file: Path) -> tuple[set[int], set[int]]:
    """Frames that are MAC duplicates, and frames that are noise, from tshark's fields."""
    fields = (
        "frame.number",
        "wlan.fc.type",
        "wlan.fc.retry",
        "wlan.ta",
        "wlan.seq",
        "wlan.frag",
        "wlan.fcs.status",
    )
    argv = ["tshark", "-n", "-r", str(file), "-o", "wlan.check_checksum:TRUE", "-T", "fields"]
    argv += [part for field in fields for part in ("-e", field)]
    lines = subprocess.run(argv, capture_output=True, check=True, timeout=60, text=True).stdout.splitlines()
    duplicates, noise = set(), set()
    last: dict[str, tuple[str, str]] = {}
    for line in lines:
        number, kind, retry, sender, sequence, fragment, fcs = line.split("\t")
        if fcs in ("0", "Bad"):
            noise.add(int(number))
        elif kind == "2":
            if retry in ("1", "True") and last.get(sender) == (sequence, fragment):
                duplicates.add(int(number))
            last[sender] = (sequence, fragment)
    return duplicates, noise


@pytest.fixture(scope="module")
def stripped(air: Path) -> Taken:
    """Our view of the whole capture, and tshark's of what is for TCP, by the numbers of the whole."""
    duplicates, noise = not_for_tcp(air)
    left = air.with_name("stripped.pcapng")
    taken_out = [str(number) for number in sorted(duplicates | noise)]
    # editcap takes 512 numbers at a time; from the end, so that earlier ones stay right.
    source = air
    for step, start in enumerate(range(0, len(taken_out), 500)):
        chunk = taken_out[-start - 500 : len(taken_out) - start] if start else taken_out[-500:]
        target = left.with_name(f"left-{step}.pcapng")
        subprocess.run(
            ["editcap", str(source), str(target), *chunk], check=True, capture_output=True, timeout=60
        )
        source = target
    ours = analyse(air)
    total = ours.summary["packets"]
    kept = [number for number in range(1, total + 1) if str(number) not in set(taken_out)]
    packets = tshark(source)
    assert len(kept) == len(packets)
    return Taken(air, ours, dict(zip(kept, packets, strict=True)))


def test_mac_retransmissions_and_noise_are_those_of_the_definition(air: Path, stripped: Taken) -> None:
    duplicates, noise = not_for_tcp(air)
    ours = stripped.ours
    assert duplicates, "a capture without duplicates tests nothing"
    retries = sum(row["mac_retries_up"] + row["mac_retries_down"] for row in ours.connections.values())
    assert retries == len(duplicates)
    assert ours.summary["mac"]["bad_fcs"] == len(noise)


def test_above_the_mac_segments_and_verdicts_are_tsharks(stripped: Taken) -> None:
    ours = stripped.ours
    seen = {frame: packet.payload for frame, packet in stripped.tshark.items() if packet.stream is not None}
    assert {row["frame"]: row["payload_bytes"] for row in ours.segments} == seen
    assert stripped.same_connections()
    assert ours.summary["tcp"]["retransmitted"] > 0, "a capture without retransmissions tests nothing"
    for segments in stripped.segments().values():
        packets = [stripped.tshark[row["frame"]] for row in segments]
        rtt = next((p.initial_rtt_s for p in packets if p.initial_rtt_s is not None), None)
        model = Tshark(ours, None if rtt is None else round(rtt * 1e9))
        for row, packet in zip(segments, packets, strict=True):
            assert model.verdicts(row) == packet.verdicts, row
