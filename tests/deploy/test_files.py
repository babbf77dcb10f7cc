"""The files under deploy/ and the compose files: what each needs is there and holds.

What can be checked by the program that reads it is, where that program is installed.
"""

import json
import re
import subprocess
import tomllib
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from privet.curator.settings import Settings
from tests.processes import output_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
STACK, DEMO = ROOT / "docker-compose.yml", ROOT / "docker-compose.demo.yml"
WITH_OIDC = ROOT / "docker-compose.oidc.yml"
UNITS = sorted((DEPLOY / "systemd").iterdir())
MANIFESTS = sorted(
    set((DEPLOY / "kubernetes").glob("*.yaml")) - {DEPLOY / "kubernetes/kustomization.yaml"}
)


MONITORING = list(
    yaml.safe_load_all((DEPLOY / "kubernetes-monitoring/monitoring.yaml").read_text("utf-8"))
)


def services(file: Path) -> dict[str, dict[str, Any]]:
    """The services of a compose file."""
    return dict(yaml.safe_load(file.read_text(encoding="utf-8"))["services"])


def resources() -> list[dict[str, Any]]:
    """Everything for Kubernetes."""
    return [each for file in MANIFESTS for each in yaml.safe_load_all(file.read_text())]


def pods() -> dict[str, dict[str, Any]]:
    """The pods' specifications by name."""
    return {
        each["metadata"]["name"]: each["spec"].get("jobTemplate", each)["spec"]["template"]["spec"]
        for each in [*resources(), *MONITORING]
        if "template" in (each["spec"].get("jobTemplate", each)["spec"])
    }


@pytest.mark.needs("docker compose")
@pytest.mark.parametrize("file", [STACK, DEMO], ids=lambda file: file.name)
def test_compose_accepts_its_file(file: Path) -> None:
    """As docker compose reads it, with every profile."""
    output_of("docker", "compose", "--file", str(file), "--profile", "*", "config", "--quiet")


@pytest.mark.needs("docker compose")
def test_curators_of_the_stack_reach_an_openid_provider(tmp_path: Path) -> None:
    """With one more file: settings come from .env, only curators get a way out, and what is not set
    has the curator's default."""
    env = tmp_path / ".env"
    issuer = "https://login.example"
    env.write_text(f"PRIVET_OIDC_ISSUER={issuer}\nPRIVET_OIDC_CLIENT_SECRET=a$$b\n")
    files = ("--file", STACK, "--file", WITH_OIDC, "--env-file", env)
    text = output_of("docker", "compose", *files, "--profile", "*", "config", "--format", "json")
    merged = json.loads(text)
    curator = merged["services"]["curator"]
    assert curator["networks"].keys() == {"database", "curators", "provider"}
    assert not merged["networks"]["provider"].get("internal")
    near = {
        name for name, each in merged["services"].items() if "provider" in each.get("networks", ())
    }
    assert near == {"curator"}
    said = {name: text for name, text in curator["environment"].items() if "OIDC" in name}
    assert said["PRIVET_OIDC_ISSUER"] == issuer
    assert {name for name, text in said.items() if text is not None} == {
        "PRIVET_OIDC_ISSUER",
        "PRIVET_OIDC_CLIENT_SECRET",
    }
    assert "PRIVET_DATABASE" in curator["environment"]


@pytest.mark.needs("kubectl")
def test_curators_of_a_cluster_reach_an_openid_provider() -> None:
    """By one more policy, which lets curators alone out, and by one secret with the settings."""
    folder = DEPLOY / "kubernetes-oidc"
    rendered = list(yaml.safe_load_all(output_of("kubectl", "kustomize", str(folder))))
    assert len(rendered) == len(resources()) + 1
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in rendered}
    assert by_name["NetworkPolicy", "provider"]["spec"] == {
        "podSelector": {"matchLabels": {"app": "curator"}},
        "policyTypes": ["Egress"],
        "egress": [{"ports": [{"protocol": "TCP", "port": 443}]}],
    }
    (container,) = by_name["Deployment", "curator"]["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"] == [{"secretRef": {"name": "privet-oidc"}}]
    assert container["image"] == "registry.example/privet-curator:0.2.0"
    assert "PRIVET_DATABASE" in {each["name"] for each in container["env"]}
    import kubernetes_validate

    for resource in rendered:
        kubernetes_validate.validate(resource, "1.33", strict=True)


def test_every_setting_of_a_provider_is_passed_on() -> None:
    """None is left out where compose hands them to the curators."""
    given = services(WITH_OIDC)["curator"]["environment"]
    settings = {f"PRIVET_{name.upper()}" for name in Settings.model_fields if "oidc" in name}
    assert given == dict.fromkeys(settings)


def test_services_of_the_stack_have_no_rights_and_few_networks() -> None:
    """Read-only, no capability, published on this machine alone; only curators see the database."""
    for name, service in services(STACK).items():
        assert service["read_only"] is True, name
        if name not in {"database", "secrets", "rotate"}:
            assert service["cap_drop"] == ["ALL"], name
        for port in service.get("ports", []):
            assert port.startswith(("127.0.0.1:", "${BIND:-127.0.0.1}:")), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert not source.startswith("./") or (ROOT / source).exists(), source
    near = {
        name for name, each in services(STACK).items() if "database" in each.get("networks", [])
    }
    assert near == {"database", "migrate", "curator", "backup", "privet", "rotate"}
    networks = yaml.safe_load(STACK.read_text())["networks"]
    closed = {name for name, network in networks.items() if network and network["internal"]}
    assert closed == {"database", "curators", "relays"}


def test_services_of_the_stack_have_limits_and_say_whether_they_work() -> None:
    """Of memory, processes and logs; those that go on are asked whether they work."""
    targets = stages()
    for name, service in services(STACK).items():
        assert re.fullmatch(r"(\$\{[A-Z_]+:-)?[0-9]+[mg]\}?", str(service["mem_limit"])), name
        assert 0 < service["pids_limit"] <= 4_096, name
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}, name
        target = service.get("build", {}).get("target", name)
        asked = "healthcheck" in service or "HEALTHCHECK" in targets.get(target, "")
        if service.get("restart") == "unless-stopped":
            assert asked, name
    started = {**services(STACK)["proxy"]["depends_on"]}
    assert {each["condition"] for each in started.values()} == {"service_healthy"}


def test_health_checks_are_cheap_and_give_a_start_its_time() -> None:
    """No Python for each question; ten minutes until the first answer, in containers and pods."""
    checks = {
        name: service["healthcheck"]
        for name, service in services(STACK).items()
        if not service.get("healthcheck", {"disable": True}).get("disable")
    }
    assert {"database"} < checks.keys()
    for name, check in checks.items():
        assert check["start_period"] == "10m", name
        assert "python" not in str(check["test"]), name
    images = [text for text in stages().values() if "HEALTHCHECK --" in text]
    assert len(images) == 3
    for image in images:
        check = image[image.index("HEALTHCHECK") :].split("ENTRYPOINT")[0]
        assert "--start-period=10m" in check
        assert "python" not in check
    probes = [
        container["startupProbe"]
        for pod in pods().values()
        for container in pod["containers"]
        if "livenessProbe" in container and container["image"].startswith("privet-")
    ]
    assert probes
    for probe in probes:
        assert probe["periodSeconds"] * probe["failureThreshold"] == 600
        assert probe["httpGet"]["path"] == "/healthz"


def stages() -> dict[str, str]:
    """The Dockerfile's instructions by target."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    return {
        match[1]: match[2]
        for match in re.finditer(r"^FROM \S+ AS (\S+)\n(.*?)(?=^FROM |\Z)", text, re.M | re.S)
    }


def test_each_image_that_is_built_has_its_target() -> None:
    """And a service that is not built uses an image that another one builds, or a published one."""
    for file in (STACK, DEMO):
        each = services(file).values()
        built = {
            service["image"]: service["build"]["target"] for service in each if "build" in service
        }
        assert set(built.values()) <= stages().keys()
        used = {service["image"] for service in each} - set(built)
        assert all(re.search(r"/|postgres:", image) for image in used), used


def test_the_examples_variables_are_those_of_the_stack() -> None:
    """With the same defaults."""
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    told = dict(re.findall(r"^#([A-Z_]+)=(\S*)", example, re.MULTILINE))
    used = dict(re.findall(r"\$\{([A-Z_]+):-([^}]*)\}", STACK.read_text(encoding="utf-8")))
    assert set(told) == set(used) | {"COMPOSE_PROFILES"}
    assert all(told[name] == default for name, default in used.items() if default)


def test_backups_are_where_no_command_of_compose_removes_them() -> None:
    """In a folder of the machine, which the stack makes its own; no volume has their name."""
    folder = "${BACKUPS:-./backups}"
    stack = services(STACK)
    assert f"{folder}:/backups" in stack["secrets"]["volumes"]
    for name in ("backup", "privet"):
        assert f"{folder}:/data" in stack[name]["volumes"]
    assert "backups" not in yaml.safe_load(STACK.read_text())["volumes"]


@pytest.mark.needs("promtool")
@pytest.mark.parametrize(
    "check",
    [
        ("check", "config", "--syntax-only", "prometheus.yml"),
        ("check", "config", "--syntax-only", "kubernetes.yml"),
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
    ],
    ids=" ".join,
)
def test_promtool_accepts_the_alerts(check: tuple[str, ...]) -> None:
    """Their syntax, and when each of them sounds."""
    assert "SUCCESS" in output_of("promtool", *check, cwd=DEPLOY / "prometheus")


def test_somebody_is_called() -> None:
    """Each severity has a receiver with an address of its own, which Prometheus reaches."""
    routing = yaml.safe_load((DEPLOY / "alertmanager/alertmanager.yml").read_text())
    alerts = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
    severities = {alert["labels"]["severity"] for alert in alerts}
    routed = {
        matcher.removeprefix("severity = "): route["receiver"]
        for route in routing["route"]["routes"]
        for matcher in route["matchers"]
    }
    told = {severity: routed.get(severity, routing["route"]["receiver"]) for severity in severities}
    assert told == {"page": "page", "ticket": "ticket"}
    places = {
        receiver["name"]: receiver["webhook_configs"][0]["url_file"]
        for receiver in routing["receivers"]
    }
    start = (DEPLOY / "alertmanager/start.sh").read_text()
    assert all(f">{place}\n" in start for place in places.values())
    named = {alert["alert"] for alert in alerts}
    for rule in routing["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            assert set(re.split(r"[^A-Za-z]+", matcher.partition("=")[2].strip('~ "'))) <= named
    stack = services(STACK)
    config = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    (target,) = config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    assert target == "alertmanager:9093"
    assert set(stack["prometheus"]["networks"]) & set(stack["alertmanager"]["networks"])


def test_nobody_to_call_is_no_start(tmp_path: Path) -> None:
    """Rather than an Alertmanager that tells nobody; with an address it has it in a file."""
    start = DEPLOY / "alertmanager/start.sh"
    done = subprocess.run(["sh", start], env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, "PAGER_URL" in done.stderr) == (1, True)
    own = tmp_path / "start.sh"
    own.write_text(start.read_text().replace("/tmp/", f"{tmp_path}/").replace("exec ", "echo "))
    env = {"PAGER_URL": "https://pager.example/x?y=%20"}
    subprocess.run(["sh", own], env=env, capture_output=True, check=True)
    assert {(tmp_path / name).read_text() for name in ("page", "ticket")} == {env["PAGER_URL"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "resource",
    [*resources(), *MONITORING],
    ids=lambda each: f"{each['kind']}-{each['metadata']['name']}",
)
def test_kubernetes_accepts_its_resources(resource: dict[str, Any]) -> None:
    """By Kubernetes's own schemas, and with no field that they do not know."""
    import kubernetes_validate

    kubernetes_validate.validate(resource, "1.33", strict=True)


@pytest.mark.needs("kubectl")
def test_kustomize_renders_every_file() -> None:
    """Each resource comes out, in the namespace and with images of a registry."""
    rendered = list(
        yaml.safe_load_all(output_of("kubectl", "kustomize", str(DEPLOY / "kubernetes")))
    )
    assert len(rendered) == len(resources())
    assert {each["metadata"]["namespace"] for each in rendered} == {"privet"}
    images = {
        container["image"]
        for each in rendered
        if "template" in each["spec"]
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    assert images == {
        "registry.example/privet-curator:0.2.0",
        "registry.example/privet-relay:0.2.0",
    }


def test_the_kustomization_takes_images_of_this_version() -> None:
    """A release sets it there too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (DEPLOY / "kubernetes/kustomization.yaml").read_text(encoding="utf-8")
    assert {image["newTag"] for image in yaml.safe_load(text)["images"]} == {project["version"]}


def test_a_cluster_is_watched_and_saved_as_the_stack_is() -> None:
    """By the same jobs and alerts; each pod by itself, ready or not; the same nightly command."""
    there = [
        yaml.safe_load((DEPLOY / "prometheus" / name).read_text())
        for name in ("prometheus.yml", "kubernetes.yml")
    ]
    for key in ("global", "rule_files", "alerting"):
        assert there[0][key] == there[1][key]
    stack, cluster = ({job["job_name"]: job for job in each["scrape_configs"]} for each in there)
    assert stack.keys() == cluster.keys()
    headless = {
        each["metadata"]["name"]: each["spec"]
        for each in resources()
        if each["kind"] == "Service" and each["spec"].get("clusterIP") == "None"
    }
    for job in cluster.values():
        (found,) = job["dns_sd_configs"]
        service = headless[found["names"][0].partition(".")[0]]
        assert service["ports"][0]["port"] == found["port"]
        assert service["publishNotReadyAddresses"] is True
    (saving,) = pods()["backup"]["containers"]
    assert f"privet {' '.join(saving['args'])}" == "privet backup /backups --keep-days 30"
    assert "privet backup /data --keep-days 30" in services(STACK)["backup"]["entrypoint"][-1]
    unit = (DEPLOY / "systemd/privet-backup.service").read_text()
    assert "privet backup /var/backups/privet --keep-days 30\n" in unit
    serving = (DEPLOY / "systemd/privet-curator.service").read_text()
    assert "\nEnvironment=PRIVET_BACKUPS=/var/backups/privet\n" in serving
    assert services(STACK)["curator"]["environment"]["PRIVET_BACKUPS"] == "/backups"


def test_curators_of_a_cluster_see_its_ingress_and_backups() -> None:
    """At the name that holders use, so that ProxyDown sounds; and the folder of the nightly job."""
    (curator,) = pods()["curator"]["containers"]
    said = {each["name"]: each.get("value") for each in curator["env"]}
    (ingress,) = (each for each in resources() if each["kind"] == "Ingress")
    host, port = str(said["PRIVET_CERTIFICATE_OF"]).split(":")
    assert host in {rule["host"] for rule in ingress["spec"]["rules"]}
    policies = {
        each["metadata"]["name"]: each["spec"]
        for each in resources()
        if each["kind"] == "NetworkPolicy"
    }
    assert policies["certificate"]["podSelector"] == {"matchLabels": {"app": "curator"}}
    (way,) = policies["certificate"]["egress"]
    assert way["ports"] == [{"protocol": "TCP", "port": int(port)}]
    assert way["to"][0] in policies["curator"]["ingress"][0]["from"]
    mounted = {each["mountPath"]: each for each in curator["volumeMounts"]}
    assert mounted[said["PRIVET_BACKUPS"]] == {
        "name": "backups",
        "mountPath": "/backups",
        "readOnly": True,
    }
    (claim,) = (each for each in resources() if each["kind"] == "PersistentVolumeClaim")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for pod in ("curator", "backup", "tools"):
        (volume,) = (each for each in pods()[pod]["volumes"] if each["name"] == "backups")
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


def test_an_autoscaler_sounds_no_alert() -> None:
    """Until fewer curators are left than it leaves itself."""
    (job,) = (
        each
        for each in yaml.safe_load((DEPLOY / "prometheus/kubernetes.yml").read_text())[
            "scrape_configs"
        ]
        if each["job_name"] == "curator"
    )
    assert job["relabel_configs"] == [{"target_label": "autoscaled", "replacement": "yes"}]
    (scaler,) = (each for each in resources() if each["kind"] == "HorizontalPodAutoscaler")
    rules = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
    (rule,) = (rule for rule in rules if rule["alert"] == "CuratorGone")
    least = scaler["spec"]["minReplicas"]
    assert f'count(up{{job="curator", autoscaled="yes"}} == 1) < {least}' in rule["expr"]


def test_a_cluster_has_the_stacks_prometheus_alertmanager_and_watchdog() -> None:
    """Of the same versions, with the files and secrets that the page says how to make."""
    monitoring = {(each["kind"], each["metadata"]["name"]): each["spec"] for each in MONITORING}
    stack, page = services(STACK), (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
    for kind, name in (("StatefulSet", "prometheus"), ("Deployment", "alertmanager")):
        pod = monitoring[kind, name]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["image"] in stack[name]["image"]
        (port,) = monitoring["Service", name]["ports"]
        assert port["targetPort"] in {each["name"] for each in container["ports"]}
        assert f"create configmap {name} " in page
        mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        assert mounts["configuration"] == f"/etc/{name}"
    (source,) = container["envFrom"]
    command = page.partition(f"create secret generic {source['secretRef']['name']} ")[2]
    asked = set(re.findall(r"--from-literal=(\w+)=", command.partition("\n")[0]))
    assert (
        asked
        == set(stack["alertmanager"]["environment"])
        == {
            "PAGER_URL",
            "TICKET_URL",
            "WATCHDOG_URL",
        }
    )
    assert container["command"] == stack["alertmanager"]["entrypoint"]
    config = yaml.safe_load((DEPLOY / "prometheus/kubernetes.yml").read_text())
    (target,) = config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    assert target == f"alertmanager:{port['port']}"
    tokens = {Path(job["authorization"]["credentials_file"]) for job in config["scrape_configs"]}
    assert {str(token.parent) for token in tokens} == {"/run/privet/metrics"}
    for token in tokens:
        assert f"--from-literal={token.name}=" in page.partition("generic privet-metrics ")[2]


def test_curators_are_replaced_after_the_migration() -> None:
    """Old ones may run until it ends, and stop then; so new ones do not wait for each other."""
    stack = services(STACK)
    assert stack["migrate"]["command"] == ["migrate", "--rolling"]
    after = stack["curator"]["depends_on"]
    assert after == {"migrate": {"condition": "service_completed_successfully"}}
    (job,) = (each for each in resources() if each["kind"] == "Job")
    assert job["metadata"]["labels"] == {"app": "migrate"}
    assert pods()["migrate"]["containers"][0]["args"] == ["migrate", "--rolling"]
    told = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
    steps = [
        "delete job migrate",
        "deploy/kubernetes --selector app=migrate",
        "for=condition=complete",
        "deploy/kubernetes\n",
    ]
    places = [told.index(step) for step in steps]
    assert places == sorted(places)
    (curator,) = (
        each
        for each in resources()
        if (each["kind"], each["metadata"]["name"]) == ("Deployment", "curator")
    )
    assert curator["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": "100%"}


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
    if "readinessProbe" in container:
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    if container["image"] == "privet-curator":
        settings = {f"PRIVET_{setting.upper()}" for setting in Settings.model_fields}
        settings |= {"PRIVET_TOKEN", "PRIVET_URL"}  # of commands
        assert {variable["name"] for variable in container["env"]} <= settings


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
    if unit.name in {"privet-curator.service", "privet-relay.service"}:
        text = unit.read_text(encoding="utf-8")
        assert all(f"\n{limit}=" in text for limit in ("MemoryMax", "TasksMax", "LimitNOFILE"))
    assert output_of("systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)) == ""


def test_a_cluster_limits_each_address() -> None:
    """Where connections end; behind it, only addresses of pods are taken for the ingress's."""
    (ingress,) = (each for each in resources() if each["kind"] == "Ingress")
    nginx = "nginx.ingress.kubernetes.io"
    assert int(ingress["metadata"]["annotations"][f"{nginx}/limit-connections"]) <= 1024
    curator, relay = (pods()[name]["containers"][0] for name in ("curator", "relay"))
    said = {each["name"]: each.get("value") for each in curator["env"]}["PRIVET_TRUSTED_PROXIES"]
    assert f"--proxies={said}" in relay["args"]
    for each in Settings(trusted_proxies=said).trusted_proxies.split(","):
        assert ip_network(each).is_private or each == "100.64.0.0/10"
