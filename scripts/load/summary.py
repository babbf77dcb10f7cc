"""What a load test found: one object, as a table for a terminal, Markdown and JSON."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.table import Table

from scripts.pages import markdown

MARKS = {"single": (1_000_000, 150.0), "relay": (10_000_000, 120.0)}
"""Per mode: holders, and the seconds within which their reports are to be durable."""
MIB = 2**20


@dataclass(frozen=True)
class Summary:
    """The figures of one run; times in seconds, sizes in bytes."""

    mode: str
    through_relay: bool
    interrupted: bool
    holders: int
    sent: int
    acknowledged: int
    counted: int
    answer_seconds: float
    answer_cpu: float
    send_seconds: float
    deliver_seconds: float
    p50: float
    p99: float
    p999: float
    bytes_per_report: float
    answers: dict[str, int]
    retries: int
    reconnects: int
    lost: int
    doubled: int
    checksum_matches: bool | None
    cpu_seconds: dict[str, float]
    memory: dict[str, int]
    machine: str
    accuracy: dict[str, float] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """Whether every acknowledged report was counted, and none twice."""
        return self.lost == 0 and self.doubled == 0 and self.checksum_matches is not False

    @property
    def title(self) -> str:
        """What was run, in a few words."""
        kind = "single POSTs" if self.mode == "single" else "batches"
        way = "through the relay" if self.through_relay else "to the curator"
        title = f"{self.holders:,} holders, {kind} {way}"
        return f"{title}, interrupted" if self.interrupted else title

    def rows(self) -> list[tuple[str, str]]:
        """The figures in words."""
        relayed = [("until the curator had counted all", f"{self.deliver_seconds:.1f} s")]
        return [
            ("sent, acknowledged, counted", _list(self.sent, self.acknowledged, self.counted)),
            ("lost, counted twice", _list(self.lost, self.doubled)),
            ("checksum over the ids sent", CHECKSUM_WORDS[self.checksum_matches]),
            ("all holders privatized in", f"{self.answer_seconds:.1f} s"),
            ("all reports sent and durable in", f"{self.send_seconds:.1f} s"),
            *(relayed if self.through_relay else []),
            ("reports per second", f"{self.acknowledged / self.send_seconds:,.0f}"),
            ("request p50 / p99 / p99.9", f"{_milliseconds(self.p50, self.p99, self.p999)} ms"),
            ("bytes per report", f"{self.bytes_per_report:.0f}"),
            ("answers", ", ".join(f"{k}: {v:,}" for k, v in sorted(self.answers.items()))),
            ("retries after 503, reconnects", _list(self.retries, self.reconnects)),
            ("CPU per report, privatizing", f"{1e6 * self.answer_cpu / self.holders:.1f} us"),
            *(
                (f"CPU per report, {side}", self._per_report(s))
                for side, s in self.cpu_seconds.items()
            ),
            *((f"memory, {side}", f"{size / MIB:.0f} MiB") for side, size in self.memory.items()),
            *((f"accuracy {name}", f"{value:.4f}") for name, value in self.accuracy.items()),
            *self._mark(),
        ]

    def table(self) -> Table:
        """The figures for a terminal."""
        table = Table("figure", "value", title=self.title)
        for name, value in self.rows():
            table.add_row(name, value)
        return table

    def markdown(self) -> str:
        """The figures for a page: a table under a heading of the third level."""
        return (
            f"### {self.title}\n\n{self.machine}.\n\n{markdown(['figure', 'value'], self.rows())}"
        )

    def _per_report(self, seconds: float) -> str:
        share = seconds / max(self.acknowledged, 1)
        return (
            f"{1e6 * share:.1f} us ({seconds:.1f} s)" if self.acknowledged else f"{seconds:.1f} s"
        )

    def _mark(self) -> list[tuple[str, str]]:
        """Whether the mark is held, where a run is of the size that it is set for."""
        holders, most = MARKS[self.mode]
        if self.holders != holders or self.interrupted:
            return []
        delivery = max(self.send_seconds, self.deliver_seconds)
        whole = self.answer_seconds + delivery
        held = "held" if delivery < most and self.is_clean else "missed"
        text = f"{held}: {delivery:.1f} s, with privatizing {whole:.1f} s"
        return [(f"mark, {holders:,} in under {most:.0f} s", text)]


CHECKSUM_WORDS = {
    True: "matches",
    False: "DIFFERS",
    None: "not compared: some requests had no answer",
}


def write(summary: Summary, folder: Path) -> Path:
    """Write a JSON file, in which a quantile of nothing is null; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(summary).items()
    }
    path = folder / "load.json"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def _list(*numbers: int) -> str:
    return ", ".join(f"{number:,}" for number in numbers)


def _milliseconds(*seconds: float) -> str:
    return " / ".join(f"{1000 * s:.1f}" for s in seconds)
