"""Captures of real traffic, made once per session; lets tests find the modules of harness/."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "harness"))

import traffic
from network import Network, need, need_network
from taken import Taken, read

Files = dict[str, tuple[Path, Path]]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    """Every scenario's two captures: on the client's side and on the server's."""
    need_network()
    need("tshark")
    folder = tmp_path_factory.mktemp("captures")
    with tempfile.TemporaryDirectory(prefix="airperf-test-") as server, Network() as network:
        # The server's user has to enter it; pytest's folders are for their owner only.
        Path(server).chmod(0o755)
        traffic.serve(network, Path(server))
        yield {name: traffic.make(network, folder, name) for name in traffic.SCENARIOS}


CAPTURES = {
    f"{name}-{side}": (name, number)
    for name in traffic.SCENARIOS
    for number, side in enumerate(("client", "server"))
}
"""What is captured, and on which side."""


@pytest.fixture(scope="module", params=CAPTURES)
def taken(request: pytest.FixtureRequest, recorded: Files) -> Taken:
    """One capture, read by airperf and tshark."""
    name, side = CAPTURES[request.param]
    return read(recorded[name][side])
