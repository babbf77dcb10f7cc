"""The files under deploy/ and the compose files: what each needs is there and holds.

What can be checked by the program that reads it is, where that program is installed.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from privet.curator.metrics import Metrics
from privet.curator.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
STACK, DEMO = ROOT / "docker-compose.yml", ROOT / "docker-compose.demo.yml"
UNITS = sorted((DEPLOY / "systemd").iterdir())
MANIFESTS = sorted(
    set((DEPLOY / "kubernetes").glob("*.yaml")) - {DEPLOY / "kubernetes/kustomization.yaml"}
)


def run(program: str, *arguments: str, folder: Path | None = None) -> str:
    """What a program prints."""
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def services(file: Path) -> dict[str, dict[str, Any]]:
    """The services of a compose file."""
    return dict(yaml.safe_load(file.read_text(encoding="utf-8"))["services"])


def resources() -> list[dict[str, Any]]:
    """Everything for Kubernetes."""
    return [each for file in MANIFESTS for each in yaml.safe_load_all(file.read_text())]


def pods() -> dict[str, dict[str, Any]]:
    """The pods' specifications by name."""
    return {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in resources()
        if "template" in each["spec"]
    }


@pytest.mark.needs("docker compose")
@pytest.mark.parametrize("file", [STACK, DEMO], ids=lambda file: file.name)
def test_compose_accepts_its_file(file: Path) -> None:
    """As docker compose reads it, with every profile."""
    run("docker", "compose", "--file", str(file), "--profile", "*", "config", "--quiet")


def test_services_of_the_stack_have_no_rights_and_few_networks() -> None:
    """Read-only, no capability, published on this machine alone; only curators see the database."""
    for name, service in services(STACK).items():
        assert service["read_only"] is True, name
        if name not in {"database", "secrets"}:
            assert service["cap_drop"] == ["ALL"], name
        for port in service.get("ports", []):
            assert port.startswith(("127.0.0.1:", "${BIND:-127.0.0.1}:")), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert not source.startswith("./") or (ROOT / source).exists(), source
    near = {
        name for name, each in services(STACK).items() if "database" in each.get("networks", [])
    }
    assert near == {"database", "migrate", "curator", "privet"}
    networks = yaml.safe_load(STACK.read_text())["networks"]
    closed = {name for name, network in networks.items() if network and network["internal"]}
    assert closed == {"database", "curators", "relays"}


def test_each_image_that_is_built_has_its_target() -> None:
    """And a service that is not built uses an image that another one builds, or a published one."""
    targets = set(
        re.findall(r"^FROM .* AS (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    )
    for file in (STACK, DEMO):
        each = services(file).values()
        built = {
            service["image"]: service["build"]["target"] for service in each if "build" in service
        }
        assert set(built.values()) <= targets
        used = {service["image"] for service in each} - set(built)
        assert all(re.search(r"/|postgres:", image) for image in used), used


def test_the_examples_variables_are_those_of_the_stack() -> None:
    """With the same defaults."""
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    told = dict(re.findall(r"^#([A-Z_]+)=(\S*)", example, re.MULTILINE))
    used = dict(re.findall(r"\$\{([A-Z_]+):-([^}]*)\}", STACK.read_text(encoding="utf-8")))
    assert set(told) == set(used) | {"COMPOSE_PROFILES"}
    assert all(told[name] == default for name, default in used.items() if name != "STACK_NAME")


@pytest.mark.needs("nginx", "openssl")
def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    """With a certificate in another place."""
    names = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem"))
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    run("openssl", "req", "-x509", *kind, "-nodes", "-subj", "/CN=x", *names)
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    own = tmp_path / "nginx.conf"
    own.write_text(text.replace("/tmp/", f"{tmp_path}/").replace("/run/privet/tls", str(tmp_path)))
    assert "successful" in run("nginx", "-t", "-c", str(own))


@pytest.mark.needs("promtool")
@pytest.mark.parametrize(
    "check",
    [
        ("check", "config", "--syntax-only", "prometheus.yml"),
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
    ],
    ids=" ".join,
)
def test_promtool_accepts_the_alerts(check: tuple[str, ...]) -> None:
    """Their syntax, and when three of them sound."""
    assert "SUCCESS" in run("promtool", *check, folder=DEPLOY / "prometheus")


def test_alerts_and_dashboard_ask_for_metrics_that_there_are() -> None:
    """Each name, in an expression, is one that a server gives."""
    families = {family.name: family.type for family in Metrics().registry.collect()}
    ends = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    there = {name + end for name, kind in families.items() for end in ends[kind]}
    alerts = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
    board = json.loads((DEPLOY / "grafana/dashboards/privet.json").read_text())
    asked = [alert["expr"] for alert in alerts]
    asked += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    named = {name for each in asked for name in re.findall(r"\bprivet_\w+", each)}
    assert named <= there | {"privet_relay_reports"}
    told = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    assert [alert["alert"] for alert in alerts if f"`{alert['alert']}`" not in told] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "resource", resources(), ids=lambda each: f"{each['kind']}-{each['metadata']['name']}"
)
def test_kubernetes_accepts_its_resources(resource: dict[str, Any]) -> None:
    """By Kubernetes's own schemas, and with no field that they do not know."""
    import kubernetes_validate

    kubernetes_validate.validate(resource, "1.33", strict=True)


@pytest.mark.needs("kubectl")
def test_kustomize_renders_every_file() -> None:
    """Each resource comes out, in the namespace and with images of a registry."""
    rendered = list(yaml.safe_load_all(run("kubectl", "kustomize", str(DEPLOY / "kubernetes"))))
    assert len(rendered) == len(resources())
    assert {each["metadata"]["namespace"] for each in rendered} == {"privet"}
    images = {
        container["image"]
        for each in rendered
        if "template" in each["spec"]
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    assert images == {
        "registry.example/privet-curator:0.1.0",
        "registry.example/privet-relay:0.1.0",
    }


@pytest.mark.parametrize("name", pods())
def test_pods_have_no_rights_and_only_settings_that_there_are(name: str) -> None:
    """As Kubernetes's restricted standard asks, and the curator's refusal of unknown variables."""
    pod = pods()[name]
    assert pod["enableServiceLinks"] is False
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]
    if container["image"] == "privet-curator":
        known = {f"PRIVET_{setting.upper()}" for setting in Settings.model_fields}
        assert {variable["name"] for variable in container["env"]} <= known


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_its_units(unit: Path, tmp_path: Path) -> None:
    """With the programs in another place, since they are not installed here."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for each in UNITS:
        text = re.sub(r"/opt/privet/bin/[a-z-]+", str(program), each.read_text(encoding="utf-8"))
        (tmp_path / each.name).write_text(text, encoding="utf-8")
    assert run("systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)) == ""
