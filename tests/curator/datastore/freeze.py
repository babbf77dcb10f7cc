"""Write a database of this version as SQL, for later versions to migrate in their tests.

    python -m tests.curator.datastore.freeze

It goes to ``frozen/``, for each kind of database, under the revision of the schema. A schema that
no release has had may be frozen anew: remove its files first.
"""

import sqlite3
import sys
import tempfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from privet.curator.datastore import open_store, postgres, sqlite
from privet.curator.datastore.audit import AuditEntry
from privet.curator.datastore.migrate import head
from privet.curator.datastore.report_ids import runs
from privet.curator.datastore.tokens import ISSUED, StoredToken
from scripts.postgres import postgres_server
from tests.curator.datastore.made import FEW, NOW, fill

FOLDER = Path(__file__).with_name("frozen")
TOKEN = "the token of a frozen database"
DUMP = ("pg_dump", "--inserts", "--no-owner", "--no-privileges", "--no-comments")


def main() -> int:
    """Freeze both kinds; 1 if one is frozen already."""
    files = {kind: FOLDER / f"{head()}.{kind}.sql" for kind in ("sqlite", "postgresql")}
    frozen = [file.name for file in files.values() if file.exists()]
    if frozen:
        print(f"Frozen already: {', '.join(frozen)}.")
        return 1
    for module in (postgres, sqlite):
        vars(module)["BULK"] = FEW  # few reports, in rows and in runs
    runs.PAGE = 3
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        _fill(f"sqlite:///{folder}/privet.db")
        with closing(sqlite3.connect(f"{folder}/privet.db")) as connection:
            files["sqlite"].write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
    with postgres_server() as server:
        _fill(server.url)
        dump = server.output_of(*DUMP, server.url)
        lines = [line for line in dump.splitlines() if not line.startswith(("--", "SET", "\\"))]
        files["postgresql"].write_text("\n".join(filter(None, lines)) + "\n", encoding="utf-8")
    print(f"Wrote {' and '.join(file.name for file in files.values())}.")
    return 0


def _fill(url: str) -> None:
    fill(url)
    with closing(open_store(url)) as store:
        token = StoredToken("ops", "admin", sha256(TOKEN.encode()).digest(), NOW)
        store.tokens.put(token, AuditEntry(NOW, "", ISSUED, "", {}))


if __name__ == "__main__":
    sys.exit(main())
