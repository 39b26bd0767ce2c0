"""The command line of ``airperf load``: plans from options, answers, exit codes. The engine is replaced."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

URL = "http://127.0.0.1:8080/a"
Call = Callable[..., Any]
Engine = Any
MS = 1_000_000
S = 1_000 * MS


def planned(call: Call, *words: str, url: str = URL) -> Any:
    """The plan that a command line makes."""
    answer = call("load", url, *words, "--dry-run")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)["plan"]


def test_a_short_command_is_a_plan(call: Call) -> None:
    plan = planned(call, "--rate", "100", "--duration", "30")
    assert plan["target"] == {
        "address": "127.0.0.1",
        "port": 8080,
        "host": "127.0.0.1:8080",
        "paths": ["/a"],
        "weights": None,
        "method": "GET",
    }
    assert plan["arrivals"] == {"process": "deterministic", "rate_micro": 100_000_000}
    assert (plan["duration_ns"], plan["connections"], plan["timeout_ns"]) == (30 * S, None, 5 * S)
    assert (plan["clients"], plan["allow"]) == ([{"source": None, "netns": None, "offset_ns": 0}], [])
    assert (plan["timeout_rule"], plan["drain_ns"], plan["seed"]) == ("progress", 5 * S, 1)


def test_every_option_reaches_the_plan(call: Call, tmp_path: Path) -> None:
    (tmp_path / "paths").write_text("# mine\n/x 3\n\n/y\n")
    words = (
        *("--rate=0.5/s", "--connections=7", "--arrivals=self-similar", "--hurst=0.8", "--concurrency=9"),
        *("--requests-per-connection=4", "--pipeline=2", "--paths-from=paths", "--body=1KiB"),
        *("--header=X-A: b c", "--header=Accept: */*", "--http-version=1.0", "--timeout=250ms"),
        *("--close-with-reset", "--source=127.0.0.2", "--source=127.0.0.3", "--offset=0s,20ms"),
        *("--warmup=2s", "--drain=1s", "--spin=50us", "--schedule-bound=1ms", "--start-at=+1h", "--seed=7"),
    )
    plan = planned(call, *words)
    assert plan["arrivals"] == {"process": "self-similar", "rate_micro": 500_000, "hurst": 0.8}
    assert (plan["target"]["paths"], plan["target"]["weights"]) == (["/x", "/y"], [3, 1])
    assert (plan["target"]["method"], plan["body_bytes"]) == ("POST", 1024)
    assert plan["request_headers"] == [["X-A", "b c"], ["Accept", "*/*"]]
    assert [c["source"] for c in plan["clients"]] == ["127.0.0.2", "127.0.0.3"]
    assert [c["offset_ns"] for c in plan["clients"]] == [0, 20 * MS]
    same = {
        "connections": 7,
        "concurrency_limit": 9,
        "requests_per_connection": 4,
        "pipeline": 2,
        "http_version": "1.0",
        "timeout_ns": 250 * MS,
        "close_with_reset": True,
        "warmup_ns": 2 * S,
        "drain_ns": S,
        "spin_ns": 50_000,
        "schedule_bound_ns": 1_000_000,
        "seed": 7,
    }
    assert {key: plan[key] for key in same} == same
    assert plan["start_at_ns"] > 0


def test_clients_are_spread_by_one_offset(call: Call) -> None:
    plan = planned(call, "--rate=10", "--duration=1", "--clients=3", "--offset=5ms")
    assert [client["offset_ns"] for client in plan["clients"]] == [0, 5 * MS, 10 * MS]


def test_on_off_arrivals_and_the_closed_loop(call: Call) -> None:
    plan = planned(call, "--rate=10", "--duration=1", "--arrivals=on-off", "--on-time=1s", "--off-time=2s")
    assert plan["arrivals"] == {"process": "on-off", "rate_micro": 10**7, "on_ns": S, "off_ns": 2 * S}
    plan = planned(call, "--concurrency=4", "--duration=1")
    assert (plan["arrivals"], plan["concurrency_limit"]) == (None, 4)


def test_several_urls_are_paths_of_one_server(call: Call) -> None:
    answer = call("load", URL, "127.0.0.1:8080/b", "--rate=1", "--duration=1", "--dry-run")
    assert json.loads(answer.out)["plan"]["target"]["paths"] == ["/a", "/b"]


SCENARIO = """
schema = 1
name = "two"
duration = "7s"
drain = "3s"
seed = 5
[link]
kind = "ethernet"
[server]
station = "server"
[[client]]
count = 2
start = "random"
arrivals = "poisson"
rate = "40/s"
requests_per_connection = 3
size = "2KiB"
timeout = "4s"
"""


def test_a_scenario_gives_its_clients_to_a_live_server(call: Call, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO)
    url = "http://127.0.0.1:8080/{size}.bin"
    plan = planned(call, "--scenario=two.toml", url=url)
    assert plan["target"]["paths"] == ["/2048.bin"]
    assert plan["arrivals"] == {"process": "poisson", "rate_micro": 40_000_000}
    same = {
        "duration_ns": 7 * S,
        "drain_ns": 3 * S,
        "seed": 5,
        "timeout_ns": 4 * S,
        "timeout_rule": "httperf",
    }
    assert {key: plan[key] for key in same} == same
    offsets = [client["offset_ns"] for client in plan["clients"]]
    assert len(set(offsets)) == 2
    assert all(0 <= offset < 25 * MS for offset in offsets)
    assert planned(call, "--scenario=two.toml", url=url)["clients"] == plan["clients"]
    changed = planned(call, "--scenario=two.toml", "--rate=7", "--duration=1", "--seed=6", url=url)
    assert (changed["arrivals"]["rate_micro"], changed["duration_ns"], changed["seed"]) == (7_000_000, S, 6)
    assert changed["clients"] != plan["clients"]


def test_clients_of_a_scenario_must_be_alike(call: Call, tmp_path: Path) -> None:
    other = '[[client]]\nrate = "1/s"\nsize = "1KiB"\n'
    (tmp_path / "two.toml").write_text(SCENARIO + other)
    answer = call("load", URL, "--scenario=two.toml")
    assert answer.code == 2
    assert "differ in" in answer.err
    assert "rate" in answer.err


USAGE = [
    ((), "how long"),
    (("--duration=1",), "--concurrency"),
    (("--rate=1", "--duration=1", "--arrivals=self-similar"), "--hurst"),
    (("--rate=1", "--duration=1", "--hurst=0.8"), "--hurst"),
    (("--rate=1", "--duration=1", "--arrivals=self-similar", "--hurst=1.5"), "--hurst"),
    (("--rate=x", "--duration=1"), "--rate"),
    (("--rate=1", "--duration=1 parsec"), "--duration"),
    (("--rate=1", "--duration=1", "--timeout=0"), "--timeout"),
    (("--rate=1", "--duration=1", "--header=X"), "NAME: VALUE"),
    (("--rate=1", "--duration=1", "--header=X: a\nY: b"), "NAME: VALUE"),
    (("--rate=1", "--duration=1", "--header=Content-Length: 3"), "--body"),
    (("--rate=1", "--duration=1", "--path=x"), "begins with /"),
    (("--rate=1", "--duration=1", "--method=CONNECT"), "CONNECT"),
    (("--rate=1", "--duration=1", "--source=nowhere"), "IP address"),
    (("--rate=1", "--duration=1", "--source=127.0.0.2", "--clients=2"), "--clients"),
    (("--rate=1", "--duration=1", "--clients=3", "--offset=1ms,2ms"), "2 offsets for 3"),
    (("--rate=1", "--duration=1", "--start-at=@1"), "ago"),
    (("--rate=1", "--duration=1", "--start-at=2026-11-21T10:00:00"), "time zone"),
    (("--rate=1", "--duration=1", "--session-file=no.toml"), "no.toml"),
    (("--rate=1", "--duration=1", "--sweep=1..3 step 1 /s"), "--sweep"),
    (("--duration=1", "--concurrency=1", "--until-knee"), "--until-knee"),
    (("--rate=1", "--duration=1", "--pipeline=2000"), "--pipeline"),
]


@pytest.mark.parametrize(("words", "said"), USAGE, ids=lambda value: " ".join(value)[-40:])
def test_what_cannot_be_meant_exits_2(call: Call, engine: Engine, words: tuple[str, ...], said: str) -> None:
    answer = call("load", URL, *words)
    assert answer.code == 2, answer.out
    assert said in answer.err
    assert engine.plans == []


@pytest.mark.parametrize(
    ("url", "said"), [("https://127.0.0.1/", "TLS"), ("http://192.0.2.1/", "--allow-target")]
)
def test_targets_that_may_not_be_loaded_exit_2(call: Call, engine: Engine, url: str, said: str) -> None:
    answer = call("load", url, "--rate=1", "--duration=1")
    assert answer.code == 2
    assert said in answer.err
    assert engine.plans == []


def test_json_is_one_object_with_the_contract_s_keys(call: Call, engine: Engine) -> None:
    answer = call("load", URL, "--rate=10", "--duration=10", "--json")
    assert (answer.code, answer.err) == (0, "")
    contract = {"schema", "offered_rps", "sent", "completed", "errors", "response_ms", "service_ms"}
    contract |= {"schedule_error_us", "generator_limited"}
    assert answer.json.keys() >= contract
    assert answer.json["schedule_error_us"].keys() >= {"p50", "p99", "max"}
    assert len(engine.plans) == 1


def test_the_table_says_whether_the_loop_was_open(call: Call, engine: Engine) -> None:
    answer = call("load", URL, "--rate=10", "--duration=10")
    assert answer.code == 0
    for words in ("offered", "carried", "response, from due", "service, from sent", "open loop kept"):
        assert words in answer.out
    engine.answer = lambda _: {"generator_limited": True, "why": ["it was too slow"]}
    answer = call("load", URL, "--rate=10", "--duration=10")
    assert answer.code == 3
    assert "generator-limited because it was too slow" in answer.out
    answer = call("load", URL, "--rate=10", "--duration=10", "--json")
    assert (answer.code, answer.err) == (3, "generator-limited: it was too slow\n")


def test_fault_09_a_run_whose_clock_was_set_is_invalid(call: Call, engine: Engine) -> None:
    engine.answer = lambda _: {"valid": False, "why_invalid": ["the wall clock was set by 3 s"]}
    answer = call("load", URL, "--rate=10", "--duration=10")
    assert answer.code == 3
    assert "invalid because the wall clock was set" in answer.out


def test_words_of_others_drive_no_terminal(call: Call, engine: Engine) -> None:
    engine.answer = lambda _: {"generator_limited": True, "why": ["\x1b[2Jgone"]}
    answer = call("load", URL, "--rate=10", "--duration=10")
    assert "\x1b[2J" not in answer.out + answer.err


def test_ctrl_c_keeps_what_was_done(call: Call, engine: Engine) -> None:
    engine.during = lambda: os.kill(os.getpid(), signal.SIGINT)
    answer = call("load", URL, "--rate=10", "--duration=10", "--json")
    assert answer.code == 130
    assert answer.json["interrupted"] is True
    assert "interrupted" in answer.err


def test_ctrl_c_ends_a_sweep_with_the_points_it_has(call: Call, engine: Engine) -> None:
    def on_the_second() -> None:
        if len(engine.plans) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    engine.during = on_the_second
    answer = call("load", URL, "--sweep=10..40 step 10 /s", "--duration=10", "--pause=0", "--json")
    assert answer.code == 130
    assert [point["interrupted"] for point in answer.json["points"]] == [False, True]


def test_a_sweep_makes_one_run_for_each_rate(call: Call, engine: Engine) -> None:
    engine.carries(25)
    words = ("--sweep=10..40 step 10 /s", "--duration=10", "--pause=0", "--out=o")
    answer = call("load", URL, *words, "--json")
    assert answer.code == 0
    assert [point["rate_rps"] for point in answer.json["points"]] == [10, 20, 30, 40]
    assert answer.json["knee"] is None
    assert [Path(folder or "").name for folder in engine.folders] == [f"rate-{n}" for n in (10, 20, 30, 40)]
    answer = call("load", URL, *words[:-1])
    assert [line.split("│")[-2].strip() for line in answer.out.splitlines() if "│" in line][-4:] == [
        "yes",
        "yes",
        "no",
        "no",
    ]


def test_the_knee_among_rates(call: Call, engine: Engine) -> None:
    engine.carries(25)
    answer = call(
        "load", URL, "--sweep=10..80 step 10 /s", "--until-knee", "--duration=10", "--pause=0", "--json"
    )
    assert answer.code == 0
    assert (answer.json["knee"]["low_rps"], answer.json["knee"]["high_rps"]) == (20, 30)
    assert len(engine.plans) == 3


def test_the_knee_from_one_rate_on(call: Call, engine: Engine) -> None:
    engine.carries(333)
    answer = call("load", URL, "--rate=10", "--until-knee", "--duration=10", "--pause=0")
    assert answer.code == 0
    rates = [plan["arrivals"]["rate_micro"] / 1e6 for plan in engine.plans]
    assert rates[:6] == [10, 20, 40, 80, 160, 320]
    assert "knee: between" in answer.out


def test_a_knee_of_the_generator_is_not_the_server_s(call: Call, engine: Engine) -> None:
    engine.carries(10_000, limit_rps=100)
    answer = call("load", URL, "--rate=10", "--until-knee", "--duration=10", "--pause=0")
    assert answer.code == 3
    assert "knee: at least" in answer.out
    assert "generator-limited" in answer.out


def test_results_are_never_overwritten(call: Call, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "x").touch()
    answer = call("load", URL, "--rate=10", "--duration=10", "--out=o")
    assert answer.code == 2
    assert engine.plans == []


def test_httperf_s_report_comes_from_the_result(call: Call, engine: Engine) -> None:
    engine.answer = lambda _: {
        "causes": {"timeout": 3, "refused": 2, "closed": 1},
        "local": engine.RESULT["local"] | {"fd": 4, "port": 5},
    }
    answer = call("load", "httperf", "--server=127.0.0.1", "--port=8080", "--rate=10", "--num-conns=100")
    lines = answer.out.splitlines()
    assert lines[0].startswith("httperf --client=0/1 --server=127.0.0.1 --port=8080 --uri=/ --rate=10 ")
    assert "Total: connections 100 requests 100 replies 100 test-duration 10.010 s" in lines
    assert "Reply rate [replies/s]: min 10.0 avg 10.0 max 10.0 stddev 0.0 (2 samples)" in lines
    assert "Reply size [B]: header 240.0 content 1024.0 footer 0.0 (total 1264.0)" in lines
    assert lines[-2:] == [
        "Errors: total 15 client-timo 3 socket-timo 0 connrefused 2 connreset 0",
        "Errors: fd-unavail 4 addrunavail 5 ftab-full 0 other 1",
    ]
    same = call("load", URL, "--rate=10", "--connections=100", "--format=httperf")
    assert same.out.splitlines()[1:] == lines[1:]
