"""Community ID: one name for a flow in all tools.

Reference: Community ID flow hashing, version 1 (corelight/community-id-spec), with seed 0. Leaves out ICMP,
which has no connections here.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import struct
from functools import lru_cache

TCP = 6


@lru_cache(maxsize=4096)
def _packed(address: str) -> bytes:
    return ipaddress.ip_address(address).packed


def community_id(source: str, source_port: int, destination: str, port: int, protocol: int = TCP) -> str:
    """The ID of a flow; the same whichever end is called the source."""
    ends = sorted([(_packed(source), source_port), (_packed(destination), port)])
    (low, low_port), (high, high_port) = ends
    hashed = struct.pack("!H", 0) + low + high + struct.pack("!BBHH", protocol, 0, low_port, high_port)
    return "1:" + base64.b64encode(hashlib.sha1(hashed, usedforsecurity=False).digest()).decode()
