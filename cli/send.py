"""`toolvitals send`: post recorded OTLP bodies to a receiver."""

import random
from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.console import Console
from rich.progress import track

from cli.bodies import Body, Unreadable, read_bodies
from cli.options import fail

# So many problems are shown; more would only scroll the first one away.
SHOWN = 10


def send(
    files: Annotated[list[Path], typer.Argument(help="OTLP bodies (.pb, .binpb, .json), JSON lines, or captures.")],
    endpoint: Annotated[str, typer.Option("--endpoint", help="Receiver, without /v1/traces.")] = "http://127.0.0.1:4318",
    header: Annotated[list[str] | None, typer.Option("--header", help="Header as name=value; may be repeated.")] = None,
    zipped: Annotated[bool, typer.Option("--gzip", help="Compress the bodies.")] = False,
    shuffle: Annotated[int | None, typer.Option("--shuffle", help="Send in a random order made from this seed.")] = None,
    twice: Annotated[bool, typer.Option("--twice", help="Send each body two times, as exporters that resend do.")] = False,
) -> None:
    """Send recorded OTLP bodies, retrying what may heal.

    Example: toolvitals send captures/*.jsonl --shuffle 7 --twice
    """
    # Imported here: protobuf takes longer to load than `--help` takes to read.
    from cli.posting import post

    bodies = _bodies(files)
    if twice:
        bodies = [body for body in bodies for _ in range(2)]
    if shuffle is not None:
        random.Random(shuffle).shuffle(bodies)
    headers = _headers(header or [])
    console = Console(stderr=True, highlight=False)
    failed = rejected = shown = 0
    with httpx.Client(timeout=60, trust_env=False) as client:
        watched = track(bodies, "sending", console=console, disable=not console.is_terminal, transient=True)
        for number, body in enumerate(watched):
            answer = post(client, endpoint, body, headers, zipped=zipped)
            failed += bool(answer.problem)
            rejected += answer.rejected
            if (said := answer.problem or answer.message) and shown < SHOWN:
                shown += 1
                console.print(f"{body.source}: {said}", markup=False)
            if number == 0 and answer.problem.startswith("no answer"):
                raise fail(f"nothing answers at {endpoint}", "start it with `toolvitals up`, or name another --endpoint")
    typer.echo(f"{len(bodies) - failed} of {len(bodies)} bodies sent, {rejected} spans rejected, {failed} bodies failed")
    if failed:
        raise typer.Exit(1)


def _bodies(files: list[Path]) -> list[Body]:
    try:
        return [body for path in files for body in read_bodies(path)]
    except (Unreadable, OSError) as error:
        raise fail(str(error)) from None


def _headers(given: list[str]) -> dict[str, str]:
    headers = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise fail(f"--header {one!r}: expected name=value", "e.g. --header x-api-key=…")
        headers[name.strip()] = value.strip()
    return headers


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(no_args_is_help=True)(send)
