"""`toolvitals`, the command line: one file for each group of commands."""

from importlib.metadata import version as version_of
from typing import Annotated

import typer

from cli import check, export, prune, rebuild, review, rules, send, serve, up
from cli.demo import command as demo

DISTRIBUTION = "toolvitals-server"

app = typer.Typer(
    name="toolvitals",
    help="Vital signs for MCP tools: what fails, what is retried, what comes back empty.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # boxes are no use in logs, and locals would show tokens
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"toolvitals {version_of(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def toolvitals(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Vital signs for MCP tools: what fails, what is retried, what comes back empty."""


for group in (up, demo, serve, send, export, rebuild, prune, rules, review, check):
    group.register(app)

if __name__ == "__main__":
    app(prog_name="toolvitals")
