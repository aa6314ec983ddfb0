"""What the board shows beside detections: users and their states, triggers, bills, quarantine."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Select, func, select
from sqlalchemy.dialects.postgresql import distinct_on

from compliance.errors import NotFound
from compliance.records import tables as t
from compliance.records.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How many detections and violations of an industrial user are open."""

    industrial_user_id: int
    to_decide: int
    violations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerFact:
    """The newest share of the plant's design that a user's figures reach, under one rule."""

    industrial_user: str
    city: str
    rule_id: str
    as_of: date
    state: str
    share: str
    working: tuple[str, ...]
    plant: str | None
    source: str | None

    @property
    def parameter(self) -> str:
        """Whose share it is: the last word of the rule's id."""
        return self.rule_id.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """A line of a bill with its working; numbers are text, as printed.

    samples: what a mean of several results was made of, so that it can be made again.
    """

    code: str
    description: str
    quantity: str
    unit: str
    rate: str
    unrounded: str
    amount: Decimal
    working: tuple[str, ...]
    sources: tuple[str, ...]
    samples: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A bill; ``last`` is its period's last day."""

    number: str
    industrial_user: str
    city: str
    first: date
    last: date
    tariff: str
    tariff_sha256: str
    total: Decimal
    due_on: date | None
    state: str
    notes: tuple[str, ...]
    made_at: datetime
    lines: tuple[BillLine, ...] = ()


def standings(db: Connection, scope: Scope) -> dict[int, Standing]:
    """Open detections and violations, by industrial user."""
    to_decide = (
        select(func.count())
        .select_from(t.detection.join(t.exceedance))
        .where(
            t.detection.c.industrial_user_id == t.industrial_user.c.id,
            t.detection.c.state == "detected",
            t.exceedance.c.superseded_at.is_(None),
        )
        .scalar_subquery()
    )
    opened = (
        select(func.count())
        .where(
            t.violation.c.industrial_user_id == t.industrial_user.c.id,
            t.violation.c.state.not_in(("corrected", "closed")),
        )
        .scalar_subquery()
    )
    rows = db.execute(select(t.industrial_user.c.id, to_decide, opened).where(scope.rows()))
    return {
        row[0]: Standing(industrial_user_id=row[0], to_decide=row[1], violations=row[2])
        for row in rows
    }


def to_decide(db: Connection, scope: Scope) -> int:
    """How many detections wait for a person."""
    return sum(one.to_decide for one in standings(db, scope).values())


def triggers(
    db: Connection, scope: Scope, *, states: tuple[str, ...] = ("reached", "approaching")
) -> tuple[TriggerFact, ...]:
    """The newest fact of each user and rule that is in one of the states."""
    f = t.trigger_fact.c
    newest = (
        select(t.trigger_fact)
        .ext(distinct_on(f.industrial_user_id, f.rule_id))
        .order_by(f.industrial_user_id, f.rule_id, f.as_of.desc())
        .subquery()
    )
    plant = select(t.plant.c.city_id, t.plant.c.name, t.plant.c.source).subquery("its_plant")
    rows = db.execute(
        select(
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.name.label("city"),
            newest.c.rule_id,
            newest.c.as_of,
            newest.c.state,
            newest.c.share,
            newest.c.working,
            plant.c.name.label("plant"),
            plant.c.source,
        )
        .select_from(newest)
        .join(t.industrial_user, t.industrial_user.c.id == newest.c.industrial_user_id)
        .join(t.city, t.city.c.id == t.industrial_user.c.city_id)
        .join(plant, plant.c.city_id == t.city.c.id, isouter=True)
        .where(scope.rows(), newest.c.state.in_(states))
        .order_by(newest.c.state.desc(), t.industrial_user.c.name, newest.c.rule_id)
    ).mappings()
    return tuple(TriggerFact(**{**row, "working": _lines(row["working"])}) for row in rows)


def bills(db: Connection, scope: Scope, *, limit: int = 100) -> tuple[Bill, ...]:
    """Bills without their lines, the newest period first."""
    rows = db.execute(
        _bills(scope).order_by(func.lower(t.bill.c.period).desc(), t.bill.c.number).limit(limit)
    ).mappings()
    return tuple(_bill(row) for row in rows)


def bill(db: Connection, scope: Scope, number: str) -> Bill:
    """One bill with its lines. Raises: NotFound."""
    row = db.execute(_bills(scope).where(t.bill.c.number == number)).mappings().first()
    if row is None:
        raise NotFound(f"There is no bill {number} here.")
    c = t.bill_line.c
    lines = db.execute(
        select(
            c.code,
            c.description,
            c.quantity,
            c.unit,
            c.rate,
            c.unrounded,
            c.amount,
            c.working,
            c.sources,
            c.samples,
        )
        .where(c.bill_id == row["id"])
        .order_by(c.position)
    ).mappings()
    return _bill(
        row,
        tuple(
            BillLine(
                **{
                    **line,
                    "working": _lines(line["working"]),
                    "sources": _lines(line["sources"]),
                    "samples": tuple(line["samples"]),
                }
            )
            for line in lines
        ),
    )


def readings_taken(
    db: Connection, channels: Sequence[int], *, since: datetime, until: datetime
) -> int:
    """How many readings of some channels there are in ``[since, until)``, flagged ones too."""
    c = t.reading.c
    taken = select(func.count()).where(
        c.channel_id.in_(channels), c.read_at >= since, c.read_at < until
    )
    return db.scalar(taken) or 0


def quarantined(db: Connection, *, since: datetime, workers: Collection[str] | None = None) -> int:
    """How many frames could not be stored since an instant.

    workers: of these alone; None: of all.
    """
    c = t.quarantine.c
    wanted = select(func.count()).select_from(t.quarantine).where(c.at >= since)
    if workers is not None:
        wanted = wanted.where(c.worker.in_(workers))
    return db.scalar(wanted) or 0


def _bills(scope: Scope) -> Select[Any]:
    b = t.bill.c
    return (
        select(
            b.id,
            b.number,
            t.industrial_user.c.name.label("industrial_user"),
            t.city.c.name.label("city"),
            b.period,
            b.tariff,
            b.tariff_sha256,
            b.total,
            b.due_on,
            b.state,
            b.notes,
            b.made_at,
        )
        .select_from(t.bill)
        .join(t.industrial_user, t.industrial_user.c.id == b.industrial_user_id)
        .join(t.city, t.city.c.id == t.industrial_user.c.city_id)
        .where(scope.rows())
    )


def _bill(row: Mapping[Any, Any], lines: tuple[BillLine, ...] = ()) -> Bill:
    kept = dict(row)
    kept.pop("id")
    period = kept.pop("period")
    return Bill(
        **{
            **kept,
            "first": period.lower,
            "last": date.fromordinal(period.upper.toordinal() - 1),
            "notes": _lines(row["notes"]),
            "lines": lines,
        }
    )


def _lines(value: Any) -> tuple[str, ...]:
    """A JSON list of sentences, or a mapping of names and values, as lines."""
    if isinstance(value, Mapping):
        return tuple(f"{name}: {part}" for name, part in value.items() if part not in (None, ""))
    return tuple(_sentence(part) for part in value or ())


def _sentence(part: Any) -> str:
    if isinstance(part, Mapping):
        return ", ".join(f"{name} {value}" for name, value in part.items())
    return str(part)
