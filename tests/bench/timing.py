"""Times that are compared with each other are taken in turns, so that both see the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def best(contenders: Mapping[str, Callable[[], object]], *, budget: float) -> dict[str, float]:
    """The best time of each contender in seconds, in rounds of all until the budget is spent."""
    fastest = dict.fromkeys(contenders, float("inf"))
    for run in contenders.values():
        run()
    end = time.perf_counter() + budget
    while time.perf_counter() < end:
        for name, run in contenders.items():
            loops = 1 if fastest[name] > 1e-4 else 20
            start = time.perf_counter()
            for _ in range(loops):
                run()
            fastest[name] = min(fastest[name], (time.perf_counter() - start) / loops)
    return fastest
