"""`toolvitals prune`: remove what is older than the settings say, now instead of bit by bit."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from cli import options
from cli.opening import opened
from cli.options import load_settings

if TYPE_CHECKING:
    from collector.pruning import Old
    from collector.work.retention import Retention


def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
) -> None:
    """Remove spans, calls and counts that are older than the settings say, and make the file smaller.

    The worker does the same all the time, so this is for after a change of the settings. `up` may be running; Ctrl-C loses nothing.

    Example: toolvitals prune --dry-run --data ./data
    """
    from collector.pruning import PruneStore
    from collector.work.retention import Retention
    from collector.work_store import WorkStore

    settings = load_settings(config, data=data, database_url=database_url)
    with opened(settings) as engine:
        retention = Retention(WorkStore(engine), PruneStore(engine), settings, time.monotonic, time.sleep, spare_pages=0)
        now_ns = time.time_ns()
        _show(retention.old(now_ns))
        if not dry_run:
            _prune(retention, now_ns)


def _prune(retention: "Retention", now_ns: int) -> None:
    removed = pages = 0
    try:
        while (done := retention.step(now_ns)) is not None:
            if done.what == "pages":
                pages += done.rows
            else:
                removed += done.rows
    except KeyboardInterrupt:
        typer.echo(f"stopped after {removed} rows; run it again to go on", err=True)
        raise typer.Exit(130) from None
    typer.echo(f"{removed} rows removed" + (f", {pages} pages given back" if pages else ""))


def _show(old: "list[Old]") -> None:
    table = Table("table", "rows", "would go", "oldest kept", box=None)
    for one in old:
        table.add_row(one.table, f"{one.rows:,}", f"{one.going:,}", "-" if one.oldest_ns is None else _utc(one.oldest_ns))
    Console(width=100).print(table)


def _utc(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M UTC")


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(prune)
