"""The process of a part of airperf within an emulated run: ``python -I part.py MODULE load|proxy``.

Model: testbeds do not use each other in Rust, so an emulated run starts this program in a station's
namespace, and it does there what ``airperf load`` and ``airperf proxy`` do. It loads the compiled module of
the run and nothing else of airperf, says ``ready``, reads its orders from its input, and does the rest in
Rust without the interpreter lock (house rule 5). Leaves out what the orders mean; see
``crates/testbed/emu/src/programs/own.rs``.
"""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def command(module: ModuleType) -> list[str]:
    """The argument vector of this program, but for the part to play; empty without an interpreter."""
    return [sys.executable, "-I", str(Path(__file__)), str(module.__file__)] if sys.executable else []


def _engine(path: str) -> ModuleType:
    spec = spec_from_file_location("_core", path, loader=ExtensionFileLoader("_core", path))
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _order() -> str:
    return sys.stdin.readline().rstrip("\n")


def _load(engine: ModuleType) -> None:
    folder, plan = _order(), _order()
    if plan:
        _say(engine.run_load(plan, folder, None))


def _proxy(engine: ModuleType) -> None:
    def tell(served: str) -> bool:
        _say(served)
        return True  # who started this program ends it

    if options := _order():
        engine.run_proxy(options, tell)


def main() -> None:
    """Plays the part."""
    engine = _engine(sys.argv[1])
    play = {"load": _load, "proxy": _proxy}[sys.argv[2]]
    _say("ready")
    play(engine)


if __name__ == "__main__":
    main()
