"""History from exports: surveyed, its cadence declared, then stored part by part."""
