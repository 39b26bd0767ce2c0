"""``airperf trace`` on capture directories: what is printed where, formats, exit codes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airperf.cli.trace import PLACES

Call = Callable[..., Any]
MakeCapture = Callable[..., Path]


@pytest.fixture
def capture(tmp_path: Path, make_capture: MakeCapture) -> str:
    """The name of a capture directory with two connections."""
    return str(make_capture(tmp_path / "cap"))


def test_every_trace_verb_has_help(call: Call) -> None:
    answer = call("trace", "--help")
    assert answer.code == 0
    for verb in PLACES:
        assert verb in answer.out
        assert call("trace", verb, "--help").code == 0


def test_summary_prints_the_contracts_object(call: Call, capture: str) -> None:
    answer = call("trace", "summary", capture, "--json")
    assert answer.code == 0
    assert next(iter(answer.json)) == "schema"
    assert answer.json["schema"] == 1
    assert answer.json["tcp"]["retransmission_parts"].keys() == {"full", "part", "late", "dup_syn", "dup_fin"}
    assert answer.json["mac"] is None


def test_summary_for_people_names_the_five_classes_and_the_decision(call: Call, capture: str) -> None:
    out = call("trace", "summary", capture).out
    for words in ("SYN, SYN-ACK and FIN", "SYN without SYN-ACK", "no SYN seen", "100.0%", "normal close"):
        assert words in out
    assert "short_frame" in out


@pytest.mark.parametrize("verb", ["connections", "exchanges"])
def test_tables_agree_in_every_format(call: Call, capture: str, verb: str, tmp_path: Path) -> None:
    as_csv = list(csv.DictReader(io.StringIO(call("trace", verb, capture, "--format", "csv").out)))
    as_json = call("trace", verb, capture, "--json").json
    assert as_json["schema"] == 1
    assert as_json["truncated_at"] is None
    lines = call("trace", verb, capture, "--format", "ndjson").out.splitlines()
    assert [json.loads(line) for line in lines] == as_json[verb]
    assert len(as_csv) == len(as_json[verb]) == 2
    assert list(as_csv[0]) == list(as_json[verb][0])
    assert call("trace", verb, capture, "--format", "parquet", "--out", "t.parquet").code == 0
    assert pl.read_parquet(tmp_path / "t.parquet").to_dicts() == as_json[verb]


def test_connections_for_people_are_in_order_of_number(call: Call, capture: str) -> None:
    head, *rows = call("trace", "connections", capture).out.splitlines()
    assert head.split()[:3] == ["#", "client", "server"]
    assert [row.split()[0] for row in rows] == ["0", "1"]
    assert rows[1].split()[1] == "192.0.2.1:1025"


def test_columns_are_chosen_by_name(call: Call, capture: str) -> None:
    out = call("trace", "connections", capture, "--columns", "class,connection", "--format", "csv").out
    assert out.splitlines()[0] == "class,connection"
    assert (
        call("trace", "connections", capture, "--columns", "all").out.splitlines()[0].split()[5]
        == "first_frame"
    )
    answer = call("trace", "connections", capture, "--columns", "colour")
    assert answer.code == 2
    assert "no column colour; there are connection, client" in answer.err


def test_a_limit_says_what_it_left_out(call: Call, capture: str) -> None:
    answer = call("trace", "connections", capture, "--limit", "1")
    assert len(answer.out.splitlines()) == 2
    assert "1 more rows" in answer.err
    assert len(call("trace", "connections", capture, "--limit", "1", "--json").json["connections"]) == 1


def test_a_damaged_capture_gives_what_lies_before_and_exit_3(
    call: Call, tmp_path: Path, make_capture: MakeCapture
) -> None:
    folder = str(make_capture(tmp_path / "cap", summary={"truncated_at": 4711}))
    answer = call("trace", "connections", folder, "--json")
    assert answer.code == 3
    assert answer.json["truncated_at"] == 4711
    assert len(answer.json["connections"]) == 2
    assert "truncated at byte 4711" in answer.err


def test_notices_go_to_stderr(call: Call, tmp_path: Path, make_capture: MakeCapture) -> None:
    folder = str(make_capture(tmp_path / "cap", summary={"notices": ["encrypted \x1b[2J"]}))
    answer = call("trace", "connections", folder, "--json")
    assert answer.code == 0
    assert "encrypted \\x1b[2J" in answer.err
    assert "\x1b" not in answer.err


def test_what_was_captured_cannot_drive_the_terminal(
    call: Call, tmp_path: Path, make_capture: MakeCapture, rows: dict[str, Callable[..., Any]]
) -> None:
    evil = rows["exchange"](0, target="/\x1b]0;owned\x07", host="h\x9bost\u202e\n", content_type="\x1b[2J")
    folder = str(make_capture(tmp_path / "cap", {"exchanges": [evil]}))
    for kind in ("table", "csv", "json", "ndjson", "zeek", "zeek-json"):
        answer = call("trace", "exchanges", folder, "--format", kind)
        assert answer.code == 0
        assert "owned" in answer.out
        assert all(c.isprintable() or c in "\n\t" for c in answer.out), kind
    out = call("trace", "export", folder, "--format", "har").out
    assert all(c.isprintable() or c == "\n" for c in out)


def test_usage_errors_of_trace_are_exit_2(call: Call, capture: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for arguments, words in (
        (["summary"], "FILE"),
        (["summary", "none.pcap"], "no such file"),
        (["summary", "no*.pcap"], "no file matches"),
        (["connections", capture, "--client", "example.org"], "not an IP address"),
        (["connections", capture, "--client", "192.0.2.1"], "analysed already"),
        (["connections", capture, "--from", "10"], "such as 10s"),
        (["connections", capture, "--format", "xplot"], "xplot"),
        (["frames", capture], "has no table frames"),
        (["frames", capture, "--ascii", "--json"], "--ascii"),
        (["series", capture, "--interval", "0s"], "longer than nothing"),
        (["sequence", capture, "--connection", "0"], "has no table segments"),
        (["export", capture], "--out DIR"),
        (["export", capture, "--format", "csv", "--out", str(tmp_path / "file")], "exists already"),
        (["export", capture, "--format", "pcapng"], "--out FILE"),
        (["export", capture, "--format", "pcapng", "--out", "x"], "give capture files"),
        (["export", "-", "--format", "pcapng", "--out", "x"], "is read twice"),
        (["export", str(tmp_path / "file"), "--format", "pcapng", "--out", "x", "--sort"], "keeps the order"),
        (["export", capture, "--format", "pcapng", "--out", "x", "--tables", "frames"], "fixed content"),
        (["export", capture, "--format", "csv", "--out", "x", "--tables", "colours"], "no table colours"),
    ):
        answer = call("trace", *arguments)
        assert answer.code == 2, arguments
        assert words in answer.err, (arguments, answer.err)
        assert answer.out == ""


def test_a_damaged_capture_directory_is_refused(call: Call, capture: str) -> None:
    path = Path(capture) / "connections.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    answer = call("trace", "connections", capture)
    assert answer.code == 2
    assert "checksum" in answer.err


def test_sequence_wants_to_know_which_connection(
    call: Call, tmp_path: Path, make_capture: MakeCapture, rows: dict[str, Callable[..., Any]]
) -> None:
    segments = [
        rows["segment"](1, up=True, flags=2, ack=None, seq=0),
        rows["segment"](2, up=False, payload_bytes=9),
        rows["segment"](3, up=False, connection=1),
    ]
    folder = str(make_capture(tmp_path / "cap", {"segments": segments}))
    answer = call("trace", "sequence", folder)
    assert answer.code == 2
    assert "has 2 connections" in answer.err
    assert "no connection 7" in call("trace", "sequence", folder, "--connection", "7").err
    assert len(call("trace", "sequence", folder, "--connection", "0", "--json").json["segments"]) == 2
    up = call("trace", "sequence", folder, "--connection", "0", "--direction", "up", "--json")
    assert [row["up"] for row in up.json["segments"]] == [True]


def test_xplot_makes_two_files_only_when_asked(
    call: Call, tmp_path: Path, make_capture: MakeCapture, rows: dict[str, Callable[..., Any]]
) -> None:
    segments = [rows["segment"](1, up=True), rows["segment"](2, up=False)]
    folder = str(make_capture(tmp_path / "cap", {"segments": segments}))
    xplot = ("trace", "sequence", folder, "--connection", "0", "--format", "xplot")
    assert call(*xplot).out.splitlines()[2] == "192.0.2.2:80_==>_192.0.2.1:1024 (time sequence graph)"
    assert call(*xplot, "--direction", "both").code == 2
    assert call(*xplot, "--direction", "both", "--out", "a.xpl").code == 0
    assert sorted(path.name for path in tmp_path.glob("*.xpl")) == ["a.down.xpl", "a.up.xpl"]


def test_export_makes_whole_folders(call: Call, capture: str, tmp_path: Path) -> None:
    assert call("trace", "export", capture, "--format", "zeek", "--out", "logs").code == 0
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["conn.log", "http.log"]
    tables = ("--tables", "connections,exchanges")
    assert call("trace", "export", capture, "--format", "csv", "--out", "csv", *tables).code == 0
    names = ["connections.csv", "exchanges.csv", "summary.json"]
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == names
    answer = call("trace", "export", capture, "--format", "csv", "--out", "all")
    assert answer.code == 2, "the directory has two tables only"
    assert not (tmp_path / "all").exists()
    assert not list(tmp_path.glob(".*partial*"))


def test_an_output_is_never_the_input(call: Call, tmp_path: Path, one_segment_pcap: bytes) -> None:
    Path("a.pcap").write_bytes(one_segment_pcap)
    for arguments in (
        ["trace", "connections", "a.pcap", "--format", "csv", "--out", "a.pcap"],
        ["trace", "sequence", "a.pcap", "--out", str(tmp_path / "a.pcap")],
        ["trace", "export", "a.pcap", "--format", "har", "--out", "a.pcap"],
        ["trace", "export", "a.pcap", "--format", "pcapng", "--out", "a.pcap"],
        ["anonymize", "a.pcap", "a.pcap"],
    ):
        answer = call(*arguments)
        assert answer.code == 2
        assert "never overwritten" in answer.err
    assert Path("a.pcap").read_bytes() == one_segment_pcap
