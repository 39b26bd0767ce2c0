"""Whom a load generator may be aimed at."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from airperf.errors import InputError
from airperf.testbed.load import parse_url, resolve
from airperf.testbed.load.target import Url


def test_urls_are_taken_apart() -> None:
    assert parse_url("http://127.0.0.1:8080/a?b=c") == Url("127.0.0.1", 8080, "/a?b=c")
    assert parse_url("localhost:81") == Url("localhost", 81, "/")
    assert parse_url("http://[::1]/x") == Url("::1", 80, "/x")
    assert parse_url("http://[::1]:81/x").authority == "[::1]:81"
    assert parse_url("http://h/x").authority == "h"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("https://127.0.0.1/", "TLS"),
        ("ftp://127.0.0.1/", "ftp"),
        ("http:///x", "no host"),
        ("http://h:0/", "port"),
        ("http://h:70000/", "URL"),
        ("http://u:p@h/", "user name"),
        ("http://h/a b", "blanks"),
        ("http://h/a#b", "fragment"),
        ("http://[::1/", "URL"),
    ],
)
def test_urls_that_cannot_be_loaded_say_why(text: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        parse_url(text)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "localhost", "[::1]"])
def test_loopback_may_be_loaded(host: str) -> None:
    assert not resolve(parse_url(f"http://{host}/")).vouched


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "10.0.0.1", "[2001:db8::1]", "255.255.255.255", "169.254.169.254"]
)
def test_targets_outside_the_lab_are_refused(host: str) -> None:
    with pytest.raises(InputError, match="--allow-target"):
        resolve(parse_url(f"http://{host}/"))


def test_a_target_outside_must_be_named_itself() -> None:
    url = parse_url("http://192.0.2.1/")
    assert resolve(url, ["192.0.2.1"]).vouched
    with pytest.raises(InputError, match=r"192\.0\.2\.1 may not be loaded"):
        resolve(url, ["192.0.2.2", "192.0.2.0/24", "*"])


def test_a_name_is_resolved_once_and_judged_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = (2, 1, 6, "", ("192.0.2.7", 0))
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [entry])
    url = parse_url("http://localhost.example:8080/")
    with pytest.raises(InputError, match=r"localhost\.example \(192\.0\.2\.7\)"):
        resolve(url)
    target = resolve(url, ["localhost.example"])
    assert (target.address, target.vouched) == ("192.0.2.7", True)


def ip(namespace: Path, *words: str) -> None:
    subprocess.run(["nsenter", f"--net={namespace}", "ip", *words], check=True)


def test_a_closed_namespace_is_the_lab_and_an_open_one_is_not(namespace: Path) -> None:
    url = parse_url("http://10.77.0.1:8080/")
    assert not resolve(url, namespaces=[str(namespace)]).vouched
    ip(namespace, "route", "add", "default", "dev", "lo")  # stands for any that leads out
    with pytest.raises(InputError, match="default route"):
        resolve(url, namespaces=[str(namespace)])
    assert resolve(url, ["10.77.0.1"], [str(namespace)]).vouched


def test_our_own_namespace_is_not_the_lab() -> None:
    with pytest.raises(InputError, match="may not be loaded"):
        resolve(parse_url("http://192.0.2.1/"), namespaces=["/proc/self/ns/net"])
    with pytest.raises(InputError, match="no such network namespace"):
        resolve(parse_url("http://192.0.2.1/"), namespaces=["airperf-no-such"])
