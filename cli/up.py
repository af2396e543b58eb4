"""`toolvitals up`: collector, worker and dashboard together, on one machine."""

import sys

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from cli import options
from cli.opening import opened
from cli.options import environment_of, fail, load_settings
from cli.ports import PORTS, option, settled, url, why_not
from cli.supervise import Part, Supervisor
from schemas.settings import Settings

# Tells the dashboard below `up` that it may offer to start the demo fleet: elsewhere nobody watches over one.
OFFERS_DEMO = "TOOLVITALS_OFFERS_DEMO"


def up(
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
    host: options.Host = None,
    otlp_http_port: options.OtlpHttpPort = None,
    otlp_grpc_port: options.OtlpGrpcPort = None,
    port: options.Port = None,
    worker_port: options.WorkerPort = None,
    log_level: options.LogLevel = None,
) -> None:
    """Run everything: receive spans, understand them, show them. Ctrl-C stops it.

    Example: toolvitals up --data ./data --port 4320
    """
    settings = load_settings(
        config,
        data=data,
        database_url=database_url,
        host=host,
        otlp_http_port=otlp_http_port,
        otlp_grpc_port=otlp_grpc_port,
        port=port,
        worker_port=worker_port,
        log_level=log_level,
    )
    run_all(settings)


def run_all(settings: Settings, more: tuple[Part, ...] = (), title: str = "toolvitals") -> None:
    """Run the three parts, and more if given (these stop first), until a signal says stop. All is well if it returns."""
    check_ports(settings)
    settings = settled(settings)
    # Before three processes find out that it cannot be had.
    with opened(settings):
        pass
    console = Console(stderr=True, highlight=False)
    Supervisor(
        parts=(*more, *parts_of(settings)),
        environment={**environment_of(settings), **({} if more else {OFFERS_DEMO: "1"})},
        say=lambda line: console.print(f"toolvitals: {line}", markup=False),
        on_ready=lambda: Console(highlight=False, soft_wrap=True).print(welcome(settings, title)),
    ).run()


def command(*words: str) -> tuple[str, ...]:
    """What starts one of our own commands as a child."""
    # -P: a folder named `cli` where the user happens to stand must not be taken for ours.
    return (sys.executable, "-P", "-m", "cli.main", *words)


def parts_of(settings: Settings) -> tuple[Part, ...]:
    """The three parts, in the order they stop: first the one that accepts, then the one that settles what was accepted."""
    return (
        Part("collector", command("collect"), url(settings.host, settings.otlp_http_port) + "/readyz"),
        Part("worker", command("work"), url(settings.host, settings.worker_port) + "/healthz"),
        Part("dashboard", command("dashboard"), url(settings.host, settings.port) + "/readyz"),
    )


def check_ports(settings: Settings) -> None:
    """End the program if a port cannot be had: it says which one and which option changes it."""
    seen: dict[int, str] = {}
    for name, purpose in PORTS:
        number = getattr(settings, name)
        reason = why_not(settings.host, number)
        if reason is None and number and number in seen:
            reason = f"already given to {seen[number]}"
        if reason is not None:
            raise fail(
                f"port {number} for {purpose} cannot be had: {reason}",
                f"stop what holds it, or choose another port with {option(name)}, e.g. {option(name)} {number + 1000}",
            )
        seen[number] = purpose


def welcome(settings: Settings, title: str) -> Panel:
    """Where to send spans and where to look."""
    table = Table.grid(padding=(0, 2))
    table.add_row("dashboard", f"[bold]{url(settings.host, settings.port)}[/bold]")
    table.add_row("OTLP/HTTP", url(settings.host, settings.otlp_http_port) + "  [dim](POST /v1/traces)[/dim]")
    table.add_row("OTLP/gRPC", url(settings.host, settings.otlp_grpc_port))
    table.add_row("database", f"[dim]{where(settings)}[/dim]")
    table.add_row("", "")
    table.add_row("send spans", f"OTEL_EXPORTER_OTLP_ENDPOINT={url(settings.host, settings.otlp_http_port)}")
    table.add_row("stop", "Ctrl-C finishes what was accepted, then stops; a second one stops at once")
    return Panel(table, title=title, title_align="left", expand=False)


def where(settings: Settings) -> str:
    """The database as one may show it: without its password."""
    from sqlalchemy import make_url

    if settings.database_url is None:
        return str(settings.data.resolve() / "toolvitals.db")
    return make_url(settings.database_url).render_as_string(hide_password=True)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(up)
