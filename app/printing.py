"""A page as a PDF, where the machine can make one: WeasyPrint, which stands on Pango.

Only our own pages are printed, and nothing that they name is fetched.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, NoReturn

VARIANT = "pdf/ua-1"
"""Tagged, so that a screen reader can follow it."""


class NotFetched(ValueError):
    """A page to be printed names something outside itself."""


def pdf(html: str, *, identifier: str) -> bytes | None:
    """The page as a tagged PDF; None where WeasyPrint or Pango is not installed.

    identifier: goes into the file in place of a random one: the same page gives the same bytes.
    Raises: NotFetched.
    """
    printer = _printer()
    if printer is None:
        return None
    page = printer.HTML(string=html, url_fetcher=_fetch_nothing)
    made: bytes = page.write_pdf(pdf_variant=VARIANT, pdf_identifier=identifier.encode())
    return made


@cache
def _printer() -> Any:
    """WeasyPrint, looked for when something is printed: importing it takes half a second."""
    try:
        return importlib.import_module("weasyprint")
    except (ImportError, OSError):  # OSError: it is there, and Pango is not
        return None


def _fetch_nothing(url: str, *_: Any, **__: Any) -> NoReturn:
    raise NotFetched(f"a printed page fetches nothing, and was to fetch {url[:100]}")
