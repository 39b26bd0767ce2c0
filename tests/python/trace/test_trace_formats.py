"""What other tools read: Community ID, Zeek's logs, HAR, xplot, tcptrace's CSV."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airperf.records.formats import tcptrace, zeek
from airperf.records.formats.community import community_id
from airperf.records.formats.har import har
from airperf.records.formats.text import csv as csv_text
from airperf.records.formats.text import harmless, json_array
from airperf.records.formats.xplot import xplot

Make = dict[str, Callable[..., dict[str, Any]]]
Table = Callable[..., pl.LazyFrame]


@pytest.mark.parametrize(
    ("source", "source_port", "destination", "port", "protocol", "identity"),
    [
        ("128.232.110.120", 34855, "66.35.250.204", 80, 6, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        ("66.35.250.204", 80, "128.232.110.120", 34855, 6, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        ("192.168.1.52", 54585, "8.8.8.8", 53, 17, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="),
        (
            "2001:470:e5bf:dead:4957:2174:e82c:4887",
            63943,
            "2607:f8b0:400c:c03::1a",
            25,
            6,
            "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4=",
        ),
        ("192.168.170.8", 7, "192.168.170.56", 7, 132, "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs="),
    ],
)
def test_community_ids_are_those_the_specification_publishes(
    source: str, source_port: int, destination: str, port: int, protocol: int, identity: str
) -> None:
    assert community_id(source, source_port, destination, port, protocol) == identity


def zeek_rows(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Header lines by name, and entries by field."""
    lines = text.splitlines()
    heads = dict(line.removeprefix("#").split("\t", 1) for line in lines[1:] if line.startswith("#"))
    names = heads["fields"].split("\t")
    entries = [line.split("\t") for line in lines if not line.startswith("#")]
    assert all(len(entry) == len(names) for entry in entries)
    return heads, [dict(zip(names, entry, strict=True)) for entry in entries]


def test_conn_log_has_zeeks_names_types_and_states(table: Table, rows: Make) -> None:
    odd = rows["connection"](1, **{"class": "syn_no_synack"}, state="S0", application=None, missing_down=10)
    connections = table("connections", [rows["connection"](0), odd])
    heads, (first, second) = zeek_rows("".join(zeek.conn_log(connections, as_json=False)))
    assert heads["path"] == "conn"
    assert len(heads["types"].split("\t")) == len(heads["fields"].split("\t"))
    assert first["ts"] == "1795259207.776985", "cut to microseconds, never rounded through a float"
    assert first["duration"] == "0.010000"
    assert (first["conn_state"], first["service"], first["proto"]) == ("SF", "http", "tcp")
    assert (first["orig_bytes"], first["resp_bytes"]) == ("74", "1283")
    assert first["community_id"] == community_id("192.0.2.1", 1024, "192.0.2.2", 80)
    assert second["service"] == "-"
    assert (second["missed_bytes"], second["resp_bytes"]) == ("10", "1293")
    assert first["uid"] != second["uid"]
    assert first["uid"].startswith("C")
    assert len(first["uid"]) == 18


def test_both_logs_call_a_connection_the_same(table: Table, rows: Make) -> None:
    connections = table("connections", [rows["connection"](0)])
    exchanges = table("exchanges", [rows["exchange"](0)])
    (conn,) = zeek_rows("".join(zeek.conn_log(connections, as_json=False)))[1]
    (http,) = zeek_rows("".join(zeek.http_log(exchanges, connections, as_json=False)))[1]
    assert http["uid"] == conn["uid"]
    assert http["id.orig_p"] == "1024"
    assert (http["trans_depth"], http["status_code"], http["version"]) == ("1", "200", "1.1")
    assert http["resp_mime_types"] == "text/html"
    assert http["user_agent"] == "-", "what is not recorded is unset"


def test_zeek_fields_cannot_be_broken_by_what_was_captured(table: Table, rows: Make) -> None:
    evil = rows["exchange"](0, host="-", target="/a\tb\nc\x1b[31m", content_type="a,b", method="(empty)")
    connections = table("connections", [rows["connection"](0)])
    text = "".join(zeek.http_log(table("exchanges", [evil]), connections, as_json=False))
    (entry,) = zeek_rows(text)[1]
    assert entry["host"] == r"\x2d"
    assert entry["uri"] == r"/a\x09b\x0ac\x1b[31m"
    assert entry["resp_mime_types"] == r"a\x2cb"
    assert entry["method"] == r"\x28empty)"


def test_zeek_json_leaves_out_what_is_unset(table: Table, rows: Make) -> None:
    connections = table("connections", [rows["connection"](0)])
    lines = "".join(zeek.conn_log(connections, as_json=True)).splitlines()
    (entry,) = [json.loads(line) for line in lines]
    assert entry["id.orig_h"] == "192.0.2.1"
    assert entry["ts"] == 1795259207.776985
    assert "tunnel_parents" not in entry
    assert set(entry) <= set(zeek.CONN_FIELDS)


def test_har_has_what_version_1_2_requires(table: Table, rows: Make) -> None:
    connections = table("connections", [rows["connection"](0), rows["connection"](7)])
    exchanges = table(
        "exchanges",
        [
            rows["exchange"](0),
            rows["exchange"](
                7, index=1, status=None, first_byte_ns=None, done_ns=None, error="reply", host=None
            ),
            rows["exchange"](7, index=2, method=None, sent_ns=None),
        ],
    )
    log = json.loads("".join(har(exchanges, connections, "1.0")))["log"]
    assert (log["version"], log["creator"]["name"]) == ("1.2", "airperf")
    first, second = log["entries"]
    for entry in log["entries"]:
        assert entry.keys() >= {"startedDateTime", "time", "request", "response", "cache", "timings"}
        assert entry["request"].keys() >= {
            *("method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize")
        }
        assert entry["response"].keys() >= {"status", "statusText", "content", "redirectURL", "headersSize"}
        assert entry["timings"].keys() >= {"send", "wait", "receive"}
        positive = sum(value for value in entry["timings"].values() if value > 0)
        assert entry["time"] == pytest.approx(positive)
    assert first["connection"] == "0"
    assert first["startedDateTime"] == "2026-11-21T11:06:47.776985Z"
    assert first["time"] == pytest.approx(7.0), "from opening the connection to the last octet"
    assert first["request"]["url"] == "http://example.org/a.html?x=1&y=%C3%A9"
    assert first["request"]["queryString"] == [{"name": "x", "value": "1"}, {"name": "y", "value": "é"}]
    assert first["response"]["content"] == {"size": 1024, "mimeType": "text/html"}
    assert second["response"]["status"] == 0
    assert second["request"]["url"].startswith("http://192.0.2.2/")
    assert "reply" in second["comment"]


def test_xplot_draws_segments_repeats_acks_and_windows(table: Table, rows: Make) -> None:
    segment = rows["segment"]
    segments = table(
        "segments",
        [
            segment(1, up=True, seq=0, flags=2, ack=None),
            segment(2, up=False, seq=0, flags=18),
            segment(3, up=False, payload_bytes=1000, flags=24),
            segment(4, up=False, payload_bytes=1000, flags=24, novelty="full"),
            segment(5, up=True, ack=1001, sack_from=1, sack_to=1001),
            segment(6, up=True, ack=1001, zero_window=True, window=0),
            segment(7, up=False, seq=1001, flags=17),
        ],
    )
    lines = "".join(xplot(segments, "a:1_==>_b:2", up=False)).splitlines()
    assert lines[:3] == ["timeval double", "title", "a:1_==>_b:2 (time sequence graph)"]
    assert lines[-1] == "go"
    assert "line 1795259207.779985 1 1795259207.779985 1001" in lines
    repeat = lines.index("line 1795259207.780985 1 1795259207.780985 1001")
    assert lines[repeat - 3] == "red"
    assert lines[repeat + 1 : repeat + 4] == ["red", "atext 1795259207.780985 1001", "R"]
    assert "SYN" in lines
    assert "FIN" in lines
    purple = lines.index("purple")
    assert lines[purple + 1] == "line 1795259207.781985 1 1795259207.781985 1001"
    assert lines[lines.index("Z") - 2] == "yellow"
    commands = {"line", "darrow", "uarrow", "dtick", "utick", "diamond", "box", "atext", "ltext"}
    commands |= {"white", "green", "yellow", "red", "orange", "purple", "pink", "go"}
    labels = {"SYN", "FIN", "RST", "R", "P", "O", "K", "Z", "S"}
    assert {line.split()[0] for line in lines[7:]} <= commands | labels


def test_tcptrace_view_has_every_column_in_its_place(table: Table, rows: Make) -> None:
    segment = rows["segment"]
    segments = table(
        "segments",
        [
            segment(1, up=True, flags=2, ack=None),
            segment(2, up=False, flags=18, rtt_ns=1_500_000),
            segment(3, up=True, flags=24, payload_bytes=74),
            segment(5, up=False, flags=24, payload_bytes=1000, novelty="late"),
            segment(6, up=False, flags=20),
        ],
    )
    text = "".join(tcptrace.tcptrace(table("connections", [rows["connection"](0)]), segments))
    (row,) = csv.DictReader(io.StringIO(text))
    assert list(row) == tcptrace.COLUMNS
    assert (row["conn_#"], row["host_a"], row["port_b"]) == ("1", "192.0.2.1", "80")
    assert row["first_packet"] == "1795259207.776985"
    assert (row["resets_sent_a2b"], row["resets_sent_b2a"]) == ("0", "1")
    assert row["SYN/FIN_pkts_sent_b2a"] == "1/0"
    assert row["outoforder_pkts_b2a"] == "1"
    assert (row["RTT_samples_a2b"], row["RTT_avg_a2b"]) == ("1", "1.5")
    assert row["min_retr_time_a2b"] == "NA"


def test_tcptrace_view_is_in_order_of_connection(table: Table, rows: Make) -> None:
    numbers = [7, 3, *range(100, 400), 5]
    connections = table("connections", [rows["connection"](number) for number in numbers])
    segments = table("segments", [rows["segment"](n, up=True, connection=n) for n in numbers])
    text = "".join(tcptrace.tcptrace(connections, segments))
    found = [int(row["conn_#"]) - 1 for row in csv.DictReader(io.StringIO(text))]
    assert found == sorted(numbers)


@pytest.mark.skipif(not shutil.which("tcptrace"), reason="tcptrace is not installed")
def test_tcptrace_names_its_columns_as_we_do(tmp_path: Path, one_segment_pcap: bytes) -> None:
    (tmp_path / "a.pcap").write_bytes(one_segment_pcap)
    answer = subprocess.run(
        ["tcptrace", "--csv", "-l", "-r", "-n", "a.pcap"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    (head,) = [line for line in answer.stdout.splitlines() if line.startswith("conn_#")]
    assert head.rstrip(",").split(",") == tcptrace.COLUMNS


def test_unprintable_characters_are_escaped_and_nothing_else() -> None:
    texts = ["plain", "naïve ✓ 漢字", "a b", "tab\t", "esc\x1b[2J", "c1\x9b", "rtl\u202e", "nbsp\u00a0", None]
    safe = harmless(pl.DataFrame({"text": texts, "n": range(len(texts))}))["text"].to_list()
    assert safe[:3] == texts[:3]
    assert safe[3:] == [r"tab\x09", r"esc\x1b[2J", r"c1\x9b", r"rtl\x202e", r"nbsp\xa0", None]


def test_csv_and_json_hold_all_rows_of_long_tables() -> None:
    rows = 150_000
    table = pl.LazyFrame({"n": range(rows), "t": ["a,b"] * rows})
    found = list(csv.reader(io.StringIO("".join(csv_text(table)))))
    assert found[0] == ["n", "t"]
    assert len(found) == rows + 1
    assert found[-1] == [str(rows - 1), "a,b"]
    values = json.loads("".join(json_array(table)))
    assert [value["n"] for value in values] == list(range(rows))
    assert json.loads("".join(json_array(table.filter(pl.col("n") < 0)))) == []
    assert "".join(csv_text(table.filter(pl.col("n") < 0))) == "n,t\n"
