"""Whether a database still shows what it was given: asked at every start, before any judging.

A TimescaleDB that is switched to its apache edition reads the chunks that the community edition
compressed as empty, and says nothing (fixed only in 2.26.4). The sums of days know better. The
editions that served a database are kept, so that the refusal can say which one did last.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection, Engine, func, select, text
from sqlalchemy.dialects.postgresql import insert

from compliance.errors import StorageError
from compliance.records import timescale
from compliance.records.tables import edition_seen

NOTED_EVERY = timedelta(minutes=10)
SAMPLE = 5
"""So many of the oldest summed days are looked up in the readings."""
REPAIR = {
    "community": "restore a backup",
    "apache": "that edition shows nothing of what the community edition has compressed: set "
    "timescaledb.license back to 'timescale', or restore a backup",
    "plain": "restore a backup made by pg_dump under that edition",
}
EMPTY = text(
    """
    SELECT d.channel_id, d.day, d.readings, c.zone
    FROM (
        SELECT * FROM rollup_day AS summed
        WHERE readings > 0 AND NOT EXISTS (
            SELECT FROM destruction AS x
            WHERE x.channel_id = summed.channel_id
              AND x.closed_from < (summed.day + 2)::timestamp AT TIME ZONE 'UTC'
              AND x.closed_until > (summed.day - 1)::timestamp AT TIME ZONE 'UTC'
        )
        ORDER BY day, channel_id LIMIT :sample
    ) AS d
    JOIN channel ON channel.id = d.channel_id
    JOIN monitoring_point AS p ON p.id = channel.monitoring_point_id
    JOIN industrial_user AS u ON u.id = p.industrial_user_id
    JOIN city AS c ON c.id = u.city_id
    WHERE NOT EXISTS (
        SELECT FROM reading AS r
        WHERE r.channel_id = d.channel_id
          AND r.read_at >= d.day::timestamp AT TIME ZONE c.zone
          AND r.read_at < (d.day + 1)::timestamp AT TIME ZONE c.zone
    )
    """
)


def refuse_hidden_history(engine: Engine) -> None:
    """Refuse a server that shows no readings of days whose sums say that there are some.

    A server that shows them is noted, with its edition.
    Raises: StorageError naming such a day, the edition, and the one that served before.
    """
    with engine.begin() as db:
        edition = timescale.edition(db)
        hidden = db.execute(EMPTY, {"sample": SAMPLE}).first()
        if hidden is None:
            note(db, edition)
            return
        before = last_other(db, edition)
    raise StorageError(
        f"the database shows no reading of channel {hidden.channel_id} on {hidden.day}, although "
        f"{hidden.readings} were summed: it runs on {timescale.EDITIONS[edition]}{before}; "
        f"{REPAIR[edition]}"
    )


def note(db: Connection, edition: str) -> None:
    """Keep that an edition serves this database now."""
    row = insert(edition_seen).values(edition=edition)
    db.execute(
        row.on_conflict_do_update(
            index_elements=["edition"],
            set_={"last_at": func.now()},
            where=edition_seen.c.last_at < func.now() - NOTED_EVERY,
        )
    )


def last_other(db: Connection, edition: str) -> str:
    """Words that say which other edition served last, and until when; empty without any."""
    e = edition_seen.c
    found = db.execute(
        select(e.edition, e.last_at).where(e.edition != edition).order_by(e.last_at.desc()).limit(1)
    ).first()
    if found is None:
        return ""
    return f" (until {found.last_at:%Y-%m-%d %H:%M} UTC on {timescale.EDITIONS[found.edition]})"
