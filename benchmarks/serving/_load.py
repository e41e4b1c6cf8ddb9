"""A service in a process of its own, and clients that send at their own pace whatever the answers do."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mercer


@contextmanager
def serving(model: str, *options: str):
    """(process, host, port) of ``mercer serve`` while the block runs."""
    paths = [str(Path(mercer.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "mercer.cli.main", "serve", model, "--port", "0", "--no-access-log", *options]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        if not address:
            raise RuntimeError("The service did not start; its reason is on the standard error.")
        host, _, port = address.removeprefix("http://").rpartition(":")
        yield process, host, int(port)
    finally:
        process.terminate()
        process.wait(60)


def resident_bytes(process: subprocess.Popen) -> int:
    """Memory of a process that is in RAM."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split(maxsplit=1)[0]) * 1024


def processor_ticks() -> tuple[int, int]:
    """(stolen by the host of a virtual machine, all) ticks of all processors since the start; zeros beyond Linux."""
    try:
        ticks = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return 0, 0
    return ticks[7], sum(ticks)


class Connection:
    """A connection that is kept open and asks one thing after the other."""

    def __init__(self, host: str, port: int):
        self._place, self._streams = (host, port), None

    async def post(self, path: str, media: str, body: bytes) -> int:
        """The status of the answer, which is read to its end."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._place)
        reader, writer = self._streams
        head = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        headers = dict(line.split(b": ", 1) for line in lines[1:] if line)
        await reader.readexactly(int(headers[b"content-length"]))
        if headers.get(b"connection") == b"close":
            self.close()
        return int(lines[0].split()[1])

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass(frozen=True)
class Load:
    """What became of the requests: seconds from when each was due, and how often each status came (0: none)."""

    seconds: np.ndarray
    statuses: Counter
    n_connections: int


def open_loop(host: str, port: int, bodies: list[bytes], rate: float, duration: float, seed: int = 0) -> Load:
    """Send ``rate`` requests per second, at random moments that do not depend on the answers.

    A request that is due finds a free connection or opens another. Its time runs from the moment it was due, so that
    waiting behind a slow answer counts.
    """
    return asyncio.run(_open_loop(host, port, bodies, rate, duration, seed))


async def _open_loop(host, port, bodies, rate, duration, seed):
    rng = np.random.default_rng(seed)
    due = np.cumsum(rng.exponential(1 / rate, int(rate * duration)))
    free, opened, statuses, seconds = [], [], Counter(), np.empty(len(due))
    start = time.perf_counter()

    async def ask(i):
        if free:
            connection = free.pop()
        else:
            connection = Connection(host, port)
            opened.append(connection)
        try:
            status = await connection.post("/v1/classify", "application/octet-stream", bodies[i % len(bodies)])
            free.append(connection)
        except (OSError, asyncio.IncompleteReadError):
            status = 0
        seconds[i] = time.perf_counter() - start - due[i]
        statuses[status] += 1

    tasks = []
    for i, moment in enumerate(due):
        await asyncio.sleep(max(0.0, start + moment - time.perf_counter()))
        tasks.append(asyncio.create_task(ask(i)))
    await asyncio.gather(*tasks)
    for connection in opened:
        connection.close()
    return Load(seconds, statuses, len(opened))
