"""What a bench says of one comparison."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison; ratio is ours ÷ theirs in speed.

    is_less_better: figures are times or shares, of which less is faster.
    """

    what: str
    figure: float
    unit: str
    against: str
    against_figure: float
    is_less_better: bool = False

    @property
    def ratio(self) -> float:
        """How many times as fast as the peer or the limit."""
        ours, theirs = self.figure, self.against_figure
        if self.is_less_better:
            ours, theirs = theirs, max(ours, 0.01)
        return ours / theirs
