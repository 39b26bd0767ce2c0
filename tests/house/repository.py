"""What the house rules look at: the tracked and new files of this repository.

Ignored files (builds, environments, results) are none of the rules' business.
"""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """Every file git would commit, those ending in one of `suffixes` if any are given."""
    # A checkout may belong to someone else than who tests it, as in CI.
    git = ["git", "-c", "safe.directory=*"]
    listing = subprocess.run(
        [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (ROOT / name for name in listing.split("\0") if name)
    return tuple(
        sorted(
            path
            for path in paths
            if path.is_file() and not path.is_symlink() and (not suffixes or path.name.endswith(suffixes))
        )
    )


def shown(path: Path) -> str:
    """The path as a reader of the repository knows it."""
    return path.relative_to(ROOT).as_posix()


def text(path: Path) -> str:
    """The file's text; empty for what is not text, such as a picture."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""
