"""`toolvitals review`: what changed in a week, whether it is significant, and what to do."""

import time
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from cli import options
from cli.opening import opened
from cli.options import fail, load_settings

if TYPE_CHECKING:
    from collector.work.reviewing import Reviewer
    from schemas.reviewing import Review
    from schemas.weeks import Week


class Form(StrEnum):
    """How a review is written."""

    html = "html"
    md = "md"
    json = "json"
    csv = "csv"


def review(
    week: Annotated[str | None, typer.Option("--week", help="The week, as 2026-W48. (default: the last one that is over)")] = None,
    zone: Annotated[str | None, typer.Option("--zone", help="Zone of the weeks, as Europe/Berlin. (default: the setting)")] = None,
    form: Annotated[Form, typer.Option("--format", help="html, md, json or csv.")] = Form.md,
    output: Annotated[Path | None, typer.Option("--output", help="File to write. (default: standard output)")] = None,
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
) -> None:
    """Write the reliability review of a week, counted now. It is not stored: the worker keeps the reviews of the team's zone.

    Example: toolvitals review --week 2026-W48 --zone Europe/Berlin --format html --output review.html
    """
    from cli.rules import book_of
    from collector.review_store import ReviewStore
    from collector.work.reviewing import reviewer_of

    settings = load_settings(config, data=data, database_url=database_url, zone=zone)
    now_ns = time.time_ns()
    wanted = _week(week, settings.zone, now_ns)
    book = book_of(settings.rules)
    with opened(settings) as engine:
        made = _made(reviewer_of(engine, book, settings.aliases), wanted, now_ns, ReviewStore(engine))
        store = ReviewStore(engine)
        notes = store.notes(wanted.zone, wanted.name)
        record = {**made.record(), "actions": [asdict(one) for one in store.actions(wanted.zone, wanted.name, wanted.start_ns)]}
    text = _written(record, notes, form, settings.site)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        raise fail(f"cannot write {output}: {error.strerror}") from None
    typer.echo(f"review of {wanted.name} written to {output}", err=True)


def _week(name: str | None, zone: str, now_ns: int) -> "Week":
    from schemas.weeks import week_named, week_of

    if name is None:
        return week_of(now_ns, zone).before()
    try:
        found = week_named(name, zone)
    except ValueError as error:
        raise fail(str(error)) from None
    if found.start_ns > now_ns:
        raise fail(f"the week {name} has not begun in {zone}")
    return found


def _made(reviewer: "Reviewer", week: "Week", now_ns: int, store: Any) -> "Review":
    # The number that the worker gave what it stored of this week, if it did.
    known = store.latest(week.zone, week.name)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("reviewing", total=1.0)

        def tell(done: float, what: str) -> None:
            progress.update(task, completed=done, description=what)

        return reviewer.make(week, now_ns, known.revision if known else 0, tell)


def _written(record: dict[str, Any], notes: Any, form: Form, site: str) -> str:
    import orjson

    from cli.review_forms import markdown, table
    from dashboard.review_file import html

    # As it is read back from where it is stored: every form is made of the same values.
    record = orjson.loads(orjson.dumps(record))
    if form is Form.json:
        return orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    if form is Form.html:
        return html(record, notes, site)
    return markdown(record, notes) if form is Form.md else table(record)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(review)
