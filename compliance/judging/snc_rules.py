"""The figures of significance in force on a day, from the rulebooks."""

from __future__ import annotations

from datetime import date
from types import MappingProxyType

from compliance.errors import RuleError
from compliance.model.noncompliance import SncRule
from compliance.rules.book import book, books
from compliance.rules.programs import SncRule as Provision
from compliance.rules.significance import figures, weaker_on

NAMES = ("federal", "wisconsin")
"""The rulebooks that ``--rules`` names; a city's own may rest on one of them."""
WISCONSIN = frozenset({"wisconsin", "prescott", "monona"})
"""Rulebooks of Wisconsin and of its cities."""


def snc_rule(name: str, day: date) -> SncRule:
    """The figures of a rulebook's rule on a day; what it leaves out is that of its base.

    Raises: RuleError, UnknownRule, NotInForce.
    """
    provision = _provision(name)
    if provision is None:
        raise RuleError(f"rulebook {name} has no rule of kind snc; expected {name}.snc")
    return _resolved(provision, day)


def rules_of(rulebooks: tuple[str, ...]) -> str:
    """Which rules hold in a city that is bound by some rulebooks: its own, the state's, federal."""
    own = [name for name in rulebooks if name not in NAMES and _provision(name) is not None]
    if own:
        return own[0]
    return "wisconsin" if WISCONSIN & set(rulebooks) else "federal"


def _provision(name: str) -> Provision | None:
    """A book's rule on significance: NAME.snc, which may rest on others of the book."""
    every = book(name).of(Provision) if name in books() else ()
    return next((one for one in every if one.id == f"{name}.snc"), next(iter(every), None))


def _resolved(rule: Provision, day: date) -> SncRule:
    found = {"trc_factors": {}, "ph_margin": None, **figures(rule, day)}
    found["trc_factors"] = MappingProxyType(dict(found["trc_factors"]))
    return SncRule(id=rule.id, citation=rule.citation, warnings=weaker_on(rule, day), **found)
