"""Events on their way out: written with what they tell of, sent later, each attempt kept."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    true,
    update,
)

from compliance.records.tables import delivery, delivery_attempt, endpoint, outbox

CHANNEL = "pretreat_outbox"
LEASE = timedelta(seconds=60)
"""How long a claimed delivery stays away from others; a worker that dies gives it back so."""

_BASE_URL = select(func.current_setting("pretreat.base_url", True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """One message for one endpoint, ready to be sent; ``attempts`` were made before."""

    delivery_id: int
    message_id: str
    type: str
    body: str
    endpoint_id: int
    url: str
    secret: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt: ``status`` is None when no answer came; ``answer`` says what did."""

    at: datetime
    status: int | None
    milliseconds: int
    headers: Mapping[str, str]
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A receiver. failing_since: nothing but failure from then on; city_id None: of all cities."""

    id: int
    city_id: int | None
    url: str
    state: str
    failing_since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message on its way to one endpoint, with every attempt so far.

    endpoint_city_id: None where the receiver gets the events of all cities.
    """

    id: int
    endpoint_city_id: int | None
    message_id: str
    type: str
    body: str
    at: datetime
    url: str
    state: str
    next_at: datetime
    attempts: tuple[Attempt, ...]


def put(
    db: Connection,
    type: str,
    data: Mapping[str, Any],
    city_id: int | None = None,
    *,
    at: datetime | None = None,
) -> str:
    """Write an event in the caller's transaction; returns its message id.

    data: ids, times, values and a ``link``, no personal data; a number that is not finite becomes
    null. A ``link`` that begins with / is put behind the installation's address, which the session
    carries (``make_engine``). The body is fixed here: these bytes are signed and sent. Working
    endpoints of the city, and those of all cities, get it; people of that city may read it, and
    where it is of none only those of the whole installation.
    """
    message_id = f"msg_{secrets.token_hex(16)}"
    plain = _plain(data)
    link = plain.get("link")
    if isinstance(link, str) and link.startswith("/"):
        plain["link"] = (db.scalar(_BASE_URL) or "") + link
    happened = at or datetime.now(UTC)
    body = _strict({"type": type, "timestamp": happened.isoformat(), "data": plain})
    outbox_id = db.scalar(
        insert(outbox)
        .values(message_id=message_id, city_id=city_id, type=type, body=body, at=happened)
        .returning(outbox.c.id)
    )
    theirs = select(literal(outbox_id), endpoint.c.id, text("'waiting'")).where(
        endpoint.c.state == "working",
        or_(endpoint.c.city_id.is_(None), endpoint.c.city_id == city_id),
    )
    db.execute(insert(delivery).from_select(["outbox_id", "endpoint_id", "state"], theirs))
    db.execute(select(func.pg_notify(CHANNEL, type)))
    return message_id


def due(
    db: Connection,
    *,
    now: datetime,
    limit: int = 20,
    busy: Sequence[int] = (),
    only: int | None = None,
    failing: bool | None = None,
) -> tuple[Due, ...]:
    """Claim at most one waiting delivery of each endpoint that is not busy, oldest first.

    only: the one endpoint to look at; failing: those alone that do or do not fail at present.

    A claim is a lease: the delivery is due again after ``LEASE`` unless an attempt is recorded.
    """
    first = (
        select(delivery.c.id, delivery.c.outbox_id, delivery.c.attempts, delivery.c.next_at)
        .where(
            delivery.c.endpoint_id == endpoint.c.id,
            delivery.c.state == "waiting",
            delivery.c.next_at <= now,
        )
        .order_by(delivery.c.next_at, delivery.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
        .correlate(endpoint)
        .lateral("first")
    )
    claimed = db.execute(
        select(
            first.c.id.label("delivery_id"),
            first.c.attempts,
            outbox.c.message_id,
            outbox.c.type,
            outbox.c.body,
            endpoint.c.id.label("endpoint_id"),
            endpoint.c.url,
            endpoint.c.secret,
        )
        .select_from(endpoint.join(first, true()))
        .join(outbox, outbox.c.id == first.c.outbox_id)
        .where(endpoint.c.state == "working", endpoint.c.id.not_in(busy))
        .where(endpoint.c.id == only if only is not None else true())
        .where(endpoint.c.failing_since.is_not(None) == failing if failing is not None else true())
        .order_by(first.c.next_at)
        .limit(limit)
    ).mappings()
    found = tuple(Due(**row) for row in claimed)
    db.execute(
        update(delivery)
        .where(delivery.c.id.in_([one.delivery_id for one in found]))
        .values(next_at=now + LEASE)
    )
    return found


def record_attempt(
    db: Connection, one: Due, attempt: Attempt, *, next_at: datetime | None, gone: bool = False
) -> None:
    """Keep an attempt and say what follows.

    next_at: when to try again; None ends it: delivered on a 2xx, else dead. gone: the receiver
    asked for no more, so its endpoint is disabled and what waits for it is dead.
    """
    delivered = attempt.status is not None and 200 <= attempt.status < 300
    state = "delivered" if delivered else ("waiting" if next_at else "dead")
    db.execute(
        insert(delivery_attempt).values(
            delivery_id=one.delivery_id,
            at=attempt.at,
            status=attempt.status,
            milliseconds=attempt.milliseconds,
            headers=dict(attempt.headers),
            answer=attempt.answer,
        )
    )
    db.execute(
        update(delivery)
        .where(delivery.c.id == one.delivery_id)
        .values(state=state, attempts=delivery.c.attempts + 1, next_at=next_at or attempt.at)
    )
    since = None if delivered else func.coalesce(endpoint.c.failing_since, attempt.at)
    db.execute(update(endpoint).where(endpoint.c.id == one.endpoint_id).values(failing_since=since))
    if gone:
        disable(db, one.endpoint_id)


def disable(db: Connection, endpoint_id: int) -> None:
    """Send nothing more to an endpoint; what waits for it is dead."""
    db.execute(update(endpoint).where(endpoint.c.id == endpoint_id).values(state="disabled"))
    db.execute(
        update(delivery)
        .where(delivery.c.endpoint_id == endpoint_id, delivery.c.state == "waiting")
        .values(state="dead")
    )


def give_up(db: Connection, endpoint_id: int, *, failing_before: datetime) -> bool:
    """Disable an endpoint that has only failed since before an instant; whether it did."""
    since = db.scalar(select(endpoint.c.failing_since).where(endpoint.c.id == endpoint_id))
    if since is None or since >= failing_before:
        return False
    disable(db, endpoint_id)
    return True


def add_endpoint(db: Connection, *, url: str, secret: str, city_id: int | None = None) -> int:
    """A new receiver; ``secret`` is ``whsec_`` and base64, city_id None: events of all cities."""
    made: int = db.execute(
        insert(endpoint)
        .values(url=url, secret=secret, city_id=city_id, state="working")
        .returning(endpoint.c.id)
    ).scalar_one()
    return made


def endpoints(db: Connection, *, city_id: int | None) -> tuple[Endpoint, ...]:
    """Receivers that get events of a city; city_id None: all."""
    c = endpoint.c
    wanted = select(c.id, c.city_id, c.url, c.state, c.failing_since)
    if city_id is not None:
        wanted = wanted.where(or_(c.city_id.is_(None), c.city_id == city_id))
    rows = db.execute(wanted.order_by(c.id)).mappings()
    return tuple(Endpoint(**row) for row in rows)


def deliveries(
    db: Connection, *, city_id: int | None, state: str | None = None, limit: int = 50
) -> tuple[Delivery, ...]:
    """The newest deliveries of a city's own events with their attempts; city_id None: all."""
    wanted = _of_city(
        select(
            delivery.c.id,
            endpoint.c.city_id.label("endpoint_city_id"),
            outbox.c.message_id,
            outbox.c.type,
            outbox.c.body,
            outbox.c.at,
            endpoint.c.url,
            delivery.c.state,
            delivery.c.next_at,
        )
        .join(outbox, outbox.c.id == delivery.c.outbox_id)
        .join(endpoint, endpoint.c.id == delivery.c.endpoint_id),
        city_id,
    )
    if state:
        wanted = wanted.where(delivery.c.state == state)
    rows = db.execute(wanted.order_by(delivery.c.id.desc()).limit(limit)).mappings().all()
    tried = _attempts(db, [row["id"] for row in rows])
    return tuple(Delivery(**row, attempts=tuple(tried.get(row["id"], ()))) for row in rows)


def counts(db: Connection, *, city_id: int | None = None) -> dict[str, int]:
    """How many deliveries of a city's own events are in each state; city_id None: of all."""
    rows = db.execute(
        _of_city(
            select(delivery.c.state, func.count()).join(
                outbox, outbox.c.id == delivery.c.outbox_id
            ),
            city_id,
        ).group_by(delivery.c.state)
    )
    return {state: number for state, number in rows}


def _attempts(db: Connection, ids: Sequence[int]) -> dict[int, list[Attempt]]:
    c = delivery_attempt.c
    found: dict[int, list[Attempt]] = {}
    for row in db.execute(
        select(c.delivery_id, c.at, c.status, c.milliseconds, c.headers, c.answer)
        .where(c.delivery_id.in_(ids))
        .order_by(c.id)
    ).mappings():
        kept = dict(row)
        found.setdefault(kept.pop("delivery_id"), []).append(Attempt(**kept))
    return found


def _of_city(query: Select[Any], city_id: int | None) -> Select[Any]:
    return query if city_id is None else query.where(outbox.c.city_id == city_id)


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): _json(part) for key, part in value.items()}


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _plain(value)
    if isinstance(value, list | tuple):
        return [_json(part) for part in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _strict(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
