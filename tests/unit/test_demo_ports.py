"""Demos started together keep out of each other's ports."""

from __future__ import annotations

import socket

import pytest

from app.demo import processes

pytestmark = pytest.mark.wire

WANTED = 19021


def test_a_claim_is_kept_from_the_next_demo_although_nobody_listens_yet() -> None:
    one = processes.claim_ports(WANTED, count=6)
    other = processes.claim_ports(WANTED, count=6)
    try:
        assert other.first >= one.first + 20
    finally:
        other.release()
        one.release()


def test_a_claim_ends_with_its_release_and_passes_over_a_port_that_is_used() -> None:
    one = processes.claim_ports(WANTED + 4000, count=1)
    one.release()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", one.first))
        taken.listen()
        other = processes.claim_ports(one.first, count=1)
        other.release()
    again = processes.claim_ports(one.first, count=1)
    again.release()
    assert (other.first, again.first) == (one.first + 20, one.first)
