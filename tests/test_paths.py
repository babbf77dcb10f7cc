"""What there is to follow on the main paths does not grow unseen.

A fit is that of the default: 40 files, 170 functions and 60 moves of it are aimed at. Of its 259
functions about 49 are counts and what all models share, 35 mechanisms, 26 the layers around any
call, 31 what is read and written, 28 the default method, 16 the call and who may make it, 16 what a
fit states of its reports, and 20 the worst that false answers could have done. Of its 113 moves
about 30 are questions of the method or of a statement to the counts, 23 those of counts and
statements to the mechanism, and 25 the curator's. What refits of one fit have in common (cells'
means, the selection factor, the noise between cells) is made once, and so is on no path but the
first. A prediction is of a model that starts from the public one, with checks of its trees where
they are read. Of the 509 functions of a plan about 209 are those of a new task, with 22 that ask
about rows and values that are probably no data and 15 values of a column that are counted once, 90
more those of a fit, 39 a public model that is made, 58 its own and the review's, with what a single
look and the question alone would take, and 9 that plan anew for the people of each row of its
table; that it asks figures of expected counts, and has no formula of its own, is 19 functions and
28 moves to counts and figures.
"""

import pytest

from tests.paths import Size, size_of, trace_paths

MOST = {
    "create": Size(files=62, functions=315, moves=89),
    "POST": Size(files=26, functions=99, moves=24),
    "fit": Size(files=64, functions=259, moves=113),
    "predict": Size(files=32, functions=121, moves=28),
    "plan": Size(files=83, functions=509, moves=234),
}
"""Whoever undercuts a number lowers it; whoever exceeds one raises it here, in sight."""


@pytest.mark.slow
def test_no_path_is_longer_than_it_was() -> None:
    """``python -m tests.paths`` prints all sizes and, given a path's name, the path."""
    sizes = {name: size_of(calls) for name, calls in trace_paths().items()}
    longer = {
        name: size
        for name, size in sizes.items()
        if any(now > most for now, most in zip(size, MOST[name], strict=True))
    }
    assert longer == {}
