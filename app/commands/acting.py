"""Who runs a command, as the audit log writes it."""

from __future__ import annotations

import getpass
import os


def operator() -> str:
    """The account of the operating system: ``account ana``, or its number where it has no name."""
    try:
        return f"account {getpass.getuser()}"
    except (KeyError, OSError):
        return f"account {os.geteuid()}"
