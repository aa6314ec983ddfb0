"""A person determines and corrects readings: foreseen as it comes true, named in the history."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from sqlalchemy import Engine, func, select

from compliance.errors import InputError, NotFound
from compliance.jobs import correct as correcting
from compliance.jobs import determine as determining
from compliance.jobs.determine import Paper, Wanted
from compliance.jobs.foresee import Becomes, Foreseen
from compliance.model.determinations import Verdict
from compliance.model.readings import Quality
from compliance.records import audit, corrections, determinations
from compliance.records import tables as t
from compliance.records.overlay import Correction
from compliance.records.scope import Scope
from tests.support.manhole import AT, Manhole, manhole
from tests.support.sweep import until_it_passes

ACID = {m: 7.2 for m in range(120)} | {30: 5.1, 31: 5.2, 32: 5.4}
WHY = "the probe lay dry, see the photo"
LATER = AT + timedelta(days=2)


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    made = manhole(engine)
    made.put(ACID)
    made.judge()
    return made


def wanted(mh: Manhole, verdict: Verdict, since: int, until: int, **more: object) -> Wanted:
    return Wanted(
        channel_id=mh.ph,
        since=AT + timedelta(minutes=since),
        until=AT + timedelta(minutes=until),
        verdict=verdict,
        reason=str(more.get("reason", WHY)),
        evidence=more.get("evidence"),  # type: ignore[arg-type]
    )


def determine(mh: Manhole, of: Wanted) -> int:
    number = determining.determine(
        mh.engine, of, person_id=mh.coordinator.person_id, by="Ana Ruiz, Coordinator", now=LATER
    )
    mh.judge(after=121)
    return number


def foresee(mh: Manhole, of: Wanted) -> Foreseen:
    with mh.engine.connect() as db:
        return determining.foresee(db, of, now=LATER)


def fixed(values: dict[int, float | None]) -> list[Correction]:
    return [
        Correction(read_at=AT + timedelta(minutes=m), value=v, quality=Quality.GOOD)
        for m, v in values.items()
    ]


def minutes(seen: Foreseen, *kinds: Becomes) -> list[tuple[int, int]]:
    """Minutes of start and end of what would be found."""
    return sorted(
        (
            int((one.will_be.starts_at - AT).total_seconds() // 60),
            int((one.will_be.ends_at - AT).total_seconds() // 60),
        )
        for one in seen.touched
        if one.will_be is not None and one.becomes in kinds
    )


def history(mh: Manhole) -> list[str]:
    with mh.engine.connect() as db:
        h = t.exceedance_history.c
        return list(db.scalars(select(h.why).order_by(h.id)))


def acts(mh: Manhole) -> int:
    """How many of these acts the audit log has."""
    with mh.engine.connect() as db:
        return sum(
            one.act in ("determine readings", "correct readings") for one in audit.entries(db)
        )


def test_an_exclusion_that_removes_an_exceedance_says_so_before_and_in_the_history(
    mh: Manhole,
) -> None:
    of = wanted(mh, Verdict.INVALID, 25, 40)
    seen = foresee(mh, of)
    assert (seen.readings, seen.judged_before, seen.judged_after) == (15, 15, 0)
    assert [one.was.worst for one in seen.removed if one.was] == ["5.10"]
    assert mh.facts() == [(30, 33, "5.10", True)], "foreseeing writes nothing"
    number = determine(mh, of)
    assert mh.facts() == []
    sentence = (
        f"readings determined to be invalid (determination {number} by Ana Ruiz, Coordinator): "
        + WHY
    )
    assert history(mh) == [sentence]
    with mh.engine.connect() as db:
        assert db.scalars(select(t.exceedance.c.superseded_why)).all() == [sentence]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_foreseen_comes_true(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    mh = manhole(engine)
    mh.put({m: dice.choice([5.2, 7.0, 7.1, 9.4, 7.2]) for m in range(200) if dice.random() < 0.9})
    mh.judge(after=3000)
    for _ in range(3):
        since = dice.randrange(0, 180)
        of = wanted(
            mh, dice.choice(list(Verdict)), since, since + dice.randrange(1, 60), reason=WHY
        )
        seen, before = foresee(mh, of), mh.facts()
        gone = {
            (one.was.starts_at, one.was.ends_at, one.was.worst) for one in seen.removed if one.was
        }
        determine(mh, of)
        after = mh.facts()
        lost = {f for f in before if f not in after}
        came = {(a, b) for a, b, *_ in after} - {(a, b) for a, b, *_ in before}
        assert len(gone) <= len(lost)
        assert came <= set(minutes(seen, Becomes.FOUND, Becomes.CHANGED))
        assert {one[:2] for one in after} >= set(minutes(seen, Becomes.FOUND, Becomes.CHANGED))


def test_a_later_determination_takes_over_and_none_is_deleted(mh: Manhole) -> None:
    first = determine(mh, wanted(mh, Verdict.INVALID, 25, 40))
    second = determine(mh, wanted(mh, Verdict.VALID, 31, 32, reason="the photo is of another day"))
    assert mh.facts() == [(31, 32, "5.20", True)]
    with mh.engine.connect() as db:
        known = determinations.of(db, [mh.ph], since=AT, until=LATER)
    assert [(one.number, one.verdict) for one in known] == [
        (second, Verdict.VALID),
        (first, Verdict.INVALID),
    ]
    assert known[1].by == "Ana Ruiz, Coordinator" and known[1].reason == WHY


def test_its_evidence_file_is_kept_with_its_digest(mh: Manhole) -> None:
    paper = Paper(name="photo.png", content=b"\x89PNG dry probe")
    number = determine(mh, wanted(mh, Verdict.INVALID, 25, 40, evidence=paper))
    everybody, nobody = (Scope(city_id=c, industrial_user_id=None) for c in (None, 999))
    with mh.engine.connect() as db:
        assert determinations.evidence(db, everybody, number) == ("photo.png", paper.content)
        with pytest.raises(NotFound, match=r"no evidence file of determination"):
            determinations.evidence(db, nobody, number)
        (known,) = determinations.of(db, [mh.ph], since=AT, until=LATER)
        entry = list(audit.entries(db))[-1]
    assert known.evidence_sha256 == paper.sha256
    assert (entry.act, entry.subject) == ("determine readings", f"determination:{number}")
    assert entry.detail["evidence_sha256"] == paper.sha256 and entry.detail["readings"] == 15


@pytest.mark.parametrize(
    ("since", "until", "reason", "says"),
    [
        (40, 25, WHY, "ends before it begins"),
        (25, 40, "no", "at least 8 characters"),
        (25, 6000, WHY, "has not come yet"),
        (-60 * 24 * 40, 40, WHY, "at most 31"),
        (-600, -300, WHY, "Nothing was read in that time"),
    ],
)
def test_what_says_nothing_is_refused(
    mh: Manhole, since: int, until: int, reason: str, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        determine(mh, wanted(mh, Verdict.INVALID, since, until, reason=reason))
    assert mh.count("determination") == acts(mh) == 0


def test_a_determination_is_whole_or_not_at_all(mh: Manhole) -> None:
    of = wanted(mh, Verdict.INVALID, 25, 40)
    died = until_it_passes(
        mh.engine,
        lambda: determining.determine(
            mh.engine, of, person_id=mh.coordinator.person_id, by="Ana Ruiz", now=LATER
        ),
    )
    assert died > 4
    mh.judge(after=121)
    assert mh.facts() == []
    assert mh.count("determination") == acts(mh) == 1


def test_corrections_are_all_kept_or_none(mh: Manhole) -> None:
    with pytest.raises(InputError, match=r"has no reading at"):
        correcting.correct(mh.engine, mh.ph, fixed({30: 6.4, 500: 7.0}), reason=WHY, by="Ana Ruiz")
    assert mh.count("correction") == acts(mh) == 0
    seen = correcting.foresee(mh.engine, mh.ph, fixed({30: 6.4, 31: 6.5}), now=LATER)
    assert len(seen.removed) == 1
    assert minutes(seen, Becomes.FOUND) == [(32, 33)]
    assert mh.count("correction") == 0
    correcting.correct(
        mh.engine, mh.ph, fixed({30: 6.4, 31: 6.5}), reason="buffer was wrong", by="Ana Ruiz"
    )
    mh.judge(after=121)
    assert mh.facts() == [(32, 33, "5.40", True)]
    assert history(mh) == ["readings corrected by Ana Ruiz: buffer was wrong"]
    with mh.engine.connect() as db:
        known = corrections.of(db, [mh.ph], since=AT, until=LATER)
    assert [(one.first, one.value, one.version) for one in known] == [(5.1, 6.4, 1), (5.2, 6.5, 1)]


def test_a_correction_makes_no_reading_of_a_window_count(mh: Manhole) -> None:
    from_to = {"since": AT + timedelta(minutes=25), "until": AT + timedelta(minutes=40)}
    with mh.engine.begin() as db:
        db.execute(
            t.declared_window.insert().values(
                number=1, channel_id=mh.ph, kind="maintenance", reason="cleaned",
                declared_by="Olga", declared_at=AT, **from_to,
            )
        )  # fmt: skip
    correcting.correct(mh.engine, mh.ph, fixed({31: 4.0}), reason="typed wrongly", by="Ana Ruiz")
    mh.judge(after=121)
    assert mh.facts() == []


def test_evidence_lists_what_was_laid_over_its_readings_even_where_nothing_else_changed(
    mh: Manhole,
) -> None:
    correcting.correct(mh.engine, mh.ph, fixed({31: 5.3}), reason="typed wrongly", by="Ana Ruiz")
    mh.judge(after=121)
    with mh.engine.connect() as db:
        evidence = db.scalar(select(t.exceedance.c.evidence))
    (one,) = evidence["corrected_readings"]
    assert (one["first"], one["value"], one["by"], one["reason"]) == (
        "5.2", "5.3", "Ana Ruiz", "typed wrongly",
    )  # fmt: skip
    assert mh.facts() == [(30, 33, "5.10", True)]
    assert history(mh) == ["readings corrected by Ana Ruiz: typed wrongly"]
    mh.judge(after=122)
    with mh.engine.connect() as db:
        assert db.scalar(select(func.count()).select_from(t.exceedance_history)) == 1
