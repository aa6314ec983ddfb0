"""Alembic history, found by ``pretreat migrate``."""
