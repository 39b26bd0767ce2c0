"""Designs: which combinations of levels each kind asks for."""

from __future__ import annotations

from collections import Counter

from airperf.experiment.factors import Choice, Design, Factor, combinations, label, slug


def factor(name: str, count: int, base: int = 0) -> Factor:
    choices = tuple(Choice(name, float(n), f"{n}/s", ((f"key.{name}", f"{n}/s"),)) for n in range(count))
    return Factor(name, (f"key.{name}",), choices, base)


def numbers(design: Design, *factors: Factor, seed: int = 1) -> list[tuple[float, ...]]:
    return [tuple(c.number for c in found) for found in combinations(design, factors, seed)]


def test_factorial_has_every_combination_once_with_the_last_factor_fastest() -> None:
    found = numbers(Design("factorial"), factor("a", 2), factor("b", 3))
    assert found == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_no_factor_is_the_scenario_as_it_is() -> None:
    assert combinations(Design("factorial"), (), 1) == [()]
    assert combinations(Design("one-factor"), (), 1) == [()]


def test_one_factor_varies_one_at_a_time_around_the_base() -> None:
    found = numbers(Design("one-factor"), factor("a", 3, base=1), factor("b", 3, base=2))
    assert found == [(0, 2), (1, 2), (2, 2), (1, 0), (1, 1)]


def test_latin_hypercube_takes_every_level_equally_often() -> None:
    found = combinations(Design("latin-hypercube", 12), (factor("a", 12), factor("b", 12)), 3)
    assert len(found) == 12
    for place in (0, 1):
        assert set(Counter(row[place].number for row in found).values()) == {1}


def test_drawn_designs_depend_on_the_seed_and_nothing_else() -> None:
    for kind in ("random", "latin-hypercube"):
        design = Design(kind, 20)
        factors = (factor("a", 50), factor("b", 50))
        assert numbers(design, *factors, seed=1) == numbers(design, *factors, seed=1)
        assert numbers(design, *factors, seed=1) != numbers(design, *factors, seed=2)


def test_a_combination_that_is_drawn_twice_counts_once() -> None:
    found = numbers(Design("random", 200), factor("a", 3), factor("b", 2))
    assert len(found) == len(set(found)) == 6


def test_names_of_folders_hold_nothing_that_a_path_could_mean() -> None:
    odd = Choice("../rate", 0.0, "a/../../b c", ())
    assert slug((odd,)) == ".._rate-a_.._.._b_c"
    assert "/" not in slug((odd,) * 50)
    assert len(slug((odd,) * 50)) <= 96
    assert slug(()) == "base"


def test_levels_are_called_by_their_number_only_where_they_have_one() -> None:
    assert label(Choice("rate", 10.0, "10/s", ())) == "10"
    assert label(Choice("size", 0.5, "0.5KiB", ())) == "0.5"
    assert label(Choice("network", 0.0, "802.11b", ())) == "802.11b"
    assert label(Choice("network", 2.0, "wired", ())) == "wired"
