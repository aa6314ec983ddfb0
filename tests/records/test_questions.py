"""Questions to instruments: who may answer them, over which line, and what else becomes of them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, update

from compliance.errors import InputError, NotFound
from compliance.model.endpoints import Endpoint, Transport
from compliance.model.reach import Reach
from compliance.model.readings import Reading
from compliance.model.sites import Gateway, Role
from compliance.model.wire import Protocol
from compliance.records import audit, leases, people, questions, tokens
from compliance.records import tables as t
from compliance.records.questions import Asks, Question
from compliance.settings import PRIVATE
from ingest import between, enquiry
from ingest.holding import Maps
from ingest.poll import Watch
from ingest.schedule import Round
from tests.support.faulty import Asked, Scripted
from tests.support.polling import PH, gateway_at, mapped, unit
from tests.support.polling import watch as polling

MAP = """name: acme
vendor: Acme
model: P1
role: pH
document: manual, page 3
entries:
  - {name: ph, table: holding, address: 0, printed: "40001", type: uint16, scale: "0.01", unit: s.u., evidence: manual}
  - {name: level, table: holding, address: 1, printed: "40002", type: float32, order: null, unit: m, evidence: manual}
"""  # noqa: E501

HERE = Reach.of(["127.0.0.0/8"])


def put(db: Connection, table: object, **values: object) -> int:
    return db.scalar(insert(table).values(**values).returning(table.c.id))  # type: ignore[attr-defined]


@pytest.fixture
def person(db: Connection) -> int:
    return people.add(
        db, login="adam", name="Adam Root", password="-", role=Role.ADMINISTRATOR, office="A"
    )


def polled(db: Connection, *, host: str = "127.0.0.1", port: int = 1502) -> Gateway:
    """A gateway with an instrument at point P."""
    said = {"control_authority": "a", "ordinance_authority": "b", "billing_authority": "c"}
    city = put(db, t.city, slug="c", name="C", zone="UTC", rulebooks=[], **said)
    kind = {"makes": "m", "is_significant": True, "category": "C", "water_meter": "2 in"}
    user = put(db, t.industrial_user, city_id=city, slug="u", name="U", **kind)
    point = put(db, t.monitoring_point, industrial_user_id=user, code="P", place="p")
    gateway = put(db, t.gateway, name="g", host=host, port=port)
    ids = {"gateway_id": gateway, "monitoring_point_id": point}
    put(db, t.instrument, **ids, unit_id=1, map_name="acme")
    return Gateway(id=gateway, name="g", host=host, port=port)


def ask(db: Connection, person: int, gateway: Gateway, *, last: int = 1) -> int:
    asks = Asks.SCAN if last > 1 else Asks.READ
    return questions.ask(
        db, person_id=person, asks=asks, gateway=gateway, units=(1, last), map_name="acme"
    )


def taken(db: Connection, worker: str) -> int | None:
    found = questions.take(db, worker)
    return None if found is None else found.id


def age(db: Connection, seconds: int) -> None:
    q = t.field_question.c
    gone = timedelta(seconds=seconds)
    db.execute(update(t.field_question).values(asked_at=q.asked_at - gone))
    db.execute(update(t.field_question).values(taken_at=q.taken_at - gone))


def test_a_polled_gateway_is_asked_by_the_worker_that_polls_it(db: Connection, person: int) -> None:
    gateway = polled(db)
    leases.renew(db, "mine", spool="s")
    number = ask(db, person, gateway)
    assert taken(db, "other") is None
    assert taken(db, "mine") == number
    assert taken(db, "mine") is None


def test_a_gateway_that_nobody_polls_is_asked_by_anybody_one_question_at_a_time(
    db: Connection, person: int
) -> None:
    new = Gateway(id=0, name="new", host="10.0.0.7", port=502)
    first, second = ask(db, person, new), ask(db, person, new)
    elsewhere = ask(db, person, Gateway(id=0, name="x", host="10.0.0.8", port=502))
    assert taken(db, "a") == first
    assert taken(db, "b") == elsewhere  # never a second connection to one gateway
    questions.answer(db, first, content={"entries": []})
    assert taken(db, "b") == second


def test_an_address_that_is_on_file_is_recognised(db: Connection, person: int) -> None:
    gateway = polled(db)
    leases.renew(db, "mine", spool="s")
    same = Gateway(id=0, name="typed", host=gateway.host, port=gateway.port)
    number = ask(db, person, same)
    assert taken(db, "other") is None
    assert questions.find(db, number, person_id=person).gateway.id == gateway.id


def test_a_question_that_nobody_answers_expires_with_the_reason(
    db: Connection, person: int
) -> None:
    gateway = polled(db)
    number = ask(db, person, gateway)
    assert questions.find(db, number, person_id=person).is_open
    age(db, 31)
    said = questions.find(db, number, person_id=person)
    assert not said.is_open
    assert "none is running; start one with pretreat ingest" in (said.problem or "")
    assert taken(db, "late") is None
    leases.renew(db, "w", spool="s")
    said = questions.find(db, number, person_id=person)
    assert "1 run, but none took the question in 30 s" in (said.problem or "")
    tokens.add(db, worker_name="north", sha256="0" * 64, points=["P"])
    said = questions.find(db, number, person_id=person)
    assert "the remote site of north, which takes no questions" in (said.problem or "")


def test_a_worker_that_dies_over_a_question_is_named(db: Connection, person: int) -> None:
    number = ask(db, person, Gateway(id=0, name="x", host="10.0.0.8", port=502))
    taken(db, "brief")
    age(db, 31)
    said = questions.find(db, number, person_id=person)
    assert (said.problem or "").startswith("worker brief took the question and gave no answer")
    questions.answer(db, number, content={"entries": []})  # it comes back, too late for the page
    assert questions.find(db, number, person_id=person).problem is None


def test_a_question_is_seen_by_who_asked_it_alone(db: Connection, person: int) -> None:
    number = ask(db, person, Gateway(id=0, name="x", host="10.0.0.8", port=502))
    with pytest.raises(NotFound):
        questions.find(db, number, person_id=person + 1)


def test_each_question_is_in_the_audit_log_with_its_host(db: Connection, person: int) -> None:
    there = Gateway(id=0, name="x", host="10.0.0.8", port=502)
    ask(db, person, there)
    ask(db, person, there)  # as a page does every two seconds
    ask(db, person, there, last=9)
    said = [(one.by, one.act, one.subject, one.detail["kind"]) for one in audit.entries(db)]
    who = ("Adam Root", "ask the field", "10.0.0.8:502")
    assert said == [(*who, "read"), (*who, "scan")]


def test_ten_questions_of_one_person_may_be_open(db: Connection, person: int) -> None:
    there = Gateway(id=0, name="x", host="10.0.0.8", port=502)
    first = [ask(db, person, there) for _ in range(questions.MOST_OPEN)][0]
    with pytest.raises(InputError, match="10 questions of yours wait"):
        ask(db, person, there)
    questions.answer(db, first, content={})
    ask(db, person, there)


# -- on the line


def question(place: Endpoint, *, last: int = 1, map_name: str = "acme") -> Question:
    return Question(
        id=1, asked_by=1, asked_at=datetime.now(UTC), asks=Asks.SCAN if last > 1 else Asks.READ,
        gateway=gateway_at(place), units=(1, last), map_name=map_name, order=None,
        taken_by="w", answered_at=None, answer=None, problem=None,
    )  # fmt: skip


@pytest.fixture
def known(tmp_path: Path) -> Maps:
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "acme.yaml").write_text(MAP)
    return Maps(tmp_path)


class Lines:
    """The lines of a worker that polls one gateway, or none."""

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch

    def line(self, gateway: int) -> between.Between | None:
        return None if self._watch is None else self._watch.between


def instrument(asked: Asked) -> object:
    if asked.unit != 1:
        return None
    held = {0: 702, 1: 0x0000, 2: 0x4120}
    return [held.get(a, 0) for a in range(asked.address, asked.address + asked.count)]


def test_an_answer_gives_words_and_every_order_that_is_open(known: Maps) -> None:
    async def run() -> tuple[object, str]:
        async with Scripted(instrument) as gateway:
            return await enquiry.answered(question(gateway.endpoint), Lines(), known, reach=HERE)

    content, problem = asyncio.run(run())
    assert problem == "" and isinstance(content, dict)
    ph, level = content["entries"]
    assert (ph["printed"], ph["words"], ph["values"][0]["value"]) == ("40001", ["0x02BE"], "7.02")
    assert {v["order"]: v["value"] for v in level["values"]}["CDAB"] == "10"
    assert [v["order"] for v in level["values"]] == ["ABCD", "CDAB", "BADC", "DCBA"]


def test_a_polled_gateway_is_asked_over_its_own_connection_between_two_rounds(known: Maps) -> None:
    readings: list[Reading] = []

    async def run() -> tuple[int, object]:
        async with Scripted(instrument) as gateway:
            watch = polling(gateway.endpoint, [unit(1, mapped(PH))], readings.extend)
            rounds = [Round(interval=1000, slot=1000 * n, skipped=()) for n in range(1, 9)]
            asked = asyncio.create_task(
                enquiry.answered(question(gateway.endpoint), Lines(watch), known, reach=HERE)
            )
            for each in rounds:
                await watch.round(each)
            content, problem = await asked
            watch.close()
            assert problem == ""
            return gateway.connections, content

    connections, content = asyncio.run(run())
    assert connections == 1
    assert content is not None
    assert [r.value for r in readings] == 8 * [7.02]


def test_a_line_over_which_nothing_is_polled_is_given_back(known: Maps) -> None:
    async def run() -> bool:
        async with Scripted(instrument) as gateway:
            watch = polling(gateway.endpoint, [], lambda readings: None)
            await enquiry.answered(question(gateway.endpoint), Lines(watch), known, reach=HERE)
            return watch.between.connected

    assert asyncio.run(run()) is False


def test_a_connection_of_its_own_goes_only_within_reach(known: Maps) -> None:
    async def run() -> tuple[object, str, int]:
        async with Scripted(instrument) as gateway:
            asked = question(gateway.endpoint)
            usual = Reach.of(PRIVATE)
            return *await enquiry.answered(asked, Lines(), known, reach=usual), gateway.connections

    content, problem, connections = asyncio.run(run())
    assert (content, connections) == (None, 0)
    assert "leads to 127.0.0.1, which is in no network of PRETREAT_FIELD_ALLOW" in problem


def test_a_device_that_is_no_serial_line_is_not_opened(known: Maps, tmp_path: Path) -> None:
    asked = question(
        Endpoint(
            host=str(tmp_path / "file"), port=0, transport=Transport.SERIAL, protocol=Protocol.RTU
        )
    )
    content, problem = asyncio.run(enquiry.answered(asked, Lines(), known, reach=HERE))
    assert content is None and "is no serial device" in problem


class Tray:
    """Questions in a list, and what became of them."""

    def __init__(self, *asked: Question) -> None:
        self._asked = list(asked)
        self.problems: list[str] = []

    def take(self) -> Question | None:
        return self._asked.pop(0) if self._asked else None

    def answer(self, question: Question, content: object, problem: str) -> None:
        self.problems.append(problem)


class Broken(Lines):
    """A fault of ours over the first question."""

    def __init__(self) -> None:
        super().__init__()
        self._left = 1

    def line(self, gateway: int) -> between.Between | None:
        self._left -= 1
        if self._left == 0:
            raise RuntimeError("a fault of ours")
        return None


def test_a_fault_over_a_question_is_answered_noted_and_the_next_one_is_asked(known: Maps) -> None:
    faults: list[str] = []

    async def run() -> list[str]:
        async with Scripted(instrument) as gateway:
            tray = Tray(question(gateway.endpoint), question(gateway.endpoint))
            task = asyncio.create_task(
                enquiry.attend(tray, Broken(), known, reach=HERE, fault=faults.append)
            )
            while len(tray.problems) < 2 and not task.done():
                await asyncio.sleep(0.02)
            task.cancel()
            return tray.problems

    problems = asyncio.run(asyncio.wait_for(run(), 10))
    assert "wrote the fault down; ask again" in problems[0]
    assert problems[1] == ""
    assert faults == ["question 1 to g: RuntimeError: a fault of ours"]


def test_a_scan_names_who_answers(known: Maps) -> None:
    async def run() -> tuple[object, str]:
        async with Scripted(lambda asked: 2 if asked.unit == 3 else instrument(asked)) as gateway:
            return await enquiry.answered(
                question(gateway.endpoint, last=3), Lines(), known, reach=HERE
            )

    content, problem = asyncio.run(run())
    assert problem == "" and isinstance(content, dict)
    assert [(one["unit"], one["says"][:18]) for one in content["units"]] == [
        (1, "holding register 0"), (3, "unit 3 at 127.0.0."),
    ]  # fmt: skip
    assert content["looked_to"] == 3


@pytest.mark.parametrize(
    ("map_name", "script", "says"),
    [
        ("acme", lambda asked: None, "did not answer in time"),
        ("nobody", instrument, "there is no register map 'nobody'"),
    ],
)
def test_why_nothing_was_read_is_one_sentence(
    known: Maps, map_name: str, script: object, says: str
) -> None:
    async def run() -> tuple[object, str]:
        async with Scripted(script) as gateway:  # type: ignore[arg-type]
            asked = question(gateway.endpoint, map_name=map_name)
            return await enquiry.answered(asked, Lines(), known, reach=HERE)

    content, problem = asyncio.run(run())
    assert content is None and says in problem


def test_a_changed_map_is_another_map_at_once(known: Maps, tmp_path: Path) -> None:
    before, mark = known["acme"], known.mark()
    file = tmp_path / "maps" / "acme.yaml"
    file.write_text(MAP.replace('scale: "0.01"', 'scale: "0.001"'))
    assert known.newest("acme") != before
    assert known.mark() != mark
    assert known["acme"].entries["ph"].scale != before.entries["ph"].scale


def test_a_gateway_that_closes_after_each_answer_is_scanned_whole(known: Maps) -> None:
    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readexactly(12)
        writer.write(asked[:4] + bytes([0, 5, asked[6], 3, 2, 0, 7]))
        await writer.drain()
        writer.close()

    async def run() -> tuple[object, str]:
        server = await asyncio.start_server(closing, "127.0.0.1", 0)
        async with server:
            place = Endpoint(host="127.0.0.1", port=server.sockets[0].getsockname()[1])
            return await enquiry.answered(question(place, last=4), Lines(), known, reach=HERE)

    content, _ = asyncio.run(run())
    assert isinstance(content, dict)
    assert [one["unit"] for one in content["units"]] == [1, 2, 3, 4]
