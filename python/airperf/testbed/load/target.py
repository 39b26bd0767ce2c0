"""Whom to load, and whether that is allowed: loopback and closed namespaces, others only when named.

Model: a load generator is a tool for denial of service, so a target outside this machine and the lab must be
vouched for by name (docs/reference/faults.md, security). A namespace is the lab's when it is not this
process's own and has no default route: nothing sent in it gets further. The address is resolved once and is
what the engine gets, so that a name cannot change its mind. Leaves out HTTPS.
"""

from __future__ import annotations

import ctypes
import ipaddress
import os
import re
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from airperf.errors import EnvironmentLacks, InputError

CLONE_NEWNET = 0x40000000
_PATH = re.compile(r"[!-~]+")
_PORTS = range(1, 65536)


@dataclass(frozen=True, slots=True)
class Url:
    """Where requests go, as written."""

    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """What the Host header says: the host, and the port unless it is 80."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == 80 else f"{name}:{self.port}"


@dataclass(frozen=True, slots=True)
class Target:
    """One server, resolved; ``vouched`` when it is outside the lab and was named by ``--allow-target``."""

    host: str
    address: str
    port: int
    vouched: bool = False


def parse_url(text: str) -> Url:
    """Reads ``http://HOST[:PORT][/PATH]``; the scheme may be left out."""
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"{text!r}: not a URL: {error}") from None
    _refuse(text, parts)
    if not host:
        raise InputError(f"{text!r}: names no host; write for example http://127.0.0.1:8080/index.html")
    if port is not None and port not in _PORTS:
        raise InputError(f"{text!r}: port {port} is outside 1 to 65535")
    path = parts.path or "/"
    if parts.query:
        path += f"?{parts.query}"
    return Url(host, port or 80, checked_path(path))


def checked_path(path: str) -> str:
    """A request target that cannot break the request line; raises ``InputError`` for others."""
    if not path.startswith("/") or not _PATH.fullmatch(path):
        raise InputError(f"{path!r}: not a path; it begins with / and has no blanks or control characters")
    return path


def _refuse(text: str, parts: SplitResult) -> None:
    if parts.scheme == "https":
        raise InputError(
            f"{text!r}: airperf load speaks no TLS; measure the server's plain HTTP port, "
            "or put a proxy that ends TLS before it and say so in the result"
        )
    if parts.scheme != "http":
        raise InputError(f"{text!r}: only http:// can be loaded, not {parts.scheme}://")
    if parts.username is not None:
        raise InputError(f"{text!r}: no user name belongs in the URL; give an Authorization header instead")
    if parts.fragment:
        raise InputError(f"{text!r}: a fragment (#{parts.fragment}) is never sent to a server")


def resolve(url: Url, allowed: Iterable[str] = (), namespaces: Iterable[str] = ()) -> Target:
    """The target of a URL, if it may be loaded.

    Args:
        url: Where requests go.
        allowed: Hosts or addresses outside the lab that the user vouches for.
        namespaces: The clients' network namespaces, when they are not this process's.

    Raises:
        InputError: When the host has no address, or may not be loaded.
        EnvironmentLacks: When a namespace cannot be entered.
    """
    names = {name.strip("[]").lower() for name in allowed}
    places = tuple(dict.fromkeys(namespaces))
    address = _address(url.host, places)
    if places:
        open_ones = [place for place in places if not is_closed(place)]
        inside = not open_ones
        why = f"namespace {open_ones[0]} is not closed: it has a default route" if open_ones else ""
    else:
        inside = ipaddress.ip_address(address).is_loopback
        why = "it is outside loopback and the lab's namespaces"
    if inside:
        return Target(url.host, address, url.port)
    if url.host.lower() in names or address in names:
        return Target(url.host, address, url.port, vouched=True)
    shown = url.host if url.host == address else f"{url.host} ({address})"
    raise InputError(
        f"{shown} may not be loaded: {why}.\n"
        f"    hint: if that server is yours to load, say so with --allow-target {url.host}"
    )


def address(text: str) -> str:
    """An IP address in its usual spelling, or ``InputError``."""
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        raise InputError(f"{text!r}: not an IP address, such as 127.0.0.2") from None


def _address(host: str, namespaces: tuple[str, ...]) -> str:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    if namespaces:
        raise InputError(f"{host!r}: names are not resolved in a namespace; give an address with --netns")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"{host!r}: no address found: {error}") from None
    addresses = [str(entry[4][0]) for entry in found]
    return next((address for address in addresses if ":" not in address), addresses[0])


def namespace_path(name: str) -> Path:
    """The file of a network namespace: a path, or the name that ``ip netns`` gave it."""
    path = Path(name) if "/" in name else Path("/run/netns") / name
    if not path.exists():
        raise InputError(f"{name!r}: no such network namespace ({path} does not exist)")
    return path


def is_closed(name: str) -> bool:
    """Whether nothing sent in this namespace can leave the lab: it is not ours and has no default route."""
    path = namespace_path(name)
    if path.stat().st_ino == Path("/proc/self/ns/net").stat().st_ino:
        return False
    return not _in_namespace(path, _has_default_route)


def _has_default_route() -> bool:
    table = Path("/proc/thread-self/net")
    lines = [line.split() for line in (table / "route").read_text(encoding="ascii").splitlines()[1:]]
    if any(line[1] == "00000000" and line[7] == "00000000" for line in lines):
        return True
    six = table / "ipv6_route"
    routes = [line.split() for line in six.read_text(encoding="ascii").splitlines()] if six.exists() else []
    # A namespace without IPv6 routes still lists the kernel's own refusal, on lo.
    return any(line[0] == "0" * 32 and line[1] == "00" and line[-1] != "lo" for line in routes)


def _in_namespace(path: Path, look: Callable[[], bool]) -> bool:
    """Does ``look`` in a thread of its own that enters the namespace and then ends."""

    def enter_and_look() -> bool:
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            if libc.setns(descriptor, CLONE_NEWNET) != 0:
                number = ctypes.get_errno()
                raise EnvironmentLacks(f"{path}: cannot be entered ({os.strerror(number)}); that needs root")
        finally:
            os.close(descriptor)
        return look()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(enter_and_look).result()
