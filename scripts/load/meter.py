"""What a load costs: processor time of all sides, and their memory over time."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import psutil

SAMPLE_SECONDS = 0.5
NEARLY_ALL = 0.85
SETTLED = 0.25
"""Share of a run after which a server's memory should have stopped growing."""
OWN = "sender"


@dataclass(frozen=True)
class Use:
    """Processor seconds per side, and each server's resident bytes over time."""

    cpu: dict[str, float]
    memory: dict[str, list[int]] = field(default_factory=dict)

    def limit(self, seconds: float) -> str:
        """Which side had no processor time left, if one had."""
        side, used = max(self.cpu.items(), key=lambda item: item[1])
        share = used / seconds
        if share >= NEARLY_ALL:
            return f"the {side} (one core {share:.0%} busy)"
        return f"no side's processor (the {side} used {share:.0%} of a core)"

    def peak(self, side: str) -> int:
        """The most resident bytes of a server; 0 where it was not watched."""
        return max(self.memory.get(side, []), default=0)

    def growth(self, side: str) -> int:
        """Resident bytes at the end, less those after the first quarter."""
        series = self.memory.get(side, [])
        return series[-1] - series[int(SETTLED * len(series))] if series else 0


class Meter:
    """Watches servers, by name and process id, and this process until ``stop``."""

    def __init__(self, servers: Mapping[str, int]) -> None:
        self._servers = {name: _family(process) for name, process in servers.items()}
        self._own = psutil.Process()
        self._before = self._now()
        self._memory: dict[str, list[int]] = {name: [] for name in servers}
        self._stopped = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def stop(self) -> Use:
        """What was used since the start."""
        self._stopped.set()
        self._sampler.join()
        cpu = {name: used - self._before[name] for name, used in self._now().items()}
        return Use(cpu, self._memory)

    def _now(self) -> dict[str, float]:
        used = {name: sum(map(_cpu, family)) for name, family in self._servers.items()}
        return used | {OWN: _cpu(self._own)}

    def _sample(self) -> None:
        while True:
            for name, family in self._servers.items():
                self._memory[name].append(sum(p.memory_info().rss for p in family))
            if self._stopped.wait(SAMPLE_SECONDS):
                return


def children_cpu() -> float:
    """Processor seconds of this process's children that have ended."""
    times = psutil.Process().cpu_times()
    return float(times.children_user + times.children_system)


def _family(process: int) -> list[psutil.Process]:
    parent = psutil.Process(process)
    return [parent, *parent.children(recursive=True)]


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
