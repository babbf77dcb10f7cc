"""What there is to follow on the main paths does not grow unseen.

Half of the moves of a new task and of a fit were aimed at, and not reached; what is left is mostly
what the rooms are for. That relays take a POST by the curator's code costs two moves of every call,
and four files and four moves of a POST. Of the 94 of a new task, 22 make the task's own types from
public records, with the checks that these run themselves; 17 are who may call and the layers around
any call; 13 are fields of the answer; 9 came with panels, which every task is asked about; 11 are
the checks of mechanisms and the grower's calls of what all growers share. Of the 80 of a fit, 32
are an estimator's, or a finding's, questions to the counts and these to the mechanism and the tree;
14 are the layers around any call; 13 came with two findings that a fit states since (reports that
nobody honest can have sent, and a model's scores). The reader of tables that sites share with
curators is two files, 20 functions and five moves; that a fact has the figures' one form is a file
and two functions of a fit.
"""

from tests.paths import Size, size_of, trace_paths

MOST = {
    "create": Size(files=50, functions=281, moves=95),
    "POST": Size(files=24, functions=90, moves=22),
    "fit": Size(files=55, functions=191, moves=80),
    "predict": Size(files=27, functions=98, moves=20),
    "plan": Size(files=61, functions=401, moves=158),
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
