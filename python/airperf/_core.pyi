from collections.abc import Callable
from os import PathLike

__all__ = [
    "CaptureError",
    "CoreError",
    "EnvironmentLacks",
    "RecordsError",
    "RunError",
    "ScenarioError",
    "__version__",
    "analyze_capture",
    "annotate",
    "anonymize",
    "check_capture",
    "check_scenario",
    "clean",
    "describe_frames",
    "describe_page",
    "describe_trace",
    "expand_sweep",
    "export_trace",
    "host_site",
    "live_workload",
    "locate",
    "own_namespace",
    "probe",
    "record_site",
    "replay",
    "run_emu",
    "run_load",
    "run_optimiser",
    "run_proxy",
    "run_shell",
    "run_sim",
    "run_visits",
    "visit_orders",
]

__version__: str

class CoreError(Exception): ...
class ScenarioError(CoreError): ...
class CaptureError(CoreError): ...
class EnvironmentLacks(CoreError): ...
class RecordsError(CoreError): ...
class RunError(CoreError): ...

def analyze_capture(
    paths: list[str],
    out_dir: str | PathLike[str] | None,
    tables: list[str],
    options: str,
    progress: Callable[[int, int | None], object] | None,
) -> str: ...
def annotate(
    paths: list[str],
    tables: tuple[str | PathLike[str], str | PathLike[str], str | PathLike[str]],
    target: str | PathLike[str],
    progress: Callable[[int, int | None], object] | None,
) -> str: ...
def anonymize(source: str, target: str | PathLike[str], options: str) -> str: ...
def check_capture(capture_dir: str | PathLike[str], run_dir: str | PathLike[str]) -> str: ...
def check_scenario(text: str, name: str, overrides: list[tuple[str, str]]) -> str: ...
def clean(state_dir: str | PathLike[str]) -> str: ...
def describe_frames(paths: list[str], options: str, write: Callable[[str], object]) -> str: ...
def describe_page(text: str, name: str) -> str: ...
def describe_trace(path: str | PathLike[str]) -> str: ...
def export_trace(path: str | PathLike[str], until_ms: int) -> str: ...
def expand_sweep(text: str) -> list[str]: ...
def live_workload(text: str, name: str, seed: int | None) -> str: ...
def locate(text: str, name: str) -> str: ...
def own_namespace() -> bool: ...
def probe() -> str: ...
def replay(run_dir: str | PathLike[str]) -> str: ...
def run_emu(
    text: str,
    name: str,
    overrides: list[tuple[str, str]],
    seed: int | None,
    out_dir: str | PathLike[str],
    level: str | None,
    own_parts: list[str],
    progress: Callable[[str], object] | None,
) -> str: ...
def run_load(
    plan_json: str,
    out_dir: str | PathLike[str] | None,
    progress: Callable[[str], object] | None,
) -> str: ...
def host_site(folder: str, options: str, tell: Callable[[str], bool]) -> str: ...
def record_site(options: str, tell: Callable[[str], bool]) -> str: ...
def run_optimiser(options: str, tell: Callable[[str], bool]) -> str: ...
def run_proxy(options: str, tell: Callable[[str], bool]) -> str: ...
def run_shell(
    layers: list[tuple[str, str, list[tuple[str, str]], int | None]],
    command: list[str],
    own_parts: list[str],
    tell: Callable[[str], bool],
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
    deferred: bool,
) -> str: ...
def run_visits(
    text: str,
    name: str,
    overrides: list[tuple[str, str]],
    seed: int | None,
    out_dir: str | PathLike[str],
    level: str | None,
    command: list[str],
    seen: Callable[[int], str],
    tell: Callable[[str], bool],
) -> str: ...
def visit_orders(text: str, name: str, overrides: list[tuple[str, str]]) -> str: ...
