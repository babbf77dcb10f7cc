"""A curator's Prometheus metrics; every name begins with ``privet_``."""

from collections import Counter as Totals
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prometheus_client import Counter, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from privet.http_server.metrics import PROBLEM_NAMES, ServerMetrics

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000)
COUNTED, REPLAYED, REFUSED = "counted", "replayed", "refused"


HELD = {
    "held_reports": "Reports of a task that a relay says it holds.",
    "held_since_timestamp_seconds": "Unix time since which a relay has held reports and none of "
    "them counted; 0 if it holds none.",
    "lost_reports": "Reports of a task that a relay says it lost.",
    "counted_reports": "Counted reports of a task whose relay holds or has lost some, all ways.",
}


class OpenTasks(Collector):
    """The counted reports of tasks that take reports, as the database has them."""

    def __init__(self, label: Callable[[str], str]) -> None:
        self._label = label
        self.reports: Mapping[str, int] = {}

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "privet_open_task_reports",
            "Counted reports of a task that takes reports now.",
            labels=["task"],
        )
        totals = Totals[str]()
        for task, count in self.reports.items():
            totals[self._label(task)] += count
        for label, count in totals.items():
            family.add_metric([label], count)
        yield family


class Metrics(ServerMetrics):
    """One process's counters; ``certified`` if there is a certificate to watch."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        estimators: Iterable[str] = (),
        certified: bool = False,
    ) -> None:
        super().__init__(folder)
        self._reports = self._counter(
            "privet_reports_total",
            "Reports by outcome: counted, replayed, or the name of the problem.",
            (COUNTED, REPLAYED, *PROBLEM_NAMES),
        )
        self._task_reports = Counter(
            "privet_task_reports_total",
            "Reports of a task: counted, replayed or refused.",
            ["outcome", "task"],
            registry=self.registry,
        )
        self._of_task: dict[str, dict[str, Counter]] = {}
        self._fits = self._counter(
            "privet_fits_total",
            "Fits by outcome: fitted, or the name of the problem.",
            ("fitted", *PROBLEM_NAMES),
        )
        self._commit_seconds = self.histogram(
            "privet_commit_seconds", "Duration of a transaction of reports, fsync included."
        )
        self._commit_reports = self.histogram(
            "privet_commit_reports", "Reports per transaction.", SIZES
        )
        self._report_seconds = self.histogram(
            "privet_report_seconds",
            "Longest time that a single report waited for its commit, per commit.",
        )
        self._fit_seconds = self.histogram(
            "privet_fit_seconds", "Duration of a fit.", labels=["estimator"]
        )
        for estimator in estimators:
            self._fit_seconds.labels(estimator)
        self._open_tasks = OpenTasks(self.task)
        self.add_collector(self._open_tasks)
        self.database_up = self.gauge(
            "privet_database_up", "1 while the database takes writes, else 0.", "livemin"
        )
        self._queue = self.gauge("privet_queue_reports", "Reports that wait for the disk.")
        self._held = {
            name: self.gauge(f"privet_{name}", about, "mostrecent", ["relay", "task"])
            for name, about in HELD.items()
        }
        self.wrong_tokens = Counter(
            "privet_wrong_tokens_total",
            "Calls and sign-ins refused for an unknown or expired token.",
            registry=self.registry,
        )
        self._jobs = self.gauge("privet_jobs", "Fits and new tasks under way or waiting.")
        self.impossible_tasks = self.gauge(
            "privet_impossible_tasks",
            "Open tasks whose reports cannot all be honest.",
            "livemax",
        )
        self.missing_reports = self.gauge(
            "privet_missing_reports",
            "Reports that were counted, and that the database lacks since it was put back.",
            "livemax",
        )
        self.newest_backup = self.gauge(
            "privet_backup_timestamp_seconds",
            "Unix time of the newest backup; 0 if there is none.",
            "livemax",
        )
        if certified:
            self.certificate_end = self.gauge(
                "privet_certificate_end_timestamp_seconds",
                "Unix time at which the proxy's certificate expires; 0 if it cannot be read.",
                "livemax",
            )

    def _counter(self, name: str, text: str, outcomes: Sequence[str]) -> dict[str, Counter]:
        """A counter's children by outcome, which are there at once."""
        counter = Counter(name, text, ["outcome"], registry=self.registry)
        return {outcome: counter.labels(outcome) for outcome in outcomes}

    def reported(self, outcome: str, task_id: str, count: int = 1) -> None:
        """``count`` reports of a task ended as ``outcome``; "" is for a task that is not known."""
        self._reports[outcome].inc(count)
        of_task = self._of_task.get(task_id)
        if of_task is None:
            label = self.task(task_id)
            of_task = self._of_task[task_id] = {
                kind: self._task_reports.labels(kind, label)
                for kind in (COUNTED, REPLAYED, REFUSED)
            }
        of_task.get(outcome, of_task[REFUSED]).inc(count)

    def committed(self, seconds: float, reports: int) -> None:
        self._commit_seconds.observe(seconds)
        self._commit_reports.observe(reports)

    def waited(self, seconds: float) -> None:
        """Observe how long the first report of a commit had waited."""
        self._report_seconds.observe(seconds)

    def held(self, relay: str, task_id: str, values: Sequence[float]) -> None:
        """Set the gauges of ``HELD`` for a relay and a task, in their order."""
        for gauge, value in zip(self._held.values(), values, strict=True):
            gauge.labels(relay, self.task(task_id)).set(value)

    def fitted(self, estimator: str, seconds: float) -> None:
        self._fits["fitted"].inc()
        self._fit_seconds.labels(estimator).observe(seconds)

    def not_fitted(self, reason: str) -> None:
        self._fits[reason].inc()

    def wait(self, reports: int, jobs: int) -> None:
        """Set the gauges of queued reports and running jobs."""
        self._queue.set(reports)
        self._jobs.set(jobs)

    def collecting(self, reports: Mapping[str, int]) -> None:
        """Set how many reports each task has counted that takes any now, by its id."""
        self._open_tasks.reports = reports
