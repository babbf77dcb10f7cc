"""/docs: the API in a browser. Every byte comes from this curator, so it works without internet.

The scripts are those that ``fastapi-offline`` ships; only the three names below are ever served,
and the content policy lets the page load and call nothing but this curator.
"""

from pathlib import Path

import fastapi_offline
from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response

SHIPPED = Path(fastapi_offline.__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Swagger UI sets styles inside the page; everything else it needs is the curator's own."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Privet</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"><noscript>This page needs JavaScript; openapi.json does not.</noscript></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START = """SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
"""
_HEADERS = {"Cache-Control": "public, max-age=3600"}

router = APIRouter(prefix="/docs", include_in_schema=False)


@router.get("")
def page() -> HTMLResponse:
    """The page; its policy is its own, since it has a script."""
    return HTMLResponse(_PAGE, headers={"Content-Security-Policy": POLICY})


@router.get("/start.js")
def start() -> Response:
    """What starts Swagger UI: a file of its own, so that no script stands in the page."""
    return Response(_START, headers=_HEADERS, media_type="text/javascript")


@router.get("/swagger-ui-bundle.js")
def bundle() -> FileResponse:
    """Swagger UI."""
    return FileResponse(SHIPPED / "swagger-ui-bundle.js", headers=_HEADERS)


@router.get("/swagger-ui.css")
def styles() -> FileResponse:
    """Its styles."""
    return FileResponse(SHIPPED / "swagger-ui.css", headers=_HEADERS)
