"""What a load test found: one object, as a table for a terminal, Markdown, JSON and a plot."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from scripts.load.sender import Outcomes


@dataclass(frozen=True)
class Summary:
    """The figures of one run; times in seconds, sizes in bytes."""

    mode: str
    holders: int
    encode_seconds: float
    send_seconds: float
    reports_per_second: float
    p50: float
    p99: float
    p999: float
    bytes_per_report: float
    answers: dict[str, int]
    retries: int
    reconnects: int
    lost: int
    doubled: int
    checksum_matches: bool
    curator_cpu_seconds: float
    sender_cpu_seconds: float
    curator_peak_memory: int
    limited_by: str
    accuracy: dict[str, float] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """Whether every report was counted exactly once and nothing answered unexpectedly."""
        return self.lost == 0 and self.doubled == 0 and self.checksum_matches

    def rows(self) -> list[tuple[str, str]]:
        """The figures in words."""
        milliseconds = [f"{1000 * t:.1f}" for t in (self.p50, self.p99, self.p999)]
        return [
            ("holders", f"{self.holders:,}"),
            ("answering took (all holders privatize)", f"{self.encode_seconds:.1f} s"),
            ("sending took", f"{self.send_seconds:.1f} s"),
            ("reports per second", f"{self.reports_per_second:,.0f}"),
            ("latency p50 / p99 / p99.9", " / ".join(milliseconds) + " ms"),
            ("bytes per report", f"{self.bytes_per_report:.0f}"),
            ("answers", ", ".join(f"{k}: {v:,}" for k, v in sorted(self.answers.items()))),
            ("retries after 503, reconnects", f"{self.retries:,}, {self.reconnects:,}"),
            ("lost, counted twice", f"{self.lost:,}, {self.doubled:,}"),
            ("checksum over ids", "matches" if self.checksum_matches else "DIFFERS"),
            (
                "CPU of curator, of sender",
                f"{self.curator_cpu_seconds:.1f} s, {self.sender_cpu_seconds:.1f} s",
            ),
            ("curator's peak memory", f"{self.curator_peak_memory / 2**20:.0f} MiB"),
            ("limited by", self.limited_by),
            *((f"accuracy, {name}", f"{value:.4f}") for name, value in self.accuracy.items()),
        ]

    def table(self) -> Table:
        """For a terminal."""
        table = Table("figure", "value", title=f"Load test, mode {self.mode}")
        for name, value in self.rows():
            table.add_row(name, value)
        return table

    def markdown(self) -> str:
        """For a document."""
        lines = [f"| {name} | {value} |" for name, value in self.rows()]
        return "\n".join(
            [f"# Load test, mode {self.mode}", "", "| figure | value |", "|---|---|", *lines, ""]
        )

    def document(self) -> dict[str, Any]:
        """For a program; a quantile of nothing is null."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


def write(summary: Summary, outcomes: Outcomes, folder: Path) -> list[Path]:
    """Write Markdown, JSON and the plot of rate and latency over time; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown, document, plot = (folder / f"load.{end}" for end in ("md", "json", "png"))
    markdown.write_text(summary.markdown(), encoding="utf-8")
    timeline = [
        {
            "second": second,
            "answers": int(part.counts.sum()),
            "p50": part.quantile(0.5),
            "p99": part.quantile(0.99),
        }
        for second, part in enumerate(outcomes.timeline)
        if part.counts.any()
    ]
    text = json.dumps({**summary.document(), "timeline": timeline}, indent=1)
    document.write_text(text, encoding="utf-8")
    _plot(timeline, plot)
    return [markdown, document, plot]


def _plot(timeline: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    rate, latency = figure.subplots(2, 1, sharex=True)
    seconds = [row["second"] for row in timeline]
    rate.plot(seconds, [row["answers"] for row in timeline])
    rate.set_ylabel("reports per second")
    rate.set_ylim(bottom=0)
    for q in ("p50", "p99"):
        latency.plot(seconds, [1000 * row[q] for row in timeline], label=q)
    latency.set_ylabel("latency, ms")
    latency.set_ylim(bottom=0)
    latency.set_xlabel("second")
    latency.legend()
    figure.savefig(path, dpi=120)
