"""What can go wrong, as a tree. A finding is never an error.

ComplianceError
├── InputError          unusable input: where, what was found, what was expected, how to repair it
│   ├── UnitMismatch    a quantity asked for in a unit of another kind
│   └── RuleError       a rulebook, tariff or register map that the loader refuses
│       └── UnknownRule
├── NotInForce          no version of a rule on that day: never "compliant"
├── InsufficientData    too little to say anything; the reason says what is missing
├── NotFound            no such thing, or not yours
├── Refused             the act is not this person's, or not possible in this state
├── SettingsError       the environment asks for something that cannot be
└── StorageError        the database or the spool cannot do its work
"""

from __future__ import annotations

from datetime import date


class ComplianceError(Exception):
    """The root: one sentence for a person, no traceback."""


class InputError(ComplianceError):
    """Input that cannot be used: one sentence that names place, found, expected and repair."""


class UnitMismatch(InputError):
    """A quantity was asked for in a unit of another dimension."""


class RuleError(InputError):
    """A document of rules, rates or registers that the loader refuses."""


class UnknownRule(RuleError):
    """No rulebook has a rule of that id."""


class NotInForce(ComplianceError):
    """A rule has no version on that day."""

    def __init__(self, rule_id: str, day: date) -> None:
        super().__init__(f"{rule_id} has no version in force on {day.isoformat()}")
        self.rule_id = rule_id
        self.day = day


class InsufficientData(ComplianceError):
    """There is too little to judge by."""


class NotFound(ComplianceError):
    """There is no such thing, or it is not the viewer's."""


class Refused(ComplianceError):
    """The act is another person's, or not possible in this state."""


class SettingsError(ComplianceError):
    """The environment asks for something that cannot be."""


class StorageError(ComplianceError):
    """The database or the spool cannot do its work."""
