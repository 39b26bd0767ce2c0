"""Sessions in httperf's own form, the file of its ``--wsesslog``.

Reference: httperf(1), ``--wsesslog``: one URI per line; a line that begins with a blank belongs to the burst
after the last line that does not; empty lines part sessions; ``#`` begins a comment line; attributes
``method=``, ``think=``, ``contents=``. All problems are reported together, with line and column. Leaves out
what the contents say: only their length is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from airperf.errors import InputError, Problem, ScenarioProblems
from airperf.quantities import SECOND_NS
from airperf.testbed.load.plan import Burst, Request, Session
from airperf.testbed.load.target import checked_path

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "\n": "\n"}
_METHOD = re.compile(r"[A-Z]{1,20}")
_SECONDS = re.compile(r"\d{1,9}(\.\d{0,9})?|\.\d{1,9}")
_KEYS = ("method", "think", "contents")


def parse_wsesslog(text: str, name: str, think_ns: int) -> tuple[Session, ...]:
    """The sessions of a file; ``think_ns`` follows every burst that states no think time of its own."""
    return _Reader(text, think_ns).read(name)


@dataclass
class _Page:
    requests: list[Request]
    think_ns: int | None = None


class _BadLine(Exception):
    """Where a line is wrong; the reader goes on with the next one."""

    def __init__(self, position: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.position, self.message, self.hint = position, message, hint


@dataclass
class _Reader:
    text: str
    think_ns: int
    at: int = 0
    sessions: list[Session] = field(default_factory=list)
    pages: list[_Page] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def read(self, name: str) -> tuple[Session, ...]:
        while self.at < len(self.text):
            end = self.end_of_line()
            line = self.text[self.at : end]
            if not line.strip():
                self.close_session()
                self.at = end + 1
            elif line.startswith("#"):
                self.at = end + 1
            else:
                self.line()
        self.close_session()
        if not self.sessions and not self.problems:
            self.problems.append(Problem("no session: every line is empty or a comment", line=1, column=1))
        if self.problems:
            raise ScenarioProblems(name, self.problems)
        return tuple(self.sessions)

    def end_of_line(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def close_session(self) -> None:
        if self.pages:
            self.sessions.append(
                tuple(
                    Burst(tuple(page.requests), self.think_ns if page.think_ns is None else page.think_ns)
                    for page in self.pages
                )
            )
        self.pages = []

    def line(self) -> None:
        try:
            self.request()
        except _BadLine as bad:
            before = self.text[: bad.position]
            column = bad.position - (before.rfind("\n") + 1) + 1
            self.problems.append(
                Problem(bad.message, hint=bad.hint, line=before.count("\n") + 1, column=column)
            )
            self.at = bad.position
            self.at = self.end_of_line() + 1

    def request(self) -> None:
        start = self.at
        in_burst = self.text[start].isspace()
        self.blanks()
        place = self.at
        path = self.word()
        try:
            checked_path(path)
        except InputError as error:
            self.bad(place, str(error))
        attributes = self.attributes()
        request = Request(path, attributes.get("method", "GET"), len(attributes.get("contents", "").encode()))
        if in_burst and not self.pages:
            self.bad(place, f"{path}: belongs to no burst: the first line of a session begins in column 1")
        if in_burst:
            self.pages[-1].requests.append(request)
        else:
            self.pages.append(_Page([request]))
        if "think" in attributes:
            self.pages[-1].think_ns = round(float(attributes["think"]) * SECOND_NS)

    def attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while True:
            self.blanks()
            if self.at >= len(self.text) or self.text[self.at] == "\n":
                self.at += 1
                return found
            place = self.at
            key = self.until("=")
            if key not in _KEYS or self.peek() != "=":
                self.bad(place, f"{key!r}: not an attribute", f"there are {', '.join(_KEYS)}, each with =")
            self.at += 1
            value_at = self.at
            value = self.quoted() if self.peek() in {"'", '"'} else self.word()
            if key == "method" and not _METHOD.fullmatch(value):
                self.bad(value_at, f"{value!r}: not a method", "for example method=POST")
            if key == "think" and not _SECONDS.fullmatch(value):
                self.bad(value_at, f"{value!r}: not a think time", "in seconds, for example think=2.0")
            found[key] = value

    def quoted(self) -> str:
        opening, quote = self.at, self.text[self.at]
        self.at += 1
        value = []
        while self.at < len(self.text) and self.text[self.at] != quote:
            character = self.text[self.at]
            if character == "\\" and self.at + 1 < len(self.text):
                self.at += 1
                character = _ESCAPES.get(self.text[self.at], self.text[self.at])
            elif character == "\n":
                self.bad(opening, "the quote is not closed on this line", r"a line end inside is written \n")
            value.append(character)
            self.at += 1
        if self.at >= len(self.text):
            self.bad(opening, "the quote is never closed")
        self.at += 1
        return "".join(value)

    def blanks(self) -> None:
        while self.peek() in {" ", "\t", "\r", "\f", "\v"}:
            self.at += 1

    def word(self) -> str:
        start = self.at
        while self.at < len(self.text) and not self.text[self.at].isspace():
            self.at += 1
        return self.text[start : self.at]

    def until(self, stop: str) -> str:
        start = self.at
        while self.at < len(self.text) and not self.text[self.at].isspace() and self.text[self.at] != stop:
            self.at += 1
        return self.text[start : self.at]

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def bad(self, position: int, message: str, hint: str = "") -> NoReturn:
        raise _BadLine(position, message, hint)
