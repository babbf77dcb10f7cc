"""Commands that publish a question without a file."""

import re

import httpx
import pytest

from privet.curator.cli.ask import allowed
from privet.protocol.errors import InvalidRequest
from tests.curator.cli.conftest import Cli


@pytest.mark.parametrize(
    ("typed", "low", "high"),
    [("0-24", 0, 24), ("0..1", 0, 1), ("-5..5", -5, 5), ("1 to 10", 1, 10), ("0.5 – 2", 0.5, 2)],
)
def test_one_answer_alone_is_a_range(typed: str, low: float, high: float) -> None:
    """In the ways in which people write it."""
    assert allowed([typed]) == {"label_range": [low, high]}


def test_two_answers_are_classes() -> None:
    """Also if they look like ranges; and one that is none is no question."""
    assert allowed(["0-10", "more"]) == {"classes": ["0-10", "more"]}
    for typed in ("yes", "a-b", "5"):
        with pytest.raises(InvalidRequest, match="give two or more"):
            allowed([typed])


def test_a_question_is_published_by_either_command(cli: Cli, curator_url: str) -> None:
    """With the question as its name; answers may be given once with commas."""
    asked = cli.json("ask", "Have you ever lied?", "yes", "no", "--label", "lied")
    assert (asked["name"], asked["label"], asked["link"]) == ("Have you ever lied?", "lied", None)
    assert asked["task"]["label"]["prompt"] == "Have you ever lied?"
    said = cli("ask", "Have you ever lied?", "yes", "no", "--label", "lied").err
    (page,) = re.findall(r"http\S+(/tasks/\w+)#holders", said)
    assert 'id="holders"' in httpx.get(f"{curator_url}{page}", follow_redirects=True).text
    created = cli.json(
        "task", "create", "--label", "tea", "--classes", "green, black", "--epsilon", "1"
    )
    assert (created["name"], created["task"]["features"]) == ("tea", [])
    assert created["task"]["label"]["classes"] == ["green", "black"]
    shown = cli("task", "show", "tea").out
    assert "tea: one of green, black" in shown
    assert "Features" not in shown
    refused = cli("task", "create", "--label", "tea", "--epsilon", "1", "--yes")
    assert "declare classes, or label_range" in refused.err
    assert "name its file first, or give --label" in cli("pilot", "--epsilon", "1").err
