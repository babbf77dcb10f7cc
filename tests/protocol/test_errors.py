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
