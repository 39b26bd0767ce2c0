"""One description drives simulator and live generator: the same users want the same at the same times."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airperf import _core

Call = Callable[..., Any]
Server = Any
Visit = tuple[int, list[int | None], list[int]]
"""When a session was due, how long its user thought before each request, and the sizes of the objects."""

SCENARIO = """
schema = 1
name = "users"
duration = "3s"
drain = "2s"
seed = 11
[link]
kind = "switch"
[server]
station = "server"
[[client]]
count = 2
start = "random"
arrivals = "{arrivals}"
rate = "8/s"
{more}
"""
PAGES = """
pages = "uniform(from 1, to 4)"
size = "lognormal(mean 4KiB, cv 2)"
embedded = "uniform(from 0, to 3)"
embedded_size = "choice(100B 0.5, 900B 0.5)"
cached = 0.2
parse_time = "exponential(mean 3ms)"
think_time = "exponential(mean 30ms)"
requests_per_connection = 100
"""
UPLOADS = """
pages = 3
size = "uniform(from 1B, to 9KiB)"
upload = "uniform(from 1B, to 3KiB)"
think_time = "20ms"
requests_per_connection = 100
"""
EQUAL = """
requests_per_connection = 3
size = "2KiB"
"""


def sized(head: bytes) -> list[bytes]:
    """An object as large as its name says, behind a head that is always as long."""
    size = int(head.split()[1].strip(b"/"))
    return [b"HTTP/1.1 200 OK\r\nContent-Length: %010d\r\n\r\n" % size + b"x" * size]


def visits(folder: Path, head_bytes: int) -> dict[int, list[Visit]]:
    """Each client's sessions, which have one connection each, in the order in which they were due."""
    rows = pl.read_parquet(folder / "exchanges.parquet").sort("connection", "index")
    found: dict[int, list[Visit]] = {}
    for _, session in rows.group_by("connection", maintain_order=True):
        thought: list[int | None] = []
        before = None
        for row in session.iter_rows(named=True):
            if before is not None:
                # What is wanted together with the one before is due with it, not after it.
                together = row["due_ns"] == before["due_ns"]
                thought.append(None if together else row["due_ns"] - before["done_ns"])
            before = row
        sizes = [octets - head_bytes for octets in session["response_bytes"]]
        found.setdefault(session["client"][0], []).append((session["due_ns"][0], thought, sizes))
    return {number: sorted(found[client]) for number, client in enumerate(sorted(found))}


@pytest.mark.parametrize(
    ("arrivals", "more"),
    [("poisson", PAGES), ("deterministic", UPLOADS), ("poisson", EQUAL)],
    ids=["pages", "uploads", "equal requests"],
)
def test_a_scenario_s_users_want_the_same_live_and_simulated(
    call: Call, server: Server, tmp_path: Path, arrivals: str, more: str
) -> None:
    text = SCENARIO.format(arrivals=arrivals, more=more)
    (tmp_path / "users.toml").write_text(text)
    _core.run_sim(text, "users", [], None, 0, 0, str(tmp_path / "sim"), "analysis", False)
    server.script = sized
    words = ("--scenario=users.toml", "--out=live", "--schedule-bound=5s", "--timeout=20s", "--json")
    answer = call("load", server.url + "{size}", *words)
    assert answer.code == 0, answer.err
    overhead = len(sized(b"GET /0 HTTP/1.1")[0])
    live = visits(tmp_path / "live", overhead)
    heads = pl.read_parquet(tmp_path / "sim" / "exchanges.parquet")["response_bytes"].min()
    assert isinstance(heads, int)
    simulated = visits(tmp_path / "sim", 0)
    header = simulated[0][0][2][0] - live[0][0][2][0]
    assert 0 < header <= heads
    simulated = visits(tmp_path / "sim", header)
    assert list(live) == list(simulated) == [0, 1]
    for client, expected in simulated.items():
        assert [due for due, _, _ in live[client]] == [due for due, _, _ in expected]
        # A page that is due at the end is not begun, and when the one before it ends is the network's to say.
        early = [visit for visit in expected if visit[0] < 2_000_000_000]
        assert len(early) >= 8
        assert live[client][: len(early)] == early
    if more is not EQUAL:
        sizes = [size for _, _, sizes in live[0] for size in sizes]
        assert len(set(sizes)) > len(sizes) // 4


BROWSING = """
kind = "browse"
connections = 3
patience = "20s"
size = "lognormal(mean 4KiB, cv 2)"
embedded = "uniform(from 1, to 5)"
embedded_size = "choice(100B 0.5, 900B 0.5)"
parse_time = "exponential(mean 3ms)"
think_time = "exponential(mean 100ms)"
requests_per_connection = 7
"""


def wanted(folder: Path) -> list[tuple[int, list[list[int]]]]:
    """Of each client when its first page was due, and the sizes of what became due together, in order."""
    rows = pl.read_parquet(folder / "exchanges.parquet").sort("client", "due_ns")
    found = []
    for _, client in rows.group_by("client", maintain_order=True):
        together = client.group_by("due_ns", maintain_order=True).agg(pl.col("response_bytes").sort())
        found.append((together["due_ns"][0], together["response_bytes"].to_list()))
    return found


def test_people_who_browse_want_the_same_over_several_connections_live_and_simulated(
    call: Call, server: Server, tmp_path: Path
) -> None:
    text = SCENARIO.format(arrivals="deterministic", more=BROWSING).replace('rate = "8/s"\n', "")
    (tmp_path / "people.toml").write_text(text)
    _core.run_sim(text, "people", [], None, 0, 0, str(tmp_path / "sim"), "analysis", False)
    server.script = sized
    answer = call(
        "load", server.url + "{size}", "--scenario=people.toml", "--out=live", "--timeout=20s", "--json"
    )
    assert answer.code == 0, answer.err
    live, simulated = wanted(tmp_path / "live"), wanted(tmp_path / "sim")
    header = simulated[0][1][0][0] - live[0][1][0][0]
    for (began, lived), (due, expected) in zip(live, simulated, strict=True):
        assert began == due
        both = min(len(lived), len(expected)) - 2  # the last page may not have come whole
        assert both >= 12
        assert [[octets + header for octets in together] for together in lived[:both]] == expected[:both]
    result = json.loads(answer.out)
    assert result["connections"]["due"] == 2
    pages = result["pages"]
    assert pages["complete"] >= 12
    assert pages["incomplete"] == pages["given_up"] == 0
    carried = pl.read_parquet(tmp_path / "live" / "connections.parquet")
    assert carried["exchanges"].max() == 7
    # Three of each user's at once.
    spans = carried.filter(pl.col("client") == 0).sort("opened_ns")
    assert spans["opened_ns"][2] < spans["closed_ns"][0]


def test_people_who_browse_have_no_rate(call: Call, tmp_path: Path) -> None:
    text = SCENARIO.format(arrivals="deterministic", more=BROWSING).replace('rate = "8/s"\n', "")
    (tmp_path / "people.toml").write_text(text)
    answer = call("load", "http://127.0.0.1:1/{size}", "--scenario=people.toml", "--rate=5")
    assert answer.code == 2
    assert "--rate" in answer.err
