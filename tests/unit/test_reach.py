"""How far questions to the field go: private networks and serial lines, unless a setting says."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from compliance.errors import InputError, SettingsError
from compliance.model.endpoints import endpoint
from compliance.model.reach import Reach
from compliance.settings import PRIVATE, Settings, load

USUAL = Reach.of(PRIVATE)


@pytest.mark.parametrize("address", ["10.0.0.7", "172.31.1.1", "192.168.4.2", "fd00::7"])
def test_an_instrument_in_a_private_network_may_be_asked(address: str) -> None:
    USUAL.require(endpoint(address, 502), [ip_address(address)])


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "224.0.0.1", "8.8.8.8",
     "0.0.0.0", "172.32.0.1"],
)  # fmt: skip
def test_nothing_else_may_be_asked(address: str) -> None:
    with pytest.raises(InputError, match="in no network of PRETREAT_FIELD_ALLOW"):
        USUAL.require(endpoint("name", 502), [ip_address("10.0.0.7"), ip_address(address)])


def test_a_name_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(InputError, match="has no address"):
        USUAL.require(endpoint("name", 502), [])


@pytest.mark.parametrize("path", ["/dev/ttyUSB0", "/dev/ttyS1", "/dev/serial/by-id/usb-1"])
def test_a_serial_device_may_be_opened(path: str) -> None:
    USUAL.require(endpoint(path, 0, "serial"))


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/dev/mem", "/dev/tty", "/dev/tty1", "/dev/ttyUSB0/../mem", "/dev/pts/3",
     "/dev/serial/by-id/../../mem"],
)  # fmt: skip
def test_no_other_file_is_opened(path: str) -> None:
    with pytest.raises(InputError, match="is no serial device"):
        USUAL.require(endpoint(path, 0, "serial"))


def test_a_setting_names_networks_and_folders_of_devices_instead() -> None:
    said = Settings.model_validate({"PRETREAT_FIELD_ALLOW": "127.0.0.0/8, /dev/pts/"})
    found = Reach.of(said.field_places)
    found.require(endpoint("localhost", 502), [ip_address("127.0.0.1")])
    found.require(endpoint("/dev/pts/3", 0, "serial"))
    for place, leads in (("10.0.0.7", "10.0.0.7"), ("fd00::7", "fd00::7")):
        with pytest.raises(InputError):
            found.require(endpoint(place, 502), [ip_address(leads)])
    with pytest.raises(InputError):
        found.require(endpoint("/dev/pts/../mem", 0, "serial"))


@pytest.mark.parametrize("value", ["10.0.0.0/33", "plant", "/etc", "/dev/../etc"])
def test_a_wrong_setting_stops_the_start(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("PRETREAT_FIELD_ALLOW", value)
    with pytest.raises(SettingsError, match="PRETREAT_FIELD_ALLOW"):
        load()
