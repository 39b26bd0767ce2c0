"""Making a page of which only statistics are known: how many objects and hosts, how long in all, the longest.

Model: the page itself is the longest object, as front pages of portals were; the others have lognormal sizes
(CV 1; Barford and Crovella 1998 for the shape), scaled so that the sum is the stated one and none is longer
than the longest. Objects take turns over the hosts. The page is HTML of words, which compresses as text does;
the others are GIFs of one pixel whose comments are random, which do not. Same file, same bytes. Leaves out
scripts and style sheets: the objects of such a page are found while it is parsed, all at one depth.
"""

from __future__ import annotations

import random
import tomllib
from typing import Any

from airperf.errors import InputError
from airperf.quantities import size_bytes
from airperf.sites.form import Recording

KEYS = {"schema", "name", "summary", "hosts", "objects", "bytes", "largest", "seed", "tls"}
WORDS = (
    "a about after all also an and any are as at be because been before but by can come could day do "
    "even first for from get give go good have he her him his how if in into it its just know like look "
    "make man many me more most my new no not now of on one only or other our out over people say see "
    "she so some take tell than that the their them then there these they thing think this time to two "
    "up use very want way we well what when which who will with work world would year you your"
).split()
LEAST = 60
"""Octets of the smallest object: a GIF of one pixel with a comment has at least 40."""
MOST_OBJECTS, MOST_HOSTS = 10_000, 1_000


def read_page(data: bytes, name: str, recording: Recording) -> None:
    """Adds the exchanges of a page file; ``InputError`` says what is wrong with it."""
    try:
        wanted = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{name}: {error}") from None
    if wanted.get("schema") != 1:
        raise InputError(f"{name}: schema version {wanted.get('schema')!r}, this airperf reads 1")
    if unknown := sorted(set(wanted) - KEYS):
        raise InputError(f"{name}: there is no key {unknown[0]!r}; keys are {', '.join(sorted(KEYS))}")
    objects, hosts = _count(wanted, "objects", name, MOST_OBJECTS), _count(wanted, "hosts", name, MOST_HOSTS)
    total, largest = (size_bytes(str(wanted.get(key, ""))) for key in ("bytes", "largest"))
    if hosts > objects:
        raise InputError(f"{name}: {hosts} hosts for {objects} objects; each host has at least one")
    if not largest + LEAST * (objects - 1) <= total <= largest * objects:
        raise InputError(f"{name}: {objects} objects of at most {largest} octets cannot have {total} in all")
    stream = random.Random(f"page {wanted.get('seed', 1)}")  # noqa: S311 - a repeatable page, no secret
    sizes = [largest, *_sizes(stream, objects - 1, total - largest, largest)]
    title = str(wanted.get("name", name.removesuffix(".toml")))
    scheme = "https" if wanted.get("tls", False) is True else "http"
    names = [f"www.{title}.example", *(f"images{i}.{title}.example" for i in range(1, hosts))]
    urls = [f"{scheme}://{names[place % hosts]}/{place:03d}.gif" for place in range(1, objects)]
    page = _html(stream, title, urls, largest)
    if len(page) != largest:
        raise InputError(f"{name}: the page of {largest} octets has no room to name {objects - 1} objects")
    recording.title = title
    recording.add(
        "GET", f"{scheme}://{names[0]}/", 200, [("content-type", "text/html; charset=us-ascii")], page
    )
    for url, size in zip(urls, sizes[1:], strict=True):
        recording.add("GET", url, 200, [("content-type", "image/gif")], _gif(stream, size))


def _count(wanted: dict[str, Any], key: str, name: str, most: int) -> int:
    value = wanted.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InputError(f"{name}: {key} = {value!r}; wanted a whole number from 1 to {most}")
    return value


def _sizes(stream: random.Random, count: int, total: int, largest: int) -> list[int]:
    """``count`` sizes with this sum, each from ``LEAST`` to ``largest``."""
    if not count:
        return []
    sigma = 0.8326  # of a lognormal whose CV is 1: sqrt(ln 2)
    weights = [stream.lognormvariate(0.0, sigma) for _ in range(count)]
    low, high = 0.0, float(total)
    for _ in range(200):  # the scale at which the clipped sizes have the sum
        scale = (low + high) / 2
        found = sum(min(largest, max(LEAST, weight * scale)) for weight in weights)
        low, high = (scale, high) if found < total else (low, scale)
    sizes = [round(min(largest, max(LEAST, weight * high))) for weight in weights]
    rest = total - sum(sizes)
    for place in sorted(range(count), key=lambda one: sizes[one]):  # what rounding left over
        step = max(LEAST - sizes[place], min(largest - sizes[place], rest))
        sizes[place] += step
        rest -= step
    return sizes


def _html(stream: random.Random, title: str, urls: list[str], size: int) -> bytes:
    """HTML of exactly ``size`` octets that names every URL; shorter when there is no room."""
    head = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>\n"
    tags = [f'<img src="{url}" width="40" height="40" alt="">\n' for url in urls]
    tail = "</body></html>\n"
    room = size - len(head) - len(tail) - sum(map(len, tags))
    if room < 0:
        return b""
    parts = [head]
    share, rest = divmod(room, len(tags) + 1)
    for place in range(len(tags) + 1):
        parts.append(_words(stream, share + (rest if place == 0 else 0)))
        parts.append(tags[place] if place < len(tags) else tail)
    return "".join(parts).encode("ascii")


def _words(stream: random.Random, size: int) -> str:
    text = ""
    while len(text) < size:
        text += stream.choice(WORDS) + " "
    return text[:size]


def _gif(stream: random.Random, size: int) -> bytes:
    """A GIF (version 89a, §24 for comments) of one pixel with exactly ``size`` octets."""
    head = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x69\x4d\xff\xff\xff"
    image = b"\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b"
    room = size - len(head) - len(image) - 3  # the comment's introducer, label and end
    blocks = -(-room // 256)
    each, more = divmod(room - blocks, blocks)
    comment = b""
    for block in range(blocks):
        length = each + (block < more)
        comment += bytes([length]) + stream.randbytes(length)
    return head + b"\x21\xfe" + comment + b"\x00" + image
