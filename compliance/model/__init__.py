"""Nouns: frozen values and enums. Standard library only, arrays and frames apart."""
