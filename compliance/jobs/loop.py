"""The loop of ``pretreat work``: woken by new readings or each second, it judges what is new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event
from time import monotonic

import psycopg
import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from compliance.jobs import averages, reruled
from compliance.jobs.agreements import watch_agreements
from compliance.jobs.composites import compose
from compliance.jobs.cross import check_totals
from compliance.jobs.evaluate import PIECE, Which, evaluate
from compliance.jobs.rollup import roll_up
from compliance.jobs.screen import screen_readings
from compliance.jobs.silence import watch_silence
from compliance.jobs.slugs import screen_slugs
from compliance.records import health, timescale
from compliance.records.engine import raw_connection

log = structlog.get_logger(__name__)

NAME = "work"
LONGEST_WAIT = 1.0
BEAT = timedelta(seconds=5)
ONCE = timedelta(days=36_500)
ANEW = 0.5
"""Seconds of each round for work that is not new: what is new waits no longer."""


@dataclass
class Every:
    """A duty of the loop and when it is next due."""

    period: timedelta
    do: Callable[[datetime], object]
    due: datetime = field(default=datetime(1970, 1, 1, tzinfo=UTC))

    def tick(self, now: datetime) -> None:
        """Do it if it is due."""
        if now >= self.due:
            self.due = now + self.period
            self.do(now)


def run(engine: Engine, stop: Event, *, release: str, also: Sequence[Every] = ()) -> None:
    """Judge until ``stop`` is set. The database away: wait for it; a fault: note it and go on.

    also: duties of the process besides judging.
    """
    duties = (
        *also,
        Every(ONCE, lambda now: _look_at_rules(engine, now=now, release=release)),
        Every(timedelta(0), lambda now: evaluate(engine, now=now, release=release)),
        Every(
            timedelta(minutes=1),
            lambda now: evaluate(engine, now=now, release=release, which=Which.FAILED),
        ),
        Every(timedelta(0), lambda _: _work_off(stop, lambda: _judge_anew(engine, release))),
        Every(
            timedelta(seconds=1),
            lambda now: screen_slugs(engine, now=now, release=release, most=1, longest=PIECE),
        ),
        Every(
            timedelta(seconds=15),
            lambda _: _work_off(stop, lambda: roll_up(engine, most=2, longest=PIECE)),
        ),
        Every(
            timedelta(seconds=15),
            lambda _: _work_off(stop, lambda: screen_readings(engine, most=1, longest=PIECE)),
        ),
        Every(timedelta(minutes=10), lambda now: check_totals(engine, now=now, most=10)),
        Every(timedelta(seconds=10), lambda now: watch_silence(engine, now=now)),
        Every(timedelta(minutes=1), lambda now: watch_agreements(engine, now=now)),
        Every(timedelta(minutes=1), lambda now: compose(engine, now=now, release=release)),
        Every(timedelta(hours=1), lambda now: averages.watch(engine, now=now, release=release)),
        Every(timedelta(hours=6), lambda now: _make_months(engine, now)),
        Every(BEAT, lambda _: _beat(engine)),
    )
    while not stop.is_set():
        try:
            with raw_connection(engine) as listening:
                listening.execute("LISTEN pretreat_dirty")
                while not stop.is_set():
                    for duty in duties:
                        if stop.is_set():  # a long duty is ended, the next not begun
                            break
                        duty.tick(datetime.now(UTC))
                    _wait(listening)
        except (OperationalError, psycopg.OperationalError) as error:
            log.warning("the database is away", reason=str(error).split("\n")[0])
            stop.wait(LONGEST_WAIT)
        except Exception as error:
            # The outermost loop of a process: a fault is told and the rest goes on.
            log.exception("evaluation failed")
            note(engine, f"{type(error).__name__}: {error}")
            stop.wait(LONGEST_WAIT)
    _leave(engine)


def _leave(engine: Engine) -> None:
    try:
        with engine.begin() as db:
            health.farewell(db, NAME)
    except OperationalError:
        log.warning("the database is away at the end")


def _wait(listening: psycopg.Connection[tuple[object, ...]]) -> None:
    for _ in listening.notifies(timeout=LONGEST_WAIT, stop_after=1):
        return


def _look_at_rules(engine: Engine, *, now: datetime, release: str) -> None:
    with engine.begin() as db:
        count = reruled.look(db, release=release, now=now)
    if count:
        log.info("rules have changed", channels_judged_anew=count)


def _work_off(stop: Event, some: Callable[[], int]) -> None:
    """Do some of a slower duty's work again and again, as long as there is any and it is short."""
    enough = monotonic() + ANEW
    while some() and monotonic() < enough and not stop.is_set():
        pass


def _judge_anew(engine: Engine, release: str) -> int:
    """Judge a piece of what changed rules bear on; how many readings."""
    now = datetime.now(UTC)
    return evaluate(engine, now=now, release=release, which=Which.RULED).readings


def _make_months(engine: Engine, now: datetime) -> None:
    """Room for readings to come, where they are kept by months."""
    with engine.begin() as db:
        timescale.make_months_ahead(db, now)


def _beat(engine: Engine) -> None:
    with engine.begin() as db:
        health.beat(db, NAME, {})


def note(engine: Engine, what: str) -> None:
    """Write a fault down, or at least into the log when the database is away."""
    try:
        with engine.begin() as db:
            health.fault(db, NAME, what[:500])
    except OperationalError:
        log.warning("the fault could not be noted: the database is away", what=what)
