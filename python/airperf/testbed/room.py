"""A network namespace with a hosted site and nothing else, and a command in it.

Model: namespaces(7), mount_namespaces(7). This module runs as a program inside namespaces that ``host`` has
made with unshare(1): it brings loopback up with the site's /16 on it, puts its own resolv.conf and
nsswitch.conf in place, hosts the site in a thread, and runs the command. There is no interface but loopback:
nothing that the command does can reach anybody. Leaves out making the namespaces.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from airperf import _core
from airperf.testbed.serving import Serving
from airperf.testbed.trusting import trusting

ADDRESS, MASK = "10.78.0.1", "255.255.0.0"
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C  # netdevice(7)
IFF_UP = 1
FAILED = 126
"""Status of a command that could not be run, as shells have it."""


def main() -> int:
    """Runs the command of the specification named by the first argument; its exit status."""
    wanted: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = Path(wanted["folder"])
    loopback_up()
    forget_connections()
    tell_kernel(wanted["sysctls"])
    names_from_here(folder)
    host = Serving(lambda tell: _core.host_site(wanted["site"], json.dumps(wanted["options"]), tell))
    try:
        told = host.wait()
        if told is None:
            (folder / "failed").write_text(str(host.problem), encoding="utf-8")
            return FAILED
        (folder / "ca.pem").write_text(told["authority"], encoding="utf-8")
        variables = trusting(folder / "ca.pem", told["key_hash"])
        status = run(wanted["command"], variables | {"AIRPERF_ORIGINS": json.dumps(told["origins"])})
    finally:
        last = host.stop()
    (folder / "told.json").write_text(json.dumps(last), encoding="utf-8")
    return status


def loopback_up() -> None:
    """Brings up loopback, and a second address whose whole prefix is this machine's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:

        def ask(code: int, name: str, content: bytes) -> None:
            fcntl.ioctl(control, code, struct.pack("16s24s", name.encode(), content))

        def place(address: str) -> bytes:
            return struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(address))

        ask(SIOCSIFFLAGS, "lo", struct.pack("h", IFF_UP))
        ask(SIOCSIFADDR, "lo:1", place(ADDRESS))
        ask(SIOCSIFNETMASK, "lo:1", place(MASK))


def forget_connections() -> None:
    """No connection learns from an earlier one (tcp_metrics): loads that are cold are alike."""
    # A /proc that cannot be written leaves it as it is.
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1", encoding="ascii")


def tell_kernel(sysctls: list[tuple[str, str]]) -> None:
    """Sets what the namespace can be told of TCP; what this kernel does not know stays as it is."""
    for name, value in sysctls:
        with contextlib.suppress(OSError):
            (Path("/proc/sys/net") / name).write_text(value, encoding="ascii")


def names_from_here(folder: Path) -> None:
    """Names are looked up at the hosted name server alone, and not at a daemon of the machine's."""
    replace(
        "/etc/resolv.conf", folder / "resolv.conf", f"nameserver {ADDRESS}\noptions timeout:5 attempts:5\n"
    )
    path = Path("/etc/nsswitch.conf")
    if path.exists():
        text = re.sub(r"(?m)^hosts:.*$", "hosts: files dns", path.read_text(encoding="utf-8"))
        replace(str(path), folder / "nsswitch.conf", text)
    for daemon in ("/run/nscd", "/run/systemd/resolve"):
        if Path(daemon).is_dir() and not Path("/etc/resolv.conf").resolve().is_relative_to(daemon):
            empty = folder / "empty"
            empty.mkdir(exist_ok=True)
            mount(str(empty), daemon)


def replace(path: str, ours: Path, text: str) -> None:
    """Puts a file of ours in the place of one of the machine's, for this mount namespace alone."""
    ours.write_text(text, encoding="utf-8")
    if Path(path).exists():
        mount(str(ours), os.path.realpath(path))


def mount(ours: str, path: str) -> None:
    """Binds ``ours`` over ``path``."""
    subprocess.run(["mount", "--bind", "--", ours, path], check=True, stdin=subprocess.DEVNULL)


def run(command: list[str], variables: dict[str, str] | None) -> int:
    """Runs the command to its end, with these variables or the caller's.

    Interrupts are its own: a handler, unlike ignoring, ends at exec.
    """
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        status = subprocess.run(command, env=variables, check=False).returncode
    except OSError as error:
        sys.stderr.write(f"airperf: {command[0]}: {error.strerror}\n")
        return FAILED + (error.errno == errno.ENOENT)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
