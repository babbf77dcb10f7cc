"""The memory limit that is told is the one by which the kernel ends the server."""

from pathlib import Path

import pytest

from privet.http_server.memory import Memory, read_memory

MEGABYTE = 2**20
MACHINE = "MemTotal: 1048576 kB\nMemFree: 10 kB\nMemAvailable: 786432 kB\nHugePages_Total: 0\n"
NONE = str(2**63 - 4096)


def system(root: Path, groups: str, *limits: tuple[str, dict[str, str]]) -> Path:
    """A root with a machine's memory, this process's groups, and files of groups."""
    for path, text in (("proc/meminfo", MACHINE), ("proc/self/cgroup", groups)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for folder, files in limits:
        group = root / "sys/fs/cgroup" / folder
        group.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (group / name).write_text(f"{text}\n")
    return root


def new(limit: str, used: int = 300) -> dict[str, str]:
    """The files of a group of version 2, of whose memory 100 MiB are cached files."""
    cached = f"anon 5\ninactive_file {100 * MEGABYTE}"
    return {
        "memory.max": limit,
        "memory.current": str(used * MEGABYTE),
        "memory.stat": cached,
    }


def old(limit: str) -> dict[str, str]:
    """The same of version 1."""
    cached = f"inactive_file 7\ntotal_inactive_file {100 * MEGABYTE}"
    return {
        "memory.limit_in_bytes": limit,
        "memory.usage_in_bytes": str(300 * MEGABYTE),
        "memory.stat": cached,
    }


LIMIT = str(400 * MEGABYTE)


@pytest.mark.parametrize(
    ("groups", "limits"),
    [
        ("0::/\n", [("", new(LIMIT))]),
        ("0::/of/the/host\n", [("", new(LIMIT))]),
        ("0::/a.slice/b.service\n", [("a.slice/b.service", new(LIMIT)), ("a.slice", new("max"))]),
        (
            "0::/a.slice/b.service\n",
            [("a.slice/b.service", new("max", 1)), ("a.slice", new(LIMIT))],
        ),
        ("9:pids:/x\n4:cpu,memory:/of/the/host\n0::/\n", [("memory", old(LIMIT))]),
        ("4:memory:/a\n", [("memory/a", old(LIMIT)), ("memory", old(NONE))]),
    ],
    ids=["container", "its name outside", "unit", "slice", "old container", "old unit"],
)
def test_the_limit_is_the_nearest(
    tmp_path: Path, groups: str, limits: list[tuple[str, dict[str, str]]]
) -> None:
    """Of both versions of control groups; caches that can be dropped are not in use."""
    found = read_memory(system(tmp_path, groups, *limits))
    assert found == Memory(200 * MEGABYTE, 400 * MEGABYTE)


@pytest.mark.parametrize("files", [{}, new("max"), old(NONE)], ids=["no files", "2", "1"])
def test_without_a_limit_it_is_the_machines_memory(tmp_path: Path, files: dict[str, str]) -> None:
    """All that is not available is in use."""
    root = system(tmp_path, "4:memory:/\n0::/\n", ("", files), ("memory", files))
    assert read_memory(root) == Memory(256 * MEGABYTE, 1024 * MEGABYTE)


def test_other_systems_tell_nothing(tmp_path: Path) -> None:
    """Where there is no /proc."""
    assert read_memory(tmp_path) is None
