"""Tokens: what they allow, how they are kept, that they end."""

from base64 import urlsafe_b64decode
from collections.abc import Callable
from dataclasses import replace

import pytest

from privet.admin.results import Scope
from privet.curator.access.tokens import ENVIRONMENT, Tokens
from privet.curator.datastore.audit import AuditEntry
from privet.curator.datastore.store import Store
from privet.curator.datastore.tokens import ISSUED, StoredToken
from privet.curator.datastore.verification import verify_audit
from privet.protocol.errors import (
    InvalidRequest,
    NotAuthorized,
    TooManyRequests,
)
from tests.curator.datastore.servers import new_store
from tests.keeping import keeps
from tests.manual_clock import ManualClock


@pytest.fixture
def store() -> Store:
    return new_store()


@pytest.fixture
def tokens(store: Store, clock: ManualClock) -> Tokens:
    """No tokens yet."""
    return Tokens(store, clock)


@keeps(
    "threat-model: a token has 256 random bits",
    in_="curator/access/tokens.py",
    instead_of="secrets.token_urlsafe(32)",
    plant="secrets.token_urlsafe(4)",
)
def test_the_first_start_makes_one_admin_token(tokens: Tokens) -> None:
    """It is made once, allows everything, and is not kept as it is."""
    token = tokens.first_start()
    assert token is not None
    assert len(urlsafe_b64decode(f"{token}=")) == 32  # random bytes
    tokens.check(token, Scope.ADMIN)
    tokens.check(token, Scope.READER)
    assert tokens.first_start() is None
    assert all(token.encode() not in stored.digest for stored in tokens.listed())


@pytest.mark.parametrize("ended", [None, 1.0])
def test_a_token_that_another_start_made_stays(
    ended: float | None,
    store: Store,
    tokens: Tokens,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In place of none or of one that has ended; the later start says who showed it."""
    plain = store.tokens.replace

    def beaten(old: StoredToken | None, new: StoredToken, entry: AuditEntry) -> AuditEntry | None:
        plain(old, replace(new, digest=b"2" * 32), entry)
        return plain(old, new, entry)

    monkeypatch.setattr(store.tokens, "replace", beaten)
    if ended is not None:
        store.tokens.put(
            StoredToken("first", "admin", b"1" * 32, 0.0, ended),
            AuditEntry(0.0, "", ISSUED, "", {}),
        )
    assert tokens.first_start() is None
    assert [each.digest for each in store.tokens.listed()] == [b"2" * 32]
    assert "showed it" in caplog.text


def test_a_given_token_is_listed_and_not_written_down(store: Store, clock: ManualClock) -> None:
    """The token from the environment works, shows its last use, and leaves nothing in the store."""
    tokens = Tokens(store, clock, "given")
    assert tokens.first_start() is None
    clock.advance(5)
    assert tokens.check("given", Scope.ADMIN) == ENVIRONMENT
    assert store.tokens.listed() == []
    (listed,) = tokens.listed()
    assert (listed.name, listed.used) == (ENVIRONMENT, clock())
    with pytest.raises(InvalidRequest, match="out of its environment"):
        tokens.revoke(ENVIRONMENT)
    with pytest.raises(InvalidRequest, match="name of its own"):
        tokens.issue(ENVIRONMENT, Scope.READER)


@keeps(
    "threat-model: an expired token is refused",
    in_="curator/access/tokens.py",
    instead_of="match.expires is not None and match.expires <= now",
    plant="False",
)
def test_a_token_ends_when_it_is_to(tokens: Tokens, clock: ManualClock) -> None:
    """To the second, with the way to a new one; a start then makes an admin token again."""
    token = tokens.issue("ops", Scope.ADMIN, days=1)
    assert tokens.first_start() is None
    clock.advance(86_399)
    assert tokens.check(token, Scope.ADMIN) == "ops"
    clock.advance(1)
    with pytest.raises(NotAuthorized, match="expired on"):
        tokens.check(token, Scope.ADMIN)
    assert tokens.first_start() is not None


def test_the_last_use_of_a_token_is_kept(tokens: Tokens, clock: ManualClock) -> None:
    """At most once a minute, so that calls do not wait for it."""
    token = tokens.issue("ops", Scope.ADMIN)
    assert tokens.listed()[0].used is None
    first = clock()
    for seconds, used in ((0, first), (59, first), (1, first + 60)):
        clock.advance(seconds)
        tokens.check(token, Scope.ADMIN)
        assert tokens.listed()[0].used == used


def demote(tokens: Tokens, name: str, *, last: bool = False) -> None:
    """Take the place of an admin token by a reader's."""
    tokens.issue(name, Scope.READER, last=last)


@pytest.mark.parametrize("end", [Tokens.revoke, demote])
def test_the_last_admin_is_told_the_way_back(tokens: Tokens, end: Callable[..., object]) -> None:
    """Before everybody is locked out, whether it is revoked or becomes a reader."""
    tokens.issue("ops", Scope.ADMIN)
    tokens.issue("eye", Scope.READER)
    with pytest.raises(InvalidRequest, match="restart the curator"):
        end(tokens, "ops")
    end(tokens, "eye")
    tokens.issue("other", Scope.ADMIN)
    end(tokens, "ops")
    end(tokens, "other", last=True)
    assert tokens.first_start() is not None


def test_rotation_and_revocation_end_a_token(store: Store, tokens: Tokens) -> None:
    """The audit log names a rotation as such, with who did it; a name's next token is issued."""
    old, new = (tokens.issue("eye", Scope.READER, days=9, actor=actor) for actor in ("", "ops"))
    with pytest.raises(NotAuthorized):
        tokens.check(old, Scope.READER)
    tokens.check(new, Scope.READER)
    assert tokens.revoke("eye")
    assert not tokens.revoke("eye")
    with pytest.raises(NotAuthorized):
        tokens.check(new, Scope.READER)
    tokens.issue("eye", Scope.READER)
    entries = [entry for entry in store.audit.entries(9) if entry.action != "sign-in failed"]
    assert [(entry.actor, entry.action, entry.detail.get("days")) for entry in entries] == [
        ("", "token issued", None),
        ("", "token revoked", None),
        ("ops", "token rotated", 9),
        ("", "token issued", 9),
    ]


def test_failed_sign_ins_are_counted_by_the_hour(
    store: Store, tokens: Tokens, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """In one entry, however many there are; each has its own line in the log, with the detail and
    the entry's hash."""
    caplog.set_level("INFO", "privet.audit")
    ended = tokens.issue("eye", Scope.READER, days=1)
    clock.advance(86_400)
    for token, seconds in (("guess", 0), (ended, 1), ("guess", 3_600)):
        clock.advance(seconds)
        with pytest.raises(NotAuthorized):
            tokens.check(token, Scope.READER)
    entries = store.audit.entries(9)[::-1]
    failed = "sign-in failed"
    assert [(entry.action, entry.times) for entry in entries[1:]] == [(failed, 2), (failed, 1)]
    lines = [vars(record) for record in caplog.records]
    assert [(line["no"], line["detail"].get("reason")) for line in lines] == [
        (1, None),
        (2, "The token is not known here"),
        (2, "The token 'eye' expired on 2023-11-15"),
        (3, "The token is not known here"),
    ]
    hashes = [line["hash"] for line in lines]
    assert [hashes[0], hashes[2], hashes[3]] == [entry.hash for entry in entries]


def test_guesses_are_counted_by_address(store: Store, clock: ManualClock) -> None:
    """Wrong tokens, each another or the same one, count against the address that they came from;
    then they are refused unwritten. A good one is good there too, used before or not."""
    tokens = Tokens(store, clock, "given", tries=2)
    ended, fresh = tokens.issue("eye", Scope.READER, days=1), tokens.issue("ear", Scope.READER)
    clock.advance(86_400)
    for wrong in ("guess", ended):
        with pytest.raises(NotAuthorized):
            tokens.check(wrong, Scope.READER, "192.0.2.1")
    written = store.audit.entries(1)
    for wrong in ("guess", "another", ended):
        with pytest.raises(TooManyRequests) as refused:
            tokens.check(wrong, Scope.READER, "192.0.2.1")
        assert 0 < refused.value.seconds <= 60
    assert store.audit.entries(1) == written
    with pytest.raises(NotAuthorized):
        tokens.check("guess", Scope.READER, "192.0.2.2")
    assert tokens.check("given", Scope.ADMIN, "192.0.2.1") == ENVIRONMENT
    assert tokens.check(fresh, Scope.READER, "192.0.2.1") == "ear"


def test_a_rotated_token_may_serve_on_for_a_while(
    tokens: Tokens, clock: ManualClock, store: Store
) -> None:
    """Under its name, until the overlap or its own end is over; only one of them, and no longer.

    The audit log knows it.
    """
    first = tokens.issue("post", Scope.RELAY)
    second = tokens.issue("post", Scope.RELAY, overlap_hours=2)
    assert [tokens.check(each, Scope.RELAY) for each in (first, second)] == ["post", "post"]
    third = tokens.issue("post", Scope.RELAY, days=1 / 24, overlap_hours=2)
    with pytest.raises(NotAuthorized):
        tokens.check(first, Scope.RELAY)
    fourth = tokens.issue("post", Scope.RELAY, overlap_hours=2)
    clock.advance(3_600.0)
    for ended in (second, third):  # the third by its own end
        with pytest.raises(NotAuthorized):
            tokens.check(ended, Scope.RELAY)
    fifth = tokens.issue("post", Scope.RELAY, overlap_hours=2)
    clock.advance(7_200.0)
    with pytest.raises(NotAuthorized, match="expired"):
        tokens.check(fourth, Scope.RELAY)
    assert tokens.check(fifth, Scope.RELAY) == "post"
    assert verify_audit(store.engine).faults == ()


@keeps(
    "threat-model: making a token anew without an overlap ends the one before it too",
    in_="curator/datastore/tokens.py",
    instead_of="connection.execute(delete(tokens).where(tokens.c.name == before))",
    plant="pass",
)
def test_an_overlap_ends_with_its_token(tokens: Tokens) -> None:
    """By revoking it, and by rotating it without one; and it is no admin that could be the last."""
    old = tokens.issue("ops", Scope.ADMIN)
    new = tokens.issue("ops", Scope.ADMIN, overlap_hours=1)
    with pytest.raises(InvalidRequest, match="last admin"):
        tokens.revoke("ops")
    newest = tokens.issue("ops", Scope.ADMIN)
    with pytest.raises(NotAuthorized):
        tokens.check(new, Scope.ADMIN)
    assert tokens.check(newest, Scope.ADMIN) == "ops"
    with pytest.raises(NotAuthorized):
        tokens.check(old, Scope.ADMIN)
    tokens.issue("ops", Scope.ADMIN, overlap_hours=1)
    tokens.issue("other", Scope.ADMIN)
    assert tokens.revoke("ops")
    with pytest.raises(NotAuthorized):
        tokens.check(newest, Scope.ADMIN)
    with pytest.raises(InvalidRequest, match="before another"):
        tokens.issue("ops (before)", Scope.ADMIN)
