"""The folder or object store in which relays leave sealed batches for a curator."""

from typing import Any

import fsspec

from privet.protocol.errors import StorageFailed

ENDING = ".parquet"


def open_folder(url: str) -> tuple[Any, str]:
    """A file system of fsspec's, and a folder's path there.

    Raises ``StorageFailed`` for an address that it does not know or reach.
    """
    try:
        files, folder = fsspec.url_to_fs(url)
    except (ImportError, OSError, ValueError) as error:
        raise StorageFailed(
            f"The batches at {url} cannot be opened ({error}): give a folder or an address that "
            "fsspec knows, and install what it needs for that."
        ) from None
    return files, folder
