"""``airperf anonymize``: a capture that can be shared.

Reference: docs/reference/captures.md, anonymised captures. The same key gives the same pseudonyms in every
file; without ``--key`` a key is drawn, used once and forgotten. Leaves out judging whether what remains,
sizes and times, may be shared.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click

from airperf.cli.options import FilePath, json_flag
from airperf.cli.output import print_json, say
from airperf.errors import InputError
from airperf.records.capture import anonymize
from airperf.records.selection import capture_files

KEY_BYTES = 32
KEY_FILE_LIMIT_BYTES = 4096


@click.command("anonymize")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT", type=FilePath)
@click.option("--key", type=FilePath, default=None, help="File with the secret; made when there is none.")
@click.option(
    "--payload",
    type=click.Choice(["strip", "headers", "keep"]),
    default="strip",
    show_default=True,
    help="What of the payload stays: nothing, HTTP headers with hashed values, or all.",
)
@json_flag
def command(source: str, target: Path, key: Path | None, payload: str, as_json: bool) -> int:
    """Write capture IN to OUT (pcapng) with prefix-preserving addresses, hashed names, and no payload."""
    files = capture_files([source])
    if len(files) != 1:
        raise InputError(f"{source}: is {len(files)} files; anonymise one at a time, with the same --key")
    if target.exists() and files[0] != "-" and target.samefile(files[0]):
        raise InputError(f"{target}: is the capture itself, which is never overwritten")
    secret = _secret(key) if key else secrets.token_bytes(KEY_BYTES)
    report = anonymize(Path(files[0]), target, {"key": secret.hex(), "payload": payload})
    if as_json:
        print_json({"schema": 1, **report})
    else:
        click.echo(target)
    if payload == "keep":
        say("payload was kept: names, cookies and whatever else was said is still in it")
    if (end := report.get("truncated_at")) is not None:
        say(f"{source}: truncated at byte {end}; what lies before it was written")
        return 3
    return 0


def _secret(path: Path) -> bytes:
    """The secret in a key file, which is made, for its owner only, when it does not exist."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if path.stat().st_size > KEY_FILE_LIMIT_BYTES:
            raise InputError(f"{path}: larger than {KEY_FILE_LIMIT_BYTES} bytes, so not a key") from None
        secret = path.read_bytes().strip()
        if len(secret) < KEY_BYTES // 2:
            raise InputError(f"{path}: shorter than {KEY_BYTES // 2} bytes, so easy to guess") from None
        return secret
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_hex(KEY_BYTES).encode() + b"\n")
    return path.read_bytes().strip()
