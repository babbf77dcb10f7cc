"""The tables of docs/scaling.md: what a billion reports a day would take, from measured costs.

    python -m scripts.scaling                     print the tables
    python -m scripts.scaling --load PATH ...     take costs from load tests' load.json first
    python -m scripts.scaling --write-docs        keep the costs, and write docs/scaling.md anew

Costs are kept in docs/scaling.json. A part needs ``peak reports per second * cost`` of processor
time, ``average * bytes`` of network and ``reports * bytes`` of disk.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from scripts.pages import fill, markdown

PAGE = Path("docs/scaling.md")
KEPT = Path("docs/scaling.json")
DAY = 86_400
REPORTS_A_DAY = 1e9
PEAK = 3.0
"""Busiest second over the average one, since people are awake at the same hours."""
TCP_BYTES = 7 * 40
"""Headers of a connection's seven packets with one request in it."""

Costs = dict[str, float]
"""Per report or connection; processor time in microseconds of one core, sizes in bytes."""


def main(
    load: Annotated[list[Path] | None, typer.Option(help="A load test's load.json.")] = None,
    write_docs: Annotated[bool, typer.Option("--write-docs", help=f"Write {PAGE}.")] = False,
) -> None:
    """Compute and print."""
    costs = json.loads(KEPT.read_text(encoding="utf-8")) | from_load_tests(load or [])
    text = tables(costs)
    print(text)
    if write_docs:
        KEPT.write_text(json.dumps(costs, indent=1) + "\n", encoding="utf-8")
        fill(PAGE, {"computed": text})


def from_load_tests(paths: list[Path]) -> Costs:
    """Costs by name from load tests' documents, the last one of a kind."""
    found = {}
    for path in paths:
        run = json.loads(path.read_text(encoding="utf-8"))
        kind = "single" if run["mode"] == "single" else "batch"
        for side in {"curator", "relay"} & set(run["cpu_seconds"]):
            if side == "relay" or not (run["through_relay"] and kind == "single"):
                found[f"{side}_{kind}"] = 1e6 * run["cpu_seconds"][side] / run["acknowledged"]
    return found


def tables(costs: Costs) -> str:
    """Measured costs and what follows from them, in Markdown."""
    return f"{_measured(costs)}\n{_sizing(costs)}"


def _measured(costs: Costs) -> str:
    lines = {
        "relay takes a single POST, durable": "{relay_single:.0f} us",
        "relay takes and forwards a report in batches": "{relay_batch:.1f} us",
        "curator takes a single POST, durable": "{curator_single:.0f} us",
        "curator takes a report in a batch, durable": "{curator_batch:.1f} us",
        "request: head and body": "{request:.0f} bytes",
        "TLS 1.3 handshake, server's side, nothing resumed": "{tls_handshake:.0f} us, "
        "{tls_handshake_bytes:.0f} bytes both ways",
        "TLS records of a request and its answer, server's side": "{tls_record:.1f} us, "
        "{tls_record_bytes:.0f} bytes more",
        "PostgreSQL per report, single POSTs": "{postgres_single:.0f} bytes, "
        "and {postgres_single_log:.0f} of log",
        "PostgreSQL per report, batches": "{postgres_batch:.0f} bytes, "
        "and {postgres_batch_log:.0f} of log",
    }
    return markdown(["cost", "measured"], [[k, v.format_map(costs)] for k, v in lines.items()])


def _sizing(costs: Costs) -> str:
    average = REPORTS_A_DAY / DAY
    peak = PEAK * average

    def cores(*names: str) -> str:
        return f"{peak * sum(costs[name] for name in names) / 1e6:.2g} cores"

    tls = cores("tls_handshake", "tls_record")
    received = costs["request"] + costs["tls_handshake_bytes"] + costs["tls_record_bytes"]
    network = f"{average * (received + TCP_BYTES) * 8 / 1e6:.0f} Mbit/s"
    growth, log = (
        [each.format(costs[f"postgres_{kind}{what}"] * factor) for kind in ("batch", "single")]
        for what, factor, each in (
            ("", REPORTS_A_DAY / 1e9, "{:.0f} GB"),
            ("_log", average / 1e6, "{:.1f} MB/s"),
        )
    )
    rows = [
        [
            "taking holders' POSTs",
            f"relays: {cores('relay_single')}",
            f"curators: {cores('curator_single')}",
        ],
        [
            "TLS, a new connection for every holder",
            f"at the relays: {tls}",
            f"at a load balancer: {tls}",
        ],
        ["adding up, in batches", f"curators: {cores('curator_batch')}", "in the above"],
        ["network, average, both ways", network, network],
        ["PostgreSQL grows a day", *growth],
        ["PostgreSQL's log, average", *log],
    ]
    return markdown([f"part, at the peak of {peak:,.0f} reports/s", "with relays", "without"], rows)


if __name__ == "__main__":
    typer.run(main)
