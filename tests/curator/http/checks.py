"""What must hold of every refusal, and what metrics say."""

import httpx
from prometheus_client.parser import text_string_to_metric_families

from privet.protocol.errors import ERRORS_BY_URI, PROBLEMS, PrivetError


def assert_problem(response: httpx.Response, error: type[PrivetError], *said: str) -> None:
    """The response is a whole problem document of ``error``, and its detail says these words."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    document = response.json()
    assert set(document) == {"type", "title", "status", "detail", "instance"}
    assert ERRORS_BY_URI.get(document["type"]) is error, document
    assert response.status_code == document["status"] == PROBLEMS[error].status
    assert document["instance"] == response.request.url.path
    for words in said:
        assert words in document["detail"]


def values(text: str, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a name by the values of their labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }
