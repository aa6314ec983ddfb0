"""`pretreat sampler`: let a sampler run, or stop it; the only command that writes to the field."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import typer
from sqlalchemy import Engine

from app.commands.acting import operator
from compliance import settings
from compliance.errors import ComplianceError, InputError, Refused
from compliance.records import at_point, audit, people, permits, schema
from compliance.records.engine import opened
from ingest import enabling, library

command = typer.Typer(add_completion=False, no_args_is_help=True)

Point = Annotated[str, typer.Argument(metavar="POINT", help="The monitoring point, as MH-2.")]
As = Annotated[str, typer.Option("--as", metavar="EMAIL", help="Who does it: a sign-in name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ALLOWED_BY = "PRETREAT_ALLOW_SAMPLER_ENABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where one order goes."""

    where: at_point.Behind
    order: enabling.Order


@command.callback()
def _root() -> None:
    """Let the sampler of a point run, or stop it, by one write to one coil or register.

    Off unless PRETREAT_ALLOW_SAMPLER_ENABLE=yes; the person needs the permit enable_sampler.
    Example: pretreat sampler enable MH-2 --as ana@example.org
    """


@command.command()
def enable(point: Point, login: As, as_json: AsJson = False) -> None:
    """Let a sampler run.

    Example: pretreat sampler enable MH-2 --as ana@example.org
    """
    _act(point, login, enable=True, as_json=as_json)


@command.command()
def disable(point: Point, login: As, as_json: AsJson = False) -> None:
    """Stop a sampler.

    Example: pretreat sampler disable MH-2 --as ana@example.org
    """
    _act(point, login, enable=False, as_json=as_json)


def _act(point: str, login: str, *, enable: bool, as_json: bool) -> None:
    own = settings.load()
    if not own.allow_sampler_enable:
        raise Refused(
            f"writing to samplers is off here; {ALLOWED_BY}=yes in the environment of this command "
            "turns it on"
        )
    with opened(own) as engine:
        schema.require(engine)
        who = _permitted(engine, login, point)
        target = _target(engine, own, point, enable=enable)
        answer = _carried_out(engine, target, point, who=who, enable=enable)
    said = {"point": point, "written": str(target.order), "answer": answer}
    print(json.dumps(said) if as_json else f"{point}: {target.order}; answered {answer}")


def _permitted(engine: Engine, login: str, point: str) -> str:
    """Who acts, as the audit log names him. Raises: NotFound; Refused."""
    with engine.connect() as db:
        held = permits.held(db, login)
        account = people.by_login(db, login)
        city = at_point.city(db, point)
    if permits.ENABLE_SAMPLER not in held or account is None:
        raise Refused(
            f"{login} does not hold the permit {permits.ENABLE_SAMPLER}; "
            f"give it with: pretreat user permit {login} {permits.ENABLE_SAMPLER}"
        )
    if account.viewer.city_id not in (None, city) or account.viewer.industrial_user_id is not None:
        raise Refused(
            f"{login} does not belong to the city of {point}; a sampler is enabled by that city's "
            "own people"
        )
    return f"{account.viewer.name} ({login}, by {operator()})"


def _target(engine: Engine, own: settings.Settings, point: str, *, enable: bool) -> Target:
    """The one instrument of a point that can be enabled. Raises: NotFound; InputError."""
    with engine.connect() as db:
        here = at_point.instruments(db, point)
    maps = [(one, library.load(one.map_name, own.home)) for one in here]
    fitting = [
        (one, found)
        for one, found in maps
        if any(entry.is_enabling for entry in found.entries.values())
    ]
    if len(fitting) != 1:
        known = ", ".join(sorted({one.map_name for one in here})) or "no instruments"
        raise InputError(
            f"{point} has {len(fitting)} instruments whose register map marks what enables them "
            f"({known}); expected exactly one: mark an entry of kind: command with enables"
        )
    ((where, found),) = fitting
    if where.transport.partition("?")[0] != "tcp":
        raise InputError(
            f"the sampler of {point} is spoken to by {where.transport}; expected tcp: only Modbus "
            "TCP is written to"
        )
    return Target(where=where, order=enabling.order(found, enable=enable))


def _carried_out(engine: Engine, target: Target, point: str, *, who: str, enable: bool) -> str:
    """Note the order, give it, note what came of it. Raises: LinkError."""
    verb = "enable a sampler" if enable else "disable a sampler"
    to = target.where
    detail: dict[str, object] = {
        "written": str(target.order),
        "to": f"{to.host}:{to.port} unit {to.unit_id}",
        "map": to.map_name,
    }
    _note(engine, who, f"{verb}: about to write", point, detail)
    try:
        answer = enabling.write(to.host, to.port, to.unit_id, target.order)
    except ComplianceError as error:
        _note(engine, who, f"{verb}: failed", point, {**detail, "answer": str(error)})
        raise
    _note(engine, who, f"{verb}: written", point, {**detail, "answer": answer})
    return answer


def _note(engine: Engine, who: str, act: str, point: str, detail: dict[str, object]) -> None:
    with engine.begin() as db:
        audit.note(db, by=who, act=act, subject=point, detail=detail)
