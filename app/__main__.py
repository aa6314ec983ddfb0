"""`python -m app` is `pretreat`."""

from __future__ import annotations

from app.commands import main

if __name__ == "__main__":
    main()
