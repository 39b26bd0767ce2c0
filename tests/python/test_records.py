"""Opening run directories: whole ones, damaged ones, other versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from airperf.errors import DamagedRecord, RecordError, VersionMismatch
from airperf.records import open_campaign, open_run

MakeRun = Callable[..., Path]


def test_tables_open_when_whole(tmp_path: Path, make_run: MakeRun) -> None:
    run = open_run(make_run(tmp_path / "a", [(0, 5_000_000, None)]))
    run.verify()
    assert run.table("exchanges").height == 1
    assert run.manifest.station("client").id == 1
    assert not run.has("frames")
    with pytest.raises(RecordError, match="no table 'frames'"):
        run.scan("frames")
    with pytest.raises(RecordError, match="no station 'x'"):
        run.manifest.station("x")


def test_fault_07_a_damaged_table_is_refused(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "a", [(0, 5_000_000, None)])
    path = folder / "exchanges.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    run = open_run(folder)
    with pytest.raises(DamagedRecord, match=r"exchanges\.parquet: checksum"):
        run.table("exchanges")
    with pytest.raises(DamagedRecord):
        run.verify()


def test_fault_07_a_missing_table_is_refused(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "a", [(0, 5_000_000, None)])
    (folder / "queues.parquet").unlink()
    with pytest.raises(DamagedRecord, match=r"queues\.parquet: cannot be read"):
        open_run(folder).table("queues")


def test_fault_07_another_schema_version_is_refused(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "a", [(0, 5_000_000, None)])
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["schema"] = 2
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(VersionMismatch, match="schema version 2, this airperf reads 1"):
        open_run(folder)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"schema": 1}', '{"schema": 1, "kind": "other"}', "\xff"]
)
def test_a_broken_manifest_is_an_input_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(RecordError, match=r"manifest\.json"):
        open_run(tmp_path)


def test_a_manifest_cannot_point_outside_its_folder(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "a", [(0, 5_000_000, None)])
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["tables"]["../secret.parquet"] = {"rows": 1, "bytes": 1, "sha256": ""}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DamagedRecord, match="outside the run directory"):
        open_run(folder).verify()


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 2, "points": []}', '{"schema": 1}'])
def test_a_broken_index_is_an_input_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(RecordError, match=r"study\.json"):
        open_campaign(tmp_path)


def test_no_run_and_no_study(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no such run directory"):
        open_run(tmp_path / "none")
    with pytest.raises(RecordError, match=r"no manifest\.json"):
        open_run(tmp_path)
    with pytest.raises(RecordError, match=r"no study\.json"):
        open_campaign(tmp_path)
