"""JSON for machines: one router per noun."""
