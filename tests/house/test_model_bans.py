"""House rule 1: nothing under crates/model/ knows a clock, a thread, a file, a socket or a hash order.

Clippy enforces it through `crates/model/clippy.toml`. Here we prove that clippy finds that file for a crate
anywhere below it and that every ban bites, by planting each banned use; and we read the model's text as
a second fence, which also covers its tests.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from repository import ROOT, files, shown, text

BANS = ROOT / "crates" / "model" / "clippy.toml"

PLANTED = {
    "std::time::Instant": "let _ = std::time::Instant::now();",
    "std::time::SystemTime": "let _ = std::time::SystemTime::now();",
    "std::time::Duration": "let _ = std::time::Duration::from_secs(1);",
    "std::collections::HashMap": "let _ = std::collections::HashMap::<u8, u8>::new();",
    "std::collections::HashSet": "let _ = std::collections::HashSet::<u8>::new();",
    "std::thread::sleep": "std::thread::sleep(core::time::Duration::ZERO);",
    "std::thread::spawn": "let _ = std::thread::spawn(|| {});",
    "std::fs::File": 'let _ = std::fs::File::open("x");',
    "std::fs::read": 'let _ = std::fs::read("x");',
    "std::net::TcpStream": 'let _ = std::net::TcpStream::connect("x");',
    "std::net::UdpSocket": 'let _ = std::net::UdpSocket::bind("x");',
    "f64::ln": "let _ = 2.0_f64.ln();",
    "f64::exp": "let _ = 2.0_f64.exp();",
    "f64::powf": "let _ = 2.0_f64.powf(0.3);",
}


def lint(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Runs clippy on a crate at `folder`/model/planted whose only function has this body."""
    crate = folder / "model" / "planted"
    (crate / "src").mkdir(parents=True)
    (folder / "model" / "clippy.toml").write_text(BANS.read_text(encoding="utf-8"), encoding="utf-8")
    (crate / "Cargo.toml").write_text(
        '[package]\nname = "planted"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n',
        encoding="utf-8",
    )
    (crate / "src" / "lib.rs").write_text(f"pub fn planted() {{ {body} }}\n", encoding="utf-8")
    return subprocess.run(
        ["cargo", "clippy", "--offline", "--quiet", "--", "--deny", "warnings"],
        cwd=crate,
        check=False,
        capture_output=True,
        text=True,
        env=clean_environment(folder),
    )


def clean_environment(folder: Path) -> dict[str, str]:
    """Our environment, building into `folder`, without a clippy configuration forced from outside."""
    kept = {k: v for k, v in os.environ.items() if k != "CLIPPY_CONF_DIR"}
    return kept | {"CARGO_TARGET_DIR": str(folder / "target")}


def test_clippy_passes_a_clean_crate(tmp_path: Path) -> None:
    done = lint(tmp_path, "let _ = 2_u8.wrapping_add(1);")
    assert done.returncode == 0, done.stderr


def test_every_ban_bites(tmp_path: Path) -> None:
    done = lint(tmp_path, "\n".join(f"{{ {line} }}" for line in PLANTED.values()))
    assert done.returncode != 0
    missed = [ban for ban in PLANTED if f"`{ban}`" not in done.stderr]
    assert not missed, f"clippy let these through: {missed}\n{done.stderr}"


def test_no_crate_of_the_model_hides_from_the_ban() -> None:
    inner = [p for p in files("clippy.toml") if p.is_relative_to(BANS.parent) and p != BANS]
    assert not inner, f"a nearer clippy.toml replaces the ban: {inner}"
    allowed = re.compile(r"allow\(\s*clippy::disallowed")
    hiding = [shown(p) for p in files(".rs") if "model" in p.parts and allowed.search(text(p))]
    assert not hiding, hiding


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bInstant\b",
        r"\bSystemTime\b",
        r"thread::",
        r"\bHash(?:Map|Set)\b",
        r"std::(?:net|fs|process|env)\b",
    ],
)
def test_the_models_text_names_nothing_banned(pattern: str) -> None:
    sources = [p for p in files(".rs") if p.is_relative_to(BANS.parent) and "tests" not in shown(p)]
    assert sources
    found = [
        f"{shown(p)}:{n}"
        for p in sources
        for n, line in enumerate(text(p).splitlines(), 1)
        if not line.lstrip().startswith("//") and re.search(pattern, line)
    ]
    assert not found, found
