"""How much one worker polls and stores, how late, and at what cost beside other pollers.

Everything is as in use: a worker process, its spool, its forwarder, a database. What counts is
what stands in the database afterwards. Gateways are answered by a process that does as little as
can be; every instrument has 20 values in 30 registers, one request, and is read once a second.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from compliance.model.bench import Row
from compliance.records import embedded
from ingest import bench_peers
from ingest.bench_peers import Peer
from ingest.bench_plant import POINTS, Measured, Shape, measured, responder

MOST_LATE_MS = {20_000: 200.0, 60_000: 500.0}
"""By readings a second: how late 99 of 100 of them may be asked for."""
MOST_CPU_PERCENT = 20.0
"""Of a core, that 250 instruments may take."""
MOST_LATE_BESIDE_DEAD_MS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a run does. few: measured for its cost, beside the peers; many: for rows and lateness;
    beside: sound gateways among dead, slow and lying ones. peer_seconds: of each peer."""

    few: Shape
    many: tuple[Shape, ...]
    beside: Shape
    peer_gateways: int
    peer_seconds: float
    with_thingsboard: bool


SIZES = {
    "small": Size(
        few=Shape(moods={"sound": 50}, warm=1, seconds=5),
        many=(),
        beside=Shape(
            moods={"sound": 6, "slow": 1, "lying": 1, "silent": 1, "closed": 1}, warm=1, seconds=4
        ),
        peer_gateways=10,
        peer_seconds=2,
        with_thingsboard=False,
    ),
    "full": Size(
        few=Shape(moods={"sound": 250}, seconds=30),
        many=(
            Shape(moods={"sound": 1000}, seconds=30),
            Shape(moods={"sound": 1000}, units=3, seconds=30),
        ),
        beside=Shape(
            moods={"sound": 30, "slow": 5, "lying": 5, "silent": 5, "closed": 5}, seconds=30
        ),
        peer_gateways=250,
        peer_seconds=20,
        with_thingsboard=True,
    ),
}


def rows(size: Size, *, told: Callable[[str], None] = lambda what: None) -> tuple[Row, ...]:
    """All comparisons. told: what is being done.

    Raises: StorageError when the worker does not come to store what it polls.
    """
    made: list[Row] = []
    with _folder() as home, embedded.running(home) as server:
        for shape in size.many:
            told(f"{shape.sound} channels at 1 Hz")
            made += _many(measured(server, home / f"many-{shape.sound}", shape))
        told(f"{size.few.sound} channels at 1 Hz")
        few = measured(server, home / "few", size.few)
        made += _few(few)
        told("sound gateways beside others")
        made.append(_beside(measured(server, home / "beside", size.beside)))
        told("other pollers")
        made += [_cost(few, peer) for peer in _peers(size, home)]
    return tuple(made)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pretreat-bench-") as name:
        home = Path(name)
        home.chmod(0o755)  # the database's account must enter
        yield home


def _many(of: Measured) -> list[Row]:
    what = f"{of.shape.sound:,} channels at 1 Hz"
    limit = next((ms for count, ms in MOST_LATE_MS.items() if of.shape.sound <= count), 500.0)
    return [
        _stored(of, what),
        Row(
            what=f"{what}: p99 lateness (p50 {of.tally.p50 or 0:g} ms, "
            f"{_percent(of):.0f} % of a core)",
            figure=float(of.tally.p99 or 0),
            unit="ms",
            against="the most that is allowed",
            against_figure=limit,
            is_less_better=True,
        ),
    ]


def _stored(of: Measured, what: str) -> Row:
    empty = of.tally.rows - of.tally.with_value
    return Row(
        what=f"{what}: rows stored of those due in {of.shape.seconds} s"
        + (f", {empty:,} of them flagged as not read" if empty else ""),
        figure=float(of.tally.rows),
        unit="rows",
        against="rows due",
        against_figure=float(of.due),
    )


def _few(of: Measured) -> list[Row]:
    instruments = of.shape.sound // POINTS
    what = f"{instruments} instruments of {POINTS} values at 1 Hz"
    share = Row(
        what=f"{what}: share of a core",
        figure=_percent(of),
        unit="%",
        against="the most that is allowed for 250",
        against_figure=MOST_CPU_PERCENT,
        is_less_better=True,
    )
    return [_stored(of, what), share]


def _percent(of: Measured) -> float:
    return 100 * of.cpu_seconds / of.shape.seconds


def _beside(of: Measured) -> Row:
    others = sum(of.shape.moods.values()) - of.shape.moods["sound"]
    return Row(
        what=f"{of.shape.moods['sound']} sound gateways beside {others} dead, slow or lying: "
        "p99 lateness",
        figure=float(of.tally.p99 or 0),
        unit="ms",
        against="the most that is allowed",
        against_figure=MOST_LATE_BESIDE_DEAD_MS,
        is_less_better=True,
    )


def _peers(size: Size, home: Path) -> list[Peer]:
    """Those that can be run, on gateways of their own."""
    with responder({"sound": size.peer_gateways}) as (ports, _):
        found = [bench_peers.plain(ports[:50], seconds=size.peer_seconds)]
        if size.with_thingsboard:
            other = bench_peers.thingsboard(ports, home / "peer", seconds=size.peer_seconds)
            found += [other] if other is not None else []
    return found


def _cost(of: Measured, peer: Peer) -> Row:
    return Row(
        what=f"readings for each second of a processor, {of.shape.sound // POINTS} instruments "
        "at 1 Hz, stored in the database",
        figure=of.tally.with_value / max(of.cpu_seconds, 0.01),
        unit="readings/CPU s",
        against=f"{peer.name}, stored nowhere",
        against_figure=peer.per_cpu_second,
    )
