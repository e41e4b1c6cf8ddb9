"""The service over loopback: how long 256 bits take to be classified, and what becomes of malformed bodies."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

RATE, SECONDS, QUICK_SECONDS, PERIODS = 300, 60, 10, 3
BITS = 256
LATENCY = "99th percentile of the time to answer, 256 bits, 300 requests per second, best of three minutes"
ERRORS = "requests that were not answered with 200, in all three minutes"
BODIES, QUICK_BODIES = 100_000, 4_000
REFUSED = "malformed bodies that were answered with anything but 4xx"
GROWTH = "growth of the service's memory over the last 90 % of the bodies"
READ = "bytes of a body of 1 GB that were sent before it was refused"
HUGE = 10**9


@benchmark(
    "service-latency",
    f"classification of {BITS} bits over HTTP: one process, loopback, {RATE} requests per second for {SECONDS} s",
    bars=[Bar(LATENCY, "<= 25", "ms"), Bar(ERRORS, "<= 0")],
)
def service_latency(record):
    import tempfile
    from pathlib import Path

    import numpy as np

    from benchmarks.serving._load import open_loop, serving

    seconds = QUICK_SECONDS if record.quick else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        model, X = _model(Path(folder) / "digits.mercer")
        bodies = _messages(model, X, BITS)
        with serving(str(Path(folder) / "digits.mercer")) as (_, host, port):
            open_loop(host, port, bodies, RATE, 2)  # warm-up
            periods = [_period(host, port, bodies, seconds, seed) for seed in range(1 if record.quick else PERIODS)]
    p99 = [float(np.percentile(1000 * load.seconds, 99)) for load, _ in periods]
    failed = sum(count for load, _ in periods for status, count in load.statuses.items() if status != 200)
    record.measured(LATENCY, min(p99), "all: " + ", ".join(f"{value:.3g} ms" for value in p99))
    record.measured(ERRORS, failed, f"of {sum(len(load.seconds) for load, _ in periods)}")
    columns = ["requests", "connections", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "largest ms", "stolen, %"]
    shown = [
        [len(load.seconds), load.n_connections,
         *(float(np.percentile(1000 * load.seconds, share)) for share in (50, 90, 99, 99.9, 100)), 100 * stolen]
        for load, stolen in periods
    ]  # fmt: skip
    record.table(f"time to answer, {RATE} requests per second, minute by minute", columns, shown)
    record.note(
        f"Digits, a WireClassifier, one row of {BITS} bits in a message of {len(bodies[0])} bytes. The clients are "
        "another process of the same machine; they send at random moments (exponential gaps) that do not depend on the "
        "answers, over connections that are kept open. The time of a request runs from the moment it was due. Stolen: "
        "share of the processors' time that the host of this virtual machine gave to others."
    )


def _period(host, port, bodies, seconds, seed):
    """(load, share of the processors' time that was stolen meanwhile)"""
    from benchmarks.serving._load import open_loop, processor_ticks

    before = processor_ticks()
    load = open_loop(host, port, bodies, RATE, seconds, seed=seed + 1)
    stolen, total = (after - early for after, early in zip(processor_ticks(), before, strict=True))
    return load, stolen / total if total else 0.0


@benchmark(
    "service-fuzz",
    f"{BODIES:,} malformed bodies, fuzzed from valid ones: answers and memory of the service",
    bars=[Bar(REFUSED, "<= 0"), Bar(GROWTH, "<= 16", "MB"), Bar(READ, "<= 0")],
)
def service_fuzz(record):
    import asyncio
    import tempfile
    from collections import Counter
    from pathlib import Path

    from benchmarks.serving._fuzz import Service, malformed
    from benchmarks.serving._load import resident_bytes, serving

    count = QUICK_BODIES if record.quick else BODIES
    with tempfile.TemporaryDirectory() as folder:
        model, X = _model(Path(folder) / "digits.mercer")
        fingerprints = {int(bits): model.specification(bits).fingerprint for bits in model.rates_}
        messages = [body for bits in fingerprints for body in _messages(model, X[:3], bits)]
        bodies = malformed(Service(X.shape[1], fingerprints), messages, _documents(X, messages, fingerprints), count, 0)
        with serving(str(Path(folder) / "digits.mercer")) as (process, host, port):
            statuses, memory = Counter(), [resident_bytes(process)]
            for part in (count // 10, count - count // 10):
                statuses += asyncio.run(_send(host, port, [next(bodies) for _ in range(part)]))
                memory.append(resident_bytes(process))
            sent = _sent_before_refusal(host, port)
    wrong = sum(n for status, n in statuses.items() if not 400 <= status < 500)
    record.measured(REFUSED, wrong, f"of {count}")
    record.measured(GROWTH, (memory[2] - memory[1]) / 1e6, "resident memory after 10 % and after all")
    record.measured(READ, sent, "headers with its length, then waiting")
    record.table("answers", ["status", "bodies"], [[status, n] for status, n in sorted(statuses.items())])
    columns = ["before any, MB", "after 10 %, MB", "after all, MB"]
    record.table("resident memory of the service", columns, [[size / 1e6 for size in memory]])
    record.note(
        "A quarter of the bodies are messages with bytes changed, inserted, repeated or cut off, a quarter messages "
        "with a field changed and the checksum made anew, half JSON with bytes or parts changed. Those that a checker "
        "of its own finds to be valid still are left out. 16 connections that are kept open."
    )


def _model(path):
    """(a ladder of rates up to 256 bits on digits, rows), saved at the path."""
    from sklearn.datasets import load_digits

    import mercer

    X, y = load_digits(return_X_y=True)
    embedding = mercer.UniversalEmbedding(BITS, delta=70.0, random_state=0)  # choosing it takes longer than measuring
    model = mercer.WireClassifier(embedding, rates=[64, BITS], Cs=[1.0], cv=2).fit(X, y)
    mercer.save(model, path)
    return model, X


def _messages(model, X, bits):
    """A message for each row."""
    from mercer.serving.client import Embedding
    from mercer.serving.wire.messages import pack_message

    embedding = Embedding(model.specification(bits).to_dict())
    return [pack_message(code[None], bits, embedding.fingerprint) for code in embedding.encode(X[:500])]


def _documents(X, messages, fingerprints):
    """Valid JSON of all kinds."""
    import base64

    from mercer.serving.wire.messages import unpack_message

    documents = [{"rows": X[:2].tolist()}, *({"rows": X[:1].tolist(), "bits": bits} for bits in fingerprints)]
    for message in map(unpack_message, messages):
        texts = [base64.b64encode(code.tobytes()).decode() for code in message.codes]
        documents.append({"codes": texts, "fingerprint": fingerprints[message.n_bits]})
    return documents


async def _send(host, port, bodies, n_connections=16):
    """How often each status came; 0 for a connection that broke."""
    import asyncio
    from collections import Counter

    from benchmarks.serving._load import Connection

    statuses, left = Counter(), iter(bodies)

    async def sender():
        connection = Connection(host, port)
        for media, body in left:
            try:
                statuses[await connection.post("/v1/classify", media, body)] += 1
            except (OSError, asyncio.IncompleteReadError):
                statuses[0] += 1
                connection.close()
        connection.close()

    await asyncio.gather(*(sender() for _ in range(n_connections)))
    return statuses


def _sent_before_refusal(host, port):
    """Announce a huge body and send nothing of it: 0 if that is refused, all of it if the service waits for it."""
    import socket

    head = (
        f"POST /v1/classify HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: {HUGE}\r\n\r\n"
    )
    with socket.create_connection((host, port), timeout=5) as plug:
        plug.sendall(head.encode())
        try:
            return 0 if plug.recv(12) == b"HTTP/1.1 413" else HUGE
        except TimeoutError:
            return HUGE
