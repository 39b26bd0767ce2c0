"""Load generation beside httperf, wrk, oha and vegeta: rates, processor time, when the SYNs left, overload.

nginx has one core, the generator another. Programs take turns, and of several rounds the median counts, so
that a machine that is busier for a while is so for all of them. For new connections wrk and httperf ask the
server to close (`Connection: close`), which is their best, airperf closes itself, oha and vegeta do as they
do without keep-alive; airperf is measured in both ways and judged by its own. Who closes keeps the port for
a second, and an address has 28,232: so airperf has two (`--source`), and its row with one stands beside. A
peer that is not installed is named and its rows are missing. `--fifo` runs server and generators alike with
real-time priority, for a machine that others use as well; what polls all the time, as httperf does, is then
stopped by the kernel for 5% of each second, so its schedule is not to be judged that way.

Usage: python3 benches/load.py [--quick] [--fifo] [--only PART] [--generator PATH]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import keep
import lab
from lab import PORT, Lab, Spent

ROOT = Path(__file__).resolve().parents[1]
AT_ONCE = 20
ENDLESS = 1_000_000_000
HTTPERF_RATES = (14_000, 17_000, 20_000, 24_000)
"""httperf knows no closed loop of new connections; its best of these rates counts."""
SCHEDULED = {100: 8.0, 1_000: 4.0, 10_000: 2.0}
"""Seconds at each rate."""
OFFERED, CARRIED, OVERLOAD_S, LINK = 2_000, 80, 15, "1mbit"

STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306)
"""Quantiles of 97.5% by degrees of freedom, from 1 on."""
PERSISTENT_ROUNDS = 3
"""How many times as many: there the server is the limit, and programs differ by less than runs of one."""

PAUSE_S = 1.2
"""Between programs: on loopback ports can be used again after a second."""

Figures = tuple[float, ...]
Program = Callable[[], Figures]


@dataclass
class Page:
    """Tables as they are printed and kept."""

    lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Adds a line, and shows it."""
        print(line, flush=True)
        self.lines.append(line)

    def head(self, title: str, *columns: str) -> None:
        """Begins a table."""
        for line in ("", f"## {title}", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"):
            self.say(line)

    def row(self, *cells: object) -> None:
        """Adds a row."""
        self.say(f"| {' | '.join(map(str, cells))} |")


def rounds(programs: dict[str, Program], count: int) -> dict[str, list[Figures]]:
    """The figures of programs that take turns, round by round."""
    seen: dict[str, list[Figures]] = {name: [] for name in programs}
    for _ in range(count):
        for name, program in programs.items():
            time.sleep(PAUSE_S)
            seen[name].append(program())
    return seen


def medians(seen: dict[str, list[Figures]]) -> dict[str, Figures]:
    """Of each program's rounds."""
    return {name: tuple(map(statistics.median, zip(*each, strict=True))) for name, each in seen.items()}


def beside(ours: list[Figures], theirs: list[Figures]) -> tuple[float, float]:
    """How many times as much we do, round by round, and the half width of its 95% interval (Student's t)."""
    logs = [math.log(a[0] / b[0]) for a, b in zip(ours, theirs, strict=True)]
    ratio, degrees = math.exp(statistics.fmean(logs)), len(logs) - 1
    if degrees < 1:
        return ratio, math.inf
    quantile = STUDENT[min(degrees, len(STUDENT)) - 1]
    return ratio, ratio * quantile * statistics.stdev(logs) / math.sqrt(len(logs))


def installed(*names: str) -> list[str]:
    """Those of the peers that are here."""
    return [name for name in names if shutil.which(name)]


def plan(place: Lab, seconds: float, **more: object) -> str:
    """A plan of ours as JSON."""
    target = {"address": place.address, "port": PORT, "host": place.address, "paths": ["/1k"]}
    whole = {"schema": 1, "target": target, "allow": [place.address], "duration_ns": int(seconds * 1e9)}
    return json.dumps({**whole, **more})


def httperf(place: Lab, *words: str) -> list[str]:
    """How httperf is called."""
    return ["httperf", f"--server={place.address}", f"--port={PORT}", "--uri=/1k", *words]


def oha(place: Lab, *words: str) -> list[str]:
    """How oha is called."""
    return ["oha", "--no-tui", "--output-format=json", *words, place.url]


def vegeta(rate: int, seconds: float) -> list[str]:
    """How vegeta is called: what it records is binary, and not wanted."""
    schedule = [f"-rate={rate}", f"-duration={seconds}s"]
    return ["vegeta", "attack", *schedule, "-keepalive=false", "-output=/dev/null"]


def most(page: Page, place: Lab, generator: Path, seconds: float, count: int) -> None:
    """Closed loop: exchanges per second, and processor microseconds for each."""
    page.head("The most", "what", "program", "per second", "CPU us each", "airperf is", "goal", "met")
    for what, calls in (("connections", 1), ("requests, persistent", ENDLESS)):
        programs = capacities(place, generator, seconds, lasting=calls > 1)
        seen = rounds(programs, count * PERSISTENT_ROUNDS if calls > 1 else count)
        figures = medians(seen)
        ours = figures["airperf"][0]
        others = {name: rate for name, (rate, _) in figures.items() if not name.startswith("airperf")}
        for name, (rate, each) in figures.items():
            goal, met = "", ""
            if name == "airperf" and others:
                best = max(others, key=others.__getitem__)
                ratio, half = beside(seen["airperf"], seen[best])
                goal = f"{best}'s {others[best]:,.0f} ({ratio:.2f} ± {half:.2f} times, round by round)"
                alike = ours < others[best] and 1 <= ratio + half < math.inf
                apart = ", but runs of one differ by more" if alike else ""
                met = yes(ours >= others[best]) + apart
            page.row(what, name, f"{rate:,.0f}", f"{each:.1f}", f"{ours / rate:.2f} times", goal, met)


def capacities(place: Lab, generator: Path, seconds: float, *, lasting: bool) -> dict[str, Program]:
    """Each program as it does the most, one request a connection or as many as there can be."""

    def airperf(*fields: tuple[str, str], sources: Sequence[str] = ("127.0.0.1",)) -> Figures:
        more = {
            "clients": [{"source": source} for source in sources],
            "concurrency_limit": AT_ONCE // len(sources),
            "requests_per_connection": ENDLESS if lasting else 1,
        }
        spent = lab.spend(place, [generator], plan(place, seconds, request_headers=fields, **more))
        done = int(json.loads(spent.said)["completed_in_time"])
        return done / seconds, spent.cpu_s / done * 1e6

    def wrk() -> Figures:
        close = [] if lasting else ["-H", "Connection: close"]
        spent = lab.spend(place, ["wrk", "-t1", f"-c{AT_ONCE}", f"-d{math.ceil(seconds)}", *close, place.url])
        done = int(spent.said.split(" requests in ")[0].split()[-1])
        return number(r"Requests/sec:\s+([\d.]+)", spent), spent.cpu_s / done * 1e6

    def by_oha() -> Figures:
        close = [] if lasting else ["--disable-keepalive"]
        spent = lab.spend(place, oha(place, f"-c{AT_ONCE}", f"-z{seconds}s", *close))
        told = json.loads(spent.said)
        done = sum(told["statusCodeDistribution"].values())
        return done / told["summary"]["total"], spent.cpu_s / done * 1e6

    def by_httperf() -> Figures:
        if lasting:
            each = f"--num-calls={int(4_000 * seconds)}"
            ways = [["--rate=10000", f"--num-conns={AT_ONCE}", each]]
        else:
            close = r"--add-header=Connection: close\n"
            ways = [[f"--rate={rate}", f"--num-conns={int(rate * seconds)}", close] for rate in HTTPERF_RATES]
        best = (0.0, math.nan)
        for way in ways:
            spent = lab.spend(place, httperf(place, *way))
            done = number(r"replies (\d+)", spent)
            best = max(best, (done / number(r"test-duration ([\d.]+)", spent), spent.cpu_s / done * 1e6))
        return best

    def by_vegeta() -> Figures:
        kept = place.folder / "vegeta.bin"
        lasts = f"-keepalive={str(lasting).lower()}"
        words = ["vegeta", "attack", "-rate=0", f"-max-workers={AT_ONCE}", lasts, f"-duration={seconds}s"]
        spent = lab.spend(place, [*words, f"-output={kept}"], f"GET {place.url}\n")
        told = subprocess.run(["vegeta", "report", "-type=json", kept], check=True, capture_output=True)
        figures = json.loads(told.stdout)
        done = figures["status_codes"].get("200", 0)
        return figures["throughput"], spent.cpu_s / max(done, 1) * 1e6

    peers = {"httperf": by_httperf, "wrk": wrk, "oha": by_oha, "vegeta": by_vegeta}
    ours: dict[str, Program] = {"airperf": airperf}
    if not lasting:
        ours = {
            "airperf": lambda: airperf(sources=("127.0.0.1", "127.0.0.2")),
            "airperf, one address": airperf,
            "airperf, Connection: close": lambda: airperf(("Connection", "close")),
        }
    return ours | {name: peers[name] for name in installed(*peers)}


def number(pattern: str, spent: Spent) -> float:
    """A figure of what a program printed."""
    found = re.search(pattern, spent.said)
    if found is None:
        raise SystemExit(f"no {pattern!r} in what was printed: {spent.said[-300:]!r}")
    return float(found[1])


def yes(met: bool) -> str:
    """Whether a goal was met."""
    return "yes" if met else "**no**"


def schedules(page: Page, place: Lab, generator: Path, count: int, scale: float) -> None:
    """Open loop: how late the SYNs were, of each program at each rate."""
    page.head("When the SYNs left", "rate", "program", "SYNs", "p50 us", "p99 us", "CPU %", "goal", "met")
    for rate, seconds in SCHEDULED.items():
        figures = medians(rounds(scheduled(place, generator, rate, seconds * scale), count))
        others = [tail for name, (_, _, tail, _) in figures.items() if name in {"oha", "vegeta"}]
        polling = math.inf if place.first else figures.get("httperf", (0, 0, math.inf, 0))[2] / 2
        goal = min(polling, min(others, default=math.inf) / 5)
        for name, (seen, middle, tail, share) in figures.items():
            judged = name == "airperf" and goal < math.inf
            wanted, met = (f"at most {goal:,.0f} us", yes(tail <= goal)) if judged else ("", "")
            page.row(
                rate, name, f"{seen:,.0f}", f"{middle:,.0f}", f"{tail:,.0f}", f"{share:.0f}", wanted, met
            )


def scheduled(place: Lab, generator: Path, rate: int, seconds: float) -> dict[str, Program]:
    """Each program at a rate: SYNs, their lateness at the median and at 99%, and the processor's share."""
    arrivals = {"rate_micro": rate * 1_000_000}
    commands: dict[str, tuple[list[str], str]] = {
        "airperf": ([str(generator)], plan(place, seconds, arrivals=arrivals)),
        "airperf, --spin 0": ([str(generator)], plan(place, seconds, arrivals=arrivals, spin_ns=0)),
        "httperf": (httperf(place, f"--rate={rate}", f"--num-conns={int(rate * seconds)}"), ""),
        "oha": (oha(place, "--disable-keepalive", f"-q{rate}", f"-n{int(rate * seconds)}"), ""),
        "vegeta": (
            vegeta(rate, seconds),
            f"GET {place.url}\n",
        ),
    }

    def run(name: str) -> Figures:
        times, spent = lab.captured(place, *commands[name])
        if len(times) < 2:
            return len(times), math.inf, math.inf, math.inf
        late = [lab.lateness_us(times, rate, share) for share in (0.5, 0.99)]
        return len(times), *late, 100 * spent.cpu_s / (times[-1] - times[0])

    names = ["airperf", "airperf, --spin 0", *installed("httperf", "oha", "vegeta")]
    return {name: (lambda name=name: run(name)) for name in names}  # type: ignore[misc]


def overload(page: Page, generator: Path, seconds: float, *, fifo: bool) -> None:
    """More connections than the link carries: whether they go on being opened when they are due."""
    page.head(
        f"Overload: {OFFERED:,}/s offered for {seconds:.0f} s to a link that carries some {CARRIED}/s",
        *("program", "SYNs", "in time", "longest pause ms", "p99 ms", "CPU %", "peak MiB", "goal", "met"),
    )
    for name in ["airperf", *installed("httperf", "oha", "vegeta")]:
        # A link of its own for each: what one leaves behind would be in the next one's way.
        with (
            tempfile.TemporaryDirectory(prefix="airperf-bench-") as folder,
            lab.slow_link(Path(folder), LINK, fifo=fifo) as place,
        ):
            times, spent = lab.captured(place, *overloading(name, place, generator, seconds))
        count = int(OFFERED * seconds)
        within = [at for at in times if at < times[0] + seconds + 0.1]
        pause = max((b - a for a, b in itertools.pairwise(within)), default=math.inf) * 1e3
        tail = lab.lateness_us(within, OFFERED, 0.99) / 1e3
        kept = len(within) >= 0.999 * count and pause < 50 and spent.peak_mib <= 50
        ours = name == "airperf"
        goal, met = ("all, no pause of 50 ms, at most 50 MiB", yes(kept)) if ours else ("", "")
        share = 100 * spent.cpu_s / spent.wall_s
        seen = f"{len(times):,}", f"{len(within) / count:.1%}", f"{pause:,.1f}", f"{tail:,.2f}"
        page.row(name, *seen, f"{share:.0f}", f"{spent.peak_mib:,.0f}", goal, met)


def overloading(name: str, place: Lab, generator: Path, seconds: float) -> tuple[list[str], str]:
    """A program that offers too much, whose users wait for 5 s, and what it reads."""
    if name == "airperf":
        more = {"arrivals": {"rate_micro": OFFERED * 1_000_000}, "timeout_ns": 5_000_000_000}
        return [str(generator)], plan(place, seconds, **more, drain_ns=1_000_000_000)
    if name == "httperf":
        return httperf(place, f"--rate={OFFERED}", f"--num-conns={int(OFFERED * seconds)}", "--timeout=5"), ""
    if name == "oha":
        return oha(place, "--disable-keepalive", f"-q{OFFERED}", f"-z{seconds}s", "-t5s", "-c10000"), ""
    return [*vegeta(OFFERED, seconds), "-timeout=5s"], f"GET {place.url}\n"


def processes(page: Page, place: Lab, generator: Path, seconds: float) -> None:
    """Arrivals on the wire: Kolmogorov and Smirnov's D of Poisson gaps, and the Hurst exponent of counts."""
    rate = 500
    arrivals: dict[str, object] = {"process": "poisson", "rate_micro": rate * 1_000_000}
    times, _ = lab.captured(place, [generator], plan(place, seconds, arrivals=arrivals))
    gaps = sorted(b - a for a, b in itertools.pairwise(times))
    n, mean = len(gaps), (times[-1] - times[0]) / len(gaps)
    expected = [1 - math.exp(-gap / mean) for gap in gaps]
    distance = max(max(abs(f - i / n), abs(f - (i + 1) / n)) for i, f in enumerate(expected))
    # 5 % point with the mean estimated from the data (Lilliefors 1969).
    limit = 1.06 / math.sqrt(n)
    page.head("Arrivals on the wire", "process", "n", "figure", "goal", "met")
    page.row("Poisson", f"{n:,}", f"D = {distance:.4f}", f"below {limit:.4f}", yes(distance < limit))
    arrivals = {"process": "self-similar", "rate_micro": 2_000_000_000, "hurst": 0.8}
    times, _ = lab.captured(place, [generator], plan(place, 10 * seconds, arrivals=arrivals))
    seen = hurst(times)
    page.row(
        "self-similar, H 0.8", f"{len(times):,}", f"H = {seen:.3f}", "0.75 to 0.85", yes(0.75 <= seen <= 0.85)
    )


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


def built() -> Path:
    """The generator, made from this checkout."""
    made = [
        "cargo",
        "build",
        "--locked",
        "--quiet",
        "--release",
        "-p",
        "airperf-load",
        "--example",
        "generate",
    ]
    subprocess.run(made, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "generate"


def measure(page: Page, generator: Path, only: Iterable[str], *, quick: bool, fifo: bool) -> None:
    """Everything that is wanted, a folder for each lab."""
    count, scale = (1, 0.5) if quick else (3, 1.0)
    with (
        tempfile.TemporaryDirectory(prefix="airperf-bench-") as name,
        lab.loopback(Path(name), fifo=fifo) as place,
    ):
        if "most" in only:
            most(page, place, generator, 2 * scale, count)
        if "schedule" in only:
            schedules(page, place, generator, count, scale)
        if "arrivals" in only:
            processes(page, place, generator, 10 * scale)
    if "overload" in only:
        overload(page, generator, OVERLOAD_S, fifo=fifo)


def main() -> int:
    """Measures everything that can be measured here, and keeps it."""
    parts = ("most", "schedule", "arrivals", "overload")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one round, half as long")
    parser.add_argument(
        "--fifo", action="store_true", help="real-time priority for server and generators alike"
    )
    parser.add_argument("--only", action="append", choices=parts, help="a part (default: all); keeps nothing")
    parser.add_argument(
        "--generator", type=Path, help="the example `generate` of airperf-load, already built"
    )
    asked = parser.parse_args()
    if not lab.ready():
        return 0
    peers = ("httperf", "wrk", "oha", "vegeta")
    for peer in peers:
        if shutil.which(peer) is None:
            print(f"SKIPPED {peer}: not installed; its rows are missing", file=sys.stderr)
    generator = asked.generator or built()
    page = Page()
    shared = ", everything with real-time priority" if asked.fifo else ""
    beside = ", ".join(installed(*peers))
    page.say(f"Load on this machine before: {os.getloadavg()[0]:.1f}{shared}. Beside airperf: {beside}.")
    measure(page, generator, asked.only or parts, quick=asked.quick, fifo=asked.fifo)
    if not asked.only:
        how = f"make bench LOAD=1{' QUICK=1' if asked.quick else ''}{' FIFO=1' if asked.fifo else ''}"
        print(keep.page(f"load{'-quick' if asked.quick else ''}", how, page.lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
