"""A command line without the settings of whoever runs the tests."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.main import app


@pytest.fixture(autouse=True)
def _clean_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("TOOLVITALS_"):
            monkeypatch.delenv(name)
    # --config writes this variable; named here, it is put back after the test.
    monkeypatch.setenv("TOOLVITALS_CONFIG", str(tmp_path / "no-such.toml"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run the command line in this process."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words])

    return run
