"""A release: the same commit gives the same wheel, and every bill names what is pinned."""

import json
import os
import re
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from scripts.release import ROLES, ROOT, bill, build, export, for_holders
from tests.processes import output_of

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
PIN = re.compile(r"^([a-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


@pytest.mark.needs("git", "node", "npm")
@pytest.mark.timeout(600)
def test_the_same_commit_gives_the_same_wheel(tmp_path: Path) -> None:
    """In two folders, with other rights; and the same package for JavaScript, and vectors."""
    wheels = []
    for name, umask in (("one", 0o022), ("another/below", 0o077)):
        checkout, dist = tmp_path / name, tmp_path / f"dist-{umask}"
        checkout.mkdir(parents=True)
        dist.mkdir()
        before = os.umask(umask)
        try:
            moment = export("HEAD", checkout)
            if umask == 0o077:
                build("sdist", checkout, dist, moment)  # as in a release, where it comes first
            build("wheel", checkout, dist, moment)
            for_holders(checkout, dist, moment)
        finally:
            os.umask(before)
        names = sorted(
            path.name for path in dist.iterdir() if path.suffix in {".whl", ".tgz", ".zip"}
        )
        assert names == [
            f"privet-{VERSION}-py3-none-any.whl",
            f"privet-holder-{VERSION}.tgz",
            "privet-vectors-3.zip",
        ]
        wheels.append([dist / name for name in names])
    for one, another in zip(*wheels, strict=True):
        assert one.read_bytes() == another.read_bytes(), one.name
    one = wheels[0][0]
    with zipfile.ZipFile(one) as files:
        assert len({each.date_time for each in files.infolist()}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_a_bill_names_what_its_image_installs(role: str, tmp_path: Path) -> None:
    """Each pinned package with its version and its hashes, and Privet as what they belong to."""
    into = tmp_path / "bill.json"
    bill(ROOT, role, into, "1700000000")
    told = json.loads(into.read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = told["metadata"]["component"]
    assert (about["name"], about["version"]) == ("privet", project["version"])
    pinned = (ROOT / f"requirements/{role}.txt").read_text(encoding="utf-8")
    assert {(each["name"], each["version"]) for each in told["components"]} == set(
        PIN.findall(pinned)
    )
    hashes = set(re.findall(r"sha256:([0-9a-f]{64})", pinned))
    references = [each for part in told["components"] for each in part["externalReferences"]]
    assert {made["content"] for each in references for made in each.get("hashes", ())} == hashes
    assert all(re.fullmatch(r"https://[\w./~-]+", each["url"]) for each in references)


def test_actions_are_named_by_their_hashes() -> None:
    """A tag or a branch can be moved to other code, which could then publish in our name."""
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []


@pytest.mark.slow
def test_the_workflow_is_one() -> None:
    """By the schema of those who run it; and no step of it can write to the repository."""
    file = ROOT / ".github/workflows/release.yml"
    schema = ("--builtin-schema", "vendor.github-workflows")
    output_of(sys.executable, "-m", "check_jsonschema", *schema, file)
    assert "contents: write" not in file.read_text(encoding="utf-8")
    assert "secrets." not in file.read_text(encoding="utf-8")
