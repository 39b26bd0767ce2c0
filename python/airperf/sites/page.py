"""Making a page from its file: contents for objects of which only sizes and places are known.

Model: what consists of what is ``scenario.pages``'. The page, and whatever names other objects, is HTML of
words, which compresses as text does, with every object named where the file says; the others are GIFs of one
pixel whose comments are random, which do not compress. Same file, same bytes.
"""

from __future__ import annotations

import random

from airperf.errors import InputError
from airperf.scenario.pages import PagePlan, page_plan
from airperf.sites.form import Recording

WORDS = (
    "a about after all also an and any are as at be because been before but by can come could day do "
    "even first for from get give go good have he her him his how if in into it its just know like look "
    "make man many me more most my new no not now of on one only or other our out over people say see "
    "she so some take tell than that the their them then there these they thing think this time to two "
    "up use very want way we well what when which who will with work world would year you your"
).split()
TYPES = {True: "text/html; charset=us-ascii", False: "image/gif"}


def read_page(data: bytes, name: str, recording: Recording) -> None:
    """Adds the exchanges of a page file; ``InputError`` says what is wrong with it."""
    try:
        plan = page_plan(data.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: {error}") from None
    stream = random.Random(f"page {plan.seed or 0}")  # noqa: S311 - a repeatable page, no secret
    urls = [page_url(plan, place) for place in range(len(plan.objects))]
    recording.title = plan.name
    naming = {one.found_in for one in plan.objects}
    tags = [_tag(url, framed=place in naming) for place, url in enumerate(urls)]
    for place, (url, one) in enumerate(zip(urls, plan.objects, strict=True)):
        named = [(two.found_at, tags[at]) for at, two in enumerate(plan.objects) if two.found_in == place]
        text = place in naming or place == 0
        body = _html(stream, plan.name, sorted(named), one.bytes) if text else _gif(stream, one.bytes)
        if len(body) != one.bytes:
            room = f"object {place} of {one.bytes} octets has no room to name {len(named)} others"
            raise InputError(f"{name}: {room}")
        recording.add("GET", url, 200, [("content-type", TYPES[text])], body, one.think_ns)


def page_url(plan: PagePlan, place: int) -> str:
    """The URL of the object at this place."""
    host, tls = plan.hosts[plan.objects[place].host]
    scheme = "https" if tls else "http"
    return f"{scheme}://{host}/" + (f"{place:03d}.gif" if place else "")


def _tag(url: str, *, framed: bool) -> str:
    return (
        f'<iframe src="{url}"></iframe>\n' if framed else f'<img src="{url}" width="40" height="40" alt="">\n'
    )


def _html(stream: random.Random, title: str, named: list[tuple[int, str]], size: int) -> bytes:
    """HTML of exactly ``size`` octets with every tag before its offset; longer when there is no room."""
    text = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>\n"
    tail = "</body></html>\n"
    for at, tag in named:
        text += _words(stream, min(at, size - len(tail)) - len(tag) - len(text)) + tag
    if not named and len(text) + len(tail) > size:
        return _words(stream, size).encode("ascii")
    text += _words(stream, size - len(tail) - len(text)) + tail
    return text.encode("ascii")


def _words(stream: random.Random, size: int) -> str:
    text = ""
    while len(text) < size:
        text += stream.choice(WORDS) + " "
    return text[: max(size, 0)]


def _gif(stream: random.Random, size: int) -> bytes:
    """A GIF (version 89a, §24 for comments) of one pixel of ``size`` octets; below 40 they are random."""
    head = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x69\x4d\xff\xff\xff"
    image = b"\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b"
    room = size - len(head) - len(image) - 3  # the comment's introducer, label and end
    if room < 2:
        return stream.randbytes(size)
    blocks = -(-room // 256)
    each, more = divmod(room - blocks, blocks)
    comment = b""
    for block in range(blocks):
        length = each + (block < more)
        comment += bytes([length]) + stream.randbytes(length)
    return head + b"\x21\xfe" + comment + b"\x00" + image
