"""Which tests have the machine to themselves: those of real time, which work beside them would make late."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent

ALONE = (
    "differential/test_air.py",
    "python/load",
    "python/sites",
    "python/test_emu.py",
    "python/test_flows.py",
    "python/test_optimise.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks them, so that `make test` runs the others in several processes first."""
    for item in items:
        if any(item.path.is_relative_to(TESTS / place) for place in ALONE):
            item.add_marker(pytest.mark.alone)
