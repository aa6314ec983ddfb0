"""People who sign in, their sessions, and what they asked for once."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ForeignKey,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

person = Table(
    "person",
    metadata,
    pk(),
    Column("login", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("password", Text, nullable=False),  # argon2
    Column("role", Text, nullable=False),
    Column("office", Text, nullable=False),  # the capacity in which this person acts
    ref("city", nullable=True),
    ref("industrial_user", nullable=True),
    Column("permits", ARRAY(Text), nullable=False, server_default="{}"),  # beyond the role
)
session = Table(
    "session",
    metadata,
    Column("token_sha256", Text, primary_key=True),
    ref("person"),
    at("created_at", now=True),
    at("seen_at", now=True),
)
signin_failure = Table(
    "signin_failure",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("login", Text, nullable=False, index=True),
    Column("address", Text, nullable=False, index=True, server_default=""),
    at("at", now=True),
)
idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("person_id", ForeignKey("person.id"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("answer", JSONB, nullable=False),
    Column("request_sha256", Text, nullable=False, server_default=""),  # what was asked for
    at("at", now=True),
)
