"""One campaign at a time in a folder (fault 6)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from airperf.errors import FolderInUse
from airperf.experiment.lock import LOCK, FolderLock, start_ticks


def test_fault_06_a_second_campaign_is_refused(tmp_path: Path) -> None:
    notices: list[str] = []
    with FolderLock(tmp_path, notices.append):
        with (
            pytest.raises(FolderInUse, match=f"process {os.getpid()} is at work"),
            FolderLock(tmp_path, notices.append),
        ):
            pytest.fail("two locks at once")
        assert (tmp_path / LOCK).exists(), "the refusal leaves the first lock alone"
    assert not list(tmp_path.iterdir())
    assert notices == []


def test_fault_06_a_lock_whose_process_is_gone_is_taken_over_with_a_notice(tmp_path: Path) -> None:
    notices: list[str] = []
    (tmp_path / LOCK).write_text(json.dumps({"pid": 2**22 - 1, "start_ticks": 1}))
    with FolderLock(tmp_path, notices.append):
        pass
    assert len(notices) == 1
    assert "which is gone" in notices[0]


def test_fault_06_a_reused_process_id_does_not_hold_a_lock(tmp_path: Path) -> None:
    notices: list[str] = []
    ticks = start_ticks(os.getpid())
    assert ticks is not None
    (tmp_path / LOCK).write_text(json.dumps({"pid": os.getpid(), "start_ticks": ticks - 1}))
    with FolderLock(tmp_path, notices.append):
        pass
    assert len(notices) == 1


@pytest.mark.parametrize("text", ["", "{", '{"pid": "x"}'])
def test_fault_06_a_lock_that_cannot_be_read_is_taken_over(tmp_path: Path, text: str) -> None:
    notices: list[str] = []
    (tmp_path / LOCK).write_text(text)
    with FolderLock(tmp_path, notices.append):
        pass
    assert len(notices) == 1
