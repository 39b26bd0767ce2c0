"""Capture analysis beside tcptrace and tshark, on a capture that is made here, in one run.

Every figure is the least of some runs of a whole process, reading from the page cache; ours and the peers'
alternate. What else runs on the machine only adds, most to two threads: they need both cores. Peers are
Debian's packages; where one is missing its columns stay empty, and so do those of the command `airperf trace`
where airperf is not installed (`make setup`). That, ours with one thread, and tcptrace are bound to one core.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BENCH = TARGET / "release" / "airperf-bench"
ONE_CORE = ("taskset", "-c", "0")

# What the studies' figures need of every packet: thirteen columns.
COLUMNS = (
    "frame.number frame.time_epoch frame.len ip.src ip.dst tcp.srcport tcp.dstport tcp.stream tcp.seq "
    "tcp.len tcp.flags tcp.analysis.retransmission http.request.uri"
).split()


@dataclass
class Spent:
    """What one run of a program took."""

    wall_s: float
    cpu_s: float
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
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.perf_counter() - start
        watcher.join()
    if program.returncode:
        raise subprocess.CalledProcessError(program.returncode, [str(word) for word in command])
    return Spent(wall_s, usage.ru_utime + usage.ru_stime, max(peaks))


def _resident(status: Path) -> float:
    """VmHWM of a process in MiB; 0 when it has just ended."""
    try:
        lines = status.read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def _clear(folder: Path) -> None:
    for tables in folder.glob("*.tables-*"):
        shutil.rmtree(tables)


def alternate(commands: dict[str, Sequence[str | Path]], times: int, folder: Path) -> dict[str, Spent]:
    """The least of programs that take turns for so many rounds, after one that warms the page cache.

    Tables that they leave in ``folder`` are removed after each, in nobody's time.
    """
    runs: dict[str, list[Spent]] = {name: [] for name in commands}
    for turn in range(times + 1):
        for name, command in commands.items():
            spent = spend(command)
            _clear(folder)
            if turn:
                runs[name].append(spent)
    return {
        name: Spent(min(r.wall_s for r in f), min(r.cpu_s for r in f), max(r.peak_mib for r in f))
        for name, f in runs.items()
    }


@dataclass
class Found:
    """The figures of one capture: packets, bytes, and each program's time and memory."""

    packets: float
    bytes: float
    timed: dict[str, Spent]

    def ratio(self, slower: str, faster: str, *, cpu: bool = False) -> float | None:
        """How many times faster one is than the other (with `cpu` by processor time), where both ran."""
        if slower not in self.timed or faster not in self.timed:
            return None
        both = self.timed[slower], self.timed[faster]
        return both[0].cpu_s / both[1].cpu_s if cpu else both[0].wall_s / both[1].wall_s


def airperf() -> list[str | Path] | None:
    """The command as installed by `make setup`, or else as this Python finds it; None where there is none."""
    installed = ROOT / ".venv" / "bin" / "airperf"
    if installed.exists():
        return [installed]
    known = subprocess.run([sys.executable, "-c", "import airperf._core"], check=False, capture_output=True)
    return None if known.returncode else [sys.executable, "-m", "airperf"]


def make(path: Path, figures: Callable[[str], dict[str, float]], *numbers: int) -> tuple[float, float]:
    """Makes a capture of so many connections (at once, and packets at most); gives its packets and bytes."""
    said = subprocess.run(
        [BENCH, "make-capture", path, *map(str, numbers)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    made = figures(said)
    return made["packets"], made["bytes"]


def measure(folder: Path, figures: Callable[[str], dict[str, float]], *, quick: bool) -> Found:
    """Ours on one and two threads beside the peers'. With `quick` a smaller capture."""
    capture = folder / "web.pcap"
    packets, size = make(capture, figures, 4_000 if quick else 34_000)
    kinds = {"counted": "none", "summary": "summary", "all": "all"}
    commands: dict[str, Sequence[str | Path]] = {}
    for name, wanted in kinds.items():
        # Bound to its core: what the kernel does for one thread, tables on the disk, uses others as well.
        commands[name] = [*ONE_CORE, BENCH, "capture", capture, wanted, "1"]
        commands[f"{name}, 2 threads"] = [BENCH, "capture", capture, wanted, "2"]
    tables = folder / "export.tables-0"
    if command := airperf():
        commands["command summary"] = [*ONE_CORE, *command, "trace", "summary", capture]
        export = ("trace", "export", "--tables", "connections,exchanges", "--out", tables, capture)
        commands["command export"] = [*ONE_CORE, *command, *export]
    if shutil.which("tcptrace"):
        commands["tcptrace"] = [*ONE_CORE, "tcptrace", "-l", "-r", "-n", capture]
    timed = alternate(commands, 5 if quick else 11, folder)
    if shutil.which("tshark"):
        fields = [word for column in COLUMNS for word in ("-e", column)]
        slow: dict[str, Sequence[str | Path]] = {
            "tshark conv": ["tshark", "-n", "-q", "-z", "conv,tcp", "-r", capture],
            "tshark fields": ["tshark", "-n", "-T", "fields", *fields, "-r", capture],
        }
        timed |= {name: spend(command) for name, command in slow.items()}
    capture.unlink()
    return Found(packets, size, timed)


@dataclass
class Memory:
    """Peak memory of every table, MiB."""

    short: float
    long: float
    """Of a capture ten times as long."""
    full: dict[str, float]
    """Of one with more connections at a time than are followed, by threads."""


def memory(folder: Path, figures: Callable[[str], dict[str, float]], *, quick: bool) -> Memory:
    """Peak memory of every table, of short, long and crowded captures."""
    capture = folder / "long.pcap"

    def peak(threads: str, *numbers: int) -> float:
        make(capture, figures, *numbers)
        peak_mib = spend([BENCH, "capture", capture, "all", threads]).peak_mib
        _clear(folder)
        return peak_mib

    short, long = (peak("1", connections) for connections in ((400, 4_000) if quick else (2_400, 24_000)))
    crowd = (65_536, 65_536, 400_000 if quick else 1_500_000)
    full = {threads: peak(threads, *crowd) for threads in ("1", "2")}
    capture.unlink()
    return Memory(short, long, full)
