from curator.estimation.public.distil import distilled_depth
from curator.publishing import build_task
from curator.tables import read_table
from curator.task_settings import TaskSettings
from tests.curator import samples


def test_max_edge_keeps_the_full_grid_by_default() -> None:
    """Without settings for it, a tree of depth p has 2^p cells however few the public records."""
    settings = TaskSettings(name="survey", label="label", epsilon=1.0, depth=5)
    task, _ = build_task(settings, read_table(samples.survey()))
    assert task.tree_of(0).cells == 2**5


def test_distilled_cells_follow_what_reports_can_tell_apart() -> None:
    """The grower distilled has a default depth of its own, from holders and epsilon."""
    settings = TaskSettings(
        name="survey", label="label", epsilon=1.0, holders=100, grower="distilled"
    )
    task, _ = build_task(settings, read_table(samples.survey()))
    assert 1 < task.tree_of(0).cells <= 2 ** distilled_depth(100, 1.0)
