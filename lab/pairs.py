"""A target and a draft model to draft blocks with: presets, rows to edit, links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from lab.errors import LabError
from lab.models import LINE_END, Model, by_position, ngrams, nursery_rhyme, table
from lab.scenario import format_tokens, parse_tokens

MOST_DRAFTS = 8
"""Drafts of a block that the page offers."""

MOST_ROWS = 60
"""Rows that the table takes."""

LONGEST_LENGTH = 8
"""Tokens of the generated law that the page offers."""


@dataclass(frozen=True)
class Row:
    """p and q after one history, or at one position, as texts of the fields.

    Attributes
    ----------
    place : the history as `parse_tokens` reads it, empty for the start; or the position from 1
    p, q : the rows
    """

    place: str
    p: str
    q: str


@dataclass(frozen=True)
class Pair:
    """Two models over the same tokens.

    Attributes
    ----------
    name, about : what it is called, and what it is for
    tokens : the vocabulary, as `parse_tokens` reads it; empty for letters
    stop : the token that ends the output, or None
    rows : rows by history, or by position
    by_position : whether rows depend on the position alone
    text : a text whose letters are counted; then there are no rows
    orders : how many letters target and draft look back
    smoothing : what is added to each count
    """

    name: str
    about: str
    tokens: str = ""
    stop: str | None = None
    rows: tuple[Row, ...] = ()
    by_position: bool = False
    text: str = ""
    orders: tuple[int, int] = (2, 1)
    smoothing: str = "0"

    def models(self) -> tuple[Model, Model]:
        """Target and draft.

        Raises
        ------
        LabError
            When a row is not a law; it names p or q, and the history.
        """
        return _models(self)


@lru_cache(maxsize=32)
def _models(pair: Pair) -> tuple[Model, Model]:
    if pair.text:
        target, draft = (
            ngrams(pair.text, order, smoothing=pair.smoothing, name=name)
            for order, name in zip(pair.orders, ("p", "q"), strict=True)
        )
        return target, draft
    tokens = parse_tokens(pair.tokens)
    if pair.stop is not None and pair.stop not in tokens:
        raise LabError(
            f"The stop token “{pair.stop}” is not one of the tokens {pair.tokens}; accepted is one "
            "of them, or none."
        )
    if pair.by_position:
        return (
            by_position(tokens, [row.p for row in pair.rows], "p"),
            by_position(tokens, [row.q for row in pair.rows], "q"),
        )
    places = [parse_tokens(row.place) if row.place.strip() else () for row in pair.rows]
    for place in places:
        if places.count(place) > 1:
            after = format_tokens(place) or "the start"
            raise LabError(f"There are two rows after {after}; accepted is one.")
    return (
        table(tokens, {place: row.p for place, row in zip(places, pair.rows, strict=True)}, "p"),
        table(tokens, {place: row.q for place, row in zip(places, pair.rows, strict=True)}, "q"),
    )


_ALL = (
    Pair(
        "Two tokens",
        "Rows that depend on the token before.",
        "A, B",
        rows=(
            Row("", "0.6, 0.4", "0.4, 0.6"),
            Row("A", "0.2, 0.8", "0.5, 0.5"),
            Row("B", "0.7, 0.3", "0.3, 0.7"),
        ),
    ),
    Pair(
        "Three tokens with a stop",
        "</s> ends the output wherever it is committed.",
        "A, B, </s>",
        "</s>",
        rows=(
            Row("", "0.5, 0.3, 0.2", "0.4, 0.2, 0.4"),
            Row("A", "0.2, 0.3, 0.5", "0.3, 0.3, 0.4"),
            Row("B", "0.6, 0.3, 0.1", "0.2, 0.3, 0.5"),
            Row("A, A", "0.1, 0.4, 0.5", "0.3, 0.3, 0.4"),
            Row("B, A", "0.25, 0.25, 0.5", "0.3, 0.3, 0.4"),
        ),
    ),
    Pair(
        "Equal everywhere",
        "p = q after every history: all drafts are kept.",
        "A, B",
        rows=(Row("", "0.75, 0.25", "0.75, 0.25"),),
    ),
    Pair(
        "Disjoint",
        "No draft is ever kept: still exact, one token a block.",
        "A, B, C",
        rows=(Row("", "0.3, 0.7, 0", "0, 0, 1"),),
    ),
    Pair(
        "Rows by position",
        "Each position has rows of its own, whatever came before.",
        "A, B, C",
        rows=(
            Row("1", "0.5, 0.3, 0.2", "0.2, 0.3, 0.5"),
            Row("2", "0.1, 0.6, 0.3", "0.3, 0.3, 0.4"),
            Row("3", "0.4, 0.4, 0.2", "0.3, 0.4, 0.3"),
        ),
        by_position=True,
    ),
    Pair(
        "Letters",
        "Letters of “The Star” (Jane Taylor, 1806): the target looks two letters back, the draft "
        "one.",
        stop=LINE_END,
        text=nursery_rhyme(),
    ),
)
PAIRS: dict[str, Pair] = {pair.name: pair for pair in _ALL}


@dataclass(frozen=True)
class BlockLink:
    """What a link to the Block page carries: a preset and its settings.

    Attributes
    ----------
    pair : a key of `PAIRS`
    drafts : K
    length : tokens of the generated law
    seed : of the blocks that are drawn
    cost : the time of a draft step over that of a target step
    """

    pair: str = "Two tokens"
    drafts: int = 3
    length: int = 3
    seed: int = 0
    cost: str = "0.1"

    def query(self) -> dict[str, str]:
        """The link's parameters."""
        return {
            "pair": self.pair,
            "K": str(self.drafts),
            "L": str(self.length),
            "seed": str(self.seed),
            "c": self.cost,
        }

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> BlockLink:
        """The settings in a link; what it does not say, or says badly, is as at the start."""
        link = cls()
        if query.get("pair") in PAIRS:
            link = replace(link, pair=query["pair"])
        bounds = {
            "drafts": ("K", 1, MOST_DRAFTS),
            "length": ("L", 1, LONGEST_LENGTH),
            "seed": ("seed", 0, 10**9),
        }
        for field, (name, least, most) in bounds.items():
            text = query.get(name, "")
            if text.isascii() and text.isdigit() and len(text) < 11 and least <= int(text) <= most:
                link = replace(link, **{field: int(text)})  # type: ignore[arg-type]
        if query.get("c"):
            link = replace(link, cost=query["c"])
        return link
