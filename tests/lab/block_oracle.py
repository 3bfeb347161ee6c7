"""A block, path by path: every draft, every fall of every coin, every last token.

Straight from the rules in words, with nothing imported from the code under test. A path is one
drafted sequence with all its coins tossed, needed or not; its probability is a product of draft
probabilities, coins and the last draw. Outcomes are added up in a dictionary.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

History = tuple[str, ...]
Row = tuple[Fraction, ...]
Rows = Callable[[History], Row]
Outcomes = dict[tuple[History, int, str], Fraction]
"""(emitted, drafts accepted, "replaced" or "bonus" or "stopped") → probability."""


def drafts(tokens: str, q: Rows, k: int, stop: str | None) -> Iterator[tuple[History, Fraction]]:
    """Every sequence that can be drafted: k tokens, or fewer if the last is the stop token."""
    paths: list[tuple[History, Fraction]] = [((), Fraction(1))]
    for _ in range(k):
        paths = [
            (path, chance) if path and path[-1] == stop else ((*path, token), chance * mass)
            for path, chance in paths
            for token, mass in (
                [("", 1)] if path and path[-1] == stop else zip(tokens, q(path), strict=True)
            )
            if mass
        ]
    yield from paths


def tossed(chances: list[Fraction]) -> Iterator[tuple[tuple[bool, ...], Fraction]]:
    """Every way for the coins to fall, with its probability; True says keep."""
    for falls in product((True, False), repeat=len(chances)):
        weight = Fraction(1)
        for fall, chance in zip(falls, chances, strict=True):
            weight *= chance if fall else 1 - chance
        if weight:
            yield falls, weight


def normalised(values: list[Fraction]) -> Row:
    return tuple(value / sum(values) for value in values)


def clamped(p: Row, q: Row, scale: Fraction = Fraction(1)) -> list[Fraction]:
    return [max(Fraction(0), scale * a - b) for a, b in zip(p, q, strict=True)]


def play(rule: str, tokens: str, p: Rows, q: Rows, k: int, stop: str | None) -> Outcomes:
    """One block under a rule, from the empty history."""
    outcomes: Outcomes = defaultdict(Fraction)
    if rule == "stop-ignored":
        rule, stop = "token-by-token", None
    verify = _verify_jointly if rule == "block-verification" else _verify_one_by_one
    for drafted, chance in drafts(tokens, q, k, stop):
        for outcome, part in verify(rule, tokens, p, q, k, stop, drafted):
            outcomes[outcome] += chance * part
    return dict(outcomes)


def _drawn(tokens: str, law: Row) -> list[tuple[str, Fraction]]:
    return [(token, mass) for token, mass in zip(tokens, law, strict=True) if mass]


def _verify_one_by_one(rule, tokens, p, q, k, stop, drafted):
    """The right rule, and those that differ from it in one thing."""

    def tested_row(i: int) -> Row:
        late = rule == "shifted-target" and drafted[i] != stop
        return p(drafted[: i + 1] if late else drafted[:i])

    def residual(i: int) -> Row:
        own = clamped(tested_row(i), q(drafted[:i]))
        if rule == "next-position-residual" and i + 1 < k and drafted[i] != stop:
            after = drafted[: i + 1]
            later = clamped(p(after), q(after))
            return normalised(later if any(later) else own)
        return normalised(own)

    chances = []
    for i, token in enumerate(drafted):
        x = tokens.index(token)
        chances.append(min(Fraction(1), tested_row(i)[x] / q(drafted[:i])[x]))
    for falls, weight in tossed(chances):
        if all(falls):
            if drafted and drafted[-1] == stop:
                yield (drafted, len(drafted), "stopped"), weight
            else:
                for token, mass in _drawn(tokens, p(drafted)):
                    yield ((*drafted, token), len(drafted), "bonus"), weight * mass
        elif rule != "keep-testing":
            i = falls.index(False)
            for token, mass in _drawn(tokens, residual(i)):
                yield ((*drafted[:i], token), i, "replaced"), weight * mass
        else:
            # Position for position: the draft if it was kept, else any of its replacements.
            columns = [
                [(drafted[i], Fraction(1))] if fall else _drawn(tokens, residual(i))
                for i, fall in enumerate(falls)
            ]
            for column in product(*columns):
                emitted = tuple(token for token, _ in column)
                if stop in emitted:
                    emitted = emitted[: emitted.index(stop) + 1]
                part = weight
                for _, mass in column:
                    part *= mass
                kept = sum(falls[: len(emitted)])
                untouched = all(falls[: len(emitted)])
                yield (emitted, kept, "stopped" if untouched else "replaced"), part


def _verify_jointly(rule, tokens, p, q, k, stop, drafted):
    """Sun et al. (2024), algorithm 2, as it is printed: coins h_i, and the last that passes."""
    r = [Fraction(1)]
    for i, token in enumerate(drafted):
        x = tokens.index(token)
        r.append(min(Fraction(1), r[-1] * p(drafted[:i])[x] / q(drafted[:i])[x]))
    chances = []
    for i in range(1, len(drafted) + 1):
        if i == len(drafted):
            chances.append(r[i])
            continue
        owed = sum(clamped(p(drafted[:i]), q(drafted[:i]), r[i]))
        missing = owed + 1 - r[i]
        # 0/0: nothing is owed here and nothing was lost, so every later position passes anyway
        chances.append(owed / missing if missing else Fraction(1))
    for falls, weight in tossed(chances):
        passed = max((i + 1 for i, fall in enumerate(falls) if fall), default=0)
        kept = drafted[:passed]
        if passed == len(drafted):
            if drafted and drafted[-1] == stop:
                yield (kept, passed, "stopped"), weight
            else:
                for token, mass in _drawn(tokens, p(kept)):
                    yield ((*kept, token), passed, "bonus"), weight * mass
        else:
            for token, mass in _drawn(tokens, normalised(clamped(p(kept), q(kept), r[passed]))):
                yield ((*kept, token), passed, "replaced"), weight * mass


def emitted_law(outcomes: Outcomes) -> dict[History, Fraction]:
    law: dict[History, Fraction] = defaultdict(Fraction)
    for (emitted, _, _), part in outcomes.items():
        law[emitted] += part
    return dict(law)


def accepted_law(outcomes: Outcomes) -> dict[int, Fraction]:
    law: dict[int, Fraction] = defaultdict(Fraction)
    for (_, accepted, _), part in outcomes.items():
        law[accepted] += part
    return dict(law)


def generate(
    rule: str, tokens: str, p: Rows, q: Rows, k: int, stop: str | None, length: int
) -> dict[History, Fraction]:
    """Block after block until there are `length` tokens or a block ends in the stop token."""
    law: dict[History, Fraction] = defaultdict(Fraction)

    def go_on(before: History, chance: Fraction) -> None:
        later = [lambda rest, rows=rows: rows(before + rest) for rows in (p, q)]
        for emitted, part in emitted_law(play(rule, tokens, *later, k, stop)).items():
            after = before + emitted
            if len(after) >= length:
                law[after[:length]] += chance * part
            elif after[-1] == stop:
                law[after] += chance * part
            else:
                go_on(after, chance * part)

    go_on((), Fraction(1))
    return dict(law)


def autoregressive(tokens: str, p: Rows, stop: str | None, length: int) -> dict[History, Fraction]:
    """Token after token from the target."""
    if length == 0:
        return {(): Fraction(1)}
    law = {}
    for token, mass in _drawn(tokens, p(())):
        rest: dict[History, Fraction] = {(): Fraction(1)}
        if token != stop:
            following = lambda later, token=token: p((token, *later))  # noqa: E731
            rest = autoregressive(tokens, following, stop, length - 1)
        law.update({(token, *later): mass * part for later, part in rest.items()})
    return law
