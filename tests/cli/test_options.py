"""The command line beats the environment, which beats the file; a wrong setting is named."""

import os
from pathlib import Path

import pytest
import typer

from cli.options import environment_of, load_settings


def test_command_line_beats_environment_beats_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("port = 1\notlp_http_port = 1\notlp_grpc_port = 1\n")
    monkeypatch.setenv("TOOLVITALS_PORT", "2")
    monkeypatch.setenv("TOOLVITALS_OTLP_HTTP_PORT", "2")
    settings = load_settings(file, port=3, host=None)
    assert (settings.port, settings.otlp_http_port, settings.otlp_grpc_port, settings.host) == (3, 2, 1, "127.0.0.1")


def test_children_read_the_same_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('cors_origins = ["http://a", "http://b"]\ningest_token = "s3cret"\n[aliases]\ntool = ["my.tool"]\n')
    settings = load_settings(file, data=tmp_path / "d", port=0)
    for name, value in environment_of(settings).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TOOLVITALS_CONFIG")
    assert load_settings() == settings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1\n", "prot: there is no such setting"),
        ('port = "many"\n', "port: Input should be a valid integer"),
        ("port = 99999\n", "(got 99999)"),
        ("port = \n", "not a TOML file"),
    ],
    ids=["unknown name", "wrong type", "out of range", "not TOML"],
)
def test_wrong_file_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(typer.Exit) as ended:
        load_settings(file)
    assert ended.value.exit_code == 1
    assert said in capsys.readouterr().err


def test_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        load_settings(tmp_path / "gone.toml")
    assert "gone.toml: no such file" in capsys.readouterr().err


def test_wrong_token_is_not_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("ingest_token = 123456789\n")
    with pytest.raises(typer.Exit):
        load_settings(file)
    assert "123456789" not in capsys.readouterr().err
    assert os.environ["TOOLVITALS_CONFIG"] == str(file)
