"""Three anonymous network namespaces in a row: client, router, server.

The router is where captures are made, on the client's side and on the server's, and where packets are
dropped. Programs are started by argument vector inside a namespace with nsenter; everything ends with the
context. Leaves out delay and reordering (this needs tc's netem, which not every kernel has): reordered
captures are made from others.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

CLIENT, ROUTER, SERVER = "client", "router", "server"
SERVER_ADDRESS = "10.77.2.2"
"""Where the server listens."""

PROGRAMS = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "ip": "iproute2",
    "nft": "nftables",
    "tcpdump": "tcpdump",
    "dumpcap": "wireshark-common",
}
WAIT_S = 10.0


def need(*programs: str) -> None:
    """Skips the test, with what is missing, where a program is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (package {PROGRAMS.get(program, program)})")


def need_network() -> None:
    """Skips the test, with the reason, where namespaces cannot be made."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    need(*PROGRAMS)
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine gives no network namespaces, not even to root")


class Network:
    """The namespaces, while the context lasts."""

    def __init__(self) -> None:
        self._holders: dict[str, subprocess.Popen[bytes]] = {}
        self._programs: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        for name in (CLIENT, ROUTER, SERVER):
            self._holders[name] = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        try:
            self._wait_for_namespaces()
            self._link(CLIENT, "c0", "10.77.1.2", "r0", "10.77.1.1")
            self._link(SERVER, "s0", SERVER_ADDRESS, "r1", "10.77.2.1")
            # /proc/sys shows the namespace of the process that looks.
            forward = "/proc/sys/net/ipv4/ip_forward"
            self.run(ROUTER, "dd", "if=/dev/stdin", f"of={forward}", "status=none", stdin=b"1")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _wait_for_namespaces(self) -> None:
        own = Path("/proc/self/ns/net").readlink()
        deadline = time.monotonic() + WAIT_S
        for holder in self._holders.values():
            while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
                if time.monotonic() > deadline:
                    raise TimeoutError("no namespace came about")
                time.sleep(0.01)

    def _link(self, side: str, device: str, address: str, far: str, gateway: str) -> None:
        router = str(self._holders[ROUTER].pid)
        self.run(side, "ip", "link", "add", device, "type", "veth", "peer", "name", far, "netns", router)
        for place, name, own in ((side, device, address), (ROUTER, far, gateway)):
            # One segment at a time: what is captured is then as long as on a wire.
            self.run(place, "ip", "link", "set", name, "gso_max_segs", "1", "gso_max_size", "1500")
            self.run(place, "ip", "addr", "add", f"{own}/24", "dev", name)
            self.run(place, "ip", "link", "set", name, "up")
            self.run(place, "ip", "link", "set", "lo", "up")
        self.run(side, "ip", "route", "add", "default", "via", gateway)

    def command(self, place: str, *argv: str) -> list[str]:
        """The argument vector that runs a program in a namespace."""
        return ["nsenter", "--target", str(self._holders[place].pid), "--net", *argv]

    def run(self, place: str, *argv: str, stdin: bytes | None = None, check: bool = True) -> bytes:
        """Runs a program to its end and gives what it printed."""
        done = subprocess.run(
            self.command(place, *argv), input=stdin, capture_output=True, check=False, timeout=60
        )
        if check and done.returncode:
            said = done.stderr.decode(errors="replace")
            raise RuntimeError(f"{' '.join(argv)} ended with {done.returncode}: {said}")
        return done.stdout

    def start(self, place: str, argv: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Starts a program that runs until the context ends; what it prints goes to ``log``."""
        with log.open("wb") as file:
            program = subprocess.Popen(self.command(place, *argv), stdout=file, stderr=file)
        self._programs.append(program)
        return program

    @contextmanager
    def loss(self, percent: int) -> Iterator[None]:
        """Drops this share of what the router forwards."""
        if percent == 0:
            yield
            return
        rules = f"""
        table ip loss {{
            chain forward {{
                type filter hook forward priority 0;
                numgen random mod 100 < {percent} drop
            }}
        }}"""
        self.run(ROUTER, "nft", "-f", "-", stdin=rules.encode())
        try:
            yield
        finally:
            self.run(ROUTER, "nft", "delete", "table", "ip", "loss")

    @contextmanager
    def captured(self, folder: Path, name: str) -> Iterator[tuple[Path, Path]]:
        """Captures what passes: on the client's side with tcpdump, on the server's with dumpcap."""
        files = (folder / f"{name}-client.pcap", folder / f"{name}-server.pcapng")
        # Short records, so that the kernel's buffer holds many.
        argvs = (
            f"tcpdump -i r0 -Z root -n -U --immediate-mode -s 2000 -B 8192 -w {files[0]} tcp",
            f"dumpcap -i r1 -q -s 2000 -B 8 -f tcp -w {files[1]}",
        )
        logs = [file.with_suffix(".log") for file in files]
        dumps = [self.start(ROUTER, argv.split(), log) for argv, log in zip(argvs, logs, strict=True)]
        deadline = time.monotonic() + WAIT_S
        for log, sign in zip(logs, (b"listening on", b"File: "), strict=True):
            while sign not in log.read_bytes():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"no capture begins: {log.read_text()}")
                time.sleep(0.01)
        try:
            yield files
        finally:
            # The kernel hands packets over to dumpcap in blocks, the last one after a quarter of a second.
            time.sleep(0.35)
            for dump in dumps:
                dump.send_signal(signal.SIGINT)
                dump.wait(WAIT_S)

    def _end(self) -> None:
        for program in (*self._programs, *self._holders.values()):
            if program.poll() is None:
                program.terminate()
        for program in (*self._programs, *self._holders.values()):
            try:
                program.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
