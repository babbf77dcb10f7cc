"""The calls of tasks that are no JSON: an upload, and a task's canonical bytes."""

from typing import Annotated, Any

from fastapi import Header, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from privet.admin.results import PublishedTask
from privet.http_server.fixed import is_known
from privet.learning.task_building.publication import Publication
from privet.protocol.calls import JSON_MEDIA_TYPE, SIGNATURE_HEADER, TASK_MEDIA_TYPE, TASKS
from privet.protocol.errors import InvalidRequest
from privet.protocol.lifecycle import TaskState
from privet.protocol.signature import SIGNATURE_PATTERN

from ..operations import tasks as cases
from ..operations.parameters import TaskId
from .requests import BINARY, TheCaller, TheCurator, while_waited
from .routes import by_hand

MAX_SETTINGS_BYTES = 4 * 2**20
A_DAY = "public, max-age=86400, immutable"

EXAMPLE_SETTINGS = (
    '{"name": "Fair\'s survey", "label": "affair", "epsilon": 1, "depth": 6, "holders": 4456}'
)
_UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["settings"],
                    "properties": {
                        "public": {
                            **BINARY,
                            "description": "Public records with their labels, CSV, Parquet or "
                            "Excel; without them the task asks for the label alone.",
                        },
                        "public_model": {
                            **BINARY,
                            "description": "A public model over the encoded columns, ONNX; "
                            "by default one is made of the public records.",
                        },
                        "register": {
                            **BINARY,
                            "description": "The people asked, CSV, Parquet or Excel: their "
                            "disclosed columns, or all features if none is disclosed, without "
                            "labels.",
                        },
                        "settings": {
                            "type": "string",
                            "contentMediaType": JSON_MEDIA_TYPE,
                            "contentSchema": Publication.model_json_schema(),
                            "description": "The settings as JSON text.",
                            "examples": [EXAMPLE_SETTINGS],
                        },
                    },
                }
            }
        },
    }
}


@by_hand(
    cases.create_task,
    openapi_extra=_UPLOAD,
    responses={200: {"model": PublishedTask, "description": "The same task existed already."}},
)
async def create_task(
    request: Request, response: Response, curator: TheCurator, caller: TheCaller
) -> PublishedTask:
    """Read the form, and say where the task is."""
    settings, public, onnx, register = await _read_upload(request)
    creating = cases.create_task(curator, caller, settings, public, onnx, register)
    stored, created = await while_waited(request, creating)
    response.headers["Location"] = f"{TASKS}/{stored.task.id}"
    if not created:
        response.status_code = 200
    return await run_in_threadpool(cases.published, curator, stored)


@by_hand(
    cases.read_task,
    response_model=PublishedTask,
    responses={
        200: {
            "content": {TASK_MEDIA_TYPE: {"schema": BINARY}},
            "headers": {
                SIGNATURE_HEADER: {
                    "description": "The curator's key and signature, where it signs its tasks.",
                    "schema": {"type": "string", "pattern": SIGNATURE_PATTERN},
                }
            },
        },
        304: {"description": "The caller's copy is still current."},
    },
)
def read_task(
    task_id: TaskId,
    curator: TheCurator,
    caller: TheCaller,
    accept: Annotated[str, Header()] = "",
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """The form that the caller accepts, unless it has it."""
    stored = cases.read_task(curator, caller, task_id)
    headers = {"Vary": "Accept"}
    if curator.signer is not None:
        headers[SIGNATURE_HEADER] = curator.signer.sign(stored.task.id).header
    if TASK_MEDIA_TYPE in accept:
        kept = "no-store" if stored.state is TaskState.DRAFT else A_DAY
        headers |= {"ETag": f'"{stored.task.id}"', "Cache-Control": kept}
        return _unless_known(if_none_match, headers, stored.task.canonical, TASK_MEDIA_TYPE)
    found = cases.published(curator, stored)
    collecting = "collecting" if found.collecting else "waiting"
    marked = "" if found.marked is None else "-marked"
    tag = f'W/"{found.id}-{found.state}-{collecting}{marked}"'
    headers |= {"ETag": tag, "Cache-Control": "no-cache"}
    return _unless_known(if_none_match, headers, found.model_dump_json().encode(), JSON_MEDIA_TYPE)


async def _read_upload(
    request: Request,
) -> tuple[Publication, bytes | None, bytes | None, bytes | None]:
    """The parts of the form. Only called for an admin, so a stranger's upload is not read."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InvalidRequest(
            "Send multipart/form-data with the part 'settings', and 'public' for a file."
        )
    try:
        async with request.form(
            max_files=4, max_fields=2, max_part_size=MAX_SETTINGS_BYTES
        ) as form:
            settings = await _part(form, "settings")
            public, onnx, register = [
                await _part(form, name) if name in form else None
                for name in ("public", "public_model", "register")
            ]
    except HTTPException as error:
        if error.status_code in {408, 413}:  # of the layer that reads the body
            raise
        raise InvalidRequest(f"The form cannot be read: {error.detail}") from None
    return Publication.parse(settings), public, onnx, register


async def _part(form: Any, name: str) -> bytes:
    part = form.get(name)
    if part is None:
        raise InvalidRequest(f"The form has no part {name!r}: send it.")
    if isinstance(part, UploadFile):
        return await part.read()
    return str(part).encode()


def _unless_known(
    if_none_match: str, headers: dict[str, str], body: bytes, media_type: str
) -> Response:
    if is_known(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)
