"""Prometheus metrics; every name begins with ``privet_``."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000)


class Metrics:
    """One process's counters; ``text`` is what ``/metrics`` answers."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._reports = Counter(
            "privet_reports_total",
            "Reports by what became of them: counted, replayed, or the name of the problem.",
            ["outcome"],
            registry=self.registry,
        )
        self._by_outcome: dict[str, Counter] = {}
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
        self._queue = Gauge(
            "privet_queue_reports", "Reports that wait for the disk.", registry=self.registry
        )
        self._jobs = Gauge(
            "privet_jobs", "Fits and new tasks under way or waiting.", registry=self.registry
        )
        self._fit_seconds = Histogram(
            "privet_fit_seconds",
            "Time that one fit takes.",
            ["estimator"],
            registry=self.registry,
            buckets=SECONDS,
        )

    def reported(self, outcome: str, count: int = 1) -> None:
        """``count`` reports ended as ``outcome``."""
        counter = self._by_outcome.get(outcome)
        if counter is None:
            counter = self._by_outcome[outcome] = self._reports.labels(outcome)
        counter.inc(count)

    def committed(self, seconds: float, reports: int) -> None:
        """one transaction of reports became durable."""
        self._commit_seconds.observe(seconds)
        self._commit_reports.observe(reports)

    def fitted(self, estimator: str, seconds: float) -> None:
        """One model was fitted."""
        self._fit_seconds.labels(estimator).observe(seconds)

    def text(self, waiting: int, jobs: int) -> bytes:
        """The text form, with ``waiting`` reports in the queue and ``jobs`` under way now."""
        self._queue.set(waiting)
        self._jobs.set(jobs)
        return generate_latest(self.registry)
