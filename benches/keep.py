"""Runs a command, shows what it prints, and keeps its table under benches/results/.

Usage: python3 benches/keep.py NAME "COLUMN|COLUMN|…" COMMAND…

Lines that begin with `|` are rows; an empty list of columns means that the command prints its own heading.
The exit code is the command's.
"""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"


def page(name: str, command: str, lines: list[str]) -> Path:
    """Writes lines under a heading with today's date; the file."""
    date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    path = RESULTS / f"{date}-{name}.md"
    RESULTS.mkdir(exist_ok=True)
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    path.write_text(f"# {name.capitalize()}, {date}\n\nMade by `{command}`.\n\n{text}", encoding="utf-8")
    return path


def main() -> int:
    """Runs, shows, keeps."""
    name, columns, *command = sys.argv[1:]
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - asked for above
        for line in process.stdout:
            sys.stdout.write(line)
            row = line.lstrip(".s")  # a test runner's dots and skips may stand before it
            if row.startswith("|"):
                rows.append(row)
    if columns:
        titles = columns.split("|")
        rows = [f"| {' | '.join(titles)} |\n", f"|{'---|' * len(titles)}\n", *sorted(rows)]
    print(page(name, f"make {name}", rows))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
