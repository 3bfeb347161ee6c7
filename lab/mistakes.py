"""The gallery: faulty sampling rules, each with the law that it really has.

A mistake is a rule, code that draws (`lab.rules`), with a name, what it does, why people write it,
and a witness: a p and q on which it shows. Its law is found by running the rule through all its
choices. `code` is what it looks like in somebody's sampler, with an arrow at the line in question;
tests run those lines and hold their draws against the law.

Where nothing else is said, the rest of the rule is right, `RIGHT_CODE`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from textwrap import dedent
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lab.block import Law, generated_law, target_law
from lab.block import Rule as BlockRule
from lab.errors import LabError, LengthError
from lab.models import Model, ModelLike, table
from lab.rules import (
    Again,
    Draws,
    Keep,
    NoLawError,
    Number,
    Outcome,
    Play,
    Replace,
    RuleLaw,
    Weights,
    ratio,
    shortfall,
    step_law,
    step_rule,
    sum_of,
)
from lab.step import ExactStep, exact_step, law_pair
from lab.vectors import Exact, convert, parse_number, parse_vector

Verdict = Literal[
    "biased", "right but slower", "right law but dependent draws", "only wrong in finite precision"
]

VERDICTS: dict[Verdict, str] = {
    "biased": "Its output does not have the law p.",
    "right but slower": (
        "Its output has the law p; it keeps no more than the right rule, and mostly less."
    ),
    "right law but dependent draws": (
        "Each single draw has the law p; draws that should be independent are not."
    ),
    "only wrong in finite precision": (
        "In exact arithmetic it has the law p; in floats it can fail."
    ),
}
"""What is wrong with a mistake, with what that means."""

Values = Sequence[object] | npt.NDArray[Any]


@dataclass(frozen=True)
class Parameter:
    """Something a mistake can be made with more or less of.

    Attributes
    ----------
    name : the keyword of `law`
    label : what it is called on screen
    default : as text; what is used when it is not given
    read : text → value; raises a `LabError` that says what is accepted
    optional : whether it may be None
    """

    name: str
    label: str
    default: str
    read: Callable[[str], Any]
    optional: bool = True

    def value_of(self, given: object) -> object:
        """What was given, read if it is text."""
        if not isinstance(given, str):
            return given
        try:
            return self.read(given)
        except LabError as fault:
            shown = given if len(given) <= 40 else f"{given[:24]}…{given[-12:]}"
            raise LabError(f"{self.name} (“{shown}”): {fault}") from fault


@dataclass(frozen=True)
class Mistake:
    """What all mistakes have.

    Attributes
    ----------
    slug : its key in `MISTAKES`
    title : a few words
    does : one sentence on what the faulty code does
    why : one sentence on why people write it
    when : the mistake as a clause: "This is what comes out when …"
    verdict : a key of `VERDICTS`
    code : the faulty lines, as in a function of p, q and rng with n = len(p)
    """

    slug: str
    title: str
    does: str
    why: str
    when: str
    verdict: Verdict
    code: str

    @property
    def right_code(self) -> str:
        """The right lines in place of `code`."""
        return _OTHER_RIGHT_CODE.get(self.slug, RIGHT_CODE)


@dataclass(frozen=True)
class StepMistake(Mistake):
    """A mistake in one step.

    Attributes
    ----------
    rule : (p, q, and parameters) → the rule
    witness : a p and q on which it shows
    parameters : what `law` takes besides
    wanted : the law that the output should have, if that is not p
    """

    rule: Callable[..., Play]
    witness: tuple[Exact, Exact]
    parameters: tuple[Parameter, ...] = ()
    wanted: Callable[..., tuple[Number, ...]] | None = None
    in_blocks: Literal[False] = field(default=False, init=False)

    def run(self, p: Values, q: Values, **parameters: object) -> RuleLaw:
        """What comes out of the faulty rule, and how: kept, or as a replacement.

        Parameters
        ----------
        p, q : target and draft, shape (n,)
            As for `one_step`: exact in, exact out; floats in, floats out.
        **parameters
            Those of the mistake, such as ``top_k=2``, as values or texts; without any the defaults
            are used.

        Returns
        -------
        RuleLaw
            Vectors are tuples of Fraction, or of float for floats and for `softmax-residual`.

        Raises
        ------
        NoLawError
            When the code gets stuck on this p and q.
        LabError
            As for `one_step`, and for a parameter that is not accepted.
        """
        law = self._run(p, q, parameters)
        every = (*law.kept, *law.replaced)
        kind = float if any(isinstance(mass, float) for mass in every) else Fraction
        return law.of_kind(kind)

    def _run(self, p: Values, q: Values, parameters: Mapping[str, object]) -> RuleLaw:
        target, draft = _numbers(p, q)
        return step_law(self.rule(target, draft, **self._read(parameters)), len(target))

    def law(self, p: Values, q: Values, **parameters: object) -> tuple[Any, ...]:
        """The law of the token that comes out. Parameters and errors as for `run`."""
        return self.run(p, q, **parameters).output

    def right(self, p: Values, q: Values, **parameters: object) -> tuple[Any, ...]:
        """The law that should come out: p, or what the user asked for."""
        target, draft = _numbers(p, q)
        if self.wanted is None:
            return tuple(target)
        return self.wanted(target, draft, **self._read(parameters))

    def _read(self, given: Mapping[str, object]) -> dict[str, object]:
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                accepted = ", ".join(known) or "none"
                raise LabError(f"“{self.slug}” has no parameter “{name}”; accepted is {accepted}.")
        if not given:
            given = {p.name: p.default for p in self.parameters if p.default}
        return {name: known[name].value_of(value) for name, value in given.items()}


@dataclass(frozen=True)
class BlockMistake(Mistake):
    """A mistake that shows only in blocks: it mixes up positions.

    Attributes
    ----------
    witness : a target and a draft model on which it shows
    stop : the witness's stop token
    """

    witness: tuple[Model, Model]
    stop: str | None = None
    in_blocks: Literal[True] = field(default=True, init=False)

    @property
    def rule(self) -> BlockRule:
        """Its rule in `lab.block`, which has the same name."""
        return self.slug  # type: ignore[return-value]

    def law(
        self,
        target: ModelLike,
        draft: ModelLike,
        *,
        draft_length: int = 2,
        length: int = 3,
        stop: str | None = None,
    ) -> Law:
        """The law of the first `length` tokens, block after block; see `generated_law`.

        Where no stop token is given, the witness's is used if the models have it.
        """
        return generated_law(
            target,
            draft,
            draft_length=draft_length,
            length=length,
            stop=self._stop(target, stop),
            rule=self.rule,
        )

    def right(
        self,
        target: ModelLike,
        draft: ModelLike,
        *,
        length: int = 3,
        stop: str | None = None,
        **_: object,
    ) -> Law:
        """The law that should come out: the target's own."""
        return target_law(target, length=length, stop=self._stop(target, stop))

    def _stop(self, target: ModelLike, given: str | None) -> str | None:
        return self.stop if given is None and self.stop in target.tokens else given


def variation(left: Sequence[Number], right: Sequence[Number]) -> Number:
    """The total variation distance of two laws: half the sum of the absolute differences."""
    return sum_of([abs(a - b) for a, b in zip(left, right, strict=True)]) / 2


def _numbers(p: Values, q: Values) -> tuple[Weights, Weights]:
    """The entries as Python's numbers, which are quicker one by one than NumPy's."""
    target, draft = law_pair(p, q)
    p_entries, q_entries = (
        tuple(map(float, vector)) if isinstance(vector, np.ndarray) else vector
        for vector in (target, draft)
    )
    return p_entries, q_entries


# --- The rules that are not only a changed vector ---------------------------------------------


def _redraw_until_accepted(p: Weights, q: Weights) -> Play:
    def play(draws: Draws) -> Outcome:
        x = draws.choose(q)
        return Keep(x) if draws.uniform() < ratio(p, q, x) else Again()

    return play


def _only_rejected_removed(p: Weights, q: Weights) -> Play:
    def play(draws: Draws) -> Outcome:
        x = draws.choose(q)
        return Keep(x) if draws.uniform() < ratio(p, q, x) else Replace(p, without=x)

    return play


def _target_zeroed(p: Weights, q: Weights) -> Play:
    owed = shortfall(p, q)

    def play(draws: Draws) -> Outcome:
        x = draws.choose(q)
        # p(x) reads 0 by now: nothing is below the ratio 0, and the residual leaves x out.
        return Replace(owed, without=x)

    return play


def _accept_if_equal(p: Weights, q: Weights) -> Play:
    def play(draws: Draws) -> Outcome:
        x = draws.choose(q)
        # y, drawn from p, is x with probability p(x), and else another token.
        return Keep(x) if draws.uniform() < p[x] else Replace(p, without=x)

    return play


def _accept_if_equal_or_ratio(p: Weights, q: Weights) -> Play:
    owed = shortfall(p, q)

    def play(draws: Draws) -> Outcome:
        x = draws.choose(q)
        if draws.uniform() < p[x] or draws.uniform() < ratio(p, q, x):
            return Keep(x)
        return Replace(owed)

    return play


def _shared_uniform(p: Weights, q: Weights) -> Play:
    owed = shortfall(p, q)

    def play(draws: Draws) -> Outcome:
        x, u = draws.choose(q), draws.uniform()
        return Keep(x) if u < ratio(p, q, x) else Replace(owed, by=u)

    return play


def _shared_noise(p: Weights, q: Weights) -> Play:
    owed = shortfall(p, q)

    def play(draws: Draws) -> Outcome:
        race = draws.race()
        x = race.winner(q)
        return Keep(x) if draws.uniform() < ratio(p, q, x) else Replace(owed, by=race)

    return play


# --- Those that are ---------------------------------------------------------------------------


def _softmax(owed: Weights) -> tuple[float, ...]:
    return tuple(math.exp(float(mass)) for mass in owed)


def _last_gets_the_rest(owed: Weights) -> tuple[Number, ...]:
    return (*owed[:-1], owed[-1] + 1 - sum_of(owed))


def _one_hot(token: int, like: Weights) -> tuple[Number, ...]:
    return tuple(0 * mass + (x == token) for x, mass in enumerate(like))


def _no_coin(p: Weights, q: Weights) -> Play:
    return step_rule(p, q, keeps=lambda x: int(p[x] >= q[x]))


def _ratio_to_max(p: Weights, q: Weights) -> Play:
    largest = max(p)
    return step_rule(p, q, keeps=lambda x: p[x] / largest)


def _unmapped_draft(p: Weights, q: Weights, order: Sequence[int] | None = None) -> Play:
    ids = range(len(q))[::-1] if order is None else order
    if sorted(ids) != list(range(len(q))):
        raise LabError(
            f"The order is {', '.join(map(str, list(ids)[:12]))}; accepted is each of 0 to "
            f"{len(q) - 1} once."
        )
    proposal = list(q)
    for own, token in enumerate(ids):
        proposal[token] = q[own]
    return step_rule(p, q, proposal=proposal)


def _cut(law: Weights, top_k: int | None = None, top_p: Number | None = None) -> tuple[Number, ...]:
    """A law cut to its largest entries, and divided by what is left; between equals the earlier.

    top_k keeps so many; top_p the fewest whose mass is at least so much.
    """
    order = sorted(range(len(law)), key=lambda x: -law[x])
    if top_p is not None:
        if not 0 < top_p <= 1:
            raise LabError(f"top_p is {top_p}; accepted is more than 0 and up to 1.")
        mass, kept = 0, 0
        while mass < top_p and kept < len(order):
            mass, kept = mass + law[order[kept]], kept + 1
        order = order[:kept]
    if top_k is not None:
        if isinstance(top_k, bool) or not isinstance(top_k, int | np.integer) or top_k < 1:
            raise LabError(f"top_k is {top_k}; accepted is a whole number from 1.")
        order = order[:top_k]
    left = set(order)
    whole = sum_of([law[x] for x in order])
    if not whole:
        raise NoLawError("This rule divides 0 by 0: there is nothing to cut.")
    return tuple(mass / whole if x in left else 0 * mass for x, mass in enumerate(law))


def _floored(p: Weights, q: Weights, floor: Number) -> Play:
    if not floor >= 0:
        raise LabError(f"The floor is {floor}; accepted is 0 or more.")
    return step_rule(p, q, replacement=tuple(max(a - b, floor) for a, b in zip(p, q, strict=True)))


def _unfiltered_target(
    p: Weights, q: Weights, top_k: int | None = None, top_p: Number | None = None
) -> Play:
    _cut(p, top_k, top_p)  # refuses what nobody can ask for
    return step_rule(p, q)


def _as_asked(
    p: Weights, q: Weights, top_k: int | None = None, top_p: Number | None = None
) -> tuple[Number, ...]:
    return _cut(p, top_k, top_p)


def _read_whole(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text.strip()):
        raise LabError("it is no whole number; accepted are 0, 1, 2 and so on.")
    return int(text)


def _read_order(text: str) -> tuple[int, ...]:
    return tuple(_read_whole(number) for number in text.replace(",", " ").split())


_TOP_K = Parameter("top_k", "top_k", "2", _read_whole)

# --- The gallery ------------------------------------------------------------------------------

RIGHT_CODE = dedent("""\
    x = rng.choice(n, p=q)
    if rng.random() < min(1, p[x] / q[x]):
        return x
    r = np.maximum(p - q, 0)
    return rng.choice(n, p=r / r.sum())
    """)
"""The right lines, in a function of p, q and rng, with n = len(p)."""

_OTHER_RIGHT_CODE = {
    "unfiltered-target": dedent("""\
        p = np.where(np.argsort(np.argsort(-p, kind="stable")) < top_k, p, 0)
        p = p / p.sum()
        """)
    + RIGHT_CODE,
    "next-position-residual": dedent("""\
        # position i is the first rejection
        r = np.maximum(p[i] - q[i], 0)
        token = rng.choice(n, p=r / r.sum())
        """),
    "shifted-target": dedent("""\
        for i in range(K):
            x = drafts[i]
            ratio = p[i][x] / q[i][x]
            if rng.random() >= min(1, ratio):
                break
        """),
    "keep-testing": dedent("""\
        for i in range(K):
            x = drafts[i]
            if rng.random() >= p[i][x] / q[i][x]:
                drafts[i:] = [replacement(i)]
                break
        """),
    "stop-ignored": dedent("""\
        for token in accepted + [last]:
            output.append(token)
            if token == stop:
                return output
        """),
}

_PROPOSE_AND_TEST = RIGHT_CODE[: RIGHT_CODE.index("r = ")]


def _with_end(end: str) -> str:
    return _PROPOSE_AND_TEST + dedent(end)


def _with_test(test: str) -> str:
    return RIGHT_CODE.replace("if rng.random() < min(1, p[x] / q[x]):", test)


def _pair(p: str, q: str) -> tuple[Exact, Exact]:
    return parse_vector(p, "p"), parse_vector(q, "q")


_THREE = _pair("0.5, 0.3, 0.2", "0.2, 0.3, 0.5")
_FOUR = _pair("0.4, 0.3, 0.2, 0.1", "0.1, 0.2, 0.3, 0.4")

_STEP_MISTAKES = (
    StepMistake(
        "resample-from-target",
        "Replacement drawn from p",
        "After a rejection it draws from the target p instead of the residual r.",
        "“Fall back to the target” sounds safe; but what was kept has paid part of p already.",
        "the replacement is drawn from p instead of r",
        "biased",
        _with_end("return rng.choice(n, p=p)  # ←\n"),
        lambda p, q: step_rule(p, q, replacement=p),
        _THREE,
    ),
    StepMistake(
        "redraw-until-accepted",
        "Proposing again until one is kept",
        "After a rejection it proposes again from q, until a proposal is kept.",
        "It looks like rejection sampling, which keeps with p/(M·q) and not with min(1, p/q).",
        "q proposes again until one is kept",
        "biased",
        dedent("""\
            while True:  # ←
                x = rng.choice(n, p=q)
                if rng.random() < min(1, p[x] / q[x]):
                    return x
            """),
        _redraw_until_accepted,
        _THREE,
    ),
    StepMistake(
        "absolute-difference",
        "|p − q| as residual",
        "It draws the replacement from |p − q|, normalised.",
        "A difference of laws seems to want a distance; but where q exceeds p nothing is owed.",
        "the replacement is drawn from |p − q|",
        "biased",
        _with_end("""\
            r = np.abs(p - q)  # ←
            return rng.choice(n, p=r / r.sum())
            """),
        lambda p, q: step_rule(
            p, q, replacement=tuple(abs(a - b) for a, b in zip(p, q, strict=True))
        ),
        _THREE,
    ),
    StepMistake(
        "swapped-roles",
        "p and q exchanged",
        "It keeps with min(1, q/p) and replaces from max(0, q − p).",
        "Papers disagree on which letter is the target: Chen et al. call it q.",
        "p and q are exchanged in ratio and residual",
        "biased",
        dedent("""\
            x = rng.choice(n, p=q)
            if rng.random() * p[x] < q[x]:  # ←
                return x
            r = np.maximum(q - p, 0)  # ←
            return rng.choice(n, p=r / r.sum())
            """),
        lambda p, q: step_rule(p, q, keeps=lambda x: ratio(q, p, x), replacement=shortfall(q, p)),
        _THREE,
    ),
    StepMistake(
        "only-rejected-removed",
        "Only the rejected token removed",
        "It zeroes the rejected token in p and renormalises; q is not subtracted elsewhere.",
        "“Not this one” is a natural correction, and the right one when q is sure of one token.",
        "only the rejected token is removed from p",
        "biased",
        _with_end("""\
            rest = p.copy()
            rest[x] = 0  # ←
            return rng.choice(n, p=rest / rest.sum())
            """),
        _only_rejected_removed,
        _FOUR,
    ),
    StepMistake(
        "drafted-candidates-only",
        "Residual over the draft's candidates",
        "It normalises the residual over the tokens that q can propose.",
        "Draft and target logits are kept for the drafted candidates only, to save memory.",
        "the residual is cut to the tokens that q can propose",
        "biased",
        _with_end("""\
            r = np.maximum(p - q, 0) * (q > 0)  # ←
            return rng.choice(n, p=r / r.sum())
            """),
        lambda p, q: step_rule(
            p,
            q,
            replacement=tuple(
                mass if b else 0 * mass for mass, b in zip(shortfall(p, q), q, strict=True)
            ),
        ),
        _pair("0.2, 0.5, 0.3", "0.7, 0.3, 0"),
    ),
    StepMistake(
        "floor-residual",
        "Residual with a floor",
        "It takes max(p − q, floor) instead of max(p − q, 0), and renormalises.",
        "A small floor avoids 0/0 when p = q; but then nothing is rejected, and elsewhere it gives "
        "mass to tokens that are owed none.",
        "the residual has a floor",
        "biased",
        _with_end("""\
            r = np.maximum(p - q, floor)  # ←
            return rng.choice(n, p=r / r.sum())
            """),
        _floored,
        _pair("0.6, 0.3, 0.1", "0.5, 0.3, 0.2"),
        (Parameter("floor", "Floor", "0.00001", parse_number, optional=False),),
    ),
    StepMistake(
        "softmax-residual",
        "Softmax of the residual",
        "It puts max(0, p − q) through a softmax instead of dividing it by its sum.",
        "Samplers take logits, and a softmax is how one usually gets a law.",
        "the shortfall goes through a softmax",
        "biased",
        _with_end("""\
            r = np.exp(np.maximum(p - q, 0))  # ←
            return rng.choice(n, p=r / r.sum())
            """),
        lambda p, q: step_rule(p, q, replacement=_softmax(shortfall(p, q))),
        _THREE,
    ),
    StepMistake(
        "unnormalised-last-token",
        "Residual not divided by Z",
        "It inverts the cumulative sum of max(0, p − q) undivided: what is missing from 1 goes to "
        "the last token.",
        "A cumulative sum and a search look complete without the division.",
        "the shortfall is not divided by Z, so that the last token gets what is missing",
        "biased",
        _with_end("""\
            cdf = np.cumsum(np.maximum(p - q, 0))  # ← not divided by its sum
            return min(np.searchsorted(cdf, rng.random(), side="right"), n - 1)
            """),
        lambda p, q: step_rule(p, q, replacement=_last_gets_the_rest(shortfall(p, q))),
        _THREE,
    ),
    StepMistake(
        "first-token-fallback",
        "Replacement is token 0",
        "The replacement is always the first token of the vocabulary.",
        "An argmax or a search over a vector of zeros or NaN answers 0.",
        "the replacement is always the first token",
        "biased",
        _with_end("return 0  # ←\n"),
        lambda p, q: step_rule(p, q, replacement=_one_hot(0, p)),
        _pair("0.2, 0.5, 0.3", "0.6, 0.2, 0.2"),
    ),
    StepMistake(
        "no-coin",
        "Kept only if p ≥ q",
        "It keeps a proposal if and only if p(x) ≥ q(x), without a coin.",
        "The rule is often told as “accept if the target likes it at least as much”.",
        "a proposal is kept if and only if p ≥ q",
        "biased",
        _with_test("if p[x] >= q[x]:  # ← no coin"),
        _no_coin,
        _THREE,
    ),
    StepMistake(
        "ratio-to-max",
        "Kept with p(x)/max p",
        "It keeps a proposal with probability p(x)/max p.",
        "It is the test of typical or entropy-based acceptance, which is not exact.",
        "a proposal is kept with probability p(x)/max p",
        "biased",
        _with_test("if rng.random() < p[x] / p.max():  # ←"),
        _ratio_to_max,
        _THREE,
    ),
    StepMistake(
        "always-accept",
        "Everything is kept",
        "It keeps every proposal.",
        "A test that compares the wrong tensors, or a boolean the wrong way round, always passes.",
        "every proposal is kept",
        "biased",
        "return rng.choice(n, p=q)  # ← no test\n",
        lambda p, q: step_rule(p, q, keeps=lambda x: 1),
        _THREE,
    ),
    StepMistake(
        "accept-if-equal",
        "Kept if the target's draw agrees",
        "It draws y from p, emits y, and counts the proposal as kept if y is the proposed token.",
        "It is simple: it needs neither a ratio nor a residual.",
        "a proposal counts as kept if the target's own draw is the same",
        "right but slower",
        dedent("""\
            x = rng.choice(n, p=q)
            y = rng.choice(n, p=p)  # ←
            kept = x == y
            return y
            """),
        _accept_if_equal,
        _THREE,
    ),
    StepMistake(
        "accept-if-equal-or-ratio",
        "Kept if the draw agrees, or by the ratio",
        "It keeps the proposal if a draw from p agrees, and tests the ratio as well if not.",
        "A shortcut for a test that then runs all the same: two chances instead of one.",
        "a proposal has two chances, the target's draw and the ratio",
        "biased",
        _with_test("if x == rng.choice(n, p=p) or rng.random() < min(1, p[x] / q[x]):  # ←"),
        _accept_if_equal_or_ratio,
        _THREE,
    ),
    StepMistake(
        "greedy-proposal",
        "Proposal is q's top token",
        "It proposes the likeliest token of q, and tests with q as though it had been drawn.",
        "Draft models often run greedily; then the draft's law is one-hot, and q is not it.",
        "q's top token is proposed, but tested as though it were drawn",
        "biased",
        RIGHT_CODE.replace("x = rng.choice(n, p=q)", "x = np.argmax(q)  # ←"),
        lambda p, q: step_rule(p, q, proposal=_one_hot(q.index(max(q)), q)),
        _THREE,
    ),
    StepMistake(
        "filtered-proposal",
        "Proposal filtered, test with the uncut q",
        "It proposes from q cut to its top k, and tests with the uncut q.",
        "The filter stands in the draft's sampler, while the test gets the draft's raw softmax.",
        "proposals come from q cut to its top k, and are tested with the uncut q",
        "biased",
        "cut = np.where(np.argsort(np.argsort(-q, kind='stable')) < top_k, q, 0)\n"
        + RIGHT_CODE.replace("p=q)", "p=cut / cut.sum())  # ←"),
        lambda p, q, top_k=None: step_rule(p, q, proposal=_cut(q, top_k)),
        _pair("0.6, 0.4, 0, 0", "0.4, 0.3, 0.2, 0.1"),
        (_TOP_K,),
    ),
    StepMistake(
        "unfiltered-target",
        "Target not filtered",
        "The user asked for the target cut to its top k or top p; the rule verifies the raw one.",
        "Filters are applied where one model samples, and the verification has its own path.",
        "the target is not cut as it was asked for",
        "biased",
        "# ← p is not cut to its top_k\n" + RIGHT_CODE,
        _unfiltered_target,
        _THREE,
        (_TOP_K, Parameter("top_p", "top_p (empty: none)", "", parse_number)),
        _as_asked,
    ),
    StepMistake(
        "unmapped-draft",
        "Draft ids in another order",
        "The draft's token i is the target's token order[i]; q is read as though it stood in the "
        "target's order.",
        "Drafts with a vocabulary of their own come with a map that is easily left out at one of "
        "two places. (Left out at both, the rule is right again, and slow.)",
        "q is read in the draft's order of tokens",
        "biased",
        RIGHT_CODE.replace(
            "rng.choice(n, p=q)", "order[rng.choice(n, p=q)]  # ← q stays as it is"
        ).replace("min(1, p[x] / q[x])", "p[x] / q[x]"),
        _unmapped_draft,
        _pair("0.5, 0.3, 0.2", "0.4, 0.35, 0.25"),
        (Parameter("order", "Order (target ids of the draft's tokens)", "", _read_order),),
    ),
    StepMistake(
        "target-zeroed",
        "Target changed before it is read again",
        "The target's entry of the drafted token is zeroed in place before the test reads it.",
        "The residual is prepared ahead in the same memory: views and in-place methods share it.",
        "p is zeroed at the drafted token before the test reads it",
        "biased",
        dedent("""\
            x = rng.choice(n, p=q)
            p[x] = 0  # ← for the residual; the test reads it too
            if rng.random() < min(1, p[x] / q[x]):
                return x
            r = np.maximum(p - q, 0)
            return rng.choice(n, p=r / r.sum())
            """),
        _target_zeroed,
        _pair("0.5, 0.3, 0.2", "1, 0, 0"),
    ),
    StepMistake(
        "shared-uniform",
        "One uniform number for coin and replacement",
        "The number that failed the test also draws the replacement, by inverse CDF.",
        "One random number a position is what a batched kernel is given. After a rejection it is "
        "large, so that early tokens of r come too seldom.",
        "the coin's number also draws the replacement",
        "biased",
        dedent("""\
            x, u = rng.choice(n, p=q), rng.random()
            if u < min(1, p[x] / q[x]):
                return x
            cdf = np.cumsum(np.maximum(p - q, 0))
            return np.searchsorted(cdf, u * cdf[-1], side="right")  # ← u again
            """),
        _shared_uniform,
        _pair("0.3, 0.3, 0.3, 0.1", "0.1, 0.2, 0.3, 0.4"),
    ),
    StepMistake(
        "shared-noise",
        "One noise for draft and replacement",
        "The Gumbel or exponential noise that chose the draft also chooses the replacement.",
        "The noise tensor is made once a position and handed to both; but what lost the first race "
        "has clocks that are late where q was large.",
        "the noise that chose the draft also chooses the replacement",
        "biased",
        dedent("""\
            clock = rng.exponential(size=n)
            x = np.argmin(clock / q)
            if rng.random() < min(1, p[x] / q[x]):
                return x
            r = np.maximum(p - q, 0)
            return np.argmin(clock / r)  # ← the same clocks
            """),
        _shared_noise,
        _pair("0.3, 0.3, 0.3, 0.1", "0.1, 0.2, 0.3, 0.4"),
    ),
    StepMistake(
        "shared-stream",
        "Requests share one random stream",
        "All requests without a seed read the same stream of random numbers.",
        "A default seed, or a generator that is copied with the model; each histogram looks right.",
        "requests share one stream of random numbers",
        "right law but dependent draws",
        "rng = np.random.default_rng(0)  # ← in every request\n" + RIGHT_CODE,
        lambda p, q: step_rule(p, q),
        _THREE,
    ),
    StepMistake(
        "one-minus-alpha",
        "Z computed as 1 − Σ min(p, q)",
        "It decides and divides by 1 − Σ min(p, q) instead of Σ max(0, p − q).",
        "The two are equal; but in floats the first cancels, and can be off by all its digits or "
        "negative.",
        "Z is computed as 1 − Σ min(p, q)",
        "only wrong in finite precision",
        _with_end("""\
            z = 1 - np.minimum(p, q).sum()  # ←
            r = np.maximum(p - q, 0) / z
            return rng.choice(n, p=r)
            """),
        lambda p, q: step_rule(p, q),
        _pair("0.33, 0.56, 0.11", "0.33, 0.56, 0.11"),
    ),
    StepMistake(
        "closed-coin",
        "Kept if u ≤ p/q",
        "It keeps a proposal when u ≤ p/q instead of u < p/q.",
        "For a real number u it makes no difference. A float u is 0 now and then, and then keeps a "
        "token that the target rules out.",
        "the coin is compared with ≤",
        "only wrong in finite precision",
        _with_test("if rng.random() <= min(1, p[x] / q[x]):  # ←"),
        lambda p, q: step_rule(p, q),
        _pair("1, 0", "0.5, 0.5"),
    ),
)


def _two_tokens() -> tuple[Model, Model]:
    target = {(): "0.6, 0.4", ("A",): "0.2, 0.8", ("B",): "0.3, 0.7"}
    draft = {(): "0.4, 0.6", ("A",): "0.5, 0.5", ("B",): "0.7, 0.3"}
    return table(("A", "B"), target, "p"), table(("A", "B"), draft, "q")


def _with_a_stop() -> tuple[Model, Model]:
    tokens = ("A", "B", "</s>")
    return (
        table(tokens, {(): "0.5, 0.3, 0.2", ("</s>",): "1, 0, 0"}, "p"),
        table(tokens, {(): "0.4, 0.2, 0.4", ("</s>",): "1, 0, 0"}, "q"),
    )


_BLOCK_MISTAKES = (
    BlockMistake(
        "next-position-residual",
        "Residual of the next position",
        "The replacement is drawn from the residual of the position after the rejected draft.",
        "Target rows are one longer than the draft's, and an index is off by one.",
        "the residual of the next position is used",
        "biased",
        dedent("""\
            # position i is the first rejection
            r = np.maximum(p[i + 1] - q[i + 1], 0)  # ← p[i], q[i]
            token = rng.choice(n, p=r / r.sum())
            """),
        _two_tokens(),
    ),
    BlockMistake(
        "shifted-target",
        "Target rows shifted by one",
        "Each draft is tested with the target's row of the position after it.",
        "A model's logits at position i speak of token i + 1, and one shift is forgotten.",
        "the target's rows are shifted by one position",
        "biased",
        dedent("""\
            for i in range(K):
                x = drafts[i]
                ratio = p[i + 1][x] / q[i][x]  # ← p[i]
                if rng.random() >= min(1, ratio):
                    break
            """),
        _two_tokens(),
    ),
    BlockMistake(
        "keep-testing",
        "Testing goes on after a rejection",
        "After a rejection and its replacement the later drafts are tested as well.",
        "All positions are tested in one batch, and a mask of kept drafts is used instead of the "
        "first rejection.",
        "testing goes on after a rejection",
        "biased",
        dedent("""\
            for i in range(K):
                x = drafts[i]
                if rng.random() >= p[i][x] / q[i][x]:
                    drafts[i] = replacement(i)
                    # ← no break
            """),
        _two_tokens(),
    ),
    BlockMistake(
        "stop-ignored",
        "Stop token in mid-block ignored",
        "A stop token in the middle of a block does not stop it: tokens after it come out.",
        "The stop is looked for at the end of a block, where a sampler without speculation had it.",
        "a stop token in the middle of a block does not stop it",
        "biased",
        dedent("""\
            output += accepted + [last]
            if output[-1] == stop:  # ← anywhere in accepted
                break
            """),
        _with_a_stop(),
        "</s>",
    ),
)

MISTAKES: Mapping[str, StepMistake | BlockMistake] = {
    mistake.slug: mistake for mistake in (*_STEP_MISTAKES, *_BLOCK_MISTAKES)
}
"""The gallery, by slug."""

STEP_MISTAKES: Mapping[str, StepMistake] = {mistake.slug: mistake for mistake in _STEP_MISTAKES}
"""Those of one step: what a p and a q can show."""


# --- The gallery on one p and q ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shown:
    """What one p and q show of a mistake.

    Attributes
    ----------
    mistake : the mistake
    right : the right rule's step for the law that should come out
    law : what does come out; None when the code gets stuck
    distance : total variation distance of the two; None when the code gets stuck
    stuck : why there is no law
    """

    mistake: StepMistake
    right: ExactStep
    law: RuleLaw | None
    distance: Fraction | None
    stuck: str = ""

    @property
    def order(self) -> tuple[int, Fraction]:
        """For sorting: the farthest first, after those that get stuck."""
        return (0, Fraction()) if self.distance is None else (1, -self.distance)


def shown(mistake: StepMistake, p: Exact, q: Exact, **parameters: object) -> Shown:
    """A mistake on one p and q, exactly; floats that the mistake brings in are taken as they are.

    Raises a `LabError` for a parameter that is not accepted.
    """
    right = exact_step(mistake.right(p, q, **parameters), q)
    try:
        law = mistake._run(p, q, parameters).of_kind(Fraction)
    except NoLawError as fault:
        return Shown(mistake, right, None, None, str(fault))
    return Shown(mistake, right, law, variation(law.output, right.target))


def shown_on(p: Exact, q: Exact) -> tuple[Shown, ...]:
    """Every mistake of one step on this p and q, with its default parameters, by distance."""
    return tuple(sorted((shown(m, p, q) for m in _STEP_MISTAKES), key=lambda each: each.order))


def nearest(law: Values, p: Values, q: Values) -> list[tuple[str, float]]:
    """Somebody's law held against the gallery: slug and total variation distance, nearest first.

    The right rule stands among the mistakes as "right". Left out are those that get stuck on this
    p and q, those in blocks, and those whose output is p whatever p and q are.

    Parameters
    ----------
    law, p, q : shape (n,), as for `one_step`
        What comes out of the sampler, as exact masses or as shares of its draws; target; draft.

    Raises
    ------
    LabError
        As `one_step` does for p and q, and when `law` has another number of entries.

    >>> nearest([0.351, 0.388, 0.261], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5])[0][0]
    'resample-from-target'
    """
    target, _ = _numbers(p, q)
    mine = [float(mass) for mass in convert(law, "law")]
    if len(mine) != len(target):
        raise LengthError(
            f"The law has {len(mine)} entries and p {len(target)}; accepted is one for each token."
        )
    found = [("right", variation(mine, [float(mass) for mass in target]))]
    for slug, mistake in STEP_MISTAKES.items():
        if mistake.verdict == "biased" and mistake.wanted is None:
            with suppress(NoLawError):
                theirs = [float(mass) for mass in mistake.law(p, q)]
                found.append((slug, variation(mine, theirs)))
    return sorted(found, key=lambda each: each[1])
