"""What a person may do with a detection: the states it can take, and who may move it."""

from __future__ import annotations

from enum import StrEnum

from compliance.errors import Refused
from compliance.model.sites import Role, Viewer


class Decision(StrEnum):
    """What a person decides; the value is the detection's state afterwards."""

    OPEN = "opened"
    EXPLAIN = "explained"
    WAIT = "waiting"


DECIDED = frozenset({"opened", "explained", "joined"})
MAY_DECIDE = frozenset({Role.COORDINATOR, Role.DIRECTOR})
SHORTEST_REASON = 8


def check(  # noqa: PLR0913 - what a decision depends on
    decision: Decision,
    *,
    state: str,
    withdrawn: str | None,
    viewer: Viewer,
    reason: str,
    city_id: int,
) -> None:
    """Refuse a decision that is not this viewer's, comes twice, or has no reason.

    withdrawn: why the program withdrew what it had found; None where it stands.

    Raises: Refused with the sentence to show.
    """
    if viewer.role not in MAY_DECIDE or viewer.city_id not in (None, city_id):
        raise Refused(
            f"{viewer.name} may not decide this: that is the act of its coordinator or director"
        )
    if withdrawn is not None:
        raise Refused(
            f"this detection was withdrawn ({withdrawn}); nothing is to be decided unless the "
            "program finds it again"
        )
    if state in DECIDED:
        raise Refused(f"this detection is already {state}; a correction is a new entry")
    if len(reason.strip()) < SHORTEST_REASON:
        raise Refused(
            f"the reason is {reason.strip()!r}; write at least {SHORTEST_REASON} characters: "
            "it is read at a hearing"
        )


def violation_number(year: int, serial: int) -> str:
    """How a violation is cited: its year and its place in it."""
    return f"V-{year}-{serial:04d}"
