"""What tests of commissioning share: a map with an open order, an answer, a comparison."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import select

from compliance.records import counting, maps, questions
from compliance.records import tables as t
from tests.support.polling import entry, mapped

MAP = "eh-liquiline-cm44x"
CONFIRMED = {
    "location": "flume",
    "frequency": "continuous",
    "approved_by": "Dan Moe, Director",
    "approved_on": "2026-03-01",
    "document": "letter 7",
}


def published(town) -> str:
    """The page of the town's first instrument, whose map leaves the order of pH open."""
    found = mapped(
        entry("ph", 0, type="float32", order=None),
        entry("temperature", 4, scale="0.1", unit="degC"),
        entry("level", 6, unit=None, share=True),
        entry("serial", 8, type="string", words=2, unit=None, kind="identity"),
        name=MAP,
    )
    with town.engine.begin() as db:
        plain = maps.content(found)
        maps.publish(db, name=MAP, sha256=maps.sha256(found), content=plain, published_by="w")
    return f"/instruments/{town.instrument}/commission"


def channels(town) -> dict[str, int]:
    with town.engine.connect() as db:
        c = t.channel.c
        rows = db.execute(select(c.entry, c.id).where(c.instrument_id == town.instrument))
        return {name: number for name, number in rows}


def answered(
    client, town, *, ph: dict[str, str | None], temperature: str = "21.3", quality: str = "good"
) -> int:
    """Ask as the page does, and answer as a worker would."""
    body = {"instrument": town.instrument}
    number = client.post("/api/v1/field-questions", json=body).json()["question"]
    said = [
        {"name": "ph", "words": ["0xA3D7", "0x40E0"], "problem": "", "values": [
            {"order": o, "value": v, "text": "", "quality": quality, "reason": ""}
            for o, v in ph.items()
        ]},
        {"name": "temperature", "words": ["0x00D5"], "problem": "", "values": [
            {"order": None, "value": temperature, "text": "", "quality": "good", "reason": ""}
        ]},
    ]  # fmt: skip
    with town.engine.begin() as db:
        questions.answer(db, number, content={"entries": said})
    return number


ORDERS = {"ABCD": "-1.2E-11", "CDAB": "7.02", "BADC": None, "DCBA": "3E+9"}


def compared(client, town, page: str, *, ph: str = "7.02", temperature: str = "21.3"):
    """Compare what was read with a display; the page after it."""
    ids = channels(town)
    shown = {f"display_{ids['ph']}": ph, f"display_{ids['temperature']}": temperature}
    number = answered(client, town, ph=ORDERS)
    answer = client.post(f"{page}/compare", data={"question": number, **shown})
    return answer if answer.status_code != 303 else client.get(page)


def papers(town) -> dict[str, str]:
    each = {}
    for number in channels(town).values():
        each |= {f"method_{number}": "EPA 150.2", f"days_{number}": "30"}
    return CONFIRMED | each


def unconfirmed(town) -> None:
    """As it is before anybody has confirmed it."""
    with town.engine.begin() as db:
        db.execute(t.counting.delete())


def counts(town) -> set[int]:
    with town.engine.connect() as db:
        return counting.counts(db, list(channels(town).values()), at=datetime.now(UTC))
