"""Where a webhook may go: public addresses, looked up once, however they are written."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from app import guard
from compliance.errors import Refused

HERE = (ip_network("127.0.0.0/8"),)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0.0.0.0/",
        "http://10.0.0.5/",
        "http://169.254.169.254/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.5]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://224.0.0.1/",
        "https://[::7f00:1]/",
        "https://[::93.184.216.34]/",
        "https://[::ffff:0:93.184.216.34]/",
        "https://[fec0::1]/",
        "https://[3fff::1]/",
        "https://[5f00::1]/",
        "https://[2001:db8::1]/",
        "https://192.0.0.8/",
        "https://192.0.0.170/",
        "https://192.88.99.1/",
        "https://192.0.2.7/",
        "https://198.51.100.7/",
        "https://203.0.113.7/",
        "https://user@good.example@10.0.0.1/",
        "https://name.invalid/",
        "ftp://93.184.216.34/",
        "http://93.184.216.34/",
        "https://93.184.216.34:22/",
        "https://[::1/",
    ],
)
def test_no_address_leads_inside_or_in_the_clear(url):
    """WHK-03"""
    with pytest.raises(Refused):
        guard.pinned(url, ())


def test_a_public_address_is_pinned_and_an_allowed_network_may_be_inside():
    where = guard.pinned("https://93.184.216.34/x", ())
    assert (where.address, where.port) == (ip_address("93.184.216.34"), 443)
    where = guard.pinned("http://127.0.0.1:8080/x", HERE)
    assert (where.address, where.port) == (ip_address("127.0.0.1"), 8080)


@pytest.mark.parametrize("address", ["192.0.0.9", "192.0.0.10", "93.184.216.34", "2606:2800::1"])
def test_what_is_global_may_be_dialled(address):
    assert guard.permitted(ip_address(address), ())


def test_an_allowed_network_may_be_inside_in_either_notation():
    assert guard.permitted(ip_address("127.0.0.1"), HERE)
    assert guard.permitted(ip_address("::ffff:127.0.0.1"), HERE)
    assert not guard.permitted(ip_address("::127.0.0.1"), HERE)
