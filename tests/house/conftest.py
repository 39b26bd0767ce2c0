"""Lets the house rules' modules find `repository` beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
