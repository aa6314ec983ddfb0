"""Settings come from their own variables and no others; a wrong one is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from compliance import settings
from compliance.errors import SettingsError


def test_the_home_folder_of_the_account_is_not_the_home_of_the_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PRETREAT_HOME", raising=False)
    assert settings.load().home == settings.default_home()
    assert settings.load().home != tmp_path


@pytest.mark.parametrize("name", ["BASE_URL", "SECRET_FILE", "SMTP_URL", "WEBHOOK_ALLOW"])
def test_a_variable_without_our_prefix_is_somebody_elses(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "nonsense")
    settings.load()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("DATABASE_URL", "mysql://x", "not a PostgreSQL address"),
        ("PRETREAT_BASE_URL", "prescott.example", "not a web address"),
        ("PRETREAT_WEBHOOK_ALLOW", "10.0.0.0/33", "cannot be used"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"{name}.*{said}"):
        settings.load()
