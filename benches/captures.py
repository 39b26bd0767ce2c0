"""Capture analysis beside tcptrace and tshark, on a capture that is made here, in one run.

Every figure is the median of some runs of a whole process, reading from the page cache; ours and the peers'
alternate. Peers are Debian's packages; where one is missing its columns stay empty.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "target" / "release" / "airperf-bench"

# What the studies' figures need of every packet: thirteen columns.
COLUMNS = (
    "frame.number frame.time_epoch frame.len ip.src ip.dst tcp.srcport tcp.dstport tcp.stream tcp.seq "
    "tcp.len tcp.flags tcp.analysis.retransmission http.request.uri"
).split()


@dataclass
class Spent:
    """What one run of a program took."""

    wall_s: float
    peak_mib: float


def spend(command: Sequence[str | Path]) -> Spent:
    """Runs a program to its end, its output thrown away; its peak memory is what the kernel says."""
    peaks = [0.0]

    def watch(status: Path) -> None:
        while resident := _resident(status):
            peaks.append(resident)
            time.sleep(0.01)

    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        # On another thread, so that the end is noticed at once and not at the next look.
        watcher = threading.Thread(target=watch, args=(Path(f"/proc/{program.pid}/status"),))
        watcher.start()
        program.wait()
        wall_s = time.perf_counter() - start
        watcher.join()
    if program.returncode:
        raise subprocess.CalledProcessError(program.returncode, [str(word) for word in command])
    return Spent(wall_s, max(peaks))


def _resident(status: Path) -> float:
    """VmHWM of a process in MiB; 0 when it has just ended."""
    try:
        lines = status.read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


@dataclass
class Timed:
    """Medians over some runs."""

    wall_s: float
    peak_mib: float


def alternate(commands: dict[str, Sequence[str | Path]], times: int) -> dict[str, Timed]:
    """Runs the programs in turn, `times` rounds of them, after one round that warms the page cache."""
    runs: dict[str, list[Spent]] = {name: [] for name in commands}
    for turn in range(times + 1):
        for name, command in commands.items():
            spent = spend(command)
            if turn:
                runs[name].append(spent)
    return {
        name: Timed(
            statistics.median(run.wall_s for run in found), statistics.median(run.peak_mib for run in found)
        )
        for name, found in runs.items()
    }


@dataclass
class Found:
    """The figures of one capture: packets, bytes, and each program's time and memory."""

    packets: float
    bytes: float
    timed: dict[str, Timed]

    def ratio(self, slower: str, faster: str) -> float | None:
        """How many times faster one is than the other; None where one did not run."""
        if slower not in self.timed or faster not in self.timed:
            return None
        return self.timed[slower].wall_s / self.timed[faster].wall_s


def make(path: Path, connections: int, figures: Callable[[str], dict[str, float]]) -> tuple[float, float]:
    """Makes a capture; gives its packets and bytes."""
    said = subprocess.run(
        [BENCH, "make-capture", path, str(connections)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    made = figures(said)
    return made["packets"], made["bytes"]


def measure(folder: Path, figures: Callable[[str], dict[str, float]], *, quick: bool) -> Found:
    """Ours on one and two threads beside the peers'. With `quick` a smaller capture."""
    capture = folder / "web.pcap"
    packets, size = make(capture, 4_000 if quick else 24_000, figures)
    kinds = {"counted": "none", "summary": "summary", "all": "all"}
    commands: dict[str, Sequence[str | Path]] = {
        name if threads == "1" else f"{name}, 2 threads": [BENCH, "capture", capture, tables, threads]
        for name, tables in kinds.items()
        for threads in ("1", "2")
    }
    if shutil.which("tcptrace"):
        commands["tcptrace"] = ["tcptrace", "-l", "-r", "-n", capture]
    timed = alternate(commands, 3 if quick else 5)
    if shutil.which("tshark"):
        fields = [word for column in COLUMNS for word in ("-e", column)]
        slow: dict[str, Sequence[str | Path]] = {
            "tshark conv": ["tshark", "-n", "-q", "-z", "conv,tcp", "-r", capture],
            "tshark fields": ["tshark", "-n", "-T", "fields", *fields, "-r", capture],
        }
        for name, command in slow.items():
            spent = spend(command)
            timed[name] = Timed(spent.wall_s, spent.peak_mib)
    capture.unlink()
    return Found(packets, size, timed)


def memory(folder: Path, figures: Callable[[str], dict[str, float]], *, quick: bool) -> tuple[float, float]:
    """Peak memory of every table of a capture and of one ten times as long, MiB."""
    capture = folder / "long.pcap"
    peaks = []
    for connections in (400, 4_000) if quick else (2_400, 24_000):
        make(capture, connections, figures)
        peaks.append(spend([BENCH, "capture", capture, "all", "1"]).peak_mib)
        capture.unlink()
    return peaks[0], peaks[1]
