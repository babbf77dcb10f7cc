"""Whatever settings are sent with good public data, a task is published or the fault is named."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privet.curator.workers import Workers
from privet.learning.methods import GROWERS
from privet.protocol.mechanisms import MECHANISMS
from tests.curator import samples
from tests.curator.http.conftest import serving

numbers = (
    st.integers(-2, 20) | st.integers() | st.floats() | st.sampled_from([10**400, 2**63, True])
)
texts = st.sampled_from(["", "age", "hours", "job", "member", "label", "no", "\x00"]) | st.text()
values = numbers | texts | st.none() | st.lists(numbers | texts, max_size=3)
few = st.lists(texts, max_size=3)
anything: dict[str, st.SearchStrategy[Any]] = {
    "ignore": few | values,
    "classes": few | st.just(["0", "1"]) | values,
    "label_range": st.lists(numbers, min_size=2, max_size=2) | values,
    "label_type": st.sampled_from(["classes", "range"]) | values,
    "depth": st.integers(0, 4) | values,
    "min_leaf": numbers | values,
    "seed": numbers | values,
    "holders": numbers | values,
    "grower": st.sampled_from(sorted(set(GROWERS) - {"distilled"})) | values,
    "mechanism": st.sampled_from(sorted(MECHANISMS)) | values,
    "parameters": st.dictionaries(st.sampled_from(["k", "order", "resolution"]), values) | values,
    "allocation": st.sampled_from(["all", "one"]) | values,
    "asks": st.sampled_from(["cell", "label"]) | values,
    "epsilon": st.floats(0.01, 8) | values,
    "opens": numbers | st.datetimes().map(str) | values,
    "closes": numbers | st.datetimes().map(str) | values,
    "features": st.dictionaries(
        texts,
        st.dictionaries(
            st.sampled_from(["kind", "low", "high", "categories", "missing", "unknown"]), values
        ),
        max_size=2,
    ),
}
of_a_question = (
    "depth",
    "min_leaf",
    "seed",
    "grower",
    "mechanism",
    "parameters",
    "asks",
    "epsilon",
)


def some(names: Iterable[str]) -> st.SearchStrategy[dict[str, Any]]:
    """At most three of the settings, so that one fault does not hide all that comes after it."""
    return st.sets(st.sampled_from(sorted(names)), max_size=3).flatmap(
        lambda chosen: st.fixed_dictionaries({name: anything[name] for name in sorted(chosen)})
    )


GOOD = {"name": "n", "label": "label", "epsilon": 1.0, "depth": 3}
anything["questions"] = st.lists(some(of_a_question), max_size=3)
tasks = some(set(anything) - {"asks"}).map(lambda chosen: {**GOOD, **chosen})


@pytest.mark.slow
@pytest.mark.parametrize(("grower", "examples"), [("cart", 15), ("distilled", 150)])
def test_any_settings(workers: Workers, grower: str, examples: int) -> None:
    """201, or a refusal that says what to do; nothing is published by halves."""

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(sent=tasks)
    def check(sent: dict[str, Any]) -> None:
        answer, listed = asyncio.run(posted(json.dumps({"grower": grower, **sent}), workers))
        assert answer.status_code in {201, 422}, answer.text
        assert len(listed.json()) == (answer.status_code == 201)
        if answer.status_code == 422:
            assert answer.headers["content-type"] == "application/problem+json"
            assert len(answer.json()["detail"]) > 10

    check()


async def posted(text: str, workers: Workers) -> tuple[httpx.Response, httpx.Response]:
    """The answer to a new task at a curator of its own, and the tasks that are there then."""
    async with serving(workers) as http:
        return await http.upload(samples.survey(), text), await http.get("/v1/tasks")
