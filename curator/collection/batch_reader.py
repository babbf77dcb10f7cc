"""Sealed batches that relays wrote to a folder or an object store, as Parquet files.

A batch is one file, ``FOLDER/TASK/DIGEST.parquet``; docs/relay.md has its columns. Any address that
fsspec knows will do: ``/srv/batches``, ``s3://bucket/batches``.

Whoever may write there may have made a file to harm its reader. So nothing that it says of its own
size is believed: rows are read in pieces and counted. Arrow may still be led to take any memory:
a reader belongs in a process with a limit.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from privet.intake.batch_folder import ENDING, open_folder
from privet.protocol.batch import OUTCOME_ENDING, Batch, check_admissions
from privet.protocol.errors import MalformedReport, PrivetError, StorageFailed, TooLarge
from privet.protocol.report import REPORT_ID_BYTES, check_questions
from privet.protocol.task import Task

MAX_FILE_BYTES = 256 * 2**20
MAX_REPORTS = 1_000_000
"""Maximum number of reports in a file, the same as in a message."""
PIECE_BYTES = 2**20
"""About the size of the pieces in which rows are read."""
COLUMNS = ["id", "payload"]


class BatchReader:
    """A folder of sealed batches; raises ``StorageFailed`` where it cannot be read."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._files, self._root = open_folder(url)

    def tasks(self) -> list[str]:
        try:
            paths = self._files.ls(self._root, detail=False)
        except OSError as error:
            raise _failed(self.url, error) from error
        return sorted(path.rsplit("/", 1)[-1] for path in paths if not path.endswith(ENDING))

    def names(self, task_id: str) -> list[str]:
        """The names of a task's files, in an order that says nothing."""
        folder = f"{self._root}/{task_id}"
        try:
            paths = self._files.ls(folder, detail=False) if self._files.isdir(folder) else []
        except OSError as error:
            raise _failed(f"{self.url}/{task_id}", error) from error
        names = (path.rsplit("/", 1)[-1] for path in paths)
        return sorted(f"{task_id}/{name}" for name in names if name.endswith(ENDING))

    def read(self, name: str, task: Task) -> Batch:
        """The batch in a file, checked as one in a message is; see ``Batch.unpack``."""
        path = f"{self._root}/{name}"
        try:
            about = self._files.info(path)
            if about["type"] != "file":
                raise MalformedReport("This is not a regular file: remove it.")
            if about["size"] > MAX_FILE_BYTES:
                raise TooLarge(
                    f"The file has more than {MAX_FILE_BYTES} bytes: no relay writes that many."
                )
            content = self._files.cat_file(path)
        except OSError as error:
            raise _failed(f"{self.url}/{name}", error) from error
        try:
            return _read(content, task)
        except (PrivetError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a file leads to is its own fault
            raise MalformedReport(f"This is no sealed batch: {error!r}.") from None

    def write_outcome(self, name: str, outcome: bytes) -> None:
        """Put beside a file what became of its reports, which its relay reads; it appears whole."""
        path = f"{self._root}/{name.removesuffix(ENDING)}{OUTCOME_ENDING}"
        try:
            self._files.pipe_file(f"{path}.part", outcome)
            self._files.mv(f"{path}.part", path)
        except OSError as error:
            raise _failed(f"{self.url}/{name}", error) from error

    def remove(self, name: str) -> None:
        try:
            self._files.rm_file(f"{self._root}/{name}")
        except OSError as error:
            raise _failed(f"{self.url}/{name}", error) from error


def _read(content: bytes, task: Task) -> Batch:
    file = pq.ParquetFile(pa.BufferReader(content))
    described: dict[str, Any] = json.loads(file.schema_arrow.metadata[b"privet"])
    stated = str(described["task"])
    if stated != task.id:
        raise MalformedReport(
            f"This is for the task {stated[:64]}: it is in another task's folder."
        )
    questions = tuple(map(int, described["questions"]))
    check_questions(task, questions)
    width = sum(task.mechanisms[question].report_bytes for question in questions)
    ids, payloads = _columns(file, [REPORT_ID_BYTES, width])
    admissions = tuple(map(bytes.fromhex, described["admissions"]))
    if admissions:
        check_admissions(admissions, len(ids))
    return Batch(questions, ids, payloads, admissions, described.get("in_time") is True)


def _columns(file: pq.ParquetFile, widths: Sequence[int]) -> list[NDArray[np.uint8]]:
    """The columns id and payload, with one row of ``width`` bytes per report."""
    stated = [file.schema_arrow.field(name).type for name in COLUMNS]
    if stated != list(map(pa.binary, widths)):
        raise MalformedReport(f"Its columns {COLUMNS} are {stated}, not of {widths} bytes.")
    parts: list[list[NDArray[np.uint8]]] = [[] for _ in COLUMNS]
    count, most = 0, min(MAX_REPORTS, MAX_FILE_BYTES // sum(widths))
    rows_at_once = max(1, PIECE_BYTES // sum(widths))
    for piece in file.iter_batches(rows_at_once, columns=COLUMNS, use_threads=False):
        count += piece.num_rows
        if count > most:
            raise TooLarge(
                f"The file has more than {MAX_REPORTS} reports or {MAX_FILE_BYTES} bytes."
            )
        for part, name, width in zip(parts, COLUMNS, widths, strict=True):
            part.append(_rows(piece.column(name), width))
    if not count:
        raise MalformedReport("The batch is empty: it has no reports.")
    return [np.concatenate(part) for part in parts]


def _rows(column: pa.FixedSizeBinaryArray, width: int) -> NDArray[np.uint8]:
    if column.null_count:
        raise MalformedReport("A value is missing.")
    packed = np.frombuffer(column.buffers()[1], dtype=np.uint8)
    return packed[column.offset * width :][: len(column) * width].reshape(-1, width)


def _failed(path: str, error: OSError) -> PrivetError:
    return StorageFailed(f"{path} cannot be read or written: {error.strerror or error}.")
