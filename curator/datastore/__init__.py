"""Storage: the ``Store``, on SQLite and on PostgreSQL."""

from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs

from sqlalchemy import URL, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from privet.protocol.errors import StorageFailed

from . import sqlite
from .database import BACKENDS, Backend, Database
from .migrate import head, prepare_database
from .store import Store
from .structure import check_structure

__all__ = [
    "BACKENDS",
    "Store",
    "file_of",
    "open_engine",
    "open_reader",
    "open_store",
    "printable_address",
]


def open_store(url: str) -> Store:
    """The store at ``url``: ``sqlite:///file.db`` or ``postgresql://host/name``.

    An empty database is given its tables. Raises ``StorageFailed`` for an unknown scheme, a
    database that cannot be opened or written, and a schema that this version does not know.
    """
    parsed, backend = _parsed(url)
    database = Database(parsed, backend, head())
    try:
        prepare_database(database, check_structure)
    except StorageFailed:
        database.close()
        raise
    return Store(database)


def open_engine(url: str, *, curator: bool = False) -> Engine:
    """The database at ``url`` as it is, for migration and backup.

    ``curator`` if its user stops when the schema changes. Raises ``StorageFailed`` for an unknown
    scheme.
    """
    parsed, backend = _parsed(url)
    return backend.open_engine(parsed, curator)


def open_reader(url: str) -> Engine:
    """The database at ``url``, read-only; raises ``StorageFailed`` for an unknown scheme."""
    parsed, backend = _parsed(url)
    return backend.open_reader(parsed)


def file_of(url: str) -> Path | None:
    """The file of the SQLite database at ``url``; None for any other database.

    Raises ``StorageFailed`` for an unknown scheme.
    """
    parsed, backend = _parsed(url)
    return Path(str(parsed.database)) if backend is sqlite else None


def printable_address(url: str) -> str:
    """The address of a database as it may be shown, without a password."""
    return _parsed(url)[0].render_as_string()


def _names_several_hosts(url: str) -> bool:
    """True for the hosts of which libpq would take the first that answers."""
    place, _, query = url.partition("?")
    before = place.partition("://")[2].partition("/")[0].rpartition("@")[2]
    hosts = [before, *parse_qs(query).get("host", ())]
    return "," in "".join(hosts) or len(hosts) > 2


def _parsed(url: str) -> tuple[URL, Backend]:
    if url.startswith("postgres") and _names_several_hosts(url):
        raise StorageFailed(
            "The database address names several hosts: give one that leads to the primary, since "
            "curators on different servers would count into different databases."
        )
    with suppress(ArgumentError, KeyError, ValueError):
        parsed = make_url(url)
        backend = BACKENDS[parsed.get_backend_name()]
        if backend is not sqlite or parsed.database not in (None, "", ":memory:"):
            return parsed, backend
    raise StorageFailed(
        f"Cannot use the database address {url.split(':', maxsplit=1)[0]!r}: give "
        "sqlite:///path/to/file.db or postgresql://user@host/name."
    )
