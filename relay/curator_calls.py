"""The client of a relay's curator, which counts how its calls end."""

import asyncio
from typing import Any

from privet.http_client.errors import CuratorUnreachable, UnexpectedResponse
from privet.http_client.report_client import Reply, ReportClient
from privet.protocol.errors import PROBLEMS, PrivetError, problem_of

ANSWERED, NO_RESPONSE, UNEXPECTED = "answered", "no-response", "unexpected-response"
OUTCOMES = (ANSWERED, NO_RESPONSE, UNEXPECTED, *(problem.name for problem in PROBLEMS.values()))


class CountingClient(ReportClient):
    """A ``ReportClient`` whose ``outcomes`` say how many calls ended how, retries aside.

    Refusals have the name of their problem; a call that is given up has had no answer.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.outcomes = dict.fromkeys(OUTCOMES, 0)

    async def _persist(self, *call: Any) -> Reply:
        outcome = ANSWERED
        try:
            return await super()._persist(*call)
        except (CuratorUnreachable, asyncio.CancelledError):
            outcome = NO_RESPONSE
            raise
        except UnexpectedResponse:
            outcome = UNEXPECTED
            raise
        except PrivetError as error:
            outcome = problem_of(error).name
            raise
        finally:
            self.outcomes[outcome] += 1
