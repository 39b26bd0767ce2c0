"""Reports: offline, escaped, complete."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from airperf.records import open_run
from airperf.report.page import number
from airperf.report.run import run_report

MakeRun = Callable[..., Path]
Call = Callable[..., Any]

HOSTILE = (
    "</title><script>alert(1)</script><img src=x onerror=alert(2)> "
    '" onload="x $\\frac{1}{0 ]]> &amp; {{ 7*7 }}'
)


class Page(HTMLParser):
    """What a browser would see in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element."""
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        """Notes a text."""
        self.text.append(data)


def assert_harmless(text: str) -> Page:
    page = Page(text)
    assert "script" not in page.tags
    assert "iframe" not in page.tags
    assert "img" not in page.tags
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name, value)
        if name in {"src", "href", "xlink:href", "action", "data"}:
            assert value.startswith(("#", "data:image/png;base64,")), (tag, name, value)
    assert not re.search(r"@import|url\((?!#)", text)
    (policy,) = [
        value for tag, name, value in page.attributes if tag == "meta" and "default-src" in value and name
    ]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    return page


def hostile_run(folder: Path, make_run: MakeRun) -> Path:
    steady = [(i * 100_000_000, i * 100_000_000 + 5_000_000, None) for i in range(100)]
    names = (f"server {HOSTILE}", f"client {HOSTILE}")
    rows = [
        {"time_ns": 10**9, "station": s, "depth": 1, "mean": 0.5, "offered": 1, "dropped": 0, "departed": 1}
        for s in (0, 1)
    ]
    queue = {"mean": 1.0, "max": 5, "offered": 100, "dropped": 0, "departed": 100, "lost": 0}
    totals = {"airtime": {f"data{HOSTILE}": 4.0, "idle": 6.0}, "queues": dict.fromkeys(names, queue)}
    return make_run(
        folder, steady, name=HOSTILE, stations=names, queues=rows, totals=totals, why_invalid=[HOSTILE]
    )


def test_security_hostile_names_in_a_run_report_are_text(tmp_path: Path, make_run: MakeRun) -> None:
    path = run_report(open_run(hostile_run(tmp_path / "run", make_run)), tmp_path / "report.html")
    page = assert_harmless(path.read_text())
    assert any(HOSTILE in piece for piece in page.text), "the name is shown as it is"
    for figure in (tmp_path / "report-figures").glob("*.svg"):
        assert "<script" not in figure.read_text()


def test_security_hostile_texts_in_a_study_report_are_text(call: Call, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert call("study", str(tiny), "--testbed", "sim", "--out", str(out)).code == 0
    path = out / "study.json"
    index = json.loads(path.read_text())
    hostile: dict[str, Any] = json.loads(json.dumps(index))
    for key in ("name", "title", "question", "source", "command", "airperf", "study_sha256"):
        hostile[key] = HOSTILE
    hostile["limits"] = [HOSTILE]
    hostile["scenarios"] = {HOSTILE: HOSTILE}
    hostile["findings"] = {"explains": [HOSTILE], "misses": [HOSTILE]}
    for figure in hostile["figures"]:
        figure |= {"title": HOSTILE, "caption": HOSTILE}
    for variant in hostile["variants"]:
        variant |= {"what": HOSTILE, "key": HOSTILE}
    hostile["experiments"][0]["title"] = HOSTILE
    hostile["earlier_sha256"] = [HOSTILE]
    hostile["unable"] = {"emu": HOSTILE}
    hostile["engines"] = {HOSTILE: HOSTILE}
    texts = dict.fromkeys(("parameter", "fitted_to", "stands_for"), HOSTILE)
    hostile["fitted"] = [{**texts, "values": [HOSTILE]}]
    hostile["published"] = [
        {
            "figure": "panels",
            "panel": "transactions",
            "kind": "level",
            "at": [1, 40],
            "value": 3,
            "text": HOSTILE,
        }
    ]
    for row in hostile["targets"]:
        row |= {"what": HOSTILE, "unit": HOSTILE, "note": HOSTILE, "published_text": HOSTILE}
    for point in hostile["points"]:
        point |= {"why": HOSTILE, "id": HOSTILE}
    path.write_text(json.dumps(hostile))
    answer = call("report", str(out))
    assert answer.code == 0, answer.err
    assert_harmless((out / "report.html").read_text())


def test_a_study_report_is_complete(call: Call, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert call("study", str(tiny), "--testbed", "sim", "--out", str(out)).code == 0
    text = (out / "report.html").read_text()
    page = assert_harmless(text)
    names = {path.stem for path in (out / "report-figures").glob("*.svg")}
    assert names == {"panels", "durations", "distributions", "queues", "airtime"}
    assert page.tags.count("figure") == len(names)
    commands = [piece for piece in page.text if piece.startswith("airperf study tiny")]
    assert len(commands) >= len(names), "every figure names the command that makes it"
    assert "Published for another network." in text
    assert "n = 2" in text
    identifiers = re.findall(r'\bid="([^"]+)"', text)
    assert len(identifiers) == len(set(identifiers)), "ids are unique on the page"


def test_an_svg_is_a_file_of_its_own(call: Call, tiny: Path, tmp_path: Path) -> None:
    import xml.etree.ElementTree as ET  # noqa: PLC0415 - our own file

    assert call("study", str(tiny), "--testbed", "sim", "--out", str(tmp_path / "out")).code == 0
    for path in (tmp_path / "out" / "report-figures").glob("*.svg"):
        root = ET.fromstring(path.read_text())  # noqa: S314
        assert root.tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (0, "0"),
        (9.7123, "9.71"),
        (97.5, "97.5"),
        (97.54, "97.5"),
        (1234.5, "1234"),
        (0.012345, "0.0123"),
        (10.0, "10"),
        (1e-9, "1e-09"),
        (999.96, "1000"),
    ],
)
def test_numbers_read_well(value: float | None, text: str) -> None:
    assert number(value) == text
