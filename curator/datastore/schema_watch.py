"""Notices that another version has migrated the database under a running curator."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from privet.protocol.errors import StorageFailed

from . import open_engine
from .migrate import check_schema

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0


@contextmanager
def watching_schema(url: str, stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` once the schema is no longer this version's.

    Raises ``StorageFailed`` at the end if that happened, saying what to start.
    """
    engine, ended, found = open_engine(url, curator=True), threading.Event(), list[StorageFailed]()

    def watch() -> None:
        while not found and not ended.wait(LOOK_SECONDS):
            try:
                with engine.connect() as connection:
                    check_schema(connection)
            except StorageFailed as error:
                found.append(error)
                stop()
            except SQLAlchemyError as error:
                log.warning("the schema cannot be read: %s", error.__cause__ or error)
            finally:
                engine.dispose()  # a stop signal ends the process, and leaves no file open

    thread = threading.Thread(target=watch, name="schema", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if found:
        raise found[0]
