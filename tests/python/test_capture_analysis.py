"""What is concluded from a capture's tables, against conversations written here whose story is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest

from airperf.analysis.capture import connections, distributions, recovery, sequence, tails, traffic
from airperf.analysis.capture.phases import delayed_acks, slow_starts
from airperf.analysis.capture.segments import ACK, SYN, Segment, of_connections
from airperf.analysis.hurst import Hurst

MS = 1_000_000
S = 1_000 * MS
MSS = 1_000


class Conversation:
    """Writes segments in order of time; the server sends data, the client acknowledges."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []

    def add(self, ms: float, *, up: bool, **values: Any) -> None:
        """One segment at a time in milliseconds."""
        row: dict[str, Any] = dict.fromkeys(Segment._fields) | {
            "frame": len(self.segments) + 1,
            "time_ns": round(ms * MS),
            "connection": 0,
            "up": up,
            "seq": 1,
            "payload_bytes": 0,
            "window": 65_535,
            "flags": ACK,
            "novelty": "new",
        }
        for bit in ("spurious", "duplicate_ack", "zero_window", "window_probe", "keep_alive"):
            row[bit] = False
        self.segments.append(Segment(**(row | values)))

    def data(self, ms: float, number: int, novelty: str = "new", **values: Any) -> None:
        """Segment ``number``, from 0, of the server's data."""
        seq = 1 + number * MSS
        self.add(ms, up=False, seq=seq, ack=1, payload_bytes=MSS, novelty=novelty, **values)

    def ack(self, ms: float, number: int, *, duplicate: bool = False, **values: Any) -> None:
        """The client has everything before segment ``number``."""
        self.add(ms, up=True, ack=1 + number * MSS, duplicate_ack=duplicate, **values)

    @property
    def causes(self) -> list[str]:
        """Why segments were sent again, in order."""
        return [found.cause for found in recovery.retransmissions(self.segments)]


def flight(numbers: Iterable[int], begin_ms: float = 0.0) -> Conversation:
    """Segments one millisecond apart."""
    talk = Conversation()
    for place, number in enumerate(numbers):
        talk.data(begin_ms + place, number)
    return talk


def test_three_duplicate_acks_make_a_fast_retransmission() -> None:
    talk = flight(range(5))
    talk.ack(20, 1)
    for k in range(3):
        talk.ack(21 + k, 1, duplicate=True)
    talk.data(24, 1, "full")
    (found,) = recovery.retransmissions(talk.segments)
    assert (found.cause, found.before, found.waited_ns) == ("fast", 1, 23 * MS)


def test_two_duplicate_acks_do_not_make_one() -> None:
    talk = flight(range(5))
    talk.ack(20, 1)
    for k in range(2):
        talk.ack(21 + k, 1, duplicate=True)
    talk.data(24, 1, "full")
    assert talk.causes == ["unknown"]


def test_sack_above_the_hole_makes_a_fast_retransmission() -> None:
    talk = flight(range(5))
    talk.ack(20, 1)
    talk.ack(21, 1, duplicate=True, sack_from=1 + 2 * MSS, sack_to=1 + 3 * MSS)
    talk.data(24, 1, "full")
    assert talk.causes == ["fast"]


@pytest.mark.parametrize("sack", [True, False])
def test_an_acknowledgement_that_crosses_a_fast_retransmission_does_not_hide_it(*, sack: bool) -> None:
    talk = flight(range(6))
    talk.ack(20, 1)
    for k in range(1 if sack else 3):
        edges = {"sack_from": 1 + 2 * MSS, "sack_to": 1 + 3 * MSS} if sack else {}
        talk.ack(21 + k, 1, duplicate=True, **edges)
    talk.ack(24, 6)
    talk.data(24.002, 1, "full", spurious=True)
    assert talk.causes == ["fast"]


def test_a_second_hole_is_repaired_in_the_same_recovery() -> None:
    talk = flight(range(8))
    talk.ack(20, 1)
    for k in range(4):
        talk.ack(21 + k, 1, duplicate=True)
    talk.data(26, 1, "full")
    talk.ack(46, 4)
    talk.data(47, 4, "full")
    talk.ack(66, 8)
    assert talk.causes == ["fast", "recovery"]


def test_silence_without_duplicate_acks_is_a_timeout_and_the_rest_follows_it() -> None:
    talk = flight(range(4))
    talk.data(1_003, 0, "full")
    talk.ack(1_020, 1)
    talk.data(1_021, 1, "full")
    talk.data(1_022, 2, "full")
    assert talk.causes == ["timeout", "after_timeout", "after_timeout"]


def test_every_step_of_an_exponential_backoff_is_a_timeout() -> None:
    talk = flight(range(1))
    for ms in (300, 900, 2_100, 4_500):
        talk.data(ms, 0, "full")
    assert talk.causes == ["timeout"] * 4


def test_duplicate_acks_long_ago_do_not_hide_a_timeout() -> None:
    talk = flight(range(5))
    talk.ack(20, 1)
    for k in range(3):
        talk.ack(21 + k, 1, duplicate=True)
    talk.data(24, 1, "full")
    talk.data(324, 1, "full")
    assert talk.causes == ["fast", "timeout"]


def test_the_last_segment_again_before_any_timeout_is_a_tail_loss_probe() -> None:
    talk = flight(range(3))
    talk.ack(15, 2)
    talk.data(60, 2, "full")
    assert talk.causes == ["probe"]


def test_a_repeated_syn_is_a_timeout() -> None:
    talk = Conversation()
    talk.add(0, up=True, seq=0, flags=SYN)
    talk.add(3_000, up=True, seq=0, flags=SYN, novelty="dup_syn")
    assert talk.causes == ["timeout"]


def test_probes_and_keep_alives_are_not_retransmissions() -> None:
    talk = flight(range(2))
    talk.ack(10, 2, zero_window=True, window=0)
    talk.add(300, up=False, seq=2 * MSS, payload_bytes=1, novelty="full", window_probe=True)
    talk.add(9_000, up=False, seq=2 * MSS, payload_bytes=1, novelty="full", keep_alive=True)
    assert talk.causes == []


def test_a_retransmission_of_what_was_not_captured_has_no_earlier_segment() -> None:
    talk = Conversation()
    talk.data(0, 5)
    talk.data(400, 0, "full")
    (found,) = recovery.retransmissions(talk.segments)
    assert (found.before, found.waited_ns) == (None, None)


def rounds(sizes: Iterable[int], rtt_ms: float = 100.0) -> Conversation:
    """Each round sends so many segments, all acknowledged a round-trip time later."""
    talk, number = Conversation(), 0
    for place, size in enumerate(sizes):
        for k in range(size):
            talk.data(place * rtt_ms + k * 0.1, number + k)
        number += size
        talk.ack(place * rtt_ms + rtt_ms - 1, number, rtt_ns=round(rtt_ms * MS))
    return talk


def test_slow_start_is_found_and_ends_with_the_growth() -> None:
    talk = rounds([2, 4, 8, 16, 17, 18, 19])
    (phase,) = slow_starts(talk.segments, [])
    assert (phase.up, phase.from_ns, phase.to_ns, phase.rounds) == (False, 0, 399 * MS, 4)


def test_slow_start_with_delayed_acks_grows_by_half() -> None:
    assert len(slow_starts(rounds([2, 3, 5, 8, 12]).segments, [])) == 1


@pytest.mark.parametrize("sizes", [[4, 4, 4, 4, 4], [2, 4], [2, 4, 4, 8, 8]])
def test_what_does_not_keep_growing_is_no_slow_start(sizes: list[int]) -> None:
    assert slow_starts(rounds(sizes).segments, []) == []


def test_slow_start_begins_anew_after_a_timeout() -> None:
    talk = rounds([2, 4, 8])
    last = talk.segments[-1].time_ns / MS
    talk.data(last + 1, 14)
    talk.data(last + 500, 14, "full")
    number = 15
    for place, size in enumerate((2, 4, 8)):
        begin = last + 600 + 100 * place
        talk.ack(begin, number)
        for k in range(size):
            talk.data(begin + 1 + k * 0.1, number + k)
        number += size
    talk.ack(last + 900, number)
    again = recovery.retransmissions(talk.segments)
    assert [found.cause for found in again] == ["timeout"]
    phases = slow_starts(talk.segments, again)
    assert [(phase.from_ns // MS, phase.rounds) for phase in phases] == [(0, 3), (int(last + 500), 4)]


def test_a_delayed_ack_is_told_from_one_that_waits_for_the_air() -> None:
    talk = Conversation()
    talk.data(0, 0)
    talk.ack(2, 1, rtt_ns=2 * MS)
    talk.data(100, 1)
    talk.ack(142, 2, rtt_ns=42 * MS)
    talk.data(200, 2)
    talk.data(201, 3)
    talk.ack(260, 3, rtt_ns=60 * MS)
    assert delayed_acks(talk.segments) == [3]


def test_marks_gather_runs_of_duplicate_acks() -> None:
    talk = flight(range(5))
    talk.ack(20, 1)
    for k in range(4):
        talk.ack(21 + k, 1, duplicate=True)
    talk.data(26, 1, "full")
    drawing = sequence.drawing(talk.segments, 0)
    assert [mark[1:] for mark in drawing["m"]] == [["duplicate_acks", 4], ["fast", 25 * MS]]
    assert sum(drawing["t"]) == 26 * MS
    assert drawing["c"] == [[10, 0, 1]]


def test_segments_are_read_up_to_the_limit_and_no_others() -> None:
    talk = flight(range(30))
    rows = [s._replace(frame=place, connection=place % 3) for place, s in enumerate(talk.segments)]
    table = pl.DataFrame([row._asdict() for row in rows], schema_overrides={"sack_from": pl.UInt64})
    found = of_connections(table.lazy(), {0: 10, 2: 10}, 4)
    assert {key: [s.frame for s in some] for key, some in found.items()} == {
        0: [0, 3, 6, 9],
        2: [2, 5, 8, 11],
    }
    assert of_connections(table.lazy(), {0: 10, 2: 10}, 10) == {
        key: [row for row in rows if row.connection == key] for key in (0, 2)
    }


def connection(number: int, **values: Any) -> dict[str, Any]:
    """A whole connection of one second that brought 100,000 octets."""
    row: dict[str, Any] = dict.fromkeys(connections.COLUMNS, 0)
    opened = 5 * S + number * 10 * MS
    row |= {"connection": number, "client": "192.0.2.1", "server": "192.0.2.9", "client_port": 1024 + number}
    row |= {"opened_ns": opened, "last_ns": opened + S, "last_data_ns": opened + S // 2, "class": "syn_fin"}
    row |= {"exchanges": 1, "bytes_up": 100, "bytes_down": 100_000, "segments_up": 40, "segments_down": 70}
    return (
        row | {"application": "http/1", "mac_retries_up": None, "mac_retries_down": None, "rtt_mean_ns": None}
    ) | values


def prepared(*rows: dict[str, Any]) -> pl.DataFrame:
    """The table that the analysis works on."""
    return connections.prepare(pl.DataFrame(list(rows), infer_schema_length=None).lazy(), 5 * S)


def test_think_time_and_the_wait_for_the_end_are_no_throughput() -> None:
    table = prepared(connection(0, think_ns=S // 4))
    assert table["throughput_bps"].to_list() == [pytest.approx(800_000)]
    assert table["busy_bps"].to_list() == [pytest.approx(3_200_000)]
    assert table["mac_retries"].to_list() == [None], "what was not captured is not zero"


def test_a_connection_that_brought_nothing_has_no_throughput() -> None:
    table = prepared(connection(0, bytes_down=0), connection(1, last_data_ns=None))
    assert table["busy_bps"].to_list() == [None, None]
    assert table["throughput_bps"].to_list() == [None, pytest.approx(800_000)]


def test_connections_are_chosen_by_the_rules_and_say_why() -> None:
    rows = [connection(number) for number in range(40)]
    rows[3] |= {"retransmissions_down": 9}
    rows[7] |= {"bytes_down": 9_000_000}
    rows[11] |= {"zero_windows": 4}
    rows[19] |= {"class": "syn_no_synack", "bytes_down": 0, "segments_up": 5, "segments_down": 0}
    found = sequence.choose(prepared(*rows))
    assert found[3].startswith("most TCP retransmissions")
    assert found[7].startswith("most octets")
    assert found[11].startswith("closed windows")
    assert found[19] == "never answered"
    assert len(found) <= 18
    assert sequence.choose(prepared(*reversed(rows))) == found, "the order of rows does not matter"


def test_nothing_is_chosen_from_nothing() -> None:
    assert sequence.choose(prepared(connection(0)).head(0)) == {}


def series(*cells: tuple[int, int, str | None], length_ns: int = S) -> pl.DataFrame:
    """Rows of interval, packets and client; a packet has 100 octets."""
    return pl.DataFrame(
        [
            {
                "time_ns": n * length_ns,
                "length_ns": length_ns,
                "client": client,
                "packets": p,
                "bytes": 100 * p,
            }
            for n, p, client in cells
        ],
        schema_overrides={"client": pl.String, "time_ns": pl.UInt64},
    )


def test_intervals_without_a_packet_count_as_zero() -> None:
    table = traffic.over_time(series((10, 5, None), (13, 1, None), (11, 9, "192.0.2.1")), 10 * S)
    assert table["packets"].to_list() == [5, 0, 0, 1]
    assert table["time_s"].to_list() == [0.5, 1.5, 2.5, 3.5]


def test_taking_intervals_together_loses_no_packet() -> None:
    cells = [(n, n % 7, None) for n in range(2_000)]
    table = traffic.over_time(series(*cells), 0)
    assert table.height <= traffic.MOST_POINTS
    assert (table["packets"] * table["length_s"]).sum() == pytest.approx(sum(p for _, p, _ in cells))
    assert table["peak_packets"].to_numpy().max() == 6


def test_years_between_two_packets_are_no_series() -> None:
    assert traffic.regular(series((0, 1, None), (10**9, 1, None)), "packets") is None
    memory = tails.memory("packets", 1.0, None)
    assert "gaps" in memory.verdict


def test_packet_sizes_and_their_peaks() -> None:
    rows = [("packet_bytes", 40, 50), ("packet_bytes", 1500, 45), ("packet_bytes", 700, 1)]
    rows += [("packet_bytes", 701, 4), ("interarrival_ns", 10, 99)]
    table = traffic.sizes(
        pl.DataFrame([{"what": w, "from": n, "below": n + 1, "count": c} for w, n, c in rows])
    )
    assert table["packets"].to_list() == [0.5, 0.51, 0.55, 1.0]
    assert traffic.peaks(table).select("bytes", "what").rows()[:2] == [
        (40, traffic.KNOWN_SIZES[40]),
        (1500, traffic.KNOWN_SIZES[1500]),
    ]
    assert 700 not in traffic.peaks(table)["bytes"]


def test_poisson_arrivals_have_a_coefficient_of_variation_of_one() -> None:
    times = np.random.default_rng(5).exponential(2.0, 200_000) * MS
    edges = np.geomspace(1, 1e9, 2_000)
    counts, _ = np.histogram(times, edges)
    table = pl.DataFrame(
        {
            "what": ["interarrival_ns"] * counts.size,
            "from": edges[:-1].astype(int),
            "below": edges[1:].astype(int),
            "count": counts,
        }
    )
    spread = traffic.gap_spread(traffic.gaps(table))
    assert spread is not None
    assert spread[0] == pytest.approx(2.0, rel=0.01)
    assert spread[1] == pytest.approx(1.0, rel=0.02)


def test_a_thinned_distribution_keeps_its_ends_and_its_shape() -> None:
    values = np.random.default_rng(6).pareto(1.2, 50_000) + 1
    table = distributions.distribution(values)
    assert table.height <= 2 * distributions.MOST_POINTS
    assert table["value"][0] == values.min()
    assert table["value"][-1] == values.max()
    assert table["share"][-1] == 1
    assert table["longer"][-1] == pytest.approx(1 / values.size)
    for value, share in table.select("value", "share").gather_every(50).iter_rows():
        assert share == pytest.approx((values <= value).mean())


@pytest.mark.parametrize(
    ("limits", "claim"),
    [
        ([(0.7, 0.9), (0.65, 0.95)], "long memory"),
        ([(0.45, 0.6), (0.4, 0.7)], "no memory seen"),
        ([(0.7, 0.8), (0.9, 1.0)], "disagree"),
        ([(1.1, 1.3), (1.0, 1.6)], "not stationary"),
        ([(0.45, 0.6), (0.55, 0.7)], "an interval holds 0.5"),
    ],
)
def test_memory_is_claimed_only_where_both_estimates_say_so(
    limits: list[tuple[float, float]], claim: str
) -> None:
    estimates = tuple(Hurst("m", 500, (low + high) / 2, low, high) for low, high in limits)
    assert claim in tails.Memory("packets", 1.0, estimates).verdict
