"""One line of a bench: our figure beside a peer's, or beside a limit, of the same run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A comparison. is_less_better: for times, whose ratio is then theirs ÷ ours."""

    what: str
    figure: float
    unit: str
    against: str
    against_figure: float
    is_less_better: bool = False

    @property
    def ratio(self) -> float:
        """How many times as fast as the peer, or as the limit asks; more is better."""
        ours, theirs = self.figure, self.against_figure
        if self.is_less_better:
            ours, theirs = theirs, ours
        return ours / theirs if theirs else float("inf")
