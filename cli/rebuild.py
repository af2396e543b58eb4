"""`toolvitals rebuild`: understand the stored tool spans anew, e.g. after a rule changed."""

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from cli import options
from cli.opening import opened
from cli.options import fail, load_settings

if TYPE_CHECKING:
    from collector.work.settle import Settler

# Traces at a time: live spans never wait behind more of them than this.
CHUNK = 2000

After = Annotated[
    str | None,
    typer.Option("--after", help="Go on after this trace id, as an interrupted run says when it ends.", show_default=False),
]


def rebuild(
    after: After = None,
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
) -> None:
    """Derive calls and rollups again from the stored tool spans. `up` may be running; Ctrl-C loses nothing.

    Example: toolvitals rebuild --data ./data
    """
    from collector.work.settle import Settler
    from collector.work_store import WorkStore

    try:
        position = None if after is None else bytes.fromhex(after)
    except ValueError:
        raise fail(f"--after {after}: a trace id is written in hexadecimal") from None
    settings = load_settings(config, data=data, database_url=database_url)
    store = WorkStore(opened(settings))
    settler = Settler(store, settings)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    done = 0
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("rebuilding", total=1.0)
        try:
            while True:
                last, count = store.mark_all_pending(position, CHUNK, time.time_ns())
                if last is None:
                    break
                _settle(settler, count)
                position, done = last, done + count
                # Trace ids are random: how far one lies in their range is how much is done.
                progress.update(task, completed=int.from_bytes(position[:8]) / 2**64, description=f"{done} traces")
            progress.update(task, completed=1.0, description="rollups")
            while settler.roll_up():
                pass
        except KeyboardInterrupt:
            where = f" --after {position.hex()}" if position else ""
            typer.echo(f"stopped after {done} traces; go on with: toolvitals rebuild{where}", err=True)
            raise typer.Exit(130) from None
    typer.echo(f"{done} traces rebuilt")


def _settle(settler: "Settler", traces: int) -> None:
    """Work off what is pending, together with any running worker, until so many are done or nothing is left."""
    settled = 0
    while settled < traces and (count := settler.settle(time.time_ns())):
        settled += count


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(rebuild)
