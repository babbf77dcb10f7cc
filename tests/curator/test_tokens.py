"""Tokens: what they allow, how they are kept, that they end."""

import pytest

from privet.curator.clock import ManualClock
from privet.curator.datastore import open_store
from privet.curator.tokens import Scope, Tokens
from privet.protocol.errors import InvalidRequest, NotAuthorized


@pytest.fixture
def tokens() -> Tokens:
    """No tokens yet."""
    return Tokens(open_store("memory:"), ManualClock())


def test_the_first_start_makes_one_admin_token(tokens: Tokens) -> None:
    """It is made once, allows everything, and is not kept as it is."""
    token = tokens.first_start()
    assert token is not None
    tokens.check(token, Scope.ADMIN)
    tokens.check(token, Scope.READER)
    assert tokens.first_start() is None
    assert all(token.encode() not in stored.digest for stored in tokens.listed())


def test_a_given_token_is_not_written_down() -> None:
    """The token from the environment works and leaves nothing in the store."""
    store = open_store("memory:")
    tokens = Tokens(store, ManualClock(), "given")
    assert tokens.first_start() is None
    tokens.check("given", Scope.ADMIN)
    assert store.tokens() == []


def test_a_reader_only_reads(tokens: Tokens) -> None:
    """A reader token is refused where admin is needed."""
    token = tokens.issue("eve", Scope.READER)
    tokens.check(token, Scope.READER)
    with pytest.raises(NotAuthorized, match="reader"):
        tokens.check(token, Scope.ADMIN)


def test_rotation_and_revocation_end_a_token(tokens: Tokens) -> None:
    """A new token under a name, or its removal, ends the old one."""
    old = tokens.issue("ops", Scope.ADMIN)
    new = tokens.issue("ops", Scope.ADMIN)
    with pytest.raises(NotAuthorized):
        tokens.check(old, Scope.ADMIN)
    tokens.check(new, Scope.ADMIN)
    assert tokens.revoke("ops")
    assert not tokens.revoke("ops")
    with pytest.raises(NotAuthorized):
        tokens.check(new, Scope.ADMIN)


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_token_needs_a_name(tokens: Tokens, name: str) -> None:
    """Names have 1 to 64 letters."""
    with pytest.raises(InvalidRequest):
        tokens.issue(name, Scope.ADMIN)
