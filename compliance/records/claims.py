"""What rests on readings: findings and what people made of them, bills, corrections, verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Select, and_, any_, func, select
from sqlalchemy.dialects.postgresql import array

from compliance.model.keeping import Claim
from compliance.model.periods import Period
from compliance.records import tables as t

AROUND = timedelta(days=2)
"""Before and after a finding: what it was compared with, and what is shown beside it."""
_DECIDED = ("explained", "joined")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """By what they rest on: all readings of a point, of a user, or those of one channel."""

    of_points: dict[int, list[Claim]] = field(default_factory=dict)
    of_users: dict[int, list[Claim]] = field(default_factory=dict)
    of_channels: dict[int, list[Claim]] = field(default_factory=dict)

    def on(self, *, channel: int, point: int, user: int) -> tuple[Claim, ...]:
        """All that rests on the readings of a channel."""
        own = (self.of_points.get(point), self.of_users.get(user), self.of_channels.get(channel))
        return tuple(claim for claims in own for claim in claims or ())


def of_city(db: Connection, city_id: int, zone: ZoneInfo) -> Claims:
    """What rests on the readings of a city. zone: of its days, which bills cover."""
    return Claims(
        of_points=_grouped(_findings(db, city_id)),
        of_users=_grouped(_bills(db, city_id, zone)),
        of_channels=_grouped([*_corrections(db, city_id), *_determinations(db, city_id)]),
    )


def _grouped(found: Iterable[tuple[int, Claim]]) -> dict[int, list[Claim]]:
    groups: dict[int, list[Claim]] = {}
    for key, claim in found:
        groups.setdefault(key, []).append(claim)
    return groups


def _findings(db: Connection, city_id: int) -> Iterable[tuple[int, Claim]]:
    """Every detection, whatever it was found in: the point is judged as a whole."""
    for row in db.execute(_detections(city_id)):
        name = f"violation {row.number}" if row.number else f"detection {row.id} ({row.rule_id})"
        yield (
            row.monitoring_point_id,
            Claim(
                what=name,
                since=row.starts_at - AROUND,
                until=row.ends_at + AROUND,
                settled_at=row.settled_at if _is_settled(row) else None,
            ),
        )


def _is_settled(row: object) -> bool:
    """Whether nobody has to do anything more with a detection."""
    if row.number is not None:  # type: ignore[attr-defined]
        return bool(row.violation_state == "closed")  # type: ignore[attr-defined]
    decided: bool = row.state in _DECIDED  # type: ignore[attr-defined]
    return decided or row.superseded_at is not None  # type: ignore[attr-defined]


def _detections(city_id: int) -> Select[tuple[object, ...]]:
    """Detections with the newest instant at which something became of them."""
    e, d, v, h = t.exceedance.c, t.detection.c, t.violation.c, t.exceedance_history.c
    subjects = array([func.concat("detection:", d.id), func.concat("violation:", v.number)])
    acted = select(func.max(t.act.c.at)).where(t.act.c.subject == func.any(subjects))
    changed = select(func.max(h.at)).where(h.exceedance_id == e.id)
    settled = func.greatest(
        d.detected_at,
        v.opened_at,
        e.superseded_at,
        acted.scalar_subquery(),
        changed.scalar_subquery(),
    )
    return (
        select(
            d.id,
            d.state,
            e.monitoring_point_id,
            e.rule_id,
            e.starts_at,
            e.ends_at,
            e.superseded_at,
            v.number,
            v.state.label("violation_state"),
            settled.label("settled_at"),
        )
        .select_from(t.detection.join(t.exceedance).join(t.monitoring_point))
        .join(t.industrial_user, t.industrial_user.c.id == d.industrial_user_id)
        .outerjoin(t.violation, v.detection_id == d.id)
        .where(t.industrial_user.c.city_id == city_id)
        .order_by(d.id)
    )


def _bills(db: Connection, city_id: int, zone: ZoneInfo) -> Iterable[tuple[int, Claim]]:
    b = t.bill.c
    rows = db.execute(
        select(b.industrial_user_id, b.number, b.period, b.state, b.made_at)
        .join(t.industrial_user)
        .where(t.industrial_user.c.city_id == city_id)
        .order_by(b.id)
    )
    for row in rows:
        window = Period(start=row.period.lower, end=row.period.upper).window(zone)
        made_at = None if row.state == "draft" else row.made_at
        yield (
            row.industrial_user_id,
            Claim(
                what=f"bill {row.number}",
                since=window.start,
                until=window.end,
                settled_at=made_at,
                settled="issued",
            ),
        )


def _corrections(db: Connection, city_id: int) -> Iterable[tuple[int, Claim]]:
    """Corrections made together as one."""
    c = t.correction.c
    together = (c.channel_id, c.by, c.at)
    rows = db.execute(
        _of_city(
            select(*together, func.min(c.read_at).label("first"), func.max(c.read_at).label("last"))
            .select_from(t.correction)
            .join(t.channel, t.channel.c.id == c.channel_id),
            city_id,
        )
        .group_by(*together)
        .order_by(c.at)
    )
    for row in rows:
        span = (row.first, row.last + timedelta(microseconds=1))
        yield row.channel_id, _made(f"a correction by {row.by}", span, row.at)


def _determinations(db: Connection, city_id: int) -> Iterable[tuple[int, Claim]]:
    d = t.determination.c
    rows = db.execute(
        _of_city(
            select(d.id, d.channel_id, d.since, d.until, d.at)
            .select_from(t.determination)
            .join(t.channel, t.channel.c.id == d.channel_id),
            city_id,
        ).order_by(d.id)
    )
    for row in rows:
        yield row.channel_id, _made(f"determination {row.id}", (row.since, row.until), row.at)


def _of_city(query: Select[tuple[object, ...]], city_id: int) -> Select[tuple[object, ...]]:
    points = t.monitoring_point.c.id == t.channel.c.monitoring_point_id
    joined = query.join(t.monitoring_point, points).join(t.industrial_user)
    return joined.where(t.industrial_user.c.city_id == city_id)


def _made(what: str, span: tuple[datetime, datetime], at: datetime) -> Claim:
    return Claim(what=what, since=span[0], until=span[1], settled_at=at, settled="made")


def waiting(db: Connection, channel: int, *, since: datetime, until: datetime) -> bool:
    """Whether readings of a channel in ``[since, until)`` still wait to be judged or summed."""
    d = t.dirty.c
    found = select(d.id).where(and_(d.since < until, d.until > since, any_(d.channels) == channel))
    return db.execute(found.limit(1)).first() is not None
