"""The demo fleet is started by a dashboard only below `toolvitals up`, once, and with its address."""

import subprocess
from typing import Any

import pytest

from cli.demo import starting
from cli.orphan import SUPERVISED_VARIABLE
from cli.up import OFFERS_DEMO
from schemas.settings import Settings


class Process:
    """A child that runs until it is told to have ended."""

    def __init__(self) -> None:
        self.code: int | None = None

    def poll(self) -> int | None:
        return self.code


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[str, ...], dict[str, Any], Process]]:
    """What would have been started: command, options, process."""
    found: list[tuple[tuple[str, ...], dict[str, Any], Process]] = []

    def start(command: tuple[str, ...], **options: Any) -> Process:
        found.append((command, options, Process()))
        return found[-1][2]

    monkeypatch.setattr(starting.subprocess, "Popen", start)
    return found


def test_a_dashboard_alone_offers_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would watch over it."""
    monkeypatch.delenv(OFFERS_DEMO, raising=False)
    assert starting.offered_fleet(Settings()) is None


def test_without_its_libraries_none_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page then says what to install."""
    monkeypatch.setenv(OFFERS_DEMO, "1")
    monkeypatch.setattr(starting, "find_spec", lambda name: None)
    assert starting.offered_fleet(Settings()) is None


def test_it_is_started_once_and_ends_with_its_parent(monkeypatch: pytest.MonkeyPatch, started: list[Any]) -> None:
    """A second press of the button changes nothing; after its end it can be started again."""
    monkeypatch.setenv(OFFERS_DEMO, "1")
    fleet = starting.offered_fleet(Settings(host="0.0.0.0", otlp_http_port=14318))
    assert fleet is not None
    assert not fleet.running
    fleet.start()
    fleet.start()
    [(command, options, process)] = started
    assert command[-3:] == ("demo", "--send-to", "http://127.0.0.1:14318")
    assert options["env"][SUPERVISED_VARIABLE] == "1"
    assert options["stdin"] is subprocess.PIPE
    assert fleet.running
    process.code = 0
    assert not fleet.running
    fleet.start()
    assert len(started) == 2
