"""The call for a signed receipt: the report is counted, or has been, and the curator signs that."""

from dataclasses import dataclass

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from privet.http_server.headers import Headers
from privet.intake.upload import ReportUpload
from privet.protocol.receipts import hash_of
from privet.protocol.report import Report

from ..access.signing import Signer


@dataclass(eq=False)
class ReceiptCall:
    """Answers the call for a receipt, of a report that ``upload`` takes."""

    upload: ReportUpload
    signer: Signer
    headers: Headers = ()

    async def __call__(self, task_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Take the report as any, and answer with a signature of its hash."""
        taken = await self.upload.take(task_id, scope, receive, send)
        if taken is not None:
            digest = hash_of(Report.unpack(taken.body))
            (signature,) = self.signer.receipts(task_id, [digest])
            answer = JSONResponse({"signature": signature, "reports": [digest.hex()]})
            answer.raw_headers.extend(self.headers)
            await answer(scope, receive, send)
