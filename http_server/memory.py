"""The memory that a server may take: that of its container or unit, whose kernel ends it beyond."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FILES = {
    2: ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    1: (
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
}
"""Version of control groups -> their folder, two files, and the cache that is given up first."""


@dataclass(frozen=True)
class Memory:
    """Memory in use and its limit, in bytes."""

    used: int
    limit: int


def read_memory(root: Path = Path("/")) -> Memory | None:
    """The nearest limit on this process and what is used of it; else the machine's memory.

    Cached files that can be dropped are not counted as used. None where a system has no such files.
    """
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        kilobytes = {
            name: int(rest.split()[0]) for name, _, rest in (x.partition(":") for x in lines)
        }
        total, free = (kilobytes[name] * 1024 for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError, IndexError):
        return None
    limited = next((each for each in _groups(root) if each.limit < total), None)
    return limited or Memory(total - free, total)


def _groups(root: Path) -> Iterator[Memory]:
    """The control groups of this process, the nearest first, as far as they have a limit."""
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        number, kinds, path = line.split(":", 2)
        if number != "0" and "memory" not in kinds.split(","):
            continue
        folder, limit, used, cache = FILES[2 if number == "0" else 1]
        top = root / folder
        group = top / path.lstrip("/")
        # inside a container its own group is the top, whatever it is called outside
        for each in (group, *group.parents) if group.is_dir() else (top,):
            with suppress(OSError, ValueError, KeyError):
                stated = dict(x.split() for x in (each / "memory.stat").read_text().splitlines())
                taken = int((each / used).read_text()) - int(stated[cache])
                yield Memory(taken, int((each / limit).read_text()))
            if each == top:
                break
