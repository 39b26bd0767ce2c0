"""Recordings are read into sites: what is kept, cleaned, refused; nothing is lost silently."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf.errors import InputError
from airperf.scenario.pages import page_plan
from airperf.sites import Kept, Recording, open_site, read_recording, write_site
from airperf.sites import form as site_form

Har = Callable[..., Path]


def exchange(url: str = "https://www.example.org/", **more: Any) -> dict[str, Any]:
    """A minimal exchange of a HAR."""
    response = {"status": 200, "headers": [], "content": {"text": "x"}, **more.pop("response", {})}
    return {"request": {"method": "GET", "url": url}, "response": response, **more}


def test_a_har_becomes_a_site(har: Har, tmp_path: Path) -> None:
    recording, source = read_recording(har())
    site = write_site(recording, tmp_path / "site", source)
    assert site == open_site(tmp_path / "site")
    assert site.origins == (
        "https://www.example.org",
        "https://static.example.net",
        "https://pictures.example.org:8443",
        "http://plain.example.org:8080",
    )
    written = json.loads((tmp_path / "site" / "site.json").read_text())
    first = written["entries"][0]
    body = (tmp_path / "site" / "bodies" / first["body"]).read_bytes()
    assert ["content-encoding", "gzip"] in first["headers"], "what was compressed stays compressed"
    assert b"<p>Hello." in gzip.decompress(body)
    assert first["think_ns"] == 20_000_000, "wait 40 ms less the round trip of 20 ms"
    assert written["entries"][2]["target"] == "/p.png?t=1700000000"


def test_cookies_and_passwords_are_left_out_unless_asked_for(har: Har, tmp_path: Path) -> None:
    def text(name: str, kept: Kept) -> str:
        recording, source = read_recording(har(), kept)
        site = write_site(recording, tmp_path / name, source)
        assert site.notes.get("fields with cookies and passwords", 0) == (0 if kept.cookies else 1)
        return (tmp_path / name / "site.json").read_text()

    assert "secret" not in text("without", Kept())
    assert "id=secret" in text("with", Kept(cookies=True))


def test_bodies_that_are_missing_take_their_time(har: Har) -> None:
    content = {"size": 5_000, "mimeType": "image/png"}
    recording, _ = read_recording(har(exchange(response={"content": content})))
    assert recording.entries[0]["body_bytes"] == 5_000
    assert recording.notes["bodies that the file does not hold, filled with zeros"] == 1


@pytest.mark.parametrize(
    ("url", "note"),
    [
        ("data:text/plain,x", "exchanges that are not HTTP (data:, blob:, WebSocket)"),
        ("wss://www.example.org/", "exchanges that are not HTTP (data:, blob:, WebSocket)"),
        ("https:///no-host", "URLs that are none"),
        ("https://a b/", "URLs that are none"),
        ("https://www.example.org:99999/", "URLs that are none"),
        ("https://../../etc/passwd", "URLs that are none"),
        ("https://[::1/", "URLs that are none"),
        ("https://www.example.org/" + "a" * 70_000, "URLs over 65536 octets"),
    ],
)
def test_hostile_urls_are_left_out_and_counted(har: Har, url: str, note: str) -> None:
    recording, _ = read_recording(har(exchange(url), exchange()))
    assert len(recording.entries) == 1
    assert recording.notes == {note: 1}


def test_absurd_headers_are_left_out_and_counted(har: Har) -> None:
    fields = [
        {"name": "X-Split", "value": "a\r\nSet-Cookie: b"},
        {"name": "bad name", "value": "x"},
        {"name": "X-Long", "value": "a" * 20_000},
        *({"name": f"X-{i}", "value": "v"} for i in range(300)),
        "no object",
        {"name": "Transfer-Encoding", "value": "chunked"},
    ]
    recording, _ = read_recording(har(exchange(response={"headers": fields})))
    assert len(recording.entries[0]["headers"]) == 200
    assert recording.notes["header fields that are too many, too long or malformed"] == 103


def test_bombs_are_cut(har: Har, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = exchange(response={"content": {"size": 10**15}})
    recording, _ = read_recording(har(claimed, exchange("https://www.example.org/2")))
    assert recording.entries[0]["body_bytes"] == 0
    assert recording.notes["of these too long to fill, left empty"] == 1
    monkeypatch.setattr(site_form, "MOST_SITE_BYTES", 10_000)
    many = [
        exchange(f"https://www.example.org/{i}", response={"content": {"text": str(i) * 4_000}})
        for i in range(9)
    ]
    recording, _ = read_recording(har(*many))
    assert sum(len(body) for body in recording.bodies.values()) <= 10_000
    assert len(recording.entries) == 9
    packed = tmp_path / "deep.har"
    packed.write_bytes(b"[" * 200_000)
    with pytest.raises(InputError, match=r"no whole HAR|nested too deeply"):
        read_recording(packed)


def test_the_same_url_twice_is_kept_twice(har: Har) -> None:
    recording, _ = read_recording(har(exchange(), exchange(response={"content": {"text": "later"}})))
    assert [entry["target"] for entry in recording.entries] == ["/", "/"]
    assert len(recording.bodies) == 2


def test_what_the_browser_had_is_served_whole(har: Har) -> None:
    recording, _ = read_recording(har(exchange(response={"status": 304, "content": {"text": "kept"}})))
    assert recording.entries[0]["status"] == 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"log": {"entries": [', r"page\.har:1:22: .*no whole HAR file"),
        (b'{"log": {}}', "there is no log.entries"),
        (b'{"log": {"entries": 3}}', "log.entries is no list"),
        (b"\xff\xfe\x00", "octet 0 is not UTF-8"),
        (b"\x1f\x8b\x08\x00broken", "gzip that is damaged"),
    ],
)
def test_what_is_no_har_is_refused_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "page.har"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_recording(path)


def test_a_recording_of_nothing_says_what_it_held(har: Har, tmp_path: Path) -> None:
    recording, source = read_recording(har(exchange("blob:https://x/1")))
    with pytest.raises(InputError, match=r"no exchange that could be hosted \(1 exchanges that are not HTTP"):
        write_site(recording, tmp_path / "site", source)
    assert not (tmp_path / "site").exists()


def record(kind: str, url: str, content: bytes, **fields: str) -> bytes:
    """One record as ISO 28500 writes it."""
    head = {"WARC-Type": kind, "WARC-Target-URI": url, "WARC-Record-ID": f"<urn:{kind}:{url}>", **fields}
    head["Content-Length"] = str(len(content))
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in head.items())
    return b"WARC/1.0\r\n" + lines.encode() + b"\r\n" + content + b"\r\n\r\n"


def warc(path: Path, *, packed: bool = True) -> Path:
    """A WARC file with a name, a page, a form that was sent, and a revisit."""
    site = "http://www.example.org"
    typed = {"Content_Type": "application/http; msgtype=response"}
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    names = b"20261121100000\nwww.example.org.\t300\tIN\tA\t192.0.2.1\n"
    records = [
        record("response", "dns:www.example.org", names, Content_Type="text/dns"),
        record("response", f"{site}/", reply + b"<p>page", WARC_Payload_Digest="sha1:PAGE", **typed),
        record("response", f"{site}/form", reply + b"thanks", WARC_Payload_Digest="sha1:FORM", **typed),
        record(
            "request",
            f"{site}/form",
            b"POST /form HTTP/1.1\r\nHost: www.example.org\r\n\r\n",
            Content_Type="application/http; msgtype=request",
            WARC_Concurrent_To=f"<urn:response:{site}/form>",
        ),
        record("revisit", f"{site}/again", reply, WARC_Payload_Digest="sha1:PAGE", **typed),
    ]
    path.write_bytes(b"".join(gzip.compress(one) if packed else one for one in records))
    return path


@pytest.mark.parametrize("packed", [True, False])
def test_a_warc_becomes_a_site(tmp_path: Path, packed: bool) -> None:
    recording, source = read_recording(warc(tmp_path / "page.warc.gz", packed=packed))
    assert source["kind"] == "warc"
    assert [(e["method"], e["target"]) for e in recording.entries] == [
        ("GET", "/"),
        ("POST", "/form"),
        ("GET", "/again"),
    ]
    assert recording.bodies[recording.entries[2]["body"]] == b"<p>page", (
        "a revisit has the body of what it revisits"
    )
    assert recording.ttls == {"www.example.org": 300}


@pytest.mark.parametrize("packed", [True, False])
def test_a_damaged_warc_is_read_up_to_there(tmp_path: Path, packed: bool) -> None:
    path = warc(tmp_path / "page.warc.gz", packed=packed)
    path.write_bytes(path.read_bytes()[:-60])
    recording, _ = read_recording(path)
    assert [entry["target"] for entry in recording.entries][:2] == ["/", "/form"]
    assert recording.notes["places where the file is damaged; what follows is left out"] == 1


def test_a_folder_is_one_host_or_one_for_each(tmp_path: Path) -> None:
    (tmp_path / "one" / "sub").mkdir(parents=True)
    (tmp_path / "one" / "index.html").write_text("<p>one")
    (tmp_path / "one" / "sub" / "a b.css").write_text("p {}")
    (tmp_path / "one" / "way-out").symlink_to("/etc/passwd")
    recording, _ = read_recording(tmp_path / "one")
    assert list(recording.origins) == [("http", "site.test", 80)]
    assert [entry["target"] for entry in recording.entries] == ["/index.html", "/", "/sub/a%20b.css"]
    assert recording.notes == {"symbolic links": 1}
    for host in ("www.example.org", "static.example.net:8080"):
        (tmp_path / "two" / host).mkdir(parents=True)
        (tmp_path / "two" / host / "x.txt?v=1").write_text(host)
    recording, _ = read_recording(tmp_path / "two")
    assert list(recording.origins) == [("http", "static.example.net", 8080), ("http", "www.example.org", 80)]
    assert recording.entries[0]["target"] == "/x.txt?v=1"


def test_a_site_is_not_written_over(har: Har, tmp_path: Path) -> None:
    recording, source = read_recording(har())
    write_site(recording, tmp_path / "site", source)
    with pytest.raises(InputError, match="there is a site already"):
        write_site(recording, tmp_path / "site", source)


def test_names_that_are_not_ascii_are_as_on_the_wire() -> None:
    recording = Recording("x")
    assert recording.add("GET", "https://bücher.example/straße?q=ä b", 200, [], b"")
    assert list(recording.origins) == [("https", "xn--bcher-kva.example", 443)]
    assert recording.entries[0]["target"] == "/stra%C3%9Fe?q=%C3%A4%20b"


PAGES = sorted((Path(__file__).parents[3] / "scenarios" / "pages").glob("*.toml"))


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_a_page_has_the_statistics_that_were_published(path: Path) -> None:
    recording, _ = read_recording(path)
    again, _ = read_recording(path)
    assert recording.entries == again.entries, "the same file gives the same bytes"
    published = {
        "pam2004-mail": (4, 11, 36.7, 11.0),
        "pam2004-yahoo": (6, 16, 60.3, 36.0),
        "pam2004-amazon": (3, 42, 91.9, 46.8),
        "pam2004-cnn": (6, 67, 186.8, 22.3),
    }
    sizes = [entry["body_bytes"] for entry in recording.entries]
    found = (len(recording.origins), len(sizes), round(sum(sizes) / 1024, 1), round(max(sizes) / 1024, 1))
    assert found == published[path.stem]
    page = recording.bodies[recording.entries[0]["body"]].decode("ascii")
    assert page.count("<img src=") == len(sizes) - 1
    packed = page_plan(path.read_text(), path.name).objects[0].packed_bytes
    assert len(gzip.compress(page.encode(), 6)) == pytest.approx(packed, rel=0.1), (
        "a page of words compresses"
    )
    pictures = [recording.bodies[entry["body"]] for entry in recording.entries[1:]]
    assert all(picture.startswith(b"GIF89a") and picture.endswith(b"\x3b") for picture in pictures)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("objects = 0", "objects = 0: is out of range"),
        ("hosts = 50", "50 hosts for 16 objects"),
        ('bytes = "99MB"', "16 objects of at most 36864 octets cannot have 99000000 in all"),
        ('bytes = "ten"', r"page\.toml:11:9: .*no number"),
        ("colour = 1", "colour: there is no such key"),
        ("schema = 2", "schema = 2: is out of range"),
        ("objects = ", r"page\.toml:11:11: this is not TOML"),
    ],
)
def test_a_page_that_cannot_be_is_refused(tmp_path: Path, change: str, message: str) -> None:
    text = next(path for path in PAGES if path.stem == "pam2004-yahoo").read_text()
    key = change.partition(" = ")[0]
    kept = [line for line in text.splitlines() if not line.startswith(f"{key} =")]
    path = tmp_path / "page.toml"
    path.write_text("\n".join([*kept, change]))
    with pytest.raises(InputError, match=message):
        read_recording(path)
