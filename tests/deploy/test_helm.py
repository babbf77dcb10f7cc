"""The chart, rendered by Helm's own engine: the kustomization's resources, and no others."""

import copy
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.test_files import ROOT, resources

CHART = ROOT / "deploy/helm"
ENGINE = "helm-python-sdk==0.2.2"
"""Helm 4.2 as a library with an interface for Python; too large for every environment."""
RENDER = """
import json, sys
import helm_python
with helm_python.Chart.load(sys.argv[1]) as chart:
    print(json.dumps(chart.render(json.loads(sys.argv[2]), name="privet", namespace="privet")))
"""
Render = Callable[..., list[dict[str, Any]]]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def render(tmp_path_factory: pytest.TempPathFactory) -> Render:
    """What a choice of values becomes; raises ``ValueError`` with what Helm says against it."""
    env = tmp_path_factory.mktemp("helm") / "env"
    uv, python = (sys.executable, "-m", "uv"), env / "bin/python"
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, env], check=True)
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", python, ENGINE], check=True)

    def rendered(**values: Any) -> list[dict[str, Any]]:
        command = [str(python), "-c", RENDER, str(CHART), json.dumps(values)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(done.stderr)
        (text,) = json.loads(done.stdout).values()
        return [each for each in yaml.safe_load_all(text) if each]

    return rendered


def by_id(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in found}


def test_the_chart_has_the_resources_of_the_kustomization(render: Render) -> None:
    """With its images; Kubernetes's schemas accept each, and the migration runs before the rest."""
    import kubernetes_validate

    there = render()
    for each in there:
        kubernetes_validate.validate(each, "1.33", strict=True)
    job = by_id(there)["Job/migrate"]
    assert job["metadata"].pop("annotations") == {
        "helm.sh/hook": "pre-install,pre-upgrade",
        "helm.sh/hook-delete-policy": "before-hook-creation",
    }
    expected = copy.deepcopy(resources())
    for container in containers(expected):
        container["image"] = f"registry.example/{container['image']}:0.1.0"
    assert by_id(there) == by_id(expected)
    assert len(there) == len(expected)


def containers(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in found:
        if "template" in each.get("spec", {}):
            yield from each["spec"]["template"]["spec"]["containers"]


def test_values_name_hosts_and_images_and_patch_anything(render: Render) -> None:
    """No example's name is left, and a patch changes what it names and nothing else."""
    values = {
        "hosts": {"curator": "c.test", "relay": "r.test"},
        "registry": "images.test/team",
        "tag": "7",
    }
    plain = render(**values)
    assert ".example" not in json.dumps(plain)
    assert {each["image"] for each in containers(plain)} == {
        "images.test/team/privet-curator:7",
        "images.test/team/privet-relay:7",
    }
    hosts = [rule["host"] for rule in by_id(plain)["Ingress/privet"]["spec"]["rules"]]
    assert hosts == ["c.test", "r.test"]
    most = {"HorizontalPodAutoscaler/curator": {"spec": {"maxReplicas": 3}}}
    patched, before = by_id(render(**values, patches=most)), by_id(plain)
    before["HorizontalPodAutoscaler/curator"]["spec"]["maxReplicas"] = 3
    assert patched == before


def test_a_patch_of_nothing_is_refused(render: Render) -> None:
    """It would be thought to hold."""
    with pytest.raises(ValueError, match="there is no resource Deployment/curators"):
        render(patches={"Deployment/curators": {}})


def test_the_chart_is_of_this_version() -> None:
    """So its images are too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == project["version"]
    assert Path(CHART / "resources").resolve() == ROOT / "deploy/kubernetes"
