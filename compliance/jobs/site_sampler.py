"""A sampler in a site document: which channels it has, and what it is held to from a day on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import Connection

from compliance.errors import InputError
from compliance.model.composites import CompositeKind
from compliance.records import dirt, readings, samplers

Written = Annotated[str, Field(pattern=r"^\d+(\.\d+)?$")]

CHANNELS = ("aliquots", "total", "bottle", "cabinet")


class ChannelName(BaseModel):
    """A channel of the point: the unit id of its instrument, and the entry of the map."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: int = Field(ge=0, le=255)
    entry: str


class SamplerDocument(BaseModel):
    """A proportional sampler as it is set from ``effective`` on.

    tolerance: how far aliquots taken may lie from those due, as a share: ours, no law's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    effective: date
    aliquots: ChannelName
    total: ChannelName
    bottle: ChannelName | None = None
    cabinet: ChannelName | None = None
    composite: CompositeKind
    gallons_per_aliquot: Written
    aliquots_per_bottle: int | None = Field(default=None, ge=1, le=10_000)
    moves_when_full: bool = True
    tolerance: Written = "0.10"
    warmest_deg_c: Written | None = None

    @model_validator(mode="after")
    def _can_be_meant(self) -> SamplerDocument:
        if self.composite is CompositeKind.BOTTLE and self.bottle is None:
            raise ValueError("composite bottle needs the channel that shows the bottle: add bottle")
        if not Decimal(self.gallons_per_aliquot):
            raise ValueError("gallons_per_aliquot is 0; expected the pace of the sampler")
        if not 0 < Decimal(self.tolerance) < 1:
            raise ValueError('tolerance is a share such as "0.10", between 0 and 1')
        return self


def store(
    db: Connection,
    document: SamplerDocument,
    *,
    point: str,
    point_id: int,
    channels: Mapping[tuple[int, str], int],
) -> None:
    """Set a point's sampler; what it changes is computed anew from that day on.

    channels: ids of the point's channels by unit id and entry.
    Raises: InputError where the sampler names a channel that the point does not have.
    """
    values: dict[str, Any] = {
        f"{name}_channel_id": _channel(getattr(document, name), name, point, channels)
        for name in CHANNELS
    }
    values |= {
        "composite": document.composite.value,
        "gallons_per_aliquot": Decimal(document.gallons_per_aliquot),
        "aliquots_per_bottle": document.aliquots_per_bottle,
        "moves_when_full": document.moves_when_full,
        "tolerance": Decimal(document.tolerance),
        "warmest_deg_c": Decimal(document.warmest_deg_c) if document.warmest_deg_c else None,
    }
    if samplers.put(db, point_id, document.effective, values):
        since = datetime.combine(document.effective, time.min, UTC) - timedelta(days=1)
        until = max(since, datetime.now(UTC))
        readings.mark_dirty(
            db, [values["aliquots_channel_id"]], since=since, until=until, why=dirt.SAMPLER
        )


def _channel(
    of: ChannelName | None, name: str, point: str, channels: Mapping[tuple[int, str], int]
) -> int | None:
    if of is None:
        return None
    if (of.unit, of.entry) not in channels:
        known = ", ".join(f"{entry} of unit {unit}" for unit, entry in channels)
        raise InputError(
            f"the sampler of {point} has as {name} {of.entry!r} of unit {of.unit}, which is no "
            f"channel of this point; expected one of: {known or 'none, it has no channels'}"
        )
    return channels[of.unit, of.entry]
