"""The listening socket: its connections send at once, and an address that cannot be had is said."""

from __future__ import annotations

import socket

import pytest

from openvlharness_adapters.router.serving import CannotListenError, bound


def test_what_is_accepted_sends_without_waiting_for_acknowledgements() -> None:
    with bound("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_address_that_is_taken_is_said() -> None:
    with bound("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(CannotListenError, match=f"cannot listen on 127.0.0.1 port {port}: "):
            bound("127.0.0.1", port)
