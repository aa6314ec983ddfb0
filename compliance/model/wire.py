"""How an instrument wants to be spoken to: protocols, line, pauses, the size of a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from compliance.errors import RuleError
from compliance.model.fields import Fields, whole_number

MOST_REGISTERS = 125
"""What one Modbus read can carry."""

_LINE = re.compile(r"(?:(\d+) )?([78][ENO][12])")


class Protocol(StrEnum):
    """The three dialects of Modbus; RTU and ASCII run over a serial line or a TCP tunnel."""

    TCP = "tcp"
    RTU = "rtu"
    ASCII = "ascii"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What a map says of the link to its instrument; None and empty where no source says it.

    protocols: what it speaks; baud, parity: what it can be set to, such as 9600 and "8E1";
    default_baud, default_parity: as delivered. timeout_ms: for an answer; pause_ms: to be kept
    between an answer and the next request. wake_up_s: after so long without traffic it sleeps,
    and the first request is lost. multiple_of: the count of every request must be one.
    one_request_per_entry: it answers blocks wrongly. accept_unit_mismatch, ignore_transaction_id:
    what its answers get wrong. wide_registers: each register number answers with four bytes.
    split_values: it refuses to give a value of several registers in one request, so they are read
    one by one and checked for having moved meanwhile.
    """

    protocols: tuple[Protocol, ...] = ()
    baud: tuple[int, ...] = ()
    parity: tuple[str, ...] = ()
    default_baud: int | None = None
    default_parity: str | None = None
    timeout_ms: int | None = None
    pause_ms: int = 0
    wake_up_s: int | None = None
    multiple_of: int = 1
    one_request_per_entry: bool = False
    accept_unit_mismatch: bool = False
    ignore_transaction_id: bool = False
    wide_registers: bool = False
    split_values: bool = False


_KEYS = (
    *("protocols", "baud", "parity", "default", "timeout_ms", "pause_ms", "wake_up_s"),
    *("multiple_of", "one_request_per_entry", "accept_unit_mismatch", "ignore_transaction_id"),
    *("wide_registers", "split_values"),
)


def wire(top: Fields) -> Wire:
    """The ``link`` of a map's document; one without it says nothing.

    Raises: RuleError in one sentence for the first thing that cannot be meant.
    """
    content = top.content.get("link")
    if content is None:
        return Wire()
    if not isinstance(content, Mapping):
        raise top.fault("link", "a mapping such as {protocols: [rtu], default: 9600 8E1}")
    fields = Fields(place=f"{top.place}, link", content=content)
    fields.expect_only(_KEYS)
    baud, parity = _line(fields)
    return Wire(
        protocols=_protocols(fields),
        baud=_bauds(fields),
        parity=_parities(fields),
        default_baud=baud,
        default_parity=parity,
        timeout_ms=_optional(fields, "timeout_ms", low=1, high=600_000),
        pause_ms=_optional(fields, "pause_ms", low=0, high=600_000) or 0,
        wake_up_s=_optional(fields, "wake_up_s", low=1, high=86_400),
        multiple_of=_optional(fields, "multiple_of", low=1, high=MOST_REGISTERS) or 1,
        one_request_per_entry=fields.flag("one_request_per_entry"),
        accept_unit_mismatch=fields.flag("accept_unit_mismatch"),
        ignore_transaction_id=fields.flag("ignore_transaction_id"),
        wide_registers=fields.flag("wide_registers"),
        split_values=fields.flag("split_values"),
    )


def _optional(fields: Fields, key: str, *, low: int, high: int) -> int | None:
    if fields.content.get(key) is None:
        return None
    return fields.whole(key, low=low, high=high)


def _protocols(fields: Fields) -> tuple[Protocol, ...]:
    named = fields.texts("protocols")
    known = {member.value: member for member in Protocol}
    if not all(name in known for name in named) or len(set(named)) < len(named):
        raise fields.fault("protocols", f"a list of {', '.join(known)}, each once")
    return tuple(known[name] for name in named)


def _bauds(fields: Fields) -> tuple[int, ...]:
    listed = fields.content.get("baud") or []
    rates = [whole_number(rate) for rate in listed] if isinstance(listed, list) else [None]
    if any(rate is None or not 300 <= rate <= 1_000_000 for rate in rates):
        raise fields.fault("baud", "a list of rates such as [9600, 19200]")
    return tuple(rate for rate in rates if rate is not None)


def _parities(fields: Fields) -> tuple[str, ...]:
    named = fields.texts("parity")
    if not all(re.fullmatch(r"[78][ENO][12]", name) for name in named):
        raise fields.fault("parity", "a list such as [8E1, 8N2]: data bits, parity, stop bits")
    return named


def _line(fields: Fields) -> tuple[int | None, str | None]:
    """The line as delivered: ``9600 8E1``, or the parity alone."""
    if fields.content.get("default") is None:
        return None, None
    found = _LINE.fullmatch(fields.text("default"))
    if found is None:
        raise fields.fault("default", "a rate and a parity such as 9600 8E1")
    return (int(found[1]) if found[1] else None), found[2]


def request_size(top: Fields, of: Wire) -> int | None:
    """The most registers that the instrument answers in one request; None: as many as Modbus.

    Raises: RuleError for one that is no multiple of what a request must be.
    """
    limit = _optional(top, "max_registers", low=1, high=MOST_REGISTERS)
    if limit is not None and limit % of.multiple_of:
        raise RuleError(
            f"{top.place}: max_registers is {limit}; expected a multiple of {of.multiple_of}, "
            "since link says that every request must be one"
        )
    return limit
