"""Somebody's own vectors, matrices or counts → findings.

Rows are taken one at a time, so a matrix may be larger than memory. Positions and entries are
counted from 1 in everything that is reported. Whether a residual exists, and whether a rejection
is possible, is decided by comparing entries, as in `lab.step`.

What counts cannot show: whether the replacement depends on the coin that rejected, or on earlier
draws. Each token's share is then right, and only the sequence is wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lab.audit.claims import Claimed, find_bad
from lab.audit.findings import (
    MOST_KEPT,
    TITLES,
    Audit,
    Book,
    Detail,
    amount_text,
    value_text,
)
from lab.audit.rows import (
    COMPUTED_IN,
    Measures,
    Meter,
    Row,
    Rows,
    Values,
    as_rows,
    decimals,
    explained,
    is_list,
    many,
    narrower,
    type_name,
)
from lab.errors import LabError, LengthError
from lab.figures import short
from lab.labels import visible

if TYPE_CHECKING:
    from lab.audit.counted import Counted

MOST_SHOWN = 10
"""Entries that the detail of one position lists."""

Progress = Callable[[int, int], object]


def audit(
    p: Values,
    q: Values,
    *,
    tokens: Sequence[str] | None = None,
    draft_tokens: Sequence[str] | None = None,
    residual: Values = None,
    output: Values = None,
    acceptance: Values = None,
    counts: Values = None,
    accepted_counts: Values = None,
    correction_counts: Values = None,
    proposed_counts: Values = None,
    position: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Look for everything that can be wrong with p and q, with claims about them, and with counts.

    Parameters
    ----------
    p, q : array, sequence or text, shape (n,) or (positions, n)
        Target and draft. float16, bfloat16, float32, float64, or exact numbers as `one_step`
        takes them. Anything with `shape`, `dtype` and rows by index is read row by row, once. p
        may have one position more than q: that of the bonus token.
    tokens, draft_tokens : sequence of str, optional
        Labels of p's entries, and of q's if they have their own.
    residual, output : like p, optional
        What a sampler computed for r and for the law of what comes out.
    acceptance : number, or one for each position, optional
        What a sampler computed, or states, for α.
    counts : whole numbers shaped like p, optional
        How often each token came out.
    accepted_counts, correction_counts, proposed_counts : whole numbers shaped like p, optional
        How often each token was proposed and kept, came out as a replacement, was proposed. Two
        of the first three give the third.
    position : int, optional
        Look at this position only, counted from 1.
    progress : callable, optional
        Called with the number of positions done and the number there are.

    Returns
    -------
    Audit

    Raises
    ------
    LabError
        When something is not of an accepted shape or type. Wrong numbers are findings.

    >>> audit([0.5, 0.5], [0.25, 0.75], acceptance=0.75).clean
    True
    """
    # Numbers that are no probabilities may overflow; what comes of them is looked at.
    with np.errstate(all="ignore"):
        return _Auditor(
            p=as_rows(p, "p"),
            q=as_rows(q, "q"),
            book=Book(_labels(tokens, "tokens"), _labels(draft_tokens, "draft_tokens")),
            claims={
                name: as_rows(values, name)
                for name, values in (("residual", residual), ("output", output))
                if values is not None
            },
            acceptance=acceptance,
            counts={
                name: as_rows(values, name, whole=True)
                for name, values in (
                    ("counts", counts),
                    ("accepted_counts", accepted_counts),
                    ("correction_counts", correction_counts),
                    ("proposed_counts", proposed_counts),
                )
                if values is not None
            },
        ).run(position, progress)


def _labels(tokens: Sequence[str] | None, name: str) -> tuple[str, ...] | None:
    if tokens is None:
        return None
    if not is_list(tokens):
        raise LabError(f"{name} is no list; accepted is one label for each entry.")
    return tuple(map(str, tokens))


@dataclass
class _Auditor:
    """One audit under way."""

    p: Rows
    q: Rows
    claims: dict[str, Rows]
    acceptance: Values
    counts: dict[str, Rows]
    book: Book

    def run(self, position: int | None, progress: Progress | None) -> Audit:
        self.types = type_name(self.p), type_name(self.q)
        places = self._places(position)
        self._vocabularies()
        arrays = np.full((5, len(places)), np.nan)
        self.meter = Meter(self.p.shape[-1], *self.types)
        self.alone = [
            Meter(rows.shape[-1], kind, kind)
            for rows, kind in zip((self.p, self.q), self.types, strict=True)
        ]
        self.claimed = Claimed(self.book, self.claims, self.alphas, self.types)
        self.counted: Counted | None = None
        if self.counts:
            from lab.audit.counted import Counted  # and with it SciPy

            self.counted = Counted(self.book, self.counts, len(places), self.meter)
        self.used = [0, 0]  # for p and q: the last entry that holds mass, from 1
        self.explained = [(0.0, 0), (0.0, 0)]  # the largest defect that the type explains
        self.gap = (0.0, 0)  # the largest difference between the totals of p and q
        self.unread = 0  # positions with claims or counts that could not be looked at
        self.detail: tuple[Detail, ...] = ()
        for done, place in enumerate(places):
            arrays[:, done] = self._look_at(place, only=len(places) == 1)
            if progress is not None:
                progress(done + 1, len(places))
        self.claimed.name_mistakes()
        if self.counted is not None:
            self.counted.name_mistakes()
        self._remark(len(places))
        arrays.flags.writeable = False
        return Audit(
            positions=len(places),
            first=places[0] + 1,
            tokens=self.p.shape[-1],
            target_type=self.types[0],
            draft_type=self.types[1],
            findings=self.book.in_order(),
            counted={kind: self.book.counted[kind] for kind in TITLES if self.book.counted[kind]},
            notes=tuple(self.book.notes),
            checked=tuple(self._checked()),
            tests=tuple(sorted(self.book.tests, key=lambda test: test.p_value)[:MOST_KEPT]),
            target_defect=arrays[0],
            draft_defect=arrays[1],
            acceptance=arrays[2],
            rejection=arrays[3],
            excess=arrays[4],
            detail=self.detail,
        )

    # ------------------------------------------------------------------ shapes and vocabularies

    def _places(self, position: int | None) -> range:
        targets, drafts = self.p.shape[0], self.q.shape[0]
        if targets not in (drafts, drafts + 1):
            raise LengthError(
                f"p has {many(targets, 'position')} and q has {drafts:,}; accepted are as many, "
                "or one more in p for the bonus token."
            )
        self.comparable = self.p.shape[-1] == self.q.shape[-1]
        for name, rows in (self.claims | self.counts).items():
            if rows.shape[-1] != self.p.shape[-1] or rows.shape[0] not in (targets, drafts):
                raise LengthError(
                    f"{name} has the shape {_shape(rows)} and p the shape {_shape(self.p)}; "
                    "accepted is one entry for each entry of p."
                )
        self.alphas = self._alphas(targets, drafts)
        if position is None:
            return range(targets)
        whole = isinstance(position, int | np.integer) and not isinstance(position, bool)
        if not whole or not 1 <= position <= targets:
            raise LabError(
                f"There is no position {position!r}; accepted are 1 to {targets:,}, whole numbers."
            )
        return range(int(position) - 1, int(position))

    def _alphas(self, targets: int, drafts: int) -> Rows | None:
        if self.acceptance is None:
            return None
        values = self.acceptance
        several = is_list(values) or len(getattr(values, "shape", ())) > 0
        rows = as_rows(values if several else [values], "acceptance")
        if rows.shape[0] == 1 and rows.shape[-1] in (targets, drafts):
            return rows
        if rows.shape[-1] == 1 and rows.shape[0] in (targets, drafts):
            flat = [rows[n][0] for n in range(rows.shape[0])]
            return as_rows(flat, "acceptance")
        raise LengthError(
            f"acceptance has the shape {_shape(rows)} and p has {targets:,} positions; accepted "
            "is one number for each position."
        )

    def _vocabularies(self) -> None:
        n, m = self.p.shape[-1], self.q.shape[-1]
        if n != m:
            longer = "p" if n > m else "q"
            meaning = (
                f"{longer} may have padding rows at the end, up to a round number of tokens: cut "
                "them off. "
                if abs(n - m) <= max(n, m) / 8
                else "The draft may have a small vocabulary of its own: spread q over p's tokens "
                "with its draft-to-target map. "
                if n > m
                else ""
            )
            self.book.find(
                "different-vocabularies",
                "q",
                value=many(m, "entry", "entries"),
                sentence=f"q has {many(m, 'entry', 'entries')} and p has {n:,}; both need "
                f"one for each token. {meaning}Until then each is looked at by itself, and "
                "nothing is compared.",
            )
        lengths = (
            ("tokens", self.book.tokens, "p", n),
            ("draft_tokens", self.book.draft_tokens, "q", m),
        )
        for name, labels, vector, size in lengths:
            if labels is not None and len(labels) != size:
                self.book.find(
                    "different-vocabularies",
                    name,
                    value=many(len(labels), "label"),
                    sentence=f"{vector} has {many(size, 'entry', 'entries')} and there "
                    f"{'is' if len(labels) == 1 else 'are'} {many(len(labels), 'label')}; padding "
                    "rows have no labels, or labels are missing. Labels are "
                    "left out of this report.",
                )
        self._orders()
        if self.book.tokens is not None and len(self.book.tokens) != n:
            self.book.tokens = None
        if self.book.draft_tokens is not None and len(self.book.draft_tokens) != m:
            self.book.draft_tokens = None

    def _orders(self) -> None:
        left, right = self.book.tokens, self.book.draft_tokens
        if left is None or right is None or left == right:
            return
        counts = Counter(left), Counter(right)
        if counts[0] == counts[1]:
            at = next(i for i, pair in enumerate(zip(left, right, strict=True)) if len({*pair}) > 1)
            moved = sum(a != b for a, b in zip(left, right, strict=True))
            self.comparable = False
            self.book.find(
                "different-order",
                "draft_tokens",
                entry=at,
                token=left[at],
                value=right[at],
                sentence=f"the same tokens in another order: here p has “{visible([left[at]])[0]}”"
                f" and q has “{visible([right[at]])[0]}”, {moved:,} entries in all. Bring q into "
                "p's order with the draft-to-target map; until then nothing is compared.",
            )
            return
        missing, extra = counts[0] - counts[1], counts[1] - counts[0]
        name = next(iter(extra or missing))
        side = ("in q and not in p", right) if extra else ("in p and not in q", left)
        self.comparable = False
        self.book.find(
            "different-vocabularies",
            "draft_tokens",
            entry=side[1].index(name),
            token=name,
            value=name,
            sentence=f"“{visible([name])[0]}” is {side[0]}; {many(extra.total(), 'token')} of q "
            f"and {missing.total():,} of p are only there. Both need one vocabulary: padding "
            "rows may be in one of them, or a draft-to-target map is missing. Nothing is compared.",
        )

    # ------------------------------------------------------------------ one position

    def _look_at(self, place: int, only: bool) -> tuple[float, ...]:
        """What the arrays of an `Audit` hold of one position."""
        p = self.p[place]
        q = self.q[place] if place < self.q.shape[0] else None
        measures = None
        if self.comparable and q is not None:
            measures = self.meter.measure(p, q)
        if measures is None:
            totals = [self._by_itself(row, side, place) for side, row in enumerate((p, q))]
            self.unread += bool(self.claims or self.counts or self.alphas is not None)
            return (totals[0] - 1, totals[1] - 1, math.nan, math.nan, math.nan)
        for side, total in enumerate((measures.target_total, measures.draft_total)):
            self._sum((p, q)[side], total, side, place)
            self._columns((p, q)[side], side)
        self._case(p, q, measures, place)
        gap = abs(float(measures.rejection - measures.excess))
        if gap > self.gap[0]:
            self.gap = (gap, place)
        self.claimed.look_at(p, q, measures, place)
        if self.counted is not None:
            self.counted.look_at(p, q, measures, place)
        if only:
            self.detail = self._details(p, q, measures)
        return (
            float(measures.target_total - 1),
            float(measures.draft_total - 1),
            float(measures.acceptance),
            float(measures.rejection),
            float(measures.excess),
        )

    def _by_itself(self, row: Row | None, side: int, place: int) -> float:
        """The total of a row that is not compared with another, once its entries are looked at."""
        if row is None:
            return math.nan
        measures = self.alone[side].measure(row, row)
        if measures is None:
            if not find_bad(self.book, row, "pq"[side], place):
                self.book.find(
                    "sum",
                    "pq"[side],
                    value="inf",
                    sentence="its sum is more than float64 holds. These may be scores that were "
                    "never normalised.",
                    place=place,
                )
            return math.nan
        self._sum(row, measures.target_total, side, place)
        self._columns(row, side)
        return float(measures.target_total)

    def _sum(self, row: Row, total: Fraction | float, side: int, place: int) -> None:
        defect = total - 1
        if not defect:
            return
        kind, size = self.types[side], len(row)
        limit = explained(float(total), size, kind)
        miss: Fraction | float = defect if defect > 0 else -defect
        if miss <= limit:
            if kind not in COMPUTED_IN and miss > self.explained[side][0]:
                self.explained[side] = (float(miss), place)
            return
        self.book.find(
            "sum",
            "pq"[side],
            value=value_text(total),
            sentence=f"it sums to {short(total)}, which is {amount_text(miss)} "
            f"{'too much' if defect > 0 else 'too little'}"
            + (f"; {kind} explains up to {limit:.2g} in a row of {size:,}. " if limit else ". ")
            + self._why(row, total, kind, size),
            place=place,
        )

    def _why(self, row: Row, total: Fraction | float, kind: str, size: int) -> str:
        if not total:
            return "The row is empty: there is nothing to draw from."
        places = decimals(row)
        if places is not None and places >= 2 and abs(float(total - 1)) * 2 * 10**places <= size:
            return (
                f"Rounding to {places} decimals explains it, and no entry has more: print more "
                "digits, or divide by the sum."
            )
        stored = None if isinstance(row, tuple) else narrower(row, kind)
        if stored and abs(float(total) - 1) <= explained(float(total), size, stored):
            return (
                f"Every entry is a number of {stored}, and that type explains it: the row was "
                f"rounded to {stored} before. Normalise it after the last rounding."
            )
        if total < 1:
            return (
                "What is missing goes to some token without a word. Look for a filter (top-k, "
                "top-p) or a mask without normalising afterwards."
            )
        if total > 2:
            return "These may be scores or counts that were never normalised."
        return "Look for a row that was changed after it was normalised."

    def _columns(self, row: Row, side: int) -> None:
        used, size = self.used[side], len(row)
        if used == size:
            return
        if isinstance(row, tuple):
            last = max((n for n, entry in enumerate(row, 1) if entry), default=0)
        elif row[size - 1] != 0:
            last = size
        else:
            mass = np.flatnonzero(row[used:])
            last = used + int(mass[-1]) + 1 if mass.size else 0
        self.used[side] = max(used, last)

    def _case(self, p: Row, q: Row, measures: Measures, place: int) -> None:
        if measures.excess > 0 and not measures.rejection > 0:
            entry = _worst(self.meter, q, p)
            self.book.find(
                "rejection-without-residual",
                "q",
                value=value_text(q[entry]),
                sentence=f"q exceeds p here ({value_text(p[entry])}), so a proposal can be "
                "rejected, and p exceeds q nowhere: max(0, p − q) is all 0 and dividing it is 0/0. "
                f"The totals of p and q differ by {amount_text(measures.excess)}; normalise both "
                "in one type. A floor or a uniform vector would hide it.",
                place=place,
                entry=entry,
            )
        elif measures.rejection > 0 and not measures.excess > 0:
            entry = _worst(self.meter, p, q)
            self.book.find(
                "residual-without-rejection",
                "p",
                value=value_text(p[entry]),
                sentence=f"p exceeds q here ({value_text(q[entry])}), and q exceeds p nowhere: "
                "mass is owed and no proposal is ever rejected to supply it. The totals of p and q "
                f"differ by {amount_text(measures.rejection)}; normalise both in one type.",
                place=place,
                entry=entry,
            )

    def _details(self, p: Row, q: Row, measures: Measures) -> tuple[Detail, ...]:
        left, right = self.meter.widen(p, "p"), self.meter.widen(q, "q")
        order = np.argsort(-np.abs(left - right), kind="stable")[:MOST_SHOWN]
        if not self.meter.exact:  # fractions stay fractions until they are shown
            p, q = left, right
        owed = measures.rejection
        return tuple(
            Detail(
                entry + 1,
                self.book.tokens[entry] if self.book.tokens else None,
                float(p[entry]),
                float(q[entry]),
                float(min(p[entry], q[entry])),
                float(max(p[entry] - q[entry], 0) / owed) if owed > 0 else None,
            )
            for entry in order.tolist()
        )

    # ------------------------------------------------------------------ mistakes and notes

    def _remark(self, places: int) -> None:
        for name, kind, rows, (size, place) in zip(
            "pq", self.types, (self.p, self.q), self.explained, strict=True
        ):
            if not size:
                continue
            n = rows.shape[-1]
            where = f", at position {place + 1:,}, at most," if places > 1 else ","
            self.book.notes.append(
                f"{name} misses 1 by {amount_text(size)}{where} which {kind} explains: rounding "
                f"the entries of a row of {n:,} can move its sum by {explained(1.0, n, kind):.2g}."
            )
        if self.types[0] != self.types[1]:
            self.book.notes.append(
                f"p has the type {self.types[0]} and q the type {self.types[1]}: they were "
                "compared as they are stored."
            )
        gap, place = self.gap
        # Where both were normalised in the type they are in, only the last digits differ.
        if gap and (self.types[0] != self.types[1] or not {*self.types} & {"exact", *COMPUTED_IN}):
            where = f" (position {place + 1:,}, the largest)" if places > 1 else ""
            self.book.notes.append(
                f"The totals of p and q differ by {amount_text(gap)}{where}: Σ max(0, p − q) is "
                "not Σ max(0, q − p), and the output misses p by as much."
            )
        tails = [
            rows.shape[-1] - used for rows, used in zip((self.p, self.q), self.used, strict=True)
        ]
        if self.comparable and places > 1 and min(tails) == 0 and max(tails) > 1:
            name = "p" if tails[0] else "q"
            self.book.notes.append(
                f"The last {max(tails):,} entries of {name} are 0 at every position, and those of "
                f"{'q' if name == 'p' else 'p'} are not: they may be padding rows."
            )
        if self.unread:
            self.book.notes.append(
                f"Claims and counts at {many(self.unread, 'position')} were not looked at, since "
                "p and q cannot be compared there."
            )
        if self.p.shape[0] == self.q.shape[0] + 1:
            self.book.notes.append(
                f"p has one position more than q: position {self.p.shape[0]:,} was read as that "
                "of the bonus token and looked at by itself."
            )
        if self.counts:
            self.book.notes.append(
                "Counts cannot show whether a replacement depends on the coin that rejected, or "
                "on earlier draws: every share is then right and only the order of draws is not."
            )

    def _checked(self) -> list[str]:
        checked = ["entries and sums of p and q"]
        if self.comparable:
            checked.append("rejection and residual, by comparing entries")
        if self.book.draft_tokens is not None or self.book.tokens is not None:
            checked.append("labels")
        names = [*self.claims, *(["acceptance"] if self.alphas is not None else [])]
        checked += [f"the claimed {name}" for name in names]
        tested = {
            "proposals": "proposals against q",
            "output-counts": "counts against p",
            "kept-counts": "kept tokens against min(p, q)",
            "kept-share": "the kept share against α",
            "corrections": "corrections against r",
        }
        kinds = {test.kind for test in self.book.tests}
        return checked + [text for kind, text in tested.items() if kind in kinds]


def _worst(meter: Meter, above: Row, below: Row) -> int:
    """The entry, from 0, at which one row exceeds another the most."""
    gaps = meter.widen(above, "p") - meter.widen(below, "q")
    return int(np.argmax(gaps))


def _shape(rows: Rows) -> str:
    return " × ".join(f"{size:,}" for size in rows.shape)
