"""The few columns of each table that matter to a person, in the units one reads.

Times are seconds since the first packet looked at, lengths of time milliseconds. Leaves out the rest of the
columns (docs/reference/capture-records.md has all), which ``--columns``, CSV, JSON and Parquet give as they
are.
"""

from __future__ import annotations

import polars as pl

from airperf.records.formats.listing import Column

STATES = {True: "yes", False: "no"}


def columns(table: str, origin_ns: int) -> list[Column]:
    """The columns for people of a table whose capture began at ``origin_ns``."""
    match table:
        case "connections":
            return _connections(origin_ns)
        case "exchanges":
            return _exchanges(origin_ns)
        case "frames":
            return _frames(origin_ns)
        case "segments":
            return _segments(origin_ns)
        case "series":
            return _series(origin_ns)
        case "stations":
            return _stations()
        case _:
            raise KeyError(table)


def _connections(origin_ns: int) -> list[Column]:
    return [
        Column("#", whole("connection")),
        Column("client", endpoint("client", "client_port"), right=False),
        Column("server", endpoint("server", "server_port"), right=False),
        Column("opened s", since("opened_ns", origin_ns)),
        Column("lasted ms", milliseconds(span("last_ns", "opened_ns"))),
        Column("class", pl.col("class"), right=False),
        Column("requests", whole("exchanges"), rank=3),
        Column("up B", whole("bytes_up"), rank=2),
        Column("down B", whole("bytes_down"), rank=1),
        Column("TCP rtx", (pl.col("retransmissions_up") + pl.col("retransmissions_down")).cast(pl.String)),
        Column("MAC rtx", (pl.col("mac_retries_up") + pl.col("mac_retries_down")).cast(pl.String), rank=2),
        Column("RTT ms", milliseconds(pl.col("rtt_mean_ns")), rank=2),
        Column("spoken", pl.col("application"), right=False, rank=4),
        Column("server name", pl.col("server_name"), right=False, rank=5),
    ]


def _exchanges(origin_ns: int) -> list[Column]:
    return [
        Column("conn", whole("connection")),
        Column("n", whole("index"), rank=2),
        Column("client", pl.col("client"), right=False, rank=1),
        Column("method", pl.col("method"), right=False),
        Column("URL", url(), right=False),
        Column("status", whole("status")),
        Column("sent s", since("sent_ns", origin_ns), rank=1),
        Column("wait ms", milliseconds(span("first_byte_ns", "asked_ns")), rank=2),
        Column("total ms", milliseconds(span("done_ns", "sent_ns"))),
        Column("request B", whole("request_bytes"), rank=3),
        Column("response B", whole("response_bytes")),
        Column("outcome", pl.when("complete").then(pl.lit("complete")).otherwise("error"), right=False),
    ]


def _frames(origin_ns: int) -> list[Column]:
    return [
        Column("frame", whole("frame")),
        Column("time s", since("time_ns", origin_ns)),
        Column("kind", pl.col("kind"), right=False),
        Column("transmitter", pl.col("transmitter"), right=False, rank=2),
        Column("receiver", pl.col("receiver"), right=False, rank=2),
        Column("bytes", whole("bytes")),
        Column("Mbit/s", fixed(pl.col("rate_bps") // 100_000, 1), rank=3),
        Column("seq", whole("sequence"), rank=4),
        Column("FCS", pl.col("fcs"), right=False, rank=4),
        Column("view", pl.col("view"), right=False, rank=1),
        Column("acked", pl.col("acknowledged").replace_strict(STATES, return_dtype=pl.String), rank=5),
        Column("dBm", pl.col("signal_dbm").round(1).cast(pl.String), rank=5),
        Column("source", pl.col("source"), right=False, rank=1),
        Column("destination", pl.col("destination"), right=False, rank=1),
        Column("proto", whole("protocol"), rank=3),
    ]


def _segments(origin_ns: int) -> list[Column]:
    marks = ("spurious", "duplicate_ack", "zero_window", "window_probe", "keep_alive")
    notes = [
        pl.when(pl.col("novelty") != "new").then("novelty"),
        *(pl.when(mark).then(pl.lit(mark)) for mark in marks),
    ]
    return [
        Column("frame", whole("frame")),
        Column("time s", since("time_ns", origin_ns)),
        Column("from", pl.when("up").then(pl.lit("client")).otherwise(pl.lit("server")), right=False),
        Column("kind", pl.col("kind"), right=False),
        Column("seq", whole("seq")),
        Column("ack", whole("ack")),
        Column("payload B", whole("payload_bytes")),
        Column("window B", whole("window"), rank=2),
        Column("in flight B", whole("in_flight"), rank=3),
        Column("RTT ms", milliseconds(pl.col("rtt_ns")), rank=2),
        Column("MAC rtx", whole("mac_retries"), rank=3),
        Column("notes", pl.concat_str(notes, separator=" ", ignore_nulls=True), right=False, rank=1),
    ]


def _series(origin_ns: int) -> list[Column]:
    return [
        Column("time s", since("time_ns", origin_ns, digits=3)),
        Column("client", pl.col("client").fill_null("all"), right=False),
        Column("packets", whole("packets")),
        Column("Mbit/s", rate("bytes")),
        Column("payload Mbit/s", rate("payload_bytes")),
        Column("connections", whole("connections")),
        Column("requests", whole("requests")),
    ]


def _stations() -> list[Column]:
    return [
        Column("station", pl.col("station"), right=False),
        Column("addresses", pl.col("addresses"), right=False, rank=1),
        Column("frames", whole("frames")),
        Column("data", whole("data_frames")),
        Column("retries", whole("retries")),
        Column("unicast", whole("unicast"), rank=2),
        Column("acked", whole("acknowledged"), rank=2),
        Column("bytes", whole("bytes")),
        Column("airtime ms", milliseconds(pl.col("airtime_ns"))),
        Column("used %", (pl.col("utilisation") * 100).round(1).cast(pl.String)),
        Column("dBm", pl.col("signal_dbm").round(1).cast(pl.String), rank=3),
    ]


def whole(name: str) -> pl.Expr:
    """An integer column as text."""
    return pl.col(name).cast(pl.String)


def fixed(value: pl.Expr, digits: int) -> pl.Expr:
    """An integer count of 10^-digits as a decimal number."""
    number = value.cast(pl.Int64)
    sign = pl.when(number < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    scale = 10**digits
    whole_part = (number.abs() // scale).cast(pl.String)
    decimals = (number.abs() % scale).cast(pl.String).str.zfill(digits)
    return pl.concat_str(sign, whole_part, pl.lit("."), decimals)


def span(later: str, earlier: str) -> pl.Expr:
    """Nanoseconds from one column to another."""
    return pl.col(later).cast(pl.Int64) - pl.col(earlier).cast(pl.Int64)


def milliseconds(ns: pl.Expr) -> pl.Expr:
    """Nanoseconds as milliseconds to the microsecond."""
    return fixed(ns.cast(pl.Int64) // 1_000, 3)


def since(name: str, origin_ns: int, digits: int = 6) -> pl.Expr:
    """Seconds since the capture's first packet."""
    return fixed((pl.col(name).cast(pl.Int64) - origin_ns) // 10 ** (9 - digits), digits)


def rate(octets: str) -> pl.Expr:
    """Octets of an interval of ``length_ns`` as Mbit/s."""
    return fixed((pl.col(octets) * 8_000_000 / pl.col("length_ns")).round(0), 3)


def endpoint(host: str, port: str) -> pl.Expr:
    """Address and port, IPv6 in brackets."""
    name = pl.col(host)
    bracketed = pl.when(name.str.contains(":", literal=True)).then("[" + name + "]").otherwise(name)
    return bracketed + ":" + pl.col(port).cast(pl.String)


def url() -> pl.Expr:
    """Host and target of an exchange as one reads them; the server where no host was named."""
    host = pl.col("host").fill_null(pl.col("server"))
    target = pl.col("target")
    absolute = target.str.contains("://", literal=True)
    return pl.when(absolute).then(target).otherwise(host + target)
