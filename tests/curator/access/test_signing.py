"""The curator's key: one per database, its owner's alone, and every task signed with it."""

import stat
from concurrent.futures import ThreadPoolExecutor
from errno import ENOSPC
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from privet.curator.access.audit import Audit
from privet.curator.access.signing import (
    Signer,
    make_key,
    read_key,
    record_signing_key,
    signer_for,
)
from privet.curator.app import create_app
from privet.curator.datastore.audit import SIGNING_KEY
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.protocol.calls import SIGNATURE_HEADER, TASK_MEDIA_TYPE
from privet.protocol.errors import PrivetError
from privet.protocol.signature import (
    Signature,
    signed_message,
)
from tests.curator.datastore.servers import new_store
from tests.curator.http.conftest import TOKEN, Http
from tests.keeping import keeps
from tests.manual_clock import ManualClock


def settings(database: str, signing_key: str = "") -> Settings:
    return Settings.model_validate(
        {"database": database, "signing_key": signing_key, "admin_token": TOKEN}
    )


def key_of(chosen: Settings) -> bytes:
    """The key that a start with these settings signs with."""
    signer = signer_for(chosen)
    assert signer is not None
    return signer.key


@keeps(
    "deployment: a signing key is for its owner",
    in_="curator/access/signing.py",
    instead_of="os.link(file.name, path)",
    plant="os.chmod(file.name, 0o644); os.link(file.name, path)",
)
def test_a_key_is_made_once_and_only_its_owner_can_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the database, mode 0600, with nothing else left behind; curators that start at once
    share it, and a full disk at a later start keeps nobody from it."""
    chosen = settings(f"sqlite:///{tmp_path}/privet.db")
    with ThreadPoolExecutor(8) as pool:
        (key,) = set(pool.map(key_of, [chosen] * 8))
    (path,) = tmp_path.iterdir()
    assert path.name == "privet.db.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def full(*_: object, **__: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.NamedTemporaryFile", full)
    assert key_of(chosen) == key


def test_curators_of_another_database_share_a_named_key(tmp_path: Path) -> None:
    """Without one, tasks are not signed; one that is named must be there, and is never made."""
    address = "postgresql://nobody@localhost/nothing"
    assert signer_for(settings(address)) is None
    path = tmp_path / "shared.key"
    with pytest.raises(PrivetError, match="privet key make"):
        signer_for(settings(address, str(path)))
    assert not path.exists()
    make_key(path)
    assert key_of(settings(address, str(path))) == read_key(path).key


def test_a_damaged_key_stops_the_start(tmp_path: Path) -> None:
    """Neither replaced nor ignored: holders have pinned it. One that cannot be made does too."""
    with pytest.raises(PrivetError, match=r"cannot be made.*--signing-key"):
        make_key(tmp_path / "no" / "privet.key")
    path = tmp_path / "privet.db.key"
    foreign = X25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    for content, said in ((b"", "restore"), (b"no key", "restore"), (foreign, "not an Ed25519")):
        path.write_bytes(content)
        with pytest.raises(PrivetError, match=said):
            signer_for(settings(f"sqlite:///{tmp_path}/privet.db"))
        assert path.read_bytes() == content


@keeps(
    "deployment: another signing key stops the start",
    in_="curator/access/signing.py",
    instead_of="known and key != known and not settings.new_signing_key",
    plant="False",
)
def test_another_key_than_the_databases_is_refused(tmp_path: Path) -> None:
    """As is none, and a file that is missing, unless the settings say that the key is new."""
    make_key(tmp_path / "own.key")
    own, known = read_key(tmp_path / "own.key").key.hex(), "ab" * 32
    named = settings("postgresql://nobody@localhost/nothing", str(tmp_path / "own.key"))
    assert signer_for(named, own)
    unsigned = settings("postgresql://nobody@localhost/nothing")
    missing = settings(f"sqlite:///{tmp_path}/restored.db")
    for chosen, said in ((named, own), (unsigned, "has no key"), (missing, "copy it there")):
        with pytest.raises(PrivetError, match=said) as refused:
            signer_for(chosen, known)
        assert known in str(refused.value)
        assert "--new-signing-key" in str(refused.value)
    assert not (tmp_path / "restored.db.key").exists()
    assert signer_for(missing.model_copy(update={"new_signing_key": True}), known)
    assert signer_for(unsigned.model_copy(update={"new_signing_key": True}), known) is None


def test_a_key_that_was_not_the_databases_before_is_noted(tmp_path: Path) -> None:
    """The first, another and none, each once; the same again is not."""
    make_key(tmp_path / "own.key")
    own, store = read_key(tmp_path / "own.key"), new_store()
    key, known, audit = own.key.hex(), "", Audit(store, ManualClock())
    for signer in (None, own, own, None):
        record_signing_key(store, audit, known, signer)
        known = store.facts.read(SIGNING_KEY) or ""
    record_signing_key(store, audit, "ab" * 32, own)
    assert [(entry.action, entry.subject, entry.detail) for entry in store.audit.entries(9)][
        ::-1
    ] == [
        ("signing key set", key, {"before": ""}),
        ("signing key given up", "", {"before": key}),
        ("signing key rotated", key, {"before": "ab" * 32}),
    ]


@keeps(
    "deployment: a signature is of the task",
    in_="curator/access/signing.py",
    instead_of="self._secret.sign(signed_message(task_id))",
    plant='self._secret.sign(b"x")',
)
async def test_every_view_of_a_task_carries_its_signature(tmp_path: Path, workers: Workers) -> None:
    """Bytes, JSON, HEAD and 304 alike; the bytes and the id are those of an unsigned task."""
    make_key(tmp_path / "key")
    signer = read_key(tmp_path / "key")

    def client(signer: Signer | None) -> Http:
        app = create_app(
            settings(f"sqlite:///{tmp_path}/unused.db"),
            store=new_store(),
            signer=signer,
            workers=workers,
        )
        assert app.state.curator.workers is workers  # also where they are idle
        return Http(transport=httpx.ASGITransport(app), base_url="http://curator")

    async with client(signer) as http, client(None) as unsigned:
        task_id = await http.task()
        address, binary = f"/v1/tasks/{task_id}", {"Accept": TASK_MEDIA_TYPE}
        answers = [
            await http.get(address, headers=binary),
            await http.get(address),
            await http.head(address, headers=binary),
            await http.get(address, headers={**binary, "If-None-Match": f'"{task_id}"'}),
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 304]
        public = Ed25519PublicKey.from_public_bytes(signer.key)
        for answer in answers:
            signature = Signature.parse(answer.headers[SIGNATURE_HEADER])
            assert signature is not None
            assert signature.key == signer.key
            public.verify(signature.value, signed_message(task_id))
        assert (await http.get("/v1/key")).json() == {"key": signer.key.hex()}

        assert await unsigned.task() == task_id
        plain = await unsigned.get(address, headers=binary)
        assert SIGNATURE_HEADER not in plain.headers
        assert plain.content == answers[0].content
        assert (await unsigned.get("/v1/key")).json() == {"key": None}
