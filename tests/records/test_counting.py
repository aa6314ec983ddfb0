"""Only what is commissioned counts: from its confirmation on, until a change ends it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest
from sqlalchemy import Engine, select

from compliance.errors import InputError
from compliance.jobs import site
from compliance.jobs.slugs import screen_slugs
from compliance.model.readings import Quality
from compliance.model.register_map import RegisterMap
from compliance.records import audit, buckets, counting, maps, readings, setting_up
from compliance.records import tables as t
from tests.support.manhole import AT, SITE, Manhole, manhole
from tests.support.polling import entry, mapped

NORMAL = 7.2


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    """The manhole before anybody has confirmed its instrument."""
    made = manhole(engine)
    with engine.begin() as db:
        db.execute(t.counting.delete())
    return made


def begin(mh: Manhole, minute: int, *, channel: int | None = None) -> None:
    with mh.engine.begin() as db:
        since = AT + timedelta(minutes=minute)
        counting.begin(db, channel or mh.ph, since=since, by="Ana Ruiz", how="compared")


def end(mh: Manhole, minute: int) -> None:
    with mh.engine.begin() as db:
        at = AT + timedelta(minutes=minute)
        assert counting.end(db, [mh.ph], at=at, by="Ana Ruiz", why="another order")


def qualities(mh: Manhole) -> list[int]:
    with mh.engine.connect() as db:
        found = readings.usable(db, [mh.ph], since=AT, until=AT + timedelta(days=1))
    return found[mh.ph].quality.tolist()


def test_nothing_is_judged_before_the_confirmation_and_everything_after_it(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL})
    mh.judge()
    assert mh.facts() == []
    assert set(qualities(mh)) == {Quality.NOT_COMMISSIONED}
    begin(mh, 10)
    mh.judge()
    mh.put({10: NORMAL, 11: 5.3, 12: NORMAL, 30: NORMAL})
    mh.judge()
    assert mh.facts() == [(11, 12, "5.30", True)]
    assert mh.count("detection") == 1


def test_an_excursion_that_stands_at_the_confirmation_begins_there(mh: Manhole) -> None:
    mh.put({0: 5.5, 1: 5.1, 2: 5.4, 3: 5.5, 4: NORMAL, 30: NORMAL})
    begin(mh, 2)
    mh.judge()
    assert mh.facts() == [(2, 4, "5.40", True)]


def test_what_is_said_to_count_from_earlier_on_is_judged_then(mh: Manhole) -> None:
    begin(mh, 10)
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL, 11: NORMAL, 30: NORMAL})
    mh.judge()
    assert mh.facts() == []
    begin(mh, 0)
    mh.judge()
    assert mh.facts() == [(1, 2, "5.50", True)]


def test_a_change_ends_it_from_then_on_and_leaves_what_was_found(mh: Manhole) -> None:
    begin(mh, 0)
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL, 10: 5.0, 11: 5.0, 12: NORMAL, 40: NORMAL})
    mh.judge()
    assert [one[0] for one in mh.facts()] == [1, 10]
    end(mh, 9)
    mh.judge(after=60)
    assert [one[0] for one in mh.facts()] == [1]
    begin(mh, 20)
    mh.put({21: 5.2, 22: NORMAL, 50: NORMAL}, worker="later")
    mh.judge(after=60)
    assert [one[0] for one in mh.facts()] == [1, 21]


def test_a_new_span_never_reaches_back_over_an_end(mh: Manhole) -> None:
    begin(mh, 0)
    end(mh, 9)
    begin(mh, 5)
    with mh.engine.connect() as db:
        kept = counting.records(db, [mh.ph])[mh.ph]
    minutes = [(one.since - AT) // timedelta(minutes=1) for one in kept]
    assert minutes == [0, 9]
    assert kept[0].ended_why == "another order" and kept[1].until is None


def test_a_slug_is_not_screened_before_it_counts(mh: Manhole) -> None:
    flow = {m: 100.0 for m in range(0, 1500)} | {m: 900.0 for m in range(1450, 1480)}
    mh.put(flow, channel=mh.flow)
    now = AT + timedelta(minutes=1500)
    mh.judge(after=1500)
    screen_slugs(mh.engine, now=now, release="test")
    assert mh.facts() == []
    begin(mh, 0, channel=mh.flow)
    mh.judge(after=1500)
    screen_slugs(mh.engine, now=now, release="test")
    assert [one[0] for one in mh.facts()] == [1450]


def test_a_chart_shows_what_does_not_count_and_says_how_much(mh: Manhole) -> None:
    mh.put({0: NORMAL, 1: 5.5, 2: None})
    begin(mh, 1)
    with mh.engine.connect() as db:
        drawn = buckets.buckets(db, mh.ph, since=AT, until=AT + timedelta(minutes=9))
    assert [(b.low, b.count, b.uncounted, b.flagged) for b in drawn] == [
        (7.2, 1, 1, 0), (5.5, 1, 0, 0), (None, 0, 0, 1),
    ]  # fmt: skip


def published(mh: Manhole, found: RegisterMap) -> None:
    with mh.engine.begin() as db:
        plain = maps.content(found)
        maps.publish(
            db, name=found.name, sha256=maps.sha256(found), content=plain, published_by="w"
        )


def liquiline(**more: object) -> RegisterMap:
    ph = entry("ai1_value", 0, type="float32", order="ABCD", **more)
    return mapped(ph, entry("ai2_value", 4, unit="gpm"), name="eh-liquiline-cm44x")


def counts(mh: Manhole) -> set[int]:
    with mh.engine.connect() as db:
        spans = counting.records(db, [mh.ph, mh.flow])
    return {channel for channel, mine in spans.items() if mine[-1].until is None}


def confirmed(mh: Manhole) -> bool:
    with mh.engine.connect() as db:
        instrument = db.scalar(select(t.instrument.c.id))
        return setting_up.reads(db, instrument).confirmed is not None


def test_a_map_that_reads_another_number_ends_it_and_one_with_a_new_note_does_not(
    mh: Manhole,
) -> None:
    for channel in (mh.ph, mh.flow):
        begin(mh, 0, channel=channel)
    published(mh, liquiline())
    published(mh, liquiline(note="page 17"))
    assert counts(mh) == {mh.ph, mh.flow} and confirmed(mh)
    published(mh, liquiline(scale="0.1"))
    assert counts(mh) == {mh.flow} and not confirmed(mh)
    with mh.engine.connect() as db:
        (kept,) = counting.records(db, [mh.ph])[mh.ph]
        (logged,) = [one for one in audit.entries(db) if one.act == "end what counts"]
    assert kept.ended_by == "w"
    assert "has changed: ai1_value.scale: 1, now 0.1" in kept.ended_why
    assert logged.by == "w" and logged.subject.startswith("ai1_value of instrument")
    assert logged.detail == {"why": kept.ended_why}


def test_a_map_that_gives_its_values_another_range_ends_it(mh: Manhole) -> None:
    begin(mh, 0)
    published(mh, liquiline(low=0, high=14))
    published(mh, liquiline(low=0, high=12))
    assert counts(mh) == set()


def document(**instrument: object) -> site.SiteDocument:
    city = SITE["cities"][0]
    user = city["users"][0]
    point = user["points"][0]
    made = {**point["instruments"][0], **instrument}
    made = {key: value for key, value in made.items() if value is not None}
    users = [{**user, "points": [{**point, "instruments": [made]}]}]
    return site.SiteDocument.model_validate({"cities": [{**city, "users": users}]})


AGAIN = {"by": "Lee Kim", "on": "2026-07-01", "how": "compared again"}


@pytest.mark.parametrize(
    ("change", "counted", "is_confirmed"),
    [
        ({}, True, True),
        ({"confirmed": None}, True, True),  # a document that is silent changes nothing
        ({"order": "CDAB"}, False, False),  # the same comparison cannot hold for another order
        ({"order": "CDAB", "confirmed": None}, False, False),
        ({"map": "hach-1200s-ph"}, False, False),
        ({"order": "CDAB", "confirmed": AGAIN}, True, True),
    ],
)
def test_a_site_document_that_changes_how_it_is_read_ends_its_confirmation(
    engine: Engine, change: dict[str, object], counted: bool, is_confirmed: bool
) -> None:
    mh = manhole(engine)
    assert counts(mh) == {mh.ph, mh.flow}
    site.store(engine, document(**change))
    assert (mh.ph in counts(mh)) is counted
    assert confirmed(mh) is is_confirmed


def test_a_site_document_with_another_step_ends_it_and_one_too_coarse_is_refused(
    engine: Engine,
) -> None:
    mh = manhole(engine)
    (kept, *others) = SITE["cities"][0]["users"][0]["points"][0]["instruments"][0]["channels"]
    site.store(engine, document(channels=[{**kept, "resolution": "0.010"}, *others]))
    assert mh.ph in counts(mh)
    site.store(engine, document(channels=[{**kept, "resolution": "0.1"}, *others]))
    assert counts(mh) == {mh.flow}
    coarse = document(channels=[{**kept, "resolution": "20"}, *others])
    with pytest.raises(InputError, match=r"channel ai1_value: step is 20 s\.u\."):
        site.parse(coarse.model_dump_json(exclude_unset=True), file="site.yaml")


def test_a_document_without_a_confirmation_lets_nothing_count(engine: Engine) -> None:
    site.store(engine, document(confirmed=None))
    with engine.connect() as db:
        assert db.execute(select(t.counting)).all() == []


def test_history_counts_from_the_day_that_a_document_names(engine: Engine) -> None:
    said = {**AGAIN, "counts_from": "2025-01-01"}
    site.store(engine, document(confirmed=said))
    with engine.connect() as db:
        since = set(db.scalars(select(t.counting.c.since)))
    assert since == {datetime(2025, 1, 1, 6, tzinfo=UTC)}  # midnight in Prescott


@pytest.mark.parametrize("compared", [True, False])
def test_what_was_judged_before_the_migration_stays_judged(engine: Engine, compared: bool) -> None:
    mh = manhole(engine)
    migration = import_module("migrations.versions.0013_commissioning")
    with engine.begin() as db:
        db.execute(t.counting.delete())
        if not compared:
            db.execute(t.instrument.update().values(confirmed_by=None))
        db.exec_driver_sql(migration.WHAT_STANDS)
    mh.put({0: NORMAL, 1: 5.5, 2: NORMAL, 30: NORMAL}, start=AT - timedelta(days=900))
    mh.judge()
    assert [one[2:] for one in mh.facts()] == [("5.50", True)]
    assert counts(mh) == ({mh.ph, mh.flow} if compared else set())  # from then on
