"""The whole stack in containers, where the images it is built on can be had."""

import re
import subprocess
from pathlib import Path

import pytest

from scripts import compose_test

ROOT = Path(__file__).parents[2]


def base_images() -> set[str]:
    """What the Dockerfile starts from, and the database of the stack."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stack = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    found = re.findall(r"^ARG (?:PYTHON|DEBIAN)=(.+)$", dockerfile, re.MULTILINE)
    return {*found, *re.findall(r"\$\{POSTGRES_IMAGE:-(.+)\}", stack)}


def can_be_had(image: str) -> bool:
    """True if an image is here, or can be pulled."""
    asked = (["image", "inspect"], ["pull", "--quiet"])
    return any(
        subprocess.run(["docker", *words, image], capture_output=True, check=False).returncode == 0
        for words in asked
    )


@pytest.mark.needs("docker", "docker compose")
@pytest.mark.timeout(3_600)
def test_every_holder_counts_once_though_containers_are_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A curator and the database are killed meanwhile; sums, backup, model and proxy fit.

    Then all is removed but the backup and the keys, and comes back.
    """
    images = base_images()
    assert len(images) == 3
    for image in sorted(images):
        if not can_be_had(image):
            pytest.skip(f"needs {image}")
    monkeypatch.chdir(ROOT)
    compose_test.main()
