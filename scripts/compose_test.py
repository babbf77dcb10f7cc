"""The stack of docker-compose.yml for real: up, killed in the middle, counted, and taken down.

    python -m scripts.compose_test [--write-docs]

Eight agents answer for the demonstration's holders through the relay. While they do, a curator and
then the database are killed and started again. In the end every holder must be counted once, every
checksum must fit, a backup must equal its source, and the model must have learned from them.
Then the certificate is renewed. At last all containers and volumes are removed: with the nightly
backup, the keys and the commands of the handbook, every report counts once again.

False alarms: the reported share is off by 5 standard errors in fewer than 1 of 10^6 runs. The Brier
score of the public model alone is .238; with all reports it was .189 to .196 in five runs.
"""

import json
import os
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from privet.client import ReportClient
from scripts import fair_survey
from scripts.demo import share_of
from scripts.devices import Devices
from scripts.pages import fill, measured_on, shell_block
from scripts.servers import free_port

HANDBOOK = Path("docs/operations.md")
PAGE = Path("docs/performance.md")
PROJECT = "privet-test"
AGENTS = 8
KILL_CURATOR, KILL_DATABASE = 500, 1_500
"""Reports that are counted when it happens."""
DOWN_SECONDS = 5.0
DEVICES = 20
"""Holders outside of the stack, half of whom answer through the relay."""
PER_SECRET = 2
"""Holders that answer through the relay after each secret."""
PATIENCE = 1_200.0
"""Seconds that anything here may take on a slow machine."""
ERRORS = 5.0
SECRETS = {
    "database": "/run/privet/database/password",
    "admin": "/run/privet/admin/token",
    "relay": "/run/privet/relay/token",
    "relay-metrics": "/run/privet/relay-metrics/token",
    "reader": "/run/privet/reader/token",
}
"""Secret that deploy/rotate.sh makes anew -> the file that it is in."""


class Stack:
    """The compose project, with its backups in ``folder``, and a log of what was done to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self._started = time.monotonic()
        self._settings = {
            "COMPOSE_PROJECT_NAME": PROJECT,
            "COMPOSE_FILE": str(Path("docker-compose.yml").absolute()),
            "BACKUPS": str(folder / "backups"),
            "PORT": str(free_port()),
            "RELAY_PORT": str(free_port()),
        }
        self.curators, self.relay = (
            f"https://127.0.0.1:{self._settings[name]}" for name in ("PORT", "RELAY_PORT")
        )

    def say(self, line: str) -> None:
        self.lines.append(f"{time.monotonic() - self._started:6.0f} s  {line}")
        print(self.lines[-1], flush=True)

    def compose(self, *arguments: str, **settings: str) -> str:
        """Run ``docker compose``; what it prints. Raises ``RuntimeError`` if it fails."""
        environment = os.environ | self._settings | settings
        return run("docker", "compose", *arguments, environment=environment)

    def follow(self, page: Path, containing: str, typed: str = "", **settings: str) -> None:
        """Run the block of commands of a page that contains a text, beside the backups."""
        command = ("sh", "-euc", shell_block(page, containing))
        environment = os.environ | self._settings | settings
        run(*command, environment=environment, folder=self.folder, typed=typed)

    def rotate(self, secret: str) -> None:
        """Make a secret anew, by the script of the stack."""
        script = str(Path("deploy/rotate.sh").absolute())
        run("sh", script, secret, environment=os.environ | self._settings)

    def privet(self, *arguments: str) -> str:
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
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        stack = Stack(Path(folder))
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
    stack.compose("up", "--detach", "proxy", "backup")
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
    assert counted() == holders, f"{counted()} reports of {holders} holders"
    stack.say(f"{holders} reports are counted, one of each holder")
    check_database(stack)
    check_holder(stack, task["id"])
    check_accuracy(stack)
    check_proxy(stack, client)
    stack.say(f"memory: {memory(stack)}")
    check_certificate(stack)
    holders += check_secrets(stack, task["id"])
    check_recovery(stack, task["id"], holders)


def check_database(stack: Stack) -> None:
    """Every checksum fits, and a backup has the same reports and sums."""
    stack.privet("backup", "/data/nightly.db")
    audit = json.loads(stack.privet("verify", "--against", "sqlite:////data/nightly.db", "--json"))
    faults = [task["faults"] for task in audit["tasks"]]
    assert faults == [[]], f"verify found {audit}"
    assert not audit["differences"], f"verify found {audit}"
    stack.say("every checksum of ids and sums fits, and a backup equals its source")


def check_holder(stack: Stack, task_id: str) -> None:
    """A holder's own image trusts the certificate and takes the task from the relay."""
    address = f"https://proxy:8444/v1/tasks/{task_id}"
    explained = stack.compose("run", "--rm", "--no-deps", "holder", "show", address, "--json")
    assert json.loads(explained)["task"] == task_id, explained
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
    assert abs(model["share"] - truth) < ERRORS * error, f"the share is {model['share']}"
    assert model["brier"] < public["brier"], f"the Brier score is {model['brier']}"


def check_proxy(stack: Stack, client: httpx.Client) -> None:
    """Long heads end at the proxy, and metrics are not for the outside."""
    long = client.get("/healthz", headers={"X-Long": "x" * 40_000}).status_code
    assert long in {400, 431}, f"a head of 40 kB gets {long}"
    metrics = client.get("/metrics").status_code
    assert metrics == 404, f"/metrics gets {metrics}"
    users = {
        name: run(
            "docker", "inspect", "--format", "{{.Config.User}} {{.HostConfig.ReadonlyRootfs}}", name
        )
        for service in ("curator", "proxy", "relay")
        for name in stack.compose("ps", "--quiet", service).split()
    }
    assert set(users.values()) == {"1000:1000 true\n"}, f"users and file systems are {users}"
    stack.say("the proxy refuses long heads and /metrics; all run as user 1000 and read-only")
    client.close()


def check_certificate(stack: Stack) -> None:
    """Another one is served, and no container has been started again."""
    before = started(stack), served(stack)
    stack.rotate("certificate")
    wait(lambda: served(stack) != before[1])
    assert started(stack) == before[0], f"{before[0]} became {started(stack)}"
    assert served(stack).strip() == trusted(stack).strip(), "holders are given another certificate"
    stack.say("a new certificate is served, and nothing was started again")


def check_secrets(stack: Stack, task_id: str) -> int:
    """Every secret is made anew while holders answer through the relay; how many of them count."""
    client = outside(stack)
    address = f"/v1/tasks/{task_id}/status"
    before = client.get(address).json()["reports"]
    trust = ssl.create_default_context(cadata=trusted(stack))
    devices = Devices(
        stack.folder / "during.db",
        client.get("/v1/key").json()["key"],
        lambda: ReportClient(httpx.AsyncClient(verify=trust, timeout=60)),
    )
    client.close()
    records = iter(fair_survey.load().holders)
    for secret, folder in SECRETS.items():
        was = read(stack, folder, service="rotate")
        stack.rotate(secret)
        assert read(stack, folder, service="rotate") != was, f"{secret} is what it was"
        devices.answer(f"{stack.relay}/v1/tasks/{task_id}", list(islice(records, PER_SECRET)))
    count = PER_SECRET * len(SECRETS)
    client = outside(stack)
    wait(lambda: client.get(address).json()["reports"] == before + count)
    devices.resend()
    counted = [answer.counted for answer in devices.answers()]
    assert counted == [True] * count, f"{counted} after {count} answers"
    stack.compose("up", "--detach", "--no-deps", "--force-recreate", "curator")
    wait(lambda: client.get("/readyz").is_success)  # with the new password, in new containers
    client.close()
    stack.say(f"{', '.join(SECRETS)} made anew; {count} relayed answers meanwhile count")
    return count


def started(stack: Stack) -> dict[str, str]:
    names = stack.compose("ps", "--format", "{{.Name}}").split()
    return {
        name: run("docker", "inspect", "--format", "{{.State.StartedAt}}", name) for name in names
    }


def served(stack: Stack) -> str:
    address = httpx.URL(stack.curators)
    return ssl.get_server_certificate((address.host, address.port or 0), timeout=60)


def check_recovery(stack: Stack, task_id: str, before: int) -> None:
    """Containers and volumes are removed; all comes back, and reports since the backup as well."""
    stack.follow(HANDBOOK, "-c curator/signing.key")
    backups = stack.folder / "backups"
    made = set(backups.glob("2*.db"))
    stack.compose("restart", "backup")  # which makes one as it starts, and removes others of today
    wait(lambda: set(backups.glob("2*.db")) - made)
    client = outside(stack)
    trust = ssl.create_default_context(cadata=trusted(stack))
    devices = Devices(
        stack.folder / "ledger.db",
        client.get("/v1/key").json()["key"],
        lambda: ReportClient(httpx.AsyncClient(verify=trust, timeout=60)),
    )
    records = fair_survey.load().holders[:DEVICES]
    devices.answer(f"{stack.curators}/v1/tasks/{task_id}", records[::2])
    devices.answer(f"{stack.relay}/v1/tasks/{task_id}", records[1::2])
    status = f"/v1/tasks/{task_id}/status"
    wait(lambda: client.get(status).json()["reports"] == before + DEVICES)
    devices.resend()  # learns of the relayed ones that they were counted
    counted = [answer.counted for answer in devices.answers()]
    assert counted == [True] * DEVICES, f"{counted} after {DEVICES} answers"
    stack.say(f"{DEVICES} more holders were counted after the nightly backup, half of them relayed")

    remove(stack)
    kept = {file.name for file in backups.iterdir()}
    volumes = run("docker", "volume", "ls", "--quiet", "--filter", f"name={PROJECT}_")
    assert not volumes, f"there still are {volumes}"
    stack.say("removed every container and every volume")
    stack.compose("up", "--detach", "proxy", "backup", RELAY_LEAST="1")
    wait(lambda: "was started empty" in stack.compose("logs", "backup"))
    assert {file.name for file in backups.iterdir()} == kept, "an empty database was saved"
    stack.say("started it again, empty, as somebody would; it saves no backup")
    begun = time.monotonic()
    stack.follow(HANDBOOK, "-x < keys.tar", typed="\n", RELAY_LEAST="1")
    client = outside(stack)
    wait(lambda: client.get("/readyz").is_success)
    restored = client.get(status).json()
    assert restored["reports"] == before, f"{restored['reports']} reports were restored"
    assert restored["asks_again"], "the curator does not ask again"
    took = time.monotonic() - begun
    stack.say(
        f"recovered as the handbook says, in {took:.0f} s: {before} reports, and the curator asks "
        "for more"
    )
    wait(lambda: httpx.get(f"{stack.relay}/healthz", verify=trust).is_success)
    for _ in range(2):
        devices.resend()
        wait(lambda: client.get(status).json()["reports"] >= before + DEVICES)
    reports = client.get(status).json()["reports"]
    assert reports == before + DEVICES, f"{reports} reports of {before + DEVICES} holders"
    audit = json.loads(stack.privet("verify", "--json"))
    assert [task["faults"] for task in audit["tasks"]] == [[]], f"verify found {audit}"
    stack.say(f"holders sent again what was missing: {reports} reports are counted, each once")
    client.close()


def trusted(stack: Stack) -> str:
    """The certificate that holders are given."""
    return read(stack, "/run/privet/trust/certificate.pem")


def read(stack: Stack, file: str, service: str = "privet") -> str:
    """A file of the stack's secrets."""
    return stack.compose("run", "--rm", "--no-deps", "--entrypoint", "cat", service, file)


def outside(stack: Stack) -> httpx.Client:
    """An admin's client of the curators, through the proxy and with its certificate."""
    trust = ssl.create_default_context(cadata=trusted(stack))
    transport = httpx.HTTPTransport(verify=trust, retries=3)
    headers = {"Authorization": f"Bearer {read(stack, '/run/privet/admin/token').strip()}"}
    return httpx.Client(base_url=stack.curators, transport=transport, headers=headers, timeout=60)


def has_finished(stack: Stack) -> bool:
    lines = stack.compose("ps", "--all", "--format", "json", "holders").splitlines()
    agents: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return all(agent["State"] == "exited" and agent["ExitCode"] == 0 for agent in agents)


def wait(done: Callable[[], object]) -> None:
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
    """The memory of each container in MiB, as docker reports it."""
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


def remove(stack: Stack) -> None:
    """Take everything down, with its data."""
    stack.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5")


def run(
    *command: str,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
    typed: str = "",
) -> str:
    """Run a command; what it prints. Raises ``RuntimeError`` with its errors if it fails."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        input=typed,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2_000:]}")
    return done.stdout


if __name__ == "__main__":
    typer.run(main)
