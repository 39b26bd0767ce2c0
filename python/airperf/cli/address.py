"""Addresses as options give them: numeric, with a port.

Leaves out names: whoever gives an address to listen on or to connect to has looked it up.
"""

from __future__ import annotations

import ipaddress
import re

from airperf.errors import InputError

MOST_PORT = 65_535


def address(text: str, what: str, port: int | None = None) -> tuple[str, bool]:
    """An address as the engine wants it, and whether only this machine can reach it."""
    match = re.fullmatch(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?", text)
    host = (match[1] or match[2]) if match else ""
    digits = (match[3] if match else None) or port
    try:
        parsed = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        parsed = None
    if parsed is None or digits is None:
        raise InputError(f"{what} {text!r}: write ADDRESS:PORT, a numeric address, 127.0.0.1:8080 say")
    if int(digits) > MOST_PORT:
        raise InputError(f"{what} {text!r}: a port is a number from 0 to {MOST_PORT}")
    shown = f"[{parsed}]" if parsed.version == 6 else str(parsed)
    return f"{shown}:{int(digits)}", parsed.is_loopback
