"""A site document is written whole or not at all, and refused where it cannot be meant."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Engine, select

from app.commands.import_site import _check_instruments
from compliance.errors import InputError
from compliance.jobs import site
from compliance.records import sites
from compliance.records import tables as t
from tests.support.manhole import SITE

Change = Callable[[dict[str, Any]], None]


def changed(change: Change) -> str:
    document = copy.deepcopy(SITE)
    change(document)
    return yaml.safe_dump(document)


def city(document: dict[str, Any]) -> dict[str, Any]:
    return document["cities"][0]


def point(document: dict[str, Any]) -> dict[str, Any]:
    return city(document)["users"][0]["points"][0]


def instrument(document: dict[str, Any]) -> dict[str, Any]:
    return point(document)["instruments"][0]


def channel(document: dict[str, Any]) -> dict[str, Any]:
    return instrument(document)["channels"][0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: city(d).update(rulebooks=["precsott"]), "no rulebook 'precsott'"),
        (lambda d: city(d).update(zone="Mars/X"), "expected a time zone"),
        (lambda d: city(d)["users"][0].update(category="Q"), "category"),
        (lambda d: city(d)["users"][0].update(slug="../u"), "slug"),
        (lambda d: point(d).update(place="a\0b"), "place"),
        (lambda d: instrument(d).update(map="nope"), "no register map 'nope'"),
        (lambda d: instrument(d).update(order="XYZ"), "order"),
        (lambda d: channel(d).update(entry="nope"), "no entry 'nope'"),
        (lambda d: channel(d).update(unit="gpm"), "ph needs a unit of ph"),
        (lambda d: channel(d).update(unit="furlong"), "not known"),
        (lambda d: channel(d).update(interval_s=0), "interval_s"),
        (lambda d: channel(d).update(interval_s=-1), "interval_s"),
        (lambda d: channel(d).update(resolution="0"), "over zero"),
        (lambda d: channel(d).update(resolution="0.0.1"), "resolution"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(change: Change, said: str) -> None:
    with pytest.raises(InputError, match="(?s)^site.yaml.*" + said) as refused:
        document = site.parse(changed(change), file="site.yaml")
        _check_instruments(document, Path("/nonexistent"), file="site.yaml")
    assert "\n" not in str(refused.value)


def test_the_site_of_the_tests_is_accepted(engine: Engine) -> None:
    document = site.parse(changed(lambda _: None), file="site.yaml")
    _check_instruments(document, Path("/nonexistent"), file="site.yaml")
    assert site.store(engine, document) == {"cities": 1, "users": 1, "points": 1, "channels": 2}


def test_a_channel_left_out_is_read_no_more_and_its_row_stays(engine: Engine) -> None:
    site.store(engine, site.parse(changed(lambda _: None), file="a"))
    site.store(engine, site.parse(changed(lambda d: instrument(d)["channels"].pop()), file="b"))
    with engine.connect() as db:
        polled = [c.entry for g in sites.polled(db) for i in g.instruments for c in i.channels]
        assert polled == ["ai1_value"]
        assert len(db.execute(select(t.channel)).all()) == 2


def test_two_gateways_at_one_address_are_refused_and_nothing_is_written(engine: Engine) -> None:
    site.store(engine, site.parse(changed(lambda _: None), file="a"))

    def second(document: dict[str, Any]) -> None:
        point(document)["code"] = "MH-9"
        point(document)["gateway"]["name"] = "g9"

    with pytest.raises(InputError, match="may stand once"):
        site.store(engine, site.parse(changed(second), file="b"))
    with engine.connect() as db:
        assert [row.code for row in db.execute(select(t.monitoring_point))] == ["MH-1"]
