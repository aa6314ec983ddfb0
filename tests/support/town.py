"""A small town in a database: two industrial users, an hour of readings, a detection, a bill."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.dialects.postgresql import Range

from app import auth
from compliance.model.control import (
    Approval,
    Control,
    ControlKind,
    ControlLimit,
    Document,
    UserClass,
)
from compliance.model.determinations import Verdict
from compliance.model.findings import Authority, Exceedance, Kind, Side
from compliance.model.noncompliance import Criterion, Said
from compliance.model.parameters import Parameter
from compliance.model.periods import quarter
from compliance.model.readings import Quality
from compliance.model.sites import Role
from compliance.model.units import Unit
from compliance.model.windows import Declared, WindowKind
from compliance.records import control, findings, noncompliance, outbox, overlay, people, windows
from compliance.records import tables as t

PASSWORD = "correct horse"
SECRET = "whsec_" + "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
STEP = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Town:
    """What the tests know of the town; ``at`` is its newest reading."""

    engine: Engine
    at: datetime
    detection: int
    others_detection: int
    endpoint: int
    instrument: int
    others_instrument: int
    window: int
    others_window: int
    channel: int
    others_channel: int
    determination: int
    others_determination: int
    permit: int
    others_permit: int
    approval: int
    others_approval: int
    snc: int
    others_snc: int
    bill: str = "B-2026-0001"
    others_bill: str = "B-2026-0002"
    point: str = "MH-1"
    others_point: str = "MH-2"


def _put(db: Connection, table: object, **values: object) -> int:
    return db.execute(insert(table).values(**values)).inserted_primary_key[0]  # type: ignore[arg-type, index]


def build(engine: Engine, now: datetime) -> Town:
    """Fill a migrated, empty database."""
    at = now.replace(microsecond=0)
    with engine.begin() as db:
        city = _city(db)
        gateway = _put(db, t.gateway, name="gw-1", host="127.0.0.1", port=15020)
        acme = _user(db, city, gateway, slug="acme", name="Acme Plating", point="MH-1", unit=1)
        dairy = _user(db, city, gateway, slug="dairy", name="Bright Dairy", point="MH-2", unit=2)
        _people(db, city, acme["user"], dairy["user"])
        start = at - timedelta(minutes=40)
        for user in (acme, dairy):
            _readings(db, user["ph"], at, start)
        detection = _detection(db, acme, start, key="a" * 24)
        other = _detection(db, dairy, start, key="b" * 24)
        _bill(db, acme["user"], "B-2026-0001")
        _bill(db, dairy["user"], "B-2026-0002")
        _triggers(db, acme["user"], at)
        endpoint = _webhook(db, city, detection)
        declared = [_window(db, user, at) for user in (acme, dairy)]
        determined = [_determination(db, user, at) for user in (acme, dairy)]
        permits = [_permit(db, city, user, at) for user in (acme, dairy)]
        approvals = [_approval(db, user, at) for user in (acme, dairy)]
        significant = [_significant(db, user, at) for user in (acme, dairy)]
    return Town(
        engine=engine,
        at=at,
        detection=detection,
        others_detection=other,
        endpoint=endpoint,
        instrument=acme["instrument"],
        others_instrument=dairy["instrument"],
        window=declared[0],
        others_window=declared[1],
        channel=acme["ph"],
        others_channel=dairy["ph"],
        determination=determined[0],
        others_determination=determined[1],
        permit=permits[0],
        others_permit=permits[1],
        approval=approvals[0],
        others_approval=approvals[1],
        snc=significant[0],
        others_snc=significant[1],
    )


def _city(db: Connection) -> int:
    city = _put(
        db,
        t.city,
        slug="prescott",
        name="Prescott",
        zone="America/Chicago",
        rulebooks=["prescott", "federal"],
        control_authority="Wisconsin DNR",
        ordinance_authority="City of Prescott",
        billing_authority="City of Prescott",
    )
    _put(
        db,
        t.plant,
        city_id=city,
        name="Prescott plant",
        average_design={"flow_mgd": "0.5"},
        source="CMAR 2025, part 3",
    )
    return city


def _triggers(db: Connection, user: int, at: datetime) -> None:
    """Two of the four tests of a service agreement are reached."""
    for name, share in (("flow", "11.20"), ("tss", "12.34")):
        _put(
            db,
            t.trigger_fact,
            industrial_user_id=user,
            rule_id=f"prescott.service_agreement.{name}",
            as_of=at.date(),
            state="reached",
            share=share,
            working=["56,000 gal/day of 500,000 gal/day = 11.20 %"],
        )


def _webhook(db: Connection, city: int, detection: int) -> int:
    """A receiver, and an event that waits for it."""
    made = outbox.add_endpoint(db, url="http://127.0.0.1:9/hook", secret=SECRET, city_id=city)
    told = {"detection": detection, "link": f"/detections/{detection}"}
    outbox.put(db, "violation.detected", told, city)
    return made


def _window(db: Connection, user: dict[str, int], at: datetime) -> int:
    """A window of a month ago, long before the first reading."""
    began = at - timedelta(days=30)
    return windows.add(
        db,
        Declared(
            number=0,
            channels=(user["ph"], user["temperature"]),
            since=began,
            until=began + timedelta(hours=1),
            kind=WindowKind.MAINTENANCE,
            reason="Manhole cleaned",
            declared_by="Olga Berg, Operator",
            declared_at=began + timedelta(hours=3, minutes=10),
        ),
    )


def _determination(db: Connection, user: dict[str, int], at: datetime) -> int:
    """What the coordinator said of an hour of a month ago, with a file beside it."""
    began = at - timedelta(days=30, hours=4)
    person = db.scalar(select(t.person.c.id).where(t.person.c.login == "ana"))
    assert person is not None
    return overlay.determine(
        db,
        user["ph"],
        Verdict.INVALID,
        since=began,
        until=began + timedelta(hours=1),
        reason="The probe lay dry",
        person_id=person,
        evidence=("probe.txt", "ab" * 32, b"dry"),
    )


def _permit(db: Connection, city: int, user: dict[str, int], at: datetime) -> int:
    """A permit of this year with a zinc limit, and the paper itself."""
    permit = Control(
        kind=ControlKind.PERMIT,
        number=f"P-{user['user']}",
        user="acme",
        user_class=UserClass.SIU,
        effective=date(at.year, 1, 1),
        ended=date(at.year + 4, 1, 1),
        issued_by="Dan Moe",
        office="Director of Public Works",
        document=Document(name="permit.txt", sha256="cd" * 32),
        limits=(
            ControlLimit(
                point=None,
                part="part 2.1",
                parameter=Parameter.ZINC,
                basis="daily_max",
                at_least=None,
                at_most=Decimal("2.61"),
                unit=Unit.MG_L,
                sample_types=("composite",),
                enforceable=True,
            ),
        ),
    )
    ids = {"city_id": city, "user_id": user["user"]}
    return control.put(db, permit, **ids, version=1, by="Ana Ruiz", file=b"permit")


def _approval(db: Connection, user: dict[str, int], at: datetime) -> int:
    """What the Director approved of hot water."""
    approval = Approval(
        rule_id="prescott.temperature",
        user="acme",
        at_least=None,
        at_most=Decimal(160),
        unit=Unit.DEG_F,
        since=date(at.year, 1, 1),
        until=date(at.year + 1, 1, 1),
        author="Dan Moe",
        office="Director of Public Works",
        reason="Boiler overhaul",
        document=None,
    )
    return control.put_approval(db, approval, user_id=user["user"], by="Ana Ruiz")[0]


def _significant(db: Connection, user: dict[str, int], at: datetime) -> int:
    """What the control authority wrote of the half-year before this quarter, with its letter."""
    said = Said(
        criterion=Criterion.CHRONIC,
        quarter_end=quarter(at.date()).start - timedelta(days=1),
        is_snc=True,
        authority="Wisconsin DNR",
        decided_on=at.date() - timedelta(days=1),
        signed_by="Lee Fox, engineer",
        reference="Letter 26-114",
        words="Zinc was over the limit in most samples.",
    )
    letter = ("letter.txt", "ef" * 32, b"letter")
    return noncompliance.put(
        db, said, industrial_user_id=user["user"], entered_by="Ana Ruiz", now=at, document=letter
    )


def _user(
    db: Connection, city: int, gateway: int, *, slug: str, name: str, point: str, unit: int
) -> dict[str, int]:
    user = _put(
        db,
        t.industrial_user,
        city_id=city,
        slug=slug,
        name=name,
        makes="zinc plating" if slug == "acme" else "cheese",
        is_significant=True,
        category="C",
        water_meter='2"',
    )
    place = _put(
        db, t.monitoring_point, industrial_user_id=user, code=point, place="control manhole"
    )
    instrument = _put(
        db,
        t.instrument,
        gateway_id=gateway,
        monitoring_point_id=place,
        unit_id=unit,
        map_name="eh-liquiline-cm44x",
        byte_order="ABCD",
    )
    made = {"user": user, "point": place, "instrument": instrument}
    for parameter, measure in (("ph", "s.u."), ("temperature", "degC")):
        made[parameter] = _channel(db, place, instrument, parameter, measure)
    _put(
        db,
        t.commissioning,
        channel_id=made["ph"],
        method="glass electrode",
        location="flume throat",
        frequency="every 10 s",
        approved_by="Director",
        approved_on=date(2026, 1, 2),
        document="Permit 42",
        calibration_days=30,
    )
    return made


def _channel(db: Connection, place: int, instrument: int, parameter: str, unit: str) -> int:
    """A channel that counts from the first day of the year on, every ten seconds."""
    channel = _put(
        db,
        t.channel,
        monitoring_point_id=place,
        instrument_id=instrument,
        entry=parameter,
        parameter=parameter,
        unit=unit,
        resolution="0.01",
    )
    first = datetime(2026, 1, 1, tzinfo=UTC)
    _put(db, t.channel_cadence, channel_id=channel, since=first, interval_ms=10_000)
    how = "compared with the display"
    _put(db, t.counting, channel_id=channel, since=first, by="Ana Ruiz", how=how)
    return channel


def _people(db: Connection, city: int, acme: int, dairy: int) -> None:
    password = auth.hashed(PASSWORD)
    for login, name, role, office, user in (
        ("ana", "Ana Ruiz", Role.COORDINATOR, "Pretreatment coordinator", None),
        ("dan", "Dan Moe", Role.DIRECTOR, "Director of Public Works", None),
        ("cleo", "Cleo Voss", Role.CLERK, "City Clerk", None),
        ("olga", "Olga Berg", Role.OPERATOR, "Operator", None),
        ("adam", "Adam Root", Role.ADMINISTRATOR, "Administrator", None),
        ("jo", "Jo Ortiz", Role.INDUSTRIAL_USER, "Environmental manager, Acme", acme),
        ("kim", "Kim Lund", Role.INDUSTRIAL_USER, "Plant manager, Bright Dairy", dairy),
    ):
        people.add(
            db,
            login=login,
            name=name,
            password=password,
            role=role,
            office=office,
            city_id=None if user else city,
            industrial_user_id=user,
        )


def _readings(db: Connection, channel: int, at: datetime, start: datetime) -> None:
    """Two hours, with an excursion of five minutes and a silence of ten."""
    rows = []
    for n in range(720):
        read_at = at - (719 - n) * STEP
        silent = timedelta(minutes=20) <= at - read_at < timedelta(minutes=30)
        low = start <= read_at < start + timedelta(minutes=5)
        rows.append(
            {
                "channel_id": channel,
                "read_at": read_at,
                "value": None if silent else (5.2 if low else 7.2 + 0.3 * ((n * 7) % 11) / 11),
                "quality": int(Quality.NO_ANSWER) if silent else 0,
                "words": None if silent else 0x40A66666,
                "offset_ms": 12,
                "batch_id": 1,
            }
        )
    db.execute(insert(t.reading), rows)


def _detection(db: Connection, user: dict[str, int], start: datetime, *, key: str) -> int:
    fact = Exceedance(
        id=key,
        rule_id="prescott.ph",
        effective=date(2017, 6, 12),
        kind=Kind.EXCEEDANCE,
        parameter=Parameter.PH,
        unit=Unit.SU,
        side=Side.BELOW,
        starts_at=start,
        ends_at=start + timedelta(minutes=5),
        seconds=300,
        seconds_beyond=300,
        runs=1,
        worst="5.20",
        worst_at=start + timedelta(minutes=2),
        limit="6.0",
        readings=30,
        open_ended=False,
        review=False,
        settled=True,
        citation="§ 470-4, paragraph (3) (pH); Ord. No. 03-17",
        says="No discharge with a pH below 6.0 or above 9.0; both ends comply.",
        authority=Authority.ORDINANCE,
        working=("5.20 is below 6.0",),
    )
    evidence = {"channel": user["ph"], "digest": "0" * 64}
    findings.put(
        db,
        fact,
        point_id=user["point"],
        channel_id=user["ph"],
        evidence=evidence,
        release="pretreat test",
    )
    made = findings.detect(db, key, user["user"])
    assert made is not None
    return made


def _bill(db: Connection, user: int, number: str) -> None:
    bill = _put(
        db,
        t.bill,
        industrial_user_id=user,
        number=number,
        period=Range(date(2026, 7, 1), date(2026, 10, 1)),
        tariff="prescott-placeholder",
        tariff_sha256="f" * 64,
        total=Decimal("1218.50"),
        due_on=date(2026, 11, 15),
        state="issued",
        notes=[
            "How non-detects count is not adopted: they count as zero, which favours the payer."
        ],
    )
    for position, (code, said, amount) in enumerate(
        (("volume", "Volume", "1118.50"), ("service", "Service charge", "100.00")), start=1
    ):
        _put(
            db,
            t.bill_line,
            bill_id=bill,
            position=position,
            code=code,
            description=said,
            quantity="111.85",
            unit="kgal",
            rate="10.00",
            unrounded=amount,
            amount=Decimal(amount),
            working=[f"111.85 kgal × $10.00/kgal = ${amount}"],
            sources=["water meter, reads of 30 June and 30 September"],
        )
