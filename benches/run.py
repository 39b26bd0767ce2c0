"""Measures airperf beside ns-3, tcptrace and tshark in one run and writes the table under benches/results/.

The simulators are built here, from this checkout and from Debian's libns3-dev. Absolute times belong to the
machine and the moment; the ratios are what we claim. Where a peer is not installed its columns stay empty.

Usage: python3 benches/run.py [--quick] [--captures]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import captures
from captures import Figures, figures

ROOT = Path(__file__).resolve().parents[1]
BUILD = captures.TARGET / "ns3"
RESULTS = ROOT / "benches" / "results"
BENCH = captures.BENCH
NS3_LIBRARIES = (
    "applications internet wifi mobility propagation traffic-control bridge spectrum antenna energy network "
    "stats core"
).split()

# Nanoseconds per transmission of the prototype's kernel, by saturated stations.
KERNEL_ANCHOR = {1: 8.3, 2: 8.1, 3: 8.3, 10: 9.5, 50: 13.0, 200: 16.3}


@dataclass
class Row:
    """One line of the result: what was measured, both figures, and what we want of them."""

    what: str
    unit: str
    ours: float | None
    theirs: float | None = None
    ratio: float | None = None
    goal: str = ""
    met: bool | None = None


def execute(command: list[str | Path]) -> str:
    """Runs a program and returns what it printed; its complaints go to the terminal."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def ours(*arguments: object, times: int = 1) -> Figures:
    """Runs our program; with `times` the median of each figure."""
    runs = [figures(execute([BENCH, *map(str, arguments)])) for _ in range(times)]
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def build_ns3() -> bool:
    """Compiles the ns-3 programs if ns-3 is here and they are out of date."""
    if shutil.which("g++") is None or not Path("/usr/include/ns3").is_dir():
        return False
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in ("webbench", "macbench"):
        source, program = ROOT / "benches" / "ns3" / f"{name}.cc", BUILD / name
        if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
            continue
        libraries = [f"-lns3-{library}" for library in NS3_LIBRARIES]
        flags = ["-O2", "-DNDEBUG", "-DNS3_VER=337", "-std=c++17"]
        execute(["g++", *flags, source, "-o", program, *libraries])
    return True


def ns3(program: str, **options: object) -> Figures:
    """Runs an ns-3 program."""
    return figures(execute([BUILD / program, *(f"--{k}={v}" for k, v in options.items())]))


def against_ns3(
    what: str, clients: int, rate: int, seconds: int, ns3_seconds: int, goal: float | None, *, with_ns3: bool
) -> Row:
    """Simulated seconds per wall second of the full stack, ours measured before and after ns-3."""
    before = [ours("stack", clients, rate, seconds)["simulated_per_wall"] for _ in range(3)]
    theirs = None
    if with_ns3:
        theirs = ns3("webbench", n=clients, rate=rate, dur=ns3_seconds)["simPerWall"]
    after = [ours("stack", clients, rate, seconds)["simulated_per_wall"] for _ in range(3)]
    mine = statistics.median(before + after)
    ratio = mine / theirs if theirs else None
    return Row(
        what,
        "simulated s per wall s",
        mine,
        theirs,
        ratio,
        f"at least {goal:,.0f} times" if goal else "",
        ratio >= goal if ratio is not None and goal else None,
    )


def kernel_rows(wall_s: int) -> list[Row]:
    """The DCF kernel against twice the prototype's time, beside a per-slot walk on this machine."""
    rows = []
    for stations, anchor in KERNEL_ANCHOR.items():
        mine = ours("kernel", stations, wall_s, times=3)["ns"]
        walk = ours("per-slot", stations, wall_s)["ns"]
        rows.append(
            Row(
                f"DCF kernel, {stations} station{'s' if stations > 1 else ''} (beside: per-slot walk)",
                "ns per transmission",
                mine,
                walk,
                walk / mine,
                f"at most {2 * anchor:.1f}",
                mine <= 2 * anchor,
            )
        )
    return rows


def capture_rows(*, quick: bool) -> list[Row]:
    """Capture analysis beside tcptrace and tshark."""
    with captures.places() as (folder, disk):
        found = captures.against_peers(folder, quick=quick)
        two = captures.on_two_cores(folder, disk, quick=quick)
        memory = captures.memory(folder, quick=quick)
    rows = []

    def row(
        what: str,
        ours: str,
        theirs: str,
        goal: float | None,
        *,
        cpu: bool = False,
        of: captures.Found = found,
    ) -> None:
        mine, peer = (of.packets_per_s(name, cpu=cpu) for name in (ours, theirs))
        ratio = mine / peer if mine and peer else None
        packets = f", {of.sizes[ours].packets:,.0f} packets" if ours in of.sizes else ""
        rows.append(
            Row(
                f"{what}{packets} (beside: {theirs})",
                "packets per processor s" if cpu else "packets per wall s",
                mine,
                peer,
                ratio,
                f"at least {goal:g} times" if goal else "",
                ratio >= goal if ratio is not None and goal else None,
            )
        )

    # Of a short capture Python's start is most.
    whole = None if quick else 5
    for cpu in (False, True):
        row("`airperf trace summary` on one core", "command summary", "tcptrace", whole, cpu=cpu)
        row(
            "`airperf trace export` of connections and exchanges", "command export", "tcptrace", None, cpu=cpu
        )
        row("Capture, connections and exchanges counted", "counted", "tcptrace", 5, cpu=cpu)
        row("Capture, connections and exchanges written", "summary", "tcptrace", 5, cpu=cpu)
        row("Capture, every table", "all", "tcptrace", 2, cpu=cpu)
        row("Capture of 802.11, every table", "all, 802.11", "tcptrace", 2, cpu=cpu)
    row("`airperf trace summary` on one core", "command summary", "tshark fields", None if quick else 50)
    row("Capture, connections and exchanges written", "summary", "tshark fields", 50)
    row("Capture, connections and exchanges written", "summary", "tshark conv", None)
    for name, what in (
        ("counted", "connections and exchanges counted"),
        ("summary", "connections and exchanges written"),
        ("all", "every table"),
        ("all, on the disk", "every table on the disk"),
    ):
        goal = 1.6 if name in captures.KINDS else None
        row(f"Capture, two threads, {what}", f"{name}, threads: 2", f"{name}, threads: 1", goal, of=two)
        if goal:
            # As much as two cores of this machine are worth: threads cannot do more.
            row(f"Two processes, {what}", f"{name}, two processes", f"{name}, threads: 1", None, of=two)
    for measured in (found, two):
        rows += [
            Row(f"Bytes read, {name}", "MB per wall s", measured.bytes_per_s(name) / 1e6)
            for name in measured.timed
        ]
    peaks = found.peaks_mib | two.peaks_mib
    rows += [Row(f"Peak memory, {name}", "MiB", peak) for name, peak in peaks.items()]
    long = ("Peak memory of every table (beside: of a capture a tenth as long)", memory.long, memory.short)
    crowds = [
        (f"Peak memory of every table, 65,536 connections at a time, threads: {threads}", peak, None)
        for threads, peak in memory.full.items()
    ]
    for what, peak, beside in (long, *crowds):
        rows.append(Row(what, "MiB", peak, beside, goal="below 95.4 (100 MB)", met=peak < 95.4))
    return rows


def measure(*, quick: bool, with_ns3: bool) -> list[Row]:
    """The rows of the simulator, in the order a reader wants them."""
    long, short = (30, 5) if quick else (120, 120)
    stack = [
        against_ns3("1 client, 100/s, 1 KiB", 1, 100, 120, long, 200, with_ns3=with_ns3),
        against_ns3("50 clients, 2/s each", 50, 2, 120, short, 1_000, with_ns3=with_ns3),
        against_ns3("1 client, 160/s (overload)", 1, 160, 120, long, None, with_ns3=with_ns3),
    ]
    full = ours("stack", 1, 100, 1_200, times=3)
    stack.append(
        Row(
            "Frame exchanges, full stack, 1 client, 100/s",
            "per wall s",
            full["exchanges_per_second"],
            goal="at least 5,000,000",
            met=full["exchanges_per_second"] >= 5e6,
        )
    )
    for stations in (1, 10, 50):
        mine = ours("domain", stations, 600, times=3)
        theirs = None
        if with_ns3 and stations == 10:
            theirs = ns3("macbench", n=10, dur=5 if quick else 60)["simPerWall"]
        stack.append(
            Row(
                f"Saturated medium, {stations} stations, 1500 B",
                "simulated s per wall s",
                mine["simulated_per_wall"],
                theirs,
                mine["simulated_per_wall"] / theirs if theirs else None,
            )
        )
    allocated = ours("allocations", 100)
    overload = ours("memory", 160, 600 if quick else 3_600)
    stack += [
        Row(
            "Allocations per frame in steady state, 100/s",
            "count",
            allocated["per_frame"],
            goal="0",
            met=allocated["per_frame"] == 0,
        ),
        Row(
            "Peak memory after 120 s of overload, 160/s",
            "MiB",
            overload["early_mib"],
        ),
        Row(
            f"Growth of peak memory over {overload['simulated_s']:,.0f} s of overload",
            "MiB",
            overload["growth_mib"],
            goal="below 1",
            met=overload["growth_mib"] < 1,
        ),
    ]
    return stack + kernel_rows(1 if quick else 3)


def number(value: float | None) -> str:
    """Three significant digits, thousands separated."""
    if value is None:
        return ""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def machine() -> dict[str, str | float]:
    """What the figures belong to."""
    model = "unknown"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model
        )
    return {
        "cpu": model,
        "cores": os.cpu_count() or 0,
        "kernel": platform.release(),
        "rustc": execute(["rustc", "--version"]).strip(),
        "load_1_min": round(os.getloadavg()[0], 2),
    }


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    head = "| what | unit | airperf | peer or beside | ratio | goal | met |\n|---|---|--:|--:|--:|---|---|\n"
    answers = {True: "yes", False: "**no**", None: ""}
    return head + "".join(
        f"| {r.what} | {r.unit} | {number(r.ours)} | {number(r.theirs)} | {number(r.ratio)} "
        f"| {r.goal} | {answers[r.met]} |\n"
        for r in rows
    )


def write(rows: list[Row], host: dict[str, str | float], *, quick: bool, only: bool) -> Path:
    """Writes the table and its data under today's date; `only` says that it has captures alone."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    stem = RESULTS / f"{date}{'-captures' if only else ''}{'-quick' if quick else ''}"
    facts = "\n".join(f"- {name}: {value}" for name, value in host.items())
    made = f"make bench{' CAPTURES=1' if only else ''}{' QUICK=1' if quick else ''}"
    page = (
        f"# Speed, {date}\n\nMade by `{made}`. Medians of ours, the full stack's after a warm-up in the "
        f"process; ns-3 3.37 ran once per row, between two halves of ours. Of captures the least of some "
        f"rounds; they and their tables lie in memory if nothing else is said.\n\n"
        f"{facts}\n\n{table(rows)}"
    )
    stem.with_suffix(".md").write_text(page, encoding="utf-8")
    data = {"schema": 1, "date": date, "quick": quick, "machine": host, "rows": [vars(row) for row in rows]}
    stem.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return stem.with_suffix(".md")


def main() -> int:
    """Builds, measures, prints, writes."""
    parser = argparse.ArgumentParser(description="Measure airperf beside ns-3, tcptrace and tshark.")
    parser.add_argument("--quick", action="store_true", help="shorter ns-3 runs, smaller captures")
    parser.add_argument("--captures", action="store_true", help="captures only")
    asked = parser.parse_args()
    execute(["cargo", "build", "--quiet", "--release", "--locked", "--package", "airperf-benches"])
    host = machine()
    rows = []
    if not asked.captures:
        with_ns3 = build_ns3()
        if not with_ns3:
            print(
                "bench: no ns-3 here (apt-get install g++ libns3-dev); its columns stay empty",
                file=sys.stderr,
            )
        rows = measure(quick=asked.quick, with_ns3=with_ns3)
    rows += capture_rows(quick=asked.quick)
    print(table(rows))
    print(write(rows, host, quick=asked.quick, only=asked.captures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
