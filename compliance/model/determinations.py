"""What a person decided of readings: valid, invalid, or an estimate; the newest word stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from compliance.model.readings import SUSPECT, Quality, Times


class Verdict(StrEnum):
    """What a person may say of readings."""

    VALID = "valid"
    INVALID = "invalid"
    ESTIMATED = "estimated"


SAYS = {
    Verdict.VALID: "determined to be valid",
    Verdict.INVALID: "determined to be invalid",
    Verdict.ESTIMATED: "determined to be an estimate",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Determination:
    """A verdict on the readings of a channel in ``[since_us, until_us)``."""

    since_us: int
    until_us: int
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRecord:
    """A determination as a person made it: on readings of a channel in ``[since, until)``.

    by: name and office; evidence_sha256: of the file beside it, None without one.
    """

    number: int
    channel_id: int
    since: datetime
    until: datetime
    verdict: Verdict
    reason: str
    by: str
    at: datetime
    evidence_name: str | None
    evidence_sha256: str | None

    @property
    def excludes(self) -> bool:
        """Whether the readings are not judged."""
        return self.verdict is not Verdict.VALID

    @property
    def says(self) -> str:
        """What was decided, in a few words."""
        return SAYS[self.verdict]

    @property
    def sentence(self) -> str:
        """The same as a reason that stands for itself."""
        return f"readings {self.says} (determination {self.number} by {self.by}): {self.reason}"


def determined(
    at_us: Times, quality: NDArray[np.int64], verdicts: Sequence[Determination]
) -> NDArray[np.int64]:
    """The quality of readings under verdicts, which come oldest first; a later one takes over.

    Valid lifts every doubt, but makes no value of what instrument or gateway said was none.
    """
    if not verdicts:
        return quality
    own = int(Quality.INVALID | Quality.ESTIMATED)
    laid = quality.copy()
    for each in verdicts:
        held = (at_us >= each.since_us) & (at_us < each.until_us)
        laid[held] = quality[held] & ~own
        if each.verdict is Verdict.VALID:
            laid[held] &= ~SUSPECT
        elif each.verdict is Verdict.INVALID:
            laid[held] |= int(Quality.INVALID)
        else:
            laid[held] |= int(Quality.ESTIMATED)
    return laid
