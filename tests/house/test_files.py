"""House rules 7–10 as far as a file's text shows them: sizes, module docs, paths, shells."""

from __future__ import annotations

import ast
import re

from repository import ROOT, files, shown, text

LONGEST = 800
RUST = files(".rs")
PYTHON = files(".py", ".pyi")
THIS_FOLDER = ROOT / "tests" / "house"


def test_no_source_file_is_longer_than_800_lines() -> None:
    sources = files(".rs", ".py", ".pyi", ".cc", ".sh")
    assert sources
    long = {shown(p): n for p in sources if (n := len(text(p).splitlines())) > LONGEST}
    assert not long, f"split along the flow of data: {long}"


def test_every_rust_module_opens_with_its_purpose() -> None:
    assert RUST
    bare = [shown(p) for p in RUST if not any(line.startswith("//!") for line in text(p).splitlines()[:12])]
    assert not bare, f"open with //! purpose · model and reference · what it leaves out: {bare}"


def test_every_python_module_has_a_docstring() -> None:
    bare = [shown(p) for p in files(".py") if not ast.get_docstring(ast.parse(text(p)))]
    assert not bare, f"open with a docstring that says what the module is for: {bare}"


def test_descriptions_of_crates_are_written() -> None:
    manifests = files("Cargo.toml")
    unwritten = [
        shown(p)
        for p in manifests
        if "[package]" in text(p) and not re.search(r'^description = "[^"]{12,}"', text(p), re.MULTILINE)
    ]
    assert not unwritten, f"say in one line what the crate is: {unwritten}"


def test_no_machine_path_or_package_index_is_written_down() -> None:
    # Spelled so that this file does not match itself.
    bad = re.compile(
        r"(?<![\w.])/" + r"(?:work|root|home/\w+|Users/\w+)/"
        r"|--index-" + r"url|--extra-index-" + r"url|\.\./shared/"
    )
    found = [
        f"{shown(p)}:{number}: {line.strip()[:100]}"
        for p in files()
        for number, line in enumerate(text(p).splitlines(), 1)
        if bad.search(line)
    ]
    assert not found, "\n".join(["depends on one machine:", *found])


def test_no_python_code_starts_a_shell() -> None:
    found = []
    for path in PYTHON:
        for node in ast.walk(ast.parse(text(path))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            shell = any(
                k.arg == "shell" and not (isinstance(k.value, ast.Constant) and not k.value.value)
                for k in node.keywords
            )
            if shell or called in {"os.system", "os.popen", "subprocess.getoutput"}:
                found.append(f"{shown(path)}:{node.lineno}: {called}")
    assert not found, f"start programs by argument vector: {found}"


SHELL_IN_RUST = re.compile(r'Command::new\(\s*"(?:/bin/|/usr/bin/)?(?:ba|da|z)?sh"|"sh"\s*,\s*"-c"')


def test_no_rust_code_starts_a_shell() -> None:
    assert SHELL_IN_RUST.search('Command::new("sh").arg("-c")')
    found = [shown(p) for p in RUST if SHELL_IN_RUST.search(text(p))]
    assert not found, f"start programs by argument vector: {found}"


def test_no_test_is_left_without_an_assertion_or_call() -> None:
    """A test whose body is `pass` or a lone docstring cannot fail."""
    empty = []
    for path in files(".py"):
        for node in ast.walk(ast.parse(text(path))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                body = [s for s in node.body if not isinstance(s, ast.Expr | ast.Pass)]
                calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
                if not body and not calls:
                    empty.append(f"{shown(path)}:{node.lineno}")
    assert not empty, empty
