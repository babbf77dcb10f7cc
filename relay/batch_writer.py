"""Sealed batches as Parquet files, where reports travel by a folder or an object store.

A batch is one file, ``FOLDER/TASK/DIGEST.parquet``: the columns ``id`` and ``payload``, of fixed
width and in the batch's order, and in the schema's metadata the task's id, the numbers of the
questions, the admissions, and whether its reports were taken in time, as JSON. DIGEST is the
SHA-256 of the same batch as a message. So a relay that writes a batch again after a crash writes
the same file, and a file appears whole.

``privet collect`` writes what became of the reports beside it, as ``DIGEST.outcome.json``.

Any address that fsspec knows will do: ``/srv/batches``, ``s3://bucket/batches``.
"""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem
from numpy.typing import NDArray

from privet.intake.batch_folder import ENDING, open_folder
from privet.protocol.batch import OUTCOME_ENDING, Batch
from privet.protocol.calls import SEND_BATCH
from privet.protocol.errors import StorageFailed


class BatchWriter:
    """A writer of sealed batches; raises ``StorageFailed`` if it cannot write."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._files, self._root = open_folder(url)

    def write(self, task_id: str, batch: Batch) -> str:
        """Write a batch durably; the name of its file."""
        digest = hashlib.sha256(batch.pack()).hexdigest()
        metadata = {
            "task": task_id,
            "questions": batch.questions,
            "admissions": [admission_id.hex() for admission_id in batch.admissions],
            "in_time": batch.in_time,
        }
        columns = [_fixed(batch.ids), _fixed(batch.payloads)]
        table = pa.table(columns, ["id", "payload"]).replace_schema_metadata(
            {"privet": json.dumps(metadata)}
        )
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="none", use_dictionary=False)
        name = f"{task_id}/{digest}{ENDING}"
        try:
            self._put(name, sink.getvalue().to_pybytes())
        except OSError as error:
            raise StorageFailed(
                f"{self.url}/{name} cannot be written: {error.strerror or error}."
            ) from error
        return name

    def outcome(self, name: str) -> bytes | None:
        """The curator's words on a batch's reports; None if there are none yet."""
        path = f"{self._root}/{name.removesuffix(ENDING)}{OUTCOME_ENDING}"
        try:
            if not self._files.exists(path):
                return None
            about = self._files.info(path)
            if about["type"] != "file" or about["size"] > SEND_BATCH.max_response:
                raise StorageFailed(f"{path} is no outcome of a batch: remove it.")
            return bytes(self._files.cat_file(path))
        except OSError as error:
            raise StorageFailed(f"{path} cannot be read: {error.strerror or error}.") from error

    def _put(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all: on a disk under another name first."""
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


def _fixed(rows: NDArray[np.uint8]) -> pa.Array:
    packed = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(rows.shape[1]), len(rows), [None, packed])
