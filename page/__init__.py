"""The answer page: a holder that runs in a browser, as static files.

Whoever serves them could change them and read the record. So ``privet-holder page`` serves them
from the holder's own machine, relays and other hosts serve them as well, and curators never do.
"""

import base64
import gzip
import hashlib
import html
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from string import Template

INDEX = "index.html"
LOST = "lost.html"
"""The page at an address that leads to no task."""
PREVIEW = "preview"
"""In place of a task's id: shows the task whose bytes stand behind the address's hash."""
SUMS = "SHA256SUMS"
FORM = "privet-answer.js"
"""The component that pages of others embed too, built from ``holder-js/`` with all it imports."""
FILES = {name: (files(__name__) / name).read_bytes() for name in (INDEX, LOST, FORM, "style.css")}
"""The files as they are kept; style and values are yet to be filled in."""
NAMED = f"privet-answer.{hashlib.sha256(FILES[FORM]).hexdigest()[:16]}.js"
"""The same as ``FORM``, under a name that no other content ever has."""
KEPT = 24 * 60 * 60
"""Seconds for which browsers open a relay's page without asking for it, a round trip sooner; so
long may people who come back see the page of the release before."""

_STYLE = FILES["style.css"].decode()
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_COMPRESSED = files(__name__) / f"{FORM}.br"
_BROTLI = {FILES[FORM]: _COMPRESSED.read_bytes()} if _COMPRESSED.is_file() else {}
"""The component compressed, which a wheel's build adds; a checkout has it not, and serves gzip."""
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; "
    "connect-src {}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
)


def policy(task_url: str) -> str:
    """The Content-Security-Policy: no inline script, and no calls but to the tasks of the server.

    Those of one task alone would not do: a panel's waves have addresses of their own. A relative
    ``task_url`` is one on the page's own host.
    """
    own = task_url[: task_url.rindex("/") + 1] if _is_away(task_url) else "'self'"
    return POLICY.format(own)


def _is_away(task_url: str) -> bool:
    """True if the task is on another host than the page."""
    return "://" in task_url


def index(task_url: str, curator_key: str = "") -> bytes:
    """The page for one task, which is answered only if signed with ``curator_key``, if given."""
    values = {"task": task_url, "policy": policy(task_url), "curator_key": curator_key}
    escaped = {name: html.escape(value) for name, value in values.items()}
    page = Template(FILES[INDEX].decode())
    return page.substitute(escaped, style=_STYLE, form=NAMED).encode()


def lost() -> bytes:
    """The page for an address that leads to no task."""
    escaped = html.escape(POLICY.format("'none'"))
    return Template(FILES[LOST].decode()).substitute(policy=escaped, style=_STYLE).encode()


def headers(name: str, task_url: str) -> dict[str, str]:
    """The headers that a file is served with; pages of any origin may embed ``FORM``."""
    keeping = "no-cache"  # an address may lead to another task next time
    if name == NAMED:
        keeping = "public, max-age=31536000, immutable"
    elif name == INDEX and not _is_away(task_url):
        keeping = f"max-age={KEPT}"  # at a relay, where each task has an address of its own
    to_all = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
    kind = "text/html" if name in {INDEX, LOST} else "text/javascript"
    return {
        "Content-Type": f"{kind}; charset=utf-8",
        "Content-Security-Policy": f"{policy(task_url)}; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": keeping,
        "Vary": "Accept-Encoding",
        **(to_all if name == FORM else {}),
    }


@dataclass(frozen=True)
class Served:
    """The response to a GET of one of the files."""

    status: int
    headers: dict[str, str]
    body: bytes


def served(
    name: str, task_url: str, asked: Mapping[str, str], curator_key: str = ""
) -> Served | None:
    """The answer to a GET, compressed if the request's headers (by lower-case names) allow it; None
    if there is no such file."""
    if name == INDEX:
        content = index(task_url, curator_key)
    elif name == LOST:
        content = lost()
    elif name in {FORM, NAMED}:
        content = FILES[FORM]
    else:
        return None
    sent = headers(name, task_url)
    sent["ETag"] = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    if name != LOST and sent["ETag"] in asked.get("if-none-match", ""):
        return Served(304, sent, b"")
    status = 404 if name == LOST else 200
    codings = _codings(asked.get("accept-encoding", ""))
    if "br" in codings and content in _BROTLI:
        return Served(status, {**sent, "Content-Encoding": "br"}, _BROTLI[content])
    if "gzip" in codings:
        return Served(status, {**sent, "Content-Encoding": "gzip"}, _gzipped(content))
    return Served(status, sent, content)


@lru_cache(maxsize=64)
def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _codings(accepted: str) -> set[str]:
    """The codings that an ``Accept-Encoding`` names, but for those it refuses."""
    named = [each.replace(" ", "").lower().partition(";") for each in accepted.split(",")]
    return {coding for coding, _, weight in named if weight.strip("q=0.") or not weight}


def export(task_url: str, curator_key: str = "") -> tuple[dict[str, bytes], str]:
    """The page for one task as files by name, with ``SHA256SUMS``, and the SHA-256 of that."""
    page = {INDEX: index(task_url, curator_key), NAMED: FILES[FORM]}
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in page.items()
    ).encode()
    return {**page, SUMS: sums}, hashlib.sha256(sums).hexdigest()
