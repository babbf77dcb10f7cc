"""The kit's command line, run within this process."""

import pytest

from privet.conformance.cli import main
from tests.curator.cli.conftest import Cli


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys, main)
