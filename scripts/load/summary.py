"""The results of a load test, as a table for a terminal, Markdown and JSON."""

import json
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from scripts.load.sender import Outcomes
from scripts.pages import markdown

MARKS = {"single": (1_000_000, 150.0), "relay": (10_000_000, 120.0)}
"""Per mode: holders, and the seconds within which their reports are to be durable."""
MIB = 2**20


@dataclass(frozen=True)
class Summary:
    """The figures of one run; times in seconds, sizes in bytes."""

    mode: str
    through_relay: bool
    holders: int
    outcomes: Outcomes
    counted: int
    checksum_matches: bool
    deliver_seconds: float
    bytes_per_report: float
    cpu_seconds: dict[str, float]
    memory: dict[str, int]
    machine: str

    @property
    def is_clean(self) -> bool:
        """True if every report was counted once, and nothing else."""
        return self.counted == self.holders and self.checksum_matches

    @property
    def title(self) -> str:
        kind = "single POSTs" if self.mode == "single" else "batches"
        way = "through the relay" if self.through_relay else "to the curator"
        return f"{self.holders:,} holders, {kind} {way}"

    def rows(self) -> list[tuple[str, str]]:
        """The figures in words."""
        sent, acknowledged = self.outcomes.sent, self.outcomes.acknowledged
        lost, doubled = max(acknowledged - self.counted, 0), max(self.counted - sent, 0)
        quantiles = self.outcomes.quantiles(0.5, 0.99, 0.999)
        answers = sorted(self.outcomes.answers.items())
        relayed = [("until the curator had counted all", f"{self.deliver_seconds:.1f} s")]
        return [
            ("sent, acknowledged, counted", _list(sent, acknowledged, self.counted)),
            ("lost, counted twice", _list(lost, doubled)),
            ("checksum over the ids sent", "matches" if self.checksum_matches else "DIFFERS"),
            ("all reports sent and durable in", f"{self.outcomes.seconds:.1f} s"),
            *(relayed if self.through_relay else []),
            ("reports per second", f"{self.outcomes.rate:,.0f}"),
            ("request p50 / p99 / p99.9", " / ".join(f"{1000 * s:.1f}" for s in quantiles) + " ms"),
            ("bytes per report", f"{self.bytes_per_report:.0f}"),
            ("answers", ", ".join(f"{status}: {n:,}" for status, n in answers)),
            (
                "retries after 503, reconnects",
                _list(self.outcomes.retries, self.outcomes.reconnects),
            ),
            *(
                (f"CPU per report, {side}", f"{1e6 * s / self.holders:.1f} us ({s:.1f} s)")
                for side, s in self.cpu_seconds.items()
            ),
            *((f"memory, {side}", f"{size / MIB:.0f} MiB") for side, size in self.memory.items()),
            *self._mark(),
        ]

    def table(self) -> Table:
        table = Table("figure", "value", title=self.title)
        for name, value in self.rows():
            table.add_row(name, value)
        return table

    def markdown(self) -> str:
        """The figures for a page: a table under a heading of the third level."""
        return (
            f"### {self.title}\n\n{self.machine}.\n\n{markdown(['figure', 'value'], self.rows())}"
        )

    def write(self, folder: Path) -> Path:
        """Write the figures as a JSON file; its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "load.json"
        path.write_text(json.dumps(dict(self.rows()), indent=1), encoding="utf-8")
        return path

    def _mark(self) -> list[tuple[str, str]]:
        """True if the mark is held, where a run is of the size that it is set for."""
        holders, most = MARKS[self.mode]
        if self.holders != holders:
            return []
        delivery = max(self.outcomes.seconds, self.deliver_seconds)
        held = "held" if delivery < most and self.is_clean else "missed"
        return [(f"mark, {holders:,} in under {most:.0f} s", f"{held}: {delivery:.1f} s")]


def _list(*numbers: int) -> str:
    return ", ".join(f"{number:,}" for number in numbers)
