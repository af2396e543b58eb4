"""`toolvitals export`: everything that is known of calls, for other programs."""

import csv
import io
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import orjson
import typer

from cli import options
from cli.opening import opened
from cli.options import fail, load_settings
from cli.times import moment_ns
from schemas.export import RECORD_KEYS, call_record, csv_cell

if TYPE_CHECKING:
    from collector.work_store import WorkStore

PAGE = 5000

group = typer.Typer(help="Write what is stored as JSON lines or CSV.", no_args_is_help=True)


class Format(StrEnum):
    """How records are written."""

    jsonl = "jsonl"
    csv = "csv"


@group.command()
def calls(
    form: Annotated[Format, typer.Option("--format", help="JSON lines or CSV.")] = Format.jsonl,
    since: Annotated[str | None, typer.Option("--from", help="Only calls that start at or after: 24h, 7d, 2026-11-30.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="Only calls that start before this time.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Only this tool.")] = None,
    server: Annotated[str | None, typer.Option("--server", help="Only this server.")] = None,
    output: Annotated[Path | None, typer.Option("--output", help="File to write; it appears once it is complete.")] = None,
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
) -> None:
    """Write calls, the earliest first, with the keys of the API.

    Example: toolvitals export calls --from 24h --tool get_order --format csv --output calls.csv
    """
    from collector.work_store import WorkStore

    now_ns = time.time_ns()
    try:
        from_ns = None if since is None else moment_ns(since, now_ns)
        to_ns = None if until is None else moment_ns(until, now_ns)
    except ValueError as error:
        raise fail(str(error)) from None
    try:
        with opened(load_settings(config, data=data, database_url=database_url)) as engine, _sink(output) as sink:
            count = _write(form, map(call_record, _calls(WorkStore(engine), from_ns, to_ns, tool, server)), sink)
    except BrokenPipeError:
        # The reader has seen enough, e.g. `| head`. Nothing is left to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    except OSError as error:
        raise fail(f"cannot write {output or 'to standard output'}: {error.strerror}") from None
    if output is not None:
        typer.echo(f"{count} calls written to {output}", err=True)


def _calls(store: "WorkStore", from_ns: int | None, to_ns: int | None, tool: str | None, server: str | None) -> Iterator[Any]:
    """Rows of table call by (start, trace, call), read page by page: memory stays flat, and no page holds up writers."""
    cursor = None if from_ns is None else (from_ns, b"", b"")
    while rows := store.calls_after(cursor, PAGE, tool, server):
        for row in rows:
            if to_ns is not None and row.start_ns >= to_ns:
                return
            yield row
        cursor = (row.start_ns, row.trace_id, row.call_id)


def _write(form: Format, records: Iterable[dict[str, Any]], sink: IO[bytes]) -> int:
    count = 0
    text = io.TextIOWrapper(sink, encoding="utf-8", newline="", write_through=True)
    table = csv.writer(text)
    if form is Format.csv:
        table.writerow(RECORD_KEYS)
    for record in records:
        count += 1
        if form is Format.csv:
            table.writerow([csv_cell(record[key]) for key in RECORD_KEYS])
        else:
            sink.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
    # The caller closes what it opened.
    text.detach()
    return count


@contextmanager
def _sink(output: Path | None) -> Iterator[IO[bytes]]:
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = output.with_name(output.name + ".part")
    try:
        with part.open("wb") as sink:
            yield sink
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(group, name="export")
