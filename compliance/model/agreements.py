"""Service agreements: what a user whose share is large agrees with the city, and how long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum

WARNED = timedelta(days=90)
"""So long before its end an agreement is told of as ending: a setting of the program."""


class AgreementState(StrEnum):
    """Where a service agreement stands on a day."""

    PROPOSED = "proposed"
    IN_FORCE = "in force"
    EXPIRED = "expired"
    RELEASED = "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAgreement:
    """An agreement on ``[since, until)``; until: None where the paper names no end.

    capital_percent: of the capital cost, that the user goes on paying; signed_on: None while it is
    proposed; released_on: from that day on the user owes nothing under it.
    """

    id: int
    user_id: int
    user: str
    since: date
    until: date | None
    capital_percent: Decimal
    conditions: str
    document: str
    sha256: str | None
    entered_by: str
    entered_at: datetime
    signed_on: date | None = None
    released_on: date | None = None
    released_by: str | None = None
    released_why: str | None = None

    def state(self, on: date) -> AgreementState:
        """Where it stands on a day; released comes before expired, both before in force."""
        if self.released_on is not None and self.released_on <= on:
            return AgreementState.RELEASED
        if self.until is not None and self.until <= on:
            return AgreementState.EXPIRED
        if self.signed_on is None or on < max(self.since, self.signed_on):
            return AgreementState.PROPOSED
        return AgreementState.IN_FORCE

    def ends_soon(self, on: date) -> bool:
        """Whether it is in force and ends within the time of warning."""
        in_force = self.state(on) is AgreementState.IN_FORCE
        return in_force and self.until is not None and self.until - on <= WARNED


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduction:
    """Sanitary flow that is left out of a user's flow from a day on, and what it rests on."""

    user_id: int
    since: date
    gpd: Decimal
    basis: str
    entered_by: str
    entered_at: datetime
