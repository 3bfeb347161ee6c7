"""Models: a history of tokens in, the exact law of the next token out.

A model is a callable with a `tokens` attribute. It maps a history, the tuple of all tokens so far,
to one probability for each token, in token order; they are fractions with a sum of exactly 1.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import numpy as np

from lab.errors import LabError, LengthError
from lab.labels import visible
from lab.vectors import Exact, convert, parse_probability, require_total_1, total

History = tuple[str, ...]

LONGEST_OWN_TEXT = 20_000
"""Characters of a text that somebody brings for `ngrams`: some ten pages."""

LINE_END = "⏎"
"""The token that `ngrams` puts at the end of each line, and that stops the output."""

_MOST_KEPT = 100_000  # rows a model remembers before it starts afresh


class ModelLike(Protocol):
    """What the laws of blocks take for a model; `Model` is one, and checks its rows."""

    @property
    def tokens(self) -> Sequence[str]: ...

    def __call__(self, history: History, /) -> Sequence[object]: ...


class Model:
    """A model whose rows are checked once, when they are first asked for, and remembered.

    Parameters
    ----------
    tokens : sequence of str
        The vocabulary, each token once.
    context : callable
        History → what of it the row depends on: a history, or a position from 0.
    row : callable
        Context → the row, in anything that `lab.vectors` reads as exact.
    name : str
        What a row is called in messages, such as ``"p"``.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        context: Callable[[History], History | int],
        row: Callable[[Any], Sequence[object]],
        name: str,
    ) -> None:
        self.tokens = _distinct(tokens)
        self._context, self._row, self._name = context, row, name
        self._known: dict[History | int, Exact] = {}

    def __call__(self, history: History, /) -> Exact:
        """The law of the token after `history`.

        Raises
        ------
        LabError
            When the row is not a law over the tokens; the message names its history.
        """
        context = self._context(history)
        row = self._known.get(context)
        if row is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            name = f"{self._name} {_place(context)}"
            row = self._known[context] = _checked(self._row(context), self.tokens, name)
        return row


def as_model(model: ModelLike, name: str = "The row") -> Model:
    """`model` with checked rows: itself if it is a `Model`, else wrapped.

    Raises
    ------
    LabError
        When it has no `tokens`.
    """
    if isinstance(model, Model):
        return model
    if not hasattr(model, "tokens"):
        raise LabError(
            f"{model!r} is no model: it has no tokens. lab.models.from_function(f, tokens) makes "
            "one of a function."
        )
    return from_function(model, model.tokens, name)


def from_function(
    function: Callable[[History], Sequence[object]], tokens: Sequence[str], name: str = "The row"
) -> Model:
    """The model that asks `function` for the row after each history, once.

    Parameters
    ----------
    function : callable
        History (tuple of str) → one exact number for each token: fractions, whole numbers or
        texts such as ``"0.2"``. Floats are refused: they hardly ever sum to exactly 1.
    tokens : sequence of str
        The vocabulary, each token once, in the order of the rows.
    name : str
        What a row is called in messages.

    >>> model = from_function(lambda history: ["1/3", "2/3"], "AB")
    >>> model(("A", "A"))
    (Fraction(1, 3), Fraction(2, 3))
    """
    return Model(tokens, lambda history: history, function, name)


def table(
    tokens: Sequence[str],
    rows: Mapping[History, Sequence[object]],
    name: str = "The row",
) -> Model:
    """Rows by history; a history without one takes that of its longest known suffix.

    Parameters
    ----------
    tokens : sequence of str
        The vocabulary, each token once.
    rows : mapping of history to row
        Must hold the empty history ``()``, which is a suffix of every other. A row is a text or
        a sequence of exact numbers.

    Raises
    ------
    LabError
        When the empty history is missing, a history is not made of the tokens, or a row is not
        a law over them; it names the history.

    >>> model = table("AB", {(): "0.5, 0.5", ("A",): "0.9, 0.1"})
    >>> model(("B", "A")) == model(("A",)), model(("A", "B")) == model(())
    (True, True)
    """
    vocabulary = _distinct(tokens)
    for history in rows:
        if not isinstance(history, tuple) or not set(history) <= set(vocabulary):
            raise LabError(
                f"The history {history!r} is not made of the tokens; accepted are tuples of "
                f"{_listed(vocabulary)}."
            )
    if () not in rows:
        raise LabError(
            "The table has no row for the empty history, the one that every other falls back "
            "to; accepted are tables with a row at the start."
        )
    known = dict(rows)
    longest = max(map(len, known))

    def context(history: History) -> History:
        suffix = history[-longest:] if longest else ()
        while suffix not in known:
            suffix = suffix[1:]
        return suffix

    return _asked(Model(vocabulary, context, known.__getitem__, name), known)


def by_position(
    tokens: Sequence[str], rows: Sequence[Sequence[object]], name: str = "The row"
) -> Model:
    """Rows by position, whatever the tokens before; after the last row that row continues.

    Raises
    ------
    LabError
        When there is no row, or one is not a law over the tokens; it names the position.

    >>> model = by_position("AB", ["0.5, 0.5", "1, 0"])
    >>> model(("B",)) == model(("A", "A", "A")) == (1, 0)
    True
    """
    if not rows:
        raise LabError("There are no rows; at least one is accepted, for the first position.")
    known = tuple(rows)
    last = len(known) - 1
    model = Model(tokens, lambda history: min(len(history), last), known.__getitem__, name)
    return _asked(model, [(model.tokens[0],) * position for position in range(len(known))])


def markov(
    tokens: Sequence[str],
    initial: Sequence[object],
    rows: Mapping[str, Sequence[object]],
    name: str = "The row",
) -> Model:
    """A Markov chain: a first row, then one for each token that may come last.

    A token that stops the output needs no row. Asking for one that is missing is refused.

    Raises
    ------
    LabError
        When a row is not a law over the tokens, or belongs to none of them; it names the token.

    >>> model = markov("AB", "1, 0", {"A": "0.5, 0.5", "B": "0, 1"})
    >>> model(()), model(("A", "B"))
    ((Fraction(1, 1), Fraction(0, 1)), (Fraction(0, 1), Fraction(1, 1)))
    """
    for token in rows:
        if token not in set(tokens):
            raise LabError(f"There is a row for {token!r}; the tokens are {_listed(tokens)}.")
    known: dict[History, Sequence[object]] = {(): initial}
    known |= {(token,): after for token, after in rows.items()}

    def row(context: History) -> Sequence[object]:
        if context not in known:
            raise LabError(
                f"{name} {_place(context)} is missing; a Markov chain needs one for each token "
                "that does not stop the output."
            )
        return known[context]

    return _asked(Model(tokens, lambda history: history[-1:], row, name), known)


def ngrams(
    text: str,
    order: int,
    *,
    smoothing: Fraction | int | str = 0,
    stop: str = LINE_END,
    name: str = "The row",
) -> Model:
    """Letters counted from a text: the next letter, given the `order` letters before it.

    Tokens are the letters that occur in the text, in lower case and sorted, then the space, then
    `stop`, which ends every line. Marks and apostrophes are dropped; whatever else is no letter
    counts as a space. A history shorter than `order` stands at the start of a line. The row is

        (count(context, x) + smoothing) / (count(context) + smoothing · number of tokens).

    A context that never occurs gives every token the same probability; that is what the formula
    says for any smoothing above 0, and its limit where the smoothing is 0.

    Parameters
    ----------
    text : str
        At least one line with a letter, at most `LONGEST_OWN_TEXT` characters.
    order : int
        How many letters a row looks back: 0 for the shares of letters, 1 for pairs, and so on.
    smoothing : Fraction, int or str
        0 or more, exact, added to each count.
    stop : str
        The token at the end of each line.

    Raises
    ------
    LabError
        When the text is empty or too long, or `order` or `smoothing` is not accepted.

    >>> model = ngrams("aab", 1, smoothing="1/2")
    >>> model.tokens, model(("a",))[:2]
    (('a', 'b', ' ', '⏎'), (Fraction(3, 8), Fraction(3, 8)))
    """
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise LabError(f"The order is {order}; accepted is a whole number from 0 up.")
    try:
        added = parse_probability(str(smoothing))
    except LabError as fault:
        raise LabError(f"Smoothing (“{smoothing}”): {fault}") from None
    lines = letter_lines(text)
    letters = sorted(set().union(*lines) - {" "})
    tokens = _distinct((*letters, " ", stop))
    counts: defaultdict[History, Counter[str]] = defaultdict(Counter)
    for line in lines:
        symbols = (*line, stop)
        for here, symbol in enumerate(symbols):
            counts[symbols[max(0, here - order) : here]][symbol] += 1

    def row(context: History) -> Exact:
        seen = counts.get(context, Counter())
        whole = seen.total() + added * len(tokens)
        if not whole:
            return (Fraction(1, len(tokens)),) * len(tokens)
        return tuple((seen[token] + added) / whole for token in tokens)

    return Model(tokens, lambda history: history[-order:] if order else (), row, name)


def letter_lines(text: str) -> tuple[str, ...]:
    """The lines of a text as `ngrams` counts them: lower-case letters with single spaces.

    Lines without a letter are left out. Raises a `LabError` when none is left, or when the text
    is longer than `LONGEST_OWN_TEXT`.
    """
    if len(text) > LONGEST_OWN_TEXT:
        raise LabError(
            f"The text has {len(text):,} characters; at most {LONGEST_OWN_TEXT:,} are counted."
        )
    # Composed after lowering, which may itself leave a mark behind.
    composed = unicodedata.normalize("NFC", text.lower())
    plain = "".join(_letter(character) for character in composed)
    lines = (" ".join(line.split()) for line in plain.split("\n"))
    found = tuple(line for line in lines if line)
    if not found:
        raise LabError("The text has no letters; accepted is at least one line with a letter.")
    return found


def _letter(character: str) -> str:
    if character in "\n\r\v\f\x85\u2028\u2029":
        return "\n"
    if character.isalpha():
        return character
    if character in "'’" or unicodedata.category(character).startswith("M"):
        return ""
    return " "


@lru_cache(maxsize=1)
def nursery_rhyme() -> str:
    """“The Star” (“Twinkle, twinkle, little star”), Jane Taylor, 1806: public domain."""
    path = Path(__file__).with_name("texts") / "the_star.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def history_text(history: Sequence[str]) -> str:
    """A history for reading: visible tokens with spaces between, the last eight of a long one.

    >>> history_text(["A", " ", "</s>"]), history_text([])
    ('A ␣ </s>', '(nothing)')
    """
    tail = [visible([token])[0] for token in history[-8:]]
    return " ".join(["…", *tail] if len(history) > 8 else tail) or "(nothing)"


def _place(context: History | int) -> str:
    """Where a row stands, for messages."""
    if isinstance(context, int):
        return f"at position {context + 1}"
    return f"after {history_text(context)}" if context else "at the start"


def _checked(values: Sequence[object], tokens: History, name: str) -> Exact:
    if isinstance(values, tuple) and len(values) == len(tokens) and _is_law(values):
        return values
    if not isinstance(values, Sequence | np.ndarray):
        raise LabError(f"{name} is {values!r}; accepted is one number for each token.")
    row = convert(values, name)
    if not isinstance(row, tuple):
        raise LabError(
            f"{name} is in floating point, and laws of blocks are exact; accepted are fractions, "
            "whole numbers and texts such as 0.25 or 1/4."
        )
    if len(row) != len(tokens):
        raise LengthError(
            f"{name} has {len(row)} entries; accepted is one for each of the {len(tokens)} tokens "
            f"{_listed(tokens)}."
        )
    require_total_1(row, name)
    return row


def _is_law(values: tuple[object, ...]) -> TypeGuard[Exact]:
    """Whether these are fractions, none negative, that sum to 1: what most rows are at once."""
    exact = tuple(value for value in values if type(value) is Fraction)
    return len(exact) == len(values) and total(exact) == 1 and min(exact) >= 0


def _asked(model: Model, histories: Mapping[History, object] | Sequence[History]) -> Model:
    """`model`, after a look at each row: a fault shows now, not in the middle of a law."""
    for history in histories:
        model(history)
    return model


def _distinct(tokens: Sequence[str]) -> History:
    """The tokens as a tuple; refused when there is none, or one twice."""
    vocabulary = tuple(tokens)
    if not vocabulary:
        raise LabError("There are no tokens; at least one is accepted.")
    twice = [token for token, times in Counter(vocabulary).items() if times > 1]
    if twice:
        raise LabError(
            f"The token {visible(twice)[0]} stands in the vocabulary more than once; a history "
            "could not tell the two apart, so accepted is each token once."
        )
    return vocabulary


def _listed(tokens: Sequence[str]) -> str:
    shown = visible(tokens[:8])
    return ", ".join(shown) + (", …" if len(tokens) > 8 else "")
