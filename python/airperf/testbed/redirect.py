"""Connections of browsers that know of no proxy, redirected to one.

Reference: nft(8), ``redirect``; conntrack keeps where each was going (``SO_ORIGINAL_DST``). The rules are a
table of their own, named after this process, and go with it. What the proxy itself sends is marked and let
pass. Leaves out IPv6, and https: nobody can read on the way what is encrypted for somebody else.
"""

from __future__ import annotations

import os
import shutil
from types import TracebackType
from typing import Self

from airperf import _core
from airperf.errors import EnvironmentLacks
from airperf.testbed.nft import nft

REFUSED = "connections cannot be redirected"


def in_own_namespace() -> bool:
    """Whether this process has a network namespace that is not the machine's."""
    return bool(_core.own_namespace())


class Redirection:
    """While entered, what :meth:`to` was told is redirected."""

    MARK = 0x6170
    """Of what the proxy sends ("ap")."""

    def __init__(self) -> None:
        self.table = f"airperf_proxy_{os.getpid()}"
        self.done = False

    def rules(self, listen: str, names_at: str | None) -> str:
        """The rules for a proxy at ``listen``, with look-ups answered at ``names_at``."""
        address, _, port = listen.rpartition(":")
        wanted = [f"tcp dport 80 redirect to :{int(port)}"]
        if names_at is not None:
            wanted.append(f"udp dport 53 redirect to :{int(names_at.rpartition(':')[2])}")
        # Others reach loopback addresses never: without another address only this machine's browsers count.
        hooks = ["output"] if address.startswith("127.") else ["output", "prerouting"]
        chains = [
            f"  chain {hook} {{\n    type nat hook {hook} priority -100;\n"
            f"    meta mark {self.MARK:#x} return\n" + "".join(f"    {rule}\n" for rule in wanted) + "  }\n"
            for hook in hooks
        ]
        return f"table ip {self.table} {{\n{''.join(chains)}}}\n"

    def to(self, listen: str, names_at: str | None) -> None:
        """Begins to redirect, once."""
        if not self.done:
            self.done = True
            nft(["-f", "-"], self.rules(listen, names_at), REFUSED)

    def __enter__(self) -> Self:
        if shutil.which("nft") is None:
            raise EnvironmentLacks("--mode transparent needs nft (Debian: nftables) to redirect connections")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.done:
            nft(["delete", "table", "ip", self.table], "", REFUSED)
