"""A second look at a point: seen by two offices only, worded as seen, kept nowhere."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import insert, inspect, select, text

from compliance.records import tables as t


def stand_at_seven(town) -> None:
    """An hour of pH 7.00 a day ago, while a flow meter that runs half of the time shows flow."""
    began = town.at - timedelta(days=1)
    with town.engine.begin() as db:
        point = db.scalar(
            select(t.channel.c.monitoring_point_id).where(t.channel.c.id == town.channel)
        )
        flow = db.execute(
            insert(t.channel).values(
                monitoring_point_id=point, entry="flow", parameter="flow", unit="gpm",
                resolution="0.1",
            )
        ).inserted_primary_key[0]  # fmt: skip
        since = began - timedelta(days=60)
        db.execute(
            insert(t.channel_cadence).values(channel_id=flow, since=since, interval_ms=10_000)
        )
        db.execute(insert(t.counting).values(channel_id=flow, since=since, by="Ana", how="seen"))
        common = {"quality": 0, "words": None, "offset_ms": 0, "batch_id": 1}
        rows = []
        for n in range(360):
            at = began + n * timedelta(seconds=10)
            rows.append({"channel_id": town.channel, "read_at": at, "value": 7.0, **common})
            rows.append({"channel_id": flow, "read_at": at, "value": 20.0, **common})
        db.execute(insert(t.reading), rows)


def counts(town) -> dict[str, int]:
    with town.engine.connect() as db:
        names = inspect(db).get_table_names()
        return {name: db.scalar(text(f'select count(*) from "{name}"')) for name in names}  # noqa: S608


def test_a_plateau_is_listed_as_seen_and_nothing_is_kept(as_person, town):
    stand_at_seven(town)
    client = as_person("ana")
    before = counts(town)
    page = client.get("/points/MH-1/second-look")
    assert page.status_code == 200
    assert "pH 7.00 ± 0.00 for 59 min while flow ran (20 to 20 gpm)" in page.text
    assert not any(word in page.text.lower() for word in ("tamper", "violation,", "fraud"))
    ignored = {"session", "person"}
    after = counts(town)
    assert {n: c for n, c in after.items() if n not in ignored} == {
        n: c for n, c in before.items() if n not in ignored
    }


def test_without_a_flow_meter_it_says_what_was_not_looked_at(as_person, town):
    page = as_person("dan").get("/points/MH-1/second-look").text
    assert "Nothing of the kind was seen" in page
    assert "this point has no flow that ran" in page


@pytest.mark.parametrize("login", ["jo", "cleo", "olga", "adam"])
def test_nobody_else_sees_it(as_person, town, login):
    client = as_person(login)
    assert client.get("/points/MH-1/second-look").status_code == 403
    assert "second-look" not in client.get("/points/MH-1").text


def test_another_users_point_is_not_there(as_person, town):
    assert as_person("jo").get("/points/MH-2/second-look").status_code == 404
