"""``airperf``: the verbs, and the one place where errors become exit codes.

Reference: docs/reference/cli.md and exit-codes.md. With ``--json`` exactly one JSON object goes to stdout
and everything else to stderr. A bug shows a report id and the file that has its traceback, never the
traceback itself. Leaves out what verbs do.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from airperf.cli.output import complain
from airperf.errors import AirperfError, InputError, NoSpace

VERBS = (
    "run",
    "experiment",
    "study",
    "load",
    "link",
    "report",
    "trace",
    "anonymize",
    "host",
    "browse",
    "shell",
    "record",
    "proxy",
    "replay",
    "doctor",
)


class Verbs(click.Group):
    """Loads a verb only when it is asked for: ``airperf doctor`` needs no plotting library."""

    def __init__(self, *arguments: Any, places: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.places = places

    def list_commands(self, _: click.Context) -> list[str]:
        """The verbs in the order in which one meets them."""
        return list(self.places)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a verb, from ``module:name``."""
        if cmd_name not in self.places:
            return None
        module, name = self.places[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"airperf, version {importlib.import_module('airperf').__version__}")
        context.exit()


@click.group(
    cls=Verbs,
    places={verb: f"airperf.cli.{verb}:command" for verb in VERBS},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """How well will the Web work over this wireless network, what breaks first, what to change?

    Exit codes: 0 good, 1 internal error, 2 usage or input error, 3 finished and partly usable, 4 the
    machine lacks something, 130 interrupted and resumable.
    """


def main() -> NoReturn:
    """Runs the command line and exits with its code."""
    code = outcome(sys.argv[1:])
    # What the process leaves behind need not be searched for cycles: it ends.
    gc.freeze()
    sys.exit(code)


def outcome(arguments: list[str]) -> int:
    """Runs one command and gives its exit code; only bugs get past the error tree."""
    try:
        code = cli.main(arguments, prog_name="airperf", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show(file=sys.stderr)
        return 2
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except AirperfError as error:
        complain(str(error))
        return error.exit_code
    except OSError as error:
        complain(f"{error.filename or 'operating system'}: {error.strerror or error}")
        return NoSpace.exit_code if error.errno == errno.ENOSPC else InputError.exit_code
    except Exception as error:  # noqa: BLE001 - the last line of defence
        complain(importlib.import_module("airperf.cli.bug").report(error, arguments))
        return 1
