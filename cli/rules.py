"""`toolvitals rules`: write, check and try alert rules before they wake anybody."""

import json
import os
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options
from cli.opening import opened
from cli.options import fail, load_settings
from cli.times import moment_ns

if TYPE_CHECKING:
    from collector.core.channels import ChannelConfig
    from collector.core.rulebook import RuleBook
    from collector.work.replaying import Replay

File = Annotated[Path | None, typer.Argument(help="File of rules. (default: the one of the settings, else the built-in rules)")]

group = typer.Typer(
    name="rules",
    help="Write, check and try alert rules.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def book_of(path: Path | None) -> "RuleBook":
    """The rules of a file, or the built-in ones. Ends the program with the line of every mistake if they cannot be used."""
    from collector.core.default_rules import DEFAULTS
    from collector.core.rulebook import RuleError, read_rules

    try:
        return read_rules(DEFAULTS if path is None else path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise fail(f"rules {path}: {getattr(error, 'strerror', None) or error}") from None
    except RuleError as error:
        lines = [f"{path}:{line}: {says}" if line else f"{path}: {says}" for line, says in error.problems]
        raise fail(f"rules {path}: {len(lines)} mistakes", "\n  ".join(lines)) from None


def channels_of(path: Path | None) -> "tuple[ChannelConfig, ...]":
    """The channels of a file that `book_of` has read; the built-in rules have none. Ends the program as `book_of` does."""
    from collector.core.channels import read_channels
    from collector.core.rulebook import RuleError

    try:
        return () if path is None else read_channels(path.read_text("utf-8"), os.environ)
    except RuleError as error:
        lines = [f"{path}:{line}: {says}" for line, says in error.problems]
        raise fail(f"rules {path}: {len(lines)} mistakes", "\n  ".join(lines)) from None


@group.command()
def init(
    file: Annotated[Path, typer.Argument(help="File to write.")] = Path("rules.toml"),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write the built-in rules with comments to a file.

    Example: toolvitals rules init rules.toml
    """
    from collector.core.default_rules import DEFAULTS

    if file.exists() and not force:
        raise fail(f"{file} is there already", "choose another name, or --force")
    file.write_text(DEFAULTS, "utf-8")
    typer.echo(f"{file} written; start the worker with TOOLVITALS_RULES={file}")


@group.command()
def check(file: File = None, config: options.Config = None) -> None:
    """Say whether a file of rules can be used, and every mistake with its line.

    Example: toolvitals rules check rules.toml
    """
    path = file or load_settings(config).rules
    book, channels = book_of(path), channels_of(path)
    typer.echo(f"{path or 'built-in rules'}: {len(book.rules)} rules, {len(channels)} channels, no mistake")


@group.command("test")
def try_on_history(
    file: File = None,
    since: Annotated[str, typer.Option("--from", help="Begin: 7d (so long ago), 2026-11-23, 2026-11-23T10:00Z.")] = "24h",
    until: Annotated[str, typer.Option("--to", help="End, written the same way, or now.")] = "now",
    form: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
) -> None:
    """Replay rules on stored history: every alert that would have fired, how late, and why near misses did not.

    Counts are kept by the minute: within one, calls are taken as spread evenly.

    Example: toolvitals rules test rules.toml --from 7d --to now
    """
    from collector.work.past import PastCounts
    from collector.work.replaying import record, replay

    if form not in ("text", "json"):
        raise fail(f"--format {form}: it is text or json")
    settings = load_settings(config, data=data, database_url=database_url)
    now_ns = time.time_ns()
    try:
        from_ns, to_ns = moment_ns(since, now_ns), moment_ns(until, now_ns)
    except ValueError as error:
        raise fail(str(error)) from None
    if from_ns >= to_ns:
        raise fail("--from is not before --to")
    book = book_of(file or settings.rules)
    with opened(settings) as engine:
        found = replay(PastCounts(engine), book, from_ns, to_ns)
    if form == "json":
        typer.echo(json.dumps([record(alert, with_delay=True) for alert in found.alerts], indent=1))
    else:
        _show(book, found)


@group.command()
def notify_test(
    file: File = None,
    channel: Annotated[str | None, typer.Option("--channel", help="Name of one channel. (default: all)")] = None,
    config: options.Config = None,
) -> None:
    """Send a test to the channels of a file of rules, and say what came of it.

    Example: toolvitals rules notify-test rules.toml --channel oncall
    """
    import httpx

    from collector.work.notify.outbox import senders
    from collector.work.notify.sending import NotSent
    from schemas.alerting import TEST, Delivery, message_of_test

    settings = load_settings(config)
    path = file or settings.rules
    book_of(path)
    wanted = [one for one in channels_of(path) if channel in (None, one.name)]
    if not wanted:
        raise fail("there is no such channel" if channel else "no channel is set up", "`toolvitals rules init` shows how one is written")
    failed = 0
    with httpx.Client() as client:
        for name, sender in senders(wanted, client, settings.site).items():
            now_ns = time.time_ns()
            body = message_of_test(settings.site, now_ns)
            try:
                sender.send(Delivery(secrets.token_hex(8), "", name, TEST, now_ns, "due", 1, now_ns, body), now_ns)
                typer.echo(f"{name}: sent")
            except NotSent as error:
                failed += 1
                typer.echo(f"{name}: {error}", err=True)
    if failed:
        raise typer.Exit(1)


def _show(book: "RuleBook", found: "Replay") -> None:
    from collector.core.messages import harmless, summary

    rules = {rule.name: rule for rule in book.rules}
    for alert in found.alerts:
        known = alert.fired_ns is not None and alert.first_bad_ns is not None
        delay = f", {((alert.fired_ns or 0) - (alert.first_bad_ns or 0)) // 10**9} s after the first bad call" if known else ""
        ended = f"resolved {_utc(alert.resolved_ns)}" if alert.resolved_ns else "still firing"
        muted = f"; not told: {harmless(alert.muted_by)}" if alert.muted_by else ""
        typer.echo(f"{_utc(alert.fired_ns)}  {alert.rule}  {_where(alert.labels)}  {alert.severity} {alert.class_}".rstrip())
        typer.echo(f"    {summary(rules[alert.rule], alert.evidence)}")
        typer.echo(f"    fired{delay}, {ended}{muted}")
    typer.echo(f"{len(found.alerts)} alerts")
    if found.near_misses:
        typer.echo("\nCame near, and did not fire:")
    for one in found.near_misses[:20]:
        typer.echo(f"{_utc(one.at_ns)}  {one.rule}  {_where(one.labels)}  {one.value:.3g} against {one.threshold:.3g}")
        for says in one.missing:
            typer.echo(f"    {says}")


def _where(labels: tuple[tuple[str, str], ...]) -> str:
    from collector.core.messages import harmless

    return " ".join(f"{name}={harmless(value)}" for name, value in labels)


def _utc(ns: int | None) -> str:
    return "-" if ns is None else datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(group)
