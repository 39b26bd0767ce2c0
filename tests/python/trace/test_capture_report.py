"""``airperf trace report``: offline, escaped, complete, and its one program allowed by its hash only."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airperf.files import sha256_file
from airperf.records.capture import TABLES, open_capture
from airperf.report.capture import capture_report

Call = Callable[..., Any]
Pcap = Callable[..., bytes]

HOSTILE = (
    "</script></title><script>alert(1)</script><img src=x onerror=alert(2)> "
    '" onload="x $\\frac{1}{0 ]]> &amp; {{ 7*7 }} \u2028'
)


class Page(HTMLParser):
    """What a browser would see in a page: elements with their attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        """Notes a text, that of a script apart."""
        if self.elements and self.elements[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text.append(data)

    @property
    def policy(self) -> str:
        """The content security policy."""
        (policy,) = [
            attributes["content"]
            for tag, attributes in self.elements
            if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
        ]
        return policy

    @property
    def tags(self) -> list[str]:
        """Names of the elements in order."""
        return [tag for tag, _ in self.elements]


def assert_harmless(text: str) -> Page:
    page = Page(text)
    assert not {"iframe", "img", "object", "embed", "form", "base"} & set(page.tags)
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name, value)
            if name in {"src", "href", "xlink:href", "action", "data"}:
                assert value.startswith(("#", "data:image/png;base64,")), (tag, name, value)
    assert not re.search(r"@import|url\((?!#)", text)
    assert "default-src 'none'" in page.policy
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    if not scripts:
        assert "script-src" not in page.policy
        return page
    assert scripts == [{"type": "application/json", "id": "sequence-data"}, {}]
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page.policy, "only our program may run"
    assert "unsafe-inline" not in page.policy.partition("script-src")[2]
    return page


@pytest.fixture
def folder(tmp_path: Path, call: Call, two_clients: bytes) -> Path:
    """A capture directory of two conversations with every table."""
    (tmp_path / "two.pcap").write_bytes(two_clients)
    assert call("trace", "export", "two.pcap", "--out", "records").code == 0
    return tmp_path / "records"


def spoil(folder: Path) -> None:
    """Puts a hostile text wherever a table or the summary has a text of a stranger."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for file, promise in manifest["tables"].items():
        table = pl.read_parquet(folder / file)
        words = {"class", "kind", "novelty", "what", "fcs", "view", "application", "closed_by", "error"}
        strings = [n for n, t in table.schema.items() if t == pl.String and n not in words]
        whole = pl.col(strings).is_not_null() if strings else pl.lit(value=True)
        table.with_columns(pl.when(whole).then(pl.lit(HOSTILE)).name.keep() if strings else []).write_parquet(
            folder / file
        )
        promise["sha256"] = sha256_file(folder / file)
    summary = manifest["summary"]
    summary["notices"] = [HOSTILE]
    summary["anomalies"] = {HOSTILE: 1}
    summary["link_types"] = {HOSTILE: 1}
    summary["airtime"] = {HOSTILE: 1.0}
    summary["files"] = [{"name": HOSTILE, "packets": 1, "damage": HOSTILE}]
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_security_hostile_texts_of_a_capture_are_text(folder: Path, tmp_path: Path) -> None:
    spoil(folder)
    with open_capture(folder) as capture:
        capture.name = HOSTILE
        path = capture_report(capture, tmp_path / "page.html", command=f"airperf trace report {HOSTILE}")
    page = assert_harmless(path.read_text(encoding="utf-8"))
    assert any(HOSTILE in piece for piece in page.text), "the text is shown as it is"
    data = json.loads(page.scripts[0])
    assert HOSTILE in data[0]["label"]
    for figure in (tmp_path / "page-figures").glob("*.svg"):
        assert "<script" not in figure.read_text(encoding="utf-8")
        assert "<img" not in figure.read_text(encoding="utf-8")


def test_security_a_request_with_markup_stays_a_request(tmp_path: Path, call: Call, evil_pcap: bytes) -> None:
    (tmp_path / "evil.pcap").write_bytes(evil_pcap)
    assert call("trace", "report", "evil.pcap").code == 0
    assert_harmless((tmp_path / "evil.pcap.report.html").read_text(encoding="utf-8"))


def test_a_report_is_complete(tmp_path: Path, call: Call, two_clients: bytes) -> None:
    (tmp_path / "two.pcap").write_bytes(two_clients)
    answer = call("trace", "report", "two.pcap", "--out", "page.html")
    assert (answer.code, answer.out) == (0, "page.html\n")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = assert_harmless(text)
    figures = {path.stem for path in (tmp_path / "page-figures").glob("*.svg")}
    assert {"traffic", "clients", "activity", "sizes", "gaps"} <= figures
    assert page.tags.count("figure") == len(figures)
    commands = [piece for piece in page.text if piece.startswith("airperf trace ") and "two.pcap" in piece]
    assert len(commands) > len(figures), "every figure names the command that makes it"
    for captions in re.findall(r"<figcaption>(.*?)</figcaption>", text, re.DOTALL):
        assert "n = " in captions or "(n)" in captions or "of the time" in captions or " of " in captions
    identifiers = re.findall(r'\bid="([^"]+)"', text)
    assert len(identifiers) == len(set(identifiers)), "ids are unique on the page"
    for target in re.findall(r'href="#([^"]+)"', text):
        assert target in identifiers
    assert "No 802.11 in this capture" in text


def test_the_command_of_every_figure_works(tmp_path: Path, call: Call, two_clients: bytes) -> None:
    (tmp_path / "two.pcap").write_bytes(two_clients)
    assert call("trace", "report", "two.pcap", "--to", "1h", "--out", "page.html").code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    commands = set(re.findall(r"Made by <code>(airperf [^<]+)</code>", text))
    commands |= {json.loads(Page(text).scripts[0])[0]["command"]}
    assert len(commands) >= 4
    assert all("two.pcap --to 1h" in command for command in commands), "with the filters of the report"
    for command in commands:
        answer = call(*command.split()[1:])
        assert answer.code == 0, (command, answer.err)


def test_segments_of_the_viewer_are_those_of_the_capture(folder: Path, tmp_path: Path) -> None:
    with open_capture(folder) as capture:
        path = capture_report(capture, tmp_path / "page.html", command="airperf trace report two.pcap")
        segments = capture.segments.filter(pl.col("connection") == 0)
    (drawn,) = [
        one for one in json.loads(Page(path.read_text()).scripts[0]) if one["label"].startswith("#0 ")
    ]
    assert drawn["q"] == segments["frame"].to_list()
    assert drawn["s"] == segments["seq"].to_list()
    assert drawn["u"] == segments["up"].cast(pl.Int64).to_list()
    assert sum(drawn["t"]) == segments["time_ns"][-1] - segments["time_ns"][0]
    again = segments.filter(pl.col("novelty").cast(pl.String).is_in(["full", "dup_syn", "dup_fin"]))
    assert len(drawn["c"]) == again.height == 1


def test_without_segments_there_is_no_viewer_and_no_program(
    tmp_path: Path, call: Call, two_clients: bytes
) -> None:
    (tmp_path / "two.pcap").write_bytes(two_clients)
    assert call("trace", "export", "two.pcap", "--tables", "connections", "--out", "few").code == 0
    with open_capture(tmp_path / "few") as capture:
        path = capture_report(capture, tmp_path / "page.html", command="airperf trace report few")
    page = assert_harmless(path.read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert "canvas" not in page.tags


def test_a_capture_without_tcp_has_a_report(tmp_path: Path, call: Call, make_pcap: Pcap) -> None:
    one = make_pcap(slice(0, 1))
    ethernet_type = 24 + 16 + 12  # after the headers of file and record and both addresses
    (tmp_path / "arp.pcap").write_bytes(one[:ethernet_type] + b"\x08\x06" + one[ethernet_type + 2 :])
    assert call("trace", "report", "arp.pcap").code == 0
    text = (tmp_path / "arp.pcap.report.html").read_text(encoding="utf-8")
    assert "script" not in assert_harmless(text).tags
    assert "No HTTP/1 exchange was seen" in text


@pytest.mark.parametrize("frames", [slice(0, 1), slice(3, 4), slice(0, 2)])
def test_the_least_captures_have_a_report(tmp_path: Path, call: Call, make_pcap: Pcap, frames: slice) -> None:
    (tmp_path / "least.pcap").write_bytes(make_pcap(frames))
    assert call("trace", "report", "least.pcap").code == 0
    assert_harmless((tmp_path / "least.pcap.report.html").read_text(encoding="utf-8"))


def test_a_damaged_capture_says_so_on_the_page(tmp_path: Path, call: Call, two_clients: bytes) -> None:
    (tmp_path / "cut.pcap").write_bytes(two_clients[:-7])
    assert call("trace", "report", "cut.pcap").code == 3
    text = (tmp_path / "cut.pcap.report.html").read_text(encoding="utf-8")
    assert "The capture is damaged or cut short at byte" in text


@pytest.fixture(scope="session")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short simulated run in which the MAC and TCP repeat and the sniffer misses frames."""
    folder = tmp_path_factory.mktemp("lossy") / "run"
    changes = "duration=3s drain=5s client.size=100KiB client.rate=2/s link.retry_limit=1".split()
    changes += ["link.frame_error=0.15", "link.sniffer_error=0.02"]
    words = [word for change in changes for word in ("--set", change)]
    command = [sys.executable, "-m", "airperf", "run", "bai2006-e1", *words, "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_a_capture_of_the_air_has_both_kinds_of_retransmission_and_the_sniffer_check(
    lossy: Path, tmp_path: Path, call: Call
) -> None:
    answer = call("trace", "report", str(lossy), "--against", str(lossy), "--out", "page.html")
    assert answer.code == 0, answer.err
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = assert_harmless(text)
    assert {"airtime", "air"} <= {path.stem for path in (tmp_path / "page-figures").glob("*.svg")}
    assert "The sniffer missed or saw otherwise" in text
    assert "fast retransmission: three duplicate" in text or "retransmission timer ran out" in text
    summary = call("trace", "summary", str(lossy), "--json").json
    (table,) = re.findall(
        r'<tr class="sum"><td>all</td><td class="n">([\d,]+)</td><td class="n">([\d,]+)', text
    )
    assert [int(count.replace(",", "")) for count in table] == [
        summary["tcp"]["segments"],
        summary["tcp"]["retransmitted"],
    ]
    drawn = json.loads(page.scripts[0])
    assert any(one["x"] for one in drawn), "MAC retransmissions are drawn"
    assert any(one["c"] for one in drawn), "TCP retransmissions are drawn"


def test_the_same_capture_gives_the_same_bytes(lossy: Path, tmp_path: Path) -> None:
    pages = []
    for name in ("one", "two"):
        with open_capture(lossy, tables=TABLES) as capture:
            path = capture_report(capture, tmp_path / name / "page.html", command="airperf trace report x")
            pages.append(path.read_bytes())
    assert pages[0] == pages[1]


def test_the_viewer_runs_in_a_browser_and_nothing_else_does(folder: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        pytest.skip("no Chromium to open the page with")
    spoil(folder)
    with open_capture(folder) as capture:
        path = capture_report(capture, tmp_path / "page.html", command="airperf trace report two.pcap")
    path.write_text(
        path.read_text(encoding="utf-8").replace(
            "</main>", "<script>document.title = 'owned'</script></main>", 1
        ),
        encoding="utf-8",
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
    options += ["--disable-background-networking", "--disable-component-update", "--virtual-time-budget=2000"]
    options += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()]
    dom = subprocess.run([browser, *options], check=True, capture_output=True, text=True, timeout=60).stdout
    assert re.search(r'<output id="sequence-status"[^>]*>10 segments shown\.</output>', dom), "it ran"
    assert re.search(r'<ol id="sequence-marks"><li><button', dom), "marks are listed as text"
    assert "<title>owned" not in dom, "a program without our hash did not run"
