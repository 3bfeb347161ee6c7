"""An audit of a matrix in float16 against the memory floor and against the usual formulas.

All contenders go through the same rows and return the same four numbers for each: Σ p, Σ q, α and
Z. The audit besides finds bad entries and judges the sums. `python -m tests.bench.bench_audit 1000`
takes 1,000 positions of 131,072 tokens, 512 MiB; less is the default.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from lab import audit
from lab.audit.material import audit_file
from tests.bench.timing import best

TOKENS = 131_072
POSITIONS = 100


def made():
    """Ten p and q of a language model's shape: few likely tokens, most below 1e-5."""
    rng = np.random.default_rng(0)
    pairs = np.empty((10, 2, TOKENS), np.float16)
    for pair in pairs:
        logits = 3 * rng.standard_normal(TOKENS)
        for row, noise in zip(pair, (0, 0.5), strict=True):
            weights = np.exp(logits + noise * rng.standard_normal(TOKENS))
            row[:] = weights / weights.sum()
    return pairs


def clamped(p, q):
    """The whole matrix in float32: clamp the difference at 0, and add up."""
    p, q = p.astype(np.float32), q.astype(np.float32)
    residual = np.clip(p - q, 0, None)
    return p.sum(axis=1), q.sum(axis=1), np.minimum(p, q).sum(axis=1), residual.sum(axis=1)


def where(p, q):
    """Row by row, masked instead of clamped, in the rows' own type with sums in float32."""
    found = []
    for left, right in zip(p, q, strict=True):
        residual = np.where(left > right, left - right, 0)
        accepted = np.where(left > right, right, left)
        found.append([row.sum(dtype=np.float32) for row in (left, right, accepted, residual)])
    return found


def rowwise(p, q):
    """Row by row in float32, with max(p − q, 0) and the check for NaN that a sampler has."""
    found = []
    for left, right in zip(p, q, strict=True):
        left, right = left.astype(np.float32), right.astype(np.float32)
        assert not np.isnan(left).any()
        assert not np.isnan(right).any()
        residual = np.maximum(left - right, 0)
        found.append([row.sum() for row in (left, right, np.minimum(left, right), residual)])
    return found


def copied(p, q, to):
    """The memory floor: the same bytes read and written, nothing computed."""
    np.copyto(to[0], p)
    np.copyto(to[1], q)


def in_a_process(path):
    """Seconds and peak MiB of the audit of a file, and of a copy of its bytes, in new processes."""
    for what in ("audit", "copy"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.bench_audit", what, str(path)],
            capture_output=True,
            text=True,
            check=True,
        )
        yield what, *map(float, done.stdout.split())


def read_and_write(path):
    """Every byte of a file into one buffer and from there into memory as large as the file."""
    size = Path(path).stat().st_size
    row, to = bytearray(4 * TOKENS), np.empty(size, np.uint8)
    with Path(path).open("rb", buffering=0) as file:
        done = 0
        while got := file.readinto(row):
            to[done : done + got] = np.frombuffer(row, np.uint8, got)
            done += got


def measured(what, path):
    """What one of those processes does and prints."""
    import resource

    took = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        if what == "audit":
            assert audit_file(path).clean
        else:
            read_and_write(path)
        took = min(took, time.perf_counter() - start)
    print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def written(path, pairs, positions):
    """The same matrix as a file, ten positions at a time, so that this process stays small."""
    np.save(path, pairs)
    head = path.read_bytes()[:128].replace(b"(10, 2, ", f"({positions}, 2, ".encode())
    with path.open("wb") as file:
        file.write(head[:127].rstrip().ljust(127) + b"\n")
        for start in range(0, positions, len(pairs)):
            file.write(pairs[: positions - start].tobytes())


def main(positions=POSITIONS):
    """Print microseconds a position, and each as a multiple of the floor."""
    pairs = made()
    with tempfile.TemporaryDirectory() as folder:
        # First: a new process inherits the peak of the one that started it.
        path = Path(folder) / "both.npy"
        written(path, pairs, positions)
        rows = {what: figures for what, *figures in in_a_process(path)}
        size = path.stat().st_size / 2**20
    both = pairs[np.arange(positions) % len(pairs)]
    p, q = np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])
    del both
    to = np.zeros_like(p), np.zeros_like(q)
    found = audit(p, q)
    for contender in (clamped, where, rowwise):
        sums = np.array(contender(p, q), float)
        sums = sums if len(sums) == positions else sums.T
        assert np.allclose(sums[:, 2], found.acceptance, rtol=2e-3)
        assert np.allclose(sums[:, 3], found.rejection, rtol=2e-2)
    contenders = {f.__name__: partial(f, p, q) for f in (audit, clamped, where, rowwise)}
    times = best(contenders | {"copied": partial(copied, p, q, to)}, budget=10)
    floor = times["copied"]
    print(f"\naudit of {positions:,} × {TOKENS:,} in float16, microseconds a position; (×) floor")
    print("".join(f"{name:>18}" for name in times))
    cells = [f"{t / positions * 1e6:,.0f} ({t / floor:.1f}×)" for t in times.values()]
    print("".join(f"{cell:>18}" for cell in cells))
    print(f"from a file of {size:,.0f} MiB, each in a process of its own:", end="")
    for what, (took, peak) in rows.items():
        print(f" {what} {took:.2f} s, peak {peak:,.0f} MiB;", end="")
    print(f" {rows['audit'][0] / rows['copy'][0]:.1f}×")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measured(*sys.argv[1:])
    else:
        main(*map(int, sys.argv[1:]))
