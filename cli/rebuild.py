"""`toolvitals rebuild`: understand the stored tool spans anew, e.g. after a rule changed."""

import time
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli import options
from cli.opening import opened
from cli.options import load_settings

if TYPE_CHECKING:
    from collector.store import Store
    from collector.work.settle import Settler

CHUNK = 5000


def rebuild(
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
) -> None:
    """Derive calls and rollups again from the stored tool spans. `up` may be running; Ctrl-C loses nothing.

    Example: toolvitals rebuild --data ./data
    """
    from collector.store import Store
    from collector.work.settle import Settler

    settings = load_settings(config, data=data, database_url=database_url)
    store = Store(opened(settings))
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        marked = _mark(store, progress)
        try:
            _settle(store, Settler(store, settings), progress, marked)
        except KeyboardInterrupt:
            left = store.pending_count()
            typer.echo(f"stopped with {left} traces left: `toolvitals up` or another `toolvitals rebuild` does them", err=True)
            raise typer.Exit(130) from None
    typer.echo(f"{marked} traces rebuilt")


def _mark(store: "Store", progress: Progress) -> int:
    """Put all traces with tool spans on the work list, a chunk at a time, so that spans can be stored in between."""
    task = progress.add_task("listing traces", total=None)
    after, marked = None, 0
    while True:
        after, count = store.mark_all_pending(after, CHUNK)
        marked += count
        progress.update(task, completed=marked)
        if count == 0 or after is None:
            progress.update(task, total=marked)
            return marked


def _settle(store: "Store", settler: "Settler", progress: Progress, marked: int) -> None:
    task = progress.add_task("understanding", total=marked)
    while left := store.pending_count():
        settler.step(time.time_ns())
        progress.update(task, completed=max(marked - left, 0))
    # Rollups may lag behind calls by a step.
    while settler.step(time.time_ns()):
        pass
    progress.update(task, completed=marked)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(rebuild)
