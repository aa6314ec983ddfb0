"""What can go wrong on the way from an instrument to the spool."""

from __future__ import annotations

from compliance.errors import ComplianceError


class IngestError(ComplianceError):
    """The root of this package's errors: one sentence for a person."""
