"""Which tokens stand alone: the cut must lose no token and no mass."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import law_pairs

from lab.groups import group_labels, leading, together

weights = st.lists(st.integers(0, 4).map(Fraction), min_size=1, max_size=20)


@given(weights, st.integers(2, 24))
def test_every_token_is_in_exactly_one_group(values, most):
    groups = leading(values, most)
    assert sorted(i for group in groups for i in group) == list(range(len(values)))
    assert len(groups) == min(len(values), most)


@given(weights, st.integers(2, 24))
def test_few_tokens_stand_alone_and_in_order(values, most):
    groups = leading(values, most)
    alone = groups[:-1] if len(values) > most else groups
    assert all(len(group) == 1 for group in alone)
    assert [group[0] for group in alone] == sorted(group[0] for group in alone)
    assert all(list(group) == sorted(group) for group in groups)


@given(weights, st.integers(2, 24))
def test_no_token_in_the_rest_outweighs_one_that_is_named(values, most):
    *named, rest = leading(values, most)
    for other in rest if len(values) > most else ():
        for (i,) in named:
            assert (values[i], -i) > (values[other], -other)


@given(law_pairs(most=12), st.integers(2, 6))
def test_mass_is_kept(pair, most):
    p, q = pair
    groups = leading(tuple(map(max, p, q)), most)
    for law in (p, q):
        taken = together(law, groups)
        assert sum(taken) == 1
        assert len(taken) == len(groups)
        for mass, group in zip(taken, groups, strict=True):
            assert mass == sum(law[i] for i in group)


def test_the_rest_says_how_many_it_is():
    groups = leading([Fraction(1)] * 5001, 30)
    labels = group_labels([f"t{i}" for i in range(5001)], groups)
    assert labels == (*(f"t{i}" for i in range(29)), "4,972 others")


@pytest.mark.parametrize("name", ["2 others", "2␣others"])
def test_a_token_cannot_pass_for_the_rest(name):
    labels = group_labels([name, "b", "c"], ((0,), (1, 2)))
    assert len(set(labels)) == 2


def test_duplicates_keep_the_position_they_have_among_all_tokens():
    # Numbered within the drawn ones only, "the #2" would point at another token.
    groups = leading([Fraction(3), Fraction(0), Fraction(0), Fraction(2)], 3)
    assert group_labels(["the", "x", "y", "the"], groups)[:2] == ("the #1", "the #4")
