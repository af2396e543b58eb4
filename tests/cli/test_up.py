"""`toolvitals up` refuses to start where it could not work, in words that say what to do."""

import io
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console
from sqlalchemy import text

from cli.supervise import Supervisor
from cli.up import OFFERS_DEMO, welcome
from schemas.database import migrate, open_database
from schemas.settings import Settings

Run = Callable[..., Result]
ANY_PORTS = ("--port=0", "--otlp-http-port=0", "--otlp-grpc-port=0", "--worker-port=0")


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[Supervisor]:
    """What would have been started: these tests end before it."""
    supervisors: list[Supervisor] = []
    monkeypatch.setattr(Supervisor, "run", lambda supervisor: supervisors.append(supervisor))
    return supervisors


@pytest.mark.parametrize("command", ["up", "demo"])
@pytest.mark.parametrize("option", ["--port", "--otlp-http-port", "--otlp-grpc-port", "--worker-port"])
def test_taken_port_is_named_with_its_option(run: Run, started: list[Supervisor], command: str, option: str) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run(command, *ANY_PORTS, f"{option}={port}")
    assert (result.exit_code, started) == (1, [])
    assert f"port {port}" in result.stderr
    assert "already in use" in result.stderr
    assert f"{option} {port + 1000}" in result.stderr


def test_one_port_for_two_purposes_is_refused(run: Run, started: list[Supervisor]) -> None:
    result = run("up", "--port=14999", "--otlp-http-port=14999", "--otlp-grpc-port=0")
    assert (result.exit_code, started) == (1, [])
    assert "already given to OTLP over HTTP" in result.stderr


def test_folder_that_cannot_be_written_is_named(run: Run, started: list[Supervisor], tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    result = run("up", *ANY_PORTS, "--data", str(tmp_path / "taken"))
    assert (result.exit_code, started) == (1, [])
    assert "is a file, not a folder" in result.stderr
    assert "--data" in result.stderr


def test_newer_schema_is_refused(run: Run, started: list[Supervisor], tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'toolvitals.db'}")
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999_from_the_future'"))
    engine.dispose()
    result = run("up", *ANY_PORTS, "--data", str(tmp_path))
    assert (result.exit_code, started) == (1, [])
    assert "install the newer version" in result.stderr


def test_database_that_cannot_be_reached_is_told(run: Run, started: list[Supervisor], tmp_path: Path) -> None:
    (tmp_path / "toolvitals.db").write_text("shopping list " * 100)
    result = run("up", *ANY_PORTS, "--data", str(tmp_path))
    assert (result.exit_code, started) == (1, [])
    assert "the database cannot be opened: file is not a database" in result.stderr


def test_parts_get_the_same_settings_and_stop_in_order(run: Run, started: list[Supervisor], tmp_path: Path) -> None:
    result = run("up", *ANY_PORTS, "--data", str(tmp_path / "d"))
    assert result.exit_code == 0, result.stderr
    [supervisor] = started
    assert [part.name for part in supervisor.parts] == ["collector", "worker", "dashboard"]
    assert supervisor.environment["TOOLVITALS_DATA"] == str(tmp_path / "d")
    ready = {part.name: part.ready_url for part in supervisor.parts}
    assert ready["collector"] == f"http://127.0.0.1:{supervisor.environment['TOOLVITALS_OTLP_HTTP_PORT']}/readyz"
    assert ready["worker"] == f"http://127.0.0.1:{supervisor.environment['TOOLVITALS_WORKER_PORT']}/healthz"
    assert ready["dashboard"] == f"http://127.0.0.1:{supervisor.environment['TOOLVITALS_PORT']}/readyz"


def test_fleet_stops_first(run: Run, started: list[Supervisor], tmp_path: Path) -> None:
    assert run("demo", *ANY_PORTS, "--data", str(tmp_path / "d"), "--seed=5").exit_code == 0
    [supervisor] = started
    assert supervisor.parts[0].name == "demo fleet"
    assert supervisor.parts[0].command[-4:] == ("--seed", "5", "--pace", "1.0")


def test_only_up_offers_to_start_the_fleet(run: Run, started: list[Supervisor], tmp_path: Path) -> None:
    for command in ("up", "demo"):
        assert run(command, *ANY_PORTS, "--data", str(tmp_path / "d")).exit_code == 0
    assert [OFFERS_DEMO in supervisor.environment for supervisor in started] == [True, False]


def test_welcome_says_where_to_send_and_look_but_no_password() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(welcome(Settings(database_url="postgresql://me:s3cret@db/x"), "toolvitals"))
    shown = console.export_text()
    for expected in ("http://127.0.0.1:4320", "http://127.0.0.1:4318", "http://127.0.0.1:4317", "me:***@db/x", "Ctrl-C"):
        assert expected in shown
    assert "s3cret" not in shown
