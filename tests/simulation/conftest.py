"""Simulated servers say nothing."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """Faults are planned here, so that what servers log of them is of no use."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
