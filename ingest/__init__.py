"""Modbus to readings: knows nouns and records, not the law."""
