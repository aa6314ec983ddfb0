"""ioos_qc on the arrays of a bench; run by the Python of a throw-away environment, never imported.

Prints readings per second of the gross range test alone and of five tests together.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from ioos_qc import qartod  # type: ignore[import-not-found]


def main(file: str) -> None:
    """Time the tests; the flat line over a window of 10 readings, which its method can bear."""
    held = np.load(file)
    value, at = held["value"], held["at_us"].astype("datetime64[us]")
    n = len(value)
    tests = {
        "gross_range": lambda: qartod.gross_range_test(
            value, fail_span=[0, 14], suspect_span=[2, 12.5]
        ),
        "spike": lambda: qartod.spike_test(
            value, suspect_threshold=1.0, fail_threshold=5.0, method="differential"
        ),
        "rate": lambda: qartod.rate_of_change_test(value, at, threshold=0.5),
        "flat": lambda: qartod.flat_line_test(
            value, at, suspect_threshold=300, fail_threshold=600, tolerance=0.005
        ),
        "gap": lambda: np.diff(at) > np.timedelta64(300, "s"),
    }
    spent = {}
    for name, test in tests.items():
        started = time.perf_counter()
        test()  # type: ignore[no-untyped-call]
        spent[name] = time.perf_counter() - started
    print(  # noqa: T201 - what the bench reads
        json.dumps({"gross_range": n / spent["gross_range"], "all": n / sum(spent.values())})
    )


if __name__ == "__main__":
    main(sys.argv[1])
