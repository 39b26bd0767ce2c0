"""Capture analysis beside tcptrace and tshark, on a capture that is made here, in one run.

Every figure is the least of some runs of a whole process; ours and the peers' alternate. What else runs on
the machine only adds, most to two threads: they need both cores. Captures and the tables made of them lie in
memory where there is room: a page cache may lose pages between two runs, and then the disk is measured.
Peers are Debian's packages; where one is missing its columns stay empty, and so do those of the command
`airperf trace` where airperf is not installed (`make setup`). That, ours with one thread, and tcptrace are
bound to one core.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BENCH = TARGET / "release" / "airperf-bench"
ONE_CORE = ("taskset", "-c", "0")

# A file system in memory, and what captures and tables take at most.
MEMORY = Path("/dev/shm")  # noqa: S108 - the folders made there have random names
ROOM = 4 << 30

Figures = dict[str, float]

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


def spend(command: Sequence[str | Path], during: Callable[[int], None] = lambda _pid: None) -> Spent:
    """Runs a program to its end, its output thrown away, and does something with its number meanwhile."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        during(program.pid)
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.perf_counter() - start
    if program.returncode:
        raise subprocess.CalledProcessError(program.returncode, [str(word) for word in command])
    return Spent(wall_s, usage.ru_utime + usage.ru_stime)


def watched(command: Sequence[str | Path]) -> tuple[Spent, float]:
    """As :func:`spend`, and peak memory, MiB. To look at it takes time, most from two threads."""
    peaks = [0.0]

    def watch(pid: int) -> None:
        while resident := _resident(Path(f"/proc/{pid}/status")):
            peaks.append(resident)
            time.sleep(0.01)

    return spend(command, watch), max(peaks)


def _resident(status: Path) -> float:
    """VmHWM of a process in MiB; 0 when it has just ended."""
    try:
        lines = status.read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


@contextmanager
def places() -> Iterator[tuple[Path, Path]]:
    """Where captures lie, which is in memory if there is room, and a folder on the disk."""
    with tempfile.TemporaryDirectory(dir=TARGET) as disk:
        if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
            print("bench: no room in memory for captures: they are read from the disk", file=sys.stderr)
            yield Path(disk), Path(disk)
            return
        with tempfile.TemporaryDirectory(dir=MEMORY, prefix="airperf-bench-") as memory:
            yield Path(memory), Path(disk)


def _clear(*folders: Path) -> None:
    for folder in folders:
        for tables in folder.glob("*.tables-*"):
            shutil.rmtree(tables)


def _settled(runs: list[Spent]) -> bool:
    """Whether the three least times are within 3% of one another."""
    walls = sorted(run.wall_s for run in runs)
    return len(walls) >= 3 and walls[2] <= 1.03 * walls[0]


def alternate(
    commands: dict[str, Sequence[str | Path]], times: int, *folders: Path, most: int = 0
) -> tuple[dict[str, Spent], dict[str, float]]:
    """The least of programs that take turns, and their peak memory in a round before.

    There are ``times`` rounds, up to ``most`` for programs whose least time did not come again. Tables that
    they leave in ``folders`` are removed after each, in nobody's time.
    """
    peaks = {}
    for name, command in commands.items():
        _, peaks[name] = watched(command)
        _clear(*folders)
    runs: dict[str, list[Spent]] = {name: [] for name in commands}
    for turn in range(max(times, most)):
        for name, command in commands.items():
            if turn < times or not _settled(runs[name]):
                runs[name].append(spend(command))
                _clear(*folders)
    least = {name: Spent(min(r.wall_s for r in f), min(r.cpu_s for r in f)) for name, f in runs.items()}
    return least, peaks


@dataclass
class Size:
    """Of a capture file."""

    packets: float
    bytes: float


@dataclass
class Found:
    """What each program read, and the time and memory it took."""

    sizes: dict[str, Size]
    timed: dict[str, Spent]
    peaks_mib: dict[str, float]

    def packets_per_s(self, name: str, *, cpu: bool = False) -> float | None:
        """Packets that a program read in a second of wall (with `cpu` processor) time, where it ran."""
        if name not in self.timed:
            return None
        spent = self.timed[name]
        return self.sizes[name].packets / (spent.cpu_s if cpu else spent.wall_s)

    def bytes_per_s(self, name: str) -> float:
        """Bytes of the file that a program read in a second of wall time."""
        return self.sizes[name].bytes / self.timed[name].wall_s


def airperf() -> list[str | Path] | None:
    """The command as installed by `make setup`, or else as this Python finds it; None where there is none."""
    installed = ROOT / ".venv" / "bin" / "airperf"
    if installed.exists():
        return [installed]
    known = subprocess.run([sys.executable, "-c", "import airperf._core"], check=False, capture_output=True)
    return None if known.returncode else [sys.executable, "-m", "airperf"]


def figures(line: str) -> Figures:
    """The `name=value` pairs of a line whose values are numbers."""
    pairs = (word.split("=", 1) for word in line.split() if "=" in word)
    found = {}
    for name, value in pairs:
        try:
            found[name] = float(value)
        except ValueError:
            continue
    return found


def _size(path: Path, command: Sequence[str | Path]) -> Size:
    """Of a capture, whose packets our program counts while it makes or reads it."""
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Size(figures(said)["packets"], path.stat().st_size)


def make(path: Path, *numbers: int) -> Size:
    """Makes a capture of so many connections (at once, and packets at most)."""
    return _size(path, [BENCH, "make-capture", path, *map(str, numbers)])


KINDS = {"counted": "none", "summary": "summary", "all": "all"}
"""What our program is asked for: nothing but the summary, connections and exchanges, every table."""


def _ours(capture: Path, wanted: str, threads: int) -> list[str | Path]:
    # Bound to its core: what the kernel does for one thread uses others as well.
    return [*(ONE_CORE if threads == 1 else ()), BENCH, "capture", capture, wanted, str(threads)]


def _twice(capture: Path, wanted: str) -> list[str]:
    """Two processes at once, each on a core of its own, that have nothing to do with each other."""
    words = [str(BENCH), "capture", str(capture), wanted, "1"]
    first, second = (shlex.join(["taskset", "-c", core, *words]) for core in "01")
    return ["sh", "-c", f"{first} & {second} && wait $!"]


def _air(folder: Path, command: Sequence[str | Path], *, quick: bool) -> Path:
    """A capture of 802.11 with radiotap: two million frames of a simulated run, which takes seconds."""
    run = folder / "run"
    scenario = ROOT / "scenarios" / "bai2006-e1.toml"
    settings = ("--set", "client.rate=90/s", "--set", f"duration={120 if quick else 1_200}s")
    subprocess.run(
        [*command, "run", scenario, *settings, "--out", run], check=True, stdout=subprocess.DEVNULL
    )
    return run / "air.pcapng"


def against_peers(folder: Path, *, quick: bool) -> Found:
    """Ours on one core beside the peers'. With `quick` a smaller capture."""
    capture = folder / "web.pcap"
    size = make(capture, 4_000 if quick else 34_000)
    commands: dict[str, Sequence[str | Path]] = {
        name: _ours(capture, wanted, 1) for name, wanted in KINDS.items()
    }
    tables = folder / "export.tables-0"
    folders, others = [folder], {}
    if command := airperf():
        air = _air(folder, command, quick=quick)
        folders.append(air.parent)
        others["all, 802.11"] = _size(air, _ours(air, "none", 1))
        commands["all, 802.11"] = _ours(air, "all", 1)
        commands["command summary"] = [*ONE_CORE, *command, "trace", "summary", capture]
        export = ("trace", "export", "--tables", "connections,exchanges", "--out", tables, capture)
        commands["command export"] = [*ONE_CORE, *command, *export]
    if shutil.which("tcptrace"):
        commands["tcptrace"] = [*ONE_CORE, "tcptrace", "-l", "-r", "-n", capture]
    timed, peaks = alternate(commands, 5 if quick else 11, *folders, most=8 if quick else 33)
    if shutil.which("tshark"):
        fields = [word for column in COLUMNS for word in ("-e", column)]
        slow: dict[str, Sequence[str | Path]] = {
            "tshark conv": ["tshark", "-n", "-q", "-z", "conv,tcp", "-r", capture],
            "tshark fields": ["tshark", "-n", "-T", "fields", *fields, "-r", capture],
        }
        for name, reads in slow.items():
            timed[name], peaks[name] = watched(reads)
    capture.unlink()
    return Found(dict.fromkeys(timed, size) | others, timed, peaks)


def on_two_cores(folder: Path, disk: Path, *, quick: bool) -> Found:
    """Ours on one and two threads in ``folder``, and every table on the ``disk`` besides.

    Beside them two processes that share nothing: what two cores of this machine are worth at that work.
    The capture is shorter than that for the peers and there are more rounds: the moments in which nobody else
    wants one of two cores are short.
    """
    capture = folder / "two.pcap"
    size = make(capture, 4_000 if quick else 17_000)
    paths = {"": capture}
    if disk != folder:
        # The tables lie beside this name.
        paths[", on the disk"] = disk / capture.name
        paths[", on the disk"].symlink_to(capture)
    commands: dict[str, Sequence[str | Path]] = {
        f"{name}{place}, threads: {threads}": _ours(path, wanted, threads)
        for place, path in paths.items()
        for name, wanted in KINDS.items()
        for threads in (1, 2)
        if name == "all" or not place
    }
    pairs = {f"{name}, two processes": _twice(capture, wanted) for name, wanted in KINDS.items()}
    timed, peaks = alternate(commands | pairs, 5 if quick else 25, folder, disk, most=10 if quick else 75)
    capture.unlink()
    sizes = dict.fromkeys(commands, size) | dict.fromkeys(pairs, Size(2 * size.packets, 2 * size.bytes))
    # Of two processes the shell would be looked at.
    return Found(sizes, timed, {name: peak for name, peak in peaks.items() if name in commands})


@dataclass
class Memory:
    """Peak memory of every table, MiB."""

    short: float
    long: float
    """Of a capture ten times as long."""
    full: dict[str, float]
    """Of one with more connections at a time than are followed, by threads."""


def memory(folder: Path, *, quick: bool) -> Memory:
    """Peak memory of every table, of short, long and crowded captures."""
    capture = folder / "long.pcap"

    def of(threads: str, *numbers: int) -> float:
        make(capture, *numbers)
        _, peak = watched([BENCH, "capture", capture, "all", threads])
        _clear(folder)
        return peak

    short, long = (of("1", connections) for connections in ((400, 4_000) if quick else (2_400, 24_000)))
    crowd = (65_536, 65_536, 400_000 if quick else 1_500_000)
    full = {threads: of(threads, *crowd) for threads in ("1", "2")}
    capture.unlink()
    return Memory(short, long, full)
