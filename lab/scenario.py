"""What one looks at: tokens, target and draft, with presets and links."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import urlencode

from lab.errors import FileError, LabError, LengthError
from lab.step import ExactStep, exact_step
from lab.vectors import (
    LONGEST_TEXT,
    Exact,
    format_vector,
    parse_vector,
    require_total_1,
)

MOST_BY_HAND = 1_000
"""Tokens that the fields and the table take."""

MOST_TOKENS = 10_000
"""Tokens that a file may hold."""

LONGEST_LINK = 8_000
"""Characters of a link: common web servers refuse longer ones."""

LINK_FIELDS = ("tokens", "p", "q")


@dataclass(frozen=True)
class Texts:
    """What stands in the three fields. Also what a link carries, and what a preset is."""

    tokens: str
    p: str
    q: str

    def query(self) -> dict[str, str]:
        """The link's parameters."""
        return {"tokens": self.tokens, "p": self.p, "q": self.q}

    def link(self, address: str, **more: str) -> str | None:
        """The link at `address`, with more parameters; None when it is too long for servers."""
        link = f"{address}?{urlencode({**more, **self.query()}, safe=',/')}"
        return link if len(link) <= LONGEST_LINK else None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Texts | None:
        """The fields as a link fills them; None when the link says nothing of p and q.

        Raises
        ------
        FileError
            When only one of p and q is there.
        """
        if not any(query.get(field) for field in ("p", "q")):
            return None
        for field in ("p", "q"):
            if not query.get(field):
                raise FileError(
                    f"The link has no {field}; accepted are links with tokens=…, p=… and q=…."
                )
        return cls(*(query.get(field, "") for field in LINK_FIELDS))


@dataclass(frozen=True)
class Scenario:
    """Tokens with a target p and a draft q, both exact laws over them.

    Raises
    ------
    LengthError
        When tokens, target and draft do not have the same number of entries.
    TotalError
        When target or draft does not sum to exactly 1.
    """

    tokens: tuple[str, ...]
    target: Exact
    draft: Exact

    def __post_init__(self) -> None:
        require_lengths(self.tokens, self.target, self.draft)
        require_total_1(self.target, "p")
        require_total_1(self.draft, "q")

    @cached_property
    def step(self) -> ExactStep:
        """The laws of one step."""
        return exact_step(self.target, self.draft)

    @property
    def texts(self) -> Texts:
        """The fields that read back as this scenario."""
        return Texts(
            format_tokens(self.tokens), format_vector(self.target), format_vector(self.draft)
        )

    @classmethod
    def from_texts(cls, texts: Texts) -> Scenario:
        """The scenario in the fields. Raises a `LabError` that names the field and entry."""
        target, draft = parse_vector(texts.p, "p"), parse_vector(texts.q, "q")
        return shared(read_tokens(texts.tokens, len(target)), target, draft)


@lru_cache(maxsize=64)
def shared(tokens: tuple[str, ...], target: Exact, draft: Exact) -> Scenario:
    """A `Scenario`, the same object for the same contents: its step is then computed once."""
    return Scenario(tokens, target, draft)


def require_lengths(tokens: Sequence[str], target: Exact, draft: Exact) -> None:
    """Raises `LengthError` unless there is one entry of each vector for each token."""
    if len(target) != len(draft):
        raise LengthError(
            f"p has {len(target):,} entries and q has {len(draft):,}; "
            "both need one entry for each token."
        )
    if len(tokens) != len(target):
        raise LengthError(
            f"There are {len(tokens):,} tokens for {len(target):,} entries of p and q; accepted "
            "is one token for each entry, or an empty field, which numbers them."
        )


def read_tokens(text: str, count: int) -> tuple[str, ...]:
    """`parse_tokens`, or for an empty text the numbers from 1 to `count`."""
    return parse_tokens(text) if text.strip() else tuple(str(n) for n in range(1, count + 1))


_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ENTRY = re.compile(rf" *({_QUOTED}) *(?:[,;\t\n]|$)|([^,;\t\n]*)(?:[,;\t\n]|$)", re.DOTALL)


def parse_tokens(text: str) -> tuple[str, ...]:
    r"""The token labels in a text, in order.

    Labels stand between commas, semicolons, tabs or lines; if there are none of these, between
    spaces. White space around a label does not count; a label in double quotes is taken as it
    is, with the escapes of JSON (``" "``, ``"\n"``, ``","``). A list as JSON or Python prints it
    is read as such.

    Raises
    ------
    LabError
        When there is no label, an empty one without quotes, or half of a surrogate pair; it names
        the position.

    >>> parse_tokens('the, " a", "\\n"')
    ('the', ' a', '\n')
    """
    if len(text) > LONGEST_TEXT:
        raise LabError(
            f"Tokens has {len(text):,} characters; up to {LONGEST_TEXT:,} are accepted here. More "
            "labels go into a CSV file."
        )
    labels = _labels(text.replace("\r\n", "\n").strip().strip("\ufeff").strip())
    for position, label in enumerate(labels, start=1):
        if re.search("[\ud800-\udfff]", label):
            raise LabError(
                f"Token {position} holds half of a surrogate pair; accepted are whole characters."
            )
    return labels


def _labels(text: str) -> tuple[str, ...]:
    if not text:
        raise LabError("Tokens is empty; accepted are labels such as A, B, C.")
    if text.startswith("[") and text.endswith("]") and (listed := _listed(text)):
        return listed
    if not re.search(r"[,;\t\n\"]", text):
        return tuple(text.split())
    labels: list[str] = []
    position = 0
    while position < len(text):
        entry = _ENTRY.match(text, position)
        assert entry  # the second alternative matches anywhere
        quoted, bare = entry.groups()
        labels.append(_unquoted(quoted, len(labels) + 1) if quoted else bare.strip())
        if not quoted and not labels[-1]:
            raise LabError(
                f'Token {len(labels)} is empty; a label is accepted, or "" for the empty token.'
            )
        position = entry.end()
    return tuple(labels)


def _listed(text: str) -> tuple[str, ...] | None:
    """The labels of a printed list, as JSON or as Python."""
    for read in (json.loads, ast.literal_eval):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of escapes that Python would rather not read
                labels = read(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(labels, list) and all(isinstance(label, str) for label in labels):
            return tuple(labels)
    return None


def _unquoted(quoted: str, position: int) -> str:
    try:
        label: str = json.loads(quoted, strict=False)
    except ValueError:
        raise LabError(
            f"Token {position} ({quoted}) has a backslash that is no escape; accepted in quotes "
            r"are \n, \t, \", \\ and \u0020."
        ) from None
    return label


def format_tokens(tokens: Sequence[str]) -> str:
    """The text that `parse_tokens` reads back as the same labels."""
    return ", ".join(token if _plain(token) else _quoted(token) for token in tokens)


def _plain(token: str) -> bool:
    return token.isprintable() and bool(re.fullmatch(r"[^\s,;\"\[\]\\]+", token))


def _quoted(token: str) -> str:
    # Everything without ink is escaped, so that what one copies is what one sees.
    text = json.dumps(token, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


@dataclass(frozen=True)
class Preset:
    """A scenario with a name, and what it is for."""

    name: str
    about: str
    texts: Texts

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario in its texts."""
        return Scenario.from_texts(self.texts)


# Shares of the letters a–z in English and French prose, in thousandths, after common frequency
# tables; rounded, the rarest raised to 1, adjusted by hand to a sum of 1000. Accents are dropped.
_ENGLISH = "82 15 28 43 126 22 20 61 70 1 8 40 24 67 75 19 1 60 63 91 28 10 24 1 20 1"
_FRENCH = "81 9 33 36 166 11 9 7 75 6 1 54 29 71 58 25 14 67 79 72 64 18 1 4 7 3"


def _thousandths(counts: str) -> str:
    return ", ".join(f"0.{int(count):03}" for count in counts.split())


_ALL = (
    Preset(
        "Worked example",
        "Three tokens: the example of the first lesson.",
        Texts("A, B, C", "0.2, 0.5, 0.3", "0.6, 0.2, 0.2"),
    ),
    Preset(
        "Equal",
        "p = q, token by token.",
        Texts("A, B, C", "0.125, 0.375, 0.5", "0.125, 0.375, 0.5"),
    ),
    Preset(
        "Disjoint",
        "The supports of p and q do not meet.",
        Texts("A, B, C, D", "0.3, 0.7, 0, 0", "0, 0, 0.4, 0.6"),
    ),
    Preset(
        "Partial zeros",
        "p is 0 where q is not, and q is 0 where p is not.",
        Texts("A, B, C, D", "0, 0.4, 0.35, 0.25", "0.3, 0, 0.5, 0.2"),
    ),
    Preset(
        "Near equality",
        "p and q differ by one ten-millionth.",
        Texts("A, B, C", "0.2, 0.5, 0.3", "0.2000001, 0.4999999, 0.3"),
    ),
    Preset(
        "One-hot draft",
        "The draft is sure of one token, as a greedy draft is.",
        Texts("A, B, C, D", "0.55, 0.25, 0.15, 0.05", "1, 0, 0, 0"),
    ),
    Preset(
        "26 letters",
        "p: the letters of English; q: the letters of French, in thousandths.",
        Texts(
            ", ".join("abcdefghijklmnopqrstuvwxyz"), _thousandths(_ENGLISH), _thousandths(_FRENCH)
        ),
    ),
)
PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}
WORKED_EXAMPLE = _ALL[0]

_NEAR = (
    Preset(
        "Two thousandths",
        "p and q differ by 0.002 at two of three tokens.",
        Texts("A, B, C", "0.2, 0.5, 0.3", "0.202, 0.498, 0.3"),
    ),
    Preset(
        "One ten-millionth",
        "p and q differ by 1e-7 at two of three tokens.",
        Texts("A, B, C", "0.2, 0.5, 0.3", "0.2000001, 0.4999999, 0.3"),
    ),
    Preset(
        "Thirds and decimals",
        "p is a third for each token, q the same with four decimals.",
        Texts("A, B, C", "1/3, 1/3, 1/3", "0.3333, 0.3333, 0.3334"),
    ),
    Preset(
        "A nearly sure token",
        "One token has almost all of the mass, in p and in q.",
        Texts("A, B", "0.9999, 0.0001", "0.99995, 0.00005"),
    ),
    Preset(
        "A tiny token",
        "One token has a hundred-millionth in p and three in q.",
        Texts("A, B", "0.99999999, 0.00000001", "0.99999997, 0.00000003"),
    ),
    Preset(
        "Ten tokens",
        "p is a tenth for each token; q differs by 0.00001 at two of them.",
        Texts("", ", ".join(["0.1"] * 10), ", ".join(["0.10001", "0.09999", *["0.1"] * 8])),
    ),
    Preset(
        "Eight decimals",
        "p and q differ by 1e-8 at both of two tokens.",
        Texts("A, B", "0.3, 0.7", "0.29999999, 0.70000001"),
    ),
    Preset(
        "The same twice",
        "p = q, token by token, with two decimals.",
        Texts("A, B, C", "0.33, 0.56, 0.11", "0.33, 0.56, 0.11"),
    ),
)
NEAR_EQUAL: dict[str, Preset] = {preset.name: preset for preset in _NEAR}
"""Pairs that float types treat in different ways; the names do not say which."""
