"""``python -m airperf`` is the same program as ``airperf``."""

from airperf.cli import main

if __name__ == "__main__":
    main()
