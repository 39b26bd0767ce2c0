"""The documentation is true where a machine can tell: links, fault tests, scopes, targets, exit codes.

`AIRPERF_WRITE=1 pytest tests/house/test_docs.py` rewrites the column of tests in faults.md.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path

import pytest
from repository import ROOT, files, shown, text

FAULTS = ROOT / "docs" / "reference" / "faults.md"
NO_TEST = "–"
PAGES = files(".md")


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", text(page), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    local = [link.split("#")[0] for link in links if not re.match(r"[a-z]+:", link)]
    broken = [link for link in local if link and not (page.parent / link).exists()]
    assert not broken, broken


def fault_tests() -> dict[int, list[str]]:
    """The tests named after each row of the table of faults, sorted."""
    found: dict[int, set[str]] = defaultdict(set)
    pattern = re.compile(r"\b(?:fn|def) ((?:test_)?fault_(\d\d)_\w+)")
    for path in files(".rs", ".py"):
        for name, row in pattern.findall(text(path)):
            found[int(row)].add(f"`{name}` in {shown(path)}")
    return {row: sorted(names) for row, names in found.items()}


def test_every_fault_row_names_its_tests() -> None:
    tests = fault_tests()
    assert tests
    seen = set()
    lines = []
    for line in text(FAULTS).splitlines():
        row = re.match(r"\| (\d+) \| .* \| (.*) \|$", line)
        if not row:
            lines.append(line)
            continue
        number = int(row[1])
        seen.add(number)
        column = "<br>".join(tests.get(number, [])) or NO_TEST
        lines.append(f"{line[: row.start(2)]}{column} |")
    assert set(tests) <= seen, f"tests of faults without a row: {set(tests) - seen}"
    page = "\n".join(lines) + "\n"
    if os.environ.get("AIRPERF_WRITE"):
        FAULTS.write_text(page, encoding="utf-8")
    assert text(FAULTS) == page, "docs/reference/faults.md is out of date: see the head of this test"


def test_every_model_page_says_what_it_leaves_out() -> None:
    pages = [p for p in PAGES if p.parent == ROOT / "docs" / "models" and p.name != "README.md"]
    assert len(pages) >= 6
    bare = [shown(p) for p in pages if "\n## Scope and limitations\n" not in text(p)]
    assert not bare, bare


def test_decisions_are_listed_and_complete() -> None:
    folder = ROOT / "docs" / "decisions"
    pages = [p for p in PAGES if p.parent == folder and p.name != "README.md"]
    index = text(folder / "README.md")
    assert pages
    for page in pages:
        assert page.name in index, f"{page.name} is not in the list of decisions"
        for part in ("**Context.**", "**Decision.**", "**Consequence.**"):
            assert part in text(page), f"{page.name} lacks {part}"


def test_make_targets_that_docs_name_exist() -> None:
    makefile = text(ROOT / "Makefile")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {
        (shown(p), t) for p in PAGES for t in re.findall(r"(?:`|^)make ([a-z-]+)", text(p), re.MULTILINE)
    }
    assert named
    missing = sorted((page, target) for page, target in named if target not in targets)
    assert not missing, missing


def test_exit_codes_agree_with_the_error_tree() -> None:
    page = text(ROOT / "docs" / "reference" / "exit-codes.md")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    tree = text(ROOT / "python" / "airperf" / "errors.py")
    raised = {int(code) for code in re.findall(r"exit_code = (\d+)", tree)}
    assert raised
    assert raised | {0} == documented
