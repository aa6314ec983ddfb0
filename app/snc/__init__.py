"""Files of results and limits, counted for significant noncompliance."""
