"""Exact `generated_law` against two plainer ways to the same law, in one run.

Both contenders are written out here: the enumeration goes through every path of drafts, coins and
replacements; the recursion is the library's own, over prefixes, but in `Fraction`. All three must
agree. The enumeration is timed once, since it takes far longer than the others; where it would go
through more than `MOST_PATHS` paths it stops there, and its time is scaled up and marked with ≈.
"""

from __future__ import annotations

import time
from collections import defaultdict
from fractions import Fraction
from functools import partial
from itertools import islice

import numpy as np

from lab.block import generated_law, target_law
from lab.models import from_function
from tests.bench.timing import best

SIZES = ((4, 4), (4, 7), (8, 3), (8, 5))
"""Tokens, and drafts in a block; as many tokens are generated."""

MOST_PATHS = 200_000


def model(tokens, seed):
    """Rows in hundredths that depend on the whole history, out of 50."""
    rng = np.random.default_rng(seed)
    cuts = [sorted(rng.choice(99, len(tokens) - 1, replace=False) + 1) for _ in range(50)]
    rows = [
        tuple(Fraction(int(b - a), 100) for a, b in zip([0, *cut], [*cut, 100], strict=True))
        for cut in cuts
    ]
    number = {token: n for n, token in enumerate(tokens)}

    def row(history):
        place = seed
        for token in history:
            place = (place * 31 + number[token] + 1) % 7919
        return rows[place % len(rows)]

    return from_function(row, tokens)


def enumerated(p, q, k, length):
    """Path by path: a draft, its coin, and on a rejection each replacement; a bonus after k."""

    def go_on(before, accepted, chance):
        if len(before) == length:
            yield before, chance
            return
        target = p(before)
        if accepted == k:
            for token, mass in zip(p.tokens, target, strict=True):
                yield from go_on((*before, token), 0, chance * mass)
            return
        draft = q(before)
        owed = [max(Fraction(0), a - b) for a, b in zip(target, draft, strict=True)]
        z = sum(owed)
        for token, a, b in zip(p.tokens, target, draft, strict=True):
            keep = min(Fraction(1), a / b)
            yield from go_on((*before, token), accepted + 1, chance * b * keep)
            if keep < 1:
                for other, mass in zip(p.tokens, owed, strict=True):
                    if mass:
                        rest = chance * b * (1 - keep) * mass / z
                        yield from go_on((*before, other), 0, rest)

    yield from go_on((), 0, Fraction(1))


def paths(p, q, k, length):
    """How many paths `enumerated` goes through, counted over prefixes instead of one by one."""
    live = {(): {0: 1}}
    for _ in range(length):
        longer = defaultdict(lambda: defaultdict(int))
        for before, ways in live.items():
            target, draft = p(before), q(before)
            rejectable = sum(b > a for a, b in zip(target, draft, strict=True))
            for accepted, count in ways.items():
                for token, a, b in zip(p.tokens, target, draft, strict=True):
                    after = longer[*before, token]
                    if accepted == k:
                        after[0] += count
                        continue
                    after[accepted + 1] += count
                    if a > b:
                        after[0] += count * rejectable
        live = longer
    return sum(sum(ways.values()) for ways in live.values())


def in_fractions(p, q, k, length):
    """Over prefixes, with the mass of each number of accepted drafts, in `Fraction`."""
    live = [((), [Fraction(1)])]
    for _ in range(length):
        longer = []
        for before, masses in live:
            testing, bonus = masses[:k], sum(masses[k:], Fraction(0))
            rejected = sum(testing, Fraction(0))
            for token, a, b in zip(p.tokens, p(before), q(before), strict=True):
                kept = min(a, b)
                fresh = rejected * (a - kept) + bonus * a
                longer.append(((*before, token), [fresh, *(mass * kept for mass in testing)]))
        live = longer
    return {tokens: sum(masses, Fraction(0)) for tokens, masses in live}


def main() -> None:
    """Print milliseconds, and each as a multiple of `generated_law`'s time."""
    print("\ngenerated_law, as many tokens as drafts, in milliseconds; (×) is over its own time")
    print(f"{'tokens':>8} {'K':>3} {'generated_law':>14} {'in Fraction':>20} {'enumeration':>24}")
    for n, k in SIZES:
        p, q = model("ABCDEFGH"[:n], 1), model("ABCDEFGH"[:n], 2)
        own = partial(generated_law, p, q, draft_length=k, length=k)
        times = best({"own": own, "fractions": partial(in_fractions, p, q, k, k)}, budget=3)
        law = own()
        assert law == target_law(p, length=k) == in_fractions(p, q, k, k)
        many = paths(p, q, k, k)
        start, found = time.perf_counter(), defaultdict(Fraction)
        for tokens, chance in islice(enumerated(p, q, k, k), MOST_PATHS):
            found[tokens] += chance
        took = time.perf_counter() - start
        if many <= MOST_PATHS:
            assert found == law
            mark = " "
        else:
            took, mark = took * many / MOST_PATHS, "≈"
        cells = [
            f"{mark}{seconds * 1e3:,.1f} (×{seconds / times['own']:,.1f})"
            for mark, seconds in ((" ", times["fractions"]), (mark, took))
        ]
        print(f"{n:>8} {k:>3} {times['own'] * 1e3:14.1f} {cells[0]:>20} {cells[1]:>24}")


if __name__ == "__main__":
    main()
