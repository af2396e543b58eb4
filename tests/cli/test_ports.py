"""Whether a port can be had, and how a server is reached."""

import socket
from pathlib import Path

import pytest

from cli.ports import free_port, option, settled, url, why_not
from schemas.settings import Settings


def test_listening_port_cannot_be_had() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert why_not("127.0.0.1", other.getsockname()[1]) == "already in use"


def test_free_port_can_be_had() -> None:
    assert why_not("127.0.0.1", free_port("127.0.0.1")) is None


def test_any_port_can_be_had() -> None:
    assert why_not("127.0.0.1", 0) is None


def test_address_of_another_machine_cannot_be_had() -> None:
    assert why_not("192.0.2.1", 0) == "192.0.2.1 is no address of this machine"


def test_any_port_becomes_a_real_one() -> None:
    settings = settled(Settings(data=Path("d"), port=0, otlp_http_port=0))
    assert settings.port
    assert settings.otlp_http_port
    assert settings.otlp_grpc_port == 4317


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", "http://127.0.0.1:1"), ("0.0.0.0", "http://127.0.0.1:1"), ("::", "http://[::1]:1"), ("db", "http://db:1")],
)
def test_url_can_be_reached_from_here(host: str, expected: str) -> None:
    assert url(host, 1) == expected


def test_option_is_spelled_as_on_the_command_line() -> None:
    assert option("otlp_http_port") == "--otlp-http-port"
