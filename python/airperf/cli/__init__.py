"""The command line: each verb is one library call, a place for its answer and an exit code."""

from airperf.cli.program import main

__all__ = ["main"]
