"""Blocks against an enumeration of all their paths, the published cases, and exact bookkeeping."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from block_oracle import accepted_law, autoregressive, emitted_law, generate, play
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lab import LabError
from lab.block import (
    LONGEST,
    MOST_SEQUENCES,
    RULES,
    TooLargeError,
    _advance,
    _advance_jointly,
    _Pair,
    _Rows,
    block_law,
    block_verification_law,
    completed_law,
    distance,
    generated_law,
    keep_testing_law,
    target_law,
)
from lab.draws import MOST_DRAWS, Choices, draw_block, draw_blocks
from lab.errors import EntryError, TotalError
from lab.models import by_position, from_function, markov, ngrams, nursery_rhyme, table
from lab.wheel import Wheel, toss
from lab.worth import ConstantRate, best_draft_length, emitted_per_call, speedups

RIGHT = ("token-by-token", "block-verification")
FAULTY = tuple(rule for rule in RULES if rule not in RIGHT)
STOP = "</s>"


def words(law):
    """A law keyed as the cases write it: tokens with spaces between."""
    return {" ".join(tokens): mass for tokens, mass in law.items()}


def fractions(law):
    return {key: Fraction(value) for key, value in law.items()}


# ---------------------------------------------------------------- random small models


@dataclasses.dataclass(frozen=True)
class Case:
    """Two models whose rows depend on the whole history, and how to run them."""

    tokens: str
    pool: tuple  # of pairs of rows
    key: int
    k: int
    stop: str | None

    def rows(self, which):
        """The oracle's and the model's view of the target (0) or the draft (1)."""

        def row(history):
            # any mixing of all positions and tokens will do
            place = self.key
            for token in history:
                place = (place * 7 + self.tokens.index(token) * 3 + 1) % 1009
            # Often both rows are of one pair, but one target row meets several draft rows.
            own_way = which * (place // 8 % 2)
            return self.pool[(place + own_way) % len(self.pool)][which]

        return row

    def models(self, guard=None):
        """Target and draft; `guard` looks at each history that one of them is asked for."""

        def watched(which):
            row = self.rows(which)

            def asked(history):
                if guard:
                    guard("target" if which == 0 else "draft", history)
                return row(history)

            return from_function(asked, self.tokens)

        return watched(0), watched(1)

    @property
    def setting(self):
        return {"draft_length": self.k, "stop": self.stop}

    def played(self, rule):
        return play(rule, self.tokens, self.rows(0), self.rows(1), self.k, self.stop)


@st.composite
def cases(draw, tokens=3, drafts=3):
    n = draw(st.integers(1, tokens))
    weights = st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any)

    def law(counts):
        return tuple(Fraction(count, sum(counts)) for count in counts)

    def pair():
        kind = draw(st.sampled_from(["any", "any", "any", "equal", "disjoint"]))
        p = draw(weights)
        if kind == "equal":
            return law(p), law(p)
        if kind == "disjoint" and n > 1:
            cut = draw(st.integers(1, n - 1))
            left = [1 + w if x < cut else 0 for x, w in enumerate(p)]
            right = [0 if x < cut else 1 + w for x, w in enumerate(draw(weights))]
            return law(left), law(right)
        return law(p), law(draw(weights))

    pool = tuple(pair() for _ in range(draw(st.integers(1, 6))))
    names = "ABCD"[:n]
    return Case(
        names,
        pool,
        draw(st.integers(0, 1008)),
        draw(st.integers(0, drafts)),
        draw(st.sampled_from([None, *names])),
    )


# ---------------------------------------------------------------- the theorem


@settings(max_examples=150)
@given(cases(drafts=5), st.integers(1, 4))
def test_block_after_block_is_the_target(case, length):
    target, draft = case.models()
    expected = target_law(target, length=length, stop=case.stop)
    assert expected == autoregressive(case.tokens, case.rows(0), case.stop, length)
    assert sum(expected.values()) == 1
    for rule in RIGHT:
        assert expected == generated_law(target, draft, **case.setting, length=length, rule=rule)
    assert generated_law(target, draft, **case.setting, length=length) == expected


@settings(max_examples=150)
@given(cases())
def test_a_block_is_what_all_its_paths_add_up_to(case):
    target, draft = case.models()
    for rule in RULES:
        outcomes = case.played(rule)
        law = block_law(target, draft, **case.setting, rule=rule)
        assert law.emitted == emitted_law(outcomes)
        assert law.accepted_count == accepted_law(outcomes)
        assert sum(law.emitted.values()) == sum(law.accepted_count.values()) == 1
        assert 0 not in law.emitted.values() and 0 not in law.accepted_count.values()

        def mean(what, outcomes=outcomes):
            return sum(what(*key) * part for key, part in outcomes.items())

        assert law.expected_emitted == mean(lambda emitted, accepted, end: len(emitted))
        assert law.expected_accepted == mean(lambda emitted, accepted, end: accepted)
        assert law.rejected == mean(lambda emitted, accepted, end: end == "replaced")
        assert law.none_rejected == mean(lambda emitted, accepted, end: end != "replaced")
        assert law.bonus == mean(lambda emitted, accepted, end: end == "bonus")
        assert law.all_accepted == mean(lambda emitted, accepted, end: accepted == case.k)
        assert law.accepted_bars == tuple(
            mean(lambda emitted, accepted, end, k=k: accepted == k) for k in range(case.k + 1)
        )
        assert law.share_accepted == (law.expected_accepted / case.k if case.k else None)
        assert (law.rule, law.draft_length) == (rule, case.k)
        if rule in RIGHT:
            # one replacement or one bonus, never both; neither only after a kept stop token
            assert law.expected_emitted - law.expected_accepted == law.rejected + law.bonus
            assert all(len(emitted) <= case.k + 1 for emitted in law.emitted)


def test_what_is_found_by_a_row_s_identity_holds_on_to_the_row(monkeypatch):
    # A model that forgets makes new rows, which may stand in the memory of rows that are gone.
    monkeypatch.setattr("lab.models._MOST_KEPT", 1)
    target, draft = (from_function(lambda history: ["1/2", "1/2"], "AB") for _ in range(2))
    rows = _Rows(target, draft)
    for history in ((), ("A",), (), ("B",)):
        pair, alone = rows.pair(history), rows.bonus(history)
        assert pair.rows[0] is alone.row is target(history)
        assert pair.rows[1] is draft(history)
    assert len(rows._pairs) == len(rows._bonus) == 4  # each time a new row


@settings(max_examples=80)
@given(cases(), st.integers(1, 5))
def test_a_block_completed_by_the_target_is_the_target(case, length):
    target, draft = case.models()
    expected = target_law(target, length=length, stop=case.stop)
    for rule in RIGHT:
        law = block_law(target, draft, **case.setting, rule=rule)
        completed = completed_law(law, target, length=length, stop=case.stop)
        assert completed == expected and distance(completed, expected) == 0


@settings(max_examples=40)
@given(cases(tokens=2, drafts=2), st.integers(1, 3), st.sampled_from(tuple(RULES)))
def test_blocks_of_any_rule_follow_each_other(case, length, rule):
    target, draft = case.models()
    law = generated_law(target, draft, **case.setting, length=length, rule=rule)
    assert law == generate(rule, case.tokens, case.rows(0), case.rows(1), case.k, case.stop, length)
    assert sum(law.values()) == 1


@given(cases(drafts=4), st.lists(st.integers(0, 2), max_size=3))
def test_a_block_after_a_history_is_a_block_of_the_models_from_there_on(case, numbers):
    before = tuple(case.tokens[n % len(case.tokens)] for n in numbers)
    if case.stop in before:
        return
    target, draft = case.models()
    later = [
        from_function(lambda rest, model=model: model(before + rest), case.tokens)
        for model in (target, draft)
    ]
    for rule in RIGHT:
        assert block_law(target, draft, **case.setting, history=before, rule=rule) == block_law(
            *later, **case.setting, rule=rule
        )
        assert generated_law(
            target, draft, **case.setting, length=3, history=before, rule=rule
        ) == generated_law(*later, **case.setting, length=3, rule=rule)
    assert target_law(target, length=3, stop=case.stop, history=before) == target_law(
        later[0], length=3, stop=case.stop
    )
    assert emitted_per_call(
        target, draft, longest=2, stop=case.stop, history=before
    ) == emitted_per_call(*later, longest=2, stop=case.stop)
    law = block_law(target, draft, **case.setting, history=before)
    assert completed_law(law, target, length=3, stop=case.stop, history=before) == target_law(
        target, length=3, stop=case.stop, history=before
    )


@settings(max_examples=80)
@given(cases(drafts=4), st.integers(1, 4), st.integers(0, 2**32))
def test_no_row_is_asked_for_that_a_block_does_not_need(case, length, seed):
    limits = {"target": 0, "draft": 0}

    def guard(which, history):
        assert case.stop not in history, f"{which} was asked for a row after the stop token"
        assert len(history) <= limits[which], f"{which} was asked for {history}"

    target, draft = case.models(guard)
    # K draft rows and K + 1 target rows along each path
    limits = {"target": case.k, "draft": case.k - 1}
    for rule in RULES:
        if rule != "stop-ignored":
            block_law(target, draft, **case.setting, rule=rule)
    draw_block(target, draft, **case.setting, rng=np.random.default_rng(seed))
    draw_blocks(target, draft, **case.setting, rng=np.random.default_rng(seed), count=3)
    emitted_per_call(target, draft, longest=case.k, stop=case.stop)
    # and none for tokens that are not generated
    limits = {"target": length - 1, "draft": length - 1 if case.k else -1}
    for rule in RIGHT:
        generated_law(target, draft, **case.setting, length=length, rule=rule)
    limits = {"target": length - 1, "draft": -1}
    target_law(target, length=length, stop=case.stop)


def test_models_may_refuse_what_comes_after_a_stop_token():
    def rows(*masses):
        def row(history):
            if STOP in history:
                raise KeyError(history)
            return masses

        return from_function(row, ["A", STOP])

    target, draft = rows("0.4", "0.6"), rows("0.7", "0.3")
    for rule in RIGHT:
        law = generated_law(target, draft, draft_length=3, length=4, stop=STOP, rule=rule)
        assert law == target_law(target, length=4, stop=STOP)
    with pytest.raises(KeyError):
        block_law(target, draft, draft_length=3, stop=STOP, rule="stop-ignored")


@settings(max_examples=80)
@given(cases(drafts=4))
def test_the_joint_rule_accepts_no_fewer_drafts(case):
    target, draft = case.models()
    single = block_law(target, draft, **case.setting)
    joint = block_verification_law(target, draft, **case.setting)
    assert joint.rule == "block-verification"
    for k in range(case.k + 1):
        assert sum(joint.accepted_bars[k:]) >= sum(single.accepted_bars[k:])


@settings(max_examples=80)
@given(cases(drafts=4))
def test_tokens_for_a_call(case):
    target, draft = case.models()
    for rule in RIGHT:
        means = emitted_per_call(target, draft, longest=case.k, stop=case.stop, rule=rule)
        assert means == tuple(
            block_law(target, draft, draft_length=k, stop=case.stop, rule=rule).expected_emitted
            for k in range(case.k + 1)
        )


# ---------------------------------------------------------------- published cases

BL01_TOKENS = ["A", "B", STOP]
BL01_TARGET = {
    (): "0.5, 0.3, 0.2",
    ("A",): "0.2, 0.3, 0.5",
    ("B",): "0.6, 0.3, 0.1",
    ("A", "A"): "0.1, 0.4, 0.5",
    ("A", "B"): "0.3, 0.3, 0.4",
    ("B", "A"): "0.25, 0.25, 0.5",
    ("B", "B"): "0.2, 0.2, 0.6",
}
BL01_DRAFT = {(): "0.4, 0.2, 0.4", ("A",): "0.3, 0.3, 0.4", ("B",): "0.2, 0.3, 0.5"}


def bl01():
    return table(BL01_TOKENS, BL01_TARGET), table(BL01_TOKENS, BL01_DRAFT)


def bl01_with_rejections():
    """BL01 with a draft that offers too much A, so that a rejected draft has others behind it.

    A rejected stop token has none, and its first row rejects nothing else.
    """
    target = table(BL01_TOKENS, {**BL01_TARGET, (STOP,): "1, 0, 0"})
    return target, table(BL01_TOKENS, {**BL01_DRAFT, (): "0.8, 0.1, 0.1"})


def test_bl01_a_stop_token_is_accepted_in_the_middle_of_a_block():
    target, draft = bl01()
    law = block_law(target, draft, draft_length=2, stop=STOP)
    assert words(law.emitted) == fractions(
        {
            "A": "1/10",
            "A A A": "1/125",
            "A A B": "4/125",
            "A A </s>": "1/25",
            "A B A": "9/250",
            "A B B": "9/250",
            "A B </s>": "6/125",
            "A </s>": "1/5",
            "B": "1/10",
            "B A": "2/25",
            "B A A": "1/100",
            "B A B": "1/100",
            "B A </s>": "1/50",
            "B B A": "3/250",
            "B B B": "3/250",
            "B B </s>": "9/250",
            "B </s>": "1/50",
            "</s>": "1/5",
        }
    )
    assert law.accepted_count == {0: Fraction(1, 5), 1: Fraction(8, 25), 2: Fraction(12, 25)}
    assert sum(law.emitted.values()) == 1
    # K accepted is 12/25. Nothing rejected is more: it counts the block that is </s> alone.
    assert law.all_accepted == Fraction(12, 25)
    assert law.none_rejected == Fraction(12, 25) + law.emitted[STOP,]
    # no replacement and no bonus after a kept stop token: first, or after A, or after B
    kept_stops = Fraction("0.2") + Fraction("0.4") * Fraction("0.4") + Fraction("0.2") / 10
    assert law.expected_emitted - law.expected_accepted == 1 - kept_stops


def test_bl01_nothing_after_an_accepted_stop_token_counts():
    target, draft = bl01()
    record = draw_block(
        target,
        draft,
        draft_length=5,
        stop=STOP,
        choices=Choices(drafted=["A", "B", STOP, "A", "B"], coins=[0] * 5),
    )
    assert record.emitted == record.next_history == ("A", "B", STOP)
    assert record.accepted == ("A", "B", STOP)
    assert record.bonus is record.replacement is record.final_law is None
    assert record.stopped
    assert [position.status for position in record.positions] == ["accepted"] * 3 + [
        "discarded"
    ] * 2
    for position in record.positions[3:]:
        assert position.discarded_by == "stop"
        assert position.target is position.draft is position.acceptance is position.coin is None


@settings(max_examples=80)
@given(cases(drafts=4))
def test_bl01_kind_a_stop_token_stands_only_at_the_end(case):
    target, draft = case.models()
    for rule in RULES:
        law = block_law(target, draft, **case.setting, rule=rule)
        if rule == "stop-ignored":
            assert law.emitted == block_law(target, draft, draft_length=case.k).emitted
        else:
            assert not any(case.stop in emitted[:-1] for emitted in law.emitted)


def test_bl03_all_accepted_brings_the_bonus():
    same = by_position("AB", ["0.75, 0.25"])
    law = block_law(same, same, draft_length=2)
    assert words(law.emitted) == fractions(
        {
            "A A A": "27/64",
            "A A B": "9/64",
            "A B A": "9/64",
            "A B B": "3/64",
            "B A A": "9/64",
            "B A B": "3/64",
            "B B A": "3/64",
            "B B B": "1/64",
        }
    )
    assert law.accepted_count == {2: 1}
    assert law.expected_emitted == 3 and law.bonus == 1 and law.rejected == 0
    record = draw_block(same, same, draft_length=2, rng=np.random.default_rng(0))
    assert all(position.residual is None for position in record.positions)
    assert record.bonus is not None and len(record.emitted) == 3


@given(cases(drafts=4))
def test_bl03_kind_equal_models_accept_everything_and_add_one(case):
    target, _ = case.models()
    for rule in RIGHT:
        law = block_law(target, target, **case.setting, rule=rule)
        assert law.rejected == 0
        expected = target_law(target, length=case.k + 1, stop=case.stop)
        assert law.emitted == expected
        if case.stop is None:
            assert law.accepted_count == {case.k: 1} and law.bonus == 1


BL05_TARGET = ["0.5, 0.3, 0.2", "0.1, 0.6, 0.3"]
BL05_DRAFT = ["0.2, 0.3, 0.5", "0.3, 0.3, 0.4"]


def first_token(law, tokens="ABC"):
    share = defaultdict(Fraction)
    for emitted, mass in law.emitted.items():
        share[emitted[0]] += mass
    return tuple(share[token] for token in tokens)


def test_bl05_the_residual_is_built_from_the_rejected_position():
    target, draft = by_position("ABC", BL05_TARGET), by_position("ABC", BL05_DRAFT)
    law = block_law(target, draft, draft_length=2)
    assert first_token(law) == (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
    faulty = block_law(target, draft, draft_length=2, rule="next-position-residual")
    assert first_token(faulty) == (Fraction(1, 5), Fraction(3, 5), Fraction(1, 5))
    one, other = (
        completed_law(each, target, length=1) for each in (law, faulty)
    )  # of the first token alone
    assert distance(one, other) == Fraction(3, 10)
    record = draw_block(
        target, draft, draft_length=2, choices=Choices(["C", "A"], [Fraction(9, 10)], "A")
    )
    assert record.positions[0].residual == record.final_law == (1, 0, 0)


@given(cases(drafts=4), st.integers(0, 2**32))
def test_bl05_kind_the_first_token_has_the_first_target_row(case, seed):
    target, draft = case.models()
    row = dict(zip(case.tokens, target(()), strict=True))
    for rule in RIGHT:
        law = block_law(target, draft, **case.setting, rule=rule)
        assert first_token(law, case.tokens) == tuple(row.values())
    record = draw_block(target, draft, **case.setting, rng=np.random.default_rng(seed))
    if record.replacement is not None:
        x, before = case.tokens.index(record.replacement), record.accepted
        assert target(before)[x] > draft(before)[x]


def test_bl08_one_rate_for_every_prefix():
    # A is drafted always and wanted 65 times in 100.
    target, draft = by_position("AB", ["0.65, 0.35"]), by_position("AB", ["1, 0"])
    law = block_law(target, draft, draft_length=4)
    formula = ConstantRate(Fraction("0.65"), 4)
    for each in (law, formula):
        assert each.expected_accepted == Fraction(244101, 160000)
        assert each.expected_emitted == Fraction(404101, 160000)
        assert each.all_accepted == Fraction(28561, 160000)
        assert each.share_accepted == Fraction(244101, 640000)
        assert each.accepted_count == {
            0: Fraction(7, 20),
            1: Fraction(91, 400),
            2: Fraction(1183, 8000),
            3: Fraction(15379, 160000),
            4: Fraction(28561, 160000),
        }


@given(cases(tokens=3, drafts=5))
def test_bl08_kind_the_formula_holds_where_rows_do_not_depend_on_the_prefix(case):
    p, q = case.pool[0]
    target, draft = by_position(case.tokens, [p]), by_position(case.tokens, [q])
    law = block_law(target, draft, draft_length=case.k)
    formula = ConstantRate(sum(map(min, p, q)), case.k)
    assert law.accepted_count == formula.accepted_count
    assert law.expected_emitted == formula.expected_emitted
    assert law.expected_accepted == formula.expected_accepted
    assert law.share_accepted == formula.share_accepted


def test_bl08_kind_the_formula_fails_where_they_do():
    # After A all is accepted, after B nothing. The draft is right about the first token, so the
    # rate over positions is 3/4; the mean is not that of a constant 3/4.
    target = markov("AB", "0.5, 0.5", {"A": "1, 0", "B": "0, 1"})
    draft = markov("AB", "0.5, 0.5", {"A": "1, 0", "B": "1, 0"})
    law = block_law(target, draft, draft_length=2)
    assert law.expected_emitted == Fraction(5, 2)
    assert ConstantRate(Fraction(3, 4), 2).expected_emitted == Fraction(37, 16)


def test_a_constant_rate_of_1_and_of_0():
    assert ConstantRate(Fraction(1), 3).expected_emitted == 4
    assert ConstantRate(Fraction(1), 3).accepted_count == {3: 1}
    assert ConstantRate(Fraction(0), 3).expected_emitted == 1
    assert ConstantRate(Fraction(0), 0).accepted_count == {0: 1}
    assert ConstantRate(Fraction(1, 2), 0).share_accepted is None
    with pytest.raises(LabError, match="rate"):
        ConstantRate(Fraction(3, 2), 1)
    with pytest.raises(LabError, match="draft length"):
        ConstantRate(Fraction(1, 2), -1)


def test_bl09_the_joint_rule_accepts_more_and_has_the_same_law():
    target, draft = by_position("AB", ["0.6, 0.4"]), by_position("AB", ["0.4, 0.6"])
    single = block_law(target, draft, draft_length=2)
    joint = block_verification_law(target, draft, draft_length=2)
    assert (single.rule, joint.rule) == RIGHT
    assert single.accepted_count == {0: Fraction(1, 5), 1: Fraction(4, 25), 2: Fraction(16, 25)}
    assert single.expected_accepted == Fraction(36, 25)
    assert joint.accepted_count == {0: Fraction(1, 5), 1: Fraction(2, 25), 2: Fraction(18, 25)}
    assert joint.expected_accepted == Fraction(38, 25)
    expected = target_law(target, length=3)
    assert len(expected) == 8
    for law in (single, joint):
        assert completed_law(law, target, length=3) == expected


@pytest.mark.parametrize(
    ("advance", "start", "mass", "all_accepted"),
    [
        (_advance, 1, lambda held: held, Fraction(16, 25)),
        (_advance_jointly, (1, 1), lambda held: held[0], Fraction(18, 25)),
    ],
)
def test_bl09_generating_goes_by_the_rule_that_it_is_asked_for(advance, start, mass, all_accepted):
    # The generated laws of the two rules are one, so this looks at the recursion on its way: with
    # more than 2 drafts, the share of the first block that has accepted 2 after 2 tokens.
    pair = _Pair(("A", "B"), (Fraction(3, 5), Fraction(2, 5)), (Fraction(2, 5), Fraction(3, 5)))
    live = [[start]]
    for _ in range(2):
        live = [after for masses in live for _, after in advance(masses, 9, pair)]
    assert sum(Fraction(mass(masses[2]), pair.whole**2) for masses in live) == all_accepted


def test_the_joint_rule_on_its_authors_own_example():
    # Sun et al. (2024), section 2: 10/9 accepted token by token, 11/9 jointly.
    target, draft = by_position("AB", ["1/3, 2/3"]), by_position("AB", ["2/3, 1/3"])
    assert block_law(target, draft, draft_length=2).expected_accepted == Fraction(10, 9)
    joint = block_verification_law(target, draft, draft_length=2)
    assert joint.expected_accepted == Fraction(11, 9)


@given(cases(tokens=4, drafts=4).filter(lambda case: len(case.tokens) > 1))
def test_disjoint_models_bring_one_token_a_block(case):
    n = len(case.tokens)
    half = n // 2
    target = from_function(
        lambda history: [Fraction(1, half)] * half + [0] * (n - half), case.tokens
    )
    draft = from_function(lambda history: [0] * (n - 1) + [1], case.tokens)
    for rule in RIGHT:
        law = block_law(target, draft, **case.setting, rule=rule)
        assert law.accepted_count == {0: 1} and law.expected_emitted == 1
        assert law.emitted == {(token,): Fraction(1, half) for token in case.tokens[:half]}


# ---------------------------------------------------------------- faulty rules


def test_going_on_after_a_rejection_spoils_the_law_where_rows_depend_on_the_prefix():
    # The draft says A A; the target says B and then B again. Going on, the second A is kept with
    # the row after the rejected A, where the target would have said A.
    target = markov("AB", "0, 1", {"A": "1, 0", "B": "0, 1"})
    draft = by_position("AB", ["1, 0"])
    law = keep_testing_law(target, draft, draft_length=2)
    assert law.emitted == {("B", "A"): 1} and law.accepted_count == {1: 1}
    expected = target_law(target, length=3)
    assert expected == {("B", "B", "B"): 1}
    completed = completed_law(law, target, length=3)
    assert completed == {("B", "A", "A"): 1} and distance(completed, expected) == 1
    assert block_law(target, draft, draft_length=2).emitted == {("B",): 1}


@settings(max_examples=40)
@given(cases(), st.integers(1, 4))
def test_going_on_after_a_rejection_is_harmless_where_they_do_not(case, length):
    target, draft = (
        by_position(case.tokens, [pair[which] for pair in case.pool]) for which in (0, 1)
    )
    law = keep_testing_law(target, draft, draft_length=case.k)
    expected = target_law(target, length=length)
    assert completed_law(law, target, length=length) == expected


def test_every_fault_shows_on_some_models():
    target, draft = bl01_with_rejections()
    expected = target_law(target, length=3, stop=STOP)
    for rule in RULES:
        law = block_law(target, draft, draft_length=3, stop=STOP, rule=rule)
        gap = distance(completed_law(law, target, length=3, stop=STOP), expected)
        assert (gap == 0) == (rule in RIGHT), rule
        generated = generated_law(target, draft, draft_length=2, length=3, stop=STOP, rule=rule)
        assert (generated == expected) == (rule in RIGHT), rule


def test_a_shifted_target_is_right_where_all_rows_are_one():
    target, draft = by_position("AB", ["0.6, 0.4"]), by_position("AB", ["0.3, 0.7"])
    right = block_law(target, draft, draft_length=3)
    for rule in ("shifted-target", "next-position-residual"):
        assert block_law(target, draft, draft_length=3, rule=rule).emitted == right.emitted


def test_an_ignored_stop_token_ends_the_output_only_at_the_end_of_a_block():
    always = by_position(["A", STOP], ["0, 1", "1, 0"])
    faulty = generated_law(always, always, draft_length=1, length=3, stop=STOP, rule="stop-ignored")
    assert faulty == {(STOP, "A", "A"): 1}
    turn = by_position(["A", STOP], ["1, 0", "0, 1", "1, 0"])
    faulty = generated_law(turn, turn, draft_length=1, length=4, stop=STOP, rule="stop-ignored")
    assert faulty == {("A", STOP): 1}


def test_distance_is_total_variation():
    law = {("A",): Fraction(1, 2), ("B",): Fraction(1, 2)}
    other = {("A",): Fraction(1, 4), ("C",): Fraction(3, 4)}
    assert distance(law, other) == distance(other, law) == Fraction(3, 4)
    assert distance(law, law) == distance({}, {}) == 0


# ---------------------------------------------------------------- worth


def test_speedups_and_the_best_draft_length():
    emitted = (Fraction(1), Fraction(9, 5), Fraction(61, 25))
    assert speedups(emitted, 0) == emitted
    assert speedups(emitted, "1/2") == (1, Fraction(6, 5), Fraction(61, 50))
    assert best_draft_length(speedups(emitted, "0.5")) == 2
    assert best_draft_length(speedups(emitted, 1)) == 0
    assert best_draft_length((Fraction(1), Fraction(2), Fraction(2))) == 1  # no draft for nothing
    assert speedups(emitted, "0.1")[2] == Fraction(61, 25) / Fraction("1.2")
    for cost in (-1, "x"):
        with pytest.raises(LabError, match="cost ratio"):
            speedups(emitted, cost)


def test_only_right_rules_have_a_worth():
    target, draft = bl01()
    with pytest.raises(LabError, match="accepted are token-by-token, block-verification"):
        emitted_per_call(target, draft, longest=2, rule="keep-testing")


# ---------------------------------------------------------------- refusals


def test_models_must_share_their_tokens_in_order():
    one = by_position("AB", ["1, 0"])
    for tokens, says in (("BA", "only the order differs"), ("ABC", "the draft's A, B, C")):
        other = from_function(lambda history: "0.5, 0.5", tokens)
        with pytest.raises(LabError, match=says):
            block_law(one, other, draft_length=1)


def test_a_plain_function_is_told_how_to_become_a_model():
    with pytest.raises(LabError, match="from_function"):
        block_law(lambda history: [1, 0], by_position("AB", ["1, 0"]), draft_length=1)


def test_a_bad_row_deep_in_a_block_is_named_by_its_history():
    class Rows:
        tokens = ("A", "B")

        def __init__(self, bad):
            self.bad = bad

        def __call__(self, history):
            return self.bad if history == ("B", "A") else ["0.5", "0.5"]

    good = by_position("AB", ["0.5, 0.5"])
    with pytest.raises(TotalError, match=r"The target's row after B A sums to 0\.9"):
        generated_law(Rows(["0.5", "0.4"]), good, draft_length=2, length=3)
    with pytest.raises(EntryError, match="The draft's row after B A, entry 2"):
        block_law(good, Rows(["1.5", "-0.5"]), draft_length=3)
    with pytest.raises(LabError, match="The draft's row after B A is in floating point"):
        draw_blocks(good, Rows([0.5, 0.5]), draft_length=3, count=200, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"draft_length": -1}, "draft length is -1"),
        ({"draft_length": True}, "draft length is True"),
        ({"draft_length": 2.0}, "draft length is 2.0"),
        ({"draft_length": LONGEST + 1}, f"from 0 to {LONGEST}"),
        ({"stop": "X"}, "stop token 'X'"),
        ({"history": ("A", "X")}, "'X' in the history A X is not one of the tokens"),
        ({"history": ("A", STOP)}, "ends the output"),
        ({"rule": "greedy"}, "accepted are token-by-token"),
    ],
)
def test_arguments_out_of_range_are_refused(change, says):
    target, draft = bl01()
    arguments = {"draft_length": 2, "stop": STOP, **change}
    with pytest.raises(LabError, match=re.escape(says)):
        block_law(target, draft, **arguments)
    with pytest.raises(LabError, match=re.escape(says)):
        generated_law(target, draft, length=2, **arguments)


@pytest.mark.parametrize("length", [0, -1, LONGEST + 1, "2"])
def test_a_length_out_of_range_is_refused(length):
    target, draft = bl01()
    for law in (
        lambda: target_law(target, length=length),
        lambda: generated_law(target, draft, draft_length=1, length=length),
        lambda: completed_law(block_law(target, draft, draft_length=1), target, length=length),
    ):
        with pytest.raises(LabError, match="The length is"):
            law()


def test_what_is_too_large_says_how_large_and_offers_draws():
    tokens = [f"t{n}" for n in range(600)]
    flat = by_position(tokens, [[Fraction(1, 600)] * 600])
    with pytest.raises(TooLargeError, match=r"lab\.draws") as fault:
        block_law(flat, flat, draft_length=2)
    assert fault.value.size == 600 * (1 + 600 + 600**2) and fault.value.limit == MOST_SEQUENCES
    assert f"{fault.value.size:,}" in str(fault.value)
    for law in (
        lambda: generated_law(flat, flat, draft_length=2, length=3),
        lambda: target_law(flat, length=LONGEST),
        lambda: emitted_per_call(flat, flat, longest=3),
        lambda: block_law(flat, flat, draft_length=2, rule="keep-testing"),
        lambda: block_law(flat, flat, draft_length=LONGEST),
    ):
        with pytest.raises(TooLargeError, match=r"takes up to (\d|,|some 10\^)+ sequences"):
            law()
    counts = draw_blocks(flat, flat, draft_length=2, count=5, rng=np.random.default_rng(0))
    assert sum(counts.emitted.values()) == 5


def test_size_on_paper_knows_that_nothing_follows_a_stop_token():
    tokens = [*(f"t{n}" for n in range(99)), STOP]
    flat = by_position(tokens, [[Fraction(1, 100)] * 100])
    run = {"draft_length": 3, "stop": STOP}
    for law, size in (
        (lambda: block_law(flat, flat, **run), 100 * (1 + 99 + 99**2 + 99**3)),
        (lambda: target_law(flat, length=4, stop=STOP), 1 + 99 + 99**2 + 99**3 * 100),
        (lambda: generated_law(flat, flat, **run, length=4), 1 + 99 + 99**2 + 99**3 * 100),
        (lambda: emitted_per_call(flat, flat, longest=3, stop=STOP), 1 + 99 + 99**2 + 99**3),
    ):
        with pytest.raises(TooLargeError) as fault:
            law()
        assert fault.value.size == size


def test_sizes_up_to_the_limit_are_computed(monkeypatch):
    flat = by_position("ABC", [[Fraction(1, 3)] * 3])
    slanted = by_position("ABC", ["0.5, 0.25, 0.25"])
    monkeypatch.setattr("lab.block.MOST_SEQUENCES", 3 + 9 + 27)
    law = block_law(flat, slanted, draft_length=2)
    monkeypatch.setattr("lab.block.MOST_SEQUENCES", len(law.emitted))
    assert block_law(flat, slanted, draft_length=2) == law  # counted, and just within
    monkeypatch.setattr("lab.block.MOST_SEQUENCES", len(law.emitted) - 1)
    with pytest.raises(TooLargeError):
        block_law(flat, slanted, draft_length=2)
    monkeypatch.setattr("lab.block.MOST_SEQUENCES", 27)
    assert len(generated_law(flat, slanted, draft_length=2, length=3)) == 27
    monkeypatch.setattr("lab.block.MOST_SEQUENCES", 26)
    with pytest.raises(TooLargeError):
        generated_law(flat, slanted, draft_length=2, length=3)


def test_size_is_counted_where_few_sequences_can_happen():
    # 25 tokens and 6 drafts: over 6 billion sequences on paper, a few hundred in the text.
    target, draft = ngrams(nursery_rhyme(), 3), ngrams(nursery_rhyme(), 2, smoothing="1/10")
    stop = target.tokens[-1]
    law = block_law(target, draft, draft_length=6, stop=stop)
    assert 100 < len(law.emitted) < 1000 and sum(law.emitted.values()) == 1
    generated = generated_law(target, draft, draft_length=4, length=9, stop=stop)
    assert generated == target_law(target, length=9, stop=stop)
    assert emitted_per_call(target, draft, longest=6, stop=stop)[6] == law.expected_emitted
    with pytest.raises(TooLargeError):
        block_law(draft, draft, draft_length=6, stop=stop)
    # one sequence only, at any length
    sure = by_position("AB", ["1, 0"])
    assert generated_law(sure, sure, draft_length=7, length=LONGEST) == {("A",) * LONGEST: 1}
    assert block_law(sure, sure, draft_length=LONGEST).all_accepted == 1


# ---------------------------------------------------------------- randomness


class Digits:
    """A generator that deals given 32-bit digits, and says when it has none left."""

    def __init__(self, *digits):
        self.left = list(digits)

    def integers(self, high, size=None, dtype=None):
        assert high == 2**32
        if size is None:
            return self.left.pop(0)
        dealt, self.left = self.left[:size], self.left[size:]
        return np.array(dealt, dtype=dtype)


def test_a_coin_is_compared_exactly():
    third = Fraction(1, 3)
    cell = 2**32 // 3  # the cell with 1/3 inside
    for first, kept in ((cell - 1, True), (cell + 1, False)):
        rng = Digits(first)
        assert (toss(rng, third) < third) == kept and not rng.left
    # 1/3 is 0.0101…: in every cell on the way its digit is the same
    rng = Digits(cell, cell, cell + 1)
    assert toss(rng, third) == Fraction(cell * 2**64 + cell * 2**32 + cell + 1, 2**96)
    rng = Digits(cell, 0)
    assert toss(rng, third) < third
    # a probability on the edge of a cell needs no second look
    assert not toss(Digits(2**31), Fraction(1, 2)) < Fraction(1, 2)
    assert toss(Digits(2**31 - 1), Fraction(1, 2)) < Fraction(1, 2)
    assert toss(Digits(2**32 - 1), Fraction(1)) < 1
    assert not toss(Digits(0), Fraction(0)) < 0


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(any),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
)
@example([1, 1, 1], 2**32 // 3, 2**32 - 1)
@example([0, 3, 0, 3], 2**31, 0)
@example([1, 10**30], 0, 0)
@example([1, 2**100, 1], 2**32 - 1, 2**32 - 1)
def test_a_wheel_stops_where_the_number_lies(weights, first, second):
    rng = Digits(first, second, 2**31, 1, 1)
    position = Wheel(weights).spin(rng)
    dealt = [first, second, 2**31, 1, 1][: 5 - len(rng.left)]
    low = sum(Fraction(digit, 2 ** (32 * place)) for place, digit in enumerate(dealt, start=1))
    high = low + Fraction(1, 2 ** (32 * len(dealt)))
    start = Fraction(sum(weights[:position]), sum(weights))
    end = start + Fraction(weights[position], sum(weights))
    assert start <= low and high <= end
    # drawn in bulk, the same digits give the same position
    counts = Wheel(weights).spins(Digits(first, first, second, 2**31, 1, 1, second, 2**31, 1), 2)
    assert counts.tolist() == [2 * (x == position) for x in range(len(weights))]


def chi_square(counts, law, draws):
    """The statistic with rare outcomes taken together, and its degrees of freedom."""
    cells, rare = [], [0, Fraction(0)]
    for key, mass in law.items():
        if mass * draws >= 10:
            cells.append((counts.get(key, 0), mass))
        else:
            rare = [rare[0] + counts.get(key, 0), rare[1] + mass]
    if rare[1]:
        cells.append(tuple(rare))
    statistic = sum(float((n - mass * draws) ** 2 / (mass * draws)) for n, mass in cells)
    return statistic, len(cells) - 1


def bound(degrees, risk=1e-9):
    """What chi-square exceeds with a probability below `risk`.

    Source: Laurent and Massart (2000), "Adaptive estimation of a quadratic functional by model
    selection", lemma 1.
    """
    t = -math.log(risk)
    return degrees + 2 * math.sqrt(degrees * t) + 2 * t


def test_draws_follow_the_law():
    # The seed is fixed, so this cannot fail by chance; the bound says what a change of the seed
    # would risk.
    target, draft = bl01_with_rejections()
    draws = 50_000
    law = block_law(target, draft, draft_length=3, stop=STOP)
    counts = draw_blocks(
        target, draft, draft_length=3, stop=STOP, count=draws, rng=np.random.default_rng(0)
    )
    assert counts.emitted.keys() <= law.emitted.keys()
    for seen, expected in (
        (counts.emitted, law.emitted),
        (counts.accepted_count, law.accepted_count),
    ):
        statistic, degrees = chi_square(seen, expected, draws)
        assert degrees >= 3 and statistic < bound(degrees)
    # the same draws do not pass for the law of another rule
    for rule in set(RULES) - {"token-by-token"}:
        wrong = block_law(target, draft, draft_length=3, stop=STOP, rule=rule)
        statistic, degrees = chi_square(counts.emitted, wrong.emitted, draws)
        assert statistic > bound(degrees), rule


@settings(max_examples=60)
@given(cases(drafts=4), st.integers(1, 40), st.integers(0, 2**32))
def test_counts_add_up(case, count, seed):
    target, draft = case.models()
    counts = draw_blocks(
        target, draft, **case.setting, count=count, rng=np.random.default_rng(seed)
    )
    law = block_law(target, draft, **case.setting)
    assert counts.emitted.keys() <= law.emitted.keys()
    assert counts.accepted_count.keys() <= law.accepted_count.keys()
    assert sum(counts.emitted.values()) == sum(counts.accepted_count.values()) == count
    assert counts.mean_emitted - counts.mean_accepted == Fraction(
        counts.rejected + counts.bonus, count
    )
    again = draw_blocks(target, draft, **case.setting, count=count, rng=np.random.default_rng(seed))
    assert again == counts


def test_draws_go_where_laws_cannot():
    target, draft = ngrams(nursery_rhyme(), 4, smoothing="1/1000"), ngrams(nursery_rhyme(), 1)
    counts = draw_blocks(
        target, draft, draft_length=60, count=50, stop="⏎", rng=np.random.default_rng(1)
    )
    assert sum(counts.emitted.values()) == 50
    for count in (0, MOST_DRAWS + 1, 1.5):
        with pytest.raises(LabError, match="count of blocks"):
            draw_blocks(target, draft, draft_length=2, count=count, rng=np.random.default_rng(1))


# ---------------------------------------------------------------- one block, step by step


@settings(max_examples=80)
@given(cases())
def test_records_add_up_to_the_law(case):
    """Every draft, coin and last token by hand, weighted with the chances that records state."""
    target, draft = case.models()
    law, accepted_count = defaultdict(Fraction), defaultdict(Fraction)

    def visit(drafted, coins, weight):
        """`weight` is the chance of what has been chosen so far."""
        if len(drafted) < case.k and case.stop not in drafted:
            q = draft(drafted)
            for token, mass in zip(case.tokens, q, strict=True):
                if mass:
                    visit((*drafted, token), coins, weight * mass)
            return
        try:
            record = draw_block(
                target, draft, **case.setting, choices=Choices(drafted, coins, None)
            )
        except LabError as open_choice:
            if "coin at position" in str(open_choice):
                number = len(coins)
                x = case.tokens.index(drafted[number])
                before = drafted[:number]
                keep = min(1, target(before)[x] / draft(before)[x])
                if keep:
                    visit(drafted, (*coins, 0), weight * keep)
                if keep < 1:
                    # the smallest coin that rejects is the probability itself
                    visit(drafted, (*coins, keep), weight * (1 - keep))
                return
            last = draw_block(
                target,
                draft,
                **case.setting,
                choices=Choices(drafted, coins, None),
                rng=np.random.default_rng(0),
            ).final_law
            for token, mass in zip(case.tokens, last, strict=True):
                if mass:
                    done = draw_block(
                        target, draft, **case.setting, choices=Choices(drafted, coins, token)
                    )
                    law[done.emitted] += weight * mass
                    accepted_count[len(done.accepted)] += weight * mass
            return
        law[record.emitted] += weight
        accepted_count[len(record.accepted)] += weight

    visit((), (), Fraction(1))
    expected = block_law(target, draft, **case.setting)
    assert law == expected.emitted
    assert accepted_count == expected.accepted_count


@settings(max_examples=150)
@given(cases(drafts=5), st.integers(0, 2**32))
def test_a_record_hangs_together(case, seed):
    target, draft = case.models()
    record = draw_block(target, draft, **case.setting, rng=np.random.default_rng(seed))
    again = draw_block(target, draft, **case.setting, rng=np.random.default_rng(seed))
    assert record == again
    drafted = tuple(position.drafted for position in record.positions)
    assert len(drafted) == case.k or (drafted and drafted[-1] == case.stop)
    assert case.stop not in drafted[:-1]
    rejected = False
    for number, position in enumerate(record.positions):
        assert position.prefix == drafted[:number]
        assert position.target == target(position.prefix)
        assert position.draft == draft(position.prefix)
        x = case.tokens.index(position.drafted)
        p, q = position.target[x], position.draft[x]
        assert q > 0
        assert position.kept == (position.status == "accepted")
        if rejected:
            assert position.status == "discarded" and position.discarded_by == "rejection"
            assert position.coin is position.acceptance is position.residual is None
            continue
        assert position.discarded_by is None
        assert 0 <= position.coin < 1 and position.acceptance == min(1, p / q)
        assert position.kept == (position.coin < position.acceptance)
        if not position.kept:
            rejected = True
            owed = [max(0, a - b) for a, b in zip(position.target, position.draft, strict=True)]
            assert position.residual == tuple(value / sum(owed) for value in owed)
            assert position.residual == record.final_law
        else:
            assert position.residual is None
    kept_stop = case.stop in record.accepted
    assert (record.replacement is not None) == rejected
    assert (record.bonus is not None) == (not rejected and not kept_stop)
    assert record.replacement is None or record.bonus is None
    if record.bonus is not None:
        assert len(record.accepted) == case.k and record.final_law == target(drafted)
    last = [token for token in (record.replacement, record.bonus) if token is not None]
    assert record.emitted == (*record.accepted, *last)
    if last:
        assert record.final_law[case.tokens.index(last[0])] > 0
    else:
        assert record.final_law is None
    assert record.stopped == (case.stop in record.emitted)
    assert record.emitted in block_law(target, draft, **case.setting).emitted


def test_blocks_go_on_from_the_history_of_the_last():
    target, draft = ngrams(nursery_rhyme(), 3), ngrams(nursery_rhyme(), 1)
    rng, history = np.random.default_rng(3), ()
    for _ in range(200):
        record = draw_block(target, draft, draft_length=4, rng=rng, stop="⏎", history=history)
        assert record.history == history
        assert record.next_history[: len(history)] == history
        assert record.positions[0].target == target(history)
        history = record.next_history
        if record.stopped:
            break
    assert history[-1] == "⏎" and "⏎" not in history[:-1]
    with pytest.raises(LabError, match="ends the output"):
        draw_block(target, draft, draft_length=4, rng=rng, stop="⏎", history=history)


def test_what_is_chosen_is_taken_and_the_rest_is_drawn():
    target, draft = bl01()
    rng = np.random.default_rng(5)
    for _ in range(30):
        record = draw_block(
            target,
            draft,
            draft_length=2,
            stop=STOP,
            rng=rng,
            choices=Choices(drafted=[None, "A"], coins=["0.999"]),
        )
        if len(record.positions) == 2:
            assert record.positions[1].drafted == "A"
        assert record.positions[0].coin == Fraction("0.999")
        assert record.positions[0].kept == (record.positions[0].acceptance == 1)


def test_a_draft_beyond_a_rejected_stop_token_is_discarded_for_the_rejection():
    target, draft = bl01()
    choices = Choices(drafted=[STOP, "A"], coins=["0.5"], final="B")
    record = draw_block(target, draft, draft_length=2, stop=STOP, choices=choices)
    assert [position.status for position in record.positions] == ["rejected", "discarded"]
    assert record.positions[1].discarded_by == "rejection"
    assert record.emitted == ("B",) and not record.stopped
    assert record.positions[0].acceptance == Fraction(1, 2)  # 0.5 is not below it


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        (Choices(drafted=["X"]), "'X' is not one of the tokens"),
        (Choices(drafted=["B", "X"]), "'X' is not one of the tokens"),
        (Choices(drafted=["C"]), "The draft at position 1 is 'C', which has probability 0"),
        (Choices(drafted=["A", "A"], coins=[1]), "The coin at position 1 is 1"),
        (Choices(drafted=["B"], coins=["-0.1"]), "The coin at position 1"),
        (Choices(drafted=["B"], coins=["x"]), "The coin at position 1"),
        (
            Choices(drafted=["A", "A"], coins=["0.9"], final="A"),
            "The replacement is 'A', which has",
        ),
        (Choices(drafted=["A", "A"], coins=["0.1", 0], final="B"), "The bonus is 'B', which has"),
        (Choices(drafted=["A", "A", "A"]), "More is chosen than there are drafts"),
        (Choices(coins=[0, 0, 0]), "More is chosen than there are drafts"),
        (Choices(), "The draft at position 1 is not chosen"),
        (Choices(drafted=["A"]), "The draft at position 2 is not chosen"),
        (Choices(drafted=["B"]), "The coin at position 1 is not chosen"),
        (Choices(drafted=["A", "A"], coins=[0, 0]), "The bonus is not chosen"),
        (Choices(drafted=["A", "A"], coins=["0.5"]), "The replacement is not chosen"),
    ],
)
def test_choices_that_cannot_be_are_refused(choices, says):
    # B is the stop token here
    target = by_position("ABC", ["0.2, 0.8, 0", "1, 0, 0"])
    draft = by_position("ABC", ["0.5, 0.5, 0", "1, 0, 0"])
    with pytest.raises(LabError, match=re.escape(says)):
        draw_block(target, draft, draft_length=2, stop="B", choices=choices)


def test_laws_and_records_are_frozen():
    target, draft = bl01()
    record = draw_block(target, draft, draft_length=1, rng=np.random.default_rng(0))
    for thing in (block_law(target, draft, draft_length=1), record, record.positions[0]):
        with pytest.raises(dataclasses.FrozenInstanceError):
            thing.draft_length = 3


def test_the_names_that_the_outside_relies_on():
    target, draft = bl01()
    law = block_law(target, draft, draft_length=2, stop="</s>")
    assert isinstance(law.emitted, dict) and isinstance(law.accepted_count, dict)
    assert generated_law(target, draft, draft_length=2, length=3, stop="</s>") == target_law(
        target, length=3, stop="</s>"
    )
