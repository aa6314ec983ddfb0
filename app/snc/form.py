"""A control authority's determination as it was typed, and what is wrong with which field."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta

from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.model.noncompliance import Criterion, Said
from compliance.model.periods import FIRST_YEAR, LAST_YEAR, quarter


@dataclass(kw_only=True)
class DeterminationForm:
    """faults: a sentence for each field that cannot be used."""

    criterion: str = ""
    quarter_end: str = ""
    verdict: str = ""
    decided_on: str = ""
    signed_by: str = ""
    reference: str = ""
    words: str = ""
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def day(self) -> date | None:
        """The half-year's last day; None where it is none."""
        return _day(self.quarter_end)

    def said(self, authority: str) -> Said | None:
        """What it says, or None with the faults."""
        end, decided = self.day, _day(self.decided_on)
        if self.criterion not in set(Criterion):
            self.faults["criterion"] = "Choose the criterion that was determined."
        if self.verdict not in ("snc", "not"):
            self.faults["verdict"] = "Choose what was determined."
        if end is None or end != quarter(end).end - timedelta(days=1):
            self.faults["quarter_end"] = (
                "Write the last day of a calendar quarter, such as 2026-06-30."
            )
        if decided is None:
            self.faults["decided_on"] = "Write the day of the letter or the decision."
        if len(self.words.strip()) < SHORTEST_REASON:
            self.faults["words"] = (
                f"Write at least {SHORTEST_REASON} characters: what was determined, and why."
            )
        if self.faults or end is None or decided is None:
            return None
        return Said(
            criterion=Criterion(self.criterion),
            quarter_end=end,
            is_snc=self.verdict == "snc",
            authority=authority,
            decided_on=decided,
            signed_by=self.signed_by.strip(),
            reference=self.reference.strip(),
            words=self.words.strip(),
        )

    def place(self, fault: str) -> None:
        """Put a sentence of the records beside the field it speaks of."""
        starts = {"That day": "decided_on", "Write who": "signed_by", "Write at": "words"}
        name = next((at for start, at in starts.items() if fault.startswith(start)), "reference")
        self.faults[name] = fault


def _day(text: str) -> date | None:
    try:
        found = date.fromisoformat(text.strip())
    except ValueError:
        return None
    return found if FIRST_YEAR <= found.year <= LAST_YEAR else None
