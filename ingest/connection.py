"""The line of one gateway as a round uses it: opened again when it was lost, never too often."""

from __future__ import annotations

import random
from collections.abc import Callable

from compliance.model.wire import Wire
from ingest.client import Link
from ingest.errors import LinkError, NotConnected
from ingest.plan import Block

FIRST_SECONDS = 0.25


class Away:
    """Something that did not answer: how often in a row, and until when it is left alone.

    steady: seconds of a clock that nobody sets.
    """

    def __init__(self, steady: Callable[[], float]) -> None:
        self.failures = 0
        self.error: LinkError | None = None
        self._steady = steady
        self._until = 0.0

    def waiting(self) -> LinkError | None:
        """The last error, while it is too early to ask again."""
        return self.error if self._steady() < self._until else None

    def failed(self, error: LinkError, *, first: float, most: float) -> None:
        """Wait longer with each failure but the first, up to ``most`` seconds, with jitter."""
        delay = min(most, first * 2.0 ** min(self.failures - 1, 30)) if self.failures else 0.0
        self.failures += 1
        self.error = error
        self._until = self._steady() + delay * random.uniform(0.5, 1.0)  # noqa: S311 - jitter

    def answered(self) -> None:
        """It is back."""
        self.failures, self._until, self.error = 0, 0.0, None


class Connection:
    """A link that is kept open.

    most_seconds: between two attempts to connect; the first that fails is repeated at once.
    turned: told why there is no connection, or nothing when there is one again.
    """

    def __init__(
        self,
        link: Link,
        *,
        steady: Callable[[], float],
        most_seconds: float,
        turned: Callable[[str], None],
    ) -> None:
        self.link = link
        self._away = Away(steady)
        self._most, self._turned = most_seconds, turned

    async def ready(self) -> LinkError | None:
        """Why there is no connection, after trying for one unless that is too soon."""
        if self.link.connected:
            return None
        error = self._away.waiting()
        if error is not None:
            return error
        try:
            await self.link.connect()
        except NotConnected as failed:
            self._away.failed(failed, first=FIRST_SECONDS, most=self._most)
            self._turned(str(failed))
            return failed
        self._away.answered()
        self._turned("")
        return None

    async def read(self, unit: int, block: Block, wire: Wire) -> tuple[int, ...]:
        """Read; a connection that is lost under the request is opened once more for it.

        Raises: LinkError.
        """
        for is_last in (False, True):
            error = await self.ready()
            if error is not None:
                raise error
            try:
                return await self.link.read(unit, block, wire)
            except NotConnected:
                if is_last:
                    raise
        raise AssertionError("a loop of two ended without an answer")

    def close(self) -> None:
        """Give the line back."""
        self.link.close()
