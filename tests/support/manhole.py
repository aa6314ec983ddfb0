"""One control manhole in Prescott with a pH and a flow channel, and readings put into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from sqlalchemy import Engine, select

from compliance.jobs import site
from compliance.jobs.evaluate import evaluate
from compliance.jobs.facts import Judged
from compliance.model.periods import to_us
from compliance.model.readings import Quality
from compliance.model.sites import Role, Viewer
from compliance.records import people, sites
from compliance.records import tables as t
from ingest import backfill

AT = datetime(2026, 7, 6, 12, tzinfo=UTC)
"""A Monday, 7:00 in Prescott."""

SITE = {
    "cities": [
        {
            "slug": "prescott",
            "name": "City of Prescott",
            "zone": "America/Chicago",
            "rulebooks": ["prescott", "federal"],
            "control_authority": "Wisconsin DNR",
            "ordinance_authority": "Director",
            "billing_authority": "City of Prescott",
            "users": [
                {
                    "slug": "acme",
                    "name": "Acme Plating",
                    "makes": "Fasteners",
                    "is_significant": True,
                    "category": "C",
                    "water_meter": '2"',
                    "points": [
                        {
                            "code": "MH-1",
                            "place": "Control manhole",
                            "gateway": {"name": "g1", "host": "127.0.0.1", "port": 15999},
                            "instruments": [
                                {
                                    "unit": 1,
                                    "map": "eh-liquiline-cm44x",
                                    "order": "ABCD",
                                    "confirmed": {"by": "Ana Ruiz", "on": "2020-01-01",
                                                  "how": "compared with the display"},
                                    "channels": [
                                        {"entry": "ai1_value", "parameter": "ph", "unit": "s.u.",
                                         "resolution": "0.01", "interval_s": 60},
                                        {"entry": "ai2_value", "parameter": "flow", "unit": "gpm",
                                         "resolution": "0.1", "interval_s": 60},
                                    ],
                                }
                            ],
                        }
                    ],
                }
            ],
        }
    ]
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Manhole:
    """The manhole of ``SITE`` in a database."""

    engine: Engine
    ph: int
    flow: int
    coordinator: Viewer

    def put(
        self,
        minutes: Mapping[int, float | None],
        *,
        channel: int | None = None,
        worker: str = "w",
        start: datetime = AT,
    ) -> None:
        """Store readings at minutes after ``start``; None is a missing one."""
        at_us = np.array([to_us(start + timedelta(minutes=m)) for m in minutes], dtype=np.int64)
        value = np.array([np.nan if v is None else v for v in minutes.values()])
        quality = np.where(np.isnan(value), int(Quality.NO_ANSWER), 0).astype(np.int64)
        history = backfill.History(at_us=at_us, value=value, quality=quality)
        backfill.store(self.engine, worker=worker, series={channel or self.ph: history})

    def judge(self, *, after: int = 0) -> Judged:
        """Evaluate all that waits, at a minute after the start."""
        return evaluate(self.engine, now=AT + timedelta(minutes=after), release="test")

    def facts(self) -> list[tuple[int, int, str, bool]]:
        """Standing facts: minutes of start and end, worst, and whether it is settled."""
        with self.engine.connect() as db:
            rows = db.execute(
                select(t.exceedance)
                .where(t.exceedance.c.superseded_at.is_(None))
                .order_by(t.exceedance.c.starts_at, t.exceedance.c.rule_id)
            ).mappings()
            return [
                (
                    int((row["starts_at"] - AT).total_seconds() // 60),
                    int((row["ends_at"] - AT).total_seconds() // 60),
                    row["worst"],
                    row["settled"],
                )
                for row in rows
            ]

    def count(self, table: str) -> int:
        """How many rows a table has."""
        with self.engine.connect() as db:
            return len(db.execute(select(t.metadata.tables[table])).all())

    def events(self) -> list[str]:
        """The types of all events, in order."""
        with self.engine.connect() as db:
            return [row.type for row in db.execute(select(t.outbox).order_by(t.outbox.c.id))]


def manhole(engine: Engine) -> Manhole:
    """Write ``SITE`` into a fresh database."""
    site.store(engine, site.SiteDocument.model_validate(SITE))
    with engine.begin() as db:
        channels = {place.parameter.value: cid for cid, place in sites.places(db).items()}
        city = sites.city(db, "prescott")
        person = people.add(
            db,
            login="ana",
            name="Ana Ruiz",
            password="-",
            role=Role.COORDINATOR,
            office="Coordinator",
            city_id=city.id,
        )
    return Manhole(
        engine=engine,
        ph=channels["ph"],
        flow=channels["flow"],
        coordinator=Viewer(
            person_id=person,
            name="Ana Ruiz",
            role=Role.COORDINATOR,
            city_id=city.id,
            industrial_user_id=None,
        ),
    )
