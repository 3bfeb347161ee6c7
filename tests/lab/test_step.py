"""One step against the sampler's experiment, played ticket by ticket."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import fractions, play
from strategies import FLOATS, float_pairs, law_pairs, ticket_pairs

from lab import LabError, one_step
from lab.errors import LengthError, TotalError
from lab.step import exact_step

# ---------------------------------------------------------------- worked example and cases

WORKED = fractions("1/5 1/2 3/10"), fractions("3/5 1/5 1/5")


def check(step, accepted, alpha, z, residual, output):
    assert step.accepted == fractions(accepted)
    assert step.acceptance == Fraction(alpha)
    assert step.rejection == Fraction(z)
    assert step.residual == (None if residual is None else fractions(residual))
    assert step.output == step.target == fractions(output)


def test_worked_example():
    # Design, section 2
    step = one_step(["0.2", "0.5", "0.3"], ["0.6", "0.2", "0.2"])
    check(step, "1/5 1/5 1/5", "3/5", "2/5", "0 3/4 1/4", "1/5 1/2 3/10")
    assert step.shortfall == step.correction == fractions("0 3/10 1/10")
    assert step.excess == fractions("2/5 0 0")
    assert step.case == "partial"


CASES = {
    "OS01": (
        "0.125 0.375 0.5",
        "0.125 0.375 0.5",
        "1/8 3/8 1/2",
        "1",
        "0",
        None,
        "1/8 3/8 1/2",
        "equal",
    ),
    "OS01 contrast": (
        "0.125 0.375 0.5",
        "0.125 0.376 0.499",
        "1/8 3/8 499/1000",
        "999/1000",
        "1/1000",
        "0 0 1",
        "1/8 3/8 1/2",
        "partial",
    ),
    "OS02": ("0 1 0 0", "0 1 0 0", "0 1 0 0", "1", "0", None, "0 1 0 0", "equal"),
    "OS03": ("0 1 0", "1 0 0", "0 0 0", "0", "1", "0 1 0", "0 1 0", "disjoint"),
    "OS05": (
        "0.55 0.25 0.15 0.05",
        "0.65 0.15 0.15 0.05",
        "11/20 3/20 3/20 1/20",
        "9/10",
        "1/10",
        "0 1 0 0",
        "11/20 1/4 3/20 1/20",
        "partial",
    ),
    "OS05 one-hot": (
        "0.55 0.25 0.15 0.05",
        "1 0 0 0",
        "11/20 0 0 0",
        "11/20",
        "9/20",
        "0 5/9 1/3 1/9",
        "11/20 1/4 3/20 1/20",
        "partial",
    ),
    "IN18 padded": (
        "0.4 0.3 0.2 0.1",
        "0.5 0.3 0.2 0",
        "2/5 3/10 1/5 0",
        "9/10",
        "1/10",
        "0 0 0 1",
        "2/5 3/10 1/5 1/10",
        "partial",
    ),
    "EX02": (
        "0.1234567890123456789 0.8765432109876543211",
        "0.1234567890123456788 0.8765432109876543212",
        "308641972530864197/2500000000000000000 8765432109876543211/10000000000000000000",
        "9999999999999999999/10000000000000000000",
        "1/10000000000000000000",
        "1 0",
        "1234567890123456789/10000000000000000000 8765432109876543211/10000000000000000000",
        "partial",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    p, q, *expected, case = CASES[name]
    step = one_step(p.split(), q.split())
    check(step, *expected)
    assert step.case == case


def test_os03_raw_numbers_would_let_the_wrong_token_pass():
    # Token 0 is proposed by the greedy draft; on raw numbers its ratio is 9/8, so it always passes.
    raw = one_step(["0.45", "0.5", "0.05"], ["0.4", "0.35", "0.25"])
    assert raw.target[0] / raw.draft[0] == Fraction(9, 8)
    assert raw.excess[0] == 0
    greedy = one_step([0, 1, 0], [1, 0, 0])
    assert greedy.excess[0] == 1
    assert greedy.output == (0, 1, 0)


def test_in18_different_vocabularies_are_refused():
    with pytest.raises(LengthError, match=r"^p has 4 entries and q has 3; "):
        one_step(["0.4", "0.3", "0.2", "0.1"], ["0.5", "0.3", "0.2"])
    # Cutting p to q's three entries is no way out: a tenth of the mass would be gone.
    with pytest.raises(TotalError, match=r"^p sums to 0\.9, which is 0\.1 too little"):
        one_step(["0.4", "0.3", "0.2"], ["0.5", "0.3", "0.2"])


@given(law_pairs(most=6), st.integers(1, 4))
def test_vectors_of_different_lengths_are_refused_whatever_they_hold(pair, extra):
    p, q = pair
    longer = (*q, *[Fraction()] * extra)
    for left, right in ((p, longer), (longer, p)):
        with pytest.raises(LengthError) as fault:
            one_step(left, right)
        assert f"p has {len(left)} entries and q has {len(right)}" in str(fault.value)
        with pytest.raises(LengthError):
            one_step(np.array(left, dtype=float), np.array(right, dtype=float))


# ---------------------------------------------------------------- against the experiment


@given(ticket_pairs())
@settings(max_examples=200)
@example(WORKED)
@example((fractions("1"), fractions("1")))
@example((fractions("1/3 2/3 0 0"), fractions("0 0 1/4 3/4")))
def test_every_law_is_that_of_the_experiment(pair):
    p, q = pair
    step, played = one_step(p, q), play(p, q)
    assert step.accepted == played.kept
    assert step.excess == played.thrown
    assert step.shortfall == played.owed
    assert step.acceptance == sum(played.kept)
    assert step.rejection == sum(played.thrown)
    assert step.residual == played.replacement
    assert step.output == played.output == p
    if played.replacement is not None:
        rejected = sum(played.thrown)
        assert step.correction == tuple(rejected * mass for mass in played.replacement)


@given(law_pairs())
@settings(max_examples=200)
def test_identities_of_every_pair_of_laws(pair):
    p, q = pair
    step = one_step(p, q)
    z = step.rejection
    assert (step.target, step.draft) == (p, q)
    assert all(k <= a and k <= b for k, a, b in zip(step.accepted, p, q, strict=True))
    assert sum(step.shortfall) == sum(step.excess) == z == 1 - step.acceptance
    # Half the sum of |p − q|, the total variation distance, is another way to Z.
    assert z == sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    assert all(s * e == 0 for s, e in zip(step.shortfall, step.excess, strict=True))
    for entry in (*step.accepted, *step.shortfall, *step.excess, *step.correction):
        assert type(entry) is Fraction
        assert entry >= 0
    assert step.output == p
    assert (step.residual is None) == (z == 0) == (p == q)
    if step.residual is None:
        assert set(step.correction) == {0}
        assert step.accepted == p
        return
    r = step.residual
    assert all(mass >= 0 for mass in r)
    assert sum(r) == 1
    assert all(k + z * mass == a for k, mass, a in zip(step.accepted, r, p, strict=True))
    assert step.correction == tuple(z * mass for mass in r)
    assert all(bool(mass) == (a > b) for mass, a, b in zip(r, p, q, strict=True))
    apart = all(a * b == 0 for a, b in zip(p, q, strict=True))
    assert (step.acceptance == 0) == apart
    # Disjoint supports make r = p, but so does a draft that keeps every token at the same rate.
    alike = all(k == step.acceptance * a for k, a in zip(step.accepted, p, strict=True))
    assert (r == p) == alike
    assert r == p or not apart


@pytest.mark.parametrize(("p", "q"), [("1 0", "1/2 1/2"), ("1/2 1/2 0", "1/4 1/4 1/2")])
def test_the_residual_may_be_p_without_disjoint_supports(p, q):
    step = one_step(fractions(p), fractions(q))
    assert step.residual == step.target
    assert step.acceptance == Fraction(1, 2)
    assert step.case == "partial"


@given(law_pairs())
def test_case_names(pair):
    p, q = pair
    case = one_step(p, q).case
    if p == q:
        assert case == "equal"
    elif not any(a and b for a, b in zip(p, q, strict=True)):
        assert case == "disjoint"
    else:
        assert case == "partial"


@given(law_pairs())
def test_swapping_target_and_draft_swaps_what_is_owed_and_thrown_away(pair):
    there, back = one_step(*pair), one_step(*pair[::-1])
    assert there.accepted == back.accepted
    assert (there.shortfall, there.excess) == (back.excess, back.shortfall)
    assert there.rejection == back.rejection


@given(law_pairs(), st.randoms(use_true_random=False))
def test_tokens_do_not_depend_on_their_places(pair, random):
    order = list(range(len(pair[0])))
    random.shuffle(order)
    p, q = ([law[i] for i in order] for law in pair)
    there, here = one_step(*pair), one_step(p, q)
    assert here.accepted == tuple(there.accepted[i] for i in order)
    assert here.rejection == there.rejection
    if there.residual is not None:
        assert here.residual == tuple(there.residual[i] for i in order)


@given(st.integers(1, 10**60), st.integers(2, 9))
def test_the_smallest_difference_is_a_difference(digits, n):
    # Near equality: in floats p and q are the same numbers, exactly they are not.
    tiny = Fraction(1, 10**40 + digits)
    q = (Fraction(1, n),) * n
    p = (q[0] + tiny, q[1] - tiny, *q[2:])
    step = one_step(p, q)
    assert step.case == "partial"
    assert step.rejection == tiny
    assert step.residual == (1, *[0] * (n - 1))


def test_draft_without_full_support():
    # Design, fact 2: r may put mass on tokens that q never proposes.
    step = one_step(["0", "0.4", "0.35", "0.25"], ["0.3", "0", "0.5", "0.2"])
    assert step.residual[1] > 0
    assert step.draft[1] == 0


@pytest.mark.parametrize(
    "values",
    [
        ["0.2", "0.5", "0.3"],
        "0.2, 0.5, 0.3",
        [Decimal("0.2"), Decimal("0.5"), Decimal("0.3")],
        fractions("1/5 1/2 3/10"),
        np.array(fractions("1/5 1/2 3/10"), dtype=object),
        ["20%", "1/2", Fraction(3, 10)],
    ],
)
def test_exact_in_exact_out(values):
    step = one_step(values, WORKED[1])
    assert step.residual == fractions("0 3/4 1/4")
    assert all(type(x) is Fraction for x in (*step.residual, *step.output, step.rejection))


def test_whole_numbers_are_exact():
    step = one_step(np.array([0, 1, 0]), [1, 0, 0])
    assert step.residual == (0, 1, 0)
    assert type(step.rejection) is Fraction


@pytest.mark.parametrize(
    ("p", "q", "name"),
    [
        (["0.5", "0.4"], ["0.5", "0.5"], "p"),
        (["0.5", "0.5"], ["0.5", "0.6"], "q"),
        ([0, 0], [0, 1], "p"),
        ([1, 1], [0, 1], "p"),
        ([1, 0], [2, 3], "q"),
    ],
)
def test_exact_vectors_must_sum_to_1(p, q, name):
    for step in (one_step, lambda p, q: exact_step(*(tuple(map(Fraction, v)) for v in (p, q)))):
        with pytest.raises(TotalError, match=f"^{name} sums to "):
            step(p, q)


def test_the_result_is_frozen():
    step = one_step(*WORKED)
    for field in ("target", "accepted", "residual", "rejection"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(step, field, None)


# ---------------------------------------------------------------- floats


def bits(array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@given(float_pairs())
@settings(max_examples=150)
def test_floats_are_bitwise_what_numpy_says(pair):
    p, q = pair
    before = bits(p), bits(q)
    step = one_step(p, q)
    assert (bits(p), bits(q)) == before
    assert p.flags.writeable
    assert q.flags.writeable
    assert bits(step.accepted) == bits(np.minimum(p, q))
    assert bits(step.shortfall) == bits(np.maximum(p - q, 0))
    assert bits(step.excess) == bits(np.maximum(q - p, 0))
    assert (bits(step.target), bits(step.draft)) == before
    fields = [step.accepted, step.shortfall, step.excess, step.correction, step.output]
    fields += [step.target, step.draft] + ([] if step.residual is None else [step.residual])
    for array in fields:
        assert array.dtype == p.dtype
        assert array.shape == p.shape
        assert not array.flags.writeable
    assert type(step.acceptance) is type(step.rejection) is float


@given(float_pairs())
@settings(max_examples=150)
def test_float_decisions_are_comparisons(pair):
    p, q = pair
    step = one_step(p, q)
    owed, thrown = bool((p > q).any()), bool((q > p).any())
    assert (step.residual is not None) == owed == (step.rejection > 0)
    common = bool((np.minimum(p, q) > 0).any())
    assert (
        step.case
        == {
            (False, False): "equal",
            (False, True): "rejection without residual",
            (True, False): "residual without rejection",
            (True, True): "partial" if common else "disjoint",
        }[owed, thrown]
    )


@given(float_pairs())
@settings(max_examples=150)
def test_float_sums_and_residual_against_exact_rationals(pair):
    p, q = pair
    step = one_step(p, q)
    pairs = zip(map(Fraction, p.tolist()), map(Fraction, q.tolist()), strict=True)
    owed = [a - b if a > b else Fraction() for a, b in pairs]
    # Differences of the entries are exact here or rounded once in the row's own type: half a
    # unit in the last place each. The sum of a dozen of them in float64 adds less than 12 units
    # of 2**-53.
    unit = Fraction(float(np.finfo(p.dtype).eps)) / 2
    tiny = Fraction(float(np.finfo(p.dtype).smallest_subnormal)) / 2
    z = sum(owed)
    assert abs(Fraction(step.rejection) - z) <= z * (unit + Fraction(12, 2**53))
    if step.residual is None:
        assert z == 0
        return
    # Numerator, Z on its way into the row's type, and the quotient: a rounding each, Z with two.
    for mass, exact in zip(step.residual, owed, strict=True):
        assert abs(Fraction(float(mass)) - exact / z) <= 5 * unit * (exact / z) + tiny
        assert bool(mass) or exact / z <= tiny
    assert np.isfinite(step.residual).all()


@given(float_pairs())
def test_float_output_is_p_up_to_rounding(pair):
    p, q = pair
    step = one_step(p, q)
    if step.residual is None:
        return
    # Rounded: shortfall, Z, quotient, product, sum; five units of p's own size and, where the
    # residual is subnormal, one of the smallest steps for each of its two roundings.
    info = np.finfo(p.dtype)
    slack = 5 * np.float64(info.eps) * p.astype(float) + 2 * float(info.smallest_subnormal)
    assert (np.abs(step.output.astype(float) - p.astype(float)) <= slack).all()


@pytest.mark.parametrize("p", [(0.2, 0.7, 0.1), (0.33, 0.56, 0.11)])
def test_equal_float_rows_have_no_residual_although_they_miss_1(p):
    # 1 − Σ min is 2**-53 for the first and −2**-52 for the second.
    row = np.array(p)
    assert 1 - (row[0] + row[1] + row[2]) != 0
    for values in (row, list(p), p):
        step = one_step(values, values)
        assert step.rejection == 0
        assert step.residual is None
        assert step.case == "equal"
        assert bits(step.output) == bits(row)
        assert not step.correction.any()


@given(float_pairs())
def test_equal_rows_never_have_a_residual(pair):
    p, _ = pair
    step = one_step(p, p.copy())
    assert (step.rejection, step.residual, step.case) == (0.0, None, "equal")
    assert bits(step.output) == bits(p)


@pytest.mark.parametrize("kind", FLOATS)
def test_subnormals(kind):
    tiny = np.finfo(kind).smallest_subnormal
    p = np.array([3 * tiny, 0, 1], dtype=kind)
    q = np.array([0, 2 * tiny, 1], dtype=kind)
    step = one_step(p, q)
    assert step.case == "partial"
    assert step.rejection == 3 * float(tiny)
    # Multiplying by 1/Z would overflow: 1/Z is beyond the largest number.
    assert step.residual.tolist() == [1, 0, 0]
    step = one_step(np.array([tiny, tiny, 1], dtype=kind), np.array([0, 0, 1], dtype=kind))
    assert step.residual.tolist() == [0.5, 0.5, 0]


def test_rejection_without_residual_is_named_not_patched():
    q = np.array([0.5, 0.5])
    p = np.array([0.5, np.nextafter(0.5, 0)])
    step = one_step(p, q)
    assert step.case == "rejection without residual"
    assert step.residual is None
    assert step.rejection == 0
    assert step.excess.sum() > 0
    assert not step.correction.any()
    assert bits(step.output) == bits(p)


def test_residual_without_rejection_is_named_not_patched():
    p = np.array([0.5, 0.5])
    q = np.array([0.5, np.nextafter(0.5, 0)])
    step = one_step(p, q)
    assert step.case == "residual without rejection"
    assert step.residual.tolist() == [0, 1]
    assert step.rejection == 2.0**-54
    assert not step.excess.any()


@pytest.mark.parametrize(("kind", "small"), [(np.float16, 2.0**-13), (np.float32, 2.0**-26)])
def test_sums_are_accumulated_in_double_precision(kind, small):
    # The sum lies between two numbers of the row's own type.
    many = np.array([0.5, *[small] * 3], dtype=kind)
    assert float(many.sum(dtype=kind)) != 0.5 + 3 * small
    nothing = np.zeros_like(many)
    assert one_step(many, nothing).rejection == 0.5 + 3 * small
    assert one_step(many, many).acceptance == 0.5 + 3 * small


def test_z_is_never_1_minus_a_sum():
    # Here 1 − Σ min is 0 in float64, and the shortfall is not.
    p = np.array([0.5, 0.5, 1e-20])
    q = np.array([0.5, 0.5, 0.0])
    step = one_step(p, q)
    assert 1 - step.acceptance == 0
    assert step.rejection == 1e-20
    assert step.residual.tolist() == [0, 0, 1]


def test_ex02_in_double_precision():
    # The two vectors of the case become one in float64, as in a spreadsheet.
    p = np.array([0.1234567890123456789, 0.8765432109876543211])
    q = np.array([0.1234567890123456788, 0.8765432109876543212])
    step = one_step(p, q)
    assert [Fraction(x) for x in step.target.tolist()] == list(
        fractions("8895999183877727/72057594037927936 1973799839189069/2251799813685248")
    )
    # The stored entries miss 1 by 2**-56, which a sum in float64 cannot say.
    assert sum(map(Fraction, p.tolist())) == Fraction("72057594037927935/72057594037927936")
    assert (step.acceptance, step.rejection, step.residual) == (1, 0, None)
    assert step.case == "equal"


@pytest.mark.parametrize(("left", "right"), [(a, b) for a in FLOATS for b in FLOATS])
def test_the_wider_float_type_is_used(left, right):
    p, q = np.array([0.1, 0.9], dtype=left), np.array([0.25, 0.75], dtype=right)
    step = one_step(p, q)
    wider = max(left, right, key=lambda kind: np.dtype(kind).itemsize)
    assert step.accepted.dtype == step.residual.dtype == wider
    assert step.target.tolist() == p.astype(float).tolist()
    assert bits(step.shortfall) == bits(np.maximum(p.astype(wider) - q.astype(wider), 0))


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("swap", [False, True])
def test_exact_with_floats_is_computed_in_the_float_type(kind, swap):
    floats = np.array([0.25, 0.75], dtype=kind)
    pair = (floats, ["0.1", "0.9"]) if swap else (["0.1", "0.9"], floats)
    step = one_step(*pair)
    given_, made = (step.target, step.draft) if swap else (step.draft, step.target)
    assert given_.dtype == made.dtype == kind
    assert bits(made) == bits(np.array([0.1, 0.9]).astype(kind))
    assert not made.flags.writeable
    assert floats.flags.writeable


def test_the_sums_of_float_rows_are_not_judged():
    step = one_step(np.array([0.5, 0.25]), np.array([2.0, 3.0]))
    assert step.acceptance == 0.75
    assert step.case == "rejection without residual"


def test_computing_leaves_the_stored_target_alone():
    # MI14: the target row is used again afterwards.
    p, q = np.array([0.5, 0.3, 0.2]), np.array([1.0, 0.0, 0.0])
    step = one_step(p, q)
    assert step.residual.tolist() == [0, 0.6, 0.4]
    for name in ("shortfall", "excess", "correction", "output", "case"):
        getattr(step, name)
    assert step.target.tolist() == p.tolist() == [0.5, 0.3, 0.2]
    with pytest.raises(ValueError, match="read-only"):
        step.target[0] = 0
    p[0] = 0.5  # the caller's own array stays writable


def test_views_and_strides_are_computed_as_any_other():
    wide = np.arange(12, dtype=float).reshape(3, 4) / 66
    step = one_step(wide[:, 1], wide[::-1, 2])
    plain = one_step(wide[:, 1].copy(), wide[::-1, 2].copy())
    assert bits(step.output) == bits(plain.output)
    assert step.rejection == plain.rejection


def test_floats_and_fractions_agree_on_dyadic_numbers():
    # Everything here is a small multiple of 1/64, so float arithmetic is exact.
    p, q = np.array([8, 40, 16]) / 64, np.array([40, 8, 16]) / 64
    floats = one_step(p, q)
    exact = one_step([Fraction(x) for x in p.tolist()], [Fraction(x) for x in q.tolist()])
    for name in ("accepted", "shortfall", "excess", "residual", "correction", "output"):
        assert tuple(map(Fraction, getattr(floats, name).tolist())) == getattr(exact, name)
    assert Fraction(floats.rejection) == exact.rejection == Fraction(1, 2)


@given(
    st.lists(
        st.one_of(st.floats(), st.fractions(), st.integers(-2, 2), st.text(max_size=5), st.none()),
        max_size=5,
    ),
    st.lists(st.one_of(st.floats(), st.fractions(-1, 2), st.decimals()), max_size=5),
)
@settings(max_examples=150)
def test_mixed_lists_give_a_step_or_a_lab_error(p, q):
    try:
        step = one_step(p, q)
    except LabError as fault:
        assert str(fault).startswith(("p", "q"))
        return
    if isinstance(step.rejection, Fraction):
        assert step.output == step.target
    else:
        assert (step.residual is None) == (not (step.target > step.draft).any())
        assert step.rejection >= 0
        assert not math.isnan(step.rejection)
