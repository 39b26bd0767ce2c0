"""A command over an emulated link: what it reaches, what it does not, and what is said of the link."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airperf.cli.program import outcome
from airperf.errors import InputError, ScenarioProblems
from airperf.scenario import layer

Har = Callable[..., Path]
InTime = Callable[[Callable[[], list[dict[str, Any]]]], list[dict[str, Any]]]

AIRPERF = [sys.executable, "-m", "airperf"]
OWN = ["unshare", "--net", "--"]
FETCH = ["curl", "--silent", "--show-error", "--max-time", "20"]


@pytest.fixture(scope="module")
def layers() -> None:
    """Skips, with the reason, where no layer can be made."""
    tried = subprocess.run(
        [*OWN, *AIRPERF, "shell", "--net", "slow-4g", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        pytest.skip(f"no emulated link can be made here: {tried.stderr.strip()}")


needs_layers = pytest.mark.usefixtures("layers")
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def run(*words: str, around: list[str] = OWN) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*around, *words], capture_output=True, text=True, check=False, timeout=60)


def reported(path: Path) -> list[dict[str, Any]]:
    layers: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["layers"]
    return layers


@needs_layers
@needs_curl
def test_a_hosted_site_is_fetched_over_the_link_by_its_name(
    har: Har, tmp_path: Path, in_time: InTime
) -> None:
    out = tmp_path / "report.json"
    inside = [*AIRPERF, "shell", "--net", "slow-4g", "--out", str(out), "--"]
    words = [*AIRPERF, "host", str(har()), "--", *inside, *FETCH, "http://plain.example.org:8080/t.txt"]

    def fetched() -> list[dict[str, Any]]:
        begun = time.monotonic()
        done = run(*words, around=[])
        assert done.stdout.strip() == "plain", done.stderr
        assert time.monotonic() - begun > 0.45, "look-up, handshake, exchange: three round trips"
        assert "one-way delay" in done.stderr
        assert "1 requests answered" in done.stderr
        return reported(out)

    [link] = in_time(fetched)
    for way, octets in (("down", 5), ("up", 40)):
        assert link[way]["delivered_bytes"] > octets
        assert link[way]["delay"]["stated"] > 75


@needs_layers
@needs_curl
def test_from_inside_nobody_but_the_outer_side_is_reached() -> None:
    # Around the layer there is a way out, and the machine forwards: its packets must not be ours.
    script = """
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
ip link add v0 type veth peer name v1 && ip addr add 192.0.2.1/24 dev v0
ip link set v1 up; ip link set v0 up
ip neigh add 192.0.2.7 lladdr 02:00:00:00:00:07 dev v0
echo 1 >/proc/sys/net/ipv4/ip_forward
left() { awk '$1 == "v0:" { print "left", $11 }' /proc/net/dev; }
"$@" shell --net ethernet -- sh -c '
    curl -sS --max-time 1 http://192.0.2.7/; curl -sS --max-time 1 http://$AIRPERF_OUTSIDE:9/
    tail -n +3 /proc/net/dev | cut -d: -f1'
left
curl -s --max-time 0.2 http://192.0.2.7/
left
"""
    done = run("sh", "-c", script, "sh", *AIRPERF)
    assert done.stdout.split() == ["lo", "air0", "left", "0", "left", "1"], done.stderr
    assert "timed out" in done.stderr, "192.0.2.7 does not even refuse"
    assert "Failed to connect to 100.68.0.1 port 9" in done.stderr, "the outer side refuses"


@needs_layers
@needs_curl
def test_layers_in_layers_are_all_gone_through(tmp_path: Path) -> None:
    inner = tmp_path / "inner.json"
    outer = tmp_path / "outer.json"
    shells = [*AIRPERF, "shell", "--net", "wifi", "--net", "slow-4g", "--out", str(outer), "--"]
    shells += [*AIRPERF, "shell", "--net", "ethernet", "--out", str(inner), "--"]
    script = """
"$0" -m http.server --directory "$1" 8000 >/dev/null 2>&1 & server=$!
sleep 1; shift
"$@" sh -c 'curl -s --max-time 9 -o /dev/null -w "%{http_code}" http://$AIRPERF_OUTSIDE:8000/'
kill $server
"""
    done = run("sh", "-c", script, sys.executable, str(tmp_path), *shells)
    assert done.stdout == "200", done.stderr
    links = reported(outer) + reported(inner)
    assert [link["name"] for link in links] == ["bai2006-e1", "slow-4g", "wired-10mbit"]
    delivered = [link["down"]["delivered_packets"] for link in links]
    assert min(delivered) >= 3
    assert max(delivered) - min(delivered) <= 2, "what comes out of one goes into the next, but for the end"


CROWD = """schema = 1
name = "crowd"
duration = "20s"
link = { kind = "wifi" }
[[client]]
rate = "1/s"
size = "1B"
[[client]]
station = "other"
count = 2
rate = "10/s"
size = "8KiB"
[emu]
server_program = "embedded"
client_program = "embedded"
"""


@needs_layers
def test_the_other_clients_of_a_scenario_load_the_link_beside_the_command(tmp_path: Path) -> None:
    scenario = tmp_path / "crowd.toml"
    scenario.write_text(CROWD)
    out = tmp_path / "report.json"
    words = [*AIRPERF, "shell", "--net", str(scenario), "--out", str(out), "--", "sleep", "2"]
    done = run(*words)
    assert done.returncode == 0, done.stderr
    [link] = reported(out)
    assert [other["station"] for other in link["others"]] == ["other-1", "other-2"]
    for other in link["others"]:
        # Twenty replies of 8 KiB in two seconds, with their headers.
        assert other["down_bytes"] > 10 * 8 * 1024, link
        assert 0 < other["up_bytes"] < other["down_bytes"]
    assert link["down"]["delivered_packets"] == 0, "the command itself asked for nothing"
    assert "beside it other-1 (embedded)" in done.stderr


@needs_layers
def test_a_link_with_other_clients_is_a_layer_by_itself(tmp_path: Path) -> None:
    scenario = tmp_path / "crowd.toml"
    scenario.write_text(CROWD)
    done = run(*AIRPERF, "shell", "--net", "gprs", "--net", str(scenario), "--", "true")
    assert (done.returncode, "layer by itself" in done.stderr) == (2, True)


@needs_layers
def test_the_status_is_the_commands() -> None:
    shell = [*AIRPERF, "shell", "--net", "wifi", "--"]
    assert run(*shell, "sh", "-c", "exit 37").returncode == 37
    assert run(*shell, "sh", "-c", "kill -9 $$").returncode == 137
    missing = run(*shell, "no-such-command")
    assert (missing.returncode, "no-such-command" in missing.stderr) == (2, True)


@needs_layers
def test_a_user_namespace_is_enough() -> None:
    around = ["unshare", "--user", "--map-root-user", "--net", "--"]
    if subprocess.run([*around, "test", "-w", "/dev/net/tun"], check=False).returncode:
        pytest.skip("user namespaces are not allowed, or /dev/net/tun is not writable")
    done = run(*AIRPERF, "shell", "--net", "gprs", "--", "echo", "within", around=around)
    assert (done.returncode, done.stdout) == (0, "within\n"), done.stderr


@contextmanager
def sleeping(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A shell in which a command sleeps, and a file with the command's process id and its devices around."""
    pid = tmp_path / "pid"
    words = ["sh", "-c", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 60"]
    process = subprocess.Popen(
        [*OWN, *AIRPERF, "shell", "--net", "wifi", "--", *words], stderr=subprocess.PIPE
    )
    end = time.monotonic() + 20
    while not pid.exists() and time.monotonic() < end:
        time.sleep(0.05)
    try:
        yield process, pid
    finally:
        process.kill()
        process.communicate()


@needs_layers
def test_fault_05_a_signal_ends_the_command_and_the_report_still_comes(tmp_path: Path) -> None:
    with sleeping(tmp_path) as (process, pid):
        process.send_signal(signal.SIGTERM)
        told = process.communicate(timeout=20)[1].decode()
        assert process.returncode == 128 + signal.SIGTERM
        assert "bai2006-e1:" in told
        assert not Path(f"/proc/{pid.read_text().strip()}").exists()


@needs_layers
def test_fault_39_a_killed_shell_leaves_neither_device_nor_command(tmp_path: Path) -> None:
    with sleeping(tmp_path) as (process, pid):
        around = Path(f"/proc/{process.pid}/net/dev")
        assert "air1" in around.read_text()
        sleeper = Path(f"/proc/{pid.read_text().strip()}")
        assert sleeper.exists()
        with subprocess.Popen(["nsenter", f"--net=/proc/{process.pid}/ns/net", "sleep", "60"]) as keeper:
            time.sleep(0.3)
            process.kill()
            process.wait()
            end = time.monotonic() + 10
            table = Path(f"/proc/{keeper.pid}/net/dev")
            while (sleeper.exists() or "air1" in table.read_text()) and time.monotonic() < end:
                time.sleep(0.05)
            assert "lo:" in table.read_text()
            assert "air1" not in table.read_text()
            assert not sleeper.exists()
            keeper.kill()


def test_a_link_may_be_a_short_name_a_scenario_or_a_trace(tmp_path: Path) -> None:
    assert layer("gprs").resolved["link"]["kind"] == "gprs"
    assert layer("edge").resolved["link"]["down"]["scheme"] == "MCS-6"
    assert layer("bai2006-e1").resolved["link"]["kind"] == "wifi"
    changed = layer("slow-4g", [("link.down.delay", "40ms")])
    assert changed.resolved["link"]["down"]["delay"] == "40ms"
    down, up = tmp_path / "my phone.down", tmp_path / "my phone.up"
    down.write_text("1\n5\n")
    assert layer(str(down)).resolved["link"]["up"]["trace"].endswith("my phone.down")
    up.write_text("2\n")
    assert layer(str(down)).resolved["link"]["up"]["trace"].endswith("my phone.up")


def test_what_is_no_link_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no link; .*slow-4g"):
        layer("carrier-pigeon")
    broken = tmp_path / "broken.down"
    broken.write_text("5\n3\n")
    with pytest.raises(ScenarioProblems, match="must not decrease"):
        layer(str(broken))


def test_a_change_that_could_be_of_two_links_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["shell", "--net", "gprs", "--net", "wifi", "--set", "link.mtu=576B", "--", "true"]
    assert outcome(words) == 2
    assert "--set goes with one --net" in capfd.readouterr().err
