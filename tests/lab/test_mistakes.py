"""The gallery: each law against a closed formula, against its own code run, and against the cases.

The formulas of `FORMULAS` come from the rules in words and know nothing of `lab.rules`; the code
that an entry shows is executed and its draws are counted.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from textwrap import indent

import block_oracle
import numpy as np
import pytest
from goodness import UNLIKELY, fits, p_value
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import fractions
from strategies import ticket_pairs

from lab import MISTAKES, LabError, one_step
from lab.block import distance
from lab.errors import LengthError, TotalError
from lab.evidence import draws_needed
from lab.mistakes import RIGHT_CODE, STEP_MISTAKES, VERDICTS, nearest, shown_on, variation
from lab.rules import NoLawError, draw, outcome_law, step_law, step_rule, token_of

WORKED = fractions("1/5 1/2 3/10"), fractions("3/5 1/5 1/5")
THREE = fractions("1/2 3/10 1/5"), fractions("1/5 3/10 1/2")
FOUR = fractions("2/5 3/10 1/5 1/10"), fractions("1/10 1/5 3/10 2/5")
DISJOINT = fractions("1/3 2/3 0 0"), fractions("0 0 1/4 3/4")
EQUAL = fractions("1/2 1/3 1/6"), fractions("1/2 1/3 1/6")
ZEROS = fractions("0 2/5 7/20 1/4 0"), fractions("3/10 0 1/2 1/5 0")
PAIRS = {
    "worked example": WORKED,
    "three": THREE,
    "four": FOUR,
    "disjoint": DISJOINT,
    "equal": EQUAL,
    "equal, even": (fractions("1/2 1/2"), fractions("1/2 1/2")),
    "zeros": ZEROS,
    "one token": (fractions("1"), fractions("1")),
    "sure target": (fractions("0 1 0"), fractions("1/3 1/3 1/3")),
    "sure draft": (fractions("1/3 1/3 1/3"), fractions("0 1 0")),
    "one token owed": (fractions("3/5 1/5 1/5"), fractions("1/5 2/5 2/5")),
}
BLOCK_MISTAKES = [slug for slug in MISTAKES if slug not in STEP_MISTAKES]
FLOOR = Fraction(1, 100_000)

# ---------------------------------------------------------------- closed formulas


def least(p, q):
    return [min(a, b) for a, b in zip(p, q, strict=True)]


def owed(p, q):
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


def chance(p, q, x):
    """min(1, p/q), and for a token that q has not: 1 if p has it."""
    if q[x]:
        return min(Fraction(1), p[x] / q[x])
    return Fraction(int(p[x] > 0))


def then(kept, weights):
    """(kept, replaced): what is not kept is shared out by weights; 0/0 when there are none."""
    whole = sum(weights)
    left = 1 - sum(kept)
    if not left:
        return list(kept), [0 * w for w in weights]
    return list(kept), [left * w / whole for w in weights]


def cut_to(law, k):
    order = sorted(range(len(law)), key=lambda x: (-law[x], x))[:k]
    whole = sum(law[x] for x in order)
    return [law[x] / whole if x in order else Fraction(0) for x in range(len(law))]


def cut_by_mass(law, least_mass):
    order = sorted(range(len(law)), key=lambda x: (-law[x], x))
    for k in range(1, len(law) + 1):
        if sum(law[x] for x in order[:k]) >= least_mass:
            return cut_to(law, k)
    return list(law)


def proposing(proposal, p, q):
    kept = [mass * chance(p, q, x) for x, mass in enumerate(proposal)]
    return then(kept, owed(p, q))


def right(p, q):
    return least(p, q), owed(p, q)


def redraw(p, q):
    return [m / sum(least(p, q)) for m in least(p, q)], [0] * len(p)


def swapped(p, q):
    return then(
        [b * min(Fraction(1), b / a) if a else b for a, b in zip(p, q, strict=True)], owed(q, p)
    )


def only_rejected(p, q):
    n, thrown = len(p), owed(q, p)
    return least(p, q), [
        sum(thrown[x] * p[y] / (1 - p[x]) for x in range(n) if x != y and thrown[x])
        for y in range(n)
    ]


def drafted_only(p, q):
    return then(least(p, q), [w if b else 0 for w, b in zip(owed(p, q), q, strict=True)])


def floored(p, q, floor=FLOOR):
    return then(least(p, q), [max(a - b, floor) for a, b in zip(p, q, strict=True)])


def softmax(p, q):
    return then(list(map(float, least(p, q))), [math.exp(w) for w in owed(p, q)])


def undivided(p, q):
    z, weights = sum(owed(p, q)), owed(p, q)
    weights[-1] += 1 - z
    return least(p, q), [z * w for w in weights]


def no_coin(p, q):
    return then([b if a >= b else 0 for a, b in zip(p, q, strict=True)], owed(p, q))


def ratio_to_max(p, q):
    return then([b * a / max(p) for a, b in zip(p, q, strict=True)], owed(p, q))


def equal_or_ratio(p, q):
    kept = [a * b + (1 - a) * min(a, b) for a, b in zip(p, q, strict=True)]
    return then(kept, owed(p, q))


def greedy(p, q):
    top = max(range(len(q)), key=lambda x: (q[x], -x))
    return proposing([Fraction(int(x == top)) for x in range(len(q))], p, q)


def unmapped(p, q, order=None):
    order = list(order or range(len(q))[::-1])
    return proposing([q[order.index(x)] for x in range(len(q))], p, q)


def zeroed(p, q):
    n, weights = len(p), owed(p, q)
    replaced = [Fraction(0)] * n
    for x in range(n):
        if q[x]:
            rest = sum(w for y, w in enumerate(weights) if y != x)
            for y in range(n):
                if y != x:
                    replaced[y] += q[x] * (weights[y] / rest)
            _ = 1 / rest
    return [0] * n, replaced


def shared_uniform(p, q):
    n, z = len(p), sum(owed(p, q))
    if not z:
        return right(p, q)
    ends = [0, *accumulate(w / z for w in owed(p, q))]
    return least(p, q), [
        sum(q[x] * max(0, ends[y + 1] - max(ends[y], p[x] / q[x])) for x in range(n) if q[x])
        for y in range(n)
    ]


def shared_noise(p, q):
    """∫ over s of 1/g(s)², g(s) = Σ max(q, r·s): y's clock against x's, and no other before."""
    n, z = len(p), sum(owed(p, q))
    replaced = [Fraction(0)] * n
    if not z:
        return right(p, q)
    r = [w / z for w in owed(p, q)]
    for x in (x for x in range(n) if q[x] > p[x]):
        for y in (y for y in range(n) if r[y]):
            others = [t for t in range(n) if t not in (x, y)]
            starts = sorted({q[t] / r[t] for t in others if r[t] and q[t] / r[t] > q[y] / r[y]})
            joint = Fraction(0)
            for low, high in pairwise([q[y] / r[y], *starts, None]):
                gone = [t for t in others if r[t] and q[t] / r[t] <= low]
                slope = r[y] + sum(r[t] for t in gone)
                height = q[x] + sum(q[t] for t in others if t not in gone)
                until = 1 / (height + slope * high) if high is not None else 0
                joint += (1 / (height + slope * low) - until) / slope
            replaced[y] += (1 - p[x] / q[x]) * q[x] * r[y] * joint
    return least(p, q), replaced


FORMULAS = {
    "resample-from-target": lambda p, q: then(least(p, q), p),
    "redraw-until-accepted": redraw,
    "absolute-difference": lambda p, q: then(
        least(p, q), [abs(a - b) for a, b in zip(p, q, strict=True)]
    ),
    "swapped-roles": swapped,
    "only-rejected-removed": only_rejected,
    "drafted-candidates-only": drafted_only,
    "floor-residual": floored,
    "softmax-residual": softmax,
    "unnormalised-last-token": undivided,
    "first-token-fallback": lambda p, q: then(least(p, q), [1] + [0] * (len(p) - 1)),
    "no-coin": no_coin,
    "ratio-to-max": ratio_to_max,
    "always-accept": lambda p, q: (q, [0] * len(q)),
    "accept-if-equal": lambda p, q: (
        [a * b for a, b in zip(p, q, strict=True)],
        [a * (1 - b) for a, b in zip(p, q, strict=True)],
    ),
    "accept-if-equal-or-ratio": equal_or_ratio,
    "greedy-proposal": greedy,
    "filtered-proposal": lambda p, q, top_k=2: proposing(cut_to(q, top_k), p, q),
    "unfiltered-target": right,
    "unmapped-draft": unmapped,
    "target-zeroed": zeroed,
    "shared-uniform": shared_uniform,
    "shared-noise": shared_noise,
    "shared-stream": right,
    "one-minus-alpha": right,
    "closed-coin": right,
}


def check(slug, p, q, **parameters):
    """The entry's law is that of the formula, or both divide 0 by 0."""
    mistake = STEP_MISTAKES[slug]
    try:
        kept, replaced = FORMULAS[slug](p, q, **parameters)
    except ZeroDivisionError:
        with pytest.raises(NoLawError):
            mistake.run(p, q, **parameters)
        return
    run = mistake.run(p, q, **parameters)
    if slug == "softmax-residual":
        assert run.kept == pytest.approx(list(map(float, kept)), abs=1e-15), slug
        assert run.replaced == pytest.approx(list(map(float, replaced)), abs=1e-15), slug
    else:
        assert run.kept == tuple(kept), slug
        assert run.replaced == tuple(replaced), slug
        assert all(type(mass) is Fraction for mass in (*run.kept, *run.replaced)), slug
        assert sum(run.output) == 1, slug
    assert mistake.law(p, q, **parameters) == run.output


def test_every_mistake_of_a_step_has_its_formula():
    assert list(FORMULAS) == list(STEP_MISTAKES)


@pytest.mark.parametrize("slug", STEP_MISTAKES)
def test_laws_by_formula(slug):
    for pair in (STEP_MISTAKES[slug].witness, *PAIRS.values()):
        check(slug, *pair)
        check(slug, *reversed(pair))


@given(ticket_pairs())
@settings(max_examples=60)
def test_laws_of_any_pair_by_formula(pair):
    for slug in STEP_MISTAKES:
        check(slug, *pair)


@given(ticket_pairs(tickets=12), st.data())
@settings(max_examples=40)
def test_parameters_by_formula(pair, data):
    p, q = pair
    k = data.draw(st.integers(1, len(p) + 1))
    check("filtered-proposal", p, q, top_k=k)
    check("floor-residual", p, q, floor=data.draw(st.fractions(0, 1, max_denominator=9)))
    check("unmapped-draft", p, q, order=data.draw(st.permutations(range(len(p)))))
    mass = data.draw(st.fractions(Fraction(1, 20), 1, max_denominator=20))
    entry = STEP_MISTAKES["unfiltered-target"]
    assert entry.law(p, q, top_k=k) == entry.law(p, q, top_p=mass) == p
    assert entry.right(p, q, top_k=k) == tuple(cut_to(p, k))
    assert entry.right(p, q, top_p=mass) == tuple(cut_by_mass(p, mass))
    both = entry.right(p, q, top_k=k, top_p=mass)
    few = min(k, sum(1 for part in cut_by_mass(p, mass) if part))
    assert both == tuple(cut_to(p, few))


@pytest.mark.parametrize(
    ("top_p", "cut"),
    [
        ("0.4", "1 0 0 0"),  # exactly reached: no further token is kept
        ("0.41", "4/7 3/7 0 0"),
        ("70%", "4/7 3/7 0 0"),
        ("9/10", "4/9 1/3 2/9 0"),
        ("1", "2/5 3/10 1/5 1/10"),
    ],
)
def test_the_fewest_tokens_that_reach_top_p(top_p, cut):
    assert STEP_MISTAKES["unfiltered-target"].right(*FOUR, top_p=top_p) == fractions(cut)


@pytest.mark.parametrize(
    ("pair", "stuck"),
    [
        # Nothing is ever kept, and the draft proposes none of the tokens that are owed.
        (DISJOINT, {"redraw-until-accepted", "drafted-candidates-only"}),
        # Nothing is owed, and these two reject all the same.
        (EQUAL, {"ratio-to-max", "target-zeroed"}),
        # A token that neither has is proposed as well: nothing is owed, and it cannot be kept.
        (
            (fractions("1/2 1/2 0"), fractions("1/2 1/2 0")),
            {"target-zeroed", "unmapped-draft"},
        ),
        (WORKED, set()),
    ],
)
def test_where_the_code_gets_stuck(pair, stuck):
    assert {slug for slug in STEP_MISTAKES if stuck_on(slug, *pair)} == stuck


def stuck_on(slug, p, q):
    try:
        STEP_MISTAKES[slug].law(p, q)
    except NoLawError as fault:
        assert str(fault).endswith(".")
        return True
    return False


# ---------------------------------------------------------------- the contract of each entry


@pytest.mark.parametrize("slug", STEP_MISTAKES)
def test_contract_of_a_step(slug):
    mistake = MISTAKES[slug]
    p, q = mistake.witness
    law, wanted = mistake.law(p, q), mistake.right(p, q)
    assert not mistake.in_blocks
    assert len(p) == len(q) == len(law)
    assert sum(p) == sum(q) == sum(wanted) == 1
    assert sum(law) == 1 if slug != "softmax-residual" else abs(sum(law) - 1) < 1e-15
    assert min(law) >= 0
    assert (mistake.wanted is None) == (tuple(wanted) == p)
    if mistake.verdict == "biased":
        assert law != wanted
        assert variation(law, wanted) > 0
    else:
        assert law == wanted == p
        for pair in PAIRS.values():
            assert mistake.law(*pair) == pair[0]
    acceptance = one_step(p, q).acceptance
    if mistake.verdict == "right but slower":
        assert mistake.run(p, q).acceptance < acceptance
    elif mistake.verdict != "biased":
        assert mistake.run(p, q).acceptance == acceptance


def blocks(mistake, **options):
    stop = mistake.stop
    return (
        mistake.law(*mistake.witness, stop=stop, **options),
        mistake.right(*mistake.witness, stop=stop, **options),
    )


@pytest.mark.parametrize("slug", BLOCK_MISTAKES)
def test_contract_of_a_block(slug):
    mistake = MISTAKES[slug]
    law, wanted = blocks(mistake)
    assert mistake.in_blocks
    assert mistake.rule == slug
    assert mistake.verdict == "biased"
    assert sum(law.values()) == sum(wanted.values()) == 1
    assert distance(law, wanted) > 0
    # With one draft and one token there is one position only, and nothing to mix up …
    if slug != "shifted-target":
        law, wanted = blocks(mistake, draft_length=1, length=1)
        assert distance(law, wanted) == 0
    # … and without drafts no rule has anything to do.
    law, wanted = blocks(mistake, draft_length=0)
    assert distance(law, wanted) == 0


@pytest.mark.parametrize("slug", BLOCK_MISTAKES)
def test_laws_of_blocks_path_by_path(slug):
    mistake = MISTAKES[slug]
    target, draft = mistake.witness
    law, wanted = blocks(mistake, draft_length=2, length=3)
    tokens, stop = target.tokens, mistake.stop
    assert law == block_oracle.generate(slug, tokens, target, draft, 2, stop, 3)
    assert wanted == block_oracle.autoregressive(tokens, target, stop, 3)


@pytest.mark.parametrize("slug", MISTAKES)
def test_words_of_an_entry(slug):
    mistake = MISTAKES[slug]
    assert mistake.slug == slug
    assert slug == slug.lower().strip()
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz-")
    assert mistake.verdict in VERDICTS
    for sentence in (mistake.does, mistake.why):
        assert sentence == sentence.strip()
        assert sentence.endswith((".", ".)"))
        assert sentence[0].isupper() or not sentence[0].isalpha()
        assert "  " not in sentence
    for phrase in (mistake.title, mistake.when):
        assert phrase == phrase.strip() != ""
        assert not phrase.endswith(".")
        assert "  " not in phrase
    assert mistake.when[0].islower() or not mistake.when[1].isalpha()
    assert mistake.code.endswith("\n")
    assert "←" in mistake.code or slug == "accept-if-equal"
    assert max(map(len, mistake.code.splitlines())) <= 100


def test_the_gallery_is_in_order():
    assert [*STEP_MISTAKES, *BLOCK_MISTAKES] == list(MISTAKES)
    assert all(not MISTAKES[slug].in_blocks for slug in STEP_MISTAKES)
    assert all(MISTAKES[slug].in_blocks for slug in BLOCK_MISTAKES)
    assert len({mistake.title for mistake in MISTAKES.values()}) == len(MISTAKES)
    assert len({mistake.when for mistake in MISTAKES.values()}) == len(MISTAKES)
    assert {mistake.verdict for mistake in MISTAKES.values()} == set(VERDICTS)
    assert all(sentence.endswith(".") for sentence in VERDICTS.values())


# ---------------------------------------------------------------- the code that is shown


def compiled(code, names=()):
    """The lines as a function of p, q, rng, n and their parameters."""
    source = f"def step({', '.join(['p', 'q', 'rng', 'n', *names])}):\n{indent(code, '    ')}"
    space = {"np": np}
    exec(source, space)
    return space["step"]


def defaults(mistake, n):
    given = {p.name: p.read(p.default) if p.default else None for p in mistake.parameters}
    if "order" in given:
        given["order"] = np.arange(n)[::-1]
    return {name: float(v) if isinstance(v, Fraction) else v for name, v in given.items()}


def run_code(code, pair, count, seed=7, **parameters):
    """How often each token comes out of so many runs of the lines."""
    p, q = (np.array(vector, float) for vector in pair)
    step, rng = compiled(code, parameters), np.random.default_rng(seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        tokens = [int(step(p.copy(), q.copy(), rng, len(p), **parameters)) for _ in range(count)]
    return np.bincount(tokens, minlength=len(p))


def is_seen(mistake):
    return mistake.verdict == "biased" and mistake.slug != "floor-residual"


@cache
def counts_of(slug):
    mistake = STEP_MISTAKES[slug]
    p, q = mistake.witness
    count = 1500
    if is_seen(mistake):
        needed = draws_needed(mistake.law(p, q), mistake.right(p, q))
        count = max(count, 2 * needed)
    return run_code(mistake.code, (p, q), count, **defaults(mistake, len(p)))


@pytest.mark.parametrize("slug", [slug for slug in STEP_MISTAKES if slug != "shared-stream"])
def test_the_code_has_the_law(slug):
    assert fits(counts_of(slug), STEP_MISTAKES[slug].law(*STEP_MISTAKES[slug].witness))


@pytest.mark.parametrize("slug", [m.slug for m in STEP_MISTAKES.values() if is_seen(m)])
def test_the_code_has_not_the_right_law(slug):
    # Not so floor-residual, which is 0.00002 off on its witness: that takes 9 thousand million
    # draws. It has a test of its own with a larger floor.
    mistake = STEP_MISTAKES[slug]
    assert p_value(counts_of(slug), mistake.right(*mistake.witness)) < UNLIKELY


@pytest.mark.parametrize(
    "slug", [slug for slug in STEP_MISTAKES if slug not in ("shared-stream", "floor-residual")]
)
def test_the_code_where_little_is_kept(slug):
    # The draft proposes mostly what the target rules out, and never what it likes best.
    pair = fractions("0.7 0.3 0"), fractions("0 0.1 0.9")
    mistake = STEP_MISTAKES[slug]
    counts = run_code(mistake.code, pair, 800, **defaults(mistake, 3))
    assert fits(counts, mistake.law(*pair))


def test_the_right_code_has_the_law_p():
    for pair in (WORKED, THREE, DISJOINT, ZEROS):
        assert fits(run_code(RIGHT_CODE, pair, 1500), pair[0])


def test_the_code_of_a_larger_floor():
    mistake = STEP_MISTAKES["floor-residual"]
    p, q = mistake.witness
    counts = run_code(mistake.code, (p, q), 3000, floor=0.3)
    assert fits(counts, mistake.law(p, q, floor="0.3"))
    assert not fits(counts, p)


@pytest.mark.parametrize(
    ("slug", "given"),
    [
        ("filtered-proposal", {"top_k": 3}),
        ("filtered-proposal", {"top_k": 1}),
        ("unmapped-draft", {"order": (1, 3, 0, 2)}),
    ],
)
def test_the_code_with_other_parameters(slug, given):
    mistake = STEP_MISTAKES[slug]
    counts = run_code(mistake.code, FOUR, 2000, **{k: np.array(v) for k, v in given.items()})
    assert fits(counts, mistake.law(*FOUR, **given))


@pytest.mark.parametrize("slug", ["shared-uniform", "shared-noise", "only-rejected-removed"])
def test_the_code_where_several_tokens_can_be_rejected(slug):
    counts = run_code(STEP_MISTAKES[slug].code, FOUR, 4000)
    assert fits(counts, STEP_MISTAKES[slug].law(*FOUR))


def test_the_code_that_counts_what_the_target_agrees_with():
    mistake = STEP_MISTAKES["accept-if-equal"]
    step = compiled(mistake.code.replace("return y", "return y, kept"))
    p, q = (np.array(vector, float) for vector in THREE)
    rng = np.random.default_rng(3)
    law = mistake.run(*THREE)
    counts = {(y, kept): 0 for y in range(3) for kept in (True, False)}
    for _ in range(3000):
        y, kept = step(p, q, rng, 3)
        counts[int(y), bool(kept)] += 1
    masses = [(law.kept if kept else law.replaced)[y] for y, kept in counts]
    assert fits(list(counts.values()), masses)


def test_the_code_of_a_shared_stream_repeats_itself():
    # Every request draws the same token: one histogram of one request each, and no law in sight.
    counts = run_code(STEP_MISTAKES["shared-stream"].code, THREE, 50)
    assert sorted(counts) == [0, 0, 50]
    # With the generator made elsewhere, they are the right lines.
    first, *rest = STEP_MISTAKES["shared-stream"].code.splitlines(keepends=True)
    assert first.startswith("rng = ")
    assert "".join(rest) == RIGHT_CODE


class Scripted:
    """A generator that hands out what it is told, and checks laws as NumPy does."""

    def __init__(self, token, number):
        self._token, self._number = token, number

    def random(self):
        return self._number

    def choice(self, n, p):
        if self._token is not None:
            token, self._token = self._token, None
            return token
        return np.random.default_rng(1).choice(n, p=p)


def test_a_coin_that_shows_zero_lets_a_forbidden_token_pass():
    mistake = STEP_MISTAKES["closed-coin"]
    p, q = (np.array(vector, float) for vector in mistake.witness)
    assert p[1] == 0
    assert compiled(mistake.code)(p, q, Scripted(1, 0.0), 2) == 1
    assert compiled(RIGHT_CODE)(p, q, Scripted(1, 0.0), 2) == 0


def test_one_minus_alpha_cancels():
    mistake = STEP_MISTAKES["one-minus-alpha"]
    p, q = (np.array(vector, float) for vector in mistake.witness)
    assert (p == q).all()
    assert 1 - np.minimum(p, q).sum() < 0  # no probability, and not 0 as it should be
    assert one_step(p, q).rejection == 0
    # A step or three of a float further, a rejection is possible, and its law is no law.
    q = q + np.array([-3 * 2.0**-54, 2.0**-53, 0])
    assert q.sum() == 1
    assert (p > q).any()
    unlucky = 1 - 2.0**-53
    x = int(np.argmin(p / q))
    assert unlucky >= p[x] / q[x]
    with pytest.raises(ValueError, match=r"[Pp]robabilities"):
        compiled(mistake.code)(p, q, Scripted(x, unlucky), 3)
    assert compiled(RIGHT_CODE)(p, q, Scripted(x, unlucky), 3) in np.flatnonzero(p > q)


@pytest.mark.parametrize("slug", BLOCK_MISTAKES)
def test_the_code_of_a_block_is_python(slug):
    compile(f"while True:\n{indent(MISTAKES[slug].code, '    ')}", slug, "exec")


@pytest.mark.parametrize("slug", [*STEP_MISTAKES, "right"])
def test_the_rules_can_be_drawn_from(slug):
    if slug == "right":
        pair, rule, law = THREE, step_rule(*THREE), THREE[0]
    else:
        mistake = STEP_MISTAKES[slug]
        pair = mistake.witness
        given = {"floor": FLOOR} if slug == "floor-residual" else {}
        given |= {"top_k": 2} if slug == "filtered-proposal" else {}
        rule, law = mistake.rule(*pair, **given), mistake.law(*pair)
    assert fits(draw(rule, 600, len(law), np.random.default_rng(11)), law)


def test_equal_draws_written_with_two_choices():
    entry = STEP_MISTAKES["accept-if-equal"]
    for p, q in (*PAIRS.values(), entry.witness):
        literal = outcome_law(lambda draws, p=p, q=q: (draws.choose(q), draws.choose(p)))
        run = entry.run(p, q)
        for y in range(len(p)):
            assert run.kept[y] == literal.get((y, y), 0)
            assert run.replaced[y] == sum(
                mass for (x, z), mass in literal.items() if z == y and x != y
            )


# ---------------------------------------------------------------- cases

CASES = {  # id → entry, p, q, parameters, faulty law, distance from what is wanted
    "MI01 replacement drawn from p instead of r": (
        "resample-from-target",
        "0.5 0.3 0.2",
        "0.2 0.3 0.5",
        {},
        "7/20 39/100 13/50",
        "3/20",
    ),
    "MI02 everything is accepted, a sister fault of the softmax": (
        "always-accept",
        "0.5 0.3 0.2",
        "0.2 0.3 0.5",
        {},
        "1/5 3/10 1/2",
        "3/10",
    ),
    "MI04 q returned is the raw one, tokens were drawn from the filtered one": (
        "filtered-proposal",
        "0.6 0.4 0 0",
        "0.4 0.3 0.2 0.1",
        {"top_k": 2},
        "4/7 3/7 0 0",
        "1/35",
    ),
    "MI06 one uniform number for the test and again for the replacement": (
        "shared-uniform",
        "0.3 0.3 0.3 0.1",
        "0.1 0.2 0.3 0.4",
        {},
        "4/15 1/3 3/10 1/10",
        "1/30",
    ),
    "MI08 only the rejected token's entry is removed": (
        "only-rejected-removed",
        "0.4 0.3 0.2 0.1",
        "0.1 0.2 0.3 0.4",
        {},
        "17/60 27/80 4/15 9/80",
        "7/60",
    ),
    "MI10 accept if p >= q without the coin": (
        "no-coin",
        "0.5 0.3 0.2",
        "0.2 0.3 0.5",
        {},
        "7/10 3/10 0",
        "1/5",
    ),
    "MI12 accept whenever the target's own draw equals the draft": (
        "accept-if-equal-or-ratio",
        "0.5 0.3 0.2",
        "0.2 0.3 0.5",
        {},
        "11/25 3/10 13/50",
        "3/50",
    ),
    "MI14 target row changed in place before it is used again": (
        "target-zeroed",
        "0.5 0.3 0.2",
        "1 0 0",
        {},
        "0 3/5 2/5",
        "1/2",
    ),
    "MI16 residual floored at a small positive number, where it does harm": (
        "floor-residual",
        "0.6 0.3 0.1",
        "0.5 0.3 0.2",
        {"floor": "0.00001"},
        "6001/10002 30007/100020 10003/100020",
        "1/50010",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    slug, p, q, given, faulty, gap = CASES[name]
    p, q = fractions(p), fractions(q)
    mistake = MISTAKES[slug]
    law = mistake.law(p, q, **given)
    assert law == fractions(faulty)
    assert mistake.right(p, q, **given) == p == one_step(p, q).output
    assert variation(law, p) == Fraction(gap)
    assert mistake.law(list(map(str, p)), list(map(str, q)), **given) == law


FACTS = {  # p, q → accepted mass, α, Z, r: what is right in each case
    "MI01 MI02 MI10 MI12": (*THREE, "1/5 3/10 1/5", "7/10", "3/10", "1 0 0"),
    "MI04": (
        fractions("0.6 0.4 0 0"),
        fractions("4/7 3/7 0 0"),
        "4/7 2/5 0 0",
        "34/35",
        "1/35",
        "1 0 0 0",
    ),
    "MI06": (
        fractions("0.3 0.3 0.3 0.1"),
        fractions("0.1 0.2 0.3 0.4"),
        "1/10 1/5 3/10 1/10",
        "7/10",
        "3/10",
        "2/3 1/3 0 0",
    ),
    "MI08": (*FOUR, "1/10 1/5 1/5 1/10", "3/5", "2/5", "3/4 1/4 0 0"),
    "MI14": (THREE[0], fractions("1 0 0"), "1/2 0 0", "1/2", "1/2", "0 3/5 2/5"),
    "MI16": (*[fractions("0.7 0.2 0.1")] * 2, "7/10 1/5 1/10", "1", "0", None),
    "MI16 contrast": (
        fractions("0.6 0.3 0.1"),
        fractions("0.5 0.3 0.2"),
        "1/2 3/10 1/10",
        "9/10",
        "1/10",
        "1 0 0",
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_what_is_right_in_the_cases(name):
    p, q, accepted, alpha, z, residual = FACTS[name]
    step, law = one_step(p, q), step_law(step_rule(p, q), len(p))
    assert law.kept == step.accepted == fractions(accepted)
    assert law.acceptance == step.acceptance == Fraction(alpha)
    assert sum(law.replaced) == step.rejection == Fraction(z)
    assert law.replacement == step.residual == (None if residual is None else fractions(residual))
    assert law.output == step.output == p


def test_mi02_the_softmax():
    law = STEP_MISTAKES["softmax-residual"].run(*THREE)
    wanted = [0.32088797335486297805, 0.38955601332256851097, 0.28955601332256851097]
    replacement = [0.40295991118287659351, 0.29852004440856170325, 0.29852004440856170325]
    assert law.output == pytest.approx(wanted, abs=1e-12)
    assert law.replacement == pytest.approx(replacement, abs=1e-12)
    assert all(type(mass) is float for mass in law.output)


def test_mi04_everything_is_kept_since_ratios_are_inflated():
    p, q = fractions("0.6 0.4 0 0"), fractions("0.4 0.3 0.2 0.1")
    cut = fractions("4/7 3/7 0 0")
    run = STEP_MISTAKES["filtered-proposal"].run(p, q, top_k="2")
    assert run.acceptance == 1
    assert run.output == cut
    assert cut[0] / q[0] == cut[1] / q[1] == Fraction(10, 7)
    # Tested with the q that was really used, the rule is right.
    assert one_step(p, cut).accepted == fractions("4/7 2/5 0 0")
    assert one_step(p, cut).output == p


def test_mi06_the_acceptance_is_right_which_hides_it():
    p, q = STEP_MISTAKES["shared-uniform"].witness
    run = STEP_MISTAKES["shared-uniform"].run(p, q)
    assert run.replacement == fractions("5/9 4/9 0 0")
    assert one_step(p, q).residual == fractions("2/3 1/3 0 0")
    assert run.acceptance == one_step(p, q).acceptance == Fraction(7, 10)


@given(ticket_pairs(), st.data())
def test_mi08_right_when_the_draft_is_one_hot(pair, data):
    p, _ = pair
    hot = data.draw(st.integers(0, len(p) - 1))
    q = tuple(Fraction(int(x == hot)) for x in range(len(p)))
    assert STEP_MISTAKES["only-rejected-removed"].law(p, q) == p


def test_mi12_the_rejections_that_are_left():
    run = STEP_MISTAKES["accept-if-equal-or-ratio"].run(*THREE)
    assert 1 - run.acceptance == Fraction(6, 25)


def test_mi14_a_law_leaves_its_vectors_alone():
    for slug in STEP_MISTAKES:
        p, q = np.array([0.5, 0.25, 0.25]), np.array([0.75, 0.125, 0.125])
        STEP_MISTAKES[slug].law(p, q)
        assert p.tolist() == [0.5, 0.25, 0.25]
        assert q.tolist() == [0.75, 0.125, 0.125]


def test_mi16_equal_laws_need_no_floor():
    entry = STEP_MISTAKES["floor-residual"]
    p = fractions("0.7 0.2 0.1")
    run = entry.run(p, p, floor="1e-38")
    assert run.output == p
    assert run.acceptance == 1
    assert run.replacement is None
    assert one_step(p, p).residual is None
    # What the floor would draw from, were there a rejection: a uniform vector without a meaning.
    weights = [max(a - b, Fraction("1e-38")) for a, b in zip(p, p, strict=True)]
    assert [w / sum(weights) for w in weights] == [Fraction(1, 3)] * 3
    # And what it draws from where there is one.
    run = entry.run(*entry.witness, floor="0.00001")
    assert run.replacement == fractions("5000/5001 1/10002 1/10002")
    assert one_step(*entry.witness).residual == (1, 0, 0)


class Recorded:
    """Draws that are written down, for another request that reads the same stream."""

    def __init__(self, draws):
        self._draws, self._record, self._place = draws, [], 0

    def rewind(self):
        self._place = 0

    def _next(self, make):
        if self._place == len(self._record):
            self._record.append(make())
        self._place += 1
        return self._record[self._place - 1]

    def choose(self, weights):
        return self._next(lambda: self._draws.choose(weights))

    def uniform(self):
        return self._next(self._draws.uniform)


def test_mi18_two_requests_on_one_stream():
    p, q = THREE
    entry = STEP_MISTAKES["shared-stream"]
    rule = entry.rule(p, q)

    def independent(draws):
        return token_of(rule, draws), token_of(rule, draws)

    def one_stream(draws):
        stream = Recorded(draws)
        first = token_of(rule, stream)
        stream.rewind()
        return first, token_of(rule, stream)

    def equal(law):
        return sum(mass for (one, other), mass in law.items() if one == other)

    apart, together = outcome_law(independent), outcome_law(one_stream)
    assert equal(apart) == Fraction(19, 50)
    assert equal(together) == 1
    for law in apart, together:
        for which in 0, 1:
            single = [sum(m for pair, m in law.items() if pair[which] == x) for x in range(3)]
            assert tuple(single) == p == entry.law(p, q)
    assert entry.verdict == "right law but dependent draws"


# ---------------------------------------------------------------- floats


@st.composite
def binary_pairs(draw):
    """Laws that floats hold exactly: parts of a power of 2, some of them tiny."""
    n = draw(st.integers(1, 6))
    size = 1 << draw(st.sampled_from([1, 3, 10, 30, 52]))

    def law():
        near = st.one_of(st.integers(0, size), st.integers(0, min(size, 4)))
        cuts = [0, *sorted(draw(near) for _ in range(n - 1)), size]
        return draw(st.permutations([Fraction(b - a, size) for a, b in pairwise(cuts)]))

    return tuple(law()), tuple(law())


@given(binary_pairs())
@settings(max_examples=40)
@example((fractions("1 0"), fractions("1/2 1/2")))
def test_floats_have_the_law_of_the_same_fractions(pair):
    p, q = pair
    floats = [np.array(vector, float) for vector in pair]
    assert all(tuple(map(Fraction, f.tolist())) == v for f, v in zip(floats, pair, strict=True))
    for slug, mistake in STEP_MISTAKES.items():
        try:
            exact = mistake.run(p, q)
        except NoLawError:
            with pytest.raises(NoLawError):
                mistake.run(*floats)
            continue
        found = mistake.run(*floats)
        for mine, wanted in ((found.kept, exact.kept), (found.replaced, exact.replaced)):
            assert all(type(mass) is float for mass in mine), slug
            assert mine == pytest.approx(tuple(map(float, wanted)), abs=1e-14), slug
            assert min(mine) >= 0, slug


# ---------------------------------------------------------------- parameters and bad input


@pytest.mark.parametrize(
    ("slug", "text", "value"),
    [
        ("floor-residual", {"floor": "1/10"}, {"floor": Fraction(1, 10)}),
        ("floor-residual", {"floor": "0"}, {"floor": Fraction(0)}),
        ("filtered-proposal", {"top_k": "3"}, {"top_k": 3}),
        ("filtered-proposal", {"top_k": "3"}, {"top_k": np.int64(3)}),
        ("filtered-proposal", {"top_k": "99"}, {"top_k": 4}),
        ("unfiltered-target", {"top_p": "65%"}, {"top_p": Fraction(13, 20)}),
        ("unfiltered-target", {"top_k": "2", "top_p": "1"}, {"top_k": 2, "top_p": 1}),
        ("unmapped-draft", {"order": "2, 0, 3, 1"}, {"order": (2, 0, 3, 1)}),
        ("unmapped-draft", {"order": "2 0 3 1"}, {"order": [2, 0, 3, 1]}),
    ],
)
def test_parameters_as_text_and_as_values(slug, text, value):
    mistake = STEP_MISTAKES[slug]
    assert mistake.law(*FOUR, **text) == mistake.law(*FOUR, **value)
    assert mistake.right(*FOUR, **text) == mistake.right(*FOUR, **value)


def test_defaults_are_what_is_used():
    for slug, mistake in STEP_MISTAKES.items():
        given = {p.name: p.default for p in mistake.parameters if p.default}
        assert mistake.law(*FOUR) == mistake.law(*FOUR, **given), slug
        assert mistake.right(*FOUR) == mistake.right(*FOUR, **given), slug
        assert all(parameter.label for parameter in mistake.parameters)
    assert STEP_MISTAKES["floor-residual"].law(*FOUR, floor=0) == FOUR[0]
    entry = STEP_MISTAKES["unmapped-draft"]
    assert entry.law(*FOUR) == entry.law(*FOUR, order="3 2 1 0")


@pytest.mark.parametrize(
    ("slug", "given", "words"),
    [
        ("floor-residual", {"floor": "-1"}, "accepted is 0 or more"),
        ("floor-residual", {"floor": Fraction(-1, 10)}, "accepted is 0 or more"),
        ("floor-residual", {"floor": float("nan")}, "accepted is 0 or more"),
        ("floor-residual", {"floor": "low"}, "accepted is a number"),
        ("filtered-proposal", {"top_k": "0"}, "accepted is a whole number from 1"),
        ("filtered-proposal", {"top_k": 0}, "accepted is a whole number from 1"),
        ("filtered-proposal", {"top_k": -1}, "accepted is a whole number from 1"),
        ("filtered-proposal", {"top_k": True}, "accepted is a whole number from 1"),
        ("filtered-proposal", {"top_k": 1.5}, "accepted is a whole number from 1"),
        ("filtered-proposal", {"top_k": "1.5"}, "accepted are 0, 1, 2 and so on"),
        ("unfiltered-target", {"top_k": 0}, "accepted is a whole number from 1"),
        ("unfiltered-target", {"top_p": "0"}, "accepted is more than 0 and up to 1"),
        ("unfiltered-target", {"top_p": "110%"}, "accepted is more than 0 and up to 1"),
        ("unfiltered-target", {"top_p": float("nan")}, "accepted is more than 0 and up to 1"),
        ("unmapped-draft", {"order": "0 1 2"}, "accepted is each of 0 to 3 once"),
        ("unmapped-draft", {"order": (0, 1, 2, 2)}, "accepted is each of 0 to 3 once"),
        ("unmapped-draft", {"order": (1, 2, 3, 4)}, "accepted is each of 0 to 3 once"),
        ("unmapped-draft", {"order": "a b c d"}, "accepted are"),
        ("unmapped-draft", {"order": "0 1.5 2 3"}, "accepted are 0, 1, 2 and so on"),
        ("no-coin", {"top_k": 2}, "“no-coin” has no parameter “top_k”; accepted is none"),
        ("filtered-proposal", {"floor": 2}, "no parameter “floor”; accepted is top_k"),
        ("unfiltered-target", {"k": 2}, "no parameter “k”; accepted is top_k, top_p"),
    ],
)
def test_bad_parameters_are_refused(slug, given, words):
    with pytest.raises(LabError) as fault:
        STEP_MISTAKES[slug].law(*FOUR, **given)
    assert words in str(fault.value)
    assert str(fault.value).endswith(".")
    (name, value), *_ = given.items()
    assert name in str(fault.value)
    if slug != "no-coin" and isinstance(value, str) and "it " in str(fault.value):
        assert str(fault.value).startswith(f"{name} (“{value}”): it ")


def test_bad_vectors_are_refused_as_by_one_step():
    law = STEP_MISTAKES["no-coin"].law
    with pytest.raises(LengthError, match="p has 2 entries and q has 3"):
        law(["1/2", "1/2"], ["1/2", "1/4", "1/4"])
    with pytest.raises(TotalError, match="q sums to"):
        law(["1/2", "1/2"], ["1/2", "1/4"])
    assert issubclass(NoLawError, LabError)


# ---------------------------------------------------------------- the gallery on one p and q


@given(ticket_pairs())
@settings(max_examples=20)
@example(WORKED)
@example(DISJOINT)
@example(EQUAL)
def test_shown_is_everything_and_sorted(pair):
    p, q = pair
    shown = shown_on(p, q)
    assert sorted(each.mistake.slug for each in shown) == sorted(STEP_MISTAKES)
    stuck = [each for each in shown if each.law is None]
    assert list(shown[: len(stuck)]) == stuck  # what cannot go on comes first
    for each in stuck:
        assert each.distance is None
        assert each.stuck.endswith(".")
        with pytest.raises(NoLawError):
            each.mistake.law(p, q)
    gaps = [each.distance for each in shown[len(stuck) :]]
    assert gaps == sorted(gaps, reverse=True)
    for each in shown[len(stuck) :]:
        assert each.stuck == ""
        law, wanted = each.mistake.law(p, q), each.mistake.right(p, q)
        far = sum(abs(a - b) for a, b in zip(law, wanted, strict=True)) / 2
        if each.mistake.slug == "softmax-residual":  # floats that are added as floats, or exactly
            assert each.law.output == pytest.approx(law, abs=1e-15)
            assert each.distance == pytest.approx(far, abs=1e-15)
        else:
            assert each.law.output == law
            assert each.distance == far
        assert all(isinstance(mass, Fraction) for mass in each.law.output)
        if each.mistake.verdict != "biased":
            assert each.distance == 0


def test_equals_stay_in_the_order_of_the_gallery():
    order = list(STEP_MISTAKES)
    shown = shown_on(*WORKED)
    for first, second in pairwise(shown):
        if first.distance == second.distance:
            assert order.index(first.mistake.slug) < order.index(second.mistake.slug)


def test_variation():
    assert variation(fractions("1/2 1/2 0"), fractions("0 1/2 1/2")) == Fraction(1, 2)
    assert variation((0.5, 0.5), (0.25, 0.75)) == 0.25


def test_a_sampler_is_held_against_the_gallery():
    p, q = THREE
    for slug in ("resample-from-target", "shared-uniform", "no-coin"):
        witness = STEP_MISTAKES[slug].witness
        found = nearest(STEP_MISTAKES[slug].law(*witness), *witness)
        assert found[0] == (slug, 0.0)
        assert [far for _, far in found] == sorted(far for _, far in found)
        assert "right" in dict(found)
    assert nearest(p, p, q)[0] == ("right", 0.0)
    assert nearest([0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5])[0][0] == "always-accept"
    stuck = nearest(DISJOINT[1], *DISJOINT)
    assert "redraw-until-accepted" not in dict(stuck)
    with pytest.raises(LengthError, match="law has 2 entries and p 3"):
        nearest([0.5, 0.5], p, q)


def test_a_row_of_zeros_leaves_nothing_to_cut():
    with pytest.raises(NoLawError, match="nothing to cut"):
        STEP_MISTAKES["filtered-proposal"].law([0.5, 0.5], [0.0, 0.0])
