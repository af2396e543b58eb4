"""`toolvitals check` names what is wrong and what to do about it."""

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from sqlalchemy import text

from cli.ports import free_port
from schemas.database import migrate, newest_schema, open_database
from tests.database import engine_of, on_postgresql

Run = Callable[..., Result]


def checked(run: Run, data: Path, *words: str, **ports: int) -> Result:
    """Check with ports that are free unless given."""
    names = ("otlp_http_port", "otlp_grpc_port", "port", "worker_port")
    options = [f"--{name.replace('_', '-')}={ports.get(name) or free_port('127.0.0.1')}" for name in names]
    return run("check", f"--data={data}", *options, *words)


def database(data: Path) -> Path:
    """A database at the newest schema."""
    engine = open_database(f"sqlite:///{data / 'toolvitals.db'}")
    migrate(engine)
    engine.dispose()
    return data / "toolvitals.db"


def test_fresh_machine_is_fine(run: Run, tmp_path: Path) -> None:
    result = checked(run, tmp_path / "data")
    assert result.exit_code == 0, result.output
    assert "is not there yet; the first start makes it" in result.stdout
    assert not (tmp_path / "data").exists(), "a check changes nothing"


def test_existing_database_is_fine(run: Run, tmp_path: Path) -> None:
    database(tmp_path)
    result = checked(run, tmp_path)
    assert result.exit_code == 0, result.output
    assert f"schema {newest_schema()}" in result.stdout


def test_newer_schema_is_wrong(run: Run, tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{database(tmp_path)}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999_from_the_future'"))
    engine.dispose()
    result = checked(run, tmp_path)
    assert result.exit_code == 1
    assert "install the newer version" in result.stdout


@on_postgresql
def test_postgresql_is_fine_and_its_password_is_not_shown(run: Run, tmp_path: Path, url: str) -> None:
    result = checked(run, tmp_path / "data", f"--database-url={url.replace('@', ':hunter2222@')}")
    assert result.exit_code == 0, result.output
    assert f"schema {newest_schema()}" in result.stdout
    assert "data folder" not in result.stdout
    assert "hunter2222" not in result.output


@on_postgresql
def test_newer_schema_on_postgresql_is_wrong(run: Run, tmp_path: Path, url: str) -> None:
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999_from_the_future'"))
    engine.dispose()
    result = checked(run, tmp_path, f"--database-url={url}")
    assert result.exit_code == 1
    assert "install the newer version" in result.stdout
    started = run("work", f"--database-url={url}")
    assert started.exit_code == 1
    assert "the database has schema 9999_from_the_future" in started.stderr
    assert "install the newer version" in started.stderr


def test_postgresql_that_is_not_there_is_wrong(run: Run, tmp_path: Path) -> None:
    result = checked(run, tmp_path, f"--database-url=postgresql://someone:hunter2222@/none?host={tmp_path}")
    assert result.exit_code == 1
    assert "wrong database" in result.stdout
    assert "start the database, or correct --database-url" in result.stdout
    assert "hunter2222" not in result.output


def test_file_that_is_no_database_is_wrong(run: Run, tmp_path: Path) -> None:
    (tmp_path / "toolvitals.db").write_text("shopping list " * 100)
    result = checked(run, tmp_path)
    assert result.exit_code == 1
    assert "wrong database" in result.stdout
    assert "not a database" in result.stdout


def test_taken_port_is_wrong_and_its_option_is_named(run: Run, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        other.settimeout(10)
        result = checked(run, tmp_path, otlp_grpc_port=other.getsockname()[1])
    assert result.exit_code == 1
    assert "choose another with --otlp-grpc-port" in result.stdout


def test_file_in_place_of_the_folder_is_wrong(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    result = checked(run, tmp_path / "data")
    assert result.exit_code == 1
    assert "is a file, not a folder" in result.stdout


def test_misspelled_variable_is_wrong(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLVITALS_PROT", "1")
    result = checked(run, tmp_path)
    assert result.exit_code == 1
    assert "no setting is named TOOLVITALS_PROT" in result.stdout


def test_clock_behind_its_own_files_is_wrong(run: Run, tmp_path: Path) -> None:
    later = time.time() + 86_400
    os.utime(database(tmp_path), (later, later))
    result = checked(run, tmp_path)
    assert result.exit_code == 1
    assert "set the clock" in result.stdout
