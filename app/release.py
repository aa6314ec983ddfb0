"""Which release this is: evidence names what judged."""

from __future__ import annotations

from importlib.metadata import version

RELEASE = f"pretreat {version('pretreat')}"
