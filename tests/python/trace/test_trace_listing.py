"""Tables for people: aligned, never wrapped, harmless on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from airperf.records.formats.columns import columns, fixed, milliseconds
from airperf.records.formats.listing import Column, lines, plain
from airperf.records.formats.retransmissions import retransmission_lines
from airperf.records.formats.summary import sections

Table = Callable[..., pl.LazyFrame]
COLUMNS = [
    Column("n", pl.col("n").cast(pl.String)),
    Column("name", pl.col("name"), right=False, rank=2),
    Column("note", pl.col("note"), right=False, rank=1),
]


def test_columns_align_and_null_is_a_dash() -> None:
    table = pl.LazyFrame({"n": [1, 200], "name": ["ab", None], "note": ["x", "y"]})
    left_out, text = lines(table, COLUMNS, None)
    assert left_out == []
    assert list(text) == ["  n  name  note", "  1  ab    x", "200  —     y"]


def test_what_matters_least_is_left_out_until_a_line_fits() -> None:
    table = pl.LazyFrame({"n": [1], "name": ["a" * 20], "note": ["b" * 10]})
    left_out, text = lines(table, COLUMNS, 15)
    assert left_out == ["name"]
    assert list(text) == ["n  note", "1  bbbbbbbbbb"]
    left_out, text = lines(table, COLUMNS, 5)
    assert left_out == ["name", "note"]
    assert list(text) == ["n", "1"]


def test_a_long_text_is_cut_and_a_control_character_escaped() -> None:
    table = pl.LazyFrame({"n": [1], "name": ["a" * 1000], "note": ["\x1b]0;owned\x07\nsecond line"]})
    (_, row) = lines(table, COLUMNS, None)[1]
    assert "…" in row
    assert len(row) < 130
    assert r"\x1b]0;owned\x07\x0asecond line" in row
    assert row.isprintable()


def test_an_empty_table_has_its_titles() -> None:
    table = pl.LazyFrame(schema={"n": pl.Int64, "name": pl.String, "note": pl.String})
    assert list(lines(table, COLUMNS, None)[1]) == ["n  name  note"]
    assert list(lines(table, plain(table.collect_schema(), ["note", "n"]), 80)[1]) == ["note  n"]


def test_a_limit_is_kept_over_pieces() -> None:
    table = pl.LazyFrame({"n": range(70_000)})
    only = [Column("n", pl.col("n").cast(pl.String))]
    assert len(list(lines(table, only, None, 66_000)[1])) == 66_001
    assert len(list(lines(table, only, None, 5)[1])) == 6
    assert len(list(lines(table, only, None)[1])) == 70_001


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 3, "0.000"),
        (5, 3, "0.005"),
        (-5, 3, "-0.005"),
        (-1234, 3, "-1.234"),
        (10**15, 6, "1000000000.000000"),
    ],
)
def test_decimals_are_exact(value: int, digits: int, text: str) -> None:
    frame = pl.DataFrame({"v": [value]}).select(fixed(pl.col("v"), digits))
    assert frame.item() == text


def test_milliseconds_of_nothing_are_nothing() -> None:
    frame = pl.DataFrame({"v": pl.Series([None, 1_500_999], dtype=pl.Int64)})
    assert frame.select(milliseconds(pl.col("v"))).to_series().to_list() == [None, "1.500"]


def test_every_table_has_columns_for_people(table: Table, rows: dict[str, Callable[..., Any]]) -> None:
    ipv6 = rows["connection"](0, client="2001:db8::1")
    _, text = lines(
        table("connections", [ipv6]), columns("connections", ipv6["opened_ns"] - 1_000_000_000), 200
    )
    head, row = text
    assert "[2001:db8::1]:1024" in row
    assert row[head.index("opened s") :].startswith("1.000000")
    _, text = lines(table("exchanges", [rows["exchange"](0)]), columns("exchanges", 0), None)
    assert "example.org/a.html?x=1&y=%C3%A9" in list(text)[1]


def test_notes_of_a_segment_say_all_that_it_is(table: Table, rows: dict[str, Callable[..., Any]]) -> None:
    segment = rows["segment"](3, up=False, novelty="full", spurious=True, duplicate_ack=True)
    _, text = lines(table("segments", [segment]), columns("segments", 0), None)
    assert list(text)[1].endswith("full spurious duplicate_ack")


def retransmissions(table: Table, clients: int, mac: int | None) -> list[str]:
    rows = [
        {
            "client": f"192.0.2.{client}",
            "kind": kind,
            "segments": 10 * client,
            "tcp_retransmissions": client,
            "mac_retransmissions": mac,
        }
        for client in range(1, clients + 1)
        for kind in ("data", "syn", "fin_ack")
    ]
    return "".join(retransmission_lines(table("retransmissions", rows).collect())).splitlines()


def test_the_retransmission_table_has_types_down_and_clients_across(table: Table) -> None:
    head, *rest = retransmissions(table, 2, 7)
    assert head.split() == (
        "type all clients TCP rtx MAC rtx 192.0.2.1 TCP rtx MAC rtx 192.0.2.2 TCP rtx MAC rtx".split()
    )
    assert [row.split() for row in rest] == [
        ["SYN", "30", "3", "14", "10", "1", "7", "20", "2", "7"],
        ["DATA", "30", "3", "14", "10", "1", "7", "20", "2", "7"],
        ["FIN-ACK", "30", "3", "14", "10", "1", "7", "20", "2", "7"],
    ]


def test_mac_retransmissions_without_802_11_are_not_zero(table: Table) -> None:
    head, *rest = retransmissions(table, 1, None)
    assert head.split()[1] == "192.0.2.1", "one client is all clients"
    assert all(row.endswith("—") for row in rest)


def test_many_clients_follow_one_another(table: Table) -> None:
    text = retransmissions(table, 6, 0)
    assert sum(line.startswith("type") for line in text) == 7
    assert max(map(len, text)) < 60
    assert retransmissions(table, 0, 0)[0].startswith("type")


def test_a_summary_with_nothing_in_it_is_still_one() -> None:
    (only,) = sections({})
    assert only.rows[0] == ("packets", "0", "")
    titles = [section.title for section in sections({"mac": {"frames": 3}, "anomalies": {"x": 0, "y": 1}})]
    assert titles == ["capture", "802.11 MAC", "anomalies"]
