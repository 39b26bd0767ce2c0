"""The command line: exit codes, JSON shapes, where words go (faults 38 and 39)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf import errors
from airperf.analysis.summary import summary
from airperf.analysis.tables import load
from airperf.cli import program
from airperf.cli.output import show
from airperf.cli.tables import summary_table
from airperf.records import open_run
from airperf.testbed import Need, engine

Call = Callable[..., Any]
Cli = Callable[..., "subprocess.CompletedProcess[str]"]
SHORT = ("--set", "duration=2s", "--set", "drain=1s")


def test_version(airperf: Cli) -> None:
    answer = airperf("--version")
    assert answer.returncode == 0
    assert answer.stdout.startswith("airperf, version ")


def test_every_verb_has_help(call: Call) -> None:
    answer = call("--help")
    assert answer.code == 0
    for verb in program.VERBS:
        assert verb in answer.out
        assert call(verb, "--help").code == 0


def test_run_prints_one_json_object(airperf: Cli, tmp_path: Path) -> None:
    answer = airperf("run", "bai2006-e1", *SHORT, "--seed", "3", "--out", "out", "--json")
    assert answer.returncode == 0, answer.stderr
    value = json.loads(answer.stdout)
    assert value["schema"] == 1
    assert value["run"] == "out"
    assert value["valid"] is True
    assert value["why_invalid"] == []
    summary = value["summary"]
    assert summary.keys() >= {
        "offered_rps",
        "carried_rps",
        "goodput_bps",
        "response_ms",
        "connection_ms",
        "errors",
        "queues",
        "airtime",
    }
    assert summary["offered_rps"] == 10
    assert summary["carried_rps"] == 10
    assert summary["response_ms"].keys() == {"mean", "p50", "p99"}
    assert summary["errors"].keys() == {"connect", "send", "reply", "receive", "reset"}
    assert summary["queues"]["client"].keys() == {"mean", "max", "drops"}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert sum(summary["airtime"].values()) == pytest.approx(manifest["elapsed_s"], abs=1e-9)
    assert manifest["seed"] == 3
    assert (tmp_path / "out" / "air.pcapng").stat().st_size > 0


def test_the_same_seed_gives_the_same_bytes(
    call: Call, tmp_path: Path, files_of: Callable[[Path], Any]
) -> None:
    for name in ("a", "b"):
        assert call("run", "bai2006-e1", *SHORT, "--seed", "5", "--out", name).code == 0
    assert call("run", "bai2006-e1", *SHORT, "--seed", "6", "--out", "c").code == 0
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
    assert files_of(tmp_path / "a")["frames.parquet"] != files_of(tmp_path / "c")["frames.parquet"]


def test_run_for_people_and_its_report(call: Call, tmp_path: Path) -> None:
    answer = call("run", "bai2006-e1", *SHORT, "--level", "analysis", "--out", "out")
    assert answer.code == 0
    assert "carried" in answer.out
    assert not (tmp_path / "out" / "frames.parquet").exists()
    report = call("report", "out")
    assert report.code == 0
    page = Path(report.out.strip())
    assert "Transmit queues" in page.read_text()
    assert page.parent == Path(), "a run directory is never written to"


def test_a_run_is_never_overwritten(call: Call) -> None:
    assert call("run", "bai2006-e1", *SHORT, "--out", "out").code == 0
    answer = call("run", "bai2006-e1", *SHORT, "--out", "out")
    assert answer.code == 2
    assert "holds a run already" in answer.err


def test_default_folders_do_not_collide(call: Call) -> None:
    first = call("run", "bai2006-e1", *SHORT, "--json").json["run"]
    second = call("run", "bai2006-e1", *SHORT, "--json").json["run"]
    assert first == "results/bai2006-e1-sim-seed1"
    assert second == "results/bai2006-e1-sim-seed1-2"


BAD = """schema = 1
name = "bad"
duration = "10"
colour = "blue"

[link]
kind = "wifi"
standard = "802.11b"
rate = "54Mbit/s"
mtu = "20B"
queue = -1

[server]
station = "server"

[[client]]
station = "client"
rate = "1e309/s"
size = "1KB"
"""


def test_fault_38_all_problems_at_once_with_line_and_column(call: Call, tmp_path: Path) -> None:
    Path("bad.toml").write_text(BAD)
    answer = call("run", "bad.toml", "--out", "out", "--json")
    assert answer.code == 2
    assert answer.out == ""
    for line in (3, 4, 9, 10, 11, 18, 19):
        assert f"bad.toml:{line}:" in answer.err, f"line {line} is not reported:\n{answer.err}"
    assert "nothing was started" in answer.err
    assert "Traceback" not in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.toml"]


@pytest.mark.parametrize(
    "setting", ["client.rate", "=3", "client.rate=fast", "client.colour=blue", "link.queue=nan"]
)
def test_fault_38_bad_settings(call: Call, setting: str) -> None:
    answer = call("run", "bai2006-e1", "--set", setting, "--out", "out")
    assert answer.code == 2
    assert setting.partition("=")[0] in answer.err
    assert not Path("out").exists()


def test_fault_38_dry_run_prints_points_time_and_disk(call: Call) -> None:
    answer = call("run", "bai2006-e1", "--dry-run", "--json", "--out", "out")
    assert answer.code == 0
    value = answer.json
    assert value["dry_run"] is True
    assert value["estimate"]["run_seconds"] == 150
    assert value["estimate"]["full_bytes"] > value["estimate"]["analysis_bytes"] > 0
    assert value["scenario"]["name"] == "bai2006-e1"
    assert "would run 1 point" in call("run", "bai2006-e1", "--dry-run").out
    assert not Path("out").exists()


def test_usage_errors_are_exit_2(call: Call) -> None:
    for arguments in (
        ["nonsense"],
        ["run"],
        ["run", "bai2006-e1", "--testbed", "moon"],
        ["run", "no-such-file"],
    ):
        answer = call(*arguments)
        assert answer.code == 2, arguments
        assert answer.out == ""
    assert "installed scenarios: bad-apple, bai2006-e1" in call("run", "no-such-file").err


def test_report_of_nothing_is_exit_2(call: Call, tmp_path: Path) -> None:
    assert call("report", "nowhere").code == 2
    assert call("report", str(tmp_path)).code == 2


def test_replay_needs_an_emulated_run(call: Call) -> None:
    assert call("run", "bai2006-e1", *SHORT, "--out", "out").code == 0
    answer = call("replay", "out")
    assert answer.code == 2
    assert "arrivals.bin" in answer.err


def test_doctor_lists_needs(call: Call) -> None:
    answer = call("doctor", "--json")
    assert answer.code in {0, 4}
    value = answer.json
    assert value["schema"] == 1
    assert value["needs"]
    for need in value["needs"]:
        assert need.keys() == {"name", "ok", "why", "remedy"}
        assert need["ok"] or need["remedy"], "what is missing has a remedy"
    assert "testbed sim: can run" in answer.err
    assert call("doctor").code == answer.code


@pytest.fixture
def no_emulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without TUN devices."""
    need = Need("tun", ok=False, why="/dev/net/tun is missing", remedy="modprobe tun", testbeds=("emu",))
    monkeypatch.setattr(engine, "probe", lambda: [need])
    monkeypatch.setattr("airperf.cli.doctor.probe", lambda: [need])


@pytest.mark.usefixtures("no_emulation")
def test_fault_39_an_emulated_run_that_cannot_be_is_exit_4(call: Call) -> None:
    answer = call("run", "bai2006-e1", "--testbed", "emu", "--out", "out")
    assert answer.code == 4
    assert "tun: /dev/net/tun is missing (modprobe tun)" in answer.err
    assert not Path("out").exists()
    assert call("doctor").code == 4


@pytest.mark.usefixtures("no_emulation")
def test_fault_39_a_study_degrades_to_what_works(call: Call, tiny: Path, tmp_path: Path) -> None:
    answer = call("study", str(tiny), "--json", "--out", str(tmp_path / "out"))
    assert answer.code == 3
    assert answer.json["rows"][0]["within"] is True
    assert "/dev/net/tun is missing" in answer.json["partial"][0]
    assert "/dev/net/tun is missing" in (tmp_path / "out" / "report.html").read_text()
    alone = call("study", str(tiny), "--testbed", "emu", "--out", str(tmp_path / "none"))
    assert alone.code == 4
    assert not (tmp_path / "none").exists()


def test_a_bug_has_a_report_and_no_traceback(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken() -> list[Need]:
        raise ZeroDivisionError("oh no")

    monkeypatch.setattr("airperf.cli.doctor.probe", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answer = call("doctor")
    assert answer.code == 1
    assert "internal error" in answer.err
    assert "Traceback" not in answer.err
    (details,) = tmp_path.glob("airperf-bug-*.txt")
    assert details.name[12:20] in answer.err
    assert "ZeroDivisionError: oh no" in details.read_text()


def test_names_from_files_cannot_drive_the_terminal(call: Call) -> None:
    Path("evil.toml").write_text('schema = 1\nname = "x\\u001b[31m"\n\u001b]0;owned\u0007 = 1\n')
    answer = call("run", "evil.toml")
    assert answer.code == 2
    assert "\x1b" not in answer.err
    assert "\x07" not in answer.err


def test_names_in_tables_are_text(
    make_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "[red]odd[/red] \x1b[31m"
    run = open_run(make_run(tmp_path / "odd", [(0, 5_000_000, None)], name=odd, stations=(odd, "client")))
    show(summary_table(run, summary(load(run))))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.count("[red]odd[/red]") == 2


def test_the_error_tree_has_the_exit_codes_of_the_contract() -> None:
    codes: dict[Any, int] = {
        errors.AirperfError: 1,
        errors.InputError: 2,
        errors.ScenarioProblems: 2,
        errors.RecordError: 2,
        errors.DamagedRecord: 2,
        errors.VersionMismatch: 2,
        errors.FolderInUse: 2,
        errors.PartialResult: 3,
        errors.RunFailed: 1,
        errors.NoSpace: 3,
        errors.EnvironmentLacks: 4,
        errors.Interrupted: 130,
    }
    for kind, code in codes.items():
        assert kind.exit_code == code
    every: set[Any] = {
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)
    }
    assert every == set(codes)
