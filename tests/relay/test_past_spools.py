"""Spools that the programs of older commits wrote; ``tests/past/README.md`` says how."""

import gzip
from pathlib import Path

from privet.relay.spool import Spool

SPOOLS = Path(__file__).parents[1] / "past" / "spools"


def test_a_spool_of_this_version_is_read(tmp_path: Path) -> None:
    """What waits, what is sealed and what became of the others are as they were written."""
    path = tmp_path / "spool"
    path.write_bytes(gzip.decompress((SPOOLS / "8-430c6922.sqlite3.gz").read_bytes()))
    with Spool(path) as spool:
        ((number, task),) = spool.sealed().items()
        assert len(spool.batch(number)) == 30
        assert [(queue.task, queue.single) for queue in spool.queues()] == [(task, 20)]
        tallies = spool.tallies(task)
    assert (tallies["counted"], tallies["wrong-payload"], tallies["waiting"]) == (28, 2, 50)
