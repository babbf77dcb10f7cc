"""Databases that the curators of older commits wrote; ``tests/past/README.md`` says how."""

import gzip
import json
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, create_engine, insert, make_url, select

from privet.curator.datastore.migrate import VERSION_TABLE, revision_of, upgrade

PAST = Path(__file__).parents[2] / "past"
DATABASES = sorted(file.name.partition(".")[0] for file in (PAST / "databases").glob("*.gz"))
DEPLOYMENTS = sorted(file.stem for file in (PAST / "deployments").glob("*.json"))


def told(folder: str, name: str) -> dict[str, Any]:
    """The values that the program which wrote a file printed of it."""
    values: dict[str, Any] = json.loads((PAST / folder / f"{name}.json").read_text())
    return values


def unpack(name: str, file: Path) -> None:
    """Write a copy of ``tests/past/NAME.gz``, for its owner alone."""
    file.touch(0o600)
    file.write_bytes(gzip.decompress((PAST / f"{name}.gz").read_bytes()))


def put(name: str, url: str, folder: Path) -> None:
    """Make ``url`` the database as its program wrote it; in PostgreSQL it is that, row by row."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        unpack(f"{name}.sqlite3", Path(str(parsed.database)))
        return
    unpack(f"{name}.sqlite3", folder / "written.db")
    source = create_engine(f"sqlite:///{folder}/written.db")
    target = create_engine(parsed.set(drivername="postgresql+psycopg"))
    with source.connect() as reading, target.begin() as out:
        upgrade(out, revision_of(reading))
        tables = MetaData()
        tables.reflect(out)
        for table in tables.sorted_tables:
            rows = [dict(row) for row in reading.execute(select(table)).mappings()]
            if rows and table.name != VERSION_TABLE:
                out.execute(insert(table), rows)
                if "no" in table.c:
                    number = f"pg_get_serial_sequence('{table.name}', 'no')"
                    out.exec_driver_sql(f"SELECT setval({number}, max(no)) FROM {table.name}")
    for engine in (source, target):
        engine.dispose()
