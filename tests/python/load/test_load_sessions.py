"""Session files: httperf's and ours."""

from __future__ import annotations

import pytest

from airperf.errors import ScenarioProblems
from airperf.testbed.load import Burst, Request, parse_sessions, parse_wsesslog

MS = 1_000_000
S = 1_000 * MS

MANUAL = r"""# Comment lines start with a ``#''
# session 1 definition
/foo.html think=2.0
     /pict1.gif
     /pict2.gif
/foo2.html method=POST contents='Post data'
	/pict3.gif
     /pict4.gif



# session 2 definition
/foo3.html method=POST contents="Multiline\ndata"
/foo4.html method=HEAD"""


def test_the_example_of_httperfs_manual() -> None:
    one, two = parse_wsesslog(MANUAL, "log", 500 * MS)
    pictures = [Request(f"/pict{n}.gif") for n in (1, 2, 3, 4)]
    assert one == (
        Burst((Request("/foo.html"), *pictures[:2]), 2 * S),
        Burst((Request("/foo2.html", "POST", 9), *pictures[2:]), 500 * MS),
    )
    assert two == (
        Burst((Request("/foo3.html", "POST", 14),), 500 * MS),
        Burst((Request("/foo4.html", "HEAD"),), 500 * MS),
    )


def test_contents_may_go_on_on_the_next_line() -> None:
    ((page,),) = parse_wsesslog("/a method=POST contents='x\\\ny' think=.5\n", "log", 0)
    assert page == Burst((Request("/a", "POST", 3),), 500 * MS)


WRONG = [
    ("/a thnk=2", 1, 4, "thnk"),
    ("/a think=x", 1, 10, "think time"),
    ("\n\n/a method=po", 3, 11, "method"),
    ("  /b", 1, 3, "no burst"),
    ("/a\n\n  /b", 3, 3, "no burst"),
    ("/a contents='x\n/b", 1, 13, "not closed"),
    ("/a contents='x", 1, 13, "never closed"),
    ("a", 1, 1, "begins with /"),
    ("/a think", 1, 4, "attribute"),
    ("# nothing\n\n", 1, 1, "no session"),
]


@pytest.mark.parametrize(("text", "line", "column", "word"), WRONG)
def test_what_is_wrong_is_told_with_line_and_column(text: str, line: int, column: int, word: str) -> None:
    with pytest.raises(ScenarioProblems, match=word) as caught:
        parse_wsesslog(text, "log", 0)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (line, column)


def test_all_problems_of_a_log_are_told_at_once() -> None:
    with pytest.raises(ScenarioProblems) as caught:
        parse_wsesslog("/a thnk=2\n\n /c\n/d contents='x\n/e\n/f think=x\n", "log", 0)
    assert [problem.line for problem in caught.value.problems] == [1, 3, 4, 6]


TOML = """
schema = 1
think = "2s"

[[session]]
weight = 2

[[session.page]]
path = "/index.html"
objects = ["/a.png", { path = "/b", method = "HEAD" }]

[[session.page]]
path = "/upload"
body_size = "10KiB"
think = "0s"

[[session]]
[[session.page]]
path = "/form"
body = "x=1"
method = "PUT"
"""


def test_a_session_file() -> None:
    sessions = parse_sessions(TOML, "s.toml")
    first = (
        Burst((Request("/index.html"), Request("/a.png"), Request("/b", "HEAD")), 2 * S),
        Burst((Request("/upload", "POST", 10240),), 0),
    )
    assert sessions == (first, first, (Burst((Request("/form", "PUT", 3),), 2 * S),))


def test_all_problems_of_a_session_file_are_told_at_once() -> None:
    text = """schema = 2
think = 2
[[session]]
weigh = 2
weight = 0
[[session.page]]
path = "a"
objects = ["/b", 3, { pat = "/c", body = "x", body_size = "1KB" }]
[[session]]
"""
    with pytest.raises(ScenarioProblems) as caught:
        parse_sessions(text, "s.toml")
    seen = {(problem.line, problem.key) for problem in caught.value.problems}
    assert seen == {
        (1, "schema"),
        (2, "think"),
        (4, "session.0.weigh"),
        (5, "session.0.weight"),
        (7, "session.0.page.0.path"),
        (8, "session.0.page.0.objects.1"),
        (8, "session.0.page.0.objects.2.pat"),
        (8, "session.0.page.0.objects.2.path"),
        (8, "session.0.page.0.objects.2.body_size"),
        (9, "session.1.page"),
    }


def test_text_that_is_no_toml_is_told_with_its_place() -> None:
    with pytest.raises(ScenarioProblems) as caught:
        parse_sessions("schema = 1\nsession = [", "s.toml")
    assert caught.value.problems[0].line
