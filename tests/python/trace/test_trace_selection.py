"""What the options of ``airperf trace`` mean: times, addresses, files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airperf.errors import InputError
from airperf.quantities import duration_ns
from airperf.records.selection import Moment, Selection, address, capture_files


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("10s", 10_000_000_000),
        ("0.1s", 100_000_000),
        ("1.5min", 90_000_000_000),
        ("200 ms", 200_000_000),
        ("1us", 1_000),
        ("7ns", 7),
        ("1.000000001s", 1_000_000_001),
        ("2h", 7_200_000_000_000),
    ],
)
def test_lengths_of_time_are_exact(text: str, ns: int) -> None:
    assert duration_ns(text) == ns
    assert Moment.parse(text) == Moment(ns, absolute=False)


@pytest.mark.parametrize(
    "text", ["10", "s", "-1s", "1e3s", "1 fortnight", "nan s", "", "1.s", "9" * 40 + "h"]
)
def test_lengths_of_time_without_unit_or_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        duration_ns(text)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.5Z", -500_000_000),
        ("2026-11-21T11:06:47.776985123Z", 1_795_259_207_776_985_123),
        ("2026-11-21T12:06:47.776985123+01:00", 1_795_259_207_776_985_123),
        ("2026-11-21 11:06:47z", 1_795_259_207_000_000_000),
    ],
)
def test_instants_are_exact_to_the_nanosecond(text: str, ns: int) -> None:
    assert Moment.parse(text) == Moment(ns, absolute=True)


@pytest.mark.parametrize("text", ["2026-11-21T11:06:47", "2026-13-01T00:00:00Z", "yesterday", "11:06"])
def test_instants_without_zone_or_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"."):
        Moment.parse(text)


@given(st.text(max_size=40))
def test_any_other_text_is_refused_and_not_a_bug(text: str) -> None:
    for read in (Moment.parse, duration_ns, address):
        with contextlib.suppress(InputError):
            assert read(text) is not None


def test_addresses_have_one_spelling() -> None:
    assert address("192.0.2.1") == "192.0.2.1"
    assert address("[2001:DB8:0::1]") == "2001:db8::1"
    with pytest.raises(InputError, match="not an IP address"):
        address("example.org")


def test_the_engine_reads_every_option() -> None:
    selection = Selection(
        clients=("192.0.2.1",),
        ports=(80,),
        begin=Moment.parse("1s"),
        end=Moment.parse("1970-01-01T00:00:09Z"),
        strict_checksum=True,
        sort_window_ns=5,
        threads=2,
    )
    assert selection.core() == {
        "strict_checksum": True,
        "sort_window_ns": 5,
        "series_interval_ns": 1_000_000_000,
        "threads": 2,
        "filter": {
            "clients": ["192.0.2.1"],
            "servers": [],
            "ports": [80],
            "from": {"offset_ns": 1_000_000_000},
            "to": {"time_ns": 9_000_000_000},
        },
    }
    assert "threads" not in Selection().core(), "the engine chooses"


def test_files_patterns_runs_and_stdin(tmp_path: Path, make_run: Callable[..., Path]) -> None:
    for name in ("b.pcap", "a.pcap", "[odd].pcap"):
        (tmp_path / name).write_bytes(b"")
    run = make_run(tmp_path / "run", [])
    (run / "air.pcapng").write_bytes(b"")
    found = capture_files([tmp_path / "?.pcap", "-", run, tmp_path / "[odd].pcap"])
    assert found == [
        str(tmp_path / "a.pcap"),
        str(tmp_path / "b.pcap"),
        "-",
        str(run / "air.pcapng"),
        str(tmp_path / "[odd].pcap"),
    ]


def test_what_is_no_file_is_named(tmp_path: Path, make_run: Callable[..., Path]) -> None:
    run = make_run(tmp_path / "run", [])
    for paths, message in (
        ([tmp_path / "none.pcap"], "no such file"),
        ([tmp_path / "*.pcap"], "no file matches"),
        ([tmp_path], "without air.pcapng"),
        ([run], "level analysis"),
        (["-", "-"], "once"),
    ):
        with pytest.raises(InputError, match=message):
            capture_files(paths)
