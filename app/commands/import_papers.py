"""`pretreat import PERMITS.yaml`: papers that bind users, into the database."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from app.commands.acting import operator
from app.release import RELEASE
from compliance import settings
from compliance.errors import InputError, NotFound
from compliance.jobs import control_document, controls
from compliance.jobs.controls import Report
from compliance.records import schema
from compliance.records.engine import opened


def import_papers(text: str, *, file: str, as_json: bool) -> None:
    """Write papers, all of them or none, and say what became of each.

    Raises: InputError in one sentence that names the file.
    """
    papers = control_document.parse(text, file=file)
    with opened(settings.load()) as engine:
        schema.require(engine)
        try:
            report = controls.enter(
                engine, papers, by=operator(), now=datetime.now(UTC), release=RELEASE
            )
        except (InputError, NotFound) as error:
            raise InputError(f"{file}: {error}") from None
    if as_json:
        print(json.dumps(_told(report)))
        return
    for one in report.entered:
        print(f"{one.what} of {one.user}: {one.became.value}, version {one.version}")
    print(f"{report.marked} channels and {report.results} results are judged anew")


def _told(report: Report) -> dict[str, object]:
    return {
        "entered": [
            {
                "what": one.what,
                "user": one.user,
                "became": one.became.value,
                "version": one.version,
            }
            for one in report.entered
        ],
        "channels_marked": report.marked,
        "results_judged": report.results,
    }
