"""``airperf trace`` with the engine: real files in, the same answers by every way."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import airperf as package
from airperf.records import open_run
from airperf.records.capture import LARGE, TABLES

Call = Callable[..., Any]
Pcap = Callable[..., bytes]

KEYS = {
    *("schema", "packets", "bytes", "duration_s", "link_types", "tcp", "http", "mac", "anomalies"),
    "truncated_at",
}
TCP_KEYS = {
    *("segments", "connections", "syn_fin", "syn_rst", "syn_no_synack", "syn_unfinished", "no_syn", "resets"),
    *("retransmitted", "retransmission_parts", "out_of_order", "duplicate_acks"),
}


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short simulated run with its capture."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    arguments = ["run", "bai2006-e1", "--set", "duration=2s", "--set", "drain=1s", "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "airperf", *arguments], check=True, capture_output=True)
    return folder


@pytest.fixture
def pcap_file(tmp_path: Path, one_segment_pcap: bytes) -> Path:
    """One conversation of ten frames, the last of which repeats the response."""
    path = tmp_path / "a.pcap"
    path.write_bytes(one_segment_pcap)
    return path


def test_a_runs_capture_has_the_runs_connections(call: Call, run: Path) -> None:
    answer = call("trace", "summary", str(run), "--json")
    assert answer.code == 0
    assert answer.json.keys() >= KEYS
    tcp = answer.json["tcp"]
    assert tcp.keys() >= TCP_KEYS
    recorded = open_run(run).table("connections")
    assert tcp["connections"] == recorded.height
    assert tcp["syn_fin"] == recorded.filter(pl.col("class") == "syn_fin").height
    assert answer.json["mac"].keys() >= {"frames", "retries", "bad_fcs", "beacons", "acks"}
    assert answer.json["mac"]["frames"] == open_run(run).table("frames").height
    assert answer.json["http"]["responses"] == open_run(run).table("exchanges")["done_ns"].count()


def test_a_sniffer_at_rest_sees_what_the_ends_saw(call: Call, run: Path, tmp_path: Path) -> None:
    answer = call("trace", "summary", str(run), "--against", str(run), "--json")
    assert answer.code == 0
    checks = answer.json["checks"]
    assert checks["matched"] == checks["connections"] == open_run(run).table("connections").height
    assert (checks["missed"], checks["differing"], checks["share_affected"]) == (0, 0, 0)
    assert "sniffer's view" in call("trace", "summary", str(run), "--against", str(run)).out
    answer = call("trace", "summary", str(run), "--against", str(tmp_path))
    assert answer.code == 2
    assert answer.out == ""


def test_a_run_directory_is_compared_with_itself_unless_it_is_looked_at_in_part(
    call: Call, run: Path
) -> None:
    named = call("trace", "summary", str(run), "--against", str(run), "--json").json
    assert named["checks"] == call("trace", "summary", str(run), "--json").json["checks"]
    assert "checks" not in call("trace", "summary", str(run / "air.pcapng"), "--json").json
    assert "checks" not in call("trace", "summary", str(run), "--from", "1s", "--json").json
    page = call("trace", "report", str(run), "--out", "page.html").out.strip()
    assert "The sniffer missed or saw otherwise" in Path(page).read_text(encoding="utf-8")


@pytest.mark.parametrize("error", ["0", "0.01"])
def test_the_share_of_connections_that_an_imperfect_sniffer_affects_is_told(
    call: Call, tmp_path: Path, error: str
) -> None:
    made = call(
        *("run", "two-clients-overload", "--set", "duration=3s", "--set", "drain=4s"),
        *("--set", f"link.sniffer_error={error}", "--out", "overload"),
    )
    assert made.code == 0, made.err
    checks = call("trace", "summary", "overload", "--json").json["checks"]
    frames = open_run(tmp_path / "overload").table("frames").filter(pl.col("kind") == "data")
    packets = open_run(tmp_path / "overload").table("packets").filter(pl.col("first_air_ns").is_not_null())
    heard = frames.filter(pl.col("sniffer") == "good")["packet"].unique()
    lacking = packets.filter(~pl.col("packet").is_in(heard.implode()))["connection"].n_unique()
    assert (lacking > 0) == (error != "0")
    assert checks["share_affected"] == lacking / checks["connections"]
    shown = call("trace", "summary", "overload").out
    (line,) = (line for line in shown.splitlines() if "missed or seen otherwise" in line)
    assert line.split()[-2:] == [str(lacking), f"{lacking / checks['connections']:.1%}"]


def test_report_writes_one_page_beside_the_capture(call: Call, pcap_file: Path) -> None:
    answer = call("trace", "report", str(pcap_file))
    assert answer.code == 0, answer.err
    page = pcap_file.with_name("a.pcap.report.html")
    assert answer.out.strip() == str(page)
    assert "192.0.2.1" in page.read_text(encoding="utf-8")


def test_every_table_of_a_run_can_be_shown_and_exported(call: Call, run: Path, tmp_path: Path) -> None:
    for verb in ("connections", "exchanges", "frames", "series", "retransmissions"):
        shown = call("trace", verb, str(run))
        assert shown.code == 0, shown.err
        assert len(shown.out.splitlines()) > 1
    assert call("trace", "sequence", str(run), "--connection", "3").code == 0
    for kind in ("parquet", "csv", "ndjson", "zeek", "zeek-json"):
        assert call("trace", "export", str(run), "--format", kind, "--out", kind).code == 0
    assert {path.stem for path in (tmp_path / "parquet").glob("*.parquet")} == set(TABLES)
    for kind in ("har", "tcptrace"):
        assert call("trace", "export", str(run), "--format", kind, "--out", f"run.{kind}").code == 0
    entries = json.loads((tmp_path / "run.har").read_text())["log"]["entries"]
    assert {entry["response"]["status"] for entry in entries} == {200}


def test_an_exported_directory_answers_as_the_capture_does(call: Call, run: Path) -> None:
    assert call("trace", "export", str(run), "--out", "records").code == 0
    for verb in ("summary", "connections", "exchanges", "frames", "series", "retransmissions"):
        whole = call("trace", verb, str(run), "--json").json
        whole.pop("checks", None)
        assert call("trace", verb, "records", "--json").json == whole


def test_results_do_not_depend_on_threads(
    call: Call, run: Path, tmp_path: Path, files_of: Callable[[Path], dict[str, bytes]]
) -> None:
    for threads in ("1", "2"):
        assert call("trace", "export", str(run), "--threads", threads, "--out", threads).code == 0
    assert files_of(tmp_path / "1") == files_of(tmp_path / "2")


def test_open_capture_reads_a_run(run: Path) -> None:
    with package.open_capture(run) as capture:
        assert capture.connections.height == capture.summary["tcp"]["connections"]
        assert capture.frames.height == capture.summary["packets"]
        assert capture.segments.height == capture.summary["tcp"]["segments"]
        assert set(LARGE) < set(capture.tables)
        assert capture.stations.height
        assert capture.retransmissions["segments"].sum() == capture.segments.height
        assert "TCP connections" in capture._repr_html_()


def test_one_conversation_is_what_it_is(call: Call, pcap_file: Path) -> None:
    summary = call("trace", "summary", str(pcap_file), "--json").json
    assert (summary["packets"], summary["tcp"]["segments"], summary["tcp"]["syn_fin"]) == (10, 10, 1)
    assert summary["tcp"]["retransmission_parts"]["full"] == 1
    assert summary["http"] == {"requests": 1, "responses": 1}
    assert summary["mac"] is None
    (connection,) = call("trace", "connections", str(pcap_file), "--json").json["connections"]
    assert (connection["client"], connection["client_port"]) == ("192.0.2.1", 40000)
    (exchange,) = call("trace", "exchanges", str(pcap_file), "--json").json["exchanges"]
    assert (exchange["method"], exchange["target"], exchange["status"]) == ("GET", "/x", 200)
    assert (exchange["content_type"], exchange["body_bytes"]) == ("text/plain", 5)
    sequence = call("trace", "sequence", str(pcap_file), "--json").json["segments"]
    assert [row["novelty"] for row in sequence].count("full") == 1


def test_compressed_piped_and_split_captures_are_the_same(
    call: Call, pcap_file: Path, tmp_path: Path, make_pcap: Pcap
) -> None:
    whole = call("trace", "connections", str(pcap_file), "--json").json
    (tmp_path / "a.pcap.gz").write_bytes(gzip.compress(pcap_file.read_bytes()))
    assert call("trace", "connections", "a.pcap.gz", "--json").json == whole
    with pcap_file.open("rb") as stdin:
        piped = subprocess.run(
            [sys.executable, "-m", "airperf", "trace", "connections", "-", "--json"],
            stdin=stdin,
            capture_output=True,
            check=True,
        )
    assert json.loads(piped.stdout) == whole
    (tmp_path / "part1.pcap").write_bytes(make_pcap(slice(0, 4)))
    (tmp_path / "part2.pcap").write_bytes(make_pcap(slice(4, None)))
    assert call("trace", "connections", "part?.pcap", "--json").json == whole
    assert call("trace", "connections", "part2.pcap", "part1.pcap", "--json").json == whole


def test_filters_leave_the_rest_out(call: Call, tmp_path: Path, two_clients: bytes) -> None:
    (tmp_path / "b.pcap").write_bytes(two_clients)

    def clients(*options: str) -> list[str]:
        rows = call("trace", "connections", "b.pcap", "--json", *options).json["connections"]
        return sorted(row["client"] for row in rows)

    both = ["192.0.2.1", "192.0.2.3"]
    assert clients() == both
    assert clients("--client", "192.0.2.3") == ["192.0.2.3"]
    assert clients("--client", "192.0.2.3", "--client", "192.0.2.1") == both
    assert clients("--server", "192.0.2.3") == []
    assert clients("--port", "80") == both
    assert clients("--port", "40001") == ["192.0.2.3"]
    # The second client's conversation begins 10 s after the first packet, which is at 10^9 s.
    assert clients("--from", "5s") == ["192.0.2.3"]
    assert clients("--to", "5s") == ["192.0.2.1"]
    assert clients("--from", "2001-09-09T01:46:45Z") == ["192.0.2.3"]
    assert clients("--from", "2001-09-09T03:46:40.000+02:00", "--to", "0.5s") == ["192.0.2.1"]


def test_fault_13_a_cut_file_is_analysed_up_to_the_cut(call: Call, pcap_file: Path) -> None:
    data = pcap_file.read_bytes()
    pcap_file.write_bytes(data[:-3])
    answer = call("trace", "summary", str(pcap_file), "--json")
    assert answer.code == 3
    assert answer.json["packets"] == 9
    assert 0 < answer.json["truncated_at"] < len(data)
    assert "truncated at byte" in answer.err
    assert call("trace", "connections", str(pcap_file)).code == 3


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"GIF89a" + bytes(40), b"PK\x03\x04" + bytes(40)])
def test_fault_13_what_is_no_capture_is_exit_2(call: Call, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.pcap").write_bytes(content)
    for verb in ("summary", "connections", "frames"):
        answer = call("trace", verb, "x.pcap")
        assert answer.code == 2
        assert answer.out == ""
        assert "x.pcap" in answer.err
        assert "Traceback" not in answer.err


def test_frames_as_text_say_every_layer(call: Call, tmp_path: Path, evil_pcap: bytes) -> None:
    (tmp_path / "e.pcap").write_bytes(evil_pcap)
    answer = call("trace", "frames", "e.pcap", "--ascii")
    assert answer.code == 0
    for word in ("192.0.2.1", "192.0.2.2", "40000", "GET /"):
        assert word in answer.out
    assert all(c.isprintable() or c in "\n\t" for c in answer.out)
    few = call("trace", "frames", "e.pcap", "--ascii", "--limit", "1", "--out", "few.txt")
    assert few.code == 0
    assert 0 < len(Path("few.txt").read_text()) < len(answer.out)


def test_an_anonymised_capture_has_the_same_connections(call: Call, pcap_file: Path, tmp_path: Path) -> None:
    assert call("anonymize", str(pcap_file), "one.pcapng", "--key", "k").code == 0
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600
    assert call("anonymize", str(pcap_file), "two.pcapng", "--key", "k").code == 0
    assert call("anonymize", str(pcap_file), "other.pcapng", "--json").json["schema"] == 1
    one, two, other = ((tmp_path / f"{name}.pcapng").read_bytes() for name in ("one", "two", "other"))
    assert one == two
    assert one != other
    assert b"example.org" not in one
    before = call("trace", "connections", str(pcap_file), "--json").json["connections"]
    after = call("trace", "connections", "one.pcapng", "--json").json["connections"]
    assert after[0]["client"] != before[0]["client"]
    for name in ("class", "opened_ns", "last_ns", "bytes_up", "bytes_down", "segments_up", "client_port"):
        assert [row[name] for row in after] == [row[name] for row in before], name
    assert call("trace", "exchanges", "one.pcapng", "--json").json["exchanges"] == []


def test_a_key_that_is_easy_to_guess_is_refused(call: Call, pcap_file: Path, tmp_path: Path) -> None:
    (tmp_path / "k").write_text("secret")
    answer = call("anonymize", str(pcap_file), "one.pcapng", "--key", "k")
    assert answer.code == 2
    assert "easy to guess" in answer.err
    assert not (tmp_path / "one.pcapng").exists()


def test_fault_05_ctrl_c_ends_soon_and_leaves_nothing(tmp_path: Path, make_pcap: Pcap) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "airperf", "trace", "connections", "-"],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write(make_pcap(slice(None), 1_000))
            process.stdin.flush()
            deadline = time.monotonic() + 30
            while not any(scratch.glob("*/*")) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert any(scratch.glob("*/*")), "the analysis has begun"
            # Nothing more comes, and the pipe stays open: without the signal it would wait for ever.
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=10) == 130
            err = process.stderr.read()
        finally:
            process.kill()
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert not any(scratch.iterdir())


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_frame_numbers_are_wiresharks(run: Path) -> None:
    fields = ["frame.number", "tcp.stream", "tcp.len"]
    arguments = ["tshark", "-r", str(run / "air.pcapng"), "-T", "fields", "-Y", "tcp"]
    for field in fields:
        arguments += ["-e", field]
    lines = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()
    theirs = {int(line.split("\t")[0]): int(line.split("\t")[2]) for line in lines}
    with package.open_capture(run, tables=()) as capture:
        ours = dict(capture.segments.select("frame", "payload_bytes").iter_rows())
    assert ours == theirs


def tshark(path: Path, *fields: str, only: str = "frame") -> list[list[str]]:
    """Fields of every frame as tshark reads them, which must have nothing to say against the file."""
    arguments = ["tshark", "-r", str(path), "-Y", only, "-T", "fields"]
    for field in fields:
        arguments += ["-e", field]
    answer = subprocess.run(arguments, capture_output=True, text=True, check=True)
    # Of its own it says only that it runs as root.
    complaints = [line for line in answer.stderr.splitlines() if "root" not in line]
    assert complaints == []
    return [line.split("\t") for line in answer.stdout.splitlines()]


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_an_annotated_capture_is_the_capture_with_comments(call: Call, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "said.pcapng"
    answer = call("trace", "export", str(run), "--format", "pcapng", "--out", str(out))
    assert (answer.code, answer.out.strip()) == (0, str(out))
    same = (
        "frame.number",
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "frame.encap_type",
        "tcp.stream",
    )
    assert tshark(out, *same) == tshark(run / "air.pcapng", *same)
    said = {int(number): text for number, text in tshark(out, "frame.number", "frame.comment")}
    with package.open_capture(run, tables=("frames", "segments")) as capture:
        segments = list(capture.segments.iter_rows(named=True))
        frames = list(capture.frames.iter_rows(named=True))
        exchanges = capture.exchanges.height
    repeats = 0
    for row in segments:
        text = said[row["frame"]]
        assert f"connection {row['connection']}; {row['kind']}" in text
        assert ("retransmission: full" in text) == (row["novelty"] == "full")
        assert ("duplicate ACK" in text) == row["duplicate_ack"]
        repeats += row["novelty"] == "full"
    for row in frames:
        assert ("MAC duplicate" in said[row["frame"]]) == (row["view"] == "duplicate")
        assert ("bad FCS" in said[row["frame"]]) == (row["fcs"] == "bad")
    whole = "request begins, request ends"
    assert sum(whole in text for text in said.values()) == exchanges > 0
    assert sum("response begins" in text for text in said.values()) == exchanges


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_an_annotated_wired_capture_has_marks_and_a_filter_leaves_the_rest_bare(
    call: Call, pcap_file: Path, tmp_path: Path, two_clients: bytes
) -> None:
    out = tmp_path / "said.pcapng"
    assert call("trace", "export", str(pcap_file), "--format", "pcapng", "--out", str(out)).code == 0
    said = [text for (text,) in tshark(out, "frame.comment")]
    assert said[5] == "connection 0; data; exchange 0: response begins, response ends"
    assert said[9] == "connection 0; data; retransmission: full; spurious"
    marked = tshark(out, "frame.number", only='frame.comment contains "retransmission"')
    assert marked == [["10"]]
    pcap_file.write_bytes(two_clients)
    only = ("--client", "192.0.2.3")
    assert call("trace", "export", str(pcap_file), "--format", "pcapng", "--out", str(out), *only).code == 0
    said = [text for (text,) in tshark(out, "frame.comment")]
    assert len(said) == 20
    assert all("connection" not in text for text in said[:10])
    assert all("connection" in text for text in said[10:])


def test_an_annotated_cut_capture_ends_where_the_capture_does(call: Call, pcap_file: Path) -> None:
    pcap_file.write_bytes(pcap_file.read_bytes()[:-3])
    out = pcap_file.with_suffix(".pcapng")
    answer = call("trace", "export", str(pcap_file), "--format", "pcapng", "--out", str(out))
    assert answer.code == 3
    assert "truncated at byte" in answer.err
    assert call("trace", "summary", str(out), "--json").json["packets"] == 9
    assert not list(out.parent.glob("*.partial*"))


def test_the_guide_shows_the_tables_that_its_commands_print(call: Call) -> None:
    guide = (Path(__file__).parents[3] / "docs/guide/read-a-capture.md").read_text(encoding="utf-8")
    shown = [block.strip("\n") for block in re.findall(r"```text\n(.*?)```", guide, re.DOTALL)]
    assert call("run", "two-clients-overload", "--out", "overload").code == 0
    assert call("trace", "retransmissions", "overload").out.strip("\n") == shown[0]
    noisy = ("run", "two-clients-overload", "--set", "link.sniffer_error=0.01", "--out", "noisy")
    assert call(*noisy).code == 0
    assert shown[1] in call("trace", "summary", "noisy").out
