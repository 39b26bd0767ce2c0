"""Loading pages with Chromium, each in a fresh profile, over the DevTools protocol through a pipe.

Model: the protocol's domains Target, Page, Network and Runtime, as NUL-separated JSON on descriptors 3 and 4.
Leaves out clicking and typing.
"""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from airperf.errors import EnvironmentLacks, RunFailed
from airperf.testbed.connecting import BROWSERS_OWN

Event = dict[str, Any]

FLAGS = (
    "--headless=new --remote-debugging-pipe --no-first-run --no-default-browser-check --disable-gpu "
    "--disable-background-networking --disable-component-update --disable-sync --disable-default-apps "
    "--disable-extensions --disable-quic --metrics-recording-only --mute-audio --hide-scrollbars "
    "--window-size=1200,900"
).split()
"""Quiet: nothing but the page is fetched. QUIC is off because what is hosted has none."""
QUIET_S = 0.5
"""A page is done when its load event has come and nothing has been under way for this long."""
ENDING_S = 10.0


def chromium() -> str:
    """The browser's path; ``EnvironmentLacks`` where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise EnvironmentLacks("Chromium is not installed (Debian: apt-get install chromium)")


@dataclass(slots=True)
class Wanted:
    """What to load and how."""

    url: str
    repetitions: int = 1
    timeout_s: float = 120.0
    filmstrip: bool = False
    sandbox: bool = True
    spki: str = ""
    """The key that may sign certificates, as Chromium's option has it; empty for none."""
    proxy: str = ""
    """Address and port of a proxy for everything, loopback too; empty for none."""
    every_s: float = 0.0
    """Loads begin at multiples of this time on the clock of a link; 0 for whenever the browser is ready."""
    pause_s: float = 0.0
    """Time between two loads, for a link to be as it was before the first."""
    start_s: float = 0.0
    """Time before the first load."""
    until_s: float = 0.0
    """No load begins later on the clock of a link; 0 for no such time."""
    connections: int = BROWSERS_OWN
    """Most connections to one server; six are the browser's own, and it never has more."""
    look_ups: str = "each"
    """Whose addresses are asked for: of ``each`` host, of the ``first``, or of ``none``; others are known
    beforehand (those of the hosted site)."""


@dataclass(slots=True)
class Loaded:
    """One load: the events of the protocol as they came, and the pictures."""

    events: list[Event] = field(default_factory=list)
    timing: dict[str, float] = field(default_factory=dict)
    """Navigation and paint timing of the page itself, ms after its navigation began."""
    frames: list[tuple[float, bytes]] = field(default_factory=list)
    """Pictures (JPEG) with their times, seconds of the wall clock."""
    screenshot: bytes = b""
    complete: bool = False
    """Whether the load event came in time."""


class Pipe:
    """The protocol's two ends, by descriptor."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._buffer = b""
        self._number = 0
        self._waiting: list[Event] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(reading, selectors.EVENT_READ)

    def send(self, method: str, session: str | None, **parameters: Any) -> int:
        """Sends a command; its number."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._writing, data) :]
        return self._number

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Event:
        """Sends a command and waits for its result; events that come before are kept for ``events``."""
        number = self.send(method, session, **parameters)
        end = time.monotonic() + 30.0
        kept: list[Event] = []
        for message in self._messages(end):
            if message.get("id") == number:
                self._waiting += kept
                if "error" in message:
                    raise RunFailed(f"Chromium refuses {method}: {message['error'].get('message')}")
                result: Event = message.get("result", {})
                return result
            kept.append(message)
        raise RunFailed(f"Chromium did not answer {method} within 30 s")

    def events(self, end: float) -> Iterator[Event]:
        """Events until ``end`` on the monotonic clock."""
        while self._waiting:
            yield self._waiting.pop(0)
        yield from self._messages(end)

    def _messages(self, end: float) -> Iterator[Event]:
        while True:
            while b"\0" in self._buffer:
                line, _, self._buffer = self._buffer.partition(b"\0")
                yield json.loads(line)
            rest = end - time.monotonic()
            if rest <= 0 or not self._selector.select(rest):
                return
            data = os.read(self._reading, 1 << 20)
            if not data:
                raise RunFailed("Chromium has ended; as root it needs --no-sandbox")
            self._buffer += data


@contextmanager
def browser(wanted: Wanted) -> Iterator[Pipe]:
    """A browser with a fresh profile; it is gone afterwards, whatever happened."""
    with tempfile.TemporaryDirectory(prefix="airperf-chromium-", ignore_cleanup_errors=True) as profile:
        words = [chromium(), *FLAGS, f"--user-data-dir={profile}"]
        words += [] if wanted.sandbox else ["--no-sandbox"]
        words += [f"--ignore-certificate-errors-spki-list={wanted.spki}"] if wanted.spki else []
        proxied = [f"--proxy-server=http://{wanted.proxy}", "--proxy-bypass-list=<-loopback>"]
        words += proxied if wanted.proxy else []
        words += _known_hosts(wanted)
        their_in, our_out = os.pipe()
        our_in, their_out = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        # Above 4, so that putting one in its place does not close the other.
        high_in, high_out = (os.fdopen(os.dup(fd), "rb", 0) for fd in (their_in, their_out))
        actions = [
            (os.POSIX_SPAWN_DUP2, nothing, 0),
            (os.POSIX_SPAWN_DUP2, nothing, 1),
            (os.POSIX_SPAWN_DUP2, nothing, 2),
            (os.POSIX_SPAWN_DUP2, high_in.fileno(), 3),
            (os.POSIX_SPAWN_DUP2, high_out.fileno(), 4),
        ]
        variables = {**os.environ, "HOME": profile}
        process = os.posix_spawn(words[0], words, variables, file_actions=actions, setsid=True)
        for descriptor in (their_in, their_out, nothing):
            os.close(descriptor)
        high_in.close()
        high_out.close()
        try:
            yield (pipe := Pipe(our_in, our_out))
            pipe.send("Browser.close", None)
        finally:
            os.close(our_out)
            _end(process)
            os.close(our_in)


def _known_hosts(wanted: Wanted) -> list[str]:
    """The switch by which the browser knows addresses of the hosted site without asking."""
    if wanted.look_ups == "each":
        return []
    own = urlsplit(wanted.url).hostname
    places = {urlsplit(origin).hostname: place for origin, place in origins().items()}
    told = {name: at for name, at in places.items() if wanted.look_ups == "none" or name != own}
    rules = ",".join(f"MAP {name} {at.rpartition(':')[0]}" for name, at in sorted(told.items()) if name)
    return [f"--host-resolver-rules={rules}"] if rules else []


def origins() -> dict[str, str]:
    """Where each origin of the hosted site around is; empty outside one."""
    found: dict[str, str] = json.loads(os.environ.get("AIRPERF_ORIGINS", "{}"))
    return found


def link_zero_ns() -> int | None:
    """The instant of CLOCK_MONOTONIC at which the link around was at its beginning; None without a link."""
    zero = os.environ.get("AIRPERF_LINK_ZERO")
    return int(zero) if zero else None


def _end(process: int) -> None:
    """Waits for the browser to see its pipe closed, and kills it and its children if it does not."""
    end = time.monotonic() + ENDING_S
    while time.monotonic() < end:
        if os.waitpid(process, os.WNOHANG)[0]:
            break
        time.sleep(0.02)
    else:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)


def load(wanted: Wanted) -> Loaded:
    """Loads the page once, cold."""
    loaded = Loaded()
    with browser(wanted) as pipe:
        target = pipe.call("Target.createTarget", url="about:blank")["targetId"]
        session = pipe.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network"):
            pipe.call(f"{domain}.enable", session)
        if wanted.filmstrip:
            pipe.send("Page.startScreencast", session, format="jpeg", quality=60, maxWidth=600)
        time.sleep(_until_multiple(wanted.every_s))
        pipe.send("Page.navigate", session, url=wanted.url)
        _follow(pipe, session, wanted, loaded)
        loaded.timing = _timing(pipe, session)
        if wanted.filmstrip:
            pipe.send("Page.stopScreencast", session)
        loaded.screenshot = base64.b64decode(pipe.call("Page.captureScreenshot", session)["data"])
    return loaded


def _until_multiple(every_s: float) -> float:
    """Seconds until the clock of the link around is at a multiple; 0 without a link."""
    zero = link_zero_ns()
    return -(time.monotonic() - zero / 1e9) % every_s if zero is not None and every_s else 0.0


def _follow(pipe: Pipe, session: str, wanted: Wanted, loaded: Loaded) -> None:
    """Takes events until the page is loaded and quiet, or its time is over."""
    open_requests: set[str] = set()
    deadline = time.monotonic() + wanted.timeout_s
    last = time.monotonic()
    while (now := time.monotonic()) < deadline:
        if loaded.complete and not open_requests and now - last >= QUIET_S:
            return
        for event in pipe.events(min(deadline, now + QUIET_S / 5)):
            if (method := event.get("method")) is None:
                continue  # the result of a command that nobody waits for
            parameters = event.get("params", {})
            if method == "Page.screencastFrame":
                pipe.send("Page.screencastFrameAck", session, sessionId=parameters["sessionId"])
                picture = base64.b64decode(parameters["data"])
                loaded.frames.append((float(parameters["metadata"].get("timestamp", 0.0)), picture))
                continue
            loaded.events.append(event)
            if method == "Network.requestWillBeSent":
                open_requests.add(parameters["requestId"])
                last = time.monotonic()
            elif method in {"Network.loadingFinished", "Network.loadingFailed"}:
                open_requests.discard(parameters["requestId"])
                last = time.monotonic()
            elif method == "Page.loadEventFired":
                loaded.complete = True
                last = time.monotonic()


SCRIPT = """JSON.stringify(Object.assign({},
  ...performance.getEntriesByType("paint").map(p => ({[p.name]: p.startTime})),
  ...performance.getEntriesByType("navigation").map(n => ({
    responseStart: n.responseStart, domContentLoaded: n.domContentLoadedEventEnd, load: n.loadEventEnd}))))"""


def _timing(pipe: Pipe, session: str) -> dict[str, float]:
    result = pipe.call("Runtime.evaluate", session, expression=SCRIPT, returnByValue=True)
    value = result.get("result", {}).get("value", "{}")
    return {str(name): float(at) for name, at in json.loads(value).items()}
