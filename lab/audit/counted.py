"""Counts of draws against p, q, α and r: which look wrong, and which mistake they look like."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.audit.claims import Floats, Worst, as_float64, for_gallery, most_named
from lab.audit.findings import MOST_KEPT, Book, Kind, Test, value_text
from lab.audit.rows import Measures, Meter, Row, Rows, many
from lab.audit.suspects import LONGEST, behind_counts, powers, suspects, too_long
from lab.evidence import LEVEL, chi_square, interval, share_p_value
from lab.figures import short

COUNTS = ("counts", "accepted_counts", "correction_counts", "proposed_counts")
"""What can be counted; two of the first three give the third."""

MOST_COUNTED = 2**53
"""Counts are below this: up to here float64 holds every whole number."""


class Counted:
    """The counts of an audit, position by position.

    Parameters
    ----------
    book : where findings go
    counts : rows of counts by name, of `COUNTS`
    places : how many positions are looked at
    meter : that of the audit
    """

    def __init__(self, book: Book, counts: dict[str, Rows], places: int, meter: Meter) -> None:
        self.book, self.counts, self.meter = book, counts, meter
        self.several = places > 1
        self.level = self._level(places)
        self.heaviest: tuple[int, _Case] | None = None
        self.failed: Worst[_Case] = Worst(most_named(meter.tokens))

    def _level(self, places: int) -> float:
        """The level of each test, so that clean counts are accused once in 100 audits at most."""
        have = set(self.counts)
        if len(have & set(COUNTS[:3])) >= 2:
            have |= set(COUNTS[:3])
        share = "accepted_counts" in have and not have.isdisjoint(("counts", "proposed_counts"))
        return LEVEL / max(1, places * (len(have) + share))

    def look_at(self, p: Row, q: Row, measures: Measures, place: int) -> None:
        """Note what is wrong with the counts of one position."""
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
                self.book.find(
                    "corrections",
                    "correction_counts",
                    value=f"{int(corrections[entry]):,}",
                    sentence="there is no residual here, since p exceeds q nowhere, and still "
                    "replacements were drawn.",
                    place=place,
                    entry=entry,
                )
        whole = proposed if output is None else output  # a token for each proposal
        if kept is not None and whole is not None:
            self._share(int(kept.sum()), int(whole.sum()), measures, place)
        steps.take(output, kept, corrections)
        if steps.kind is None:
            return
        count = int(steps.counts.sum())
        if self.heaviest is None or count > self.heaviest[0]:
            self.heaviest = (count, self._case(p, q, steps))
        if steps.fails and self.failed.takes(-steps.least, place):
            self.failed.put(-steps.least, place, self._case(p, q, steps))

    def _case(self, p: Row, q: Row, steps: _Steps) -> _Case:
        rows = [row if isinstance(row, tuple) else as_float64(row).copy() for row in (p, q)]
        return _Case(rows[0], rows[1], steps)

    def name_mistakes(self) -> None:
        """Name the likeliest mistake where counts fail; else say what they could have shown."""
        if self.book.tests:
            self.book.note(
                f"All tests of this audit together accuse right counts {LEVEL:.0%} of the time "
                "at most: each has its share of that level."
            )
        if set(self.counts) == {"accepted_counts"}:
            self.book.note(
                "How many were proposed is missing: the kept share was not held against α. counts "
                "or proposed_counts would say it."
            )
        if self.heaviest is None:
            return
        if self.meter.tokens > LONGEST:
            self.book.note(too_long(self.meter.tokens))
        if not self.failed.seen:
            self._power(self.heaviest[1])
            return
        cases = self.failed.cases
        unlike = [case.steps.place + 1 for case in cases if not self._name(case)]
        if unlike:
            listed = ", ".join(f"{position:,}" for position in sorted(unlike))
            self.book.note(
                f"At position {listed} no mistake of the gallery has a law that the counts look "
                "like."
            )
        if self.failed.seen > len(cases):
            self.book.note(self.failed.left_out("where counts fail a test"))

    def _whole(self, place: int) -> dict[str, Floats]:
        """The counts of a position, completed; empty when they are not possible."""
        seen = {}
        for name, rows in self.counts.items():
            if place >= rows.shape[0]:
                continue
            row = rows[place]
            values = np.array([float(x) for x in row]) if isinstance(row, tuple) else row
            values = values.astype(np.float64)
            whole = (values >= 0) & (values < MOST_COUNTED) & (values == np.floor(values))
            if not whole.all():
                entry = int(np.argmin(whole))
                self.book.find(
                    "impossible-counts",
                    name,
                    value=value_text(row[entry]),
                    sentence=f"a count is a whole number, 0 or more, below {MOST_COUNTED:,}. "
                    "Counts of this position are left out.",
                    place=place,
                    entry=entry,
                )
                return {}
            seen[name] = values
        output, kept, corrections = (seen.get(name) for name in COUNTS[:3])
        pairs = (
            ("accepted_counts", "counts", "kept more often than it came out"),
            ("correction_counts", "counts", "drawn as a replacement more often than it came out"),
            ("accepted_counts", "proposed_counts", "kept more often than it was proposed"),
        )
        for part, entire, meaning in pairs:
            if part in seen and entire in seen and (seen[part] > seen[entire]).any():
                entry = int(np.argmax(seen[part] - seen[entire]))
                self.book.find(
                    "impossible-counts",
                    part,
                    value=f"{int(seen[part][entry]):,}",
                    sentence=f"this token was {meaning} ({int(seen[entire][entry]):,}). The two "
                    "counts are of different draws, or in different orders. Counts of this "
                    "position are left out.",
                    place=place,
                    entry=entry,
                )
                return {}
        if output is not None and kept is not None and corrections is not None:
            off = output != kept + corrections
            if off.any():
                entry = int(np.argmax(off))
                self.book.find(
                    "impossible-counts",
                    "counts",
                    value=f"{int(output[entry]):,}",
                    sentence=f"this token was kept {int(kept[entry]):,} times and was a "
                    f"replacement {int(corrections[entry]):,} times, which is not how often it "
                    "came out. Counts of this position are left out.",
                    place=place,
                    entry=entry,
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
        shown = [f"{int(counts[entry]):,}" for entry in entries[:MOST_KEPT]]
        self.book.find_each(kind, name, entries, shown, sentence=meanings[kind], place=place)

    def _test(self, kind: Kind, name: str, counts: Floats, law: Row, steps: _Steps) -> None:
        if not counts.any() or not law.any():
            return
        test = chi_square(counts, law)
        fails = test.p_value < steps.level
        self.book.tests.append(Test(kind, steps.place + 1, test.count, test.p_value, fails))
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
                f"{many(test.count, 'draw')}, χ² = {_statistic(test.statistic)} with "
                f"{many(test.freedom, 'degree')} of freedom, "
                f"p-value {_p_value(test.p_value)}; due here are {due:,.0f}"
            )
        self.book.find(
            kind,
            name,
            value=value,
            sentence=f"{meanings[kind]} {said[0].upper()}{said[1:]}. ",
            place=steps.place,
            entry=entry,
        )

    def _share(self, kept: int, count: int, measures: Measures, place: int) -> None:
        if not count:
            return
        alpha = min(1.0, float(measures.acceptance))
        if not measures.excess > 0:
            alpha = 1.0  # no proposal can be rejected, whatever rounding makes of the sum
        p_value = share_p_value(kept, count, alpha)
        fails = p_value < self.level
        self.book.tests.append(Test("kept-share", place + 1, count, p_value, fails))
        if not fails:
            return
        low, high = interval(kept, count)
        self.book.find(
            "kept-share",
            "accepted_counts",
            value=f"{kept:,} of {count:,}",
            sentence=f"{kept / count:.4g} of the proposals were kept, and α is "
            f"{short(measures.acceptance)}; such counts leave α between {low:.4g} and "
            f"{high:.4g} (at {1 - LEVEL:.0%}), p-value {_p_value(p_value)}. ",
            place=place,
        )

    def _name(self, case: _Case) -> bool:
        """Name the likeliest mistake in the findings of one position; whether there is one."""
        steps = case.steps
        found = suspects(*for_gallery(case.p, case.q))
        named = behind_counts(steps.kind, steps.counts, steps.right, found, self.level)
        count = int(steps.counts.sum())
        shown = powers(steps.kind, count, steps.right, named)
        added = ""
        if shown:
            chance, needed = shown[0].chance, shown[0].needed
            added = f" So many draws show it {_percent(chance)} of the time" + (
                f"; 9 times in 10 takes {many(needed, 'draw')}." if needed is not None else "."
            )
        about = {"output-counts", "kept-counts", "kept-share", "corrections"}
        slugs = [(suspect.slug, suspect.title) for suspect in named]
        for finding in list(self.book.found):
            if finding.position == steps.place + 1 and finding.kind in about:
                self.book.amend(finding, slugs, "The likeliest mistake is", added, by="counts")
        return bool(named)

    def _power(self, case: _Case) -> None:
        steps = case.steps
        found = suspects(*for_gallery(case.p, case.q))
        count = int(steps.counts.sum())
        every = powers(steps.kind, count, steps.right, found)
        weak = sorted((p for p in every if not p.shows), key=lambda p: -p.chance)
        if not every:
            return
        where = f"Position {steps.place + 1:,}: " if self.several else ""
        text = (
            f"{where}{many(count, 'draw')} would show {len(every) - len(weak)} of {len(every)} "
            "mistakes of the gallery that change these laws, 9 times in 10 or more"
        )
        shown = "; ".join(
            f"“{p.title}” {_percent(p.chance)} of the time"
            + (f" ({many(p.needed, 'draw')} would do)" if p.needed and p.needed > count else "")
            for p in weak[:3]
        )
        more = f"; and {len(weak) - 3} more" if len(weak) > 3 else ""
        self.book.notes.append(f"{text}{f'. Less often: {shown}{more}' if weak else ''}.")


@dataclass
class _Case:
    """A position to look for mistakes at: copies of its rows, and its counts."""

    p: Row
    q: Row
    steps: _Steps


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
        if self.kind is not None and not (self.counts.any() and self.right.any()):
            self.kind = None


def _percent(chance: float) -> str:
    if 0.01 <= chance <= 0.99:
        return f"{math.floor(chance * 100)}%"  # what is below 9 in 10 does not read 90%
    return "under 1%" if chance < 0.5 else "over 99%"


def _statistic(value: float) -> str:
    return f"{value:,.1f}" if value < 1e9 else f"{value:.3g}"


def _p_value(value: float) -> str:
    return f"{value:.2g}" if value >= 1e-300 else "below 1e-300"
