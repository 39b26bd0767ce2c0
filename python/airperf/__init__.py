"""airperf: how well will the Web work over this wireless network, what breaks first, what to change.

The rooms, in the order data flows: ``scenario`` → ``testbed`` → ``records`` → ``analysis`` → ``plots`` →
``report``; ``experiment`` drives many runs and ``cli`` is the command line.
"""

from importlib import metadata

try:
    __version__ = metadata.version("airperf")
except metadata.PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0+source"

__all__ = ["__version__"]
