"""Experiment files: everything wrong is told at once, with its line, before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf.experiment.file import load_experiment

Call = Callable[..., Any]


def test_a_file_says_what_it_says(small: Path) -> None:
    experiment = load_experiment(small)
    sweep, knee = experiment.variants
    assert [factor.name for factor in sweep.factors] == ["rate", "preamble"]
    assert [choice.text for choice in sweep.factors[0].choices] == ["20/s", "40/s", "60/s"]
    assert sweep.factors[1].choices[1].settings == (("link.preamble", "short"),)
    assert (sweep.repetitions.at_least, sweep.repetitions.at_most) == (2, 5)
    assert (sweep.repetitions.share, sweep.repetitions.of) == (0.01, ("response_ms",))
    assert [factor.name for factor in knee.factors] == ["preamble"], (
        "the knee's own factor is searched, not swept"
    )
    assert knee.knee is not None
    assert len(knee.knee.factor.choices) == 36
    assert experiment.level == "summary"


def test_several_keys_take_the_same_level(small: Path) -> None:
    text = small.read_text().replace(
        'key = "client.rate"\nlevels', 'keys = ["client.rate", "link.queue"]\nlevels'
    )
    small.write_text(text)
    choice = load_experiment(small).variants[0].factors[0].choices[0]
    assert choice.settings == (("client.rate", "20/s"), ("link.queue", "20/s"))


def test_words_are_levels_in_their_order(small: Path) -> None:
    words = 'name = "arrivals"\nkey = "client.arrivals"\nlevels = ["deterministic", "poisson"]'
    small.write_text(
        small.read_text().replace('name = "rate"\nkey = "client.rate"\nlevels = "20..60 step 20 /s"', words)
    )
    choices = load_experiment(small).variants[0].factors[0].choices
    assert [(choice.number, choice.text) for choice in choices] == [(0.0, "deterministic"), (1.0, "poisson")]
    assert choices[1].settings == (("client.arrivals", "poisson"),)


def test_a_warmup_needs_tables(small: Path, call: Call) -> None:
    text = small.read_text().replace(', "queue_max.client"', "")
    small.write_text(text.replace("seed = 7", 'seed = 7\nwarmup = "mser-5"'))
    assert load_experiment(small).level == "analysis"
    small.write_text(text.replace("seed = 7", 'seed = 7\nwarmup = "mser-5"\nlevel = "summary"'))
    assert "no times to leave a warm-up out of" in call("experiment", str(small)).err


def test_measures_of_pages_need_tables(small: Path, call: Call) -> None:
    text = small.read_text().replace(', "queue_max.client"', ', "jain", "page_ms"')
    small.write_text(text)
    assert load_experiment(small).level == "analysis"
    small.write_text(text.replace("seed = 7", 'seed = 7\nlevel = "summary"'))
    assert "a run at level summary has no table for page_ms" in call("experiment", str(small)).err


@pytest.mark.parametrize(
    ("find", "replace", "line", "message"),
    [
        ("seed = 7", "sead = 7", 7, "did you mean seed?"),
        ("seed = 7", 'seed = 7\ndesign = "fractional"', 8, "unknown design 'fractional'"),
        ("seed = 7", 'seed = 7\ndesign = "random"', 8, "points of a random design is None"),
        ("seed = 7", "seed = 7\npoints = 4", 8, "a factorial design has the points of its levels"),
        ('"response_ms", ', '"response", ', 8, "unknown measure 'response'"),
        ("< 1%", "< 0%", 16, "is no precision"),
        ("half_width of response_ms", "width", 16, "is no precision"),
        ("at_most = 5", "at_most = 1", 18, "whole numbers from 2 to"),
        ('key = "client.rate"\nlevels', "levels", 0, "key 'key' is missing"),
        ("20..60 step 20 /s", "60..20 step 20 /s", 23, "runs backwards"),
        ('name = "preamble"', 'name = "rate"', 20, "two factors are called 'rate'"),
        ('{ name = "long", set =', '{ name = "long", sat =', 28, "a level here needs a name and a set"),
        ("20..300 step 8 /s", "20..40 step 20 /s", 34, "at least three rising levels"),
        (
            'step 20 /s"\n\n[[factor]]\nname = "pre',
            'step 20 /s"\nbase = "30/s"\n\n[[factor]]\nname = "pre',
            24,
            "is no level of rate",
        ),
        ("schema = 1", "schema = 2", 2, "this airperf reads 1"),
    ],
)
def test_fault_38_a_bad_experiment_is_refused_with_its_line(
    call: Call, small: Path, tmp_path: Path, find: str, replace: str, line: int, message: str
) -> None:
    text = small.read_text()
    assert find in text
    small.write_text(text.replace(find, replace, 1))
    answer = call("experiment", str(small), "--out", str(tmp_path / "out"))
    assert answer.code == 2
    assert message in answer.err
    assert "nothing was started" in answer.err
    if line:
        assert f"small.toml:{line}:" in answer.err
    assert not (tmp_path / "out").exists()


def test_fault_38_several_problems_are_told_together(call: Call, small: Path) -> None:
    text = small.read_text().replace("seed = 7", "sead = 7").replace('"response_ms", ', '"response", ')
    small.write_text(text.replace("20..60", "60..20"))
    answer = call("experiment", str(small))
    assert "3 problems; nothing was started" in answer.err


def test_fault_38_levels_that_the_scenario_refuses(call: Call, small: Path, tmp_path: Path) -> None:
    small.write_text(small.read_text().replace("20..300 step 8 /s", "20..300 step 20 ms"))
    answer = call("experiment", str(small), "--out", str(tmp_path / "out"))
    assert answer.code == 2
    assert "300ms" in answer.err
    assert not (tmp_path / "out").exists()


def test_fault_38_unknown_places(call: Call, small: Path) -> None:
    assert "no such experiment file" in call("experiment", "nowhere.toml").err
    for shard in ("0/2", "3/2", "1", "a/b"):
        answer = call("experiment", str(small), "--shard", shard)
        assert answer.code == 2
        assert "write 1/4 for the first of four parts" in answer.err
    small.write_text(small.read_text().replace("bai2006-e1", "moon"))
    assert "installed scenarios: bad-apple, bai2006-e1" in call("experiment", str(small)).err


def test_dry_run_starts_nothing_and_says_that_there_may_be_more(
    call: Call, small: Path, tmp_path: Path
) -> None:
    answer = call("experiment", str(small), "--dry-run", "--out", str(tmp_path / "out"))
    assert answer.code == 0
    assert "experiment/sweep/sim/rate=20,preamble=long/r0" in answer.out
    assert "would make 16 on sim" in answer.out  # 6 combinations twice; of 4 searches the upper ends
    assert "their values decide whether there are more" in answer.out
    assert not (tmp_path / "out").exists()


def test_the_scenario_may_stand_beside_the_file(call: Call, small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'schema = 1\nname = "mine"\nduration = "1s"\n[link]\nkind = "wifi"\n'
        '[[client]]\nrate = "5/s"\nsize = "1KiB"\n'
    )
    small.write_text('schema = 1\nscenario = "mine.toml"\nrepetitions = 1\nmeasures = ["carried_rps"]\n')
    answer = call("experiment", str(small), "--json", "--out", str(tmp_path / "out"))
    assert answer.code == 0, answer.err
    (row,) = answer.json["results"]
    assert (row["measure"], row["value"], row["n"], row["low"]) == ("carried_rps", 5.0, 1, None)
