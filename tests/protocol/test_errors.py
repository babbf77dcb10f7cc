import re

from privet.protocol import errors
from privet.protocol.errors import ERRORS_BY_URI, PROBLEMS, PrivetError, problem_of


def subclasses(cls: type[PrivetError]) -> list[type[PrivetError]]:
    """A class and all below it that this module defines."""
    return [
        cls,
        *(
            found
            for child in cls.__subclasses__()
            if child.__module__ == errors.__name__
            for found in subclasses(child)
        ),
    ]


def drawn_tree() -> dict[str, str | None]:
    """Name -> parent, read off the picture in the module's docstring."""
    stack: list[tuple[int, str]] = []
    parents: dict[str, str | None] = {}
    for line in str(errors.__doc__).splitlines():
        match = re.match(r"^([│├└─ ]*)([A-Z][A-Za-z]+)\b", line)
        if not match or not (match[1] or match[2] == "PrivetError"):
            continue
        indent = len(match[1])
        while stack and stack[-1][0] >= indent:
            stack.pop()
        parents[match[2]] = stack[-1][1] if stack else None
        stack.append((indent, match[2]))
    return parents


def test_the_drawn_tree_is_the_tree_of_classes() -> None:
    """The picture at the top of errors.py shows every class below its own parent."""
    real = {cls.__name__: cls.__mro__[1].__name__ for cls in subclasses(PrivetError)}
    assert drawn_tree() == {**real, "PrivetError": None}


def test_every_error_has_a_problem_type_of_its_own() -> None:
    """The table names each class once, with a different URI and an HTTP error status."""
    assert set(PROBLEMS) == set(subclasses(PrivetError))
    assert len(ERRORS_BY_URI) == len(PROBLEMS)
    assert all(400 <= problem.status < 600 for problem in PROBLEMS.values())
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", problem.name) for problem in PROBLEMS.values())


def test_an_unlisted_error_takes_its_parents_problem() -> None:
    """A class that the table does not know travels as its nearest known ancestor."""

    class OddReport(errors.WrongPayload): ...

    assert problem_of(OddReport("no")) is PROBLEMS[errors.WrongPayload]
