"""From a fact to what a person decides: detections, violations, their steps."""
