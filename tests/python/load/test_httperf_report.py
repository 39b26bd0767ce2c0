"""The report in httperf's layout, against what the real httperf printed (`httperf/*.txt`)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airperf.records.formats.httperf import Figures, SessionFigures, report

REPORTS = sorted((Path(__file__).parent / "httperf").glob("*.txt"))
NUMBER = r"(-?[0-9.]+)"


def numbers(text: str, line: str) -> list[float]:
    """The numbers of the first line that begins so."""
    found = next(rest for rest in text.splitlines() if rest.startswith(line))
    return [float(number) for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", found[len(line) :])]


def read(text: str) -> Figures:
    """The figures of a report, by regular expressions such as scripts use."""
    connections, requests, replies, duration = numbers(text, "Total:")
    times, connect = (numbers(text, f"Connection time [ms]: {word}") for word in ("min", "connect"))
    rates = [float(rate) for rate in re.findall(rf"^reply-rate = {NUMBER}", text, re.MULTILINE)]
    status = [int(count) for count in re.findall(r"[1-5]xx=(\d+)", text)]
    cpu = numbers(text, "CPU time [s]:")
    errors = [[int(n) for n in numbers(text, f"Errors: {word}")] for word in ("total", "fd-unavail")]
    sizes = numbers(text, "Reply size [B]:")
    kilobytes = numbers(text, "Net I/O:")[0]
    return Figures(
        connections=int(connections),
        requests=int(requests),
        replies=int(replies),
        duration_s=duration,
        longest_burst=int(numbers(text, "Maximum connect burst length:")[0]),
        concurrent=int(re.findall(r"<=(\d+) concurrent", text)[0]),
        connection_ms=(times[0], times[1], times[2], times[3], times[4]),
        connect_ms=connect[0],
        replies_per_connection=numbers(text, "Connection length [replies/conn]:")[0],
        request_bytes=numbers(text, "Request size [B]:")[0],
        reply_rates=rates,
        response_ms=numbers(text, "Reply time [ms]:")[0],
        transfer_ms=numbers(text, "Reply time [ms]:")[1],
        reply_bytes=(sizes[0], sizes[1], sizes[2]),
        status=(status[0], status[1], status[2], status[3], status[4]),
        cpu_s=(cpu[0], cpu[1]),
        octets=round(kilobytes * 1024 * duration),
        errors=(errors[0][1], errors[0][2], errors[0][3], errors[0][4]),
        local=(errors[1][0], errors[1][1], errors[1][2], errors[1][3]),
        sessions=read_sessions(text),
    )


def read_sessions(text: str) -> SessionFigures | None:
    """The figures of sessions, if there are any."""
    if "Session rate" not in text:
        return None
    rate = numbers(text, "Session rate [sess/s]:")
    return SessionFigures(
        rates=[],
        per_s=rate[1],
        completed=int(rate[4]),
        begun=int(rate[5]),
        connections=numbers(text, "Session: avg")[0],
        lifetime_s=numbers(text, "Session lifetime [s]:")[0],
        failtime_s=numbers(text, "Session failtime [s]:")[0],
        lengths=[int(count) for count in numbers(text, "Session length histogram:")],
    )


def comparable(text: str) -> list[str]:
    """The lines, without figures that a report gives with fewer digits than it was made from."""
    loose = ("Connection rate:", "Request rate:", "CPU time", "Net I/O:")
    return [re.sub(r"[0-9.]+", "#", line) if line.startswith(loose) else line for line in text.splitlines()]


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_report_of_the_same_figures_is_the_same_text(path: Path) -> None:
    text = path.read_text()
    descriptors = re.search(r"open descriptors = (\d+)", text)
    echo = text.splitlines()[0]
    ours = report(echo, read(text), descriptors=int(descriptors[1]) if descriptors else None)
    assert comparable(ours) == comparable(text)
    assert ours.endswith("\n")


def test_there_are_reports_to_compare_with() -> None:
    assert {path.stem for path in REPORTS} == {"refused", "requests", "sessions", "verbose"}


def test_rates_come_from_counts_and_the_duration() -> None:
    text = next(path for path in REPORTS if path.stem == "requests").read_text()
    ours = report("", read(text))
    for line in ("Connection rate:", "Request rate:"):
        for mine, theirs in zip(numbers(ours, line), numbers(text, line), strict=True):
            assert mine == pytest.approx(theirs, rel=0.01, abs=0.11)
