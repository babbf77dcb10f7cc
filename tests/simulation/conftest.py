"""Simulated servers say nothing."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """What servers log of faults is no news here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
