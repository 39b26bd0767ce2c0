"""Every connection of real traffic, as airperf and as tcptrace count it.

Reference: docs/reference/retransmissions.md. Equality is demanded: tcptrace's counts
are computed from our segments, as its rules have it. Leaves out its round-trip times and throughputs.
"""

from __future__ import annotations

import pytest
from explained import tcptrace, tcptrace_connections
from network import need
from peers import tcptrace as run_tcptrace
from taken import Taken


def test_connections_packets_and_retransmissions(taken: Taken) -> None:
    need("tcptrace")
    traced = run_tcptrace(taken.file)
    shared_out = tcptrace_connections(taken.ours, taken.tshark)
    assert len(traced) == len(shared_out)
    for theirs, segments in zip(traced, shared_out, strict=True):
        first = taken.ours.connections[segments[0]["connection"]]
        client, server = (first["client"], first["client_port"]), (first["server"], first["server_port"])
        assert {theirs.a, theirs.b} == {client, server}
        expected = tcptrace(segments, first_up=theirs.a == client)
        assert (theirs.a2b, theirs.b2a) == expected, f"connection {first['connection']}"


def test_totals_of_our_columns_are_tcptraces(taken: Taken) -> None:
    need("tcptrace")
    traced = run_tcptrace(taken.file)
    ours = taken.ours
    directions = [direction for row in traced for direction in (row.a2b, row.b2a)]
    rows = ours.connections.values()
    both = {
        "packets": ("segments_up", "segments_down", "duplicates"),
        "data_packets": ("data_segments_up", "data_segments_down"),
        "data_bytes": ("sent_bytes_up", "sent_bytes_down"),
    }
    if any(row["window_probes"] or row["keep_alives"] for row in rows):
        pytest.skip("probes and keep-alives carry no data in our columns; the segments are compared")
    for theirs, columns in both.items():
        total = sum(getattr(direction, theirs) for direction in directions)
        assert total == sum(row[column] for row in rows for column in columns), theirs
