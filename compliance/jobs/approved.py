"""Whether an exceedance is approved: on record as such, and no breach of that one rule."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import Refused
from compliance.model.control import ApprovalOnFile
from compliance.model.findings import Side
from compliance.model.periods import day_of
from compliance.records import control
from compliance.rules.control import lifting


def approval_of(  # noqa: PLR0913 - what a fact says
    db: Connection,
    *,
    user_id: int,
    rule_id: str,
    side: str,
    worst: str,
    starts_at: datetime,
    ends_at: datetime,
) -> ApprovalOnFile | None:
    """The approval that covers all of a user's exceedance; None where there is none.

    worst: in the rule's unit, as the fact writes it.
    """
    found = control.approvals(db, user_id, rule_id=rule_id)
    if not found:
        return None
    there = ZoneInfo(control.zone(db, user_id))
    return lifting(
        found,
        rule_id,
        side=Side(side),
        worst=Decimal(worst),
        first=day_of(starts_at, there),
        last=day_of(ends_at, there),
    )


def must_say_so(found: ApprovalOnFile | None, *, despite: bool) -> None:
    """Raises: Refused where a violation of an approved exceedance is opened without saying so."""
    if found is not None and not despite:
        raise Refused(
            f"this exceedance is {found.said}: that lifts {found.approval.rule_id} and no other "
            "rule; to open it all the same, say that it is opened despite the approval"
        )
