"""``airperf.open_capture``: tables in Python, temporary files, Jupyter."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import airperf
from airperf.errors import AirperfError, InputError, RecordError
from airperf.records.capture import Capture, open_capture
from airperf.records.selection import Selection

MakeCapture = Callable[..., Path]


class Engine:
    """Stands in for the engine: hands out synthetic tables and remembers what it was asked."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.calls: list[tuple[list[str], list[str], dict[str, Any]]] = []
        self.folders: list[Path] = []
        self.summary = json.loads((source / "manifest.json").read_text())["summary"]

    def __call__(self, paths: list[str], out_dir: str | None, tables: list[str], options: str, _: Any) -> str:
        """Takes the arguments of ``_core.analyze_capture``."""
        self.calls.append((paths, tables, json.loads(options)))
        if out_dir:
            folder = Path(out_dir)
            folder.mkdir()
            self.folders.append(folder)
            for table in tables:
                shutil.copy(self.source / f"{table}.parquet", folder)
        return json.dumps(self.summary)


@pytest.fixture
def engine(
    tmp_path: Path,
    make_capture: MakeCapture,
    rows: dict[str, Callable[..., Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> Engine:
    """An engine with connections, exchanges and segments."""
    segments = [rows["segment"](1, up=True), rows["segment"](2, up=False)]
    found = Engine(make_capture(tmp_path / "made", {"segments": segments}))
    monkeypatch.setattr("airperf._core.analyze_capture", found)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pcap").write_bytes(b"x")
    return found


SOME = ("connections", "exchanges")


def test_it_is_the_packages_function() -> None:
    assert airperf.open_capture is open_capture
    with pytest.raises(AttributeError, match="no_such"):
        _ = airperf.no_such


def test_tables_are_polars_frames(engine: Engine) -> None:
    with open_capture("a.pcap", tables=SOME) as capture:
        assert capture.connections.height == 2
        assert capture.table("exchanges").equals(capture.exchanges)
        assert isinstance(capture.scan("connections"), pl.LazyFrame)
        assert capture.summary["tcp"]["connections"] == 2
        assert not capture.truncated
    assert len(engine.calls) == 1


def test_tables_with_a_row_per_frame_are_made_when_asked_for(engine: Engine) -> None:
    with open_capture(Path("a.pcap"), tables=SOME) as capture:
        assert [tables for _, tables, _ in engine.calls] == [list(SOME)]
        assert capture.segments.height == 2
        assert capture.segments.height == 2
        assert [tables for _, tables, _ in engine.calls] == [list(SOME), ["segments"]]


def test_what_to_look_at_is_the_same_in_every_pass(engine: Engine) -> None:
    with open_capture("a.pcap", tables=SOME, selection=Selection(ports=(80,))) as capture:
        assert capture.segments.height
    (_, _, first), (_, _, second) = engine.calls
    assert first == second
    assert first["filter"]["ports"] == [80]


def test_temporary_files_go_when_it_is_closed(engine: Engine) -> None:
    capture = open_capture("a.pcap", tables=SOME)
    connections = capture.connections
    assert engine.folders[0].is_dir()
    capture.close()
    capture.close()
    assert not engine.folders[0].parent.exists()
    assert connections.height == 2, "what was collected stays"
    with pytest.raises(RecordError, match="closed"):
        capture.scan("connections")
    with pytest.raises(RecordError, match="closed"):
        capture.scan("segments")


def test_temporary_files_go_when_it_is_forgotten(engine: Engine) -> None:
    capture = open_capture("a.pcap", tables=SOME)
    folder = engine.folders[0].parent
    assert folder.is_dir()
    del capture
    gc.collect()
    assert not folder.exists()


def test_nothing_is_left_when_the_capture_cannot_be_read(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("airperf._core.analyze_capture", interrupted)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        open_capture("a.pcap")
    assert not list(tmp_path.glob("airperf-capture-*"))
    assert not engine.calls


def test_standard_input_is_read_once(engine: Engine) -> None:
    with open_capture("-", tables=SOME) as capture:
        assert capture.tables == SOME
        with pytest.raises(RecordError, match="has no table segments"):
            capture.scan("segments")
    assert len(engine.calls) == 1


def test_capture_directories_are_opened_as_they_are(engine: Engine) -> None:
    with open_capture(engine.source) as capture:
        assert capture.tables == ("connections", "exchanges", "segments")
        assert capture.connections.height == 2
    assert not engine.calls
    assert (engine.source / "connections.parquet").is_file(), "closing removes only what is temporary"
    with pytest.raises(InputError, match="analysed already"):
        open_capture(engine.source, selection=Selection(ports=(1,)))
    with pytest.raises(RecordError, match="no table 'colours'"):
        capture.scan("colours")


def test_packages_that_are_missing_are_named(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    with open_capture("a.pcap", tables=SOME) as capture:
        for give, package in ((capture.arrow, "pyarrow"), (capture.pandas, "pandas")):
            with pytest.raises(AirperfError, match=f"{package}, which is not installed"):
                give("connections")
    assert engine.calls


def test_jupyter_gets_a_table_without_markup_from_the_capture() -> None:
    evil = "<script>alert(1)</script>"
    summary = {
        "packets": 3,
        "link_types": {evil: 3},
        "anomalies": {evil: 1},
        "checks": {"differences": {evil: 1}},
    }
    html = Capture(evil, summary)._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 4
    assert "http" not in html.replace("HTTP", ""), "nothing is fetched"
    assert "3 packets" in repr(Capture("a", summary))
