"""Which tokens a picture or a question names one by one, and which it takes together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from lab.labels import visible
from lab.vectors import Exact, total

Groups = tuple[tuple[int, ...], ...]


def leading(weights: Sequence[Fraction], most: int) -> Groups:
    """Positions in token order: alone for the heaviest, the rest together in one last group.

    Parameters
    ----------
    weights : sequence of Fraction
        How much each token matters. Between equals the earlier token is named.
    most : int
        The largest number of groups, 2 or more. With no more tokens than that, each is alone.

    >>> leading([Fraction(1), Fraction(3), Fraction(0), Fraction(2)], 3)
    ((1,), (3,), (0, 2))
    """
    positions = range(len(weights))
    if len(weights) <= most:
        return tuple((i,) for i in positions)
    named = set(sorted(positions, key=lambda i: -weights[i])[: most - 1])
    rest = tuple(i for i in positions if i not in named)
    return (*((i,) for i in sorted(named)), rest)


def together(vector: Exact, groups: Groups) -> Exact:
    """The mass of each group."""
    return tuple(
        vector[group[0]] if len(group) == 1 else total(tuple(vector[i] for i in group))
        for group in groups
    )


def group_labels(tokens: Sequence[str], groups: Groups) -> tuple[str, ...]:
    """One visible text a group, no two alike."""
    shown = visible(tokens)
    return tuple(
        shown[group[0]] if len(group) == 1 else f"{len(group):,} others" for group in groups
    )
