"""One share against each document's design figure; which governs is the Director's to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from compliance.judging.agreements import Design, Reach, Share, Trigger, printed, reach
from compliance.model.capacity import TESTED, Figure, Note, What
from compliance.model.parameters import Parameter

_GALLONS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ByDocument:
    """A share by one document. reach: as it would stand if that figure governed."""

    figure: Figure
    text: str
    reach: Reach


def figures_of(
    figures: Sequence[Figure], parameter: Parameter, *, facility_id: int = 0
) -> tuple[Figure, ...]:
    """The design figures of a facility for one parameter, in the order of their papers."""
    return tuple(
        one
        for one in figures
        if one.what is What.DESIGN and one.facility_id == facility_id and one.parameter is parameter
    )


def governing(
    figures: Sequence[Figure], notes: Sequence[Note], parameter: Parameter, *, facility_id: int = 0
) -> Figure | None:
    """The figure that governs: by the newest note, or since all documents agree; else None."""
    mine = figures_of(figures, parameter, facility_id=facility_id)
    said = [one for one in notes if (one.facility_id, one.parameter) == (facility_id, parameter)]
    chosen = max(said, key=lambda one: one.at, default=None)
    for one in mine:
        if chosen is not None and one.id == chosen.figure_id:
            return one
    return mine[0] if len({one.value for one in mine}) == 1 else None


def design(figures: Sequence[Figure], notes: Sequence[Note]) -> Design | None:
    """The design a share is worked with: what governs, else the first figure on record.

    None where no design flow of the plant is on record.
    """
    chosen: dict[Parameter, Figure] = {}
    for parameter in TESTED:
        mine = figures_of(figures, parameter)
        if mine:
            chosen[parameter] = governing(figures, notes, parameter) or mine[0]
    if Parameter.FLOW not in chosen:
        return None
    flow = chosen.pop(Parameter.FLOW)
    sources = dict.fromkeys(one.document for one in (flow, *chosen.values()))
    return Design(
        flow_mgd=flow.value,
        loads_lb_day={parameter: one.value for parameter, one in chosen.items()},
        source="; ".join(sources),
    )


def by_document(
    share: Share, figures: Sequence[Figure], trigger: Trigger, *, projected: bool
) -> tuple[ByDocument, ...]:
    """The share against each design figure of the plant; none where it is not known."""
    if share.amount is None:
        return ()
    return tuple(
        _by(share.amount, figure, trigger, projected=projected)
        for figure in figures_of(figures, share.parameter)
    )


def _by(amount: Fraction, figure: Figure, trigger: Trigger, *, projected: bool) -> ByDocument:
    unit = _GALLONS if figure.parameter is Parameter.FLOW else 1
    percent = 100 * amount / (Fraction(figure.value) * unit)
    return ByDocument(
        figure=figure,
        text=printed(percent, trigger.at_least),
        reach=reach(percent, trigger, projected=projected),
    )


def settled(share: Share, found: Sequence[ByDocument], governs: Figure | None) -> Share:
    """The share, waiting for the Director's note where documents differ and none governs.

    Both shares are then in its working. What one document reaches is not required until a note
    says that it governs.
    """
    if len({one.figure.value for one in found}) < 2:
        return share
    lines = tuple(
        f"by {one.figure.document}: {one.figure.value} {_unit(share.parameter)}, {one.text} %"
        for one in found
    )
    if governs is not None:
        said = f"{governs.document} governs, by the Director's note"
        return replace(share, working=(*share.working, *lines, said))
    said = "the documents differ: which of them governs is for a note of the Director"
    open_ = any(one.reach is Reach.REACHED for one in found)
    return replace(
        share,
        reach=Reach.UNSETTLED if open_ else share.reach,
        working=(*share.working, *lines, said),
    )


def _unit(parameter: Parameter) -> str:
    return "MGD" if parameter is Parameter.FLOW else "lb/day"
