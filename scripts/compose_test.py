"""The stack of docker-compose.yml for real: up, killed in the middle, counted, and taken down.

    python -m scripts.compose_test [--write-docs]

Eight agents answer for the demonstration's holders through the relay. While they do, a curator and
then the database are killed and started again. In the end every holder must be counted once, every
checksum must fit, a backup must equal its source, and the model must have learned from the reports.

False alarms: the reported share is off by 5 standard errors in fewer than 1 of 10^6 runs. The Brier
score of the public model alone is .238; with all reports it was .189 to .196 in four runs.
"""

import json
import os
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from scripts import fair_survey
from scripts.demo import share_of
from scripts.pages import fill, measured_on

PAGE = Path("docs/deployment.md")
PROJECT = "privet-test"
AGENTS = 8
KILL_CURATOR, KILL_DATABASE = 500, 1_500
"""Reports that are counted when it happens."""
DOWN_SECONDS = 5.0
PATIENCE = 1_200.0
"""Seconds that anything here may take on a slow machine."""
ERRORS = 5.0


class Stack:
    """The compose project, and a log of what was done to it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._started = time.monotonic()

    def say(self, line: str) -> None:
        """Log a line with the seconds since the start."""
        self.lines.append(f"{time.monotonic() - self._started:6.0f} s  {line}")
        print(self.lines[-1], flush=True)

    def compose(self, *arguments: str, **settings: str) -> str:
        """Run ``docker compose``; what it prints. Raises ``RuntimeError`` if it fails."""
        command = ("docker", "compose", "--project-name", PROJECT, *arguments)
        ports = {"PORT": "0", "RELAY_PORT": "0"}
        return run(*command, environment=os.environ | ports | settings)

    def privet(self, *arguments: str) -> str:
        """Run a command of an admin in the stack."""
        return self.compose("run", "--rm", "--no-deps", "--quiet-pull", "privet", *arguments)

    def restart_killed(self, service: str) -> None:
        """Kill a container of a service with SIGKILL, and start it again some seconds later."""
        container = self.compose("ps", "--quiet", service).split()[0]
        run("docker", "kill", container)
        self.say(f"killed a container of {service}")
        time.sleep(DOWN_SECONDS)
        run("docker", "start", container)
        self.say("started it again")


def main(
    *,
    write_docs: Annotated[
        bool, typer.Option("--write-docs", help=f"Put the log into {PAGE} as well.")
    ] = False,
) -> None:
    """Run the test; exit status 1 if something is not as it should be, said in a sentence."""
    stack = Stack()
    remove(stack)
    try:
        run_test(stack)
    except (RuntimeError, AssertionError) as failure:
        print(stack.compose("logs", "--no-color", "--tail", "30"))
        print(failure)
        raise typer.Exit(1) from failure
    finally:
        remove(stack)
    if write_docs:
        log = "\n".join(stack.lines)
        fill(PAGE, {"compose test": f"{measured_on()}.\n\n```\n{log}\n```\n"})


def run_test(stack: Stack) -> None:
    """Everything but taking it down."""
    stack.compose("--profile", "tools", "build")
    stack.say(f"built {sizes()}")
    stack.compose("up", "--detach", "proxy")
    stack.say("the stack is up")
    client = outside(stack)
    stack.compose("up", "--detach", "--scale", f"holders={AGENTS}", "holders")
    (task,) = client.get("/v1/tasks").json()

    def counted() -> int:
        return int(client.get(f"/v1/tasks/{task['id']}/status").json()["reports"])

    def wait_for(reports: int) -> None:
        wait(lambda: counted() >= reports)

    stack.say(f"{AGENTS} agents answer for {len(fair_survey.load().holders)} holders")
    for least, service in ((KILL_CURATOR, "curator"), (KILL_DATABASE, "database")):
        wait_for(least)
        stack.say(f"{counted()} reports are counted")
        stack.restart_killed(service)
    wait(lambda: has_finished(stack))
    stack.say(f"all agents have finished; {counted()} reports are counted, the relay has the rest")
    stack.compose("up", "--detach", "--no-deps", "relay", RELAY_LEAST="1")
    holders = len(fair_survey.load().holders)
    wait_for(holders)
    check(counted() == holders, f"{counted()} reports of {holders} holders")
    stack.say(f"{holders} reports are counted, one of each holder")
    check_database(stack)
    check_holder(stack, task["id"])
    check_accuracy(stack)
    check_proxy(stack, client)
    stack.say(f"memory: {memory(stack)}")


def check_database(stack: Stack) -> None:
    """Every checksum fits, and a backup has the same reports and sums."""
    stack.privet("backup", "/data/nightly.db")
    audit = json.loads(stack.privet("verify", "--against", "sqlite:////data/nightly.db", "--json"))
    faults = [task["faults"] for task in audit["tasks"]]
    check(faults == [[]] and not audit["differences"], f"verify found {audit}")
    stack.say("every checksum of ids and sums fits, and a backup equals its source")


def check_holder(stack: Stack, task_id: str) -> None:
    """A holder's own image trusts the certificate and takes the task from the relay."""
    address = f"https://proxy:8444/v1/tasks/{task_id}"
    shown = stack.compose("run", "--rm", "--no-deps", "holder", "show", address, "--json")
    check(json.loads(shown)["task"] == task_id, shown)
    stack.say("a holder's container verifies the task through the relay")


def check_accuracy(stack: Stack) -> None:
    """The reports have put the model right, and their share is near the truth."""
    results = json.loads(
        stack.compose(
            "run", "--rm", "--no-deps", "report", "scripts.containers", "report", "--json"
        )
    )
    model, public = results[:2]
    low, high = model["interval"]
    error = (high - low) / 2 / 1.96
    truth = share_of(fair_survey.load().holders)[0]
    stack.say(
        f"accuracy {model['accuracy']:.3f}, Brier score {model['brier']:.3f} (without reports "
        f"{public['brier']:.3f}), share {model['share']:.0%} (in truth {truth:.0%})"
    )
    check(abs(model["share"] - truth) < ERRORS * error, f"the share is {model['share']}")
    check(model["brier"] < public["brier"], f"the Brier score is {model['brier']}")


def check_proxy(stack: Stack, client: httpx.Client) -> None:
    """Long heads end at the proxy, and metrics are not for the outside."""
    long = client.get("/healthz", headers={"X-Long": "x" * 40_000}).status_code
    check(long in {400, 431}, f"a head of 40 kB gets {long}")
    metrics = client.get("/metrics").status_code
    check(metrics == 404, f"/metrics gets {metrics}")
    users = {
        name: run(
            "docker", "inspect", "--format", "{{.Config.User}} {{.HostConfig.ReadonlyRootfs}}", name
        )
        for service in ("curator", "proxy", "relay")
        for name in stack.compose("ps", "--quiet", service).split()
    }
    check(set(users.values()) == {"1000:1000 true\n"}, f"users and file systems are {users}")
    stack.say("the proxy refuses long heads and /metrics; all run as user 1000 and read-only")
    client.close()


def outside(stack: Stack) -> httpx.Client:
    """An admin's client of the curators, through the proxy and with its certificate."""
    read = ("run", "--rm", "--no-deps", "--entrypoint", "cat", "privet")
    certificate = stack.compose(*read, "/run/privet/trust/certificate.pem")
    token = stack.compose(*read, "/run/privet/admin/token").strip()
    address = stack.compose("port", "proxy", "8443").strip().replace("0.0.0.0", "127.0.0.1")
    trust = ssl.create_default_context(cadata=certificate)
    transport = httpx.HTTPTransport(verify=trust, retries=3)
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(
        base_url=f"https://{address}", transport=transport, headers=headers, timeout=60
    )


def has_finished(stack: Stack) -> bool:
    """Whether all agents have ended well."""
    lines = stack.compose("ps", "--all", "--format", "json", "holders").splitlines()
    agents: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return all(agent["State"] == "exited" and agent["ExitCode"] == 0 for agent in agents)


def wait(done: Callable[[], bool]) -> None:
    """Wait until something is so; a lost connection or an error of a server is none yet."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if done():
                return
        except (httpx.TransportError, KeyError):  # no connection, or a problem document
            pass
        time.sleep(1.0)
    raise RuntimeError(f"waited for {PATIENCE:.0f} s in vain")


def memory(stack: Stack) -> str:
    """What each container has, in MiB as docker says."""
    names = stack.compose("ps", "--format", "{{.Name}}").split()
    ask = ("docker", "stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}", *names)
    lines = (line.removeprefix(f"{PROJECT}-").split()[:2] for line in run(*ask).splitlines())
    return ", ".join(f"{name} {used.replace('MiB', ' MiB')}" for name, used in sorted(lines))


def sizes() -> str:
    """The images that were built, in MB."""
    names = ("curator", "relay", "holder", "proxy", "demo")
    ask = ("docker", "image", "inspect", "--format", "{{.Size}}")
    images = ((name, int(run(*ask, f"privet-{name}")) / 1e6) for name in names)
    return ", ".join(f"{name} {size:.0f} MB" for name, size in images)


def check(condition: bool, otherwise: str) -> None:
    """Raise ``RuntimeError`` unless something is so."""
    if not condition:
        raise RuntimeError(otherwise)


def remove(stack: Stack) -> None:
    """Take everything down, with its data."""
    stack.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5")


def run(*command: str, environment: dict[str, str] | None = None) -> str:
    """Run a command; what it prints. Raises ``RuntimeError`` with its errors if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2_000:]}")
    return done.stdout


if __name__ == "__main__":
    typer.run(main)
