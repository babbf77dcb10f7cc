"""All settings of a curator with their help; each is an environment variable.

``Settings.database`` is read from ``PRIVET_DATABASE``, and so on. The command line's options and
the table in docs/deployment.md are made from these fields.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

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
        "PRIVET_TEST_POSTGRES",
    }
)
"""Variables of other commands and of the tests."""


CALLBACK = "/sign-in/callback"
SAFE_URL = re.compile(r"https://[^/?#@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(?=[/?#]|$)")
"""Addresses that nobody on the way can read or change: by TLS, or on this machine."""


class Settings(BaseSettings):
    """A curator's settings; the defaults suit one curator on one machine."""

    model_config = SettingsConfigDict(env_prefix="PRIVET_", extra="ignore", frozen=True)

    database: str = Field(
        default="sqlite:///privet.db",
        description="Where everything is kept: sqlite:///path/to/file.db or "
        "postgresql://user@host/name.",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(
        default=8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one."
    )
    workers: int = Field(default=1, ge=1, le=64, description="Curator processes to run.")
    admin_token: SecretStr | None = Field(
        default=None,
        description="An admin token of 128 random bits or more, in the environment only. Unset: "
        "one is made and shown once, at a start without any.",
    )
    signing_key: str = Field(
        default="",
        description="File of the key that tasks are signed with. Unset: made next to a SQLite "
        "database; with PostgreSQL tasks are not signed. Curators of one database share one key.",
    )
    new_signing_key: bool = Field(
        default=False,
        description="Start with another signing key than the database's tasks were signed with, "
        "or without one; holders who pinned the old key then refuse.",
    )
    guard_models: bool = Field(
        default=False,
        description="Ask for a token, of scope reader or admin, to read models and to predict.",
    )
    open_metrics: bool = Field(
        default=False,
        description="Let anybody read /metrics; else it asks for a token of scope reader or admin.",
    )
    dashboard: bool = Field(
        default=True,
        description="Serve the dashboard at /: what the API shows, and its actions after signing "
        "in with a token.",
    )
    oidc_issuer: str = Field(
        default="",
        description="Issuer of the OpenID Connect provider by which people sign in on the "
        "dashboard. Unset: by tokens only.",
    )
    oidc_client_id: str = Field(
        default="", description="This curator's client id, as registered at the provider."
    )
    oidc_client_secret: SecretStr | None = Field(
        default=None,
        description="Its client secret of 128 random bits or more, in the environment only; "
        "sessions of people are sealed with it too.",
    )
    oidc_redirect_uri: str = Field(
        default="",
        description="Where the provider sends people back to, as registered there: this curator's "
        f"public address followed by {CALLBACK}.",
    )
    oidc_scope: str = Field(
        default="openid profile", description="What is asked for, separated by spaces."
    )
    oidc_claim: str = Field(
        default="roles",
        description="Claim whose values give people their scope, with dots into objects, as in "
        "realm_access.roles.",
    )
    oidc_admins: str = Field(
        default="",
        description="Its values that give the scope admin, separated by commas.",
    )
    oidc_fitters: str = Field(
        default="",
        description="Its values that give the scope fitter, separated by commas.",
    )
    oidc_readers: str = Field(
        default="",
        description="Its values that give the scope reader, separated by commas.",
    )
    oidc_session_seconds: int = Field(
        default=3600,
        gt=0,
        description="Time after which people sign in anew; so long a role that was taken away at "
        "the provider still holds.",
    )
    oidc_audience: str = Field(
        default="",
        description="Audience of the provider's access tokens (JWT) that the API takes like "
        "tokens. Unset: it takes none.",
    )
    max_public_bytes: int = Field(
        default=256 * MIB, gt=0, description="Largest upload of public data, in bytes."
    )
    max_batch_bytes: int = Field(
        default=64 * MIB, gt=0, description="Largest batch of reports, in bytes."
    )
    max_batch_reports: int = Field(
        default=1_000_000, gt=0, description="Most reports in one batch."
    )
    max_request_bytes: int = Field(
        default=8 * MIB,
        gt=0,
        description="Largest body of a prediction, in bytes; other calls take 64 KiB.",
    )
    max_jobs: int = Field(
        default=1,
        ge=1,
        description="Fits and new tasks that are computed at a time, each in a process of its own.",
    )
    max_waiting_jobs: int = Field(
        default=16,
        ge=0,
        description="Fits and new tasks that may wait for that; above it the answer is 503.",
    )
    worker_memory: int = Field(
        default=4096 * MIB,
        gt=0,
        description="Bytes of data that each process of fits, new tasks or large predictions may "
        "have; what takes more is refused.",
    )
    header_seconds: float = Field(
        default=10.0, gt=0, description="Time within which a request's head must have arrived."
    )
    keep_ids_days: float = Field(
        default=1.0,
        ge=0,
        description="Days to keep report ids after a task's closing time, when none can count.",
    )
    keep_tasks_days: float | None = Field(
        default=None,
        ge=0,
        description="Days after its closing time when a task and all its data are deleted. "
        "Unset: never.",
    )
    certificate_of: str = Field(
        default="",
        description="Address host:port where a proxy answers with TLS; /metrics then says when its "
        "certificate ends.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Addresses or networks whose X-Forwarded-For is believed, separated by commas; "
        "* for all.",
    )
    rate_limit: int = Field(
        default=0,
        ge=0,
        description="Posts, exports and comparisons of models per minute and client address; 0 "
        "sets no limit.",
    )
    token_tries: int = Field(
        default=10,
        ge=0,
        description="Wrong tokens per minute and client address; above it whatever comes with a "
        "token is answered 429. 0 sets no limit.",
    )
    relay_rate_limit: int = Field(
        default=0,
        ge=0,
        description="Reports per minute that come in batches with one token; 0 sets no limit.",
    )
    cors_holders: bool = Field(
        default=True,
        description="Let web pages of any origin fetch a task and send reports, as the answer page "
        "does; no other call.",
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="Logs for people, or one JSON object per line."
    )
    shutdown_seconds: float = Field(
        default=10.0, gt=0, description="Time to finish what has been accepted before stopping."
    )

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
        if not any(self.oidc_values):
            raise ValueError(
                "Set PRIVET_OIDC_ADMINS, PRIVET_OIDC_FITTERS or PRIVET_OIDC_READERS, or nobody "
                "gets in"
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
    """What is wrong with the first of the environment's names that starts like a setting but is
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
