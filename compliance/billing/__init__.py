"""From quantities and strengths to bill lines with their working."""
