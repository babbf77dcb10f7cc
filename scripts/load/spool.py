"""Reports on disk between the holders that made them and the connections that send them.

A shard is a file of rows of equal length, an id and the payloads behind it. The load test's
memory stays flat however many holders there are.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privet.protocol.report import REPORT_ID_BYTES
from privet.protocol.task import Task

Rows = NDArray[np.uint8]


@dataclass(frozen=True)
class Shard:
    """A file of rows, and the group that its holders belong to."""

    path: Path
    group: int
    rows: int

    def read(self) -> Rows:
        """Its rows, shape ``(rows, bytes per row)``."""
        return np.fromfile(self.path, dtype=np.uint8).reshape(self.rows, -1)


@dataclass
class ShardWriter:
    """Writes one shard per group; a context manager."""

    folder: Path
    name: str
    shards: list[Shard] = field(default_factory=list)
    _files: dict[int, Any] = field(default_factory=dict)
    _counts: dict[int, int] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self.shards = [
            Shard(self._path(group), group, count) for group, count in self._counts.items()
        ]

    def add(self, group: int, rows: Rows) -> None:
        """Append a group's rows."""
        if group not in self._files:
            opened = self._path(group).open("wb", buffering=1 << 20)
            self._files[group] = self._stack.enter_context(opened)
        self._files[group].write(rows.tobytes())
        self._counts[group] = self._counts.get(group, 0) + len(rows)

    def _path(self, group: int) -> Path:
        return self.folder / f"{self.name}-{group}.rows"


def groups(task: Task) -> list[tuple[int, ...]]:
    """The sets of questions that one report may answer; their places are the groups' numbers."""
    every = range(len(task.questions))
    return [tuple(every)] if task.allocation == "all" else [(question,) for question in every]


def first_ids(shards: Sequence[Shard], count: int) -> Iterator[bytes]:
    """The ids of the first ``count`` reports, a shard's at a time, one after the other."""
    for shard in shards:
        if count <= 0:
            return
        yield shard.read()[:count, :REPORT_ID_BYTES].tobytes()
        count -= shard.rows
