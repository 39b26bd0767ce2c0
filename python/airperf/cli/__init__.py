"""The command line: each verb is one library call, a place for its answer and an exit code."""

import gc

# Loading modules makes many objects and no garbage: looking for it at every 700th took a tenth of the start.
gc.set_threshold(20_000)

from airperf.cli.program import main  # noqa: E402

__all__ = ["main"]
