"""What a load costs: processor time of both sides, and the curator's memory at its highest."""

import threading
from dataclasses import dataclass

import psutil

SAMPLE_SECONDS = 0.25
NEARLY_ALL = 0.85


@dataclass(frozen=True)
class Use:
    """Processor seconds and bytes; the curator's are zero if it runs elsewhere."""

    curator_cpu: float
    own_cpu: float
    curator_peak_memory: int

    def limit(self, seconds: float) -> str:
        """Which side had no processor time left, if one had."""
        busy = {
            "the sender": self.own_cpu / seconds,
            "the curator": self.curator_cpu / seconds,
        }
        side, share = max(busy.items(), key=lambda item: item[1])
        if share >= NEARLY_ALL:
            return f"{side} (one core {share:.0%} busy)"
        return f"neither side's processor ({side} used {share:.0%} of a core)"


class Meter:
    """Starts measuring when made; ``stop`` tells."""

    def __init__(self, curator: int | None) -> None:
        self._curator = None if curator is None else psutil.Process(curator)
        self._own = psutil.Process()
        self._before = self._now()
        self._peak = 0
        self._stopped = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def stop(self) -> Use:
        """What was used since the start."""
        self._stopped.set()
        self._sampler.join()
        curator, own = self._now()
        return Use(curator - self._before[0], own - self._before[1], self._peak)

    def _now(self) -> tuple[float, float]:
        curator = sum(_cpu(process) for process in self._curators())
        return curator, _cpu(self._own)

    def _curators(self) -> list[psutil.Process]:
        if self._curator is None:
            return []
        return [self._curator, *self._curator.children(recursive=True)]

    def _sample(self) -> None:
        while True:
            memory = sum(process.memory_info().rss for process in self._curators())
            self._peak = max(self._peak, memory)
            if self._stopped.wait(SAMPLE_SECONDS):
                return


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
