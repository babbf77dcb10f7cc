"""All settings of a curator with their help; each is an environment variable.

``Settings.database`` is read from ``PRIVET_DATABASE``, and so on. The command line's options and
the table in docs/deployment.md are made from these fields.
"""

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from privet.admin.results import Scope
from privet.http_server.addresses import read_proxies
from privet.http_server.tokens import fault_of_token

MIB = 2**20
OTHER_VARIABLES = frozenset(
    {
        "PRIVET_URL",
        "PRIVET_TOKEN",
        "PRIVET_INVITATION",
        "PRIVET_HOLDER_LEDGER",
        "PRIVET_HOLDER_CURATOR_KEY",
        "PRIVET_HOLDER_SMALLEST_GROUP",
        "PRIVET_RELAY_TOKEN",
        "PRIVET_RELAY_METRICS_TOKEN",
        "PRIVET_RELAY_LOG_FORMAT",
    }
)
"""Variables of other commands."""
CALLBACK = "/sign-in/callback"
SAFE_URL = re.compile(r"https://[^/?#@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(?=[/?#]|$)")
"""Addresses that nobody on the way can read or change: by TLS, or on this machine."""

ROOT_PATH = re.compile(r"((/[\w.~-]+)+)?")
PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}")


class Settings(BaseSettings):
    """A curator's settings; the defaults suit one curator on one machine."""

    model_config = SettingsConfigDict(env_prefix="PRIVET_", extra="ignore", frozen=True)

    database: str = Field(
        default="sqlite:///privet.db",
        description="Database URL: sqlite:///path/to/file.db or postgresql://user@host/name.",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(
        default=8000, ge=0, le=65535, description="Port to listen on; 0 picks a free one."
    )
    workers: int = Field(default=1, ge=1, le=64, description="Number of curator processes.")
    admin_token: SecretStr | None = Field(
        default=None,
        description="Admin token of at least 128 random bits, in the environment only. "
        "Unset: a start with no token in the database creates one and shows it "
        "once.",
    )
    signing_key: str = Field(
        default="",
        description="File with the key that signs tasks. Unset: a key is created next to a "
        "SQLite database; with PostgreSQL tasks are not signed. All curators of"
        " a database need the same key.",
    )
    new_signing_key: bool = Field(
        default=False,
        description="Start although the database's tasks were signed with another key, or "
        "with one that is missing now; holders who pinned the old key then "
        "refuse.",
    )
    guard_models: bool = Field(
        default=False,
        description=f"Require a token of scope {Scope.READER.or_higher} to read models and to "
        "predict.",
    )
    dashboard: bool = Field(
        default=True,
        description="Serve the dashboard at /; its actions require signing in.",
    )
    oidc_issuer: str = Field(
        default="",
        description="Issuer of the OpenID Connect provider for signing in to the dashboard."
        " Unset: people sign in with tokens only.",
    )
    oidc_client_id: str = Field(default="", description="Client id registered at the provider.")
    oidc_client_secret: SecretStr | None = Field(
        default=None,
        description="Client secret of at least 128 random bits, in the environment only; it"
        " also seals people's sessions.",
    )
    oidc_redirect_uri: str = Field(
        default="",
        description="Redirect URI registered at the provider: this curator's public address"
        f" followed by {CALLBACK}.",
    )
    oidc_scope: str = Field(
        default="openid profile",
        description="Scopes to request, separated by spaces; some providers return groups "
        "only if groups is among them.",
    )
    oidc_claim: str = Field(
        default="roles",
        min_length=1,
        description="Claim with a person's roles; dots lead into objects, as in "
        "realm_access.roles.",
    )
    oidc_admins: str = Field(
        default="",
        description="Values of the claim that give the scope admin, separated by commas.",
    )
    oidc_fitters: str = Field(
        default="",
        description="Values of the claim that give the scope fitter, separated by commas.",
    )
    oidc_readers: str = Field(
        default="",
        description="Values of the claim that give the scope reader, separated by commas.",
    )
    oidc_session_seconds: int = Field(
        default=3600,
        gt=0,
        description="Seconds until people have to sign in again; a role withdrawn at the "
        "provider stays valid until then.",
    )
    oidc_audience: str = Field(
        default="",
        description="Audience of the provider's access tokens (JWT) that the API accepts. "
        "Unset: it accepts none.",
    )
    worker_memory: int = Field(
        default=4096 * MIB,
        gt=0,
        description="Memory limit, in bytes of data, of each process that fits, creates "
        "tasks or makes large predictions; what needs more is refused.",
    )
    keep_tasks_days: float | None = Field(
        default=None,
        ge=0,
        description="Days after its closing time when a task and all its data are deleted. "
        "Unset: never.",
    )
    certificate_of: str = Field(
        default="",
        description="host:port of a proxy that answers with TLS, or the absolute path of its "
        "certificate; /metrics then states when it expires.",
    )
    backups: str = Field(
        default="",
        description="Folder with the backups of a timer; /metrics then states when the newest of "
        "them was made. Unset: when the database was last backed up.",
    )
    database_disk: str = Field(
        default="",
        description="Folder on the database's disk, whose free space /metrics states. Unset: that "
        "of SQLite's file.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Addresses or networks of proxies whose X-Forwarded-For is trusted, "
        "separated by commas; * for all.",
    )
    root_path: str = Field(
        default="",
        description="Path below which a proxy serves the curator, such as /privet, and which it "
        "takes off again: links of the dashboard begin with it.",
    )
    rate_limit: int = Field(
        default=0,
        ge=0,
        description="Maximum number of POST requests, exports and comparisons of models per"
        " minute and token, signed-in person or, without one, client address; 0 means no limit.",
    )
    token_tries: int = Field(
        default=10,
        ge=0,
        description="Failed authentications allowed per minute and client address; after "
        "that, wrong tokens get 429. 0 means no limit.",
    )
    relay_rate_limit: int = Field(
        default=0,
        ge=0,
        description="Maximum number of reports per minute in batches sent with one token; 0"
        " means no limit.",
    )
    cors_holders: bool = Field(
        default=True,
        description="Let web pages of any origin fetch a task and send reports, as the "
        "answer page does, and nothing else.",
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="Logs for people (console) or as JSON lines (json)."
    )

    @field_validator("backups", "database_disk")
    @classmethod
    def _check_folder(cls, folder: str) -> str:
        if folder and not Path(folder).is_dir():
            raise ValueError(f"there is no folder {folder}: make it, or name another")
        return folder

    @field_validator("root_path")
    @classmethod
    def _check_path(cls, path: str) -> str:
        if not ROOT_PATH.fullmatch(path):
            raise ValueError(
                f"{path!r} is no path: begin it with /, as in /privet, and end without"
            )
        return path

    @field_validator("certificate_of")
    @classmethod
    def _check_certificate(cls, place: str) -> str:
        if place and not place.startswith("/") and not PLACE.fullmatch(place):
            raise ValueError(
                f"{place!r} is neither host:port, as in curator.example:443, nor a file's "
                "absolute path"
            )
        return place

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, proxies: str) -> str:
        return read_proxies(proxies)

    @field_validator("admin_token", "oidc_client_secret")
    @classmethod
    def _check_token(cls, token: SecretStr | None) -> SecretStr | None:
        fault = None if token is None else fault_of_token(token.get_secret_value())
        if fault is not None:
            raise ValueError(fault)
        return token

    @model_validator(mode="after")
    def _check_oidc(self) -> Self:
        if not self.oidc_issuer:
            return self
        for name in ("oidc_client_id", "oidc_client_secret", "oidc_redirect_uri"):
            if not getattr(self, name):
                raise ValueError(f"PRIVET_OIDC_ISSUER needs PRIVET_{name.upper()}: set it too")
        if not any(values.strip(" ,") for values in self.oidc_values):
            raise ValueError(
                "Set PRIVET_OIDC_ADMINS, PRIVET_OIDC_FITTERS or PRIVET_OIDC_READERS, or nobody "
                "can sign in"
            )
        if not all(map(SAFE_URL.match, (self.oidc_issuer, self.oidc_redirect_uri))):
            raise ValueError(
                "PRIVET_OIDC_ISSUER and PRIVET_OIDC_REDIRECT_URI must be https, or on this machine"
            )
        if not self.oidc_redirect_uri.endswith(CALLBACK):
            raise ValueError(f"PRIVET_OIDC_REDIRECT_URI must end in {CALLBACK}")
        if "openid" not in self.oidc_scope.split():
            raise ValueError("PRIVET_OIDC_SCOPE must have openid among its words")
        if self.oidc_audience == self.oidc_client_id:
            raise ValueError(
                "PRIVET_OIDC_AUDIENCE must not be PRIVET_OIDC_CLIENT_ID, or ID tokens would "
                "be access tokens"
            )
        return self

    @property
    def oidc_values(self) -> tuple[str, str, str]:
        """The claim's values for admins, fitters and readers."""
        return self.oidc_admins, self.oidc_fitters, self.oidc_readers

    @property
    def secrets(self) -> list[str]:
        """Values that are never shown: the admin token and the client secret."""
        hidden = (self.admin_token, self.oidc_client_secret)
        return [secret.get_secret_value() for secret in hidden if secret is not None]


def unknown_variable(names: Iterable[str]) -> str | None:
    """The fault of the first name in the environment that starts like a setting but is
    none; None if there is no such name."""
    variables = OTHER_VARIABLES | {f"PRIVET_{name.upper()}" for name in Settings.model_fields}
    for name in sorted(names):
        if name.startswith("PRIVET_") and name not in variables:
            nearest = difflib.get_close_matches(name, variables, 1)
            meant = (
                f"did you mean {nearest[0]}? Else" if nearest else "privet serve --help lists all;"
            )
            return f"There is no setting {name}: {meant} take it out of the environment."
    return None
