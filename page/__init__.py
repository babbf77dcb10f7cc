"""The answer page: a holder that runs in a browser, as static files.

Whoever serves them could change them and read the record. So ``privet-holder page`` serves them
from the holder's own machine, relays and other hosts serve them as well, and curators never do.
"""

import base64
import hashlib
import html
from importlib.resources import files
from string import Template

from privet.protocol.calls import HOLDER_CALLS

from .bundle import bundle

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
INDEX = "index.html"
PREVIEW = "preview"
"""In place of a task's id: shows the task whose bytes stand behind the address's hash."""
SUMS = "SHA256SUMS"
FORM = "privet-answer.js"
"""The component that pages of others embed too."""
MODULES = {path.name: path.read_text("utf-8") for path in (files(__name__) / "holder").iterdir()}
"""The modules of ``holder-js/``, of which it is made."""
FILES = {
    **{name: (files(__name__) / name).read_bytes() for name in (INDEX, "page.js", "style.css")},
    FORM: bundle(MODULES, "element.js").encode(),
}
"""The files by name; ``INDEX`` is a template, which ``index`` fills in."""
INTEGRITY = "sha384-" + base64.b64encode(hashlib.sha384(FILES[FORM]).digest()).decode()
"""The hash of ``FORM``, by which a page that embeds it knows it."""

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
    """The headers that a file is served with; pages of any origin may embed ``FORM``."""
    to_all = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
    return {
        "Content-Type": MEDIA_TYPES[name.rpartition(".")[2]],
        "Content-Security-Policy": f"{policy(task_url)}; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
        **(to_all if name == FORM else {}),
    }


def export(task_url: str, curator_key: str = "") -> tuple[dict[str, bytes], str]:
    """The page for one task as files by name, with ``SHA256SUMS``, and the SHA-256 of that."""
    page = {**FILES, INDEX: index(task_url, curator_key)}
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in page.items()
    ).encode()
    return {**page, SUMS: sums}, hashlib.sha256(sums).hexdigest()
