"""A scenario's browser played by a real one over the scenario's link: what it can be told, and the run.

Model: docs/models/browser.md, "By a real browser". The page's hosts are served in a namespace without a way
out (``host``), the link is in the same namespace, the browser behind it (``visiting``, ``loads``), and both
halves of a proxy are where they would be (``beside``). A key that nothing real can be told is refused by its
name. Leaves out other clients and flows.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from airperf import _core
from airperf.errors import EnvironmentLacks, Interrupted, RunFailed
from airperf.quantities import SECOND_NS, duration_ns
from airperf.scenario import check
from airperf.scenario.library import path_of
from airperf.scenario.pages import PagePlan, page_plan
from airperf.sites.page import page_url
from airperf.sites.read import site_of
from airperf.testbed.beside import beside
from airperf.testbed.browse import browser_version
from airperf.testbed.browser import Wanted
from airperf.testbed.connecting import BROWSERS_OWN
from airperf.testbed.host import Hosting, host_for
from airperf.testbed.optimise import Optimiser
from airperf.testbed.visiting import ANSWER

SERVER_HALF, CLIENT_HALF = "10.78.0.1:3130", "127.0.0.1:3128"
IN_ALL = 256
"""Connections that Chromium opens in all; the scenario's default, too."""
PAUSE_S = 3.0
"""From the halves' first exchange to the first load: a GPRS network releases their block flows."""
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Orders:
    """What is started for a browser: itself, the hosts, and the halves of a proxy."""

    wanted: Wanted
    hosting: Hosting
    halves: tuple[Optimiser, Optimiser] | None
    """The server's and the client's."""
    differences: tuple[str, ...]
    """What the scenario says and a real browser brings itself, one sentence each."""


def has_browser(job: Mapping[str, Any]) -> bool:
    """Whether a job's scenario has a browser; False where it is no scenario, which its run will tell."""
    overrides = [(str(key), str(value)) for key, value in job["overrides"]]
    try:
        answer = json.loads(_core.check_scenario(job["text"], path_of(job["name"]), overrides))
    except _core.ScenarioError:
        return False
    return bool(answer["resolved"].get("browser"))


def perform_visits(job: Mapping[str, Any], progress: Progress) -> str:
    """Makes the run of a job whose scenario has a browser; its manifest."""
    overrides = tuple((str(key), str(value)) for key, value in job["overrides"])
    checked = check(job["text"], job["name"], overrides)
    path = path_of(job["name"])
    asked = json.loads(_core.visit_orders(job["text"], path, list(overrides)))
    plan = page_plan(asked["page"], "page")
    orders = orders_of(checked.resolved, asked["path"], plan)
    with tempfile.TemporaryDirectory(prefix="airperf-visits-") as name:
        folder = Path(name)
        (folder / "page.toml").write_text(asked["page"], encoding="utf-8")
        site = site_of(folder / "page.toml", folder / "site").folder
        (folder / "wanted.json").write_text(json.dumps(asdict(orders.wanted)), encoding="utf-8")
        command = [sys.executable, "-m", "airperf.testbed.loads", str(folder / "wanted.json")]
        if orders.halves:
            command = beside(orders.halves[1], folder, command)
        order = {
            "text": job["text"],
            "path": path,
            "overrides": overrides,
            "seed": job["seed"],
            "out_dir": str(Path(job["out_dir"]).absolute()),
            "level": job["level"],
            "command": command,
            "loads": orders.wanted.repetitions,
            "look_ups": orders.wanted.look_ups,
            "urls": [page_url(plan, place) for place in range(len(plan.objects))],
            "browser": browser_version(),
            "sandbox": orders.wanted.sandbox,
            "differences": orders.differences,
        }
        (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        words = [sys.executable, "-m", "airperf.testbed.visiting", str(folder / "order.json")]
        if orders.halves:
            words = beside(orders.halves[0], folder, words)
        hosting = replace(orders.hosting, sysctls=tuple((str(k), str(v)) for k, v in asked["sysctls"]))
        _host(site, hosting, words, folder, _teller(progress, float(checked.estimate["run_seconds"])))
        return _answer(folder)


def _teller(progress: Progress, total_s: float) -> Callable[[], None]:
    began = time.monotonic()

    def look() -> None:
        elapsed = {"phase": "running", "elapsed_s": time.monotonic() - began, "total_s": total_s}
        progress(json.dumps(elapsed))

    return look


def _host(site: Path, hosting: Hosting, words: Sequence[str], folder: Path, look: Callable[[], None]) -> None:
    status, _ = host_for(site, hosting, words, look)
    if not (folder / ANSWER).exists():
        problems = [json.loads(path.read_text()).get("problem") for path in folder.glob("half-*r.json")]
        raise RunFailed(next((str(one) for one in problems if one), f"the run ended with status {status}"))


def _answer(folder: Path) -> str:
    answer = json.loads((folder / ANSWER).read_text(encoding="utf-8"))
    if error := answer.get("error"):
        match error["kind"]:
            case "environment":
                raise EnvironmentLacks(error["why"])
            case "interrupted":
                raise Interrupted(error["why"])
            case "no_space":
                raise OSError(28, error["why"])
            case _:
                raise RunFailed(error["why"])
    return json.dumps(answer["manifest"])


def orders_of(resolved: Mapping[str, Any], path: Mapping[str, int] | None, plan: PagePlan) -> Orders:
    """What is to be started; raises ``EnvironmentLacks`` with the key of what nothing real can be told."""
    browsers = resolved["browser"]
    keys: Mapping[str, Any] = browsers[0]
    refuse(resolved, keys)
    dual = keys["proxy"] == "dual"
    wanted = Wanted(
        url=page_url(plan, 0),
        repetitions=int(keys["loads"]),
        timeout_s=_seconds(keys["patience"]),
        sandbox=os.geteuid() != 0,
        pause_s=_seconds(keys["pause"]),
        start_s=_seconds(keys["start"]) + (PAUSE_S if dual else 0.0),
        until_s=_seconds(resolved["duration"]),
        proxy=CLIENT_HALF if dual else "",
        connections=BROWSERS_OWN if dual else int(keys["connections"]),
        look_ups="each" if dual else str(keys["look_ups"]),
    )
    halves = (Optimiser(SERVER_HALF, "server"), _client_half(resolved, keys, path)) if dual else None
    return Orders(wanted, Hosting(http2=keys["http"] == "HTTP/2"), halves, _differences(keys, dual=dual))


def _client_half(
    resolved: Mapping[str, Any], keys: Mapping[str, Any], path: Mapping[str, int] | None
) -> Optimiser:
    udp, adapted = keys["proxy_transport"] == "udp", resolved["tcp"]["window_clamp"] == "link"
    known = path if (udp or adapted) and path is not None else {}
    return Optimiser(
        CLIENT_HALF,
        "client",
        SERVER_HALF,
        connections=int(keys["proxy_connections"]),
        compress="zstd" if keys["compress"] else None,
        push=bool(keys["push"]),
        dns=True,
        rate_bps=known.get("rate_bps"),
        rtt_ms=known.get("rtt_ms"),
        adapt_tcp=adapted and not udp,
        datagrams=udp,
        repair=None if keys["proxy_fec"] == "adaptive" else 0,
    )


def refuse(resolved: Mapping[str, Any], keys: Mapping[str, Any]) -> None:
    """Raises ``EnvironmentLacks`` for the first key that nothing real can be told, with what can be done."""
    clamp, dual = resolved["tcp"]["window_clamp"], keys["proxy"] == "dual"
    refused = {
        "client": (
            bool(resolved.get("client") or resolved.get("flow")) or len(resolved["browser"]) > 1,
            "a real browser has the scenario to itself; beside others it is airperf browse --site PAGE --net",
        ),
        "browser.http": (keys["http"] == "HTTP/1.0", "no browser speaks HTTP/1.0 any more"),
        "browser.connections": (
            int(keys["connections"]) > BROWSERS_OWN and not dual,
            f"Chromium opens {BROWSERS_OWN} connections to a server and has no switch for more",
        ),
        "browser.connections_in_all": (
            int(keys["connections_in_all"]) != IN_ALL,
            f"Chromium's limit of {IN_ALL} has no switch",
        ),
        "browser.pipeline": (
            int(keys["pipeline"]) > 1,
            'no browser pipelines any more; what does as much today is proxy = "dual", or http = "HTTP/2"',
        ),
        "browser.one_server": (
            bool(keys["one_server"]),
            'a real page names its hosts; proxy = "dual" asks one place for everything',
        ),
        "browser.proxy": (
            keys["proxy"] not in {"none", "dual"},
            "only two halves are played here: Chromium's 32 connections to a proxy alone have no switch",
        ),
        "browser.cache": (
            keys["cache"] != "none",
            "what a visit before has left is a probability in the model; programs: airperf proxy --cache",
        ),
        "tcp.window_clamp": (
            clamp not in (None, "none") and not (dual and clamp == "link"),
            'only the halves of a proxy hold their windows: proxy = "dual" and window_clamp = "link"',
        ),
    }
    for key, (asked, why) in refused.items():
        if asked:
            raise EnvironmentLacks(f"testbed emu: {key}: {why}; or use --testbed sim")


def _differences(keys: Mapping[str, Any], *, dual: bool) -> tuple[str, ...]:
    said = [
        f"`browser.request_size` is {keys['request_size']} in the scenario, `request_bytes` Chromium's mean",
        "`server.reply_header` is what airperf host writes",
        f"`browser.parse_delay` is {keys['parse_delay']} in the scenario; Chromium takes its own time",
    ]
    if dual:
        said.append("the browser asks the half beside it for six objects of a host at a time")
        said.append("`browser.proxy_request_size` and `browser.proxy_reply_header` are what HPACK leaves")
    return tuple(said)


def _seconds(text: Any) -> float:
    return duration_ns(str(text)) / SECOND_NS
