"""`toolvitals rules notify-test` tells each channel once, and says of each what came of it."""

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.main import app
from tests.collector.work.notify.conftest import DROP, Receiver

CHANNELS = """
[channels.oncall]
kind = "webhook"
url = "URL/oncall"

[channels.team]
kind = "webhook"
url = "URL/team"
"""


@pytest.fixture
def rules(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of rules with two channels."""
    # Settings of whoever runs the tests do not count; --config writes this variable, so it is put back after the test.
    monkeypatch.setenv("TOOLVITALS_CONFIG", str(tmp_path / "no-such.toml"))
    file = tmp_path / "rules.toml"
    file.write_text(CHANNELS.replace("URL", receiver.url))
    return file


def notify_test(*words: object) -> Result:
    return CliRunner().invoke(app, ["rules", "notify-test", *map(str, words)])


def test_every_channel_is_told(rules: Path, receiver: Receiver) -> None:
    told = notify_test(rules)
    assert (told.exit_code, told.stdout) == (0, "oncall: sent\nteam: sent\n")
    assert receiver.paths == ["/oncall", "/team"]
    # It pages nobody: what it tells is over, and says that it is a test.
    assert [body["status"] for body in receiver.bodies] == ["resolved"] * 2
    assert all(b"Somebody asked for this test" in raw for raw in receiver.raw)


def test_one_channel_is_told_if_it_is_named(rules: Path, receiver: Receiver) -> None:
    told = notify_test(rules, "--channel", "team")
    assert (told.exit_code, told.stdout, receiver.paths) == (0, "team: sent\n", ["/team"])


def test_a_channel_that_refuses_does_not_keep_the_others_from_being_told(rules: Path, receiver: Receiver) -> None:
    receiver.answers = [404]
    told = notify_test(rules)
    assert (told.exit_code, told.stdout) == (1, "team: sent\n")
    assert told.stderr.startswith("oncall: ")
    assert "404" in told.stderr


def test_a_channel_that_does_not_answer_is_said(rules: Path, receiver: Receiver) -> None:
    receiver.answers = [DROP]
    told = notify_test(rules, "--channel", "oncall")
    assert (told.exit_code, told.stdout) == (1, "")
    assert told.stderr.startswith("oncall: ")


def test_a_name_of_no_channel_is_said(rules: Path, receiver: Receiver) -> None:
    told = notify_test(rules, "--channel", "nobody")
    assert told.exit_code == 1
    assert "there is no such channel" in told.stderr
    assert receiver.paths == []
