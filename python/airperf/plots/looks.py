"""The panels that a study may ask for: what each shows, its axis and its scale.

Model: names of quantities are those of ``analysis.panels``. Leaves out drawing (``panels``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PHASES = ("connect", "send", "reply", "receive", "reset")


@dataclass(frozen=True, slots=True)
class Panel:
    """What one panel shows and how."""

    quantity: str
    title: str
    label: str
    log: bool = False
    top: float | None = None
    zoom: bool = False
    """Whether the axis shows the values' own range instead of beginning at 0."""
    dotted: str = ""
    """A second quantity of the first series, as a dotted line."""
    dotted_label: str = ""


PANELS = {
    "transactions": Panel("carried_rps", "Transactions", "completed (transactions/s)"),
    "throughput": Panel("goodput_mbps", "Throughput", "HTTP responses (Mbit/s)"),
    "response": Panel(
        "response_ms",
        "Response time",
        "mean, due to done (ms)",
        log=True,
        dotted="transaction_ms",
        dotted_label="whole transaction with FIN handshake",
    ),
    "duration": Panel("duration_ms", "Connection duration", "mean on the air (ms)", log=True),
    "transfer": Panel("transfer_mbps", "Throughput of one transfer", "octets over duration (Mbit/s)"),
    "network": Panel(
        "network_mbps",
        "Network layer and goodput",
        "IP packets delivered (Mbit/s)",
        dotted="goodput_mbps",
        dotted_label="goodput: HTTP responses",
    ),
    "errors": Panel("errors_per_s", "Errors by phase", "errors (1/s)"),
    "all-errors": Panel("errors_per_s", "Errors", "errors (1/s)"),
    "aborted": Panel(
        "aborted_share",
        "Aborted",
        "share of connections",
        top=1,
        dotted="aborted_packet_share",
        dotted_label="share of packets that they sent",
    ),
    "flows": Panel("flow_goodput_mbps", "Goodput of flows", "payload (Mbit/s)"),
    "streams": Panel("streams_playable_share", "Streams", "share that can be played", top=1.02),
    "pages": Panel(
        "page_ms",
        "Page load time",
        "mean of complete pages (ms)",
        log=True,
        dotted="page_p95_ms",
        dotted_label="95th percentile",
    ),
    "pages-in-time": Panel("pages_in_time_share", "Pages within 10 s", "share of pages wanted", top=1.02),
    "fairness": Panel("jain", "Fairness between clients", "Jain's index", zoom=True),
    "fairness-first": Panel("first_to_others", "First client's transactions", "÷ the others'", zoom=True),
    "fairness-losses": Panel("jain_of_losses", "Fairness of refused packets", "Jain's index", zoom=True),
    "server-queue": Panel("queue_server", "Server's transmit queue", "mean, share of limit", top=1.02),
    "client-queue": Panel("queue_client", "First client's transmit queue", "mean, share of limit", top=1.02),
}
"""Panels by the names that studies use."""


def quantities(names: Sequence[str]) -> list[str]:
    """The quantities that panels of these names show."""
    wanted = [q for name in names for q in (PANELS[name].quantity, PANELS[name].dotted) if q]
    if "errors" in names:
        wanted += [f"errors_{phase}_per_s" for phase in PHASES]
    return list(dict.fromkeys(wanted))
