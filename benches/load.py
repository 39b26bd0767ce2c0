"""Load generation beside httperf, wrk, oha and vegeta in one run: rates, processor time, when the SYNs left.

Everything happens in a network namespace of its own (root is needed): nginx on one core, the generator on
another, tcpdump for the SYNs. Nothing of the host can be asked by mistake: there is no way out of the
namespace, and no figure is taken before our own nginx has answered. A peer that is not installed is named and
its rows are missing.

Usage: python3 benches/load.py [--seconds N] [--generator PATH]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PORT = 8080
URL = f"http://127.0.0.1:{PORT}/1k"
SERVER_CORE, CLIENT_CORE = "0", "1"
AT_ONCE = 20
RATES = (100, 1_000, 10_000)

NGINX = """
worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/log;
events {{ worker_connections 20000; }}
http {{ access_log off; keepalive_requests 1000000000;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{ listen 127.0.0.1:{port} backlog=4096; root {folder}/www; }} }}
"""

Command = Sequence[str | Path]


@contextmanager
def lab(folder: Path) -> Iterator[list[str]]:
    """A namespace with nginx in it; gives the words that run a command there."""
    name = f"airperf-bench-{os.getpid()}"
    (folder / "www").mkdir()
    folder.chmod(0o755)
    (folder / "www" / "1k").write_bytes(b"a" * 1024)
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=PORT), encoding="utf-8")
    inside = ["ip", "netns", "exec", name]
    subprocess.run(["ip", "netns", "add", name], check=True)
    server = None
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        server = subprocess.Popen([*inside, "taskset", "-c", SERVER_CORE, "nginx", "-c", str(config)])
        answer = [
            *inside,
            "curl",
            "--silent",
            "--fail",
            "--retry",
            "20",
            "--retry-connrefused",
            "--retry-delay",
            "1",
            URL,
        ]
        body = subprocess.run(answer, check=True, capture_output=True).stdout
        if body != b"a" * 1024 or server.poll() is not None:
            raise SystemExit("nginx of this bench does not serve; nothing was measured")
        yield inside
    finally:
        if server is not None:
            server.terminate()
            server.wait()
        subprocess.run(["ip", "netns", "delete", name], check=True)


def spend(command: Command, stdin: str | None = None) -> tuple[str, float]:
    """Runs a program on the client's core: what it printed, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["taskset", "-c", CLIENT_CORE, *command]
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def plan(seconds: float, **more: object) -> str:
    """A plan of ours as JSON."""
    target = {"address": "127.0.0.1", "port": PORT, "host": "127.0.0.1", "paths": ["/1k"]}
    return json.dumps({"schema": 1, "target": target, "duration_ns": int(seconds * 1e9), **more})


def most(inside: list[str], generator: Path, seconds: float) -> None:
    """Closed loop: exchanges per second, and and processor microseconds for each."""
    print("| what | program | per second | CPU us each |\n|---|---|---|---|")
    for what, calls, header in (
        ("connections", 1, ["-H", "Connection: close"]),
        ("requests, persistent", 1_000_000_000, []),
    ):
        ours, cpu = spend(
            [*inside, generator], plan(seconds, concurrency_limit=AT_ONCE, requests_per_connection=calls)
        )
        count = json.loads(ours)["completed"]
        print(f"| {what} | airperf | {count / seconds:,.0f} | {cpu / count * 1e6:.1f} |")
        if shutil.which("wrk"):
            said, cpu = spend([*inside, "wrk", "-t1", f"-c{AT_ONCE}", f"-d{seconds:.0f}", *header, URL])
            count = int(said.split(" requests in ")[0].split()[-1])
            print(f"| {what} | wrk | {count / seconds:,.0f} | {cpu / count * 1e6:.1f} |")
        if shutil.which("oha"):
            keep = ["--disable-keepalive"] if calls == 1 else []
            words = ["oha", "--no-tui", "--output-format", "json", f"-c{AT_ONCE}", f"-z{seconds:.0f}s", *keep, URL]
            said, cpu = spend([*inside, *words])
            count = sum(json.loads(said)["statusCodeDistribution"].values())
            print(f"| {what} | oha | {count / seconds:,.0f} | {cpu / count * 1e6:.1f} |")


def syns(path: Path) -> list[float]:
    """Times of the first SYN of every connection in a nanosecond pcap of Ethernet and IPv4, seconds."""
    data = path.read_bytes()
    if struct.unpack_from("<I", data)[0] != 0xA1B23C4D:
        raise SystemExit("tcpdump did not write a nanosecond capture")
    first: dict[tuple[int, int], float] = {}
    at = 24
    while at + 16 <= len(data):
        seconds, nanoseconds, kept, _ = struct.unpack_from("<IIII", data, at)
        port, _, sequence = struct.unpack_from(">HHI", data, at + 16 + 14 + 20)
        first.setdefault((port, sequence), seconds + nanoseconds / 1e9)
        at += 16 + kept
    return sorted(first.values())


def captured(
    inside: list[str], folder: Path, command: Command, stdin: str | None = None
) -> tuple[list[float], float]:
    """Runs a generator; when its SYNs left, and its processor seconds."""
    path = folder / "syn.pcap"
    only = f"tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn and dst port {PORT}"
    words = [
        "tcpdump",
        "-i",
        "lo",
        "-n",
        "--immediate-mode",
        "-U",
        "-s",
        "64",
        "-B",
        "65536",
        "--time-stamp-precision=nano",
        "-w",
        str(path),
        only,
    ]
    with subprocess.Popen([*inside, *words], stderr=subprocess.DEVNULL) as dump:
        while not path.exists() or path.stat().st_size < 24:
            time.sleep(0.05)
        _, cpu = spend([*inside, *command], stdin)
        time.sleep(0.5)
        dump.terminate()
    times = syns(path)
    path.unlink()
    return times, cpu


def lateness_us(times: list[float], rate: float, share: float) -> float:
    """How late SYNs were after an even schedule through the earliest of them, microseconds, at this share."""
    late = [at - i / rate for i, at in enumerate(times)]
    first = min(late)
    return sorted(late)[min(len(late) - 1, math.ceil(share * len(late)) - 1)] * 1e6 - first * 1e6


def schedules(inside: list[str], generator: Path, folder: Path, seconds: float) -> None:
    """Open loop: how late the SYNs were, of each program at each rate."""
    print("\n| rate | program | SYNs | p50 us | p99 us | CPU % |\n|---|---|---|---|---|---|")
    for rate in RATES:
        count = int(rate * seconds)
        arrivals = {"rate_micro": rate * 1_000_000}
        programs: dict[str, tuple[list[str | Path], str | None]] = {
            "airperf": ([generator], plan(seconds, arrivals=arrivals)),
            "airperf, spin 50 us": ([generator], plan(seconds, arrivals=arrivals, spin_ns=50_000)),
        }
        if shutil.which("httperf"):
            where = ["--server=127.0.0.1", f"--port={PORT}", "--uri=/1k"]
            programs["httperf"] = (["httperf", *where, f"--rate={rate}", f"--num-conns={count}"], None)
        if shutil.which("oha"):
            words = ["oha", "--no-tui", "--disable-keepalive", f"-q{rate}", f"-n{count}", URL]
            programs["oha"] = (list(words), None)
        if shutil.which("vegeta"):
            words = ["vegeta", "attack", f"-rate={rate}", f"-duration={seconds}s", "-keepalive=false"]
            programs["vegeta"] = (list(words), f"GET {URL}\n")
        for name, (command, stdin) in programs.items():
            times, cpu = captured(inside, folder, command, stdin)
            if len(times) > 1:
                middle, tail = (lateness_us(times, rate, share) for share in (0.5, 0.99))
                share = 100 * cpu / (times[-1] - times[0])
                print(f"| {rate} | {name} | {len(times)} | {middle:,.0f} | {tail:,.0f} | {share:.0f} |")


def processes(inside: list[str], generator: Path, folder: Path, seconds: float) -> None:
    """Arrivals on the wire: Kolmogorov and Smirnov's D of Poisson gaps, and the Hurst exponent of counts."""
    rate = 500
    arrivals: dict[str, object] = {"process": "poisson", "rate_micro": rate * 1_000_000}
    times, _ = captured(inside, folder, [generator], plan(seconds, arrivals=arrivals))
    gaps = sorted(b - a for a, b in itertools.pairwise(times))
    n, mean = len(gaps), (times[-1] - times[0]) / len(gaps)
    expected = [1 - math.exp(-gap / mean) for gap in gaps]
    distance = max(max(abs(f - i / n), abs(f - (i + 1) / n)) for i, f in enumerate(expected))
    # 5 % point with the mean estimated from the data (Lilliefors 1969).
    limit = 1.06 / math.sqrt(n)
    print("\n| process | n | figure | wanted |\n|---|---|---|---|")
    print(f"| Poisson | {n} | D = {distance:.4f} | < {limit:.4f} |")
    arrivals = {"process": "self-similar", "rate_micro": 2_000_000_000, "hurst": 0.8}
    times, _ = captured(inside, folder, [generator], plan(10 * seconds, arrivals=arrivals))
    print(f"| self-similar, H 0.8 | {len(times)} | H = {hurst(times):.3f} | 0.75 to 0.85 |")


def hurst(times: list[float], bin_s: float = 0.1) -> float:
    """Slope of the variance of block means over their length, less Poisson's own share of it."""
    counts = [0] * int((times[-1] - times[0]) / bin_s)
    for at in times:
        place = int((at - times[0]) / bin_s)
        if place < len(counts):
            counts[place] += 1
    mean = sum(counts) / len(counts)
    points = []
    length = 1
    while len(counts) // length >= 16:
        means = [sum(counts[i : i + length]) / length for i in range(0, len(counts) - length + 1, length)]
        variance = sum((m - mean) ** 2 for m in means) / (len(means) - 1) - mean / length
        if variance > 0:
            points.append((math.log(length), math.log(variance)))
        length *= 2
    x, y = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    slope = sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)
    return 1 + slope / 2


def main() -> int:
    """Measures everything that can be measured here."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="length of each measurement")
    parser.add_argument(
        "--generator", type=Path, help="the example `generate` of airperf-load, already built"
    )
    asked = parser.parse_args()
    for need in ("ip", "nginx", "curl", "taskset", "tcpdump"):
        if shutil.which(need) is None:
            print(f"SKIPPED the measurement of load generation: {need} is not installed", file=sys.stderr)
            return 0
    for peer in ("httperf", "wrk", "oha", "vegeta"):
        if shutil.which(peer) is None:
            print(f"SKIPPED {peer}: not installed; its rows are missing", file=sys.stderr)
    generator = asked.generator
    if generator is None:
        subprocess.run(
            [
                "cargo",
                "build",
                "--locked",
                "--quiet",
                "--release",
                "-p",
                "airperf-load",
                "--example",
                "generate",
            ],
            cwd=ROOT,
            check=True,
        )
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        generator = target / "release" / "examples" / "generate"
    print(f"Load on this machine before: {os.getloadavg()[0]:.1f}; near 1 or above it spoils the figures\n")
    with tempfile.TemporaryDirectory(prefix="airperf-bench-") as name:
        folder = Path(name)
        with lab(folder) as inside:
            most(inside, generator, asked.seconds)
            schedules(inside, generator, folder, asked.seconds)
            processes(inside, generator, folder, asked.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
