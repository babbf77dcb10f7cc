"""Options that several commands of ``privet-holder`` share, and what they say of this device."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from privet.http_client.report_client import ReportClient, Retry
from privet.protocol.limits import SMALLEST_GROUP
from privet.tables.cells import Decimal
from privet.tables.text_format import HELP, Encoding, Separator

from ..blocking import BlockingHolder
from ..ledger import SqliteLedger

TaskUrl = Annotated[
    str, typer.Argument(metavar="TASK-URL", help="Address at which the task is published.")
]
Subject = Annotated[
    str, typer.Option(help="Whom the record is about; epsilon adds up per subject.")
]
LedgerPath = Annotated[
    Path | None,
    typer.Option(
        envvar="PRIVET_HOLDER_LEDGER",
        help="Ledger of answers and spent epsilon; by default in your data folder.",
    ),
]
CuratorKey = Annotated[
    str | None,
    typer.Option(
        envvar="PRIVET_HOLDER_CURATOR_KEY",
        help="Answer only tasks signed with this key of the curator's, 64 hexadecimal digits.",
    ),
]
SmallestGroup = Annotated[
    int,
    typer.Option(
        min=0,
        envvar="PRIVET_HOLDER_SMALLEST_GROUP",
        help="Smallest acceptable group of people who share the disclosed values.",
    ),
]
Insecure = Annotated[
    bool, typer.Option("--insecure-http", help="Allow plain http to other machines.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

OfEncoding = Annotated[Encoding | None, typer.Option(help=HELP["encoding"])]
OfSeparator = Annotated[Separator | None, typer.Option(help=HELP["separator"])]
OfDecimal = Annotated[Decimal | None, typer.Option(help=HELP["decimal"])]


@dataclass(frozen=True)
class Device:
    """The ledger of answers, and the tasks that may be answered."""

    ledger: SqliteLedger
    insecure_http: bool = False
    curator_key: str | None = None
    smallest_group: int = SMALLEST_GROUP

    def holder(self, subject: str, retry: Retry | None = None) -> BlockingHolder:
        """A holder of records about ``subject``; a context manager."""
        return BlockingHolder(
            self.ledger,
            subject,
            connect=lambda: ReportClient(insecure_http=self.insecure_http, retry=retry),
            curator_key=self.curator_key,
            smallest_group=self.smallest_group,
        )
