"""Where commands print tables: data is printed as it is, and a pipe has room for a whole row."""

from __future__ import annotations

from rich.console import Console

WIDTH_OF_A_FILE = 160


class Paper(Console):
    """A console whose reader may leave early, as ``head`` does: ``main`` ends quietly then."""

    def on_broken_pipe(self) -> None:
        """Leave it to the command's outermost frame; rich would say exit code 1, a finding."""
        raise BrokenPipeError


def paper() -> Paper:
    """A console that takes no text for markup or an emoji: a point may be called ``[/foo]``."""
    width = None if Console().is_terminal else WIDTH_OF_A_FILE
    return Paper(markup=False, emoji=False, highlight=False, width=width)
