"""`toolvitals rebuild`: understand the stored tool spans anew, e.g. after a rule changed."""

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from cli import options
from cli.opening import opened
from cli.options import load_settings

if TYPE_CHECKING:
    from collector.work.settle import Settler
    from collector.work_store import WorkStore

# Traces at a time: live spans never wait behind more of them than this.
CHUNK = 2000

FromStart = Annotated[bool, typer.Option("--from-start", help="Begin anew, also where an earlier run did not come to its end.")]


def rebuild(
    from_start: FromStart = False,
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
) -> None:
    """Derive calls and rollups again from the stored tool spans. `up` may be running; Ctrl-C loses nothing: the next run goes on.

    Example: toolvitals rebuild --data ./data
    """
    from collector.work.settle import Settler
    from collector.work_store import WorkStore

    settings = load_settings(config, data=data, database_url=database_url)
    with opened(settings) as engine:
        store = WorkStore(engine)
        _rebuild(store, Settler(store, settings), from_start)


def _rebuild(store: "WorkStore", settler: "Settler", from_start: bool) -> None:
    position = None if from_start else store.rebuilt_to()
    if position is not None:
        typer.echo("goes on where an earlier run was stopped; --from-start begins anew", err=True)
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
                store.note_rebuilt(position)
                # Trace ids are random: how far one lies in their range is how much is done.
                progress.update(task, completed=int.from_bytes(position[:8]) / 2**64, description=f"{done} traces")
            store.note_rebuilt(None)
            progress.update(task, completed=1.0, description="rollups")
            while settler.roll_up():
                pass
        except KeyboardInterrupt:
            typer.echo(f"stopped after {done} traces; run it again to go on", err=True)
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
