"""Options that several verbs share.

Leaves out checking values: scenarios do that with their own messages.
"""

from __future__ import annotations

from pathlib import Path

import click

json_flag = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
seed_option = click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=None,
    help="Seed of all random streams (default: the file's).",
)
dry_run_flag = click.option(
    "--dry-run", is_flag=True, help="Check everything, print what would be done, start nothing."
)

FolderPath = click.Path(file_okay=False, path_type=Path)
FilePath = click.Path(dir_okay=False, path_type=Path)
