"""The benchmark runner on tiny sizes: sections measure, the page is written."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bench import __main__ as command
from bench.figures import MOST_ROUNDS, Effort, Figure, seconds
from bench.in_short import PAGE as SHORT_PAGE
from bench.in_short import in_short
from bench.report import document, judged
from scripts.pages import fill, table_of
from tests.curator.small_models import small_public_models

__all__ = ["small_public_models"]

SLOW = {
    "collecting",
    "fitting",
    "intake",
    "pages",
    "predicting",
    "privatizing",
    "relaying",
    "rest_predict",
    "scaling",
    "waiting",
    "worst_tasks",
}
"""Sections that start processes, make much or need OpenDP; a server's counts are checked."""


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


def test_the_page_has_every_figure() -> None:
    """A section's table has a line for every case."""
    figures = [
        Figure("simulating", f"subset,holders={holders}", "time", seconds, "s")
        for holders, seconds in ((100, 0.5), (1000, 0.7))
    ]
    table = document(figures, 0.0)["simulating"]
    assert all(f"| {figure.case} | {figure.value:.4g} |" in table for figure in figures)


def test_the_short_table_has_the_figures_that_were_measured(tmp_path: Path) -> None:
    """Each is one of the tables', as the page stands and when one is measured anew."""
    assert table_of(SHORT_PAGE, "short") == in_short(command.PAGE).splitlines()
    anew = tmp_path / "page.md"
    anew.write_text(command.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    relay = [
        Figure("relaying", "taking,relay", "over_curator", 9.0, "x"),
        Figure("relaying", "forwarding", "processor", 12_345.0, "us/report"),
    ]
    fill(anew, document(relay, 0.0, part_of=anew))
    assert "| 9; 12 300 µs |" in in_short(anew)


def test_a_part_of_the_page_keeps_the_marks_of_the_others(tmp_path: Path) -> None:
    """A section measured anew replaces its own marks, in their order, and says where it was."""
    page = tmp_path / "page.md"
    slow = Figure("waiting", "plan", "time", 9.0, "s")
    other = Figure("pages", "first_page,tasks=1000", "time", 0.2, "s")
    places = "".join(f"<!-- table {name} -->\n<!-- end -->\n" for name in ("waiting", "pages"))
    page.write_text(
        f"<!-- table marks -->\n<!-- end -->\n<!-- table machine -->\n<!-- end -->\n{places}"
    )
    fill(page, document([slow, other], 0.0))
    fill(page, document([replace(slow, value=1.0)], 0.0, part_of=page))
    marks, tables = table_of(page, "marks"), table_of(page, "waiting")
    assert [line.rsplit(": ", 1)[1] for line in marks] == ["held", "missed"]
    assert tables[0].startswith("Measured")
    assert any("plan | 1" in line for line in tables)


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
