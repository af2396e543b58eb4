"""The command line itself."""

from collections.abc import Callable
from importlib.metadata import version

from click.testing import Result

Run = Callable[..., Result]


def test_version_is_that_of_the_distribution(run: Run) -> None:
    assert run("--version").stdout == f"toolvitals {version('toolvitals-server')}\n"


def test_without_words_it_shows_help(run: Run) -> None:
    result = run()
    assert "Usage" in result.output
    assert "demo" in result.output


def test_unknown_command_is_an_error(run: Run) -> None:
    assert run("uup").exit_code == 2
