"""Every frame of real traffic, as airperf and as tshark class it; see docs/reference/retransmissions.md.

Equality is demanded of everything: where the two differ by definition, ``explained`` computes tshark's
verdict from our tables. Leaves out captures that are damaged (``test_malformed``) and 802.11 (``test_air``).
"""

from __future__ import annotations

from collections import Counter

from explained import Tshark, http_of_tshark
from taken import Taken


def test_the_same_frames_hold_the_same_segments(taken: Taken) -> None:
    ours, tshark = taken.ours, taken.tshark
    assert ours.summary["packets"] == len(tshark)
    seen = {
        frame: (packet.flags and packet.flags & 0xFF, packet.payload)
        for frame, packet in tshark.items()
        if packet.stream is not None
    }
    strays = [row for row in ours.segments if row["connection"] is None]
    rows = [row for rows in taken.segments().values() for row in rows] + strays
    assert {row["frame"]: (row["flags"], row["payload_bytes"]) for row in rows} == seen


def test_windows_are_scaled_back_to_what_the_header_says(taken: Taken) -> None:
    ours = taken.ours
    found = {row["frame"]: ours.raw_window(row) for row in ours.segments if row["connection"] is not None}
    assert found == {frame: taken.tshark[frame].window for frame in found}


def test_segments_belong_to_the_same_connections(taken: Taken) -> None:
    assert taken.same_connections()


def test_relative_numbers_are_distances_from_the_first(taken: Taken) -> None:
    for segments in taken.ours.by_connection().values():
        for up in (True, False):
            rows = [row for row in segments if row["up"] == up and not row["flags"] & 4]
            raw = [taken.tshark[row["frame"]].seq for row in rows]
            steps = [(row["seq"] - rows[0]["seq"]) % 2**32 for row in rows]
            assert steps == [((number or 0) - (raw[0] or 0)) % 2**32 for number in raw]


def test_every_verdict_of_tshark_follows_from_ours(taken: Taken) -> None:
    differences = []
    for segments in taken.segments().values():
        packets = [taken.tshark[row["frame"]] for row in segments]
        rtt = next((p.initial_rtt_s for p in packets if p.initial_rtt_s is not None), None)
        model = Tshark(taken.ours, None if rtt is None else round(rtt * 1e9))
        for row, packet in zip(segments, packets, strict=True):
            expected = model.verdicts(row)
            if expected != packet.verdicts:
                differences.append((row["frame"], row["novelty"], sorted(expected), sorted(packet.verdicts)))
    assert not differences


def test_our_other_verdicts_are_tsharks_with_a_reason_where_they_are_not(taken: Taken) -> None:
    """Duplicate ACKs need data outstanding, windows a known scale, keep-alives an acknowledgement."""
    for row in taken.ours.segments:
        theirs = taken.tshark[row["frame"]].verdicts
        if row["connection"] is None:
            continue
        scaled = taken.ours.connections[row["connection"]]["window_scale_up"] is not None
        assert row["zero_window"] == ("zero_window" in theirs and scaled), row
        assert not row["keep_alive"] or "keep_alive" in theirs, row
        assert not row["duplicate_ack"] or "duplicate_ack" in theirs, row
        assert not row["spurious"] or theirs & {"spurious_retransmission", "out_of_order"}, row


def test_requests_and_responses_are_tsharks(taken: Taken) -> None:
    packets = taken.tshark.values()
    methods = Counter(method for packet in packets for method in packet.methods)
    statuses = Counter(status for packet in packets for status in packet.statuses)
    expected = http_of_tshark(taken.ours)
    # An interim response is no response of ours: the final one counts.
    final = Counter({status: count for status, count in statuses.items() if status >= 200})
    assert (methods, final) == expected


def test_the_summary_counts_what_the_tables_hold(taken: Taken) -> None:
    ours = taken.ours
    tcp, novelty = ours.summary["tcp"], Counter(row["novelty"] for row in ours.segments)
    assert tcp["segments"] == len(ours.segments)
    assert tcp["retransmission_parts"] == {name: novelty[name] for name in tcp["retransmission_parts"]}
    assert tcp["retransmitted"] == novelty["full"] + novelty["dup_syn"] + novelty["dup_fin"]
    assert tcp["out_of_order"] == novelty["late"]
    assert tcp["resets"] == sum(bool(row["flags"] & 4) for row in ours.segments)
    assert tcp["duplicate_acks"] == sum(row["duplicate_ack"] for row in ours.segments)
    classes = Counter(row["class"] for row in ours.connections.values())
    assert {name: tcp[name] for name in classes} == classes
    assert sum(classes.values()) == tcp["connections"]
    asked = sum(row["method"] is not None for row in ours.exchanges)
    answered = sum(row["status"] is not None for row in ours.exchanges)
    assert ours.summary["http"] == {"requests": asked, "responses": answered}
