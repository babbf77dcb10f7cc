"""The benchmark runner on tiny sizes: sections measure, the page is written."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bench import __main__ as command
from bench.figures import MOST_ROUNDS, Effort, Figure, seconds
from bench.in_short import in_short
from bench.report import (
    PAGE,
    RESULTS,
    Measured,
    document,
    judged,
    measured_now,
    merged,
    read,
    write,
)
from scripts.pages import table_of
from tests.curator.small_models import small_public_models

__all__ = ["small_public_models"]

SECTIONS = list(command.SECTIONS)
SLOW = {
    "attacked",
    "collecting",
    "fitting",
    "intake",
    "pages",
    "predicting",
    "privatizing",
    "relaying",
    "rest_predict",
    "waiting",
    "worst_tasks",
}
"""Sections that start processes or make much; a server's counts are checked."""


@pytest.mark.parametrize(
    "section",
    [pytest.param(s, marks=[pytest.mark.slow] if s in SLOW else []) for s in command.SECTIONS],
)
def test_sections_measure(section: str) -> None:
    """Every figure is a finite number of the section, under a name of its own."""
    figures = list(command.SECTIONS[section](Effort.QUICK))
    assert figures
    assert {figure.section for figure in figures} == {section}
    assert all(math.isfinite(figure.value) for figure in figures)
    assert len({figure.name for figure in figures}) == len(figures)


def test_work_takes_turns() -> None:
    """Pieces of work alternate, so that all meet the same machine."""
    done: list[str] = []
    seconds(lambda: done.append("ours"), lambda: done.append("theirs"))
    assert done == ["ours", "theirs"] * MOST_ROUNDS


def test_marks_are_judged() -> None:
    """A ratio above its mark is missed, one below is held, other figures are left alone."""
    slow = Figure("predicting", "1000000x8,cells=16", "labels_over_sklearn", 1.5, "x")
    fast = replace(slow, case="1000000x8,cells=256", value=0.5)
    other = replace(slow, case="10000x8,cells=256")
    lines = list(judged([slow, fast, other]))
    assert [line.rsplit(": ", 1)[1] for line in lines] == ["missed", "held"]


def test_the_page_has_what_was_measured() -> None:
    """Each of its tables, as the file of all figures stands."""
    for name, table in document(read(RESULTS)).items():
        assert table_of(PAGE, name) == table.splitlines(), name


def test_a_tables_section_has_every_figure() -> None:
    """A section's table has a line for every case."""
    figures = [
        Figure("waiting", f"fit,holders={holders}", "time", seconds, "s")
        for holders, seconds in ((100, 0.5), (1000, 0.7))
    ]
    table = document(merged(read(RESULTS), measured_now(figures, 0.0), SECTIONS))["waiting"]
    assert all(f"| {figure.case} | {figure.value:.4g} |" in table for figure in figures)


def test_the_short_table_has_the_figures_that_were_measured() -> None:
    """Also when some are measured anew, and none is left out unseen."""
    relay = [
        Figure("relaying", "taking,relay", "over_curator", 9.0, "x"),
        Figure("relaying", "forwarding", "processor", 12_345.0, "us/report"),
    ]
    rows = merged(read(RESULTS), measured_now(relay, 0.0), SECTIONS)
    assert "| 9; 12 300 µs |" in in_short(figure for figure, _ in rows)
    with pytest.raises(KeyError, match="forwarding"):
        in_short(figure for figure, _ in rows if figure.case != "forwarding")


def test_a_section_measured_anew_leaves_the_others(tmp_path: Path) -> None:
    """Its figures are replaced, in their order, and each says where it was measured."""
    slow = Figure("waiting", "plan", "time", 9.0, "s")
    page = Figure("pages", "first_page,tasks=1000", "time", 0.2, "s")
    file = tmp_path / "measured.csv"
    write(file, [Measured(slow, "then"), Measured(page, "then")])
    rows = merged(read(file), measured_now([replace(slow, value=1.0)], 0.5), SECTIONS)
    assert [figure.value for figure, _ in rows] == [1.0, 0.2]
    assert [verdict.rsplit(": ", 1)[1] for verdict in judged([f for f, _ in rows])] == [
        "held",
        "missed",
    ]
    (now, then) = (measured for _, measured in rows)
    assert then == "then"
    assert now.endswith("load average 0.5")


def test_the_command_prints_and_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line per figure; an unknown section, or a page of tiny sizes, is refused."""
    app = typer.Typer()
    app.command()(command.main)
    figure = Figure("growing", "case", "time", 0.25, "s")
    monkeypatch.setattr(command, "SECTIONS", {"growing": lambda _: iter([figure])})

    def called(*options: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, options)
        return result.exit_code, result.output

    code, shown = called("--quick")
    assert code == 0
    assert "growing.case.time 0.25 s" in shown.splitlines()
    assert called("--only", "sleeping")[0] == 2
    assert called("--quick", "--write-docs")[0] == 2
