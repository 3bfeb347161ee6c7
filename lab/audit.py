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
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.claims import Floats, Scale, as_float64, right_claim, undivided
from lab.errors import LabError, LengthError
from lab.figures import exact, short
from lab.findings import MOST_KEPT, TITLES, Audit, Detail, Finding, Kind, Test
from lab.labels import visible
from lab.rows import (
    Measures,
    Meter,
    Row,
    Rows,
    Values,
    as_rows,
    bad_entries,
    explained,
    narrower,
    type_name,
)

if TYPE_CHECKING:
    from lab.suspects import Suspect

MOST_SHOWN = 10
"""Entries that the detail of one position lists."""

UNDIVIDED = "unnormalised-last-token"
"""The mistake of the gallery that draws from a residual that was not divided by Z."""

Progress = Callable[[int, int], object]
_COUNTS = ("counts", "accepted_counts", "correction_counts", "proposed_counts")


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
    return _Auditor(
        p=as_rows(p, "p"),
        q=as_rows(q, "q"),
        tokens=_labels(tokens, "tokens"),
        draft_tokens=_labels(draft_tokens, "draft_tokens"),
        claims={
            name: as_rows(values, name)
            for name, values in (("residual", residual), ("output", output))
            if values is not None
        },
        acceptance=acceptance,
        counts={
            name: as_rows(values, name, whole=True)
            for name, values in zip(
                _COUNTS,
                (counts, accepted_counts, correction_counts, proposed_counts),
                strict=True,
            )
            if values is not None
        },
    ).run(position, progress)


def _labels(tokens: Sequence[str] | None, name: str) -> tuple[str, ...] | None:
    if tokens is None:
        return None
    if isinstance(tokens, str) or not hasattr(tokens, "__iter__"):
        raise LabError(f"{name} is no list; accepted is one label for each entry.")
    return tuple(map(str, tokens))


@dataclass
class _Wrong:
    """The worst claim of a kind so far: where it is, and copies of what it is about."""

    finding: Finding
    size: float
    p: Any
    q: Any
    agrees: Callable[[Row], bool]


@dataclass
class _Auditor:
    """One audit under way."""

    p: Rows
    q: Rows
    tokens: tuple[str, ...] | None
    draft_tokens: tuple[str, ...] | None
    claims: dict[str, Rows]
    acceptance: Any
    counts: dict[str, Rows]
    found: list[Finding] = field(default_factory=list)
    counted: Counter[Kind] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    wrong: dict[str, _Wrong] = field(default_factory=dict)

    def run(self, position: int | None, progress: Progress | None) -> Audit:
        self.types = type_name(self.p), type_name(self.q)
        places = self._places(position)
        self._vocabularies()
        self.level = self._level(len(places))
        self.names = {"p": self.types[0], "q": self.types[1]}
        arrays = np.full((5, len(places)), np.nan)
        self.meter = Meter(self.p.shape[-1], *self.types)
        self.alone = [
            Meter(rows.shape[-1], kind, kind)
            for rows, kind in zip((self.p, self.q), self.types, strict=True)
        ]
        self.used = [0, 0]  # the last column that holds mass, from 1
        self.worst_note = {"p": (0.0, 0), "q": (0.0, 0)}
        self.gap = (0.0, 0)
        self.heaviest: tuple[int, int, Any] | None = None
        self.failed: tuple[float, Any] | None = None
        self.detail: tuple[Detail, ...] = ()
        for done, place in enumerate(places):
            arrays[:, done] = self._look_at(place, only=len(places) == 1)
            if progress is not None:
                progress(done + 1, len(places))
        self._name_mistakes()
        self._remark(len(places))
        arrays.flags.writeable = False
        order = {kind: n for n, kind in enumerate(TITLES)}
        self.found.sort(key=lambda f: (order[f.kind], f.position or 0, f.entry or 0))
        return Audit(
            positions=len(places),
            first=places[0] + 1,
            tokens=self.p.shape[-1],
            target_type=self.types[0],
            draft_type=self.types[1],
            findings=tuple(self.found),
            counted={kind: self.counted[kind] for kind in TITLES if self.counted[kind]},
            notes=tuple(self.notes),
            checked=tuple(self._checked()),
            tests=tuple(sorted(self.tests, key=lambda test: test.p_value)[:MOST_KEPT]),
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
                f"p has {targets:,} positions and q has {drafts:,}; accepted are as many, or one "
                "more in p for the bonus token."
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
        if isinstance(position, bool) or not 1 <= position <= targets:
            raise LabError(f"There is no position {position}; accepted are 1 to {targets:,}.")
        return range(position - 1, position)

    def _alphas(self, targets: int, drafts: int) -> Rows | None:
        if self.acceptance is None:
            return None
        values = self.acceptance
        if not hasattr(values, "__len__") or isinstance(values, str):
            values = [values]
        elif hasattr(values, "shape") and values.shape == ():
            values = [values.item()]
        rows = as_rows(values, "acceptance")
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
            self._find(
                "different-vocabularies",
                "q",
                value=f"{m:,} entries",
                sentence=f"q has {m:,} entries and p has {n:,}; both need one for each token. "
                f"{meaning}Until then each is looked at by itself, and nothing is compared.",
            )
        lengths = (("tokens", self.tokens, "p", n), ("draft_tokens", self.draft_tokens, "q", m))
        for name, labels, vector, size in lengths:
            if labels is not None and len(labels) != size:
                self._find(
                    "different-vocabularies",
                    name,
                    value=f"{len(labels):,} labels",
                    sentence=f"there are {len(labels):,} labels and {vector} has {size:,} "
                    "entries; padding rows have no labels, or labels are missing. Labels are "
                    "left out of this report.",
                )
        self._orders()
        if self.tokens is not None and len(self.tokens) != n:
            self.tokens = None
        if self.draft_tokens is not None and len(self.draft_tokens) != m:
            self.draft_tokens = None

    def _orders(self) -> None:
        left, right = self.tokens, self.draft_tokens
        if left is None or right is None or left == right:
            return
        counts = Counter(left), Counter(right)
        if counts[0] == counts[1]:
            at = next(i for i, pair in enumerate(zip(left, right, strict=True)) if len({*pair}) > 1)
            moved = sum(a != b for a, b in zip(left, right, strict=True))
            self.comparable = False
            self._find(
                "different-order",
                "draft_tokens",
                entry=at + 1,
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
        self._find(
            "different-vocabularies",
            "draft_tokens",
            entry=side[1].index(name) + 1,
            token=name,
            value=name,
            sentence=f"“{visible([name])[0]}” is {side[0]}; {extra.total():,} tokens are only in q "
            f"and {missing.total():,} only in p. Both need one vocabulary: padding rows may be "
            "in one of them, or a draft-to-target map is missing. Nothing is compared.",
        )

    def _find(
        self,
        kind: Kind,
        vector: str,
        *,
        value: str,
        sentence: str,
        place: int | None = None,
        entry: int | None = None,
        token: str | None = None,
        count: int = 1,
    ) -> Finding:
        """Note a finding, and that there are `count` like it; `place` is from 0, `entry` from 1."""
        if token is None and entry is not None:
            labels = self.draft_tokens if vector in ("q", "proposed_counts") else self.tokens
            labels = labels or self.tokens
            token = labels[entry - 1] if labels and entry <= len(labels) else None
        position = None if place is None else place + 1
        finding = Finding(kind, vector, position, entry, token, value, sentence)
        if self.counted[kind] < MOST_KEPT:
            self.found.append(finding)
        self.counted[kind] += count
        return finding

    # ------------------------------------------------------------------ one position

    def _look_at(self, place: int, only: bool) -> tuple[float, ...]:
        p = self.p[place]
        q = self.q[place] if place < self.q.shape[0] else None
        if q is None or not self.comparable:
            self._by_itself(p, "p", place)
            totals = [self._total(p, 0), math.nan if q is None else self._total(q, 1)]
            if q is not None:
                self._by_itself(q, "q", place)
            return (totals[0] - 1, totals[1] - 1, math.nan, math.nan, math.nan)
        measures = self.meter.measure(p, q)
        if measures is None:
            for row, name in ((p, "p"), (q, "q")):
                self._by_itself(row, name, place)
            return (
                self._total(p, 0) - 1,
                self._total(q, 1) - 1,
                math.nan,
                math.nan,
                math.nan,
            )
        self._sum(p, measures.target_total, "p", place)
        self._sum(q, measures.draft_total, "q", place)
        self._columns(p, 0)
        self._columns(q, 1)
        self._case(p, q, measures, place)
        gap = abs(float(measures.rejection - measures.excess))
        if gap > self.gap[0]:
            self.gap = (gap, place)
        if self.claims or self.alphas is not None:
            self._claims(p, q, measures, place)
        if self.counts:
            self._counts(p, q, measures, place)
        if only:
            self.detail = self._details(p, q, measures)
        return (
            float(measures.target_total - 1),
            float(measures.draft_total - 1),
            float(measures.acceptance),
            float(measures.rejection),
            float(measures.excess),
        )

    def _total(self, row: Row, side: int) -> float:
        measures = self.alone[side].measure(row, row)
        return math.nan if measures is None else float(measures.target_total)

    def _by_itself(self, row: Row, name: str, place: int) -> None:
        """Entries and sum of one row that is not compared with another."""
        side = "pq".index(name)
        measures = self.alone[side].measure(row, row)
        if measures is None:
            self._bad(row, name, place)
        else:
            self._sum(row, measures.target_total, name, place)
            self._columns(row, side)

    def _bad(self, row: Row, name: str, place: int) -> None:
        meanings: dict[Kind, str] = {
            "nan": "not a number. It came from 0/0 or ∞ − ∞, as a softmax over a row that is "
            "masked entirely, or a residual that is divided by 0; every comparison with it is "
            "false.",
            "infinite": "no probability is infinite. It may be a logit, or a division by 0.",
            "negative": "no probability is negative. It may be a logit or a log-probability, or a "
            "difference p − q that was not cut at 0.",
        }
        for kind, entries in bad_entries(row).items():
            known: Kind = kind  # type: ignore[assignment]
            sentence = meanings[known]
            if known == "negative" and len(entries) > 1 and _all_at_most_0(row):
                sentence = (
                    "no probability is negative, and no entry of this row is above 0: these look "
                    "like log-probabilities. An audit takes probabilities."
                )
            room = max(1, MOST_KEPT - self.counted[known])
            for entry in entries[:room]:
                self._find(
                    known,
                    name,
                    value=_text(row[entry]),
                    sentence=sentence,
                    place=place,
                    entry=int(entry) + 1,
                )
            self.counted[known] += max(0, len(entries) - room)

    def _sum(self, row: Row, total: Fraction | float, name: str, place: int) -> None:
        defect = total - 1
        if not defect:
            return
        kind, size = self.names[name], len(row)
        limit = explained(float(total), size, kind)
        miss: Fraction | float = defect if defect > 0 else -defect
        if miss <= limit:
            if kind not in ("float32", "float64") and miss > self.worst_note[name][0]:
                self.worst_note[name] = (float(miss), place)
            return
        self._find(
            "sum",
            name,
            value=exact(total) if isinstance(total, Fraction) else repr(total),
            sentence=f"it sums to {short(total)}, which is {_amount(miss)} "
            f"{'too much' if defect > 0 else 'too little'}"
            + (
                f"; {kind} explains up to {limit:.2g} in a row of {size:,}. "
                if limit
                else "; exact numbers leave nothing to rounding. "
            )
            + self._why(row, total, kind, size),
            place=place,
        )

    def _why(self, row: Row, total: Fraction | float, kind: str, size: int) -> str:
        if not total:
            return "The row is empty: there is nothing to draw from."
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
            self._find(
                "rejection-without-residual",
                "q",
                value=_text(q[entry]),
                sentence=f"q exceeds p here ({_text(p[entry])}), so a proposal can be rejected, "
                "and p exceeds q nowhere: max(0, p − q) is all 0 and dividing it is 0/0. The "
                f"totals of p and q differ by {_amount(measures.excess)}; normalise both in one "
                "type. A floor or a uniform vector would hide it.",
                place=place,
                entry=entry + 1,
            )
        elif measures.rejection > 0 and not measures.excess > 0:
            entry = _worst(self.meter, p, q)
            self._find(
                "residual-without-rejection",
                "p",
                value=_text(p[entry]),
                sentence=f"p exceeds q here ({_text(q[entry])}), and q exceeds p nowhere: mass is "
                "owed and no proposal is ever rejected to supply it. The totals of p and q differ "
                f"by {_amount(measures.rejection)}; normalise both in one type.",
                place=place,
                entry=entry + 1,
            )

    def _details(self, p: Row, q: Row, measures: Measures) -> tuple[Detail, ...]:
        left, right = self.meter.widen(p, "p"), self.meter.widen(q, "q")
        gaps = np.abs(left - right)
        order = np.argsort(-gaps, kind="stable")[:MOST_SHOWN]
        owed = float(measures.rejection)
        return tuple(
            Detail(
                entry + 1,
                self.tokens[entry] if self.tokens else None,
                float(left[entry]),
                float(right[entry]),
                float(min(left[entry], right[entry])),
                float(max(left[entry] - right[entry], 0) / owed) if owed > 0 else None,
            )
            for entry in order.tolist()
        )

    # ------------------------------------------------------------------ claims

    def _claims(self, p: Row, q: Row, measures: Measures, place: int) -> None:
        for name, rows in self.claims.items():
            if place >= rows.shape[0]:
                continue
            claim = rows[place]
            if bad_entries(claim):
                self._bad(claim, name, place)
                continue
            self._claim(name, claim, type_name(rows), p, q, measures, place)
        if self.alphas is not None and place < self.alphas.shape[-1]:
            value = self.alphas[0][place]
            claim = (value,) if isinstance(value, Fraction) else np.array([value])
            if bad_entries(claim):
                self._bad(claim, "acceptance", place)
                return
            self._claim("acceptance", claim, type_name(self.alphas), p, q, measures, place)

    def _claim(
        self, name: str, claim: Row, kind: str, p: Row, q: Row, measures: Measures, place: int
    ) -> None:
        right = right_claim(name, p, q, measures)
        if right is None:
            if any(claim):
                entry = int(np.argmax(np.array([float(mass) for mass in claim])))
                self._find(
                    "wrong-residual",
                    name,
                    value=_text(claim[entry]),
                    sentence="there is no residual here: p exceeds q nowhere, nothing is owed, "
                    "and 0/0 is not to be formed. A claim of any law comes from a floor or a "
                    "fallback.",
                    place=place,
                    entry=entry + 1,
                )
            return
        scale = Scale(name, self.types, kind, p, q, measures)
        if scale.agrees(claim, right):
            return
        if scale.narrow(claim) and scale.agrees(claim, right):
            return
        entry, size, differing = scale.worst(claim, right)
        single = name == "acceptance"
        known: Kind = f"wrong-{name}"  # type: ignore[assignment]
        tolerance = scale.tolerance(right)
        allowed = 0.0 if scale.exact else float(tolerance[entry])
        finding = self._find(
            known,
            name,
            value=_text(claim[entry]),
            sentence=f"claimed is {_text(claim[entry])}, and right is {_text(right[entry])}"
            + (f", which rounding moves by {allowed:.2g} at most" if allowed else "")
            + (
                ". "
                if single or differing == 1
                else f"; {differing:,} entries differ, this one the most. "
            ),
            place=place,
            entry=None if single else entry + 1,
        )
        worst = self.wrong.get(name)
        if worst is None or size > worst.size:
            kept = claim if isinstance(claim, tuple) else np.array(claim)
            p, q = (row if isinstance(row, tuple) else np.array(row) for row in (p, q))
            scale = replace(scale, p=p, q=q)

            def agrees(law: Row) -> bool:
                return scale.agrees(kept, law if not single else (law,))

            self.wrong[name] = _Wrong(finding, size, p, q, agrees)

    # ------------------------------------------------------------------ counts

    def _level(self, places: int) -> float:
        """The level of each test, so that clean counts are accused once in 100 audits at most."""
        if not self.counts:
            return 0.0
        from lab.evidence import LEVEL

        have = set(self.counts)
        both = len(have & set(_COUNTS[:3])) >= 2
        tests = 4 if both else len(have & set(_COUNTS[:3]))
        return LEVEL / max(1, places * (tests + ("proposed_counts" in have)))

    def _counts(self, p: Row, q: Row, measures: Measures, place: int) -> None:
        seen = self._whole(place)
        if not seen:
            return
        left, right = (self.meter.widen(row, name) for row, name in ((p, "p"), (q, "q")))
        accepted = np.minimum(left, right)
        owed = np.maximum(left - right, 0)
        steps = _Steps(place, self.level, accepted, owed, left)
        output, kept = seen.get("counts"), seen.get("accepted_counts")
        corrections, proposed = seen.get("correction_counts"), seen.get("proposed_counts")
        if proposed is not None:
            self._zero("proposed-at-zero", "proposed_counts", proposed, right, place)
            self._test("proposals", "proposed_counts", proposed, right, steps)
        if kept is not None:
            self._zero("kept-at-zero", "accepted_counts", kept, accepted, place)
            if measures.acceptance > 0:
                self._test("kept-counts", "accepted_counts", kept, accepted, steps)
        if output is not None:
            self._test("output-counts", "counts", output, left, steps)
        if corrections is not None and corrections.any():
            if measures.rejection > 0:
                self._test("corrections", "correction_counts", corrections, owed, steps)
            else:
                entry = int(np.argmax(corrections))
                self._find(
                    "corrections",
                    "correction_counts",
                    value=f"{int(corrections[entry]):,}",
                    sentence="there is no residual here, since p exceeds q nowhere, and still "
                    "replacements were drawn.",
                    place=place,
                    entry=entry + 1,
                )
        whole = proposed if output is None else output  # a token for each proposal
        if kept is not None and whole is not None:
            self._share(int(kept.sum()), int(whole.sum()), measures, place)
        steps.take(output, kept, corrections)
        if steps.kind is None:
            return
        count = int(steps.counts.sum())
        if self.heaviest is None or count > self.heaviest[0]:
            self.heaviest = (count, place, self._copied(p, q, steps))
        if steps.fails and (self.failed is None or steps.least < self.failed[0]):
            self.failed = (steps.least, self._copied(p, q, steps))

    def _copied(self, p: Row, q: Row, steps: _Steps) -> tuple[tuple[Row, Row], _Steps]:
        rows = [row if isinstance(row, tuple) else as_float64(row).copy() for row in (p, q)]
        return (rows[0], rows[1]), steps

    def _whole(self, place: int) -> dict[str, Floats]:
        """The counts of a position, completed; empty when they are not possible."""
        seen = {}
        for name, rows in self.counts.items():
            if place >= rows.shape[0]:
                continue
            row = rows[place]
            values = np.array([float(x) for x in row]) if isinstance(row, tuple) else row
            values = values.astype(np.float64)
            whole = np.isfinite(values) & (values >= 0) & (values == np.floor(values))
            if not whole.all():
                entry = int(np.argmin(whole))
                self._find(
                    "impossible-counts",
                    name,
                    value=_text(row[entry]),
                    sentence="a count is a whole number, 0 or more. Counts of this position are "
                    "left out.",
                    place=place,
                    entry=entry + 1,
                )
                return {}
            seen[name] = values
        output, kept, corrections = (seen.get(name) for name in _COUNTS[:3])
        pairs = (
            ("accepted_counts", "counts", "kept more often than it came out"),
            ("correction_counts", "counts", "drawn as a replacement more often than it came out"),
            ("accepted_counts", "proposed_counts", "kept more often than it was proposed"),
        )
        for part, entire, meaning in pairs:
            if part in seen and entire in seen and (seen[part] > seen[entire]).any():
                entry = int(np.argmax(seen[part] - seen[entire]))
                self._find(
                    "impossible-counts",
                    part,
                    value=f"{int(seen[part][entry]):,}",
                    sentence=f"this token was {meaning} ({int(seen[entire][entry]):,}). The two "
                    "counts are of different draws, or in different orders. Counts of this "
                    "position are left out.",
                    place=place,
                    entry=entry + 1,
                )
                return {}
        if output is not None and kept is not None and corrections is not None:
            off = output != kept + corrections
            if off.any():
                entry = int(np.argmax(off))
                self._find(
                    "impossible-counts",
                    "counts",
                    value=f"{int(output[entry]):,}",
                    sentence=f"this token was kept {int(kept[entry]):,} times and was a "
                    f"replacement {int(corrections[entry]):,} times, which is not how often it "
                    "came out. Counts of this position are left out.",
                    place=place,
                    entry=entry + 1,
                )
                return {}
        elif output is not None and kept is not None:
            seen["correction_counts"] = output - kept
        elif output is not None and corrections is not None:
            seen["accepted_counts"] = output - corrections
        elif kept is not None and corrections is not None:
            seen["counts"] = kept + corrections
        return seen

    def _zero(self, kind: Kind, name: str, counts: Floats, law: Row, place: int) -> None:
        entries = np.flatnonzero((counts > 0) & (law == 0))
        meanings = {
            "proposed-at-zero": "q is 0 here, and the token was proposed. The proposals come from "
            "another q: the one before or after temperature, top-k or top-p.",
            "kept-at-zero": "min(p, q) is 0 here, and the token was kept. Where p = 0 every "
            "proposal is rejected; where q = 0 there are none, and q is not the law that was "
            "drawn from.",
        }
        room = max(1, MOST_KEPT - self.counted[kind])
        for entry in entries[:room]:
            self._find(
                kind,
                name,
                value=f"{int(counts[entry]):,}",
                sentence=meanings[kind],
                place=place,
                entry=int(entry) + 1,
            )
        self.counted[kind] += max(0, len(entries) - room)

    def _test(self, kind: Kind, name: str, counts: Floats, law: Row, steps: _Steps) -> None:
        from lab.evidence import chi_square

        if not counts.any():
            return
        test = chi_square(counts, law)
        fails = test.p_value < steps.level
        self.tests.append(Test(kind, steps.place + 1, test.count, test.p_value, fails))
        if not fails:
            return
        steps.fails, steps.least = True, min(steps.least, test.p_value)
        meanings: dict[str, str] = {
            "proposals": "q is not the law that proposals were drawn from: it may be the one "
            "before temperature, top-k or top-p.",
            "output-counts": "what comes out does not have the law p.",
            "kept-counts": "tokens are not kept with probability min(1, p/q).",
            "corrections": "replacements are not drawn from r.",
        }
        if test.impossible:
            entry = test.impossible[0]
            if kind in ("proposals", "kept-counts"):
                return  # said at each entry already
            value, said = f"{int(counts[entry]):,}", "the law has 0 here, and it was drawn"
            if len(test.impossible) > 1:
                said += f", as were {len(test.impossible) - 1:,} other such tokens"
        else:
            off = (counts - law / law.sum() * test.count) / np.sqrt(
                np.maximum(law / law.sum() * test.count, 1e-300)
            )
            off[law / law.sum() * test.count < 1] = 0
            entry = int(np.argmax(np.abs(off)))
            value = f"{int(counts[entry]):,}"
            due = float(law[entry] / law.sum() * test.count)
            said = (
                f"{test.count:,} draws, χ² = {test.statistic:,.1f} with {test.freedom:,} degrees "
                f"of freedom, p-value {_p_value(test.p_value)}; due here are {due:,.0f}"
            )
        self._find(
            kind,
            name,
            value=value,
            sentence=f"{meanings[kind]} {said[0].upper()}{said[1:]}. ",
            place=steps.place,
            entry=entry + 1,
        )

    def _share(self, kept: int, count: int, measures: Measures, place: int) -> None:
        from lab.evidence import LEVEL, interval, share_p_value

        if not count:
            return
        alpha = min(1.0, float(measures.acceptance))
        if not measures.excess > 0:
            alpha = 1.0  # no proposal can be rejected, whatever rounding makes of the sum
        p_value = share_p_value(kept, count, alpha)
        fails = p_value < self.level
        self.tests.append(Test("kept-share", place + 1, count, p_value, fails))
        if not fails:
            return
        low, high = interval(kept, count)
        self._find(
            "kept-share",
            "accepted_counts",
            value=f"{kept:,} of {count:,}",
            sentence=f"{kept / count:.4g} of the proposals were kept, and α is "
            f"{short(measures.acceptance)}; such counts leave α between {low:.4g} and "
            f"{high:.4g} (at {1 - LEVEL:.0%}), p-value {_p_value(p_value)}. ",
            place=place,
        )

    # ------------------------------------------------------------------ mistakes and notes

    def _name_mistakes(self) -> None:
        if not self.wrong and self.failed is None and self.heaviest is None:
            return
        from lab import suspects

        size = self.p.shape[-1]
        if size > suspects.LONGEST:
            if self.wrong or self.failed:
                self.notes.append(
                    f"Which mistake it may be was not looked for: with {size:,} tokens that takes "
                    f"too long; up to {suspects.LONGEST:,} it is."
                )
            return
        for name, wrong in self.wrong.items():
            p, q = _both(wrong.p, wrong.q)
            kind: suspects.Claim = name  # type: ignore[assignment]
            found = suspects.suspects(p, q)
            named = suspects.behind_claim(kind, found, wrong.agrees)
            lead = "This is what comes of"
            if kind == "residual" and not named and wrong.agrees(undivided(p, q)):
                named = tuple(s for s in found if s.slug == UNDIVIDED)
                lead = "It is max(0, p − q), which was not divided by Z. Drawn from, it is"
            self._amend(wrong.finding, named, lead)
        if self.failed is not None:
            self._name_counts(self.failed[1])
        elif self.heaviest is not None:
            self._power(self.heaviest)

    def _name_counts(self, failed: tuple[tuple[Row, Row], _Steps]) -> None:
        from lab import suspects

        (p, q), steps = failed
        found = suspects.suspects(*_both(p, q))
        right = steps.right
        named, _ = suspects.behind_counts(steps.kind, steps.counts, right, found, self.level)
        count = int(steps.counts.sum())
        powers = suspects.powers(steps.kind, count, right, named)
        added = ""
        if powers:
            chance, needed = powers[0].chance, powers[0].needed
            added = f" {count:,} draws show it {_percent(chance)} of the time" + (
                f"; 9 times in 10 takes {needed:,}." if needed is not None else "."
            )
        about = {"output-counts", "kept-counts", "kept-share", "corrections"}
        for finding in list(self.found):
            if finding.position == steps.place + 1 and finding.kind in about:
                self._amend(finding, named, "The likeliest mistake is", added)
        if not named:
            self.notes.append(
                f"Position {steps.place + 1:,}: no mistake of the gallery has a law that these "
                "counts look like."
            )

    def _amend(
        self, finding: Finding, named: Sequence[Suspect], lead: str, added: str = ""
    ) -> None:
        """Put the names of mistakes into a finding, and list it if it was not."""
        if not named:
            return
        titles = " or ".join(f"“{suspect.title}”" for suspect in named)
        several = " These p and q cannot tell them apart." if len(named) > 1 else ""
        amended = replace(
            finding,
            sentence=f"{finding.sentence.rstrip()} {lead} {titles}.{several}{added}",
            mistakes=tuple(suspect.slug for suspect in named),
        )
        if finding in self.found:
            self.found[self.found.index(finding)] = amended
        else:
            self.found.append(amended)

    def _power(self, heaviest: tuple[int, int, Any]) -> None:
        from lab import suspects

        count, place, ((p, q), steps) = heaviest
        found = suspects.suspects(*_both(p, q))
        powers = suspects.powers(steps.kind, count, steps.right, found)
        weak = sorted((p for p in powers if not p.shows), key=lambda p: -p.chance)
        where = f"Position {place + 1:,}: " if self.p.shape[0] > 1 else ""
        if powers:
            text = (
                f"{where}{count:,} draws would show {len(powers) - len(weak)} of {len(powers)} "
                "mistakes of the gallery that change these laws, 9 times in 10 or more"
            )
            shown = "; ".join(
                f"“{p.title}” {_percent(p.chance)} of the time"
                + (f" ({p.needed:,} draws would do)" if p.needed else "")
                for p in weak[:3]
            )
            more = f"; and {len(weak) - 3} more" if len(weak) > 3 else ""
            self.notes.append(f"{text}{f'. Less often: {shown}{more}' if weak else ''}.")

    def _remark(self, places: int) -> None:
        for name in ("p", "q"):
            size, place = self.worst_note[name]
            if size:
                kind, n = self.names[name], (self.p if name == "p" else self.q).shape[-1]
                where = f", at position {place + 1:,}," if places > 1 else ""
                self.notes.append(
                    f"{name} misses 1 by {_amount(size)}{where} {'at most, ' if places > 1 else ''}"
                    f"which {kind} explains: rounding the entries of a row of {n:,} can move its "
                    f"sum by {explained(1.0, n, kind):.2g}."
                )
        gap, place = self.gap
        if gap and self.comparable and "exact" not in self.types:
            where = f" (position {place + 1:,}, the largest)" if places > 1 else ""
            self.notes.append(
                f"The totals of p and q differ by {_amount(gap)}{where}: Σ max(0, p − q) is not "
                "Σ max(0, q − p), and the output misses p by as much."
            )
        tails = [
            rows.shape[-1] - used for rows, used in zip((self.p, self.q), self.used, strict=True)
        ]
        if self.comparable and places > 1 and min(tails) == 0 and max(tails) > 1:
            name = "p" if tails[0] else "q"
            self.notes.append(
                f"The last {max(tails):,} entries of {name} are 0 at every position, and those of "
                f"{'q' if name == 'p' else 'p'} are not: they may be padding rows."
            )
        if self.p.shape[0] == self.q.shape[0] + 1:
            self.notes.append(
                f"p has one position more than q: position {self.p.shape[0]:,} was read as that "
                "of the bonus token and looked at by itself."
            )
        if self.counts:
            self.notes.append(
                "Counts cannot show whether a replacement depends on the coin that rejected, or "
                "on earlier draws: every share is then right and only the order of draws is not."
            )

    def _checked(self) -> list[str]:
        checked = ["entries and sums of p and q"]
        if self.comparable:
            checked.append("rejection and residual, by comparing entries")
        if self.draft_tokens is not None or self.tokens is not None:
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
        kinds = {test.kind for test in self.tests}
        return checked + [text for kind, text in tested.items() if kind in kinds]


@dataclass
class _Steps:
    """The tests of one position's counts, and the counts that tell mistakes apart best."""

    place: int
    level: float
    accepted: Floats
    owed: Floats
    target: Floats
    fails: bool = False
    least: float = 1.0
    kind: Any = None
    counts: Any = None
    right: Any = None

    def take(self, output: Floats | None, kept: Floats | None, corrections: Floats | None) -> None:
        if kept is not None and corrections is not None:
            self.kind, self.counts = "steps", np.concatenate([kept, corrections])
            self.right = np.concatenate([self.accepted, self.owed])
        elif output is not None:
            self.kind, self.counts, self.right = "output", output, self.target.copy()
        elif corrections is not None and self.owed.any():
            self.kind, self.counts = "corrections", corrections
            self.right = self.owed / self.owed.sum()
        elif kept is not None and self.accepted.any():
            self.kind, self.counts, self.right = "kept", kept, self.accepted
        if self.kind is not None and not self.counts.any():
            self.kind = None


def _both(p: Row, q: Row) -> tuple[Row, Row]:
    """p and q for the gallery: both exact or both float64."""
    if isinstance(p, tuple) and isinstance(q, tuple):
        return p, q
    return as_float64(p), as_float64(q)


def _worst(meter: Meter, above: Row, below: Row) -> int:
    """The entry, from 0, at which one row exceeds another the most."""
    gaps = meter.widen(above, "p") - meter.widen(below, "q")
    return int(np.argmax(gaps))


def _all_at_most_0(row: Row) -> bool:
    return all(entry <= 0 for entry in row) if isinstance(row, tuple) else bool((row <= 0).all())


def _shape(rows: Rows) -> str:
    return " × ".join(f"{size:,}" for size in rows.shape)


def _text(value: Fraction | float) -> str:
    return exact(value) if isinstance(value, Fraction) else repr(float(value))


def _amount(size: Fraction | float) -> str:
    if isinstance(size, Fraction):
        readable = size.numerator.bit_length() + size.denominator.bit_length() < 160
        return exact(size) if readable else short(size)
    return f"{size:.3g}"


def _percent(chance: float) -> str:
    return f"{chance:.0%}" if 0.01 <= chance <= 0.99 else "under 1%" if chance < 0.5 else "over 99%"


def _p_value(value: float) -> str:
    return f"{value:.2g}" if value > 0 else "below 1e-300"
