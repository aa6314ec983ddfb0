"""What binds a user: every source with its numbers; forms for a paper and for an approval."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, File, Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection, Engine

from app import auth, binding, papers
from app.deps import Db, Now, Pool, SignedIn, Visible
from app.inputs import Id, Storable
from app.pages.declarations import signed
from app.paper_forms import (
    LIMIT_LINES,
    SAMPLING_LINES,
    ApprovalForm,
    DutyLine,
    LimitLine,
    PaperForm,
    duty_lines,
    limit_lines,
    padded,
)
from app.release import RELEASE
from app.templating import page
from app.uploads import LARGEST
from compliance.errors import Refused, UnknownRule
from compliance.jobs import controls
from compliance.jobs.control_document import Papers
from compliance.jobs.determine import Paper
from compliance.model.control import ControlKind, UserClass
from compliance.model.parameters import Parameter
from compliance.model.periods import day_of
from compliance.model.sites import Viewer
from compliance.model.units import Unit
from compliance.records import control, people, samples
from compliance.records.places import User
from compliance.records.scope import Scope
from compliance.rules import book
from compliance.rules.control import CALLED, CONDITIONS, refusal
from compliance.rules.schema import Basis, LimitRule, Rule, SampleSource

router = APIRouter()

Text = Annotated[Storable, Form(max_length=2000)]
Texts = Annotated[list[Storable] | None, Form()]


def paper_filled(  # noqa: PLR0913 - the fields of the form
    kind: Text = "",
    number: Text = "",
    user_class: Text = "",
    effective: Text = "",
    ended: Text = "",
    issued_by: Text = "",
    office: Text = "",
    note: Text = "",
    condition: Texts = None,
    part: Texts = None,
    point: Texts = None,
    parameter: Texts = None,
    basis: Texts = None,
    low: Texts = None,
    high: Texts = None,
    unit: Texts = None,
    sample: Texts = None,
    force: Texts = None,
    duty_point: Texts = None,
    duty_parameter: Texts = None,
    duty_sample: Texts = None,
    duty_frequency: Texts = None,
    duty_by: Texts = None,
) -> PaperForm:
    """The form as it was sent."""
    limits = limit_lines([part, point, parameter, basis, low, high, unit, sample, force])
    duties = duty_lines([duty_point, duty_parameter, duty_sample, duty_frequency, duty_by])
    return PaperForm(
        kind=kind,
        number=number[:60],
        user_class=user_class,
        effective=effective,
        ended=ended,
        issued_by=issued_by[:200],
        office=office[:200],
        note=note,
        conditions=[*(condition or ())][:3],
        limits=limits,
        duties=duties,
    )


def approval_filled(  # noqa: PLR0913 - the fields of the form
    rule: Text = "",
    low: Text = "",
    high: Text = "",
    effective: Text = "",
    ended: Text = "",
    author: Text = "",
    office: Text = "",
    reason: Text = "",
) -> ApprovalForm:
    """The form as it was sent."""
    return ApprovalForm(
        rule=rule,
        low=low,
        high=high,
        effective=effective,
        ended=ended,
        author=author[:200],
        office=office[:200],
        reason=reason,
    )


@router.get("/users/{slug}/binds")
def binds(request: Request, scope: Visible, db: Db, at: Now, slug: str) -> Response:
    """Every source that binds a user, as it stands today."""
    found = binding.binds(db, scope, binding.user_of(db, scope, slug), at=at)
    told = {"found": found, "zone": found.zone, "called": CALLED, "in_force": binding.is_in_force}
    return page(request, "binds.html", {**told, "conditions": CONDITIONS, "faults": {}})


@router.get("/users/{slug}/papers/new")
def paper_new(  # noqa: PLR0913 - what a request brings
    request: Request, viewer: SignedIn, scope: Visible, engine: Pool, at: Now, slug: str
) -> Response:
    """The form for a permit, an order or another paper; empty."""
    user = _may(engine, viewer, scope, slug)
    with engine.connect() as db:
        form = PaperForm(issued_by=viewer.name, office=people.office(db, viewer.person_id) or "")
        return _paper_page(request, db, user, form)


@router.post("/users/{slug}/papers/new")
def paper_entered(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    slug: str,
    form: Annotated[PaperForm, Depends(paper_filled)],
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Write a paper down; the form again where something is missing."""
    user = _may(engine, viewer, scope, slug)
    paper = form.take("file", lambda: papers.sent(file))
    given = form.control(user.slug)
    if given is not None:
        entered = Papers(controls=(given,), approvals=())
        form.take("number", lambda: _enter(engine, viewer, entered, paper, at=at))
    if form.faults:
        with engine.connect() as db:
            return _paper_page(request, db, user, form)
    return _back(user)


@router.get("/users/{slug}/approvals/new")
def approval_new(  # noqa: PLR0913 - what a request brings
    request: Request, viewer: SignedIn, scope: Visible, engine: Pool, at: Now, slug: str
) -> Response:
    """The form for a Director's approval; empty."""
    user = _may(engine, viewer, scope, slug)
    with engine.connect() as db:
        return _approval_page(request, db, user, ApprovalForm())


@router.post("/users/{slug}/approvals/new")
def approval_entered(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    slug: str,
    form: Annotated[ApprovalForm, Depends(approval_filled)],
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Write an approval down; the form again where something is missing."""
    user = _may(engine, viewer, scope, slug)
    paper = form.take("file", lambda: papers.sent(file))
    given = form.approval(user.slug, _unit(form.rule))
    if given is not None:
        entered = Papers(controls=(), approvals=(given,))
        form.take("rule", lambda: _enter(engine, viewer, entered, paper, at=at))
    if form.faults:
        with engine.connect() as db:
            return _approval_page(request, db, user, form)
    return _back(user)


@router.post("/approvals/{approval_id}/withdraw")
def withdraw(  # noqa: PLR0913 - what a request brings
    request: Request,
    viewer: SignedIn,
    scope: Visible,
    engine: Pool,
    at: Now,
    approval_id: Id,
    reason: Text = "",
) -> Response:
    """Let an approval lift nothing from today on."""
    with engine.connect() as db:
        one = control.approval(db, scope, approval_id)
        auth.require(viewer, "enter papers")
        by, zone = signed(db, viewer), ZoneInfo(control.zone(db, one.user_id))
    if one.withdrawn_on is not None:
        raise Refused(f"Approval {approval_id} was withdrawn by {one.withdrawn_by} already.")
    controls.withdraw(engine, approval_id, on=day_of(at, zone), by=by, why=reason)
    return RedirectResponse(f"/users/{quote(one.approval.user)}/binds", HTTPStatus.SEE_OTHER)


@router.get("/papers/{paper_id}/file")
def paper_file(scope: Visible, db: Db, paper_id: Id) -> Response:
    """The paper itself, to be saved."""
    name, content = control.paper(db, scope, paper_id)
    told = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(
        content, media_type="application/octet-stream", headers={"content-disposition": told}
    )


def _may(engine: Engine, viewer: Viewer, scope: Scope, slug: str) -> User:
    """The user whose papers a viewer may enter. Raises: NotFound, Refused."""
    with engine.connect() as db:
        user = binding.user_of(db, scope, slug)
    auth.require(viewer, "enter papers")
    return user


def _enter(
    engine: Engine, viewer: Viewer, entered: Papers, paper: Paper | None, *, at: datetime
) -> None:
    with engine.connect() as db:
        by = signed(db, viewer)
    controls.enter(engine, entered, by=by, now=at, release=RELEASE, file=paper)


def _back(user: User) -> Response:
    return RedirectResponse(f"/users/{quote(user.slug)}/binds", HTTPStatus.SEE_OTHER)


def _unit(rule_id: str) -> Unit | None:
    """The unit of the rule that an approval names; None where it has none, or there is none."""
    try:
        return getattr(book.find(rule_id)[1], "unit", None)
    except UnknownRule:
        return None


def _paper_page(request: Request, db: Connection, user: User, form: PaperForm) -> Response:
    form.limits = padded(form.limits, LimitLine, LIMIT_LINES)
    form.duties = padded(form.duties, DutyLine, SAMPLING_LINES)
    context: dict[str, Any] = {
        "user": user,
        "form": form,
        "kinds": {kind.value: CALLED[kind] for kind in ControlKind},
        "classes": list(UserClass),
        "point_choices": [(code, code) for code in samples.points(db, user.id)],
        "parameters": list(Parameter),
        "basis_choices": [(one.value, one.value.replace("_", " ")) for one in Basis],
        "units": list(Unit),
        "source_choices": [(one.value, one.value) for one in SampleSource],
        "conditions": CONDITIONS,
        **_files(),
    }
    return page(request, "paper_new.html", context, status=_status(form.faults))


def _approval_page(request: Request, db: Connection, user: User, form: ApprovalForm) -> Response:
    rulebooks = samples.owner(db, user.id).rulebooks
    every = [rule for name in rulebooks for rule in book.book(name).rules]
    context: dict[str, Any] = {
        "user": user,
        "form": form,
        "rules": [rule for rule in every if refusal(rule) is None],
        "bounds": _bounds,
        "others": [rule for rule in every if isinstance(rule, LimitRule) and refusal(rule)],
        "why": refusal,
        **_files(),
    }
    return page(request, "approval_new.html", context, status=_status(form.faults))


def _bounds(rule: Rule) -> str:
    """The newest bounds of a rule in a few words; empty where it has no number."""
    if not isinstance(rule, LimitRule) or not rule.versions:
        return ""
    newest = rule.versions[-1]
    parts = [
        f"{word} {bound}"
        for word, bound in (("at least", newest.at_least), ("at most", newest.at_most))
        if bound is not None
    ]
    return f"{', '.join(parts)} {rule.unit.value}"


def _files() -> dict[str, Any]:
    return {"accept": papers.ACCEPT, "largest": LARGEST}


def _status(faults: dict[str, str]) -> HTTPStatus:
    return HTTPStatus.UNPROCESSABLE_ENTITY if faults else HTTPStatus.OK
