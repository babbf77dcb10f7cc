"""Measurements of intake on tiny sizes, and the page that is written from them."""

from pathlib import Path

import pytest

from bench import intake
from bench.http_load import run_load
from bench.intake_page import BEGIN, END, Line, write_page
from bench.intake_stages import Stopwatch
from bench.traffic import curator_server, open_task, single_posts

PAGE = f"# A page\n\nBefore.\n\n{BEGIN}\nold figures\n{END}\n\nAfter.\n"
FOUND = {
    "singles": [Line("ratio", "1.50: 15/s against 10/s", "1.3"), Line("latency", "5 ms")],
    "stages": [Line("SHA-256", "0.4 us")],
}


def test_the_page_gets_new_figures(tmp_path: Path) -> None:
    """Figures and steps take the place of the old ones; the text around them stays."""
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    write_page(page, FOUND, 0.25)
    write_page(page, FOUND, 7.0)
    text = page.read_text()
    assert text.startswith(f"# A page\n\nBefore.\n\n{BEGIN}\nTaken on ")
    assert text.endswith(f"| SHA-256 | 0.4 us |\n{END}\n\nAfter.\n")
    assert "| ratio | 1.50: 15/s against 10/s | 1.3 |\n| latency | 5 ms |  |\n" in text
    assert "load average 7.0 before the run (with other work running" in text
    assert "old figures" not in text
    assert "0.2" not in text


def test_a_page_without_a_place_for_figures_is_left_alone(tmp_path: Path) -> None:
    """Nothing is written where the marks are missing, and the error names them."""
    page = tmp_path / "page.md"
    page.write_text("# A page\n")
    with pytest.raises(ValueError, match="figures: begin"):
        write_page(page, FOUND, 0.25)
    assert page.read_text() == "# A page\n"


def test_the_documentation_has_a_place_for_figures() -> None:
    """The marks stand in the page that the command writes to."""
    text = intake.PAGE.read_text()
    assert text.index(BEGIN) < text.index(END)


def test_a_stopwatch_adds_up_steps() -> None:
    """Steps of several rounds are added up by name, in the order they first came."""
    watch = Stopwatch()
    for _ in range(3):
        watch.end("first")
        watch.end("second")
    watch.seconds["first"] = 3.0
    lines = watch.lines("batch", 1_000_000, 1)
    assert lines[0] == Line("batch: first", "3.0 us")
    assert [line.what for line in lines] == ["batch: first", "batch: second"]


@pytest.mark.slow
def test_the_load_generator_reads_whole_answers(tmp_path: Path) -> None:
    """Every request of a load is answered, receipts and replays alike, over every connection."""
    database = f"sqlite:///{tmp_path}/load.db"
    task = open_task(database)
    requests = single_posts(task, 100)
    with curator_server(tmp_path, database) as (port, _):
        assert run_load([port], iter(requests), 7).statuses == {201: 100}
        load = run_load([port], iter([*requests, *single_posts(task, 1)]), 3)
    assert load.statuses == {200: 100, 201: 1}
    assert len(load.latencies) == 101
    assert load.rate > 0


@pytest.mark.slow
def test_measurements_come_with_figures(tmp_path: Path) -> None:
    """Singles and batches are measured against servers of their own."""
    lines = [*intake.singles(tmp_path, 1, 100), *intake.batches(tmp_path, 1, 50, 2)]
    assert [line.mark for line in lines] == ["1.3", "p99 of 10 ms", "", "1,000,000", ""]
