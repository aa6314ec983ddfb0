"""The faults, each done for real to a running installation."""

from __future__ import annotations

import random
import resource
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from app.faults import disks
from app.faults.scene import Scene, until

Moods = Callable[[int, str], None]
"""Sets the mood of a simulated gateway, by its number."""
MAIN, OTHER = "one", "two"
DISK_FULL = "disk full"
LITTLE = 256 * 1024
"""The room of a spool that is to be full soon, in bytes: the least that may be set."""
A_THIRD = 3


def worker_killed(scene: Scene, _moods: Moods) -> int:
    """kill -9 at any moment, and started again."""
    for _ in range(scene.size.kills):
        time.sleep(random.uniform(0.5, 2.0))  # noqa: S311 - not a secret
        scene.kill(MAIN)
        scene.start(MAIN)
        wait_until_all_are_polled(scene)
    return scene.size.kills


def database_killed(scene: Scene, _moods: Moods) -> int:
    """kill -9 of the server in the middle of its work, and started again."""
    for _ in range(scene.size.kills):
        time.sleep(random.uniform(0.5, 2.0))  # noqa: S311 - not a secret
        scene.end_database(signal.SIGKILL)
        time.sleep(random.uniform(0.1, 1.0))  # noqa: S311 - not a secret
        scene.start_database()
    return scene.size.kills


def database_away(scene: Scene, _moods: Moods) -> int:
    """Stopped for a while; the worker is meanwhile killed and starts without it."""
    with _no_database(scene):
        time.sleep(scene.size.seconds / 2)
        scene.kill(MAIN)
        scene.start(MAIN)
        time.sleep(scene.size.seconds / 2)
        wait_until_all_are_polled(scene)
    return 1


def disk_refuses(scene: Scene, _moods: Moods) -> int:
    """The kernel lets the worker write no file on for a while, as a full disk does."""
    was = resource.prlimit(scene.pid(MAIN), resource.RLIMIT_FSIZE)
    resource.prlimit(scene.pid(MAIN), resource.RLIMIT_FSIZE, (1, was[1]))
    time.sleep(scene.size.seconds)
    resource.prlimit(scene.pid(MAIN), resource.RLIMIT_FSIZE, was)
    return 1


def disk_full(scene: Scene, _moods: Moods) -> int:
    """The spool's own disk, a small one, is filled up by another program and emptied again."""
    scene.stop(MAIN)
    with disks.small(scene.spool(MAIN)):
        scene.start(MAIN)
        wait_until_all_are_polled(scene)
        with disks.full(scene.spool(MAIN)):
            time.sleep(scene.size.seconds)
        wait_until_all_are_polled(scene)
        scene.stop(MAIN)
    scene.start(MAIN)
    return 1


def spool_full(scene: Scene, _moods: Moods) -> int:
    """A spool with little room, no database: thinned, full, and then the worker is killed."""
    scene.stop(MAIN)
    with _no_database(scene):
        scene.start(MAIN, PRETREAT_SPOOL_BYTES=str(LITTLE))
        until(lambda: scene.spool_bytes(MAIN) >= LITTLE)
        time.sleep(scene.size.seconds)
        scene.kill(MAIN)
    scene.start(MAIN)
    return 1


def half_open(scene: Scene, moods: Moods) -> int:
    """A third of the gateways keeps its connections open and says nothing."""
    return _moody(scene, moods, "silent")


def liars(scene: Scene, moods: Moods) -> int:
    """A third of the gateways answers under a wrong unit, function or transaction, or cut short."""
    return _moody(scene, moods, "lying")


def _moody(scene: Scene, moods: Moods, mood: str) -> int:
    some = range(0, scene.size.gateways, A_THIRD)
    for number in some:
        moods(number, mood)
    time.sleep(scene.size.seconds)
    for number in some:
        moods(number, "well")
    time.sleep(1)
    return len(some)


def one_of_two_killed(scene: Scene, _moods: Moods) -> int:
    """Two workers share the gateways; one is killed and the other takes over."""
    scene.start(OTHER)
    until(lambda: scene.spool_bytes(OTHER) > 0)
    scene.kill(MAIN)
    wait_until_all_are_polled(scene)
    scene.start(MAIN)
    known = scene.segments(MAIN)
    until(lambda: bool(scene.segments(MAIN) - known))
    scene.stop(OTHER)
    return 1


TRIALS: Sequence[tuple[str, Callable[[Scene, Moods], int]]] = (
    ("worker killed", worker_killed),
    ("database killed", database_killed),
    ("database away", database_away),
    ("disk refuses", disk_refuses),
    (DISK_FULL, disk_full),
    ("spool full", spool_full),
    ("half-open sockets", half_open),
    ("liars", liars),
    ("one of two workers killed", one_of_two_killed),
)


def possible() -> Sequence[tuple[str, Callable[[Scene, Moods], int]]]:
    """The trials that this account may make here: without a right to mount, no disk is filled."""
    if disks.may_be_mounted():
        return TRIALS
    return [one for one in TRIALS if one[0] != DISK_FULL]


@contextmanager
def _no_database(scene: Scene) -> Iterator[None]:
    scene.end_database(signal.SIGINT)
    try:
        yield
    finally:
        scene.start_database()


def wait_until_all_are_polled(scene: Scene) -> None:
    """Until each channel has an accepted reading of a slot from now on."""
    since_us = time.time_ns() // 1000
    channels = scene.size.gateways * scene.size.channels

    def polled() -> bool:
        scene.ledger.read()
        newest = scene.ledger.newest.values()
        return len(newest) == channels and min(newest) >= since_us

    until(polled)
