"""A command with a half of the optimising proxy beside it, in whatever network it is started in.

``python -m airperf.testbed.beside FILE COMMAND…``: FILE says which half (``optimise.Optimiser`` as JSON, and
``told``, the file that gets its counts). The half serves before the command starts and until it has ended.
Leaves out what the halves do.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from airperf import _core
from airperf.testbed.optimise import Optimiser
from airperf.testbed.room import run
from airperf.testbed.serving import Serving

OPEN_S = 30.0
"""Longer than slow links take for a connection and an exchange."""
FAILED = 125
"""Exit status where the proxy cannot serve; the reason is in the file of its counts."""


def beside(half: Optimiser, folder: Path, command: Sequence[str]) -> list[str]:
    """The command line that runs a command beside a half whose counts come into ``folder``."""
    name = str(half.half)
    order = {"half": asdict(half), "told": str(counts_file(folder, name))}
    path = folder / f"half-{name}.order.json"
    path.write_text(json.dumps(order), encoding="utf-8")
    return [sys.executable, "-m", "airperf.testbed.beside", str(path), *command]


def counts_file(folder: Path, half: str) -> Path:
    """Where a half's counts are, once it has ended: ``counts``, or ``problem`` when it could not serve."""
    return folder / f"half-{half}.json"


def opened(listen: str) -> None:
    """Has a client half open its connection to the other: a request for a host that is nowhere (RFC 6761)."""
    address, _, port = listen.rpartition(":")
    request = http.client.HTTPConnection(address, int(port), timeout=OPEN_S)
    with contextlib.suppress(OSError, http.client.HTTPException):
        request.request("GET", "http://halves.invalid/")
        request.getresponse().read()
    request.close()


def main() -> int:
    """Serves, runs the command, and writes what the half counted; the command's exit status."""
    order = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    options = json.dumps(Optimiser(**order["half"]).options())
    half = Serving(lambda tell: _core.run_optimiser(options, tell))
    status = FAILED
    if half.wait() is not None:
        if order["half"]["half"] == "client":
            opened(order["half"]["listen"])
        status = run(sys.argv[2:], None)
    told = half.stop() or {"problem": str(half.problem or "it did not begin to serve")}
    Path(order["told"]).write_text(json.dumps(told), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
