"""httperf's command line: its flags, their abbreviations, and what each may say.

Reference: httperf(1), version 0.9.0, and getopt_long(3). Flags that httperf has and airperf cannot do are
refused together, by name, before anything starts. Leaves out what the flags mean (``httperf``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from airperf.errors import InputError


class Takes(Enum):
    """Whether a flag has a value."""

    NONE = "none"
    VALUE = "value"
    MAYBE = "maybe"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag; ``refused`` says why it cannot be done."""

    name: str
    takes: Takes = Takes.VALUE
    refused: str = ""


_NO_TLS = "airperf load speaks no TLS"
_NO_PRINT = "use a capture and airperf trace exchanges"
_NO_RETRY = "a failed request is a result, not retried"

FLAGS = (
    Flag("add-header"),
    Flag("burst-length"),
    Flag("client"),
    Flag("close-with-reset", Takes.NONE),
    Flag("debug", refused="use --verbose"),
    Flag("failure-status", refused=_NO_RETRY),
    Flag("help", Takes.NONE),
    Flag("hog", Takes.NONE),
    Flag("http-version"),
    Flag("max-connections"),
    Flag("max-piped-calls"),
    Flag("method"),
    Flag("no-host-hdr", Takes.NONE),
    Flag("num-calls"),
    Flag("num-conns"),
    Flag("period"),
    Flag("port"),
    Flag("print-reply", Takes.MAYBE, refused=_NO_PRINT),
    Flag("print-request", Takes.MAYBE, refused=_NO_PRINT),
    Flag("rate"),
    Flag("recv-buffer"),
    Flag("retry-on-failure", Takes.NONE, refused=_NO_RETRY),
    Flag("send-buffer"),
    Flag("server"),
    Flag("server-name"),
    Flag("session-cookies", Takes.NONE, refused="cookies are not kept"),
    Flag("ssl", Takes.NONE, refused=_NO_TLS),
    Flag("ssl-ciphers", refused=_NO_TLS),
    Flag("ssl-no-reuse", Takes.NONE, refused=_NO_TLS),
    Flag("think-timeout"),
    Flag("timeout"),
    Flag("uri"),
    Flag("verbose", Takes.NONE),
    Flag("version", Takes.NONE),
    Flag("wlog"),
    Flag("wsess"),
    Flag("wsesslog"),
    Flag("wset"),
)
OURS = (Flag("allow-target"), Flag("json", Takes.NONE), Flag("out"), Flag("dry-run", Takes.NONE))
"""Flags that httperf does not have; they must be written out, so that its abbreviations stay the same."""
OUR_HELP = {
    "allow-target": "you may load this host, which is neither this machine nor in the lab",
    "json": "print airperf's JSON object instead of the report",
    "out": "folder for every exchange and the histograms",
    "dry-run": "print the plan, start nothing",
}

_REAL = re.compile(r"(\d{1,15}(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?")
_SHORT = {"d": "debug", "h": "help", "v": "verbose", "V": "version"}
_BY_NAME = {flag.name: flag for flag in (*FLAGS, *OURS)}


def parse_flags(words: Sequence[str]) -> dict[str, str]:
    """Every flag given, with its value ("" for flags without); the last of several wins, as in httperf."""
    found: dict[str, str] = {}
    problems: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            _long(word[2:], rest, found, problems)
        elif len(word) > 1 and word.startswith("-"):
            _short(word[1:], rest, found, problems)
        # Like httperf, words that belong to no flag are passed over.
    problems += [
        f"--{name}: not supported: {_BY_NAME[name].refused}" for name in found if _BY_NAME[name].refused
    ]
    if problems:
        problems.append("nothing was started; airperf load httperf --help lists the flags")
        raise InputError("\n".join(problems))
    return found


def _long(text: str, rest: list[str], found: dict[str, str], problems: list[str]) -> None:
    name, equals, value = text.partition("=")
    meant = [flag.name for flag in FLAGS if flag.name.startswith(name)] if name not in _BY_NAME else [name]
    if len(meant) != 1:
        several = ", ".join(f"--{candidate}" for candidate in meant)
        what = f"ambiguous; there are {several}" if meant else "httperf has no such flag"
        problems.append(f"--{name}: {what}")
        return
    flag = _BY_NAME[meant[0]]
    if flag.takes is Takes.NONE and equals:
        problems.append(f"--{flag.name}: takes no value")
    elif flag.takes is Takes.VALUE and not equals:
        if not rest:
            problems.append(f"--{flag.name}: needs a value")
            return
        value = rest.pop(0)
    found.pop(flag.name, None)
    found[flag.name] = value


def _short(text: str, rest: list[str], found: dict[str, str], problems: list[str]) -> None:
    for place, letter in enumerate(text):
        name = _SHORT.get(letter)
        if name is None:
            problems.append(f"-{letter}: httperf has no such flag")
            return
        if _BY_NAME[name].takes is Takes.VALUE:
            value = text[place + 1 :].removeprefix("=") or (rest.pop(0) if rest else "")
            found[name] = value
            return
        found[name] = ""


def count(found: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    """The whole number of a flag."""
    text = found.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"\d{1,12}", text.strip()) or int(text) < least:
        raise InputError(f"--{name} {text!r}: must be a whole number, at least {least}")
    return int(text)


def real(name: str, text: str) -> float:
    """A number that is not negative."""
    if not _REAL.fullmatch(text.strip()) or not math.isfinite(value := float(text)):
        raise InputError(f"--{name} {text!r}: must be a number, such as 2.5")
    return value


def unescaped(text: str) -> str:
    r"""Text of ``--add-header`` with ``\n``, ``\r``, ``\a``, ``\\`` and octal ``\N`` replaced."""
    plain = {"n": "\n", "r": "\r", "a": "\a", "\\": "\\"}

    def one(found: re.Match[str]) -> str:
        code = found[1]
        return plain[code] if code in plain else chr(int(code, 8) & 0xFF)

    return re.sub(r"\\([nra\\]|[0-7]{1,3})", one, text)
