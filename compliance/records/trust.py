"""Whether a database still shows what it was given: asked at every start, before any judging.

A TimescaleDB that is switched to its apache edition reads the chunks that the community edition
compressed as empty, and says nothing (fixed only in 2.26.4). The sums of days know better.
"""

from __future__ import annotations

from sqlalchemy import Engine, text

from compliance.errors import StorageError
from compliance.records import timescale

SAMPLE = 5
"""So many of the oldest summed days are looked up in the readings."""
_EMPTY = text(
    """
    SELECT d.channel_id, d.day, d.readings, c.zone
    FROM (
        SELECT * FROM rollup_day WHERE readings > 0 ORDER BY day, channel_id LIMIT :sample
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

    Raises: StorageError naming such a day, and the edition.
    """
    with engine.connect() as db:
        hidden = db.execute(_EMPTY, {"sample": SAMPLE}).first()
        if hidden is None:
            return
        edition = timescale.EDITIONS[timescale.edition(db)]
    raise StorageError(
        f"the database shows no reading of channel {hidden.channel_id} on {hidden.day}, although "
        f"{hidden.readings} were summed: it runs on {edition}, which does not show what another "
        "edition has compressed; set timescaledb.license back to 'timescale', or restore a backup"
    )
