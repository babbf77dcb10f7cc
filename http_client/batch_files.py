"""Sealed batches as Parquet files, where reports travel by a folder or an object store.

A batch is one file, ``FOLDER/TASK/DIGEST.parquet``: the columns ``id`` and ``payload``, of fixed
width and in the batch's order, and in the schema's metadata the task's id, the numbers of the
questions and the admissions, as JSON. DIGEST is the SHA-256 of the same batch as a message. So a
relay that writes a batch again after a crash writes the same file, and a file appears whole.

Any address that fsspec knows will do: ``/srv/batches``, ``s3://bucket/batches``.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem
from numpy.typing import NDArray

from privet.protocol.batch import Batch
from privet.protocol.errors import MalformedReport, PrivetError, StorageFailed, TooLarge
from privet.protocol.task import Task

MAX_FILE_BYTES = 256 * 2**20
MAX_REPORTS = 1_000_000
"""In one file, as in one message."""
ENDING = ".parquet"
COLUMNS = ["id", "payload"]

Rows = NDArray[np.uint8]


class BatchFolder:
    """A folder of sealed batches; raises ``StorageFailed`` where it cannot be read or written."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._files, self._root = fsspec.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise StorageFailed(
                f"{url} cannot be opened ({error}): give a folder or an address that fsspec knows, "
                "and install what it needs for that."
            ) from None

    def write(self, task_id: str, batch: Batch) -> str:
        """Write a batch durably; the name of its file."""
        digest = hashlib.sha256(batch.pack()).hexdigest()
        metadata = {
            "task": task_id,
            "questions": batch.questions,
            "admissions": [own.hex() for own in batch.admissions],
        }
        columns = [_fixed(batch.ids), _fixed(batch.payloads)]
        table = pa.table(columns, COLUMNS).replace_schema_metadata({"privet": json.dumps(metadata)})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="none", use_dictionary=False)
        name = f"{task_id}/{digest}{ENDING}"
        try:
            self._put(name, sink.getvalue().to_pybytes())
        except OSError as error:
            raise _failed(f"{self.url}/{name}", error) from error
        return name

    def tasks(self) -> list[str]:
        """The tasks that have a folder here."""
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
            if self._files.size(path) > MAX_FILE_BYTES:
                raise TooLarge(
                    f"{name} has more than {MAX_FILE_BYTES} bytes: no relay writes that."
                )
            return _read(name, self._files.cat_file(path), task)
        except OSError as error:
            raise _failed(f"{self.url}/{name}", error) from error

    def remove(self, name: str) -> None:
        """Remove a file."""
        try:
            self._files.rm_file(f"{self._root}/{name}")
        except OSError as error:
            raise _failed(f"{self.url}/{name}", error) from error

    def _put(self, name: str, content: bytes) -> None:
        """Beside its name, then under it, on a disk; object stores show whole files only."""
        if not isinstance(self._files, LocalFileSystem):
            self._files.pipe_file(f"{self._root}/{name}", content)
            return
        path = Path(self._root) / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _read(name: str, content: bytes, task: Task) -> Batch:
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        described: dict[str, Any] = json.loads(file.schema_arrow.metadata[b"privet"])
        count, widths = file.metadata.num_rows, [_width(file.schema_arrow, own) for own in COLUMNS]
        if count > MAX_REPORTS or count * sum(widths) > MAX_FILE_BYTES:
            raise TooLarge(f"{name} has more than {MAX_REPORTS} reports or {MAX_FILE_BYTES} bytes.")
        table = file.read(COLUMNS)
        ids, payloads = (
            _rows(table.column(own), width) for own, width in zip(COLUMNS, widths, strict=True)
        )
        batch = Batch(
            tuple(int(own) for own in described["questions"]),
            ids,
            payloads,
            tuple(bytes.fromhex(own) for own in described["admissions"]),
        )
        stated = str(described["task"])
    except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise MalformedReport(f"{name} is no sealed batch: {error}.") from None
    if stated != task.id:
        raise MalformedReport(f"{name} is for the task {stated[:64]}: it is in another's folder.")
    return Batch.unpack(batch.pack(), task, MAX_REPORTS)


def _fixed(rows: Rows) -> pa.Array:
    packed = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(rows.shape[1]), len(rows), [None, packed])


def _width(schema: pa.Schema, name: str) -> int:
    kind = schema.field(name).type
    if not pa.types.is_fixed_size_binary(kind):
        raise ValueError(f"{name} is {kind}, not binary of fixed width")
    return int(kind.byte_width)


def _rows(column: pa.ChunkedArray, width: int) -> Rows:
    if column.null_count:
        raise ValueError("a value is missing")
    whole = column.combine_chunks()
    packed = np.frombuffer(whole.buffers()[1], dtype=np.uint8) if len(whole) else np.empty(0, "u1")
    start = whole.offset * width if len(whole) else 0
    return packed[start : start + len(whole) * width].reshape(-1, width)


def _failed(path: str, error: OSError) -> PrivetError:
    return StorageFailed(f"{path} cannot be read or written: {error.strerror or error}.")
