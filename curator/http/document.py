"""The OpenAPI document: what the framework knows of its own routes, put right and made whole."""

from typing import Any

from fastapi import FastAPI

from privet.curator.http.access import ADMIN_SCHEME, READER_SCHEME
from privet.curator.http.problems import described
from privet.curator.http.reports import report_paths
from privet.protocol.errors import TooLarge, TooManyRequests, TooSlow
from privet.transport.problems import MEDIA_TYPE

Document = dict[str, Any]


def complete_document(app: FastAPI) -> None:
    """Let the document of ``app`` describe report calls too, and errors and tokens as they are."""
    framework_document = app.openapi

    def openapi() -> Document:
        document = framework_document()
        document["paths"].update(report_paths())
        for calls in document["paths"].values():
            for method, call in calls.items():
                _drop_framework_fault(call)
                _tell_limits(method, call)
                _tell_tokens(call)
        for name in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(name, None)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _drop_framework_fault(call: Document) -> None:
    """Remove the 422 that the framework adds to every call: here faults are problem documents."""
    fault = call["responses"].get("422")
    if fault is not None and MEDIA_TYPE not in fault["content"]:
        del call["responses"]["422"]


def _tell_limits(method: str, call: Document) -> None:
    """What the limits around all calls answer."""
    faults = described(TooManyRequests) if method == "post" else {}
    if "requestBody" in call:
        faults |= described(TooSlow, TooLarge)
    for status, fault in faults.items():
        call["responses"].setdefault(str(status), fault)


def _tell_tokens(call: Document) -> None:
    """An admin's call needs the admin's token; a reader's call needs one where models are kept."""
    schemes = {name for choice in call.get("security", ()) for name in choice}
    if ADMIN_SCHEME in schemes:
        call["security"] = [{ADMIN_SCHEME: []}]
    elif READER_SCHEME in schemes:
        call["security"] = [{READER_SCHEME: []}, {}]
