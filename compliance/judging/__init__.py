"""Verbs, pure: readings and results to facts by the rules in force."""
