"""Where load generation is measured: namespaces with nginx, programs and what they spend, SYNs of a capture.

Nothing of the host can be asked by mistake: no namespace has a way out, and no figure is taken before our own
nginx has answered. Leaves out what is measured (``load.py``).
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PORT = 8080
SERVER_CORE, CLIENT_CORE = "0", "1"
SIZE = 1024
NEEDED = ("ip", "nginx", "curl", "taskset", "tcpdump", "tc", "chrt")

NGINX = """
worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/log;
worker_rlimit_nofile 40000;
events {{ worker_connections 20000; }}
http {{ access_log off; keepalive_requests 1000000000;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{ listen {address}:{port} backlog=4096; root {folder}/www; }} }}
"""

Command = Sequence[str | Path]


@dataclass(frozen=True)
class Lab:
    """Where programs run, and whom they ask."""

    inside: tuple[str, ...]
    address: str
    device: str
    folder: Path
    first: tuple[str, ...]

    @property
    def url(self) -> str:
        """Of the object of 1 KiB."""
        return f"http://{self.address}:{PORT}/1k"


@dataclass(frozen=True)
class Spent:
    """What a program printed and cost."""

    said: str
    cpu_s: float
    wall_s: float
    peak_mib: float


@contextmanager
def loopback(folder: Path, *, fifo: bool) -> Iterator[Lab]:
    """One namespace with nginx and the generators in it."""
    name = f"airperf-bench-{os.getpid()}"
    with _namespaces(name):
        _ip("-n", name, "link", "set", "lo", "up")
        lab = Lab(("ip", "netns", "exec", name), "127.0.0.1", "lo", folder, _first(fifo=fifo))
        with _nginx(lab, name):
            yield lab


@contextmanager
def slow_link(folder: Path, rate: str, *, fifo: bool) -> Iterator[Lab]:
    """A client and a server, and a router between them that forwards at ``rate`` with a queue of 150 kB."""
    client, router, server = names = [f"airperf-bench-{os.getpid()}-{end}" for end in "crs"]
    with _namespaces(*names):
        for end, number, near in ((client, 1, "c0"), (server, 2, "s0")):
            far = f"r{number}"
            _ip("link", "add", near, "netns", end, "type", "veth", "peer", "name", far, "netns", router)
            _ip("-n", end, "addr", "add", f"10.77.{number}.1/24", "dev", near)
            _ip("-n", router, "addr", "add", f"10.77.{number}.254/24", "dev", far)
            _ip("-n", end, "link", "set", near, "up")
            _ip("-n", router, "link", "set", far, "up")
            other = f"10.77.{3 - number}.0/24"
            _ip("-n", end, "route", "add", other, "via", f"10.77.{number}.254")
            limit = ["tbf", "rate", rate, "burst", "3000", "limit", "150000"]
            _run("ip", "netns", "exec", router, "tc", "qdisc", "add", "dev", far, "root", *limit)
        _run("ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        lab = Lab(("ip", "netns", "exec", client), "10.77.2.1", "c0", folder, _first(fifo=fifo))
        with _nginx(lab, server):
            yield lab


def _first(*, fifo: bool) -> tuple[str, ...]:
    return ("chrt", "-f", "1") if fifo else ()


@contextmanager
def _namespaces(*names: str) -> Iterator[None]:
    made = []
    try:
        for name in names:
            _ip("netns", "add", name)
            made.append(name)
        yield
    finally:
        for name in made:
            _ip("netns", "delete", name)


@contextmanager
def _nginx(lab: Lab, where: str) -> Iterator[None]:
    (lab.folder / "www").mkdir(exist_ok=True)
    lab.folder.chmod(0o755)
    (lab.folder / "www" / "1k").write_bytes(b"a" * SIZE)
    config = lab.folder / "nginx.conf"
    config.write_text(NGINX.format(folder=lab.folder, port=PORT, address=lab.address), encoding="utf-8")
    start = [
        "ip",
        "netns",
        "exec",
        where,
        *lab.first,
        "taskset",
        "-c",
        SERVER_CORE,
        "nginx",
        "-c",
        str(config),
    ]
    with subprocess.Popen(start) as server:
        try:
            again = ["--retry", "20", "--retry-connrefused", "--retry-delay", "1"]
            answer = [*lab.inside, "curl", "--silent", "--fail", *again, lab.url]
            body = subprocess.run(answer, check=True, capture_output=True).stdout
            if body != b"a" * SIZE or server.poll() is not None:
                raise SystemExit("nginx of this bench does not serve; nothing was measured")
            yield
        finally:
            server.terminate()


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def spend(lab: Lab, command: Command, stdin: str = "") -> Spent:
    """Runs a program on the client's core, with a descriptor limit as high as may be."""
    words = [*lab.inside, *lab.first, "taskset", "-c", CLIENT_CORE, *map(str, command)]
    given, said = lab.folder / "stdin", lab.folder / "stdout"
    given.write_text(stdin, encoding="utf-8")
    peak, before = 0.0, time.monotonic()
    with given.open("rb") as source, said.open("wb") as sink:
        process = subprocess.Popen(words, stdin=source, stdout=sink, stderr=subprocess.PIPE)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, _peak_mib(process.pid))
            time.sleep(0.05)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - before
    assert process.stderr is not None  # noqa: S101 - asked for above
    complaint = process.stderr.read().decode(errors="replace").strip()
    process.stderr.close()
    if process.returncode:
        print(f"{command[0]} ended with {process.returncode}: {complaint[-300:]}", file=sys.stderr)
    text = said.read_text(encoding="utf-8", errors="replace")
    return Spent(text, usage.ru_utime + usage.ru_stime, wall, peak)


def _peak_mib(pid: int) -> float:
    """The most memory it has had; not from wait4(2), which counts that of the parent before exec(2)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    line = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0 kB")
    return int(line.split()[1]) / 1024


def captured(lab: Lab, command: Command, stdin: str = "") -> tuple[list[float], Spent]:
    """Runs a generator; when its SYNs left, and what it spent."""
    path = lab.folder / "syn.pcap"
    path.unlink(missing_ok=True)
    only = f"tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn and dst port {PORT}"
    how = ["-n", "--immediate-mode", "-U", "-s", "64", "-B", "65536", "--time-stamp-precision=nano"]
    words = [
        *lab.inside,
        "taskset",
        "-c",
        SERVER_CORE,
        "tcpdump",
        "-i",
        lab.device,
        *how,
        "-w",
        str(path),
        only,
    ]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as dump:
        try:
            while not path.exists() or path.stat().st_size < 24:
                if dump.poll() is not None:
                    raise SystemExit("tcpdump does not capture here; nothing was measured")
                time.sleep(0.05)
            spent = spend(lab, command, stdin)
            time.sleep(0.5)
        finally:
            dump.terminate()
    return syns(path), spent


def syns(path: Path) -> list[float]:
    """Times of the first SYN of every connection in a nanosecond pcap of Ethernet and IPv4, seconds."""
    data = path.read_bytes()
    if struct.unpack_from("<I", data)[0] != 0xA1B23C4D:
        raise SystemExit("tcpdump did not write a nanosecond capture")
    first: dict[tuple[int, int], float] = {}
    at = 24
    while at + 16 <= len(data):
        seconds, nanoseconds, kept, _ = struct.unpack_from("<IIII", data, at)
        if at + 16 + kept > len(data):
            break
        port, _, sequence = struct.unpack_from(">HHI", data, at + 16 + 14 + 20)
        first.setdefault((port, sequence), seconds + nanoseconds / 1e9)
        at += 16 + kept
    return sorted(first.values())


def lateness_us(times: list[float], rate: float, share: float) -> float:
    """How late SYNs were after an even schedule through the earliest of them, microseconds, at this share."""
    late = sorted(at - i / rate for i, at in enumerate(times))
    return (late[min(len(late) - 1, math.ceil(share * len(late)) - 1)] - late[0]) * 1e6


def ready() -> bool:
    """Whether what is needed is installed; raises the limit of descriptors for all that is started."""
    for need in NEEDED:
        if shutil.which(need) is None:
            print(f"SKIPPED the measurement of load generation: {need} is not installed", file=sys.stderr)
            return False
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return True
