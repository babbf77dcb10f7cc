"""Measurements of intake on tiny sizes."""

from pathlib import Path

import pytest

from bench.traffic import curator_server, open_task, run_load, single_posts


@pytest.mark.slow
def test_the_load_generator_reads_whole_answers(tmp_path: Path) -> None:
    """Every request of a load is answered, receipts and replays alike, over every connection."""
    database = f"sqlite:///{tmp_path}/load.db"
    task = open_task(database)
    requests = single_posts(task, 100)
    with curator_server(tmp_path, database) as (port, _):
        assert run_load([port], requests, 7).answers == {("report", 201): 100}
        load = run_load([port], [*requests, *single_posts(task, 1)], 3)
    assert load.answers == {("report", 200): 100, ("report", 201): 1}
    assert load.rate > 0
