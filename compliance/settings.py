"""The one frozen Settings, read from the environment at the start of a process."""

from __future__ import annotations

import os
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from compliance.errors import SettingsError

Network = IPv4Network | IPv6Network
PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
"""Where instruments stand unless somebody says otherwise: RFC 1918 and RFC 4193, no loopback."""


def default_home() -> Path:
    """Where data of this installation lie when PRETREAT_HOME is unset."""
    if os.geteuid() == 0:
        return Path("/var/lib/pretreat")
    return Path.home() / ".local" / "share" / "pretreat"


class Settings(BaseSettings):
    """What the environment says; a wrong value stops the start with one sentence."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    database_url: str | None = Field(None, alias="DATABASE_URL")
    home: Path = Field(default_factory=default_home, alias="PRETREAT_HOME")
    secret_file: Path | None = Field(None, alias="PRETREAT_SECRET_FILE")
    base_url: str = Field("http://127.0.0.1:8000", alias="PRETREAT_BASE_URL")
    smtp_url: str | None = Field(None, alias="PRETREAT_SMTP_URL")
    spool_bytes: int = Field(16 * 1024**3, alias="PRETREAT_SPOOL_BYTES", ge=256 * 1024)
    webhook_allow: tuple[str, ...] | str = Field((), alias="PRETREAT_WEBHOOK_ALLOW")
    field_allow: tuple[str, ...] | str = Field(PRIVATE, alias="PRETREAT_FIELD_ALLOW")

    allow_sampler_enable: bool = Field(False, alias="PRETREAT_ALLOW_SAMPLER_ENABLE")

    @field_validator("database_url")
    @classmethod
    def _postgres_only(cls, url: str | None) -> str | None:
        if url and not url.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
            raise ValueError(
                "is not a PostgreSQL address; expected postgresql://user@host:5432/name"
            )
        return url or None

    @field_validator("home", "secret_file")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return path.expanduser().absolute() if path else path

    @field_validator("base_url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError("is not a web address; expected http:// or https:// and a host")
        return url.rstrip("/")

    @field_validator("webhook_allow")
    @classmethod
    def _networks(cls, value: tuple[str, ...] | str) -> tuple[str, ...]:
        names = _parts(value)
        for name in names:
            ip_network(name)
        return names

    @field_validator("field_allow")
    @classmethod
    def _places(cls, value: tuple[str, ...] | str) -> tuple[str, ...]:
        names = _parts(value)
        for name in names:
            if not name.startswith("/"):
                ip_network(name)
            elif not name.startswith("/dev/") or ".." in name:
                raise ValueError(f"names {name}; expected networks and folders under /dev")
        return names

    @property
    def field_places(self) -> tuple[str, ...]:
        """Where people's questions to instruments may go: networks, and folders of devices."""
        return _parts(self.field_allow)

    @property
    def webhook_networks(self) -> tuple[Network, ...]:
        """Networks inside which webhooks may be delivered although they are not public."""
        return tuple(ip_network(name) for name in self.webhook_allow)


def _parts(value: tuple[str, ...] | str) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() for part in parts if part.strip())


def load() -> Settings:
    """Read the environment.

    Raises: SettingsError naming the variable, what was found and what was expected.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "the environment"
        problem = str(first["msg"]).removeprefix("Value error, ")
        raise SettingsError(f"{name} is {first.get('input')!r}, which {_verb(problem)}") from None


def _verb(problem: str) -> str:
    return problem if problem.startswith("is ") else f"cannot be used: {problem}"
