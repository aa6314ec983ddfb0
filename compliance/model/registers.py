"""The words of register maps: tables, types, orders, and one entry of an instrument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from compliance.model.readings import Quality
from compliance.model.units import Unit


class Table(StrEnum):
    """The four address spaces of Modbus."""

    HOLDING = "holding"
    INPUT = "input"
    COIL = "coil"
    DISCRETE = "discrete"

    @property
    def function(self) -> int:
        """The function code that reads it."""
        return _FUNCTION[self]

    @property
    def digit(self) -> str:
        """The first digit of a printed address such as 40108."""
        return _DIGIT[self]


_FUNCTION = {Table.HOLDING: 3, Table.INPUT: 4, Table.COIL: 1, Table.DISCRETE: 2}
_DIGIT = {Table.HOLDING: "4", Table.INPUT: "3", Table.COIL: "0", Table.DISCRETE: "1"}


class RegisterType(StrEnum):
    """How words make a value."""

    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BCD16 = "bcd16"
    BCD32 = "bcd32"
    MOD10K = "mod10k"
    BITS = "bits"
    STRING = "string"

    @property
    def words(self) -> int | None:
        """How many registers one value takes; None where the entry says it."""
        digits = self.value[-2:]
        return int(digits) // 16 if digits.isdigit() else None


class Order(StrEnum):
    """In which order the bytes of a value of several words arrive; ABCD is big-endian.

    In 64 bits CDAB reverses the words, BADC swaps the bytes in each word, DCBA does both.
    """

    ABCD = "ABCD"
    CDAB = "CDAB"
    BADC = "BADC"
    DCBA = "DCBA"


class Kind(StrEnum):
    """What an entry is good for."""

    GAUGE = "gauge"
    TOTAL = "total"
    COUNTER = "counter"
    STATUS = "status"
    UNIT_CODE = "unit_code"
    CONFIG = "config"
    IDENTITY = "identity"
    DIAGNOSTIC = "diagnostic"
    HEARTBEAT = "heartbeat"
    COMMAND = "command"
    TIME = "time"


class Clock(StrEnum):
    """How an instrument writes its own time; in which zone, no manual of ours says."""

    UNIX_SECONDS = "unix_seconds"
    FIELDS = "second minute hour day month year"  # one register each

    @property
    def words(self) -> int | None:
        """How many registers it takes; None where the entry's type says it."""
        return 6 if self is Clock.FIELDS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One value of an instrument.

    address: zero-based, as on the wire; printed: as the manual prints it; misprint: the manual
    contradicts itself there. order: None where the manual leaves it open (always so for one word).
    missing: the instrument's marks for no value, all words in order joined, unsigned, compared
    before sign and scale. share: the value is a share of the channel's span. low, high: the
    instrument's range, in the unit. verify: to be compared with the display on site.
    alternative_to: the entry that the same registers are on another model. wide: each register
    number answers with four bytes. clock: how an entry of kind ``time`` tells it.

    says_quality: its own codes qualify other entries.

    Links, each the name of another entry: status qualifies the value (status_codes what its codes,
    or bits if status_by_bit, mean; status_other what the unlisted mean), exponent_register and
    multiplier_register multiply it, unit_register names its unit, temperature_register the unit of
    all temperatures; rollover_register counts how often a total passed its modulus, time_register
    tells when it was measured.
    """

    name: str
    table: Table
    address: int
    printed: str
    type: RegisterType
    words: int
    order: Order | None = None
    scale: Decimal = Decimal(1)
    offset: Decimal = Decimal(0)
    unit: Unit | None = None
    unit_text: str = ""
    kind: str = Kind.GAUGE
    missing: tuple[int, ...] = ()
    status: str | None = None
    status_codes: Mapping[int, Quality] = field(default_factory=dict)
    status_other: Quality = Quality.STATUS_UNCERTAIN
    status_by_bit: bool = False
    says_quality: bool = False
    unit_register: str | None = None
    temperature_register: str | None = None
    exponent_register: str | None = None
    multiplier_register: str | None = None
    rollover_register: str | None = None
    time_register: str | None = None
    codes: Mapping[int, str] = field(default_factory=dict)
    clock: Clock | None = None
    share: bool = False
    low: Decimal | None = None
    high: Decimal | None = None
    modulus: Decimal | None = None
    resolution: Decimal | None = None
    enables: int | None = None  # of a command: the value that lets a sampler run
    disables: int | None = None
    alternative_to: str | None = None
    wide: bool = False
    evidence: str = "manual"
    misprint: bool = False
    verify: bool = False
    note: str = ""

    @property
    def is_enabling(self) -> bool:
        """Whether a map gives it a value to be written."""
        return self.enables is not None or self.disables is not None

    @property
    def registers(self) -> int:
        """How many addresses it takes."""
        return self.words // 2 if self.wide else self.words

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.address + self.registers

    @property
    def needs_order(self) -> bool:
        """Whether its value depends on a byte and word order."""
        return self.words > 1 and self.type not in (RegisterType.STRING, RegisterType.BITS)
