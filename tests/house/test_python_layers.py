"""House rule 4 where import-linter cannot see: the compiled extension, and Dask.

The layers themselves are in `.importlinter`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import ROOT, files, shown, text

PACKAGE = ROOT / "python" / "airperf"
SOURCES = [p for p in files(".py") if p.is_relative_to(PACKAGE)]

# Which of our packages (or modules) may import what.
ONLY_IN = {
    "airperf._core": {"scenario", "testbed", "records"},
    "dask": {"experiment"},
    "asyncssh": {"testbed"},
    "socket": {"testbed"},
    "pickle": set(),
    "shelve": set(),
}


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, `from x import y` giving both x and x.y."""
    for node in ast.walk(ast.parse(text(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_there_is_something_to_look_at() -> None:
    assert any(name == "airperf._core" for path in SOURCES for name in imports(path))


@pytest.mark.parametrize("module", sorted(ONLY_IN))
def test_modules_stay_where_they_belong(module: str) -> None:
    wrong = [
        shown(path)
        for path in SOURCES
        if path.relative_to(PACKAGE).parts[0] not in ONLY_IN[module]
        and any(name == module or name.startswith(f"{module}.") for name in imports(path))
    ]
    assert not wrong, f"{module} is imported by {wrong}"
