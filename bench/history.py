"""Runs that are kept: one JSON file each, and how a run compares with the last one of its kind."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.figures import Effort, Figure

FOLDER = Path("privet-data/bench")
NOTABLE = 1.25
"""A change by more than this factor is printed."""


@dataclass(frozen=True)
class Run:
    """Figures, with when and on what they were measured."""

    effort: Effort
    started: str
    machine: str
    versions: dict[str, str]
    load_average: float
    figures: tuple[Figure, ...]

    @classmethod
    def now(cls, effort: Effort, figures: Sequence[Figure], load_average: float) -> "Run":
        """A run on this machine that ends now; the load is that of before it began."""
        packages = {name: version(name) for name in ("numpy", "scikit-learn", "opendp")}
        return cls(
            effort=effort,
            started=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            machine=_machine(),
            versions={"python": platform.python_version()} | packages,
            load_average=load_average,
            figures=tuple(figures),
        )

    def save(self, folder: Path) -> Path:
        """Write the run under its time; the path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.started.replace(':', '')}.json"
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> "Run":
        """A saved run."""
        document = json.loads(path.read_text(encoding="utf-8"))
        figures = tuple(Figure(**figure) for figure in document.pop("figures"))
        return cls(**{**document, "effort": Effort(document["effort"])}, figures=figures)


def last(folder: Path, effort: Effort) -> Run | None:
    """The latest saved run of this effort, if there is one."""
    for path in sorted(folder.glob("*.json"), reverse=True):
        if (run := Run.load(path)).effort is effort:
            return run
    return None


def compared(run: Run, before: Run) -> list[str]:
    """A line for each figure that moved by more than ``NOTABLE`` since ``before``."""
    old = {figure.name: figure.value for figure in before.figures}
    lines = []
    for figure in run.figures:
        if not (known := old.get(figure.name)) or not figure.value:
            continue
        ratio = figure.value / known
        if max(ratio, 1 / ratio) > NOTABLE:
            lines.append(f"{figure.name} {known:.4g} -> {figure.value:.4g} {figure.unit}")
    return lines


def _machine() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    models = [
        line.partition(":")[2].strip()
        for line in (cpuinfo.read_text().splitlines() if cpuinfo.exists() else [])
        if line.startswith("model name")
    ]
    model = models[0] if models else platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"
