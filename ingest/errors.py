"""What can go wrong on the way from an instrument to the spool."""

from __future__ import annotations

from typing import ClassVar

from compliance.errors import ComplianceError
from compliance.model.readings import Quality


class IngestError(ComplianceError):
    """The root of this package's errors: one sentence for a person."""


class LinkError(IngestError):
    """A request that brought no value.

    quality: what its readings carry. waited: the time that an answer may take was spent on it.
    """

    quality: ClassVar[Quality]
    waited: bool = False


class NoAnswer(LinkError):
    """Nothing came in time."""

    quality = Quality.NO_ANSWER
    waited = True


class NotConnected(LinkError):
    """There is no connection to the gateway, or it was lost under the request."""

    quality = Quality.NOT_CONNECTED


class BadReply(LinkError):
    """An answer that does not fit the question: another unit, function or length."""

    quality = Quality.BAD_REPLY

    def __init__(self, what: str, *, waited: bool = False) -> None:
        super().__init__(what)
        self.waited = waited


UNIT_DOWN = (10, 11)
"""Exceptions by which a gateway says that it cannot reach the unit."""

EXCEPTIONS = {
    1: "illegal function",
    2: "illegal data address",
    3: "illegal data value",
    4: "device failure",
    5: "acknowledged, still at work",
    6: "device busy",
    7: "negative acknowledge",
    8: "memory parity error",
    10: "gateway path unavailable",
    11: "no answer behind the gateway",
}


class Refused(LinkError):
    """The instrument, or the gateway for it, answered with an exception code."""

    quality = Quality.EXCEPTION

    def __init__(self, where: str, code: int) -> None:
        meaning = EXCEPTIONS.get(code, "a code that Modbus does not define")
        super().__init__(f"{where} refused the request with exception {code} ({meaning})")
        self.code = code


def is_away(error: LinkError) -> bool:
    """Whether a unit that brings this is asked in vain, at the cost of the others on its line."""
    if isinstance(error, Refused):
        return error.code in UNIT_DOWN
    return error.waited or isinstance(error, NotConnected)
