"""Captures of anybody as tables: analysed in one pass, read as Polars, Arrow or pandas.

Model: docs/reference/capture-records.md. The Rust crate ``analyze`` writes a capture directory, here a
temporary one unless the caller names one; tables are scanned from there. The two tables with a row per frame
or segment are made when they are first asked for. Leaves out text formats (``formats``) and figures.
"""

from __future__ import annotations

import importlib
import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from airperf import _core
from airperf.errors import AirperfError, InputError, RecordError
from airperf.files import printable
from airperf.records.folder import verify_file
from airperf.records.formats.summary import sections
from airperf.records.manifest import read_raw
from airperf.records.selection import Selection, capture_files

if TYPE_CHECKING:
    import polars as pl

SMALL = ("connections", "exchanges", "retransmissions", "series", "histograms", "stations")
"""Tables that are small beside the capture."""

LARGE = ("frames", "segments")
"""Tables with a row per frame or TCP segment."""

TABLES = (*SMALL, *LARGE)
"""Every table of a capture."""

Progress = Callable[[int, int | None], object]
"""Told now and then how many bytes are done, and of how many when that is known."""


def analyze(
    files: Iterable[str],
    folder: Path | None,
    tables: Iterable[str],
    selection: Selection,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Analyses capture files as one capture and gives its summary.

    With ``folder`` the tables named are written there, as a capture directory that must not exist yet.
    What is no capture is an `InputError`; a damaged one is analysed up to the damage, which
    ``summary["truncated_at"]`` and the notices tell.
    """
    try:
        text = _core.analyze_capture(
            list(files),
            None if folder is None else str(folder),
            list(tables),
            json.dumps(selection.core()),
            progress,
        )
    except _core.CaptureError as error:
        raise InputError(str(error)) from None
    summary: dict[str, Any] = json.loads(text)
    return summary


def describe(
    files: Iterable[str | Path],
    selection: Selection,
    write: Callable[[str], object],
    limit: int | None = None,
) -> Capture:
    """Gives ``write`` a text of every frame, decoded at all layers; the capture it returns has no tables."""
    found = capture_files(files)
    options = selection.core() | {"limit": limit or None}
    try:
        text = _core.describe_frames(found, json.dumps(options), lambda part: write(printable(part)))
    except _core.CaptureError as error:
        raise InputError(str(error)) from None
    return Capture(_name(found), json.loads(text))


def anonymize(source: Path, target: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Writes an anonymised copy of a capture as pcapng and gives the engine's account of it."""
    try:
        text = _core.anonymize(str(source), str(target), json.dumps(options))
    except _core.CaptureError as error:
        raise InputError(str(error)) from None
    report: dict[str, Any] = json.loads(text)
    return report


class Capture:
    """An analysed capture: ``summary``, and each table as a Polars frame.

    Usable as a context manager; without one its temporary files go when it is closed or forgotten.
    """

    def __init__(
        self,
        name: str,
        summary: Mapping[str, Any],
        *,
        files: tuple[str, ...] = (),
        selection: Selection | None = None,
        scratch: Path | None = None,
    ) -> None:
        self.name = name
        """What was opened."""
        self.summary = summary
        """The object that ``airperf trace summary --json`` prints."""
        self._files = files
        self._selection = selection or Selection()
        self._scratch = scratch
        self._places: dict[str, Path] = {}
        self._close = weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True) if scratch else None

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that can be had."""
        return TABLES if self._files else tuple(name for name in TABLES if name in self._places)

    @property
    def truncated(self) -> bool:
        """Whether the capture was damaged and analysed up to there only."""
        return self.summary.get("truncated_at") is not None

    def require(self, *tables: str, progress: Progress | None = None) -> None:
        """Makes the tables named that are not there yet, in one pass."""
        for table in tables:
            if table not in TABLES:
                raise RecordError(f"{self.name}: no table {table!r}; a capture has {', '.join(TABLES)}")
        missing = [table for table in tables if table not in self._places]
        if not missing:
            return
        if not self._files or self._scratch is None:
            raise RecordError(
                f"{self.name}: has no table {', '.join(missing)}; it has {', '.join(self._places)}"
            )
        if not self._scratch.is_dir():
            raise RecordError(f"{self.name}: is closed")
        folder = self._scratch / missing[0]
        analyze(self._files, folder, missing, self._selection, progress)
        self.add(folder, missing)

    def add(self, folder: Path, tables: Iterable[str]) -> None:
        """Takes these tables from a capture directory."""
        self._places |= {table: folder / f"{table}.parquet" for table in tables}

    def scan(self, table: str) -> pl.LazyFrame:
        """A table, lazily; usable until the capture is closed."""
        self.require(table)
        if not self._places[table].is_file():
            raise RecordError(f"{self.name}: is closed")
        # Loading Polars takes longer than reading many a capture: who wants the summary alone does without.
        rows: pl.LazyFrame = importlib.import_module("polars").scan_parquet(self._places[table])
        return rows

    def table(self, table: str) -> pl.DataFrame:
        """A whole table."""
        return self.scan(table).collect()

    def check(self, run: Path) -> dict[str, Any]:
        """Compares what was captured with what a run recorded itself: ``checks`` of the summary."""
        self.scan("connections")
        try:
            checks: dict[str, Any] = json.loads(_core.check_capture(self._places["connections"].parent, run))
        except _core.RecordsError as error:
            raise InputError(str(error)) from None
        return checks

    def annotate(self, target: Path, progress: Progress | None = None) -> dict[str, Any]:
        """Writes the capture again as pcapng, each packet with what was found as its comment.

        Frame numbers stay; packets that were not selected have no comment. Gives the engine's account:
        ``packets``, ``comments``, ``stand_ins`` for records that cannot be read, ``before_1970``.
        """
        if not self._files or not all(Path(file).is_file() for file in self._files):
            raise InputError(f"{self.name}: is read twice for pcapng; give the capture as a file")
        if self._selection.sort_window_ns is not None:
            raise InputError(f"{self.name}: pcapng keeps the order of the capture; leave out sorting")
        names = ("frames", "segments", "exchanges")
        self.require(*names, progress=progress)
        frames, segments, exchanges = (self._places[name] for name in names)
        try:
            text = _core.annotate(list(self._files), (frames, segments, exchanges), target, progress)
        except (_core.CaptureError, _core.RecordsError) as error:
            raise InputError(str(error)) from None
        report: dict[str, Any] = json.loads(text)
        return report

    def arrow(self, table: str) -> Any:
        """A whole table as ``pyarrow.Table``; needs pyarrow."""
        _need("pyarrow")
        return self.table(table).to_arrow()

    def pandas(self, table: str) -> Any:
        """A whole table as ``pandas.DataFrame``; needs pandas and pyarrow."""
        _need("pandas")
        _need("pyarrow")
        return self.table(table).to_pandas()

    @property
    def connections(self) -> pl.DataFrame:
        """TCP connections."""
        return self.table("connections")

    @property
    def exchanges(self) -> pl.DataFrame:
        """HTTP/1 exchanges."""
        return self.table("exchanges")

    @property
    def retransmissions(self) -> pl.DataFrame:
        """Segments, TCP and MAC retransmissions by client and type."""
        return self.table("retransmissions")

    @property
    def series(self) -> pl.DataFrame:
        """Packets and bytes per interval, of all and of each client."""
        return self.table("series")

    @property
    def histograms(self) -> pl.DataFrame:
        """Packet sizes and times between packets."""
        return self.table("histograms")

    @property
    def stations(self) -> pl.DataFrame:
        """802.11 transmitters."""
        return self.table("stations")

    @property
    def frames(self) -> pl.DataFrame:
        """Every captured frame; use ``scan("frames")`` for long captures."""
        return self.table("frames")

    @property
    def segments(self) -> pl.DataFrame:
        """Every TCP segment; use ``scan("segments")`` for long captures."""
        return self.table("segments")

    def close(self) -> None:
        """Removes the temporary files; frames that were collected stay usable."""
        if self._close is not None:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        connections = self.summary.get("tcp", {}).get("connections", 0)
        return f"<Capture {self.name!r}: {self.summary.get('packets', 0)} packets, {connections} connections>"

    def _repr_html_(self) -> str:
        """The summary for Jupyter: every text escaped, nothing fetched."""
        from html import escape  # noqa: PLC0415 - only notebooks need it, and each command would load it

        parts = [f"<h4>{escape(self.name)}</h4>"]
        for section in sections(self.summary):
            rows = "".join(
                "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in section.rows
            )
            parts.append(f"<table><caption>{escape(section.title)}</caption>{rows}</table>")
        return "".join(parts)


def open_capture(
    path: str | Path | Iterable[str | Path],
    *,
    tables: Iterable[str] = SMALL,
    selection: Selection | None = None,
    progress: Progress | None = None,
) -> Capture:
    """Opens a capture of anybody: pcap or pcapng, plain, gzip or zstd; or a directory of ours.

    Args:
        path: A file, a pattern such as ``"day1/*.pcap"``, several of them (one capture, one after the
            other), ``-`` for standard input (no later passes), a run directory (its ``air.pcapng``), or
            a capture directory that ``airperf trace export`` wrote.
        tables: Tables to make in the first pass; others are made when they are first asked for.
        selection: Which packets to look at, and how.
        progress: Told bytes done and bytes in all.

    Returns:
        The analysed capture. Close it, or use ``with``, to remove its temporary files early.

    Raises:
        InputError: Not a capture, or no such file. A capture that is cut short is no error: see
            ``Capture.truncated``.
    """
    paths = [path] if isinstance(path, str | Path) else list(path)
    selection = selection or Selection()
    if len(paths) == 1 and is_capture_folder(Path(paths[0])):
        if selection != Selection():
            raise InputError(
                f"{paths[0]}: is analysed already, so nothing can be selected; give the capture itself"
            )
        return open_capture_folder(Path(paths[0]))
    files = capture_files(paths)
    wanted = tuple(dict.fromkeys(tables))
    scratch = Path(tempfile.mkdtemp(prefix="airperf-capture-"))
    try:
        folder = scratch / "capture" if wanted else None
        summary = analyze(files, folder, wanted, selection, progress)
        again = () if "-" in files else tuple(files)
        capture = Capture(_name(files), summary, files=again, selection=selection, scratch=scratch)
        if folder:
            capture.add(folder, wanted)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return capture


def is_capture_folder(folder: Path) -> bool:
    """Whether this is a directory with a manifest of kind ``capture``."""
    if not (folder / "manifest.json").is_file():
        return False
    try:
        read_raw(folder, "capture")
    except RecordError:
        return False
    return True


def is_run_folder(folder: Path) -> bool:
    """Whether this is a run directory with what `Capture.check` compares."""
    if not all((folder / f"{table}.parquet").is_file() for table in ("connections", "packets")):
        return False
    try:
        read_raw(folder, "run")
    except RecordError:
        return False
    return True


def open_capture_folder(folder: Path) -> Capture:
    """Opens a capture directory; every table is compared with its checksum."""
    raw = read_raw(folder, "capture")
    try:
        summary, promises = dict(raw["summary"]), dict(raw["tables"])
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{folder / 'manifest.json'}: not a complete manifest ({error})") from None
    capture = Capture(str(folder), summary)
    for file in promises:
        verify_file(folder, file, promises)
    capture.add(folder, [table for table in TABLES if f"{table}.parquet" in promises])
    return capture


def _name(files: list[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def _need(package: str) -> None:
    try:
        importlib.import_module(package)
    except ImportError:
        raise AirperfError(f"this needs the Python package {package}, which is not installed") from None
