"""Numbers for Prometheus.

One process counts in its own registry. Several processes count in files of a common directory, which the first of them
names by PROMETHEUS_MULTIPROC_DIR before they start; whichever is asked then adds them all up.
"""

__all__ = ["Metrics"]

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class Metrics:
    """What is counted.

    Parameters
    ----------
    slots : dict from names to ModelSlot, asked for the models that are loaded
    gate : Gate, asked for the requests in work
    """

    def __init__(self, slots, gate):
        own = CollectorRegistry()
        self.requests = Counter("mercer_requests", "Requests.", ("route", "status"), registry=own)
        self.seconds = Histogram(
            "mercer_request_seconds", "Time to answer.", ("route",), registry=own, buckets=_SECONDS
        )
        self.rows = Counter("mercer_rows", "Rows answered.", ("route", "kind"), registry=own)
        self.bytes_in = Counter("mercer_body_bytes", "Bytes of request bodies read.", ("route",), registry=own)
        self.batches = Histogram("mercer_batch_rows", "Rows scored together.", registry=own, buckets=_ROWS)
        self.reloads = Counter("mercer_reloads", "Number of model reloads.", ("outcome",), registry=own)
        self._own, self._present = own, _Present(slots, gate)

    def text(self):
        """Everything in the text format of Prometheus."""
        registry = self._own
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        present = CollectorRegistry()
        present.register(self._present)
        return generate_latest(registry) + generate_latest(present)


class _Present(Collector):
    """What is true of this process at this moment."""

    def __init__(self, slots, gate):
        self._slots, self._gate = slots, gate

    def collect(self):
        models = {name: slot.present.model for name, slot in self._slots.items() if slot.problem is None}
        ready = len(models) == len(self._slots)
        yield GaugeMetricFamily("mercer_ready", "1 if all models are loaded.", value=int(ready))
        yield GaugeMetricFamily("mercer_requests_in_work", "Number of requests in progress.", value=self._gate.taken)
        if models:
            info = GaugeMetricFamily("mercer_model_info", "The models.", labels=("served", "name", "sha256", "task"))
            for name, model in models.items():
                info.add_metric((name, model.name, model.sha256 or "", model.task), 1)
            yield info
