"""Sessions from a TOML file: pages with the objects on them, think times, uploads.

Reference: docs/reference/load.md, "Session files". All problems are reported together, with line and column.
Leaves out random think times and sizes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from airperf.errors import InputError, Problem, ScenarioProblems
from airperf.quantities import duration_ns, size_bytes
from airperf.scenario import positions
from airperf.testbed.load.plan import Burst, Request, Session
from airperf.testbed.load.target import checked_path

SCHEMA = 1
_METHOD = re.compile(r"[A-Z]{1,20}")
_MAX_WEIGHT = 1000
_MAX_BODY = 1 << 30
_TOP = ("schema", "think", "session")
_SESSION = ("weight", "page")
_PAGE = ("path", "method", "body", "body_size", "think", "objects")
_OBJECT = ("path", "method", "body", "body_size")


def parse_sessions(text: str, name: str) -> tuple[Session, ...]:
    """The sessions of a file, each as often as its weight says."""
    places = positions(text, name)
    reader = _Reader(places)
    value = tomllib.loads(text)
    sessions = reader.top(value)
    if reader.problems:
        raise ScenarioProblems(name, reader.problems)
    return tuple(sessions)


class _Reader:
    """Reads the tables and keeps what is wrong with them."""

    def __init__(self, places: Mapping[str, tuple[int, int]]) -> None:
        self.places = places
        self.problems: list[Problem] = []

    def top(self, value: Mapping[str, Any]) -> list[Session]:
        self.known(value, _TOP, "")
        if value.get("schema") != SCHEMA:
            self.wrong("schema", f"schema = {value.get('schema')!r}: this version reads schema = {SCHEMA}")
        think = self.quantity(value, "", "think", duration_ns, 0)
        sessions: list[Session] = []
        for where, table in self.tables(value, "", "session"):
            self.known(table, _SESSION, where)
            weight = table.get("weight", 1)
            if type(weight) is not int or not 1 <= weight <= _MAX_WEIGHT:
                self.wrong(f"{where}.weight", f"weight = {weight!r}: a whole number from 1 to {_MAX_WEIGHT}")
                weight = 1
            pages = tuple(self.page(page, place, think) for place, page in self.tables(table, where, "page"))
            sessions += [pages] * weight
        return sessions

    def page(self, table: Mapping[str, Any], where: str, think: int) -> Burst:
        self.known(table, _PAGE, where)
        requests = [self.request(table, where)]
        objects = table.get("objects", [])
        if not isinstance(objects, list):
            self.wrong(f"{where}.objects", f"objects = {objects!r}: a list of paths or tables")
            objects = []
        for number, item in enumerate(objects):
            place = f"{where}.objects.{number}"
            entry = {"path": item} if isinstance(item, str) else item
            if not isinstance(entry, dict):
                self.wrong(place, f"{item!r}: a path, or a table with path, method and body")
                continue
            self.known(entry, _OBJECT, place)
            requests.append(self.request(entry, place))
        return Burst(tuple(requests), self.quantity(table, where, "think", duration_ns, think))

    def request(self, table: Mapping[str, Any], where: str) -> Request:
        path, method, body = table.get("path"), table.get("method"), table.get("body")
        size = self.quantity(table, where, "body_size", size_bytes, 0)
        try:
            checked_path(path if isinstance(path, str) else "")
        except InputError:
            self.wrong(f"{where}.path", f"path = {path!r}: a text that begins with / and has no blanks")
        if method is not None and (not isinstance(method, str) or not _METHOD.fullmatch(method)):
            self.wrong(f"{where}.method", f'method = {method!r}: a method such as "POST"')
        if body is not None and (not isinstance(body, str) or size):
            self.wrong(f"{where}.body", f"body = {body!r}: a text, and not together with body_size")
        if size > _MAX_BODY:
            self.wrong(f"{where}.body_size", f"body_size = {table['body_size']!r}: at most 1GiB")
            size = 0
        chosen = method or ("POST" if body or size else "GET")
        return Request(str(path), str(chosen), size or (len(body.encode()) if isinstance(body, str) else 0))

    def tables(self, value: Mapping[str, Any], where: str, key: str) -> list[tuple[str, Mapping[str, Any]]]:
        place = f"{where}.{key}".lstrip(".")
        found = value.get(key)
        if not isinstance(found, list) or not found or not all(isinstance(item, dict) for item in found):
            self.wrong(place, f"at least one [[{re.sub(r'[.][0-9]+', '', place)}]] is needed")
            return []
        return [(f"{place}.{number}", item) for number, item in enumerate(found)]

    def quantity(
        self, table: Mapping[str, Any], where: str, key: str, read: Callable[[str], int], default: int
    ) -> int:
        if key not in table:
            return default
        try:
            return read(str(table[key]))
        except InputError as error:
            self.wrong(f"{where}.{key}".lstrip("."), f"{key} = {error}")
            return default

    def known(self, table: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
        for key in table:
            if key not in keys:
                place = f"{where}.{key}".lstrip(".")
                self.wrong(place, f"unknown key {key!r}", f"keys here: {', '.join(keys)}")

    def wrong(self, where: str, message: str, hint: str = "") -> None:
        place = where
        while place and place not in self.places:
            place = place.rpartition(".")[0]
        line, column = self.places.get(place, (1, 1))
        self.problems.append(Problem(message, hint=hint, line=line, column=column, key=where))
