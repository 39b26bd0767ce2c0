"""The program that loads pages in whatever network it is started in.

``python -m airperf.testbed.loads FILE``: FILE says what is wanted (``browser.Wanted`` as JSON); each load is
written beside it as it is done. Leaves out the browser itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from airperf.errors import EnvironmentLacks, RunFailed
from airperf.testbed.browser import Wanted, link_zero_ns, load
from airperf.testbed.connecting import held_to


def main() -> int:
    """Loads as often as the file says, and writes each load beside it as it is done."""
    path = Path(sys.argv[1])
    wanted = Wanted(**json.loads(path.read_text(encoding="utf-8")))
    wanted.spki = wanted.spki or os.environ.get("AIRPERF_CA_SPKI", "")
    try:
        with held_to(wanted.connections):
            return _loads(path.parent, wanted)
    except KeyboardInterrupt:
        return 130
    except (EnvironmentLacks, RunFailed) as error:
        (path.parent / "problem").write_text(str(error), encoding="utf-8")
        return 1


def _loads(folder: Path, wanted: Wanted) -> int:
    zero_ns = link_zero_ns() or 0
    for repetition in range(1, wanted.repetitions + 1):
        time.sleep(wanted.pause_s if repetition > 1 else wanted.start_s)
        if wanted.until_s and time.monotonic() - zero_ns / 1e9 > wanted.until_s:
            break
        loaded = load(wanted)
        stem = folder / f"load-{repetition}"
        (stem.with_suffix(".png")).write_bytes(loaded.screenshot)
        for number, (_, picture) in enumerate(loaded.frames):
            (folder / f"load-{repetition}-frame-{number}.jpg").write_bytes(picture)
        content = {
            "events": loaded.events,
            "timing": loaded.timing,
            "complete": loaded.complete,
            "frames": [at for at, _ in loaded.frames],
            "zero_ns": zero_ns,
        }
        partial = stem.with_suffix(".partial")
        partial.write_text(json.dumps(content), encoding="utf-8")
        partial.rename(stem.with_suffix(".json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
