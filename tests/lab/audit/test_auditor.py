"""Audits against laws from the tickets' oracle, and faults that were planted on purpose."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import fractions, from_target, play, without_the_rejected
from strategies import FLOATS, float_pairs, law_pairs, ticket_pairs

from lab import MISTAKES, Audit, Finding, LabError, audit
from lab import evidence as evidence_module
from lab.audit import counted as counted_module
from lab.audit import suspects as suspects_module
from lab.audit.claims import MOST_NAMED, UNDIVIDED, most_named
from lab.audit.counted import Counted
from lab.audit.findings import MOST_KEPT, TITLES, Book
from lab.audit.rows import Meter, explained, many
from lab.audit.suspects import LONGEST, suspects
from lab.errors import LengthError

WORKED = fractions("1/5 1/2 3/10"), fractions("3/5 1/5 1/5")
KINDS = ("float16", "bfloat16", "float32", "float64")


def dtype(kind):
    return np.dtype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)


def stored(law, kind):
    """A law as a float type stores it, each entry rounded once."""
    return np.array([float(mass) for mass in law]).astype(dtype(kind))


def kinds(found: Audit):
    return {finding.kind for finding in found.findings}


def only(found: Audit) -> Finding:
    assert len(found.findings) == 1, found.verdict
    return found.findings[0]


# ---------------------------------------------------------------- clean is clean


@given(ticket_pairs())
def test_a_clean_scenario_with_right_claims_is_clean(pair):
    p, q = pair
    played = play(p, q)
    alpha = sum(played.kept)
    found = audit(p, q, residual=played.replacement, output=played.output, acceptance=alpha)
    assert found.clean, found.verdict
    assert found.verdict.startswith("Clean: ")
    assert (found.target_type, found.draft_type) == ("exact", "exact")
    assert found.acceptance.tolist() == [float(alpha)]
    assert found.rejection.tolist() == [float(sum(played.owed))]


@given(law_pairs())
def test_any_two_laws_are_clean_as_they_are(pair):
    assert audit(*pair).clean


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("claimed", KINDS)
@given(pair=ticket_pairs())
@settings(max_examples=25)
def test_right_claims_in_floats_are_clean(kind, claimed, pair):
    # Two laws over a small denominator differ by far more than rounding where they differ at all.
    played = play(*pair)
    p, q = (stored(law, kind) for law in pair)
    claims = {} if played.replacement is None else {"residual": stored(played.replacement, claimed)}
    found = audit(
        p, q, output=stored(played.output, claimed), acceptance=float(sum(played.kept)), **claims
    )
    assert not kinds(found) - {"rejection-without-residual", "residual-without-rejection"}


@pytest.mark.parametrize("kind", KINDS)
@given(pair=law_pairs(most=40))
def test_no_law_that_was_stored_in_a_type_sums_to_something_the_type_does_not_explain(kind, pair):
    assert "sum" not in kinds(audit(*(stored(law, kind) for law in pair)))


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("size", [2, 3, 7, 100, 50_000])
def test_softmax_in_a_type_is_explained_by_it(kind, size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        weights = np.exp((rng.standard_normal(size) * 4).astype(kind))
        row = weights / weights.sum()
        assert row.dtype == kind
        assert audit(row, row).clean


# ---------------------------------------------------------------- measures against fractions


@given(float_pairs(), st.sampled_from(KINDS))
def test_measures_against_exact_rationals(pair, kind):
    p, q = (row.astype(dtype(kind)) for row in pair)
    measures = Meter(len(p), kind, kind).measure(p, q)
    left, right = ([Fraction(float(entry)) for entry in row] for row in (p, q))
    exact = {
        "target_total": sum(left),
        "draft_total": sum(right),
        "acceptance": sum(map(min, left, right)),
        "rejection": sum(max(a - b, 0) for a, b in zip(left, right, strict=True)),
        "excess": sum(max(b - a, 0) for a, b in zip(left, right, strict=True)),
    }
    for name, value in exact.items():
        got = Fraction(getattr(measures, name))
        assert abs(got - value) <= value * Fraction(len(p), 2**52)
        assert (got > 0) == (value > 0)
        if kind == "float16":
            assert got == value


@pytest.mark.parametrize("size", [1, 3, 7, 8, 9, 1000, 4099])
@pytest.mark.parametrize("scale", [1e-7, 1e-4, 0.02, 1.9, 40.0])
def test_sums_of_float16_are_exact_at_any_length_and_size(size, scale):
    rng = np.random.default_rng(size)
    p, q = (rng.random((2, size)) * scale).astype(np.float16)
    measures = Meter(size, "float16", "float16").measure(p, q)
    left, right = ([Fraction(float(entry)) for entry in row] for row in (p, q))
    assert measures.target_total == sum(left)
    assert measures.draft_total == sum(right)
    assert measures.acceptance == sum(map(min, left, right))
    assert measures.rejection == sum(max(a - b, 0) for a, b in zip(left, right, strict=True))


def test_every_float16_up_to_2_is_summed_exactly():
    patterns = np.arange(0x4000, dtype=np.uint16)
    p = patterns.view(np.float16)
    for q in (p, p[::-1].copy(), np.roll(p, 3000)):
        measures = Meter(p.size, "float16", "float16").measure(p, q)
        left, right = p.astype(float), q.astype(float)
        # Multiples of 2**-24 below 2**15: float64 holds their sums.
        assert measures.target_total == left.sum()
        assert measures.acceptance == np.minimum(left, right).sum()
        assert measures.rejection == np.maximum(left - right, 0).sum()


def test_float16_has_few_digits_for_small_entries():
    row = np.full(100_000, 1e-5, np.float16)
    found = audit(row, row)
    assert abs(found.target_defect[0]) > 2.0**-11
    assert found.clean


@pytest.mark.parametrize("kind", FLOATS)
def test_rows_in_the_other_byte_order_or_with_gaps(kind):
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.ones(33), size=(2, 3)).astype(kind)
    plain = audit(p, q)
    for change in (
        lambda row: row.astype(np.dtype(kind).newbyteorder()),
        lambda row: np.repeat(row, 2, axis=1)[:, ::2],
        np.asfortranarray,
    ):
        for found in (audit(change(p), change(q)), audit(change(p), q)):
            assert found.rejection.tolist() == plain.rejection.tolist()
            assert found.clean


def test_float16_in_the_other_byte_order_is_not_read_as_other_numbers():
    # Swapped, these bytes are small numbers too.
    p, q = (np.array(row, np.float16).astype(">f2") for row in ([0.25, 0.75], [0.5, 0.5]))
    assert audit(p, q).acceptance.tolist() == [0.75]


def test_a_meter_is_the_same_the_second_time():
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(37), size=6).astype(np.float16)
    used = Meter(37, "float16", "float16")
    for p, q in ((rows[0], rows[1]), (rows[2], rows[3]), (rows[4], rows[5])):
        assert used.measure(p, q) == Meter(37, "float16", "float16").measure(p, q)


# ---------------------------------------------------------------- planted faults

BAD = {"nan": np.nan, "infinite": np.inf, "negative": -0.25}


@pytest.mark.parametrize("fault", BAD)
@given(
    kind=st.sampled_from(KINDS),
    vector=st.sampled_from("pq"),
    place=st.integers(0, 3),
    entry=st.integers(0, 10),
)
@settings(max_examples=25)
def test_bad_entries_are_found_where_they_are(fault, kind, vector, place, entry):
    rows = {name: np.tile(np.full(11, 1 / 11).astype(dtype(kind)), (4, 1)) for name in "pq"}
    rows[vector][place, entry] = BAD[fault]
    finding = only(audit(**rows))
    assert (finding.kind, finding.vector) == (fault, vector)
    assert (finding.position, finding.entry) == (place + 1, entry + 1)
    assert float(finding.value) == BAD[fault] or fault == "nan"


@given(law_pairs(), st.data())
def test_a_negative_fraction_is_found(pair, data):
    p = list(pair[0])
    entry = data.draw(st.integers(0, len(p) - 1))
    p[entry] -= 2
    found = audit(tuple(p), pair[1])
    assert [(f.kind, f.entry) for f in found.findings] == [("negative", entry + 1)]


@pytest.mark.parametrize("kind", KINDS)
@given(
    vector=st.sampled_from("pq"), place=st.integers(0, 2), more=st.sampled_from([-1.0, 1.0, 60.0])
)
@settings(max_examples=12)
def test_a_sum_beyond_what_the_type_explains_is_found(kind, vector, place, more):
    rows = {name: np.tile(np.full(16, 1 / 16).astype(dtype(kind)), (3, 1)) for name in "pq"}
    # Twice what is explained, or far more, and a number of the type at that.
    limit = explained(1.0, 16, kind)
    rows[vector][place, 5] += dtype(kind).type(more * max(2 * limit, 2.0**-7))
    total = sum(Fraction(float(x)) for x in rows[vector][place])
    found = [f for f in audit(**rows).findings if f.kind == "sum"]
    assert [(f.vector, f.position) for f in found] == [(vector, place + 1)]
    assert float(found[0].value) == float(total)
    assert ("too much" if more > 0 else "too little") in found[0].sentence


def test_sums_of_exact_vectors_are_exact():
    p = [Fraction(1, 3)] * 2 + [Fraction(1, 3) + Fraction(1, 10**30)]
    finding = only(audit(p, ["0.5", "0.25", "0.25"]))
    assert finding.kind == "sum"
    assert f"{'1e-30'} too much" in finding.sentence


@pytest.mark.parametrize(
    ("kind", "amount"), [("float16", Fraction(-1, 4096)), ("bfloat16", Fraction(1, 1024))]
)
def test_pr05_what_half_precision_explains_is_said_with_its_size(kind, amount):
    row = stored(fractions(["1/10"] * 10), kind)
    found = audit(row, row)
    assert found.clean
    assert Fraction(found.target_defect[0]) == amount
    (note,) = [note for note in found.notes if note.startswith("p misses 1")]
    assert f"{float(abs(amount)):.3g}" in note
    assert kind in note


def test_a_row_that_was_rounded_before_is_recognised():
    row = stored(fractions(["1/10"] * 10), "float16").astype(np.float64)
    found = audit(row, row)
    assert kinds(found) == {"sum"}
    assert "float16" in found.findings[0].sentence


@pytest.mark.parametrize(
    ("row", "places"),
    [
        (["0.333333"] * 3, 6),
        ([0.333333] * 3, 6),
        (["0.02"] * 46 + ["0.020001"] * 4, 6),
        (["0.02000008"] * 50, None),
        (["0.33"] * 3, 2),
        (["0.3"] * 3, None),
        (["0.33", "0.33", "0.3"], None),
        (["1/3", "0.333333", "0.333333"], None),
    ],
)
def test_sums_of_printed_decimals_are_explained_by_their_number(row, places):
    found = audit(row, [Fraction(1, len(row))] * len(row))
    (sentence,) = [finding.sentence for finding in found.findings if finding.kind == "sum"]
    if places is None:
        assert "Rounding to" not in sentence
    else:
        assert f"Rounding to {places} decimals explains it" in sentence
        assert "Look for" not in sentence


def test_sentences_begin_with_a_capital_and_symbols_do_not():
    found = audit(np.array([0.5, 0.5]), [0.5, np.nextafter(0.5, 0)], tokens=["a"])
    sentences = {finding.kind: finding.sentence for finding in found.findings}
    assert sentences["residual-without-rejection"].startswith("p exceeds q here")
    assert sentences["different-vocabularies"].startswith("p has 2 entries and there is 1 label;")
    assert not any(sentence != sentence.strip() for sentence in sentences.values())


def test_the_detail_of_fractions_is_exact():
    third = Fraction(1, 3)
    found = audit([third, 2 * third], ["0.5", "0.5"])
    assert [row.residual for row in found.detail] == [0.0, 1.0]
    row = audit([third] * 3, [third / 2, third / 2, 2 * third]).detail[1]
    assert (row.target, row.draft, row.accepted, row.residual) == (1 / 3, 1 / 6, 1 / 6, 0.5)


def test_rows_of_different_types_are_said_to_be_compared_as_stored():
    p, q = (
        np.array(law, float).astype(kind)
        for law, kind in (([0.1] * 10, "float32"), ([0.1] * 10, "float16"))
    )
    notes = audit(p, q).notes
    assert any("p has the type float32 and q the type float16" in note for note in notes)
    assert any("The totals of p and q differ" in note for note in notes)
    assert not audit(p, p).notes


def test_logarithms_are_recognised():
    found = audit(np.log([0.25, 0.75]), [0.25, 0.75])
    assert found.counted == {"negative": 2}
    assert "log-probabilities" in found.findings[0].sentence


def test_rejection_without_residual_and_its_mirror():
    below = np.array([0.5, np.nextafter(0.5, 0)])
    one = np.array([0.5, 0.5])
    assert only(audit(below, one)).kind == "rejection-without-residual"
    assert only(audit(below, one)).entry == 2
    assert only(audit(one, below)).kind == "residual-without-rejection"
    halves = below.astype(np.float16)
    halves[1] = np.nextafter(halves[1], np.float16(0))
    assert only(audit(halves, one.astype(np.float16))).kind == "rejection-without-residual"


# ---------------------------------------------------------------- vocabularies


def test_another_length_is_one_finding_and_each_is_still_looked_at():
    p, q = np.full((2, 8), 1 / 8), np.full((2, 7), 1 / 7)
    q[1, 3] = np.nan
    found = audit(p, q)
    assert [f.kind for f in found.findings] == ["different-vocabularies", "nan"]
    assert "padding" in found.findings[0].sentence
    assert found.findings[1].position == 2
    assert np.isnan(found.acceptance).all()
    few = audit(np.full(8, 1 / 8), np.full(2, 1 / 2))
    assert "draft-to-target map" in only(few).sentence


@given(st.permutations(["a", "b", "c", "d"]))
def test_another_order_is_named_at_its_first_token(order):
    law = [0.25] * 4
    found = audit(law, law, tokens=["a", "b", "c", "d"], draft_tokens=order)
    if order == ["a", "b", "c", "d"]:
        assert found.clean
        return
    finding = only(found)
    first = next(n for n, (a, b) in enumerate(zip("abcd", order, strict=True), 1) if a != b)
    assert (finding.kind, finding.entry, finding.value) == (
        "different-order",
        first,
        order[first - 1],
    )


def test_other_tokens_are_named():
    finding = only(audit([0.5, 0.5], [0.5, 0.5], tokens=["a", "b"], draft_tokens=["a", "<pad>"]))
    assert (finding.kind, finding.entry, finding.token) == ("different-vocabularies", 2, "<pad>")
    short = only(audit([0.5, 0.5], [0.5, 0.5], tokens=["a"]))
    assert (short.kind, short.vector) == ("different-vocabularies", "tokens")


def test_padding_that_only_one_of_them_uses_is_a_note():
    p = np.tile([0.5, 0.5, 0, 0], (3, 1))
    q = np.full((3, 4), 0.25)
    found = audit(p, q)
    assert found.clean
    assert any("last 2 entries of p" in note and "padding" in note for note in found.notes)
    assert not any("padding" in note for note in audit(p, p).notes)
    assert not any("padding" in note for note in audit(q, q).notes)


# ---------------------------------------------------------------- claims and their mistakes


@given(ticket_pairs(), st.sampled_from([from_target, without_the_rejected]), st.booleans())
@example(WORKED, from_target, True)
def test_a_wrong_output_is_found_and_its_mistake_is_named(pair, rule, in_floats):
    faulty = play(*pair, rule) if _playable(pair, rule) else None
    if faulty is None:
        return
    slug = {
        from_target: "resample-from-target",
        without_the_rejected: "only-rejected-removed",
    }[rule]
    p, q, output = (
        tuple(np.array([float(x) for x in law])) if in_floats else law
        for law in (*pair, faulty.output)
    )
    found = audit(p, q, output=output)
    if faulty.output == pair[0]:
        assert not found.findings
        return
    finding = only(found)
    assert finding.kind == "wrong-output"
    assert slug in finding.mistakes


def _playable(pair, rule):
    """Whether every rejected token leaves something to draw."""
    try:
        play(*pair, rule)
    except (AssertionError, ValueError, ZeroDivisionError):
        return False
    return True


STEP = [slug for slug, mistake in MISTAKES.items() if not mistake.in_blocks]


@pytest.mark.parametrize("slug", STEP)
@pytest.mark.parametrize("kind", ["exact", "float64", "float32"])
def test_every_mistake_is_recognised_by_its_own_claims(slug, kind):
    p, q = MISTAKES[slug].witness
    law = MISTAKES[slug].run(p, q)
    right = play(p, q)
    if kind != "exact":
        p, q = stored(p, kind), stored(q, kind)
    claims = {
        "output": (law.output, right.output),
        "residual": (law.replacement, right.replacement),
    }
    for name, (claim, truth) in claims.items():
        if claim is None or truth is None:
            continue
        if kind != "exact":
            claim = stored(claim, kind)
        found = audit(p, q, **{name: claim})
        if all(abs(float(a) - float(b)) < 1e-6 for a, b in zip(claim, truth, strict=True)):
            assert kind != "exact" or slug == "floor-residual" or found.clean
            continue
        finding = only(found)
        assert finding.kind == f"wrong-{name}"
        assert slug in finding.mistakes


def test_a_residual_that_was_not_divided_is_recognised():
    finding = only(audit(*WORKED, residual=["0", "0.3", "0.1"]))
    assert finding.mistakes == (UNDIVIDED,)
    assert "not divided by Z" in finding.sentence


def test_mistakes_that_cannot_be_told_apart_are_all_named():
    # With one token that can be rejected, several rules replace alike.
    law = MISTAKES["resample-from-target"].run(["0.5", "0.5"], ["0.25", "0.75"])
    finding = only(audit(["0.5", "0.5"], ["0.25", "0.75"], residual=law.replacement))
    assert len(finding.mistakes) > 1
    assert "cannot tell them apart" in finding.sentence


def test_wrong_claims_are_named_at_the_worst_positions():
    p, q = (np.tile(stored(law, "float64"), (150, 1)) for law in WORKED)
    found = audit(p, q, residual=p)
    assert [f.position for f in found.findings if f.mistakes] == list(range(1, MOST_NAMED + 1))
    assert any("Of the 150 positions where residual is wrong" in note for note in found.notes)
    few = audit(p[:12], q[:12], residual=p[:12])
    assert all(f.mistake == "resample-from-target" for f in few.findings)
    assert not few.notes
    assert most_named(3) == MOST_NAMED
    assert most_named(10_000) < MOST_NAMED
    assert most_named(2_000_000) == 1
    residual = p.copy()
    residual[120, 0] += 0.3
    found = audit(p, q, residual=residual)
    assert found.counted == {"wrong-residual": 150}
    assert len(found.findings) == MOST_KEPT
    residual = np.tile([0, 0.75, 0.25], (150, 1))
    residual[[0, 120]] = [0, 0.7, 0.3], p[0]
    found = audit(p, q, residual=residual)
    named = [f for f in found.findings if f.mistakes]
    assert [(f.position, f.mistake) for f in named] == [(121, "resample-from-target")]


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_claims_from_before_the_rows_were_rounded_are_right(kind):
    rng = np.random.default_rng(1)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(50), size=2)
        owed = np.maximum(p - q, 0)
        found = audit(
            p.astype(dtype(kind)),
            q.astype(dtype(kind)),
            residual=owed / owed.sum(),
            acceptance=np.minimum(p, q).sum(),
            output=p,
        )
        assert found.clean, found.verdict


@pytest.mark.parametrize(
    ("p", "q", "claim", "rounded"),
    [
        ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], {"acceptance": 0.78}, "p and q"),
        ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], {"output": [0.52, 0.24, 0.24]}, "p and q"),
        ([0.2, 0.5, 0.3], [0.6, 0.2, 0.2], {"acceptance": 0.609375}, "the claim"),
        ([0.2, 0.5, 0.3], [0.6, 0.2, 0.2], {"acceptance": 0.6 + 1e-14}, None),
    ],
)
def test_short_binary_fractions_leave_no_more_to_rounding_than_their_type(p, q, claim, rounded):
    finding = only(audit(p, q, **claim))
    said = f"Every entry of {rounded} is a number of" in finding.sentence
    assert said == (rounded is not None)
    halves = (np.array(row, np.float16) for row in (p, q))
    if "output" not in claim:
        assert audit(*halves, acceptance=claim["acceptance"]).clean == (rounded is None)


def test_claims_are_held_to_their_own_type():
    p, q = np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.2, 0.2])
    assert audit(p, q, residual=[0, 0.75, 0.25]).clean
    assert audit(p, q, residual=np.array([0, 0.75, 0.25], np.float16)).clean
    off = audit(p, q, residual=[0, 0.75 + 1e-12, 0.25])
    assert only(off).entry == 2


def test_no_residual_is_claimed_by_zeros_or_not_at_all():
    p = [0.5, 0.5]
    assert audit(p, p, residual=[0, 0]).clean
    assert only(audit(p, p, residual=[0.5, 0.5])).kind == "wrong-residual"
    assert {f.kind for f in audit(p, p, residual=[np.nan] * 2).findings} == {"nan"}


def test_acceptance_one_or_for_each_position():
    p, q = ([[float(x) for x in law]] * 2 for law in WORKED)
    assert audit(p, q, acceptance=[0.6, 0.6]).clean
    finding = only(audit(p, q, acceptance=[0.6, 0.5]))
    assert (finding.kind, finding.position, finding.entry) == ("wrong-acceptance", 2, None)
    assert "right is 0.6" in finding.sentence
    assert audit(*WORKED, acceptance="3/5").clean


@given(law_pairs(most=9))
def test_closed_forms_for_long_vectors_are_the_gallerys(pair):
    p, q = (stored(law, "float64") for law in pair)
    laws = {suspect.slug: suspect for suspect in suspects(p, q)}
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(suspects_module, "LONGEST", 0)
        found = suspects(p, q)
    assert [suspect.slug for suspect in found] == list(suspects_module.LONG)
    for suspect in found:
        if suspect.slug not in laws:  # no law: 0/0 there
            continue
        gallerys = laws[suspect.slug]
        for name in ("kept", "replaced", "output", "acceptance", "replacement"):
            own, theirs = getattr(suspect, name), getattr(gallerys, name)
            if name == "replacement" and (theirs is None or not np.any(suspect.replaced)):
                continue  # what is never drawn has any law
            expected = [float(x) for x in np.atleast_1d(theirs)]
            assert np.allclose(own, expected, rtol=1e-6, atol=1e-12), (suspect.slug, name)


def test_long_vectors_are_held_against_closed_forms():
    rng = np.random.default_rng(8)
    p, q = rng.dirichlet(np.ones(LONGEST + 1), size=2)
    found = audit(p, q, residual=p, output=np.minimum(p, q) + (1 - np.minimum(p, q).sum()) * p)
    assert [f.mistakes for f in found.findings] == [("resample-from-target",)] * 2
    assert sum("the others take too long" in note for note in found.notes) == 1
    small = audit(p[:LONGEST] / p[:LONGEST].sum(), q[:LONGEST] / q[:LONGEST].sum())
    assert not small.notes


def test_the_gallery_is_recognised_in_vectors_of_many_tokens():
    # The gallery adds so many floats one by one that its law is off by more than one rounding.
    p, q = np.random.default_rng(2).dirichlet(np.ones(6_000), size=2)
    assert only(audit(p, q, residual=p)).mistakes == ("resample-from-target",)


def test_counts_that_do_not_tell_mistakes_apart_name_them_all():
    rng = np.random.default_rng(8)
    p, q = rng.dirichlet(np.ones(500), size=2)
    kept = np.minimum(p, q)
    law = kept + (1 - kept.sum()) * p
    found = only(audit(p, q, counts=rng.multinomial(100_000, law / law.sum())))
    assert {"resample-from-target", "only-rejected-removed"} <= set(found.mistakes)
    assert "These counts cannot tell them apart" in found.sentence


# ---------------------------------------------------------------- counts


def shares(law, count):
    """Counts as close to a law as whole numbers are."""
    whole = sum(map(float, law)) or 1
    counts = [int(float(mass) / whole * count) for mass in law]
    counts[int(np.argmax(counts))] += count - sum(counts)
    return counts


@pytest.mark.parametrize("slug", [s for s in STEP if MISTAKES[s].verdict == "biased"])
@pytest.mark.parametrize("split", [False, True])
def test_counts_of_every_biased_mistake_are_recognised(slug, split):
    p, q = MISTAKES[slug].witness
    law = MISTAKES[slug].run(p, q)
    count = 10**6
    parts = law.kept, law.replaced
    kept, replaced = (shares(part, round(float(sum(part)) * count)) for part in parts)
    counts = {"counts": [a + b for a, b in zip(kept, replaced, strict=True)]}
    if split:
        counts["accepted_counts"] = kept
    needed = evidence_module.draws_needed(tuple(law.output), p)
    found = audit(p, q, **counts)
    if needed is None or needed > count:
        return
    assert "output-counts" in kinds(found)
    finding = next(f for f in found.findings if f.kind == "output-counts")
    assert slug in finding.mistakes
    assert "draws show it" in finding.sentence


def test_counts_that_have_the_law_are_clean_with_the_power_stated():
    kept, replaced = (
        shares(fractions("1/5 1/5 1/5"), 60_000),
        shares(fractions("0 3/10 1/10"), 40_000),
    )
    found = audit(*WORKED, counts=np.add(kept, replaced), accepted_counts=kept)
    assert found.clean
    assert {test.kind for test in found.tests} == {
        "output-counts",
        "kept-counts",
        "kept-share",
        "corrections",
    }
    assert any("100,000 draws would show" in note for note in found.notes)
    assert any("coin that rejected" in note for note in found.notes)


COUNTED = {
    "counts": [200, 500, 300],
    "accepted_counts": [200, 200, 200],
    "correction_counts": [0, 300, 100],
    "proposed_counts": [600, 200, 200],
}


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_level_is_shared_by_the_tests_that_are_made(size):
    for names in combinations(COUNTED, size):
        counts = {name: COUNTED[name] for name in names}
        found = audit(*WORKED, **counts)
        assert found.clean
        rows = {name: np.array([values]) for name, values in counts.items()}
        level = Counted(Book(None, None), rows, 7, Meter(3, "exact", "exact")).level
        assert level == pytest.approx(evidence_module.LEVEL / (7 * len(found.tests)))


def test_clean_counts_are_rarely_accused():
    rng = np.random.default_rng(5)
    accused = 0
    for _ in range(200):
        *kept, rejected = rng.multinomial(2_000, [0.2, 0.2, 0.2, 0.4])
        replaced = rng.multinomial(rejected, [0, 0.75, 0.25])
        found = audit(*WORKED, counts=np.add(kept, replaced), accepted_counts=kept)
        accused += not found.clean
    # At most 1 in 100 is expected: more than 8 of 200 has a probability below 2e-4.
    assert accused <= 8


def test_a_matrix_of_counts_shares_one_level():
    rng = np.random.default_rng(6)
    p, q = (np.tile([float(x) for x in law], (500, 1)) for law in WORKED)
    counts = rng.multinomial(5_000, [0.2, 0.5, 0.3], size=500)
    assert audit(p, q, counts=counts).clean
    counts[321] = rng.multinomial(5_000, [0.3, 0.45, 0.25])
    finding = only(audit(p, q, counts=counts))
    assert (finding.kind, finding.position) == ("output-counts", 322)


def test_mistakes_behind_counts_are_named_at_the_worst_positions():
    p, q = (np.tile([float(x) for x in law], (30, 1)) for law in WORKED)
    counts = np.tile([300, 100, 100], (30, 1))
    counts[25] = [600, 200, 200]
    found = audit(p[:12], q[:12], counts=counts[:12])
    assert all(f.mistake for f in found.findings)
    found = audit(p, q, counts=counts)
    named = [f.position for f in found.findings if f.mistakes]
    assert named == [*range(1, MOST_NAMED), 26]
    assert any("Of the 30 positions where counts fail" in note for note in found.notes)


def test_two_counts_give_the_third():
    kept, replaced = [200, 200, 200], [0, 300, 100]
    one = audit(*WORKED, counts=np.add(kept, replaced), accepted_counts=kept)
    two = audit(*WORKED, correction_counts=replaced, accepted_counts=kept)
    three = audit(*WORKED, correction_counts=replaced, counts=np.add(kept, replaced))
    assert one.tests == two.tests == three.tests
    assert len(one.tests) == 4


def test_proposals_where_q_is_0():
    found = audit([0.5, 0.5, 0], [0.5, 0, 0.5], proposed_counts=[500, 3, 500])
    (finding,) = [f for f in found.findings if f.kind == "proposed-at-zero"]
    assert (finding.entry, finding.value) == (2, "3")
    kept = audit([0.5, 0.5, 0], [0.5, 0, 0.5], counts=[5, 5, 1], accepted_counts=[5, 0, 1])
    (finding,) = [f for f in kept.findings if f.kind == "kept-at-zero"]
    assert finding.entry == 3


def test_proposals_from_another_law_than_q():
    found = audit(*WORKED, proposed_counts=[7_000, 1_500, 1_500])
    assert only(found).kind == "proposals"
    assert audit(*WORKED, proposed_counts=[6_000, 2_000, 2_000]).clean


def test_the_kept_share_against_alpha():
    found = audit(*WORKED, counts=[200, 500, 300], accepted_counts=[100, 100, 100])
    assert "kept-share" in kinds(found)


@pytest.mark.parametrize("times", [1, 10**6, 10**9, 10**12])
def test_the_kept_share_of_very_many_draws(times):
    counts = np.array([2_000, 5_000, 3_000]) * times
    kept = np.array([2_000, 2_000, 2_000]) * times
    assert audit(*WORKED, counts=counts, accepted_counts=kept).clean
    assert "kept-share" in kinds(audit(*WORKED, counts=counts, accepted_counts=kept // 2))


def test_corrections_without_a_residual():
    found = audit([0.5, 0.5], [0.5, 0.5], counts=[50, 51], accepted_counts=[50, 50])
    assert kinds(found) >= {"corrections"}
    assert next(f for f in found.findings if f.kind == "corrections").entry == 2


@pytest.mark.parametrize(
    ("counts", "entry"),
    [
        ({"counts": [1, -2, 3]}, 2),
        ({"counts": [1.5, 2, 3]}, 1),
        ({"counts": [1, 2, np.nan]}, 3),
        ({"counts": [1, 1e300, 3]}, 2),
        ({"counts": [5, 5, 5], "accepted_counts": [5, 6, 5]}, 2),
        ({"accepted_counts": [5, 6, 5], "proposed_counts": [9, 9, 4]}, 3),
        ({"counts": [5, 5, 5], "accepted_counts": [5, 0, 5], "correction_counts": [0, 4, 0]}, 2),
    ],
)
def test_counts_that_cannot_be(counts, entry):
    finding = only(audit(*WORKED, **counts))
    assert (finding.kind, finding.entry) == ("impossible-counts", entry)


def test_counts_that_look_like_no_mistake_say_so():
    found = audit(*WORKED, counts=[1_900, 50, 50])
    assert only(found).mistakes == ()
    assert any("no mistake of the gallery" in note for note in found.notes)


def test_long_whole_numbers_are_not_written_out():
    found = audit([10**200, 1], [1, 0], counts=[10**200, 0])
    assert {"sum", "impossible-counts"} <= kinds(found)
    for finding in found.findings:
        assert len(finding.value) < 20
        assert all(len(word) < 25 for word in finding.sentence.split())


@pytest.mark.parametrize("tiny", [5e-324, 1e-300, 1e-160])
def test_entries_next_to_0_do_not_cost_the_verdict(tiny):
    for p, q in ([0.5, 0.5, tiny], [0.25, 0.75, 0.0]), ([0.5, 0.5, 0.0], [0.25, 0.75, tiny]):
        assert audit(p, q, counts=[1, 1, 0]).clean
        assert audit(p, q, accepted_counts=[1, 1, 0]).clean


def test_kept_counts_alone_are_tested_and_what_is_missing_is_said():
    found = audit([0.2, 0.5, 0.3], [0.6, 0.2, 0.2], accepted_counts=[2, 2, 2])
    assert found.clean
    assert [test.kind for test in found.tests] == ["kept-counts"]
    assert any("How many were proposed is missing" in note for note in found.notes)
    apart = audit([0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], accepted_counts=[1, 0, 0, 1])
    assert kinds(apart) == {"kept-at-zero"}


def test_a_law_without_mass_does_not_cost_the_verdict():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suspects_module, "LONGEST", 0)
        assert kinds(audit([0.5, 0.5], [0.0, 0.0], counts=[1, 2])) == {
            "sum",
            "residual-without-rejection",
        }


def test_the_level_of_all_tests_is_stated_where_there_are_any():
    words = "All tests of this audit together accuse right counts 1% of the time"
    assert any(words in note for note in audit(*WORKED, counts=[2, 5, 3]).notes)
    assert not audit(*WORKED, counts=[0, 0, 0]).notes[1:]


def test_what_draws_would_do_is_more_than_there_are_and_readable():
    assert many(1, "draw") == "1 draw"
    assert many(12_345, "draw") == "12,345 draws"
    assert many(25 * 10**297, "draw") == "2.5e+298 draws"
    assert counted_module._percent(0.8999) == "89%"
    assert counted_module._p_value(7e-309) == counted_module._p_value(0) == "below 1e-300"
    shift = 1e-140
    notes = audit([1 - shift, shift], [1.0, 0.0], counts=[10**15, 0]).notes
    assert all(len(word) < 30 for note in notes for word in note.split())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("vector", ["p", "q", "residual", "output", "acceptance", "counts"])
@pytest.mark.parametrize("size", [1e308, 1e200, 5e-324, np.inf, np.nan, -1e308])
def test_no_number_makes_a_warning(vector, size):
    given = {"p": [0.2, 0.5, 0.3], "q": [0.6, 0.2, 0.2], vector: [size, size, 0.3]}
    if vector == "acceptance":
        given[vector] = [size]
    assert not audit(**given).clean
    # Z is next to 0 here, and what is divided by it may be infinite.
    audit([0.5, 0.5, 5e-324], [0.5, 0.5, 0.0], residual=[size] * 3)


def test_no_counts_at_all_are_no_finding():
    assert audit(*WORKED, counts=[0, 0, 0], accepted_counts=[0, 0, 0]).clean


def test_suspects_are_right_about_the_worked_example():
    found = {suspect.slug: suspect for suspect in suspects(*WORKED)}
    assert tuple(found["resample-from-target"].output) == play(*WORKED, from_target).output


# ---------------------------------------------------------------- size, order, refusals


class Lazy:
    """Rows that are made when they are asked for, in one buffer, and a record of who asked."""

    def __init__(self, rows):
        self.rows, self.asked = rows, []
        self.shape, self.dtype = rows.shape, rows.dtype
        self.buffer = np.empty(rows.shape[1], rows.dtype)

    def __getitem__(self, position):
        self.asked.append(position)
        self.buffer[:] = self.rows[position]
        return self.buffer


@pytest.mark.parametrize("kind", FLOATS)
def test_lazy_rows_are_read_once_and_in_order(kind):
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(20), size=(2, 9)).astype(kind)
    wrong = rng.dirichlet(np.ones(20), size=9)
    lazy = [Lazy(rows) for rows in (p, q, wrong)]
    found = audit(lazy[0], lazy[1], residual=lazy[2])
    assert [rows.asked for rows in lazy] == [list(range(9))] * 3
    plain = audit(p, q, residual=wrong)
    assert found.findings == plain.findings
    assert found.acceptance.tolist() == plain.acceptance.tolist()


def test_findings_of_a_kind_are_bounded_and_counted():
    p = np.full((3, 1000), np.nan)
    found = audit(p, np.full((3, 1000), 1e-3))
    assert found.counted == {"nan": 3000}
    assert len(found.findings) <= MOST_KEPT + 3
    assert "3,000" in found.verdict


def test_one_position_of_many():
    p, q = (np.tile([float(x) for x in law], (5, 1)) for law in WORKED)
    p[3, 0] = np.nan
    found = audit(p, q, position=4)
    assert (found.positions, found.first, only(found).position) == (1, 4, 4)
    other = audit(p, q, position=2)
    assert other.clean
    assert other.detail[0].entry == 1
    assert other.detail[0].residual == 0
    assert audit(p, q, position=np.int64(2)).clean
    for position in (0, 6, -1, True, 1.0, "1", [1]):
        with pytest.raises(LabError, match="accepted are 1 to 5"):
            audit(p, q, position=position)


def test_the_bonus_position():
    p, q = np.full((3, 4), 0.25), np.full((2, 4), 0.25)
    found = audit(p, q)
    assert found.clean
    assert any("bonus" in note for note in found.notes)
    p[2, 1] = np.nan
    assert only(audit(p, q)).position == 3
    with pytest.raises(LengthError, match="bonus"):
        audit(q, p)


def test_progress_is_told():
    told = []
    p = np.full((4, 2), 0.5)
    audit(p, p, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("mix", [(a, b) for a in KINDS for b in KINDS])
def test_types_may_differ(mix):
    p, q = (stored(law, kind) for law, kind in zip(WORKED, mix, strict=True))
    found = audit(p, q)
    assert found.clean
    assert (found.target_type, found.draft_type) == mix
    assert found.acceptance[0] == pytest.approx(0.6, abs=0.01)
    assert audit(p, WORKED[1]).draft_type == "exact"


@pytest.mark.parametrize(
    ("p", "q", "words"),
    [
        ([], [], "no entries"),
        (np.zeros((2, 0)), np.zeros((2, 0)), "shape"),
        (np.zeros((2, 2, 2)), np.zeros((2, 2)), "shape"),
        (np.zeros(2, complex), np.zeros(2), "complex128"),
        ([[0.5, 0.5], [1.0]], [0.5, 0.5], "row 2 has 1 entry and row 1 has 2"),
        ([[]], [1.0], "row 1 has no entries"),
        ({0.5, 0.25}, [0.5, 0.5], "p is no list"),
        ([{0.5}, {0.25}], [0.5, 0.5], "not a number"),
        (np.ma.array([0.5, 0.5], mask=[0, 1]), [0.5, 0.5], "p is an array with a mask"),
        ([np.ma.array([0.5, 0.5], mask=[0, 1])], [0.5, 0.5], "not a number"),
        ([0.5, object()], [0.5, 0.5], r"entry 2 \(“object”\)"),
        ([10**400, 1], [1, 0], "p, entry 1 .* larger than floats hold"),
        ([0.5, 10**400], [1, 0], "p, entry 2 .* larger than floats hold"),
        ([0.5, "x"], [0.5, 0.5], "cannot be read as a number"),
        ([0.5, None], [0.5, 0.5], "not a number"),
        (3, [1], "no list"),
        (np.zeros((2_000_001, 1), np.float16), [1.0], "up to 2,000,000"),
        (np.zeros((1, 2_000_001), np.float16), [1.0], "up to 2,000,000"),
        (np.full((5, 2), 0.5), np.full((3, 2), 0.5), "5 positions and q has 3"),
    ],
)
def test_what_is_no_vector_is_refused(p, q, words):
    with pytest.raises(LabError, match=words):
        audit(p, q)


@pytest.mark.parametrize("name", ["residual", "output", "counts", "acceptance"])
def test_claims_of_another_shape_are_refused(name):
    with pytest.raises(LengthError, match=name):
        audit([0.5, 0.5], [0.5, 0.5], **{name: [1, 0, 0]})


def test_every_kind_has_a_title_and_arrays_are_read_only():
    found = audit(*WORKED)
    assert len(set(TITLES.values())) == len(TITLES)
    for name in ("acceptance", "rejection", "excess", "target_defect", "draft_defect"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(found, name)[0] = 0


def test_a_mask_that_hides_nothing_is_no_matter():
    p = np.ma.array([[0.5, 0.5]] * 2, mask=False)
    assert audit(p, p, residual=np.zeros((2, 2))).clean


def test_inputs_are_left_alone():
    rng = np.random.default_rng(9)
    for kind in KINDS:
        p, q = rng.dirichlet(np.ones(9), size=2).astype(dtype(kind))
        before = p.tobytes(), q.tobytes()
        audit(p, q, residual=p, output=p, counts=[1] * 9)
        assert (p.tobytes(), q.tobytes()) == before


ANY = st.one_of(
    st.floats(),
    st.floats(0, 1),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 5e-324, 1e308, float("nan"), float("inf")]),
)


@given(st.integers(1, 4), st.integers(1, 2), st.sampled_from(KINDS), st.data())
@settings(max_examples=300)
def test_any_numbers_at_all_give_an_audit(tokens, positions, kind, data):
    def rows(entry):
        flat = data.draw(st.lists(entry, min_size=tokens * positions, max_size=tokens * positions))
        return np.reshape(flat, (positions, tokens))

    with np.errstate(over="ignore"):
        p, q = (rows(ANY).astype(dtype(kind)) for _ in "pq")
    claims = data.draw(st.sets(st.sampled_from(["residual", "output"])))
    names = ["counts", "accepted_counts", "correction_counts", "proposed_counts"]
    counted = data.draw(st.sets(st.sampled_from(names)))
    whole = st.one_of(st.integers(0, 9), st.sampled_from([0, 10**6, 10**15]))
    with np.errstate(all="raise", under="ignore"):
        found = audit(
            p,
            q,
            **{name: rows(ANY) for name in claims},
            **{name: rows(whole) for name in counted},
            acceptance=data.draw(st.none() | st.just([data.draw(ANY)] * positions)),
        )
    bad = sum(
        int((~np.isfinite(row) | (row < 0)).sum()) for row in (p.astype(float), q.astype(float))
    )
    assert sum(f.vector in "pq" and f.kind in BAD for f in found.findings) == bad
    assert found.verdict


class Tensor:
    """An array of another library, whose types are not NumPy's."""

    dtype = "torch.float32 of nobody"

    def __init__(self, values):
        self.values = values
        self.shape = np.shape(values)

    def __array__(self, dtype=None, copy=None):
        if self.values is None:
            raise TypeError("no")
        return np.array(self.values, np.float32)


def test_arrays_of_another_library():
    assert audit(Tensor([0.25, 0.75]), Tensor([[0.5, 0.5]])).target_type == "float32"
    broken = Tensor([0.25, 0.75])
    broken.values = None
    with pytest.raises(LabError, match="cannot be turned"):
        audit(broken, [0.5, 0.5])
