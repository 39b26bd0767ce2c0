"""Holding what a browser opens to a number of connections to each server, in the network that is here.

Chromium opens six to a server and has no switch for fewer (``net/socket/client_socket_pool_manager.cc``). A
SYN for one too many is dropped where it is sent, so it costs the link nothing; a request that waits goes to
whichever connection is free first, as it would if the browser had waited itself. Reference: nft(8), ``ct
count``. Leaves out more than six.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from airperf.errors import EnvironmentLacks
from airperf.testbed.nft import nft

BROWSERS_OWN = 6
"""Connections that Chromium opens to a server."""
REFUSED = "connections cannot be held to a number"
RULES = """table ip airperf_connections {{
  set servers {{ type ipv4_addr . inet_service; flags dynamic; size 65536; }}
  chain output {{
    type filter hook output priority 0;
    tcp flags & (syn | ack) == syn ct state new \\
      add @servers {{ ip daddr . tcp dport ct count over {most} }} drop
  }}
}}
"""


@contextmanager
def held_to(most: int) -> Iterator[None]:
    """While entered, at most so many connections to one address and port are opened from this namespace.

    Raises ``EnvironmentLacks`` where rules cannot be set.
    """
    if most >= BROWSERS_OWN:
        yield
        return
    if shutil.which("nft") is None:
        raise EnvironmentLacks(
            f"{most} connections to a server need nft (Debian: nftables): Chromium opens {BROWSERS_OWN}"
        )
    nft(["-f", "-"], RULES.format(most=most), REFUSED)
    try:
        yield
    finally:
        nft(["delete", "table", "ip", "airperf_connections"], "", REFUSED)
