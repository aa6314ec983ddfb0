"""A person notes something about a possible slug, or decides on it: one audited transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Engine

from compliance.enforcing import slug_events
from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.enforcing.slug_events import Outcome
from compliance.errors import InputError
from compliance.model.sites import Viewer
from compliance.records import audit, findings, slugs
from compliance.records.scope import Scope
from compliance.rules.slugs import definition

KINDS = {
    "notice": "The user’s call to the treatment works",
    "follow_up": "The user’s follow-up in writing",
    "phone": "Another call",
    "effect": "An effect seen: plant, lift station, sewer",
}


def note(  # noqa: PLR0913 - what a note is
    engine: Engine,
    exceedance_id: str,
    *,
    scope: Scope,
    kind: str,
    happened_at: datetime,
    words: str,
    by: str,
    now: datetime,
) -> int:
    """Write down a call, a letter or an effect; the note's number. Nothing is changed afterwards.

    Raises: NotFound; InputError naming the field.
    """
    if kind not in KINDS:
        raise InputError(f"kind: found {kind[:40]!r}, expected one of {', '.join(KINDS)}")
    if happened_at > now:
        raise InputError(
            f"at: {happened_at.isoformat()} is to come; expected when it happened: correct it"
        )
    if len(words.strip()) < SHORTEST_REASON:
        raise InputError(
            f"words: found {words.strip()!r}; write at least {SHORTEST_REASON} characters: "
            "who said or saw what"
        )
    with engine.begin() as db:
        found = slugs.event(db, scope, exceedance_id, lock=True)
        number = slugs.add_note(
            db, exceedance_id, kind=kind, happened_at=happened_at, words=words.strip(), by=by
        )
        audit.note(
            db,
            by=by,
            act="note on a possible slug",
            subject=f"possible slug {exceedance_id}",
            detail={
                "note": number,
                "kind": kind,
                "at": happened_at,
                "point": found.point,
                "words": words.strip(),
            },
        )
    return number


def decide(  # noqa: PLR0913 - what a decision is
    engine: Engine,
    exceedance_id: str,
    *,
    scope: Scope,
    outcome: Outcome,
    given: Mapping[str, tuple[str, str]],
    reason: str,
    viewer: Viewer,
    capacity: str,
    now: datetime,
) -> int:
    """Make a possible slug a slug, or explain it; the decision's number. A later one corrects it.

    given: element of the city's definition → (yes, no or unknown; what was seen).
    Raises: NotFound; InputError, Refused with the sentence to show.
    """
    with engine.begin() as db:
        found = slugs.event(db, scope, exceedance_id, lock=True)
        asked = definition(found.rule_id)
        answered = slug_events.answers(asked, given, outcome=outcome)
        slug_events.check(
            outcome,
            found=asked,
            answered=answered,
            viewer=viewer,
            city_id=found.city_id,
            reason=reason,
            withdrawn=found.superseded_why,
        )
        elements = [{**asdict(one), "happened": one.happened.value} for one in answered]
        number = slugs.add_decision(
            db,
            exceedance_id,
            outcome=outcome.value,
            reason=reason.strip(),
            elements=elements,
            citation=asked.citation if asked else None,
            person_id=viewer.person_id,
            capacity=capacity,
            now=now,
        )
        findings.record_act(
            db,
            person_id=viewer.person_id,
            subject=f"slug:{exceedance_id}",
            verb=outcome.value,
            reason=reason.strip(),
        )
        audit.note(
            db,
            by=viewer.name,
            act=f"decide a possible slug: {outcome.value}",
            subject=f"possible slug {exceedance_id}",
            detail={
                "decision": number,
                "person": viewer.person_id,
                "capacity": capacity,
                "reason": reason.strip(),
                "elements": elements,
            },
        )
    return number
