"""`pretreat user`: people who may sign in."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer
from sqlalchemy.exc import IntegrityError

from app import auth
from app.commands.acting import operator
from compliance import settings
from compliance.errors import InputError
from compliance.model.sites import Role
from compliance.records import audit, days, people, permits, schema, sites
from compliance.records.engine import opened

command = typer.Typer(add_completion=False, no_args_is_help=True)


@command.callback()
def _users() -> None:
    """People who may sign in. Example: pretreat user add ana --name Ana --role coordinator"""


@command.command()
def add(
    login: Annotated[str, typer.Argument(help="What the person types to sign in.")],
    name: Annotated[str, typer.Option(help="As it is printed under a decision.")],
    role: Annotated[Role, typer.Option(help="What the person may do.")],
    office: Annotated[str, typer.Option(help="The capacity in which the person acts.")] = "",
    city: Annotated[str, typer.Option(help="The city's slug; none: all cities.")] = "",
    user: Annotated[str, typer.Option(help="The industrial user's name, for its people.")] = "",
) -> None:
    """Add a person and print a password, once.

    Example: pretreat user add ana --name "Ana Ruiz" --role coordinator --city prescott
    """
    if (role is Role.INDUSTRIAL_USER) != bool(user):
        raise InputError("--user names the industrial user of its people, and of nobody else")
    password = "-".join(secrets.token_hex(2) for _ in range(4))
    with opened(settings.load()) as engine:
        schema.require(engine)
        try:
            with engine.begin() as db:
                owners = {owner.name: owner.id for owner in days.users(db)}
                if user and user not in owners:
                    raise InputError(
                        f"there is no industrial user {user!r}; there are: {', '.join(owners)}"
                    )
                people.add(
                    db,
                    login=login,
                    name=name,
                    password=auth.hashed(password),
                    role=role,
                    office=office or role.value.replace("_", " ").capitalize(),
                    city_id=sites.city(db, city).id if city else None,
                    industrial_user_id=owners.get(user),
                )
                audit.note(
                    db,
                    by=operator(),
                    act="add a person",
                    subject=login,
                    detail={"name": name, "role": role.value, "city": city, "user": user},
                )
        except IntegrityError:
            raise InputError(f"{login!r} signs in here already; choose another name") from None
    print(f"{login} may sign in with the password {password}")


@command.command()
def permit(
    login: Annotated[str, typer.Argument(help="Who, by the sign-in name.")],
    permit: Annotated[str, typer.Argument(help="What, such as enable_sampler.")],
) -> None:
    """Give a person a permit beyond the role.

    Example: pretreat user permit ana enable_sampler
    """
    _change(login, permit, give=True)


@command.command()
def revoke(
    login: Annotated[str, typer.Argument(help="Who, by the sign-in name.")],
    permit: Annotated[str, typer.Argument(help="What, such as enable_sampler.")],
) -> None:
    """Take a permit back.

    Example: pretreat user revoke ana enable_sampler
    """
    _change(login, permit, give=False)


def _change(login: str, permit: str, *, give: bool) -> None:
    if permit not in permits.PERMITS:
        raise InputError(f"{permit!r} is no permit; expected {', '.join(permits.PERMITS)}")
    act, change = ("give", permits.grant) if give else ("take back", permits.revoke)
    with opened(settings.load()) as engine:
        schema.require(engine)
        with engine.begin() as db:
            changed = change(db, login, permit)
            if changed:
                detail = {"permit": permit}
                audit.note(db, by=operator(), act=f"{act} a permit", subject=login, detail=detail)
    holds = "holds" if give else "does not hold"
    print(f"{login} {holds} {permit}" + ("" if changed else ", as before"))
