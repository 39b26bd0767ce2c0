"""HTTP exchanges of a capture: waiting, transfer, sizes, outcomes.

Model: docs/reference/captures.md. The *response time* here is from the last octet of the request to the
first of the response, the *transfer* from the first octet of the request to the last of the response
(service time: when a user wanted it, a capture cannot tell). Leaves out exchanges inside TLS.
"""

from __future__ import annotations

import polars as pl

COLUMNS = (
    *("connection", "method", "status", "content_type", "sent_ns", "asked_ns", "first_byte_ns", "done_ns"),
    *("response_bytes", "body_bytes", "complete", "error"),
)
"""What is read of the table."""

MOST_TYPES = 12


def prepare(exchanges: pl.LazyFrame) -> pl.DataFrame:
    """The columns used here with ``response_s, transfer_s`` and ``throughput_bps`` of the transfer."""
    sent, asked = pl.col("sent_ns").cast(pl.Int64), pl.col("asked_ns").cast(pl.Int64)
    first, done = pl.col("first_byte_ns").cast(pl.Int64), pl.col("done_ns").cast(pl.Int64)
    transfer = done - sent
    return (
        exchanges.select(COLUMNS)
        .with_columns(
            # A server may answer before it has the whole request (RFC 9110 §7.5): no time to wait then.
            response_s=(first - asked).clip(lower_bound=0) / 1e9,
            transfer_s=transfer / 1e9,
            throughput_bps=pl.when(transfer > 0).then(
                pl.col("response_bytes").cast(pl.Float64) * 8e9 / transfer
            ),
        )
        .collect()
    )


def complete(table: pl.DataFrame) -> pl.DataFrame:
    """The exchanges whose response the client had whole."""
    return table.filter(pl.col("complete"))


def outcomes(table: pl.DataFrame) -> pl.DataFrame:
    """How exchanges ended: ``outcome, count, share``, complete ones by class of status."""
    status = (pl.col("status") // 100).cast(pl.String) + "xx"
    outcome = (
        pl.when(pl.col("complete"))
        .then(pl.lit("complete, ") + status.fill_null("status not seen"))
        .otherwise(pl.lit("not complete: ") + pl.col("error").cast(pl.String).fill_null("open at the end"))
    )
    return (
        table.group_by(outcome.alias("outcome"))
        .agg(count=pl.len())
        .with_columns(share=pl.col("count") / pl.col("count").sum())
        .sort(["count", "outcome"], descending=[True, False])
    )


def media_types(table: pl.DataFrame) -> pl.DataFrame:
    """What was transferred, by media type: ``type, count, bytes, median_bytes``; the rest as ``others``."""
    types = (
        complete(table)
        .group_by(type=pl.col("content_type").cast(pl.String).fill_null("not told"))
        .agg(count=pl.len(), bytes=pl.col("body_bytes").sum(), median_bytes=pl.col("body_bytes").median())
        .sort(["bytes", "type"], descending=[True, False])
    )
    if types.height <= MOST_TYPES:
        return types
    rest = types.slice(MOST_TYPES - 1).select(
        type=pl.lit("others"),
        count=pl.col("count").sum(),
        bytes=pl.col("bytes").sum(),
        median_bytes=pl.lit(None, dtype=pl.Float64),
    )
    return pl.concat([types.head(MOST_TYPES - 1), rest], how="vertical_relaxed")
