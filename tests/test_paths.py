"""What there is to follow on the main paths does not grow unseen."""

from tests.paths import Size, size_of, trace_paths

MOST = {
    "create": Size(files=48, functions=244, moves=75),
    "POST": Size(files=20, functions=88, moves=18),
    "fit": Size(files=53, functions=186, moves=75),
    "predict": Size(files=27, functions=98, moves=18),
    "plan": Size(files=53, functions=323, moves=128),
}
"""Whoever undercuts a number lowers it; whoever exceeds one raises it here, in sight."""


def test_no_path_is_longer_than_it_was() -> None:
    """``python -m tests.paths`` prints all sizes and, given a path's name, the path."""
    sizes = {name: size_of(calls) for name, calls in trace_paths().items()}
    longer = {
        name: size
        for name, size in sizes.items()
        if any(now > most for now, most in zip(size, MOST[name], strict=True))
    }
    assert longer == {}
