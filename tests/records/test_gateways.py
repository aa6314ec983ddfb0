"""How a gateway is spoken to, from a site document to what a worker polls."""

from __future__ import annotations

import pytest
import yaml
from sqlalchemy import Engine

from compliance.errors import InputError
from compliance.jobs import site
from compliance.model.endpoints import Transport, endpoint
from compliance.records import sites


def document(**gateway: object) -> str:
    channel = {"entry": "ph", "parameter": "ph", "unit": "s.u.", "resolution": "0.01"}
    point = {
        "code": "MH-1",
        "place": "lane",
        "gateway": {"name": "g", "host": "192.0.2.1", "port": 502, **gateway},
        "instruments": [
            {"unit": 1, "map": "hach-1200s-ph", "channels": [{**channel, "interval_s": "1"}]}
        ],
    }
    user = {"slug": "u", "name": "U", "makes": "cheese", "is_significant": True}
    city = {
        "slug": "c",
        "name": "C",
        "zone": "America/Chicago",
        "rulebooks": ["prescott"],
        "control_authority": "a",
        "ordinance_authority": "a",
        "billing_authority": "a",
        "users": [{**user, "category": "A", "water_meter": "2 in", "points": [point]}],
    }
    return yaml.safe_dump({"polled_since": "2026-01-01T00:00:00Z", "cities": [city]})


@pytest.mark.parametrize(
    ("gateway", "kind"),
    [
        ({}, Transport.TCP),
        ({"transport": "rtu+tcp?pause=100"}, Transport.RTU_OVER_TCP),
        (
            {"host": "/dev/ttyUSB0", "port": 0, "transport": "serial?baud=9600&parity=N"},
            Transport.SERIAL,
        ),
    ],
)
def test_a_worker_is_told_how_to_speak_to_a_gateway(
    gateway: dict[str, object], kind: Transport, engine: Engine
) -> None:
    site.store(engine, site.parse(document(**gateway), file="site.yaml"))
    with engine.connect() as db:
        (plan,) = sites.polled(db)
    found = plan.gateway
    assert endpoint(found.host, found.port, found.transport).transport is kind


@pytest.mark.parametrize(
    ("gateway", "says"),
    [
        ({"transport": "udp"}, "transport of 192.0.2.1 is 'udp'; expected one of tcp"),
        ({"port": 0}, "port of 192.0.2.1 over tcp is 0; expected from 1 to 65535"),
        ({"transport": "serial"}, "expected 0 for a serial device"),
        ({"transport": "tcp?baud=9600"}, "has 'baud'"),
    ],
)
def test_a_gateway_that_cannot_be_meant_is_refused_in_one_sentence(
    gateway: dict[str, object], says: str
) -> None:
    with pytest.raises(InputError, match="gateway") as refused:
        site.parse(document(**gateway), file="site.yaml")
    assert says in str(refused.value)
