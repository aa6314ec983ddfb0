"""Files that show why: which kinds are taken, and how large they may be."""

from __future__ import annotations

import base64
import binascii

from fastapi import UploadFile

from app.uploads import LARGEST, TOO_LARGE, shown_name
from compliance.errors import InputError
from compliance.jobs.determine import Paper

BEGINS = {
    ".pdf": b"%PDF",
    ".png": b"\x89PNG",
    ".jpg": b"\xff\xd8\xff",
    ".jpeg": b"\xff\xd8\xff",
    ".xlsx": b"PK",
}
"""How files of a kind begin."""
TEXT = (".txt", ".csv")
ACCEPT = ",".join([*BEGINS, *TEXT])
"""The kinds, as a form names them."""


def sent(file: UploadFile | None) -> Paper | None:
    """The file of a form; None where none was chosen. Raises: InputError."""
    if file is None or not file.filename:
        return None
    return paper(file.filename, file.file.read())


def again(filename: str, content: str) -> Paper | None:
    """A file that a page sends again, as text; None where there was none. Raises: InputError."""
    if not content:
        return None
    return paper(filename, decoded(content))


def paper(filename: str, content: bytes) -> Paper:
    """A file that may be kept. Raises: InputError."""
    name = shown_name(filename)
    kind = next((end for end in (*BEGINS, *TEXT) if name.casefold().endswith(end)), "")
    if len(content) > LARGEST:
        raise InputError(TOO_LARGE)
    if not content:
        raise InputError(f"{name} is empty; choose the file again.")
    if not kind or not _is(kind, content):
        raise InputError(
            f"{name} is none of the files that are kept; expected one of "
            f"{ACCEPT.replace(',', ', ')} with such content: save it as one of them."
        )
    return Paper(name=name, content=content)


def decoded(content: str) -> bytes:
    """The bytes that a page sent as text. Raises: InputError."""
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("The file did not arrive whole; choose it again.") from None


def encoded(content: bytes) -> str:
    """Bytes as a page sends them again."""
    return base64.b64encode(content).decode()


def _is(kind: str, content: bytes) -> bool:
    if kind in BEGINS:
        return content.startswith(BEGINS[kind])
    try:
        return "\x00" not in content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
