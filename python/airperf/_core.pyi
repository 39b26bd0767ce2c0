from collections.abc import Callable
from os import PathLike

__all__ = [
    "CoreError",
    "EnvironmentLacks",
    "RecordsError",
    "RunError",
    "ScenarioError",
    "__version__",
    "check_scenario",
    "clean",
    "expand_sweep",
    "locate",
    "probe",
    "replay",
    "run_emu",
    "run_sim",
]

__version__: str

class CoreError(Exception): ...
class ScenarioError(CoreError): ...
class EnvironmentLacks(CoreError): ...
class RecordsError(CoreError): ...
class RunError(CoreError): ...

def check_scenario(text: str, name: str, overrides: list[tuple[str, str]]) -> str: ...
def clean(state_dir: str | PathLike[str]) -> str: ...
def expand_sweep(text: str) -> list[str]: ...
def locate(text: str, name: str) -> str: ...
def probe() -> str: ...
def replay(run_dir: str | PathLike[str]) -> str: ...
def run_emu(
    text: str,
    name: str,
    overrides: list[tuple[str, str]],
    seed: int | None,
    out_dir: str | PathLike[str],
    level: str | None,
    progress: Callable[[str], object] | None,
) -> str: ...
def run_sim(
    text: str,
    name: str,
    overrides: list[tuple[str, str]],
    seed: int | None,
    point: int,
    repetition: int,
    out_dir: str | PathLike[str],
    level: str | None,
) -> str: ...
