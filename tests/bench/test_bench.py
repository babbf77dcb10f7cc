"""The benchmark runner on tiny sizes: sections measure, the page is written."""

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from bench import __main__ as command
from bench import aggregating
from bench.figures import MOST_ROUNDS, Effort, Figure, seconds
from bench.report import document, judged
from bench.samples import LABEL, full_tree, mechanism, records, reports
from privet.learning.simulation import simulate_question
from privet.protocol.mechanisms import OptimizedUnary

SLOW = {
    "collecting",
    "intake",
    "pages",
    "predicting",
    "privatizing",
    "rest_predict",
    "worst_calls",
    "worst_tasks",
}
"""Sections that start processes, make much or need OpenDP; a server's counts are checked."""
TRUTHFUL = 40.0
"""At this epsilon a bit is wrong with probability below 1e-17, unless it is the own one."""


@pytest.mark.parametrize(
    "section",
    [pytest.param(s, marks=[pytest.mark.slow] if s in SLOW else []) for s in command.SECTIONS],
)
def test_sections_measure(section: str) -> None:
    """Every figure is a finite number of the section, under a name of its own."""
    figures = list(command.SECTIONS[section](Effort.TINY))
    assert figures
    assert {figure.section for figure in figures} == {section}
    assert all(math.isfinite(figure.value) for figure in figures)
    assert len({figure.name for figure in figures}) == len(figures)


def test_work_takes_turns() -> None:
    """Pieces of work alternate, so that all meet the same machine."""
    done: list[str] = []
    seconds(lambda: done.append("ours"), lambda: done.append("theirs"))
    assert done == ["ours", "theirs"] * MOST_ROUNDS


def test_the_naive_walk_finds_the_same_cells() -> None:
    """Where no other bit is ever set, both ways set bits in the same categories only.

    The own bit is set with probability 1/2, so 40 copies of a record miss it with 2**-40.
    """
    partition, randomizer = full_tree(16), OptimizedUnary.create(TRUTHFUL, 16, 2)
    private = records(10, 8)
    many = replace(private, X=np.repeat(private.X, 40, axis=0), y=np.repeat(private.y, 40))
    naive = aggregating.naive_sums(partition, randomizer, many, Random(0))
    fast = simulate_question(
        partition,
        randomizer,
        label=LABEL,
        X=private.X,
        y=private.y,
        copies=np.full(10, 40),
        rng=np.random.default_rng(0),
    )
    np.testing.assert_array_equal(naive > 0, fast > 0)


def test_reports_are_valid_and_repeat() -> None:
    """Sample reports are such as holders send, as many as asked."""
    randomizer = mechanism(16)
    rows = reports(randomizer, 1_200)
    assert rows.shape == (1_200, randomizer.report_bytes)
    assert randomizer.valid(rows).all()
    np.testing.assert_array_equal(rows[:200], rows[500:700])


def test_marks_are_judged() -> None:
    """A ratio above its mark is missed, one below is held, other figures are left alone."""
    slow = Figure("predicting", "1000000x8,cells=16", "labels_over_sklearn", 1.5, "x")
    fast = replace(slow, case="1000000x8,cells=256", value=0.5)
    other = replace(slow, case="10000x8,cells=256")
    lines = list(judged([slow, fast, other]))
    assert [line.rsplit(": ", 1)[1] for line in lines] == ["missed", "held"]


@pytest.mark.slow  # states the version of OpenDP
def test_the_page_has_every_figure() -> None:
    """The page has a line for every case."""
    figures = [
        Figure("simulating", "subset,categories=1024,holders=100", "time", 0.5, "s"),
        Figure("simulating", "subset,categories=1024,holders=1000", "time", 0.7, "s"),
        Figure("predicting", "1000000x8,cells=16", "labels", 0.25, "s"),
    ]
    text = document(figures, 0.0)
    for figure in figures:
        assert f"| {figure.case} | {figure.value:.4g} |" in text


def test_the_command_prints_and_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line per figure; an unknown section, or a page from part of a run, is refused."""
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
