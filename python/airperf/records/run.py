"""One run directory: the manifest and its tables, scanned lazily and checked against their checksums.

Model: house rule 11 and fault 7: a table whose SHA-256 differs from the manifest is never used. Leaves out
what is in ``air.pcapng`` and ``arrivals.bin``, which other tools read; ``verify`` covers them too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from airperf.errors import RecordError
from airperf.records.folder import verify_file
from airperf.records.manifest import SCHEMA, Manifest, read_manifest

__all__ = ["SCHEMA", "Run", "open_run"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run directory that was opened; tables are read when asked for."""

    folder: Path
    manifest: Manifest
    _checked: set[str] = field(default_factory=set, repr=False, compare=False)

    def has(self, table: str) -> bool:
        """Whether the run recorded this table (``frames`` and ``packets`` only at level ``full``)."""
        return f"{table}.parquet" in self.manifest.tables

    def scan(self, table: str) -> pl.LazyFrame:
        """The table of that name, lazily; its checksum is verified the first time."""
        file = f"{table}.parquet"
        if not self.has(table):
            raise RecordError(
                f"{self.folder}: the run has no table {table!r} (level {self.manifest.level!r}); "
                f"it has {', '.join(sorted(self.manifest.tables))}"
            )
        self.verify(file)
        return pl.scan_parquet(self.folder / file)

    def table(self, table: str) -> pl.DataFrame:
        """The whole table of that name."""
        return self.scan(table).collect()

    def verify(self, file: str | None = None) -> None:
        """Compares one file, or all, with the checksums of the manifest."""
        promises = {**self.manifest.files, **self.manifest.tables}
        for name in [file] if file else sorted(promises):
            if name not in self._checked:
                verify_file(self.folder, name, promises)
                self._checked.add(name)


def open_run(folder: Path | str) -> Run:
    """Opens a run directory; errors say what is missing, damaged or of another version."""
    folder = Path(folder)
    if not folder.is_dir():
        raise RecordError(f"{folder}: no such run directory")
    return Run(folder, read_manifest(folder))
