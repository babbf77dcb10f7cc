"""A curator's Prometheus metrics; every name begins with ``privet_``."""

from prometheus_client import Counter, Gauge, Histogram

from privet.http_server.metrics import SECONDS, ServerMetrics

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000)


class Metrics(ServerMetrics):
    """One process's counters."""

    def __init__(self) -> None:
        super().__init__()
        self._reports = Counter(
            "privet_reports_total",
            "Reports by what became of them: counted, replayed, or the name of the problem.",
            ["outcome", "task"],
            registry=self.registry,
        )
        self._by_outcome: dict[tuple[str, str], Counter] = {}
        self._commit_seconds = Histogram(
            "privet_commit_seconds",
            "Time that one transaction of reports takes, fsync included.",
            registry=self.registry,
            buckets=SECONDS,
        )
        self._commit_reports = Histogram(
            "privet_commit_reports",
            "Reports that one transaction makes durable.",
            registry=self.registry,
            buckets=SIZES,
        )
        self._report_seconds = Histogram(
            "privet_report_seconds",
            "Of each commit, the longest time that a single report waited for it.",
            registry=self.registry,
            buckets=SECONDS,
        )
        self._queue = Gauge(
            "privet_queue_reports",
            "Reports that wait for the disk.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self._jobs = Gauge(
            "privet_jobs",
            "Fits and new tasks under way or waiting.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self._fit_seconds = Histogram(
            "privet_fit_seconds",
            "Time that one fit takes.",
            ["estimator"],
            registry=self.registry,
            buckets=SECONDS,
        )

    def reported(self, outcome: str, task_id: str, count: int = 1) -> None:
        """``count`` reports of a task ended as ``outcome``; "" is for a task that is not known."""
        counter = self._by_outcome.get((outcome, task_id))
        if counter is None:
            counter = self._reports.labels(outcome, self.task(task_id))
            self._by_outcome[outcome, task_id] = counter
        counter.inc(count)

    def committed(self, seconds: float, reports: int) -> None:
        """one transaction of reports became durable."""
        self._commit_seconds.observe(seconds)
        self._commit_reports.observe(reports)

    def waited(self, seconds: float) -> None:
        """The report of a commit that came first had waited so long."""
        self._report_seconds.observe(seconds)

    def fitted(self, estimator: str, seconds: float) -> None:
        """One model was fitted."""
        self._fit_seconds.labels(estimator).observe(seconds)

    def wait(self, reports: int, jobs: int) -> None:
        """So many reports wait in the queue, and so many jobs are under way, now."""
        self._queue.set(reports)
        self._jobs.set(jobs)
