"""The server's time for one rerun of each page, over the WebSocket and without a browser."""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

ROOT = Path(__file__).parents[2]
RERUNS = 100

# (what, which calls of Streamlit draw nothing, page)
VARIANTS = (
    ("One step, inspected", "", "one_step"),
    ("  without charts and tables", "vega_lite_chart table", "one_step"),
    ("  its widgets alone", "vega_lite_chart table markdown html caption metric", "one_step"),
    ("Two outcomes, inspected", "", "two_outcomes"),
    ("  without charts and tables", "vega_lite_chart table", "two_outcomes"),
    ("Block, inspected", "", "block"),
    ("  without charts and tables", "vega_lite_chart table", "block"),
    ("Mistakes, inspected", "", "mistakes"),
    ("  without charts and tables", "vega_lite_chart table", "mistakes"),
    ("Precision, inspected", "", "precision"),
    ("  without charts and tables", "vega_lite_chart table", "precision"),
)


@contextmanager
def serve(without: str, page: str) -> Iterator[tuple[int, list[str]]]:
    """Run one page in a server of its own; its port, and a growing list of what it prints."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [
            sys.executable, "-m", "streamlit", "run", "tests/bench/variant.py",
            "--server.headless=true", f"--server.port={port}", "--server.address=127.0.0.1",
            "--", page, *without.split(),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    assert process.stdout
    printed: list[str] = []
    Thread(target=lambda lines: printed.extend(lines), args=(process.stdout,), daemon=True).start()
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health").close()
                break
            except OSError:
                time.sleep(0.1)
        yield port, printed
    finally:
        process.terminate()
        process.wait()


async def rerun_often(port: int) -> None:
    """Ask for reruns one after the other, with “Just inspect” switched on."""
    async with connect(
        f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"], max_size=None
    ) as socket_:
        switch = ""
        for _ in range(RERUNS):
            message = BackMsg()
            message.rerun_script.query_string = ""
            if switch:
                state = message.rerun_script.widget_states.widgets.add()
                state.id, state.bool_value = switch, True
            await socket_.send(message.SerializeToString())
            answer = ForwardMsg()
            while answer.WhichOneof("type") != "script_finished":
                answer.ParseFromString(await socket_.recv())
                box = answer.delta.new_element.checkbox
                if box.label == "Just inspect":
                    switch = box.id
        assert switch, "the page has no switch “Just inspect”"


def main() -> None:
    """Print the median and the 95th percentile of each variant, in milliseconds."""
    print("\nOne rerun of a page, milliseconds of the server; each variant in a server of its own")
    print(f"{'':<34} {'median':>8} {'p95':>8}")
    for what, without, page in VARIANTS:
        with serve(without, page) as (port, printed):
            asyncio.run(rerun_often(port))
            # The script prints its own time: what the network adds depends on the client.
            times = sorted(float(line.split()[1]) for line in printed if line.startswith("took "))
        times = times[: -len(times) // 10]  # the first runs import, compile and fill caches
        p95 = times[int(len(times) * 0.95)]
        print(f"{what:<34} {statistics.median(times) * 1e3:>8.1f} {p95 * 1e3:>8.1f}")


if __name__ == "__main__":
    main()
