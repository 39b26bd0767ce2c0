"""Where scenarios and studies are: a path the user gives, or a name among the installed ones.

Model: a checkout and an installed wheel keep them at one place, inside the package. Leaves out searching
any other folder of the machine.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from airperf.errors import InputError

SCENARIO_LIMIT_BYTES = 1 << 20
"""A scenario larger than this is refused unread."""


def installed(kind: str) -> Path:
    """The folder of the installed ``scenarios`` or ``studies``."""
    return Path(str(resources.files("airperf"))) / kind


def find_scenario(name_or_path: str) -> tuple[str, str]:
    """The text of a scenario and the name to call it in messages.

    A path wins over an installed name: ``bai2006-e1`` means the installed one unless such a file is here.
    """
    candidates = [Path(name_or_path), installed("scenarios") / f"{Path(name_or_path).name}.toml"]
    for candidate in candidates:
        if candidate.is_file():
            return _read(candidate), name_or_path if candidate is candidates[0] else str(candidate.name)
    known = sorted(path.stem for path in installed("scenarios").glob("*.toml"))
    hint = f"; installed scenarios: {', '.join(known)}" if known else ""
    raise InputError(f"{name_or_path}: no such scenario file{hint}")


def path_of(name: str) -> str:
    """Where the scenario of this name is, which is where files that it names are looked for.

    Installed scenarios are called by their file's name; any other name is a path already.
    """
    inside = installed("scenarios") / Path(name).name
    return str(inside) if not Path(name).is_file() and inside.is_file() else name


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > SCENARIO_LIMIT_BYTES:
            raise InputError(f"{path}: larger than {SCENARIO_LIMIT_BYTES >> 20} MiB, so not a scenario")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text in UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
