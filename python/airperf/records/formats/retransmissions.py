"""The study's retransmission table for people: types of segments down, clients across, TCP and MAC apart.

Reference: *kamaluddeen2004* and docs/reference/captures.md. Up to four clients stand side by side; more
follow one another. Leaves out CSV and the like, which have the records as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from airperf.records.formats.listing import Column, lines

KINDS = {
    "syn": "SYN",
    "syn_ack": "SYN-ACK",
    "get": "GET",
    "data": "DATA",
    "fin": "FIN",
    "fin_ack": "FIN-ACK",
    "ack": "ACK",
    "rst": "RST",
    "other": "other",
}
"""The study's names of the types, in its order, and what it left out."""

COUNTS = {"segments": "count", "tcp_retransmissions": "TCP rtx", "mac_retransmissions": "MAC rtx"}
SIDE_BY_SIDE = 4
"""As many clients fit beside one another."""

Parts = list[tuple[str, pl.DataFrame]]


def retransmission_lines(rows: pl.DataFrame) -> Iterator[str]:
    """The table as lines of text."""
    rows = rows.with_columns(pl.col("kind").cast(pl.Enum(list(KINDS)))).sort("kind")
    clients = sorted(rows["client"].unique().to_list())
    parts: Parts = [(client, rows.filter(pl.col("client") == client)) for client in clients]
    if len(parts) != 1:
        parts.insert(0, ("all clients", _sum(rows)))
    if len(clients) <= SIDE_BY_SIDE:
        yield from _block(parts)
        return
    for number, part in enumerate(parts):
        if number:
            yield "\n"
        yield from _block([part])


def _sum(rows: pl.DataFrame) -> pl.DataFrame:
    """Sums over clients; null where no client has a value."""
    sums = [pl.when(pl.col(n).is_not_null().any()).then(pl.col(n).sum()).alias(n) for n in COUNTS]
    return rows.group_by("kind").agg(sums)


def _block(parts: Parts) -> Iterator[str]:
    table = pl.DataFrame({"kind": list(KINDS)}, schema={"kind": pl.Enum(list(KINDS))})
    columns = [Column("type", pl.col("kind").cast(pl.String).replace(KINDS), right=False)]
    for number, (client, rows) in enumerate(parts):
        names = {count: f"{count} {number}" for count in COUNTS}
        table = table.join(rows.select("kind", *COUNTS).rename(names), on="kind", how="left")
        for count, title in COUNTS.items():
            shown = client if count == "segments" else title
            columns.append(Column(shown, pl.col(names[count]).cast(pl.String)))
    seen = table.filter(pl.any_horizontal(pl.exclude("kind").is_not_null()))
    for line in lines(seen.sort("kind").lazy(), columns, width=None)[1]:
        yield line + "\n"
