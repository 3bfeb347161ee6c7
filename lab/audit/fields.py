"""What a file may hold, under which names."""

from __future__ import annotations

from collections.abc import Sequence

from lab.errors import FileError

ACCEPTED = (
    "accepted are .npy with an array of shape (2, n) or (positions, 2, n), .npz with p and q, CSV "
    "with the columns token, p, q, and JSON with p and q"
)

FIELDS = {
    "p": ("p", "target", "target p"),
    "q": ("q", "draft", "draft q"),
    "tokens": ("tokens", "token", "label", "labels"),
    "draft_tokens": ("draft_tokens", "draft_token"),
    "residual": ("residual", "r"),
    "output": ("output", "reconstructed"),
    "acceptance": ("acceptance", "alpha", "α"),
    "counts": ("counts", "count"),
    "accepted_counts": ("accepted_counts", "accepted_count"),
    "correction_counts": ("correction_counts", "correction_count"),
    "proposed_counts": ("proposed_counts", "proposed_count"),
}
"""What a file may hold, under which names; the first is the usual one."""

LABELS = ("tokens", "draft_tokens")
COUNTS = ("counts", "accepted_counts", "correction_counts", "proposed_counts")


def named(keys: dict[str, str], what: str) -> tuple[dict[str, str], list[str]]:
    """For each field what `keys` has under one of its names; and keys that stand for none.

    Raises `FileError` when p or q is missing, or a field is there twice.
    """
    found: dict[str, str] = {}
    known: set[str] = set()
    for name, accepted in FIELDS.items():
        hits = [key for key in keys if key.strip().lower() in accepted]
        if len(hits) > 1:
            raise FileError(
                f"{what} has “{hits[0]}” and “{hits[1]}”, which both stand for {name}; accepted is "
                "one."
            )
        known.update(hits)
        if hits:
            found[name] = keys[hits[0]]
    missing = [name for name in ("p", "q") if name not in found]
    if missing:
        listed = ", ".join(list(keys)[:8])[:80] or "nothing"
        raise FileError(
            f"{what} has no {' and no '.join(missing)}: it holds {listed}; accepted are p and q, "
            f"and with them {', '.join(list(FIELDS)[2:])}."
        )
    return found, [key for key in keys if key not in known]


def ignored(unknown: Sequence[str]) -> list[str]:
    """The note about what was not read, if there is anything."""
    if not unknown:
        return []
    listed = ", ".join(f"“{key[:40]}”" for key in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    return [f"Not read: {listed}{more}; these names mean nothing here."]
