"""Rules of the network namespace that is here, by nft(8).

Leaves out what the rules say: that is ``redirect``'s and ``connecting``'s.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from airperf.errors import EnvironmentLacks

LIMIT_S = 10.0


def nft(arguments: Sequence[str], text: str, otherwise: str) -> None:
    """Runs nft with ``text`` as its input; raises ``EnvironmentLacks`` with nft's own words if it refuses."""
    done = subprocess.run(
        ["nft", *arguments], input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if done.returncode != 0:
        problem = done.stderr.strip().partition("\n")[0]
        raise EnvironmentLacks(f"{otherwise}: {problem}")
