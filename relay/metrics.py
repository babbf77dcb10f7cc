"""A relay's Prometheus metrics; the tallies of its tasks are those of its spool."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from privet.http_server.metrics import ServerMetrics

from .spool import Spool


class RelayMetrics(ServerMetrics, Collector):
    """The values of a relay's one process, and the tallies of its tasks."""

    def __init__(self, spool: Spool) -> None:
        super().__init__()
        self._spool = spool
        self.registry.register(self)

    def describe(self) -> list[GaugeMetricFamily]:
        """What ``collect`` gives, without values."""
        about = "Reports that wait, and what became of those that have left."
        return [GaugeMetricFamily("privet_relay_reports", about, labels=["state", "task"])]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The tallies as they are now; raises ``SpoolFailed``."""
        (family,) = self.describe()
        found = Counter[tuple[str, str]]()
        for task, tallies in self._spool.all_tallies().items():
            for state, count in tallies.items():
                if state != "smallest_batch":
                    found[state, self.task(task)] += count
        for labels, count in found.items():
            family.add_metric(labels, count)
        yield family
