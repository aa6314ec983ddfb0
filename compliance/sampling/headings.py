"""Headings of laboratory files: what a column means, and where the header row stands."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from compliance.model.faults import brief


class Field(StrEnum):
    """What a column tells."""

    SAMPLE = "sample"
    POINT = "point"
    COLLECTED = "collected"
    TIME = "time"
    START = "start"
    START_TIME = "start time"
    END = "end"
    END_TIME = "end time"
    ZONE = "zone"
    END_ZONE = "end zone"
    RECEIVED = "received"
    RECEIVED_TIME = "received time"
    TYPE = "type"
    PARAMETER = "parameter"
    RESULT = "result"
    QUALIFIER = "qualifier"
    UNIT = "unit"
    MDL = "mdl"
    MDL_UNIT = "mdl unit"
    RL = "rl"
    RL_UNIT = "rl unit"
    LIMIT_UNIT = "limit unit"
    METHOD = "method"
    LAB = "lab"
    TAKEN_BY = "taken by"
    SPECIES = "species"
    FRACTION = "fraction"
    CONDITION = "condition"


# Spellings after folding: lower case, every run of other signs one space.
_SPELLINGS: dict[Field, str] = {
    Field.SAMPLE: "sample|sample id|sampleid|sample no|sample number|lab id|lab no|lab number"
    "|lab sample id|laboratory sample id|client sample id|activityidentifier"
    "|activity activityidentifier",
    Field.POINT: "point|monitoring point|site|site id|location|sample location|sample point"
    "|sampling point|station|outfall|manhole|monitoringlocationidentifier|location identifier",
    Field.COLLECTED: "collected|collected at|collected on|collected local|date|date collected"
    "|collection date|collection date time|date sampled|sample date|sample date time|sampling date"
    "|sampled|sampled at|sampled on|date time|datetime|date time collected|date time sampled"
    "|collected date|collected date time",
    Field.TIME: "time|collection time|sample time|time collected|time sampled|sampling time"
    "|collected time",
    Field.START: "start|from|sampled from|start date|start date time|composite start|begin"
    "|begin date|activitystartdate|activity startdate",
    Field.START_TIME: "start time|begin time|activitystarttime time|activity starttime",
    Field.END: "end|to|sampled to|end date|end date time|composite end|stop|activityenddate"
    "|activity enddate",
    Field.END_TIME: "end time|stop time|activityendtime time|activity endtime",
    Field.ZONE: "zone|tz|time zone|timezone|activitystarttime timezonecode"
    "|activity starttimetimezone",
    Field.END_ZONE: "activityendtime timezonecode|activity endtimetimezone",
    Field.RECEIVED: "received|received at|received on|received date|date received"
    "|date time received|received date time|lab received|received by lab",
    Field.RECEIVED_TIME: "received time|time received",
    Field.TYPE: "type|sample type|sampletype|collection type|grab composite|activitytypecode"
    "|activity typecode",
    Field.PARAMETER: "parameter|analyte|test|constituent|chemical|compound|characteristic"
    "|characteristicname|result characteristic|parameter name",
    Field.RESULT: "result|results|value|result value|concentration|reported result|reported value"
    "|resultmeasurevalue|result measure",
    Field.QUALIFIER: "qual|quals|qualifier|qualifiers|lab qualifier|result qualifier|flag|flags"
    "|data qualifier|measurequalifiercode|result measurequalifiercode",
    Field.UNIT: "unit|units|result unit|result units|resultmeasure measureunitcode"
    "|result measureunit|uom",
    Field.MDL: "mdl|lod|detection limit|method detection limit|limit of detection",
    Field.MDL_UNIT: "mdl unit|mdl units|lod unit|lod units",
    Field.RL: "rl|loq|pql|mrl|ml|reporting limit|limit of quantitation|quantitation limit"
    "|report limit|detectionquantitationlimitmeasure measurevalue|detectionlimit measurea",
    Field.RL_UNIT: "rl unit|rl units|loq unit|loq units|pql units|mrl units"
    "|detectionquantitationlimitmeasure measureunitcode|detectionlimit measureunita",
    Field.LIMIT_UNIT: "limit unit|limit units",
    Field.METHOD: "method|test method|analytical method|analysis method|method id"
    "|resultanalyticalmethod methodidentifier|resultanalyticalmethod identifier",
    Field.LAB: "lab|laboratory|lab name|laboratory name|laboratoryname",
    Field.TAKEN_BY: "taken by|sampled by|collected by|sampler",
    Field.SPECIES: "species|speciation|methodspecificationname|methodspeciationname"
    "|result methodspeciation",
    Field.FRACTION: "fraction|sample fraction|resultsamplefractiontext|result samplefraction",
    Field.CONDITION: "condition|detection condition|resultdetectionconditiontext"
    "|result resultdetectioncondition",
}
_FIELD = {name: field for field, names in _SPELLINGS.items() for name in names.split("|")}
_ASIDE = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_LETTERHEAD_ROWS = 60


def fold(text: str) -> str:
    """A heading for comparison: compatibility forms, lower case, other signs as one space."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("#", " no ")
    return " ".join(re.sub(r"[^a-z0-9]+", " ", plain).split())


def field_of(heading: str) -> tuple[Field | None, str | None]:
    """What a heading means and the unit it carries in brackets: ``Result (mg/L)``."""
    whole = _FIELD.get(fold(heading))
    if whole is not None:
        return whole, None
    aside = _ASIDE.search(heading)
    bare = _FIELD.get(fold(_ASIDE.sub(" ", heading)))
    return bare, (aside.group(1) or aside.group(2)) if aside and bare else None


def known(cells: Sequence[str]) -> int:
    """How many different fields a row of headings names."""
    return len({field for cell in cells if (field := field_of(cell)[0]) is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Where each field stands; heading: as the file writes it; units: given in a heading."""

    position: int  # of the header among the lines
    column: Mapping[Field, int]
    heading: Mapping[Field, str]
    units: Mapping[Field, str]
    warnings: tuple[str, ...]

    def name(self, field: Field) -> str:
        """The heading as the file writes it, or our name for what is missing."""
        return self.heading.get(field, field.value)


def find(lines: Sequence[Sequence[str]]) -> Header:
    """The header: the row that names most fields, the first of equals; row one where none does."""
    scores = [known(cells) for cells in lines[:_LETTERHEAD_ROWS]]
    position = scores.index(max(scores)) if scores else 0
    column: dict[Field, int] = {}
    heading: dict[Field, str] = {}
    units: dict[Field, str] = {}
    warnings: list[str] = []
    for index, cell in enumerate(lines[position] if lines else ()):
        field, unit = field_of(cell)
        if field is None or field in column:
            warnings += _ignored(cell, repeated=field is not None)
            continue
        column[field], heading[field] = index, cell.strip()
        if unit:
            units[field] = unit
    return Header(
        position=position, column=column, heading=heading, units=units, warnings=tuple(warnings)
    )


def _ignored(cell: str, *, repeated: bool) -> list[str]:
    if not cell.strip():
        return []
    why = "tells what an earlier column tells" if repeated else "is not understood"
    return [f"heading {brief(cell.strip())!r} {why}: its column was not read"]
