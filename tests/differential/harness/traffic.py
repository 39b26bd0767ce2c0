"""Real traffic: Apache answers httperf, ab, curl and the clients of ``talk``, each in a capture of its own.

Every scenario is small; together they take some ten seconds. Leaves out the emulated medium (``test_air``).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import talk
from network import CLIENT, SERVER, SERVER_ADDRESS, WAIT_S, Network, need

SIZES = (0, 1, 300, 700, 1460, 5000, 20000, 40000, 60000, 300000)
URL = f"http://{SERVER_ADDRESS}"
MODULES = Path("/usr/lib/apache2/modules")

CONFIGURATION = """
ServerName test
ServerRoot {folder}
PidFile {folder}/apache.pid
Mutex posixsem
ErrorLog {folder}/error.log
Listen 80
User www-data
Group www-data
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dir_module {modules}/mod_dir.so
StartServers 1
ServerLimit 2
ThreadsPerChild 25
MaxRequestWorkers 50
KeepAlive On
KeepAliveTimeout 2
MaxKeepAliveRequests 0
AcceptFilter http none
DocumentRoot {folder}/files
"""


def serve(network: Network, folder: Path) -> None:
    """Starts Apache on a configuration of its own and waits until it serves.

    Its user, www-data, must be able to enter ``folder``.
    """
    need("apache2", "curl", "httperf", "ab")
    files = folder / "files"
    files.mkdir()
    for size in SIZES:
        (files / str(size)).write_bytes(bytes(i % 251 for i in range(size)))
    configuration = folder / "apache.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, modules=MODULES), encoding="utf-8")
    log = folder / "apache.log"
    server = network.start(SERVER, ["apache2", "-f", str(configuration), "-DFOREGROUND"], log)
    deadline = time.monotonic() + WAIT_S
    while not network.run(CLIENT, "curl", "-s", f"{URL}/300", check=False):
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"Apache does not serve: {log.read_text()}")
        time.sleep(0.05)


def _talk(name: str) -> Callable[[Network], None]:
    def run(network: Network) -> None:
        network.run(CLIENT, sys.executable, str(Path(talk.__file__)), name)

    return run


def _non_persistent(network: Network) -> None:
    network.run(
        CLIENT, "httperf", "--hog", f"--server={SERVER_ADDRESS}", "--uri=/700", "--num-conns=60", "--rate=400"
    )


def _persistent(network: Network) -> None:
    arguments = "--uri=/5000 --num-conns=12 --num-calls=7 --rate=100".split()
    network.run(CLIENT, "httperf", "--hog", f"--server={SERVER_ADDRESS}", *arguments)


def _bursts(network: Network) -> None:
    arguments = "--uri=/1460 --wsess=6,8,0.01 --burst-length=4 --rate=50".split()
    network.run(CLIENT, "httperf", "--hog", f"--server={SERVER_ADDRESS}", *arguments)


def _concurrent(network: Network) -> None:
    network.run(CLIENT, "ab", "-q", "-n", "80", "-c", "8", "-k", f"{URL}/5000")
    network.run(CLIENT, "ab", "-q", "-n", "40", "-c", "8", f"{URL}/20000")


def _sizes(network: Network) -> None:
    network.run(CLIENT, "curl", "-s", *(f"{URL}/{size}" for size in SIZES), *["-o/dev/null"] * len(SIZES))
    network.run(CLIENT, "curl", "-s", "-I", f"{URL}/5000", f"{URL}/no-such-thing")


def _uploads(network: Network) -> None:
    octets = bytes(i % 253 for i in range(50000))
    for arguments in (["--data-binary", "@-"], ["-T", "-"], ["-H", "Expect:", "--data-binary", "@-"]):
        network.run(CLIENT, "curl", "-s", *arguments, f"{URL}/700", stdin=octets, check=False)


def _transfers(network: Network) -> None:
    urls = [f"{URL}/{size}" for size in (700, 5000, 60000, 20000, 300000, 1460, 60000, 300000)]
    network.run(CLIENT, "curl", "-s", "-m", "20", *urls, *["-o/dev/null"] * len(urls), check=False)


def _lossy(network: Network) -> None:
    _transfers(network)
    network.run(CLIENT, "ab", "-q", "-n", "30", "-c", "6", "-s", "10", f"{URL}/5000", check=False)


Scenario = tuple[Callable[[Network], None], int]
SCENARIOS: dict[str, Scenario] = {
    "non_persistent": (_non_persistent, 0),
    "persistent": (_persistent, 0),
    "bursts": (_bursts, 0),
    "concurrent": (_concurrent, 0),
    "sizes": (_sizes, 0),
    "uploads": (_uploads, 0),
    "pipelined": (_talk("pipelined"), 0),
    "aborted": (_talk("aborted"), 0),
    "half_closed": (_talk("half_closed"), 0),
    "idle": (_talk("idle"), 0),
    "slow_reader": (_talk("slow_reader"), 0),
    "keep_alive": (_talk("keep_alive"), 0),
    "same_port": (_talk("same_port"), 0),
    "lossy_3": (_lossy, 3),
    "lossy_8": (_lossy, 8),
    "lossy_aborted": (_talk("aborted"), 5),
    "lossy_uploads": (_uploads, 5),
}
"""Scenario and the share of packets that the router drops, in percent."""


def make(network: Network, folder: Path, name: str) -> tuple[Path, Path]:
    """Runs a scenario; gives the captures of the client's side and of the server's."""
    act, loss = SCENARIOS[name]
    with network.captured(folder, name) as files, network.loss(loss):
        act(network)
    return files
