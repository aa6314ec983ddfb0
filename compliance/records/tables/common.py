"""What all tables share: the metadata with its naming, and three kinds of column."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, ForeignKey, Integer, MetaData, func

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def pk() -> Column[int]:
    """The row's own number."""
    return Column("id", Integer, primary_key=True)


def ref(to: str, *, name: str | None = None, nullable: bool = False) -> Column[int]:
    """A reference to another table's row."""
    return Column(name or f"{to}_id", ForeignKey(f"{to}.id"), nullable=nullable, index=True)


def at(name: str, *, nullable: bool = False, now: bool = False) -> Column[object]:
    """An aware instant; ``now``: set by the server when the row is written."""
    default = func.now() if now else None
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=default)
