"""``privet doctor``: try what an operator should check of a curator or a relay that runs."""

import ssl
import time
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import typer

from privet.admin.results import NamedRelay, Scope
from privet.http_client.address import DIRECT, check_transport
from privet.http_client.errors import UnsafeAddress
from privet.protocol.calls import API, KEY, PROBLEM_MEDIA_TYPE, RELAY, TOKENS
from privet.protocol.errors import InvalidRequest, PrivetError

from .options import AsJson, Insecure, Token
from .output import err, print_json, say

if TYPE_CHECKING:
    import httpx

DAY = 86_400.0
FEW_DAYS = 14
"""Days before its end from which on a certificate or a token is to be renewed."""
OLD_BACKUP = 1.5 * DAY
LITTLE_DISK = 0.15
WRONG_CLOCK = 60.0
TIMEOUT = 20.0
OF_ANY_SERVER = (
    *("privet_http_requests_total", "privet_process_open_fds", "privet_process_start_time_seconds"),
    *("privet_memory_used_bytes", "privet_memory_limit_bytes"),
)
WATCHED = {
    "curator": (
        *OF_ANY_SERVER,
        *("privet_database_up", "privet_reports_total", "privet_commit_seconds"),
        *("privet_fits_total", "privet_jobs", "privet_impossible_tasks", "privet_missing_reports"),
        *("privet_wrong_tokens_total", "privet_backup_timestamp_seconds"),
    ),
    "relay": (*OF_ANY_SERVER, "privet_relay_reports", "privet_relay_curator_calls_total"),
}
"""Metrics that a server has from its start, and without which alerts of
deploy/prometheus/alerts.yml never sound, by its kind."""


Labels = frozenset[tuple[str, str]]


class Finding(NamedTuple):
    """One thing that was tried, and a sentence on it."""

    what: str
    sentence: str
    wrong: bool = False


def doctor(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of a curator or a relay.")],
    *,
    token: Token = None,
    database: Annotated[
        str | None,
        typer.Option(envvar="PRIVET_DATABASE", help="The curator's database, to try its pooler."),
    ] = None,
    insecure_http: Insecure = False,
    as_json: AsJson = False,
) -> None:
    """Try what an operator should check of a curator or a relay, and say each in one sentence.

    Address, TLS, clock, readiness, and with --token (of an admin; of a relay its metrics token)
    tokens, alerts' metrics, backups and disk; with --database whether a pooler is before it. Exits
    with 1 where something is wrong.
    """
    with err().status("Looking ..."):
        found = [*examined(url.rstrip("/"), token, insecure_http=insecure_http)]
        found += [] if database is None else [_pooler(database)]
    if as_json:
        print_json({"findings": [each._asdict() for each in found]})
    else:
        for each in found:
            print(f"{'WRONG' if each.wrong else 'ok':<6} {each.what:<10} {each.sentence}")
    wrong = sum(each.wrong for each in found)
    if wrong:
        say(f"{wrong} of {len(found)} things are wrong.")
        raise typer.Exit(1)


def examined(url: str, token: str | None, *, insecure_http: bool) -> Iterator[Finding]:
    """The findings about the server at ``url``; the first ones may be all there are."""
    import httpx

    parts = urlsplit(url)
    if not parts.scheme or parts.hostname is None:
        raise InvalidRequest(f"{url} is no address: give one such as https://curator.example.")
    if parts.path.endswith(API):
        yield Finding("address", f"It ends in {API}: give it without.", wrong=True)
        return
    try:
        check_transport(parts.scheme, parts.hostname, insecure_http=insecure_http)
    except UnsafeAddress as error:
        yield Finding("TLS", error.detail, wrong=True)
        return
    with httpx.Client(timeout=TIMEOUT, mounts=DIRECT, base_url=url) as http:
        try:
            key, described = http.get(KEY), http.get(RELAY)
        except httpx.TransportError as error:
            why = str(error) or type(error).__name__
            yield Finding("address", f"Nobody answers at {url} ({why}).", wrong=True)
            return
        kind = _kind(key, described)
        if kind is None:
            said = f"What answers at {url} is neither a curator nor a relay."
            yield Finding("address", said, wrong=True)
            return
        yield Finding("address", f"A {kind} answers at {url}.")
        yield _tls(parts.scheme, parts.hostname, parts.port or 443)
        yield _clock(key)
        ready = http.get("/readyz").status_code
        yield (
            Finding("readiness", "It can write.")
            if ready == HTTPStatus.OK
            else Finding("readiness", f"It is not ready ({ready}): its log says why.", wrong=True)
        )
        if kind == "relay":
            yield from _relay(url, described)
        yield from _with_token(http, kind, token)


def _kind(key: "httpx.Response", described: "httpx.Response") -> str | None:
    """The kind of server that answered so; None if neither is known."""
    if _has(key, "key"):
        return "curator"
    is_behind = described.status_code == HTTPStatus.BAD_GATEWAY
    is_problem = described.headers.get("content-type", "").startswith(PROBLEM_MEDIA_TYPE)
    return "relay" if _has(described, "curator_key") or (is_behind and is_problem) else None


def _has(response: "httpx.Response", name: str) -> bool:
    try:
        return response.is_success and name in response.json()
    except (ValueError, TypeError):
        return False


def _tls(scheme: str, host: str, port: int) -> Finding:
    if scheme != "https":
        return Finding("TLS", "Plain http, on this machine or a network you trust only.")
    import socket

    try:
        with (
            socket.create_connection((host, port), TIMEOUT) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=host) as wrapped,
        ):
            ends = ssl.cert_time_to_seconds(str((wrapped.getpeercert() or {})["notAfter"]))
    except OSError as error:
        return Finding("TLS", f"Its certificate cannot be read ({error}).", wrong=True)
    days = (ends - time.time()) / DAY
    return Finding("TLS", f"The certificate is valid for {days:.0f} more days.", days < FEW_DAYS)


def _clock(response: "httpx.Response") -> Finding:
    try:
        ahead = parsedate_to_datetime(response.headers["date"]).timestamp() - time.time()
    except (KeyError, ValueError):
        return Finding("clock", "The server does not say its time.", wrong=True)
    if abs(ahead) <= WRONG_CLOCK:
        return Finding("clock", "It goes as this machine's does.")
    return Finding("clock", f"It is {ahead:+.0f} s off this machine's: correct one.", wrong=True)


def _relay(url: str, described: "httpx.Response") -> Iterator[Finding]:
    if described.is_success:
        of = described.json()
        yield Finding("curator", f"Its curator answers; it waits for {of['least']} reports.")
        if of.get("one_operator"):
            yield Finding(
                "operator", "It is said to be run by the curator's operator, for a trial."
            )
    else:
        yield Finding("curator", "Its curator does not answer, so nobody can answer.", wrong=True)
    if NamedRelay(address=url).shares_origin:
        said = "It serves below a path: other pages of its host could read records."
        yield Finding("origin", said, wrong=True)


def _with_token(http: "httpx.Client", kind: str, token: str | None) -> Iterator[Finding]:
    if not token:
        said = "None was given, so metrics, disk and more were not looked at: give --token."
        yield Finding("token", said, wrong=True)
        return
    headers = {"Authorization": f"Bearer {token.strip()}"}
    metrics = http.get("/metrics", headers=headers)
    if not metrics.is_success:
        said = f"It is not taken for /metrics ({metrics.status_code})."
        yield Finding("token", said, wrong=True)
        return
    if kind == "curator":
        yield _tokens(http.get(TOKENS, headers=headers))
    there = _families(metrics.text)
    missing = [name for name in WATCHED[kind] if name.removesuffix("_total") not in there]
    all_there = f"All {len(WATCHED[kind])} metrics that alerts need from the start are there."
    yield (
        Finding("alerts", f"These metrics are missing: {', '.join(missing)}.", wrong=True)
        if missing
        else Finding("alerts", all_there)
    )
    if kind == "curator":
        yield _backup([*there.get("privet_backup_timestamp_seconds", {}).values()])
    free, size = (there.get(f"privet_disk_{of}_bytes", {}) for of in ("free", "size"))
    yield _disk([free[disk] / size[disk] for disk in free.keys() & size.keys() if size[disk]])


def _tokens(listed: "httpx.Response") -> Finding:
    if not listed.is_success:
        return Finding("tokens", "Only an admin's token lists them, which this one is not.")
    soon, tokens = time.time() + FEW_DAYS * DAY, listed.json()
    count = {scope: sum(each["scope"] == scope for each in tokens) for scope in Scope}
    ends = {each["name"]: each["expires"] for each in tokens if each["expires"]}
    ending = sorted(
        name for name, end in ends.items() if datetime.fromisoformat(end).timestamp() < soon
    )
    if ending:
        said = f"These end within {FEW_DAYS} days or have ended: {', '.join(ending)}."
        return Finding("tokens", said, wrong=True)
    said = ", ".join(f"{number} of scope {scope}" for scope, number in count.items() if number)
    return Finding("tokens", f"{said}; none ends within {FEW_DAYS} days.")


def _families(text: str) -> dict[str, dict[Labels, float]]:
    """The samples of each metric by their labels; of a histogram its last."""
    from prometheus_client.parser import text_string_to_metric_families

    return {
        family.name: {frozenset(each.labels.items()): each.value for each in family.samples}
        for family in text_string_to_metric_families(text)
    }


def _backup(moments: list[float]) -> Finding:
    newest = max(moments, default=0.0)
    if not newest:
        return Finding("backups", "No backup was ever made: 'privet backup' makes one.", wrong=True)
    hours = (time.time() - newest) / 3600
    return Finding("backups", f"The newest is {hours:.0f} h old.", 3600 * hours > OLD_BACKUP)


def _disk(parts_free: list[float]) -> Finding:
    if not parts_free:
        said = "Its free space is not stated: set PRIVET_DATABASE_DISK, or watch the database's."
        return Finding("disk", said)
    least = min(parts_free)
    return Finding("disk", f"{least:.0%} of it is free.", least < LITTLE_DISK)


def _pooler(database: str) -> Finding:
    """The way to a PostgreSQL database; a pooler names itself as the connection's peer."""
    from sqlalchemy import text

    from .database import opened

    if not database.startswith("postgres"):
        return Finding("pooler", "SQLite has none.")
    try:
        with opened(database, to_write=False) as engine, engine.connect() as connection:
            process = connection.scalar(text("SELECT pg_backend_pid()"))
            peer: Any = connection.connection.driver_connection
            is_direct = process == peer.info.backend_pid
    except PrivetError as error:
        return Finding("pooler", f"The database cannot be used: {error.detail}", wrong=True)
    if is_direct:
        return Finding("pooler", "There is none before PostgreSQL.")
    said = "There is one: it must be in transaction mode, and migrations take --rolling."
    return Finding("pooler", said)
