"""A relay's Prometheus metrics; the tallies of its tasks are those of its spool."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from privet.http_server.metrics import ServerMetrics

from .curator_calls import CountingClient
from .outcomes import COUNTED
from .spool import Spool


class RelayMetrics(ServerMetrics, Collector):
    """The values of a relay's one process, the tallies of its tasks, its calls of the curator."""

    def __init__(self, spool: Spool, client: CountingClient) -> None:
        super().__init__(spool.path.parent)
        self._spool = spool
        self._client = client
        self.add_collector(self)

    def describe(self) -> list[Metric]:
        return [self._reports(), self._calls_of_curator()]

    def collect(self) -> Iterator[Metric]:
        """The tallies as they are now; raises ``SpoolFailed``."""
        reports, calls = self._reports(), self._calls_of_curator()
        totals = Counter[tuple[str, str]]()
        for task, tallies in self._spool.all_tallies().items():
            totals[COUNTED, self.task(task)] += 0  # what has not been counted yet is 0, not unknown
            for state, count in tallies.items():
                if state != "smallest_batch":
                    totals[state, self.task(task)] += count
        for labels, count in totals.items():
            reports.add_metric(labels, count)
        for outcome, count in self._client.outcomes.items():
            calls.add_metric([outcome], count)
        yield reports
        yield calls

    def _reports(self) -> GaugeMetricFamily:
        about = "Waiting reports, and the outcomes of those that have left."
        return GaugeMetricFamily("privet_relay_reports", about, labels=["state", "task"])

    def _calls_of_curator(self) -> CounterMetricFamily:
        about = "Calls to the curator by outcome: answered, or the reason why not."
        return CounterMetricFamily("privet_relay_curator_calls", about, labels=["outcome"])
