"""The answer page: a holder that runs in a browser, as static files.

Whoever serves them could change them and read the record. So ``privet-holder page`` serves them
from the holder's own machine, relays and other hosts serve them as well, and curators never do.
"""

import hashlib
import html
from importlib.resources import files
from itertools import chain
from string import Template

from privet.protocol.calls import HOLDER_CALLS

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
INDEX = "index.html"
SUMS = "SHA256SUMS"
FOLDERS = (files(__name__), files(__name__) / "holder")
"""The page's own files, and the holder in JavaScript (``holder-js/``), of which it is made."""
FILES = {
    path.name: path.read_bytes()
    for path in sorted(chain(*(each.iterdir() for each in FOLDERS)), key=lambda path: path.name)
    if path.name.rpartition(".")[2] in MEDIA_TYPES
}
"""The files by name, all in one folder; ``INDEX`` is a template, which ``index`` fills in."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src {}; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
)


def policy(task_url: str) -> str:
    """The Content-Security-Policy: no inline script, and nothing but the task's calls.

    A relative ``task_url`` is one on the page's own host.
    """
    if "://" not in task_url:
        return POLICY.format("'self'")
    calls = [call.url(task_url) for call in HOLDER_CALLS if call.from_pages]
    return POLICY.format(" ".join(calls))


def index(task_url: str, curator_key: str = "") -> bytes:
    """The page for one task, which is answered only if signed with ``curator_key``, if given."""
    values = {"task": task_url, "policy": policy(task_url), "curator_key": curator_key}
    page = Template(FILES[INDEX].decode())
    return page.substitute({name: html.escape(value) for name, value in values.items()}).encode()


def headers(name: str, task_url: str) -> dict[str, str]:
    """The headers that a file is served with."""
    return {
        "Content-Type": MEDIA_TYPES[name.rpartition(".")[2]],
        "Content-Security-Policy": f"{policy(task_url)}; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
    }


def export(task_url: str, curator_key: str = "") -> tuple[dict[str, bytes], str]:
    """The page for one task as files by name, with ``SHA256SUMS``, and the SHA-256 of that."""
    page = {**FILES, INDEX: index(task_url, curator_key)}
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in page.items()
    ).encode()
    return {**page, SUMS: sums}, hashlib.sha256(sums).hexdigest()
